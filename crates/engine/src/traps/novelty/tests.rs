//! Tests of the trap detection.

use super::*;

#[test]
fn case_and_numbers_are_ignored() {
    let words = |text: &str| Reading::of(text, 1, 1).words.unwrap_or_default();
    assert_eq!(words("Aranha, ARANHA; aranha!").len(), 1);
    assert_eq!(words("the web of 2026 a1b2c3d4 (and)").len(), 0);
    assert_eq!(
        words("coração\tcoracao crawling crawlings Crawling's").len(),
        4
    );
    let stock: Vec<String> = (0..5000).map(letters).collect();
    let stock = stock.join(" ");
    assert_eq!(words(&stock).len(), MAX_PAGE_WORDS, "no collisions");
}

fn letters(number: u32) -> String {
    let letter = |digit: u8| char::from(digit - b'0' + b'a');
    format!("{number:05}").bytes().map(letter).collect()
}

const LIMIT: u32 = 50;

/// Adds pages until the site is a trap. Returns their number and the kind of trap. `page` returns the text, the
/// number of links and the number of new links of page n.
fn pages_until_trap(page: impl Fn(u32) -> (String, u32, u32)) -> Option<(u32, Trap)> {
    let mut novelty = Novelty::default();
    (1..=3000).find_map(|number| {
        let (text, links, new) = page(number);
        let digest = text.bytes().fold(1, |hash: u64, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let repeats = novelty.is_repeated(digest);
        novelty.add_page(&Reading::of(&text, digest, 0), repeats, links, new);
        novelty
            .trap(LIMIT, MIN_LINKED_PAGES)
            .map(|trap| (number, trap))
    })
}

/// Makes a different word for every number.
fn word(number: u32) -> String {
    number
        .to_string()
        .bytes()
        .map(|digit| {
            ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu"][usize::from(digit - b'0')]
        })
        .collect::<String>()
        + "x"
}

#[test]
fn a_calendar_is_a_trap() {
    let calendar = |n| (format!("Calendar of month {n}: no events"), 2, 1);
    let (pages, trap) = pages_until_trap(calendar).unwrap();
    assert_eq!(trap, Trap::NoNewText);
    assert!((LIMIT..2 * LIMIT).contains(&pages), "{pages}");
}

#[test]
fn a_maze_of_invented_words_is_a_trap() {
    let maze = |n| ((0..50).map(|k| word(n * 50 + k) + " ").collect(), 10, 9);
    let (pages, trap) = pages_until_trap(maze).unwrap();
    assert_eq!(trap, Trap::NoNewText);
    assert!(pages < LIMIT + 10, "{pages}");
}

#[test]
fn an_apology_with_random_words_is_a_trap() {
    let sorry = |n| {
        let apology = (0..30).map(|k| word(k) + " ").collect::<String>();
        let random = (0..12).map(|k| word(1000 + n * 12 + k) + " ");
        (apology + &random.collect::<String>(), 7, 6)
    };
    let (pages, trap) = pages_until_trap(sorry).unwrap();
    assert_eq!(trap, Trap::NoNewText);
    assert!(pages < LIMIT + 10, "{pages}");
}

#[test]
fn a_maze_of_natural_text_is_a_trap() {
    let maze = |n| (honest(n).0, 10, 10);
    assert_eq!(
        pages_until_trap(maze),
        Some((MIN_LINKED_PAGES, Trap::NoLinksBack))
    );
}

/// The pages after which a site is doubted, with the reasons. The site has no seed, and one other site links to it.
fn doubts(pages: u32, page: impl Fn(u32) -> (String, u32, u32)) -> Vec<(u32, Trap, i64)> {
    doubts_with(usize::MAX, pages, page)
}

/// Like `doubts`, with `queued` waiting pages.
fn doubts_with(
    queued: usize,
    pages: u32,
    page: impl Fn(u32) -> (String, u32, u32),
) -> Vec<(u32, Trap, i64)> {
    let mut novelty = Novelty::default();
    let credit = Credit {
        is_seed: false,
        sources: 1,
        fruitful: 0,
    };
    let mut doubts = Vec::new();
    for number in 1..=pages {
        let (text, links, new) = page(number);
        let digest = u64::from(number);
        novelty.add_page(&Reading::of(&text, digest, 0), false, links, new);
        let doubt = novelty.doubt(LIMIT, credit, queued);
        doubts.extend(doubt.map(|(trap, wait)| (number, trap, wait)));
    }
    doubts
}

#[test]
fn newcomers_are_doubted_early() {
    const DAY: i64 = 24 * 3600 * 1000;
    let counter = |n| (format!("Thank you for your visit, guest {n}"), 3, 2);
    let expected = [1, 2, 4, 8].map(|days| days * DAY);
    let found = doubts(44, counter);
    let waits: Vec<i64> = found.iter().map(|(_, _, wait)| *wait).collect();
    assert_eq!(waits, expected, "{found:?}");
    assert!(
        found[0].0 <= 12 && found[0].1 == Trap::NoNewText,
        "{found:?}"
    );
    // The pages have few words, which are soon confirmed, and no link to a known page.
    let maze = |n: u32| match n {
        1..=5 => (honest(n).0, 10, 10),
        _ => (honest(n % 5 + 1).0 + &word(9000 + n), 10, 10),
    };
    let found = doubts(40, maze);
    assert!(found[0].0 <= 30, "{found:?}");
    // Nearly empty pages from a list, which bring no new links.
    let item = |n| (format!("Item {n}"), 0, 0);
    assert_eq!(
        doubts(12, item).first().map(|doubt| doubt.1),
        Some(Trap::NearlyEmpty)
    );
    // A site with a short list of such pages is not doubted.
    assert_eq!(doubts_with(LIMIT as usize, 40, item), []);
    let manual = |n| match n {
        1 => (honest(n).0, 1000, 1000),
        _ => (
            format!(
                "instruction number {n}: moves packed bytes, as the other instructions with this name do"
            ),
            5,
            0,
        ),
    };
    assert_eq!(doubts(300, manual), []);
    assert_eq!(doubts(300, |n| (honest(n).0, 20, 12)), []);
}

#[test]
fn a_maze_with_a_fixed_set_of_words_and_a_link_home_is_a_trap() {
    let stock = |n: u32| {
        let text = (0..50).map(|k| word((n * 7919 + k * 104_729) % 400) + " ");
        (text.collect(), 10, 9)
    };
    let (pages, trap) = pages_until_trap(stock).unwrap();
    assert_eq!(trap, Trap::NoNewText);
    assert!(pages < 100, "{pages}");
}

#[test]
fn a_site_with_new_words_on_every_page_is_no_trap() {
    let site = |n| {
        let stock = (0..100).map(|k| word((n * 7919 + k * 104_729) % 400) + " ");
        (
            stock.collect::<String>() + &word(10_000 + n) + " " + &word(10_001 + n),
            20,
            12,
        )
    };
    assert_eq!(pages_until_trap(site), None);
}

#[test]
fn a_manual_with_similar_pages_is_no_trap() {
    // The first page lists a thousand pages. The listed pages differ only in their numbers.
    let manual = |n| match n {
        1 => ((0..1000).map(|n| word(n) + " ").collect(), 1000, 1000),
        _ => (
            format!("instruction number {n}, see the list"),
            30,
            u32::from(n % 9 == 0),
        ),
    };
    assert_eq!(pages_until_trap(manual), None);
}

#[test]
fn a_few_indexes_are_not_growth() {
    // Like rust-doc: pages contain little more than a menu, and every thirtieth page lists another part of the
    // site.
    let manual = |n| {
        let new = if n % 30 == 0 { 60 } else { 0 };
        (
            format!("menu: {} {}", word(n % 400), word(n % 401)),
            600,
            new,
        )
    };
    assert_eq!(pages_until_trap(manual), None);
}

#[test]
fn lists_with_empty_pages_behind_them_are_a_trap() {
    // Every sixth page links to five empty pages and to the next list.
    let lists = |n| (format!("entry {n}"), 7, if n % 6 == 0 { 6 } else { 0 });
    let (_, trap) = pages_until_trap(lists).unwrap();
    assert_eq!(trap, Trap::NoNewText);
    // Every month links to its days and to the next month.
    let calendar = |n| match n % 29 {
        0 => (format!("month {n}, days: no events"), 30, 29),
        _ => (format!("day {n}: no events"), 3, 0),
    };
    let (pages, trap) = pages_until_trap(calendar).unwrap();
    assert_eq!(trap, Trap::NoNewText);
    assert!(pages < 150, "{pages}");
}

/// Crawls a site, with `visit` pages per visit. `every`: whether the words of every page are read, instead of only the
/// words of sampled pages. Returns the number of pages whose words were read, and the number of pages until the site is
/// a trap.
fn crawl(
    visit: u32,
    every: bool,
    page: impl Fn(u32) -> Option<(String, u32, u32)>,
) -> (u32, Option<u32>) {
    let (mut novelty, mut read) = (Novelty::default(), 0);
    let trap = (1..=4000).find(|&number| {
        if number % visit == 0 {
            novelty = Novelty::resume(novelty.record());
        }
        let digest = u64::from(number);
        let reads_words = every || novelty.reads_words(LIMIT, digest);
        // Redirects and images are requested like other pages, and have no words.
        let Some((text, links, new)) = page(number) else {
            return false;
        };
        let reading = if reads_words {
            read += 1;
            Reading::of(&text, digest, 0)
        } else {
            Reading::without_words(digest, 0)
        };
        novelty.add_page(&reading, false, links, new);
        novelty.trap(LIMIT, MIN_LINKED_PAGES).is_some()
    });
    (read, trap)
}

/// A page with new text: each of its words is on 24 pages in a row.
fn honest(n: u32) -> (String, u32, u32) {
    ((0..48).map(|k| word(n * 2 + k) + " ").collect(), 20, 12)
}

#[test]
fn few_pages_of_a_trusted_site_are_read() {
    let (read, trap) = crawl(u32::MAX, false, |n| Some(honest(n)));
    assert_eq!(trap, None);
    assert!((1000..1400).contains(&read), "{read} of 4000");
    // Half of the pages, and nearly all from page `manual` on, have neither new text nor new links.
    for manual in [4000, 1500] {
        let site = |n: u32| match n % if n < manual { 2 } else { 200 } {
            0 => Some(honest(n)),
            _ => Some(("menu and nothing else".to_owned(), 20, 0)),
        };
        let (read, trap) = crawl(u32::MAX, false, site);
        assert_eq!(trap, None);
        assert!((1000..1700).contains(&read), "{read} of 4000");
    }
}

/// Sites that become traps after some honest pages. The traps have different periods, and visits are long or short. In
/// some traps every second page is a redirect.
#[test]
fn a_trap_after_honest_pages_is_found_with_little_delay() {
    let mut traps = 0;
    for begin in [301, 702] {
        let periods = [1, 2, 3, 4, 6, 8, 10];
        let visits = |period| [(period, 5), (period, u32::MAX)];
        for (period, visit) in periods.into_iter().flat_map(visits) {
            for odd_only in [false, true] {
                // In each period one page links to the others, which are empty.
                let page = |n: u32| match n {
                    _ if n < begin => Some(honest(n)),
                    _ if odd_only && n.is_multiple_of(2) => None,
                    _ if n % period == 1 % period => {
                        Some((format!("entry {n}"), period + 2, period))
                    }
                    _ => Some((format!("entry {n}"), 7, 0)),
                };
                let (_, Some(every)) = crawl(visit, true, page) else {
                    continue;
                };
                traps += 1;
                let (read, found) = crawl(visit, false, page);
                let found = found.unwrap_or(u32::MAX);
                assert!(read <= found);
                let late = found.saturating_sub(every);
                let trap = format!("{begin} {period} {visit} {odd_only}");
                assert!(late <= 100, "{trap}: at {found} instead of {every}");
            }
        }
    }
    assert!(traps > 30, "{traps}");
}

#[test]
fn counters_are_kept_between_visits() {
    let mut record = Record::default();
    let mut pages = 0;
    let trap = loop {
        let mut visit = Novelty::resume(record);
        for _ in 0..10 {
            pages += 1;
            let reading = Reading::of("no events in this month", 7, 0);
            let repeats = visit.is_repeated(7);
            visit.add_page(&reading, repeats, 2, 1);
        }
        record = visit.record();
        if let Some(trap) = visit.trap(LIMIT, MIN_LINKED_PAGES) {
            break trap;
        }
    };
    assert_eq!(trap, Trap::NoNewText);
    assert!(pages <= 100, "{pages}");
}
