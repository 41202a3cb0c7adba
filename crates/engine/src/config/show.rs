//! What is in force, for people: TOML with the origin of each value beside it.

use super::leaf::{Leaf, leaves};
use super::{Config, ConfigEntry, Origin, Origins};

/// Comments begin here when the value is short enough.
const COLUMN: usize = 44;

/// The configuration as TOML in the order of its structs, and its leaves.
pub(super) fn written(config: &Config) -> (String, Vec<Leaf>) {
    let text = toml::to_string(config).expect("a configuration is TOML: every field came from it");
    let leaves = leaves(&text).expect("what was just written is TOML");
    (text, leaves)
}

/// Every value, for programs.
pub(super) fn entries(config: &Config, origins: &Origins) -> Vec<ConfigEntry> {
    let (text, leaves) = written(config);
    let entry = |leaf: Leaf| {
        let value: toml::Table = text[leaf.span].parse().expect("a leaf's own text is TOML");
        let value = value.into_iter().next().expect("a leaf has a value").1;
        ConfigEntry {
            origin: origins.of(&leaf.key),
            key: leaf.key,
            value,
        }
    };
    leaves.into_iter().map(entry).collect()
}

/// Every value.
pub(super) fn all(config: &Config, origins: &Origins) -> String {
    let (text, leaves) = written(config);
    let mut shown = String::with_capacity(text.len() * 2);
    let mut done = 0;
    for leaf in leaves {
        shown.push_str(&text[done..leaf.span.start]);
        push_leaf(&mut shown, &text, &leaf, origins);
        done = leaf.span.end;
    }
    shown.push_str(&text[done..]);
    shown
}

/// Only what a file or a flag set, and the profile's name.
pub(super) fn own(config: &Config, origins: &Origins) -> String {
    let (text, leaves) = written(config);
    let mut shown = String::new();
    let mut table = String::new();
    for leaf in leaves {
        let own = matches!(origins.of(&leaf.key), Origin::File { .. } | Origin::Flag(_));
        if !own && leaf.key != "profile" {
            continue;
        }
        if leaf.table != table {
            shown.extend(["\n[", &leaf.table, "]\n"]);
            table.clone_from(&leaf.table);
        }
        push_leaf(&mut shown, &text, &leaf, origins);
        shown.push('\n');
    }
    shown
}

fn push_leaf(shown: &mut String, text: &str, leaf: &Leaf, origins: &Origins) {
    let value = &text[leaf.span.clone()];
    let gap = COLUMN.saturating_sub(value.chars().count()).max(2);
    shown.push_str(value);
    shown.extend(std::iter::repeat_n(' ', gap));
    shown.push_str("# ");
    shown.push_str(&one_line(&origins.of(&leaf.key).to_string()));
}

/// An origin may hold a path with anything in it; a comment ends at its line.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
