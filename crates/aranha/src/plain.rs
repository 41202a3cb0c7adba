//! Text from the web, made harmless for a terminal.
//!
//! A title or a URL can hold escape sequences that move the cursor, change colours or turn the direction of writing.
//! What is shown to people goes through [`Plain`]. Data for programs (`--json`) may end on a terminal as well, and JSON
//! itself escapes only a part: it goes through [`PlainJson`].

use std::fmt::{self, Write};

use serde_json::Value;

/// Shows a text with its control characters written out (`\n`, `\u{1b}`).
pub(crate) struct Plain<'a>(pub(crate) &'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if is_harmful(c) {
                write!(formatter, "{}", c.escape_default())?;
            } else {
                formatter.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// Shows a value with what could harm a terminal as `\u009b`: the same value for whoever reads it as JSON.
pub(crate) struct PlainJson<'a>(pub(crate) &'a Value);

impl fmt::Display for PlainJson<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let mut rest = text.as_str();
        // Outside of strings JSON is ASCII without controls, and all that is harmful is below U+10000.
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_harmful(*c)) {
            write!(formatter, "{}\\u{:04x}", &rest[..at], u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        formatter.write_str(rest)
    }
}

/// C0, DEL and C1 controls, line and paragraph separators, and the marks that reverse the direction of writing.
pub(crate) fn is_harmful(c: char) -> bool {
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

    use super::{Plain, PlainJson};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Plain(text).to_string(), expected);
    }

    #[test]
    fn controls_are_written_out() {
        check("São Paulo ☂ 日本", "São Paulo ☂ 日本");
        check("\u{1b}[31mred", "\\u{1b}[31mred");
        check("a\r\nb\tc", "a\\r\\nb\\tc");
        check("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}");
        check("fdp.\u{202e}exe", "fdp.\\u{202e}exe");
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = json!({"titl\u{e9}": "a\u{9b}2J\u{7f}\u{202e}\n☂"});
        let shown = PlainJson(&value).to_string();
        assert_eq!(shown, r#"{"titlé":"a\u009b2J\u007f\u202e\n☂"}"#);
        assert_eq!(shown.parse::<Value>().unwrap(), value);
    }
}
