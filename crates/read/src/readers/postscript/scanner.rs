//! Splits a `PostScript` program into tokens.

/// A part of a program.
pub(super) enum Token<'a> {
    /// A line that begins with a percent sign.
    Comment(&'a [u8]),
    Number(f64),
    String(Vec<u8>),
    /// An executable name outside of procedures.
    Name(&'a [u8]),
}

/// Splits a program into tokens (`PostScript` Language Reference, 3.2). Skips the bodies of procedures.
pub(super) struct Scanner<'a> {
    pub(super) rest: &'a [u8],
    /// Open procedures.
    pub(super) depth: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let (first, rest) = self.rest.split_first()?;
            match first {
                b'%' => {
                    let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
                    let (comment, rest) = self
                        .rest
                        .split_at(end.map_or(self.rest.len(), |end| end + 1));
                    self.rest = rest;
                    if comment.starts_with(b"%%") {
                        return Some(Token::Comment(comment));
                    }
                }
                b'(' => {
                    let string = self.string();
                    if self.depth == 0 {
                        return Some(Token::String(string));
                    }
                }
                b'<' if rest.starts_with(b"<") || rest.starts_with(b"~") => self.rest = &rest[1..],
                b'<' => {
                    let string = self.hex_string();
                    if self.depth == 0 {
                        return Some(Token::String(string));
                    }
                }
                b'{' => {
                    self.depth += 1;
                    self.rest = rest;
                }
                b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.rest = rest;
                }
                b'/' => {
                    self.rest = rest;
                    self.regular();
                }
                byte if is_regular(*byte) => {
                    let word = self.regular();
                    if self.depth > 0 {
                        continue;
                    }
                    let number = std::str::from_utf8(word)
                        .ok()
                        .and_then(|word| word.parse().ok());
                    return Some(number.map_or(Token::Name(word), Token::Number));
                }
                _ => self.rest = rest,
            }
        }
    }

    /// Skips the program up to these bytes, if they follow.
    pub(super) fn skip_to(&mut self, end: &[u8]) {
        if let Some(at) = memchr::memmem::find(self.rest, end) {
            self.rest = &self.rest[at..];
        }
    }

    fn regular(&mut self) -> &'a [u8] {
        let length = self
            .rest
            .iter()
            .take_while(|byte| is_regular(**byte))
            .count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        word
    }

    fn string(&mut self) -> Vec<u8> {
        let mut string = Vec::new();
        let mut depth = 0_usize;
        while let Some((first, rest)) = self.rest.split_first() {
            self.rest = rest;
            match first {
                b'(' => {
                    depth += 1;
                    if depth > 1 {
                        string.push(b'(');
                    }
                }
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                    string.push(b')');
                }
                b'\\' => self.escape(&mut string),
                byte => string.push(*byte),
            }
        }
        string
    }

    fn escape(&mut self, string: &mut Vec<u8>) {
        let digits = self
            .rest
            .iter()
            .take(3)
            .take_while(|byte| matches!(byte, b'0'..=b'7'))
            .count();
        if digits > 0 {
            let (octal, rest) = self.rest.split_at(digits);
            self.rest = rest;
            let value = octal
                .iter()
                .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            string.push(value as u8);
            return;
        }
        let Some((first, rest)) = self.rest.split_first() else {
            return;
        };
        self.rest = rest;
        match first {
            b'n' => string.push(b'\n'),
            b'r' => string.push(b'\r'),
            b't' => string.push(b'\t'),
            b'b' => string.push(8),
            b'f' => string.push(12),
            // The line goes on.
            b'\n' => {}
            b'\r' => self.rest = self.rest.strip_prefix(b"\n").unwrap_or(self.rest),
            byte => string.push(*byte),
        }
    }

    fn hex_string(&mut self) -> Vec<u8> {
        let end = self.rest.iter().position(|byte| *byte == b'>');
        let (inside, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.get(1..).unwrap_or_default();
        let digits: Vec<u8> = inside
            .iter()
            .filter_map(|byte| char::from(*byte).to_digit(16))
            .map(|digit| digit as u8)
            .collect();
        let pairs = digits.chunks(2);
        pairs
            .map(|pair| pair[0] * 16 + pair.get(1).copied().unwrap_or_default())
            .collect()
    }
}

fn is_regular(byte: u8) -> bool {
    byte > b' ' && !b"()<>[]{}/%".contains(&byte)
}
