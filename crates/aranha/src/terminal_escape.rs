//! Escaping of text from the web before it is shown on a terminal.
//!
//! A title or a URL can hold escape sequences that move the cursor, change colours or reverse the writing direction.
//! All text for people is shown through [`Escaped`]. JSON output may also be shown on a terminal, but JSON itself
//! escapes only some of the dangerous characters. So JSON output is shown through [`EscapedJson`].

use std::fmt::{self, Write};

use serde_json::Value;

/// Shows text with control characters escaped (`\n`, `\u{1b}`).
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if needs_escape(c) {
                write!(formatter, "{}", c.escape_default())?;
            } else {
                formatter.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// Shows a JSON value with control characters as JSON escapes (`\u009b`). A JSON parser reads the same value.
pub(crate) struct EscapedJson<'a>(pub(crate) &'a Value);

impl fmt::Display for EscapedJson<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let mut rest = text.as_str();
        // In JSON, characters that need an escape occur only inside strings. All these characters are below U+10000, so
        // four hexadecimal digits are enough.
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| needs_escape(*c)) {
            write!(formatter, "{}\\u{:04x}", &rest[..at], u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        formatter.write_str(rest)
    }
}

/// Whether a character must be escaped. These are control characters (C0, DEL and C1), line and paragraph separators,
/// and characters that set the writing direction.
pub(crate) fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Escaped, EscapedJson};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Escaped(text).to_string(), expected);
    }

    #[test]
    fn control_characters_are_escaped() {
        check("São Paulo ☂ 日本", "São Paulo ☂ 日本");
        check("\u{1b}[31mred", "\\u{1b}[31mred");
        check("a\r\nb\tc", "a\\r\\nb\\tc");
        check("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}");
        check("fdp.\u{202e}exe", "fdp.\\u{202e}exe");
    }

    #[test]
    fn escaped_json_is_the_same_value() {
        let value = json!({"titl\u{e9}": "a\u{9b}2J\u{7f}\u{202e}\n☂"});
        let shown = EscapedJson(&value).to_string();
        assert_eq!(shown, r#"{"titlé":"a\u009b2J\u007f\u202e\n☂"}"#);
        assert_eq!(shown.parse::<Value>().unwrap(), value);
    }
}
