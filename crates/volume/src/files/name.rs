//! Names of volumes.
//!
//! ```text
//! PREFIX-YYYYMMDDhhmmssSSS-ID-HOST.warc.gz            aranha-20261115174800123-00042-crawler.warc.gz
//!                                                     aranha-20261115174800123-n7.00042-crawler.warc.zst
//! ```
//!
//! The timestamp (UTC) is the time at which the volume was begun. ID is the text form of [`VolumeId`]: the counter with
//! at least five digits, preceded by `n`, the node and a dot when the node is not 0. Therefore one folder can contain
//! volumes of several nodes. The extension is `.warc.gz` or `.warc.zst`. `.open` is appended while the volume is being
//! written, and `.damaged` if it could not be repaired.

use aranha_units::calendar;

use crate::{Compression, VolumeId};

/// Appended to the name of a volume that is being written.
pub(crate) const OPEN: &str = ".open";
/// Appended to the name of a volume, or of a part of one, that could not be repaired.
pub(crate) const DAMAGED: &str = ".damaged";

/// The final name of a volume that is begun at this time on this machine.
pub(crate) fn compose(
    prefix: &str,
    time_ms: i64,
    id: VolumeId,
    compression: Compression,
) -> String {
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let stamp = calendar::digits17(time_ms);
    format!(
        "{}-{stamp}-{id}-{}{}",
        plain(prefix),
        plain(&host),
        compression.extension()
    )
}

/// Replaces characters that are not safe in file names, URLs or shell commands. The result is never empty.
fn plain(text: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            c
        } else {
            '-'
        }
    };
    let text: String = text.chars().take(64).map(safe).collect();
    match text.trim_matches(['-', '.']) {
        "" => "unnamed".to_owned(),
        text => text.to_owned(),
    }
}

/// The name of a closed volume without its extension; `None` for any other file.
pub(crate) fn stem(name: &str) -> Option<&str> {
    let mut known = Compression::ALL.iter();
    known.find_map(|kind| name.strip_suffix(kind.extension()))
}

/// The identifier in a file name that [`compose`] made, with any suffix; `None` for any other file.
pub(crate) fn id(name: &str) -> Option<VolumeId> {
    let known = Compression::ALL.iter();
    id_in_stem(&name[..known.filter_map(|kind| name.find(kind.extension())).min()?])
}

/// The identifier in the name of a volume without its extension.
pub(crate) fn id_in_stem(stem: &str) -> Option<VolumeId> {
    let parts: Vec<&str> = stem.split('-').collect();
    parts.windows(2).find_map(|pair| {
        let is_stamp = pair[0].len() == 17 && pair[0].bytes().all(|byte| byte.is_ascii_digit());
        is_stamp.then(|| VolumeId::parse(pair[1]))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-15T17:48:00.123Z.
    const TIME_MS: i64 = 1_794_764_880_123;

    #[test]
    fn the_identifier_is_read_back_from_the_name() {
        for (prefix, number) in [
            ("aranha", VolumeId::new(0, 1)),
            ("my-crawl 2/..", VolumeId::new(0, 99_999)),
            ("", VolumeId::new(0, 1_234_567)),
            ("aranha", VolumeId::new(7, 1)),
            ("n3.00001", VolumeId::new(u32::MAX, u32::MAX)),
        ] {
            for compression in Compression::ALL {
                let name = compose(prefix, TIME_MS, number, compression);
                assert!(name.contains("-20261115174800123-"), "{name}");
                assert!(!name.contains(['/', ' ']), "{name}");
                assert_eq!(id(&name), Some(number), "{name}");
                for suffix in [OPEN, DAMAGED, ".1234.damaged"] {
                    assert_eq!(id(&format!("{name}{suffix}")), Some(number), "{name}");
                }
            }
        }
        assert_eq!(id("other.warc.gz"), None);
        assert_eq!(id("aranha-20261115174800123-00001-host.cdxj"), None);
    }

    #[test]
    fn the_node_is_visible_unless_it_is_0() {
        let name = |node| compose("a", TIME_MS, VolumeId::new(node, 42), Compression::Gzip);
        assert!(name(0).starts_with("a-20261115174800123-00042-"));
        assert!(name(7).starts_with("a-20261115174800123-n7.00042-"));
    }
}
