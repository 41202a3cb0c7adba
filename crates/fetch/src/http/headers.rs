//! The header fields of an answer (RFC 9110, section 5).
//!
//! An answer has a dozen of them and is asked for a dozen names: they lie in one text and are looked through one by one. A map
//! cost more to make, for every page, than it saved. However many a server sends, no more are kept than [`MOST`].

/// Header fields kept of one answer.
const MOST: usize = 500;

/// Fields in the order in which they came, names in lower case. A name may occur several times.
#[derive(Clone, Default)]
pub struct Headers {
    /// Name, value, name, value …
    text: Vec<u8>,
    fields: Vec<FieldSpan>,
}

/// Where a field lies in the text.
#[derive(Clone, Copy)]
struct FieldSpan {
    name: u32,
    value: u32,
    end: u32,
}

impl Headers {
    /// None yet, with room for a head of so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            text: Vec::with_capacity(bytes),
            fields: Vec::with_capacity(16),
        }
    }

    /// Adds a field behind the others; false when its name is none (RFC 9110, 5.6.2) or there are too many. Control characters
    /// of the value become spaces.
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) -> bool {
        let place = self.text.len();
        let length = place + name.len() + value.len();
        if self.fields.len() == MOST || !is_name(name) || u32::try_from(length).is_err() {
            return false;
        }
        self.text.extend_from_slice(name);
        self.text[place..].make_ascii_lowercase();
        self.text.extend_from_slice(value);
        let value = place + name.len();
        let is_odd = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        if self.text[value..].iter().any(is_odd) {
            let odd = self.text[value..].iter_mut();
            odd.filter(|byte| byte.is_ascii_control())
                .for_each(|byte| *byte = b' ');
        }
        self.fields.push(FieldSpan {
            name: place as u32,
            value: value as u32,
            end: length as u32,
        });
        true
    }

    /// All fields, names in lower case.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|field| {
            let [name, value, end] = [field.name, field.value, field.end].map(|at| at as usize);
            (&self.text[name..value], &self.text[value..end])
        })
    }

    /// The values of all fields of this name, which is to be given in lower case.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        debug_assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase()));
        let named = self.iter().filter(move |(own, _)| *own == name.as_bytes());
        named.map(|(_, value)| value)
    }

    /// The first value of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The first value of this name, if it is plain ASCII.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(plain)
    }

    /// The values of this name that are plain ASCII.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.all(name).filter_map(plain)
    }

    /// Whether there is a field of this name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self
            .iter()
            .map(|(name, value)| (name.escape_ascii(), value.escape_ascii()));
        f.debug_map()
            .entries(shown.map(|(name, value)| (name.to_string(), value.to_string())))
            .finish()
    }
}

/// Whether this can name a field: a token (RFC 9110, 5.6.2).
pub(crate) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| OF_NAMES[usize::from(*byte)])
}

/// The bytes that names are made of.
const OF_NAMES: [bool; 256] = {
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

fn plain(value: &[u8]) -> Option<&str> {
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
    fn what_is_no_field_is_left_out() {
        let mut headers = Headers::default();
        for name in [&b""[..], b"a b", b"a:", b"caf\xe9", b"a\0"] {
            assert!(!headers.push(name, b"value"), "{name:?}");
        }
        assert!(headers.push(b"a", b"b\0c\td\x7fe"));
        assert_eq!(headers.text("a"), Some("b c d e"));
        assert!(headers.push(b"b", b"c\td"));
        assert_eq!(headers.text("b"), Some("c\td"));
        let before = headers.iter().count();
        let taken = (0..1000).filter(|_| headers.push(b"c", b"")).count();
        assert_eq!(before + taken, MOST);
    }
}
