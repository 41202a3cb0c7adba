//! The header fields of a response (RFC 9110, section 5).
//!
//! All fields are stored in one buffer and searched linearly. A response has about a dozen fields, and about a dozen
//! names are looked up in it. For so few, building a hash map costs more than it saves. At most [`MAX_FIELDS`] fields
//! are kept.

/// Maximum number of header fields that are kept.
const MAX_FIELDS: usize = 500;

/// Header fields in the order received, with names in lower case. A name may occur several times.
#[derive(Clone, Default)]
pub struct Headers {
    /// Names and values in turn, without separators.
    text: Vec<u8>,
    fields: Vec<FieldSpan>,
}

/// The offsets of a field in `Headers::text`.
#[derive(Clone, Copy)]
struct FieldSpan {
    name: u32,
    value: u32,
    end: u32,
}

impl Headers {
    /// An empty list of fields, with capacity for a head of this many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            text: Vec::with_capacity(bytes),
            fields: Vec::with_capacity(16),
        }
    }

    /// Appends a field. If the name is not a token (RFC 9110, 5.6.2) or there are too many fields, returns false and
    /// ignores the field. Control characters in the value are replaced by spaces.
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) -> bool {
        let start = self.text.len();
        let length = start + name.len() + value.len();
        if self.fields.len() == MAX_FIELDS || !is_token(name) || u32::try_from(length).is_err() {
            return false;
        }
        self.text.extend_from_slice(name);
        self.text[start..].make_ascii_lowercase();
        self.text.extend_from_slice(value);
        let value = start + name.len();
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        if self.text[value..].iter().any(is_control) {
            let bytes = self.text[value..].iter_mut();
            bytes
                .filter(|byte| byte.is_ascii_control())
                .for_each(|byte| *byte = b' ');
        }
        self.fields.push(FieldSpan {
            name: start as u32,
            value: value as u32,
            end: length as u32,
        });
        true
    }

    /// All fields as name and value, names in lower case.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|field| {
            let [name, value, end] = [field.name, field.value, field.end].map(|at| at as usize);
            (&self.text[name..value], &self.text[value..end])
        })
    }

    /// The values of all fields with this name, which must be in lower case.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        debug_assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase()));
        let fields = self.iter();
        fields
            .filter(move |(field, _)| *field == name.as_bytes())
            .map(|(_, value)| value)
    }

    /// The first value with this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The first value with this name, if it is ASCII.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(ascii)
    }

    /// The values with this name that are ASCII.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.all(name).filter_map(ascii)
    }

    /// Whether there is a field with this name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let escaped = self
            .iter()
            .map(|(name, value)| (name.escape_ascii(), value.escape_ascii()));
        f.debug_map()
            .entries(escaped.map(|(name, value)| (name.to_string(), value.to_string())))
            .finish()
    }
}

/// Whether the bytes are a token (RFC 9110, 5.6.2). Field names must be tokens.
pub(crate) fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| IS_TOKEN_BYTE[usize::from(*byte)])
}

const IS_TOKEN_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let marks = b"!#$%&'*+-.^_`|~";
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
};

fn ascii(value: &[u8]) -> Option<&str> {
    str::from_utf8(value).ok().filter(|text| text.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let mut headers = Headers::default();
        assert!(headers.push(b"Set-Cookie", b"a=b"));
        assert!(headers.push(b"SERVER", b"caf\xe9"));
        assert!(headers.push(b"set-cookie", b"c=d"));
        assert!(headers.push(b"X", b""));
        assert!(headers.all("set-cookie").eq([&b"a=b"[..], b"c=d"]));
        assert_eq!(headers.text("set-cookie"), Some("a=b"));
        assert_eq!(headers.get("server"), Some(&b"caf\xe9"[..]));
        assert_eq!(headers.text("server"), None);
        assert_eq!(headers.get("x"), Some(&b""[..]));
        assert!(!headers.has("set"));
        assert!(!headers.has("set-cookie2"));
        let shown = r#"{"set-cookie": "a=b", "server": "caf\\xe9", "set-cookie": "c=d", "x": ""}"#;
        assert_eq!(format!("{headers:?}"), shown);
    }

    #[test]
    fn invalid_and_excess_fields_are_left_out() {
        let mut headers = Headers::default();
        for name in [&b""[..], b"a b", b"a:", b"caf\xe9", b"a\0"] {
            assert!(!headers.push(name, b"value"), "{name:?}");
        }
        assert!(headers.push(b"a", b"b\0c\td\x7fe"));
        assert_eq!(headers.text("a"), Some("b c d e"));
        assert!(headers.push(b"b", b"c\td"));
        assert_eq!(headers.text("b"), Some("c\td"));
        let before = headers.iter().count();
        let added = (0..1000).filter(|_| headers.push(b"c", b"")).count();
        assert_eq!(before + added, MAX_FIELDS);
    }
}
