//! Renamed keys. An old name is still accepted, and [`Renamed`] describes it so that the program can warn.
//!
//! Names are replaced in the parsed document, before it is deserialised into [`Config`](super::Config). So errors and
//! origins have the line of the old name. An old name is removed one release after the new name was introduced.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::leaf::dotted;

/// The current name of the section, the old name of the key, and its new name. If the section itself was renamed, the
/// first text is empty, and the other two are its names.
type Rename = (&'static str, &'static str, &'static str);

/// All renamed keys. A section is listed before the keys inside it.
pub(super) const RENAMED: &[Rename] = &[
    ("", "parasite", "proxy_cache"),
    ("crawl", "rate", "limit_rate"),
    ("crawl", "check_in", "check_in_interval"),
    ("crawl", "linger", "idle_wait"),
    ("thresholds", "barren", "trap_pages"),
    ("load", "requests", "max_requests"),
    ("load", "cpu", "max_cpu_percent"),
    ("load", "latency", "max_latency"),
    ("load", "errors", "max_error_percent"),
    ("fetch", "memory", "body_memory"),
    ("fetch", "range", "range_requests"),
    ("frontier", "external", "external_links"),
    ("frontier", "cache", "cache_size"),
    ("frontier", "log", "wal_size"),
    ("revisit", "least", "min_interval"),
    ("revisit", "most", "max_interval"),
    ("revisit", "gone", "max_gone"),
    ("revisit", "window", "history_visits"),
    ("revisit", "first", "initial_rounds"),
    ("revisit", "descend", "min_changed_share"),
    ("revisit", "quick", "quick_every"),
    ("revisit", "prior", "prior_change_interval"),
    ("revisit", "chance", "change_probability"),
    ("proxy_cache", "again", "min_interval"),
];

/// An old key name in a configuration file or in `--set`. Its `Display` is the warning, without the `warning: ` prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The configuration file and the line of the old name, or the flag.
    pub place: String,
    /// The old dotted key.
    pub old: String,
    /// The current dotted key.
    pub new: String,
}

impl fmt::Display for Renamed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, old, new } = self;
        write!(
            formatter,
            "{place}: `{old}` is now `{new}`; the old name will be removed"
        )
    }
}

/// An old name in a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OldName {
    pub(super) old: String,
    pub(super) new: String,
    /// Byte range of the old name.
    pub(super) span: Range<usize>,
}

/// Replaces old names in a document. The error is an old name whose new name is also set.
pub(super) fn replace(document: &mut DeTable<'_>) -> Result<Vec<OldName>, OldName> {
    let mut found = Vec::new();
    for (section, old, new) in RENAMED {
        let table = match document.get_mut(*section).map(Spanned::get_mut) {
            _ if section.is_empty() => &mut *document,
            Some(DeValue::Table(table)) => table,
            _ => continue,
        };
        let Some((name, value)) = table.remove_entry(*old) else {
            continue;
        };
        let span = name.span();
        let key = Spanned::new(span.clone(), Cow::Borrowed(*new));
        let both = table.contains_key(*new);
        table.insert(key, value);
        let old_name = OldName {
            old: dotted(section, old),
            new: dotted(section, new),
            span,
        };
        if both {
            return Err(old_name);
        }
        found.push(old_name);
    }
    Ok(found)
}
