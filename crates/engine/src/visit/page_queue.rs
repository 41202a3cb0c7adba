//! The queue of a visit, with pages packed in memory. At each check-in, the queue reports how the frontier must change
//! its copy.
//!
//! Tens of thousands of visits hold up to `frontier.window` pages each, and most visits only wait for a pause to end. A
//! [`Pending`] takes about two hundred bytes, half of them for the URL of the page that contains the link. A packed
//! page takes the length of its path plus a dozen bytes. The URL of the page with the links is stored only once,
//! because the links of a page follow each other in the queue.
//!
//! The order is first in, first out. A page that was popped but must be fetched later is pushed to the front again. An
//! unpacked page equals the page that was packed.
//!
//! The frontier keeps a copy of the queue from the last check-in, which is called the window. [`PageQueue::report`]
//! computes how the window changes. **The window must contain first the pages in flight, then the queue**. If a page is
//! missing in the window, a crash loses it (invariant 5). The report may contain only the number of pages that stay in
//! the window, and the pages that were pushed to the back. [`PageQueue::report`] says when this is possible. Otherwise
//! the report contains all pages.

use std::collections::VecDeque;

use aranha_frontier::codec::{Reader, put_str, put_varint};
use aranha_frontier::{Hop, Past, Pending, WindowUpdate};
use aranha_url::PathKey;

/// Bits in the first byte of a packed page. `WITH_PAST`: the page has a past. `SAME_VIA`: the page has the same `via`
/// (the URL of the page that links to it) as the page before it.
const WITH_PAST: u8 = 1;
const SAME_VIA: u8 = 2;

/// Pages in the order in which they will be fetched.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageQueue {
    /// Pages pushed to the front. The last element is the first page of the queue.
    front: Vec<Pending>,
    packed: Vec<u8>,
    /// Number of bytes at the start of `packed` that belong to popped pages.
    popped: usize,
    /// Number of packed pages that were not popped.
    count: usize,
    /// The pasts of the packed pages that have one, in order.
    pasts: VecDeque<Box<Past>>,
    /// `via` of the last unpacked page. The next page may have the same `via`.
    first_via: String,
    /// `via` of the last packed page.
    last_via: String,
    /// Number of pages at the front of this queue that are also in the frontier's window. They are the last pages of
    /// the window.
    acked: usize,
    /// Key of the page that is directly before the acked pages in the frontier's window. It was the last of them to be
    /// popped from this queue. `None` if this page is not known.
    last_acked_popped: Option<PathKey>,
}

/// How the window changes at a check-in.
#[derive(Clone, Debug)]
pub(crate) struct QueueReport {
    /// Number of pages at the end of the window that stay in the window.
    keep_last: usize,
    /// Pages that are appended to the window.
    append: PageQueue,
}

impl From<QueueReport> for WindowUpdate {
    fn from(report: QueueReport) -> WindowUpdate {
        let append = report.append.collect();
        match report.keep_last {
            0 => WindowUpdate::Replace(append),
            keep_last => WindowUpdate::Tail { keep_last, append },
        }
    }
}

impl PageQueue {
    pub(crate) fn len(&self) -> usize {
        self.front.len() + self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn push_front(&mut self, page: Pending) {
        self.front.push(page);
        self.invalidate_ack();
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
        out.push(page.hop.byte());
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
        self.last_acked_popped = (self.acked > 0).then_some(page.key);
        self.acked = self.acked.saturating_sub(1);
        Some(page)
    }

    /// Pops the first packed page.
    fn unpack(&mut self) -> Option<Pending> {
        let mut reader = Reader::new(&self.packed[self.popped..]);
        let packed = read(&mut reader, &self.first_via)?;
        let (mut page, with_past) = (packed.page(), packed.with_past);
        self.popped = self.packed.len() - reader.rest().len();
        self.count -= 1;
        if with_past {
            page.past = self.pasts.pop_front();
        }
        if page.via != self.first_via {
            self.first_via.clone_from(&page.via);
        }
        if self.count == 0 {
            let acked = self.acked;
            *self = Self {
                acked,
                ..Self::default()
            };
        } else if self.popped > self.packed.len() / 2 {
            self.packed.drain(..self.popped);
            self.popped = 0;
            self.packed.shrink_to(self.packed.len() * 2);
        }
        Some(page)
    }

    /// Makes the report for a check-in with these pages in flight. After this call, all pages of the queue count as
    /// acked: they are in the frontier's window.
    ///
    /// If no page is in flight, the acked pages stay in the window, and only the other pages are reported. The same
    /// holds if one page is in flight and is directly before the acked pages in the window. Otherwise the report
    /// contains all pages.
    pub(crate) fn report<'a>(
        &mut self,
        in_flight: impl Iterator<Item = &'a Pending>,
    ) -> QueueReport {
        let in_flight: Vec<&Pending> = in_flight.collect();
        let (keep_last, append) = match in_flight.as_slice() {
            [] => (self.acked, self.unacked()),
            [page] if self.last_acked_popped == Some(page.key) => (self.acked + 1, self.unacked()),
            in_flight => {
                let mut all = self.clone();
                for page in in_flight {
                    all.push_front((*page).clone());
                }
                (0, all)
            }
        };
        self.acked = self.len();
        self.last_acked_popped = match in_flight.as_slice() {
            [page] => Some(page.key),
            // If several pages are in flight, their order in the window is not known.
            _ => None,
        };
        QueueReport { keep_last, append }
    }

    /// Appends pages that came with the lease or with the reply to a check-in. In the frontier's window, they directly
    /// follow the acked pages. If other pages were pushed to this queue since the check-in, the order of queue and
    /// window differs. Then the next report contains the whole queue.
    pub(crate) fn receive(&mut self, pages: Vec<Pending>) {
        if pages.is_empty() {
            return;
        }
        let same_order = self.acked == self.len();
        self.extend(pages);
        if same_order {
            self.acked = self.len();
        } else {
            self.invalidate_ack();
        }
    }

    /// Makes the next report contain the whole queue.
    fn invalidate_ack(&mut self) {
        self.acked = 0;
        self.last_acked_popped = None;
    }

    /// The pages that are not in the window.
    fn unacked(&self) -> Self {
        if self.acked == self.len() {
            return Self::default();
        }
        let in_front = self.acked.min(self.front.len());
        let packed = self.acked - in_front;
        let mut reader = Reader::new(&self.packed[self.popped..]);
        let (mut via, mut pasts) = (self.first_via.as_str(), 0);
        for _ in 0..packed {
            let page = read(&mut reader, via).expect("`count` pages are packed");
            via = page.via;
            pasts += usize::from(page.with_past);
        }
        Self {
            front: self.front[..self.front.len() - in_front].to_vec(),
            packed: reader.rest().to_vec(),
            count: self.count - packed,
            pasts: self.pasts.iter().skip(pasts).cloned().collect(),
            first_via: via.to_owned(),
            last_via: self.last_via.clone(),
            ..Self::default()
        }
    }
}

/// A packed page. Its texts are borrowed from the buffer.
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
    /// The page, without its past.
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

/// Reads the next page in the format of [`PageQueue::push_back`]. Returns `None` at the end. `via` is the `via` of the
/// page before it.
fn read<'a>(reader: &mut Reader<'a>, via: &'a str) -> Option<Packed<'a>> {
    let mark = reader.byte()?;
    Some(Packed {
        with_past: mark & WITH_PAST != 0,
        tries: reader.byte()?,
        key: PathKey(reader.word()?),
        depth: reader.number()?,
        site_depth: reader.number()?,
        hop: Hop::from_byte(reader.byte()?)?,
        path: reader.text()?,
        via: match mark & SAME_VIA {
            0 => reader.text()?,
            _ => via,
        },
    })
}

impl Iterator for PageQueue {
    type Item = Pending;

    fn next(&mut self) -> Option<Pending> {
        self.pop_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl Extend<Pending> for PageQueue {
    fn extend<T: IntoIterator<Item = Pending>>(&mut self, pages: T) {
        for page in pages {
            self.push_back(page);
        }
    }
}

impl FromIterator<Pending> for PageQueue {
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

    /// Applies random operations to a `PageQueue` and a `VecDeque`, and compares the two.
    #[test]
    fn behaves_like_a_deque() {
        let (mut packed, mut plain) = (PageQueue::default(), VecDeque::new());
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

    /// A model of a visit and the frontier: the queue under test, the same queue as a plain `VecDeque`, the pages in
    /// flight, and the frontier's window.
    #[derive(Default)]
    struct Model {
        pages: PageQueue,
        queue: VecDeque<Pending>,
        in_flight: Vec<Pending>,
        window: Vec<Pending>,
        /// Whether a check-in waits for its reply.
        submitted: bool,
        next: usize,
    }

    impl Model {
        fn new_page(&mut self) -> Pending {
            self.next += 1;
            page(self.next)
        }

        /// The frontier gives pages to the visit, and appends them to its window.
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

        /// Makes a check-in, and compares the window with the pages of the visit. Returns the number of pages that
        /// stayed in the window.
        fn check_in(&mut self) -> usize {
            let report = self.pages.report(self.in_flight.iter());
            let (left, more) = WindowUpdate::from(report).into_parts();
            assert!(
                left <= self.window.len(),
                "keeps {left} of {}",
                self.window.len()
            );
            self.window.drain(..self.window.len() - left);
            self.window.extend(more);
            self.submitted = true;
            let (first, rest) = self.window.split_at(self.in_flight.len());
            assert!(self.in_flight.iter().all(|page| first.contains(page)));
            assert!(rest.iter().eq(self.queue.iter()));
            left
        }

        /// One random event of a visit with up to `requests` requests at the same time.
        fn step(&mut self, dice: u64, requests: usize) -> usize {
            let place = (dice >> 8) as usize;
            match dice % 16 {
                0..3 => {
                    let page = self.new_page();
                    self.queue.push_back(page.clone());
                    self.pages.push_back(page);
                }
                3..7 if self.in_flight.len() < requests => {
                    let page = self.take();
                    self.in_flight.extend(page);
                }
                // The page is refused or postponed.
                7 if place.is_multiple_of(4) => drop(self.take()),
                8..12 if !self.in_flight.is_empty() => {
                    let mut page = self.in_flight.swap_remove(place % self.in_flight.len());
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

    #[test]
    fn the_window_always_has_the_pages_in_flight_and_the_queue() {
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
            assert!(spared > 1000, "{spared} pages were not sent again");
        }
    }

    #[test]
    fn a_report_has_only_the_difference() {
        let mut pages = PageQueue::default();
        let report = |pages: &mut PageQueue, in_flight: &[Pending]| {
            let (left, more) = WindowUpdate::from(pages.report(in_flight.iter())).into_parts();
            let more: Vec<u64> = more.iter().map(|page| page.key.0 ^ u64::MAX).collect();
            (left, more)
        };
        pages.receive((1..6).map(page).collect());
        assert_eq!(report(&mut pages, &[]), (5, vec![]));
        let first = pages.pop_front().expect("five pages");
        assert_eq!(report(&mut pages, &[first]), (5, vec![]), "one in flight");
        let second = pages.pop_front().expect("four pages");
        pages.push_back(page(6));
        assert_eq!(
            report(&mut pages, std::slice::from_ref(&second)),
            (4, vec![6])
        );
        pages.push_front(second);
        assert_eq!(
            report(&mut pages, &[]),
            (0, vec![2, 3, 4, 5, 6]),
            "pushed to the front"
        );
        assert_eq!(report(&mut pages, &[]), (5, vec![]));
        pages.push_back(page(7));
        pages.receive(vec![page(8)]);
        assert_eq!(report(&mut pages, &[]).0, 0, "order differs");
        let both = [pages.pop_front(), pages.pop_front()].map(|page| page.expect("seven pages"));
        assert_eq!(report(&mut pages, &both).0, 0, "two in flight");
        assert_eq!(
            report(&mut pages, &both[1..]).0,
            0,
            "position in the window unknown"
        );
        let mut last = pages.pop_front().expect("five pages");
        while let Some(page) = pages.pop_front() {
            last = page;
        }
        assert_eq!(
            report(&mut pages, &[last]),
            (1, vec![]),
            "the last page in flight"
        );
        pages.push_back(page(9));
        let new = pages.pop_front().expect("one page");
        assert_eq!(
            report(&mut pages, &[new]),
            (0, vec![9]),
            "was never in the window"
        );
    }

    #[test]
    fn a_full_window_is_small() {
        let window = (0..256).map(|number| Pending {
            past: None,
            ..page(number)
        });
        let mut pages: PageQueue = window.collect();
        let full = pages.packed.capacity();
        assert!(full <= 20 << 10, "{full}");
        for _ in 0..250 {
            pages.pop_front();
        }
        let rest = pages.packed.capacity();
        assert!(rest <= 2 << 10, "{rest}: memory of popped pages is freed");
    }
}
