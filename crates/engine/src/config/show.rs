//! The configuration as text: TOML with the origin of each value in a comment.

use aranha_fetch::HIDDEN;

use super::leaf::{Leaf, leaves};
use super::{Config, ConfigEntry, Origin, Origins};

/// Column at which comments start, unless the value is longer.
const COMMENT_COLUMN: usize = 44;

/// The configuration as TOML in the order of the structs, and its leaves.
pub(super) fn to_toml(config: &Config) -> (String, Vec<Leaf>) {
    let text = toml::to_string(config).expect("every configuration can be serialised");
    let leaves = leaves(&text).expect("serialised TOML can be parsed");
    (text, leaves)
}

/// All values, one entry each.
pub(super) fn entries(config: &Config, origins: &Origins) -> Vec<ConfigEntry> {
    let (text, leaves) = to_toml(config);
    let entry = |leaf: Leaf| {
        let value: toml::Table = text[leaf.span].parse().expect("the text of a leaf is TOML");
        let value = value.into_iter().next().expect("a leaf has a value").1;
        ConfigEntry {
            origin: origins.of(&leaf.key),
            key: leaf.key,
            value,
        }
    };
    leaves.into_iter().map(entry).collect()
}

/// All values as TOML.
pub(super) fn all(config: &Config, origins: &Origins) -> String {
    let (text, leaves) = to_toml(config);
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

/// The values from files and flags, and the name of the profile.
pub(super) fn own(config: &Config, origins: &Origins) -> String {
    own_except(config, origins, &[])
}

/// Sections and keys that belong to one machine.
const MACHINE_KEYS: [&str; 6] = [
    "frontier.url",
    "frontier.node",
    "fetch.source_addresses",
    "load",
    "log",
    "volume.threads",
];

/// The values that the nodes of a crawl share.
pub(super) fn shared(config: &Config, origins: &Origins) -> String {
    own_except(config, origins, &MACHINE_KEYS)
}

fn own_except(config: &Config, origins: &Origins, excluded: &[&str]) -> String {
    let (text, leaves) = to_toml(config);
    let mut shown = String::new();
    let mut table = String::new();
    for leaf in leaves {
        let is_own = matches!(origins.of(&leaf.key), Origin::File { .. } | Origin::Flag(_));
        // The URL of a proxy is kept without its login. The proxy is then still used, and answers that it wants a
        // login.
        let value = text[leaf.span.clone()].replace(&format!("://{HIDDEN}@"), "://");
        let is_excluded = excluded.iter().any(|key| {
            let rest = leaf.key.strip_prefix(key);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if !is_own && leaf.key != "profile" || is_secret(&value) || is_excluded {
            continue;
        }
        if leaf.table != table {
            shown.extend(["\n[", &leaf.table, "]\n"]);
            table.clone_from(&leaf.table);
        }
        push_value(&mut shown, &value, &leaf, origins);
        shown.push('\n');
    }
    shown
}

/// The keys from files and flags whose values contain secrets, which are not stored.
pub(super) fn secret_keys(config: &Config, origins: &Origins) -> Vec<String> {
    let (text, leaves) = to_toml(config);
    let secret = leaves.into_iter().filter(|leaf| {
        is_secret(&text[leaf.span.clone()]) && !matches!(origins.of(&leaf.key), Origin::Variable(_))
    });
    secret.map(|leaf| leaf.key).collect()
}

/// Whether a value was replaced, wholly or in part, because it is secret.
fn is_secret(value: &str) -> bool {
    value.contains(HIDDEN)
}

fn push_leaf(shown: &mut String, text: &str, leaf: &Leaf, origins: &Origins) {
    push_value(shown, &text[leaf.span.clone()], leaf, origins);
}

/// Adds a leaf with this text (`key = value`), and its origin.
fn push_value(shown: &mut String, value: &str, leaf: &Leaf, origins: &Origins) {
    let gap = COMMENT_COLUMN.saturating_sub(value.chars().count()).max(2);
    shown.push_str(value);
    shown.extend(std::iter::repeat_n(' ', gap));
    shown.push_str("# ");
    shown.push_str(&one_line(&origins.of(&leaf.key).to_string()));
}

/// Replaces control characters, because a newline in a path would end the comment.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
