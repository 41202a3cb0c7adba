//! Pages that wait in memory, packed: the queue of a visit, and what a check-in says of it.
//!
//! Tens of thousands of visits hold up to `frontier.window` pages each, and most of them only wait for a pause to end. As
//! [`Pending`] a page takes some two hundred bytes, half of it the URL of the page that its link was found on. Here it
//! takes its path and a dozen bytes: links found on one page come one after the other, and that page is named once.
//!
//! First in, first out; what was taken too early goes back in front. A page comes out as it went in.
//!
//! The frontier keeps the window of the visit as it was last told: a check-in says what has changed since
//! ([`Pages::report`]). **What it then has are the pages in flight and these, in this order**: a page that it took for gone
//! would be lost with a crash (invariant 5). Pages told of that left from the front are counted; whatever else happens to
//! them, all are told of again.

use std::collections::VecDeque;

use aranha_frontier::codec::{Reader, put_str, put_varint};
use aranha_frontier::{Hop, Past, Pending, WindowUpdate};
use aranha_url::PathKey;

/// Marks at the start of a packed page.
const WITH_PAST: u8 = 1;
const SAME_VIA: u8 = 2;

/// Pages in the order in which they will be asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    /// Those that were put back, the first of them last.
    front: Vec<Pending>,
    packed: Vec<u8>,
    /// Bytes of `packed` that are behind us, and pages that are not.
    taken: usize,
    count: usize,
    /// Of the packed pages that have one.
    pasts: VecDeque<Box<Past>>,
    /// Where the last page taken was found: the next one may have been found there, too.
    first_via: String,
    /// Where the last page packed was found.
    last_via: String,
    /// How many of the first pages the frontier has been told of: they are the last in the window that it keeps.
    told: usize,
    /// The page that stands before them in that window: the last one taken, when it had been told of.
    before: Option<PathKey>,
}

/// What a check-in says of the pages in a visit's hands.
#[derive(Debug)]
pub(crate) struct Report {
    /// How many of the last pages that the frontier knows of are left.
    left: usize,
    /// Those behind them.
    more: Pages,
}

impl From<Report> for WindowUpdate {
    fn from(report: Report) -> WindowUpdate {
        let more = report.more.collect();
        match report.left {
            0 => WindowUpdate::Replace(more),
            left => WindowUpdate::Tail {
                keep_last: left,
                append: more,
            },
        }
    }
}

impl Pages {
    pub(crate) fn len(&self) -> usize {
        self.front.len() + self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn push_front(&mut self, page: Pending) {
        self.front.push(page);
        self.forget();
    }

    pub(crate) fn push_back(&mut self, page: Pending) {
        let same = page.via == self.last_via;
        let with_past = page.past.is_some();
        let mark = (u8::from(with_past) * WITH_PAST) | (u8::from(same) * SAME_VIA);
        let out = &mut self.packed;
        out.extend_from_slice(&[mark, page.tries]);
        out.extend_from_slice(&page.key.0.to_le_bytes());
        put_varint(out, u64::from(page.depth));
        put_varint(out, u64::from(page.site_depth));
        out.push(page.hop as u8);
        put_str(out, &page.path);
        if !same {
            put_str(out, &page.via);
            self.last_via = page.via;
        }
        self.pasts.extend(page.past);
        self.count += 1;
    }

    pub(crate) fn pop_front(&mut self) -> Option<Pending> {
        let page = match self.front.pop() {
            Some(page) => page,
            None => self.unpack()?,
        };
        self.before = (self.told > 0).then_some(page.key);
        self.told = self.told.saturating_sub(1);
        Some(page)
    }

    /// Takes the first packed page.
    fn unpack(&mut self) -> Option<Pending> {
        let mut reader = Reader::new(&self.packed[self.taken..]);
        let packed = read(&mut reader, &self.first_via)?;
        let (mut page, with_past) = (packed.page(), packed.with_past);
        self.taken = self.packed.len() - reader.rest().len();
        self.count -= 1;
        if with_past {
            page.past = self.pasts.pop_front();
        }
        if page.via != self.first_via {
            self.first_via.clone_from(&page.via);
        }
        if self.count == 0 {
            let told = self.told;
            *self = Self {
                told,
                ..Self::default()
            };
        } else if self.taken > self.packed.len() / 2 {
            self.packed.drain(..self.taken);
            self.taken = 0;
            self.packed.shrink_to(self.packed.len() * 2);
        }
        Some(page)
    }

    /// What is to be said of these pages and those in flight, so that the frontier knows all of them from now on.
    ///
    /// A page in flight may only be counted when it stands where it must in the frontier's window, right before these.
    pub(crate) fn report<'a>(&mut self, flying: impl Iterator<Item = &'a Pending>) -> Report {
        let flying: Vec<&Pending> = flying.collect();
        let (left, more) = match flying.as_slice() {
            [] => (self.told, self.untold()),
            [page] if self.before == Some(page.key) => (self.told + 1, self.untold()),
            flying => {
                let mut all = self.clone();
                for page in flying {
                    all.push_front((*page).clone());
                }
                (0, all)
            }
        };
        self.told = self.len();
        self.before = match flying.as_slice() {
            [page] => Some(page.key),
            // Of several nobody knows which stands last.
            _ => None,
        };
        Report { left, more }
    }

    /// Takes what the frontier hands out, with the lease or in its answer to the last report. In its window these pages
    /// stand behind all that it knows of: where others have come meanwhile, the order here is another one.
    pub(crate) fn receive(&mut self, pages: Vec<Pending>) {
        if pages.is_empty() {
            return;
        }
        let same_order = self.told == self.len();
        self.extend(pages);
        if same_order {
            self.told = self.len();
        } else {
            self.forget();
        }
    }

    /// The next report tells of all pages.
    fn forget(&mut self) {
        self.told = 0;
        self.before = None;
    }

    /// The pages that the frontier has not been told of.
    fn untold(&self) -> Self {
        if self.told == self.len() {
            return Self::default();
        }
        let put_back = self.told.min(self.front.len());
        let packed = self.told - put_back;
        let mut reader = Reader::new(&self.packed[self.taken..]);
        let (mut via, mut pasts) = (self.first_via.as_str(), 0);
        for _ in 0..packed {
            let page = read(&mut reader, via).expect("as many pages are packed as are counted");
            via = page.via;
            pasts += usize::from(page.with_past);
        }
        Self {
            front: self.front[..self.front.len() - put_back].to_vec(),
            packed: reader.rest().to_vec(),
            count: self.count - packed,
            pasts: self.pasts.iter().skip(pasts).cloned().collect(),
            first_via: via.to_owned(),
            last_via: self.last_via.clone(),
            ..Self::default()
        }
    }
}

/// A packed page, where it lies.
struct Packed<'a> {
    with_past: bool,
    tries: u8,
    key: PathKey,
    depth: u16,
    site_depth: u16,
    hop: Hop,
    path: &'a str,
    via: &'a str,
}

impl Packed<'_> {
    /// The page, but for its past.
    fn page(&self) -> Pending {
        Pending {
            path: self.path.to_owned(),
            key: self.key,
            depth: self.depth,
            site_depth: self.site_depth,
            tries: self.tries,
            hop: self.hop,
            via: self.via.to_owned(),
            past: None,
        }
    }
}

/// The next page, behind one that was found at `via`; nothing at the end. Only [`Pages::push_back`] writes what is read here.
fn read<'a>(reader: &mut Reader<'a>, via: &'a str) -> Option<Packed<'a>> {
    let mark = reader.byte()?;
    Some(Packed {
        with_past: mark & WITH_PAST != 0,
        tries: reader.byte()?,
        key: PathKey(reader.word()?),
        depth: reader.number()?,
        site_depth: reader.number()?,
        hop: Hop::from_letter(reader.byte()?)?,
        path: reader.text()?,
        via: match mark & SAME_VIA {
            0 => reader.text()?,
            _ => via,
        },
    })
}

impl Iterator for Pages {
    type Item = Pending;

    fn next(&mut self) -> Option<Pending> {
        self.pop_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl Extend<Pending> for Pages {
    fn extend<T: IntoIterator<Item = Pending>>(&mut self, pages: T) {
        for page in pages {
            self.push_back(page);
        }
    }
}

impl FromIterator<Pending> for Pages {
    fn from_iter<T: IntoIterator<Item = Pending>>(pages: T) -> Self {
        let mut all = Self::default();
        all.extend(pages);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: usize) -> Pending {
        let past = number.is_multiple_of(3).then(|| {
            Box::new(Past {
                time: number as i64,
                etag: format!("\"{number}\""),
                ..Past::default()
            })
        });
        Pending {
            path: format!("/section/page-{number}?q=ç"),
            key: PathKey(number as u64 ^ u64::MAX),
            depth: (number % 700) as u16,
            site_depth: (number % 70) as u16,
            tries: (number % 5) as u8,
            hop: if number.is_multiple_of(7) {
                Hop::Redirect
            } else {
                Hop::Link
            },
            via: match number % 40 {
                0..5 => String::new(),
                _ => format!("http://www.example.org/section/list-{}", number / 10),
            },
            past,
        }
    }

    /// Against a deque of what goes in: everything that a visit does with its queue, in an order that is not.
    #[test]
    fn what_goes_in_comes_out() {
        let (mut packed, mut plain) = (Pages::default(), VecDeque::new());
        let mut chance = 1u64;
        for number in 0..20_000 {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            match chance >> 60 {
                0..7 => {
                    packed.push_back(page(number));
                    plain.push_back(page(number));
                }
                7 => {
                    packed.push_front(page(number));
                    plain.push_front(page(number));
                }
                8 if number % 11 == 0 => {
                    let all: Vec<_> = packed.clone().collect();
                    assert!(all.iter().eq(plain.iter()), "{number}");
                    packed = all.into_iter().collect();
                }
                9 if number % 500 == 0 => {
                    while packed.pop_front().is_some() {
                        plain.pop_front();
                    }
                }
                _ => assert_eq!(packed.pop_front(), plain.pop_front(), "{number}"),
            }
            assert_eq!(packed.len(), plain.len());
            assert_eq!(packed.is_empty(), plain.is_empty());
            if number % 97 == 0 {
                assert!(packed.clone().eq(plain.iter().cloned()), "{number}");
            }
        }
    }

    /// A visit, what it holds in plain sight, and the window that the frontier keeps of it.
    #[derive(Default)]
    struct Model {
        pages: Pages,
        queue: VecDeque<Pending>,
        flying: Vec<Pending>,
        window: Vec<Pending>,
        /// A check-in that was not answered yet.
        submitted: bool,
        next: usize,
    }

    impl Model {
        fn new_page(&mut self) -> Pending {
            self.next += 1;
            page(self.next)
        }

        /// The frontier hands out pages, which stand at the end of its window.
        fn hand_out(&mut self, count: usize) {
            let more: Vec<Pending> = (0..count).map(|_| self.new_page()).collect();
            self.window.extend_from_slice(&more);
            self.queue.extend(more.iter().cloned());
            self.pages.receive(more);
            self.submitted = false;
        }

        fn take(&mut self) -> Option<Pending> {
            let page = self.pages.pop_front();
            assert_eq!(page, self.queue.pop_front());
            page
        }

        fn put_back(&mut self, page: Pending) {
            self.queue.push_front(page.clone());
            self.pages.push_front(page);
        }

        /// Checks in; answers how many pages were not told again. Were the visit to die now, another would find the window.
        fn check_in(&mut self) -> usize {
            let report = self.pages.report(self.flying.iter());
            let (left, more) = WindowUpdate::from(report).into_parts();
            assert!(left <= self.window.len(), "{left} are left of fewer");
            self.window.drain(..self.window.len() - left);
            self.window.extend(more);
            self.submitted = true;
            let (first, rest) = self.window.split_at(self.flying.len());
            assert!(self.flying.iter().all(|page| first.contains(page)));
            assert!(rest.iter().eq(self.queue.iter()));
            left
        }

        /// What happens to the pages of a visit with up to `requests` at once.
        fn step(&mut self, dice: u64, requests: usize) -> usize {
            let place = (dice >> 8) as usize;
            match dice % 16 {
                0..3 => {
                    let page = self.new_page();
                    self.queue.push_back(page.clone());
                    self.pages.push_back(page);
                }
                3..7 if self.flying.len() < requests => {
                    let page = self.take();
                    self.flying.extend(page);
                }
                // Given up, or put off.
                7 if place.is_multiple_of(4) => drop(self.take()),
                8..12 if !self.flying.is_empty() => {
                    let mut page = self.flying.swap_remove(place % self.flying.len());
                    match place % 16 {
                        0 => self.put_back(page),
                        1 => {
                            page.tries += 1;
                            self.put_back(page);
                        }
                        _ => {}
                    }
                }
                12 if place.is_multiple_of(32) => {
                    self.queue.make_contiguous().reverse();
                    self.pages = self.queue.iter().cloned().collect();
                }
                13 if place.is_multiple_of(32) => while self.take().is_some() {},
                14 if !self.submitted => return self.check_in(),
                15 if self.submitted => self.hand_out(place % 4),
                _ => {}
            }
            0
        }
    }

    /// A page too few, or another one than it should be, would be lost with a crash.
    #[test]
    fn the_frontier_knows_what_is_held() {
        let mut chance = 1u64;
        for requests in 1..4 {
            let (mut spared, mut model) = (0, Model::default());
            model.hand_out(20);
            for _ in 0..50_000 {
                chance = chance
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                spared += model.step(chance >> 33, requests);
            }
            assert!(spared > 1000, "{spared}: what is known is told again");
        }
    }

    #[test]
    fn only_what_changed_is_told() {
        let mut pages = Pages::default();
        let told = |pages: &mut Pages, flying: &[Pending]| {
            let (left, more) = WindowUpdate::from(pages.report(flying.iter())).into_parts();
            let more: Vec<u64> = more.iter().map(|page| page.key.0 ^ u64::MAX).collect();
            (left, more)
        };
        pages.receive((1..6).map(page).collect());
        assert_eq!(told(&mut pages, &[]), (5, vec![]));
        let first = pages.pop_front().expect("five");
        assert_eq!(told(&mut pages, &[first]), (5, vec![]), "in flight");
        let second = pages.pop_front().expect("four");
        pages.push_back(page(6));
        assert_eq!(
            told(&mut pages, std::slice::from_ref(&second)),
            (4, vec![6])
        );
        pages.push_front(second);
        assert_eq!(told(&mut pages, &[]), (0, vec![2, 3, 4, 5, 6]), "put back");
        assert_eq!(told(&mut pages, &[]), (5, vec![]));
        pages.push_back(page(7));
        pages.receive(vec![page(8)]);
        assert_eq!(told(&mut pages, &[]).0, 0, "another order");
        let both = [pages.pop_front(), pages.pop_front()].map(|page| page.expect("seven"));
        assert_eq!(told(&mut pages, &both).0, 0, "two in flight");
        assert_eq!(told(&mut pages, &both[1..]).0, 0, "nobody knows where");
        let mut last = pages.pop_front().expect("five");
        while let Some(page) = pages.pop_front() {
            last = page;
        }
        assert_eq!(told(&mut pages, &[last]), (1, vec![]), "the last of all");
        pages.push_back(page(9));
        let new = pages.pop_front().expect("one");
        assert_eq!(told(&mut pages, &[new]), (0, vec![9]), "not told of before");
    }

    #[test]
    fn a_full_window_takes_little() {
        let window = (0..256).map(|number| Pending {
            past: None,
            ..page(number)
        });
        let mut pages: Pages = window.collect();
        let full = pages.packed.capacity();
        assert!(full <= 20 << 10, "{full}");
        for _ in 0..250 {
            pages.pop_front();
        }
        let rest = pages.packed.capacity();
        assert!(rest <= 2 << 10, "{rest}: what is taken is given back");
    }
}
