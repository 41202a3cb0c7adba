//! The location of a stored record: its volume, and its byte range in the volume.
//!
//! The frontier keeps the [`Location`] of every page, so a location must mean the same record on every machine of a
//! crawl.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Identifier of a volume. It is unique among all volumes of a frontier, those of all its nodes and of all its crawls.
///
/// The upper 32 bits are the number of the folder in a crawl of several machines (here called the node; it is not the
/// number that each start of a process gets). The lower 32 bits count the volumes of that folder, beginning with 1.
/// On a single machine the upper number is 0, so the identifiers are the plain counters.
/// Identifiers are ordered by node, then by counter.
///
/// The text form is part of every volume's file name: the counter with at least five digits (`00042`), preceded by
/// `n`, the node and a dot when the node is not 0 (`n7.00042`).
///
/// ```
/// use aranha_volume::VolumeId;
///
/// assert_eq!(VolumeId::from(42), VolumeId::new(0, 42));
/// assert_eq!(VolumeId::new(0, 42).to_string(), "00042");
/// assert_eq!(VolumeId::new(7, 42).to_string(), "n7.00042");
/// assert_eq!(VolumeId::parse("n7.00042"), Some(VolumeId::new(7, 42)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VolumeId(u64);

impl VolumeId {
    /// The identifier of the volume with this number (`counter`) among the volumes of this node.
    pub const fn new(node: u32, counter: u32) -> Self {
        Self((node as u64) << 32 | counter as u64)
    }

    /// Number of the node that wrote the volume; 0 on a single machine.
    pub const fn node(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Number of the volume among the volumes of its node, from 1.
    pub const fn counter(self) -> u32 {
        self.0 as u32
    }

    /// Reads the text form, in which the counter has at least five digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let (node, counter) = match text.strip_prefix('n') {
            Some(rest) => {
                let (node, counter) = rest.split_once('.')?;
                // Node 0 and leading zeros are refused, because each volume has exactly one text form.
                if !is_number(node) || node.starts_with('0') {
                    return None;
                }
                (node.parse().ok()?, counter)
            }
            None => (0, text),
        };
        if counter.len() < 5 || !is_number(counter) {
            return None;
        }
        Some(Self::new(node, counter.parse().ok()?))
    }
}

impl fmt::Display for VolumeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            0 => write!(out, "{:05}", self.counter()),
            node => write!(out, "n{node}.{:05}", self.counter()),
        }
    }
}

/// The identifier from the number that is stored in the frontier.
impl From<u64> for VolumeId {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// The number that is stored in the frontier.
impl From<VolumeId> for u64 {
    fn from(id: VolumeId) -> Self {
        id.0
    }
}

/// The location of a response or revisit record. Locations are ordered by volume, then by offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Location {
    /// The volume.
    pub volume: VolumeId,
    /// Offset of the record's gzip member or zstd frame in the file.
    pub offset: u64,
    /// Compressed length of the record in bytes.
    pub length: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_single_machine_is_the_counter() {
        for counter in [0, 1, 99_999, 1_234_567, u32::MAX] {
            let id = VolumeId::new(0, counter);
            assert_eq!(u64::from(id), u64::from(counter));
            assert_eq!(VolumeId::from(u64::from(counter)), id);
        }
        let id = VolumeId::new(7, 1);
        assert_eq!(u64::from(id), (7 << 32) + 1);
        assert_eq!((id.node(), id.counter()), (7, 1));
        assert!(VolumeId::new(0, u32::MAX) < id && id < VolumeId::new(7, 2));
    }

    #[test]
    fn the_text_form_is_read_back() {
        for (id, text) in [
            (VolumeId::new(0, 1), "00001"),
            (VolumeId::new(0, 1_234_567), "1234567"),
            (VolumeId::new(1, 1), "n1.00001"),
            (VolumeId::new(u32::MAX, u32::MAX), "n4294967295.4294967295"),
        ] {
            assert_eq!(id.to_string(), text);
            assert_eq!(VolumeId::parse(text), Some(id));
        }
        for text in [
            "",
            "1",
            "0001",
            "+00001",
            "4294967296",
            "n.00001",
            "n1.0001",
            "n1-00001",
            "n0.00001",
            "n01.00001",
            "n+1.00001",
            "n4294967296.00001",
            "7.00001",
        ] {
            assert_eq!(VolumeId::parse(text), None, "{text}");
        }
    }
}
