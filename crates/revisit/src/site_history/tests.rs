//! The examples of Bouras 3.3 and 5 on a small site, in rounds of a day.

use super::*;
use crate::{Options, PageVisit};

const DAY: i64 = 86_400_000;
const START: i64 = 20_000 * DAY;

/// A page of [`Site`] and the page that links to it.
const fn page(key: u64, head: u64) -> PagePlace {
    PagePlace {
        key,
        head: Some(head),
    }
}

const ENTRY: PagePlace = PagePlace { key: 0, head: None };
/// Page A of Bouras 3.3, Figure 4, with its links B, C, D, E, and the links F and G of page B.
const A: PagePlace = page(1, 0);
const B: PagePlace = page(2, 1);
const C: PagePlace = page(3, 1);
const D: PagePlace = page(4, 1);
const E: PagePlace = page(5, 1);
const F: PagePlace = page(6, 2);
const G: PagePlace = page(7, 2);
const PAGES: [PagePlace; 8] = [ENTRY, A, B, C, D, E, F, G];

/// The site of Figure 4 with an entry page before page A.
struct Site {
    schedule: Schedule,
    history: SiteHistory,
    pages: Vec<History>,
    day: i64,
}

impl Site {
    fn new(selective: SelectiveGroups) -> Self {
        Self::with(&Options {
            selective,
            ..Options::default()
        })
    }

    fn with(options: &Options) -> Self {
        let schedule = Schedule::new(&Options {
            policy: Policy::Selective,
            spread: 0.0,
            ..options.clone()
        });
        let mut site = Self {
            schedule,
            history: SiteHistory::default(),
            pages: vec![History::default(); PAGES.len()],
            day: 0,
        };
        site.round(&[]);
        site
    }

    /// One round in which all pages are due and `changed` have changed. Returns the keys of the pages visited.
    fn round(&mut self, changed: &[PagePlace]) -> Vec<u64> {
        let at = START + self.day * DAY;
        self.day += 1;
        let mut visited = Vec::new();
        for place in PAGES {
            let history = &mut self.pages[place.key as usize];
            let (chosen, update) =
                self.schedule
                    .judge(&self.history, place, history, Pace::default(), at);
            self.history.apply(update);
            if chosen {
                visited.push(place.key);
                let seen = match history.visits {
                    0 => PageState::New,
                    _ if changed.contains(&place) => PageState::Changed,
                    _ => PageState::Same,
                };
                let update = self.schedule.observe(&self.history, place, seen, at);
                let visit = PageVisit {
                    inner: update.share(),
                    ..PageVisit::new(at, seen, 7)
                };
                self.history.apply(update);
                self.schedule.plan(history, &visit);
            }
        }
        visited
    }

    fn rounds(&mut self, count: usize, changed: &[PagePlace]) -> Vec<Vec<u64>> {
        (0..count).map(|_| self.round(changed)).collect()
    }
}

/// Number of rounds in which all of these pages were visited.
fn full(rounds: &[Vec<u64>], pages: &[PagePlace]) -> usize {
    let is_full = |visited: &&Vec<u64>| pages.iter().all(|page| visited.contains(&page.key));
    rounds.iter().filter(is_full).count()
}

const LINKS_OF_A: [PagePlace; 4] = [B, C, D, E];
const LINKS_OF_B: [PagePlace; 2] = [F, G];

/// Page A never changes. Its links are visited when enough of them change, although the entry page of the site does not
/// change either.
#[test]
fn the_links_of_an_unchanged_page_are_visited_if_enough_of_them_change() {
    let busy = Site::new(SelectiveGroups::AllPages).rounds(30, &LINKS_OF_A);
    assert!(full(&busy, &LINKS_OF_A) >= 28, "{busy:?}");
    let still = Site::new(SelectiveGroups::AllPages).rounds(30, &[]);
    assert!(full(&still, &LINKS_OF_A) <= 10, "{still:?}");
}

/// Each page is judged by its own links. F and G change, and only the links of their head B are followed in every
/// round.
#[test]
fn each_page_is_judged_by_its_own_links() {
    let mut site = Site::new(SelectiveGroups::AllPages);
    let rounds = site.rounds(40, &LINKS_OF_B);
    let (own, others) = (full(&rounds, &LINKS_OF_B), full(&rounds, &[C, D, E]));
    assert!(own >= 38 && others <= 16, "{own} {others}: {rounds:?}");
    // B itself is visited with its links, although the other links of A are passed over.
    assert!(full(&rounds, &[B]) >= 38, "{rounds:?}");
    // With one group for the site, the pages that change cannot be distinguished from the others.
    let mut site = Site::new(SelectiveGroups::EntryPages);
    let rounds = site.rounds(40, &LINKS_OF_B);
    let (own, others) = (full(&rounds, &LINKS_OF_B), full(&rounds, &[C, D, E]));
    assert!(own.abs_diff(others) <= 1, "{own} {others}: {rounds:?}");
}

/// If page A has changed, its links are visited.
#[test]
fn the_links_of_a_changed_page_are_visited() {
    let mut site = Site::new(SelectiveGroups::AllPages);
    site.rounds(30, &[]);
    while site.round(&[]).len() == PAGES.len() {}
    site.pages[A.key as usize].visits = 0; // page A is due for another reason, such as a change signal
    let (group, at) = (&mut site.history, START + site.day * DAY);
    let update = site.schedule.observe(group, A, PageState::Changed, at);
    group.apply(update);
    for page in LINKS_OF_A {
        let history = &site.pages[page.key as usize];
        let pace = Pace::default();
        assert!(
            site.schedule
                .judge(&site.history, page, history, pace, at)
                .0
        );
    }
}

/// The threshold is 40% at first and follows the share of changed pages.
#[test]
fn the_threshold_of_each_page_is_adapted() {
    let mut site = Site::new(SelectiveGroups::AllPages);
    let threshold = |site: &Site, head: PagePlace| {
        let group = site.history.heads.get(head.key).expect("has links");
        group.threshold(0.4)
    };
    assert!((threshold(&site, B) - 0.4).abs() < 1e-6);
    site.rounds(20, &LINKS_OF_B);
    assert!(threshold(&site, B) > 0.5, "{}", threshold(&site, B));
    assert!(threshold(&site, A) < 0.4, "{}", threshold(&site, A));
}

/// Bouras 5: `fr_max` of a page is lowered if the pages that it links to change.
#[test]
fn internal_changes_lower_the_level_of_any_page() {
    let level = |changed: &[PagePlace]| {
        let mut site = Site::new(SelectiveGroups::AllPages);
        site.rounds(80, changed);
        site.pages[B.key as usize].level
    };
    let (calm, busy) = (level(&[]), level(&LINKS_OF_B));
    assert!(calm >= 12 && busy <= calm / 2, "{calm} {busy}");
}

/// Bouras 3.3, the second method: page A has not changed, so its links are checked. If B has changed, its links F and G
/// are not checked. If B has not changed either, F and G are checked.
#[test]
fn the_second_way_descends_where_a_page_is_unchanged() {
    let visited = |changed: &[PagePlace]| {
        let mut site = Site::new(SelectiveGroups::Descend);
        site.rounds(40, &[]);
        // No page is due by itself, except page A.
        let at = START + site.day * DAY;
        for page in &mut site.pages {
            page.level = 9;
            page.last_visit = ((at - DAY) / 1000) as u32;
        }
        site.pages[A.key as usize].level = 1;
        site.pages[ENTRY.key as usize].level = 1;
        // The entry page has changed, so page A is visited only when its own turn comes.
        let changed = [&[ENTRY], changed].concat();
        site.round(&changed)
    };
    assert_eq!(visited(&[A]), [0, 1]);
    assert_eq!(visited(&[]), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(visited(&[B]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(visited(&[B, C, D]), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn no_page_waits_longer_than_the_longest_interval() {
    for selective in [
        SelectiveGroups::EntryPages,
        SelectiveGroups::AllPages,
        SelectiveGroups::Descend,
    ] {
        let mut site = Site::with(&Options {
            selective,
            max_interval: std::time::Duration::from_hours(3 * 24),
            ..Options::default()
        });
        let rounds = site.rounds(60, &[]);
        for three in rounds.windows(3) {
            let seen = |page: &PagePlace| three.iter().any(|visited| visited.contains(&page.key));
            assert!(PAGES.iter().all(seen), "{selective:?}: {rounds:?}");
        }
    }
}

/// The number of heads is limited. Pages of further heads are in the group of the site. Heads that no longer have pages
/// are replaced.
#[test]
fn the_number_of_heads_is_limited() {
    let schedule = Schedule::new(&Options {
        policy: Policy::Selective,
        selective: SelectiveGroups::AllPages,
        ..Options::default()
    });
    let mut site = SiteHistory::default();
    let mut observe = |head: u64, at: i64| {
        let place = page(1_000_000 + head, head);
        let update = schedule.observe(&site, place, PageState::Same, at);
        site.apply(update);
        (site.heads.len(), site.heads.get(head).is_some())
    };
    for head in 1..=MAX_HEADS as u64 {
        assert_eq!(observe(head, START), (head as usize, true));
    }
    assert_eq!(observe(9000, START + DAY), (MAX_HEADS, false));
    let later = START + 100 * DAY;
    assert_eq!(observe(5, later), (MAX_HEADS, true));
    assert_eq!(observe(9000, later), (MAX_HEADS, true));
    assert_eq!(observe(5, later), (MAX_HEADS, true));
    let bytes = postcard::to_stdvec(&site.heads).expect("encodes");
    assert!(bytes.len() <= MAX_HEADS * 40, "{}", bytes.len());
    assert_eq!(postcard::from_bytes::<Heads>(&bytes), Ok(site.heads));
}
