//! A link in a link run, and its encoding.

use aranha_url::PathKey;

use crate::Hop;
use crate::codec::Reader;

/// A link in a link run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLink<'a> {
    /// The link run of level 0 to which the link was first written.
    pub(crate) run: i64,
    pub(crate) key: PathKey,
    /// Encoded depth, hop and path.
    pub(crate) head: &'a [u8],
    /// Encoded URL of the page on which the link was found.
    pub(crate) via: &'a [u8],
}

impl<'a> RunLink<'a> {
    /// Decode depth, hop, path and via.
    pub(crate) fn fields(&self) -> Option<(u16, Hop, &'a str, &'a str)> {
        let mut head = Reader::new(self.head);
        let via = Reader::new(self.via).text()?;
        let (depth, letter) = (head.number()?, head.byte()?);
        Some((depth, Hop::from_stored(letter, via)?, head.text()?, via))
    }
}

/// Skip a link. Returns its encoded depth, hop and path, and its encoded via.
pub(crate) fn skip_link<'a>(text: &mut Reader<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let start = text.rest();
    text.varint()?;
    text.varint()?;
    skip_str(text)?;
    let head = &start[..start.len() - text.rest().len()];
    Some((head, skip_str(text)?))
}

/// Skip a string. Returns its encoding.
pub(crate) fn skip_str<'a>(text: &mut Reader<'a>) -> Option<&'a [u8]> {
    let start = text.rest();
    let length = text.number()?;
    text.take(length)?;
    Some(&start[..start.len() - text.rest().len()])
}
