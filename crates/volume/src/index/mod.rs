//! The CDXJ index of a volume: [`entry`] writes its lines, [`lookup`] finds and parses them.

pub(crate) mod entry;
pub(crate) mod lookup;
