//! The leaves of a TOML text, with their places: what a layer sets, and where.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One value that is not a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The dotted key of the table it stands in; empty at the top.
    pub(super) table: String,
    /// Its own dotted key, table included.
    pub(super) key: String,
    /// Bytes of the text from the key's first to the value's last.
    pub(super) span: Range<usize>,
}

/// The leaves of `text`, in the order in which they are written. An empty table has none.
pub(super) fn leaves(text: &str) -> Result<Vec<Leaf>, toml::de::Error> {
    Ok(leaves_of(DeTable::parse(text)?.get_ref()))
}

/// The leaves of a parsed document, in the order in which they are written.
pub(super) fn leaves_of(document: &DeTable<'_>) -> Vec<Leaf> {
    let mut found = Vec::new();
    walk(document, "", &mut found);
    found.sort_by_key(|leaf| leaf.span.start);
    found
}

fn walk(table: &DeTable<'_>, prefix: &str, found: &mut Vec<Leaf>) {
    for (name, value) in table {
        let key = dotted(prefix, name.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => walk(inner, &key, found),
            _ => found.push(Leaf {
                table: prefix.to_owned(),
                key,
                span: whole(name, value),
            }),
        }
    }
}

fn whole<A, B>(name: &Spanned<A>, value: &Spanned<B>) -> Range<usize> {
    name.span().start..value.span().end.max(name.span().end)
}

/// `name` below `prefix`; quoted where TOML would quote it.
pub(super) fn dotted(prefix: &str, name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let name = if bare {
        name.to_owned()
    } else {
        format!("{name:?}")
    };
    if prefix.is_empty() {
        name
    } else {
        format!("{prefix}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_come_in_the_order_written() {
        let text = "z = 1\n[b]\ny = [1,\n 2]\n\"a/b\" = \"x\" # note\n[b.c]\n[a]\nq.r = true\n";
        let found: Vec<_> = leaves(text)
            .expect("this is TOML")
            .into_iter()
            .map(|leaf| (leaf.table.clone(), leaf.key.clone(), &text[leaf.span]))
            .collect();
        let expected = [
            ("", "z", "z = 1"),
            ("b", "b.y", "y = [1,\n 2]"),
            ("b", "b.\"a/b\"", "\"a/b\" = \"x\""),
            ("a.q", "a.q.r", "r = true"),
        ];
        assert_eq!(
            found,
            expected.map(|(table, key, text)| (table.to_owned(), key.to_owned(), text))
        );
    }
}
