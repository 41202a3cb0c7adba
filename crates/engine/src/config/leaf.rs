//! The leaves of a TOML document (values that are not tables), with their positions.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value that is not a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Dotted key of the table that contains the value; empty at the top level.
    pub(super) table: String,
    /// Dotted key of the value, including the table.
    pub(super) key: String,
    /// Byte range from the start of the key to the end of the value.
    pub(super) span: Range<usize>,
}

/// The leaves of `text`, in the order of the text.
pub(super) fn leaves(text: &str) -> Result<Vec<Leaf>, toml::de::Error> {
    Ok(leaves_of(DeTable::parse(text)?.get_ref()))
}

/// The leaves of a parsed document, in the order of the text.
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
                span: span(name, value),
            }),
        }
    }
}

fn span<A, B>(name: &Spanned<A>, value: &Spanned<B>) -> Range<usize> {
    name.span().start..value.span().end.max(name.span().end)
}

/// `prefix.name`, with the name quoted if TOML requires it.
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
    fn leaves_are_in_the_order_of_the_text() {
        let text = "z = 1\n[b]\ny = [1,\n 2]\n\"a/b\" = \"x\" # note\n[b.c]\n[a]\nq.r = true\n";
        let found: Vec<_> = leaves(text)
            .expect("valid TOML")
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
