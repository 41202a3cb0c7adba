//! Text from the web, made harmless for a terminal.
//!
//! A title or a URL can hold escape sequences that move the cursor, change colours or turn the direction of writing.
//! What is shown to people goes through [`Plain`]; what is data for programs (`--json`) is escaped by JSON.

use std::fmt::{self, Write};

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
    use super::Plain;

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
}
