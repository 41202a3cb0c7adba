//! Pages that wait in memory, packed: the queue of a visit, and what a check-in says of it.
//!
//! Tens of thousands of visits hold up to `frontier.window` pages each, and most of them only wait for a pause to end. As
//! [`Pending`] a page takes some two hundred bytes, half of it the URL of the page that its link was found on. Here it
//! takes its path and a dozen bytes: links found on one page come one after the other, and that page is named once.
//!
//! First in, first out; what was taken too early goes back in front. A page comes out as it went in.

use std::collections::VecDeque;

use aranha_frontier::codec::{Reader, put_str, put_varint};
use aranha_frontier::{Past, Pending};
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
        put_varint(out, u64::from(u32::from(page.hop)));
        put_str(out, &page.path);
        if !same {
            put_str(out, &page.via);
            self.last_via = page.via;
        }
        self.pasts.extend(page.past);
        self.count += 1;
    }

    pub(crate) fn pop_front(&mut self) -> Option<Pending> {
        if let Some(page) = self.front.pop() {
            return Some(page);
        }
        let mut reader = Reader::new(&self.packed[self.taken..]);
        let (mut page, with_past) = read(&mut reader, &self.first_via)?;
        self.taken = self.packed.len() - reader.rest().len();
        self.count -= 1;
        if with_past {
            page.past = self.pasts.pop_front();
        }
        if page.via != self.first_via {
            self.first_via.clone_from(&page.via);
        }
        if self.count == 0 {
            *self = Self::default();
        } else if self.taken > self.packed.len() / 2 {
            self.packed.drain(..self.taken);
            self.taken = 0;
            self.packed.shrink_to(self.packed.len() * 2);
        }
        Some(page)
    }
}

/// The next page, and whether it has a past; nothing at the end. Only [`Pages::push_back`] writes what is read here.
fn read(reader: &mut Reader<'_>, via: &str) -> Option<(Pending, bool)> {
    let mark = reader.byte()?;
    let page = Pending {
        tries: reader.byte()?,
        key: PathKey(reader.word()?),
        depth: reader.number()?,
        site_depth: reader.number()?,
        hop: reader.letter()?,
        path: reader.text()?.to_owned(),
        via: match mark & SAME_VIA {
            0 => reader.text()?.to_owned(),
            _ => via.to_owned(),
        },
        past: None,
    };
    Some((page, mark & WITH_PAST != 0))
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
            hop: if number.is_multiple_of(7) { 'R' } else { 'L' },
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
