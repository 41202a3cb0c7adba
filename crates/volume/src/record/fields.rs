//! A block of type `application/warc-fields` (WARC 1.1, section 6.2): one `name: value` per line.

use crate::record::escape;

/// Named fields in one buffer, in the form in which they are written. Line ends in names and values are escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarcFields(Vec<u8>);

impl WarcFields {
    /// An empty list of fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty list of fields, with capacity for this many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Appends a field.
    pub fn put(&mut self, name: &str, value: &str) {
        self.0.reserve(name.len() + value.len() + 4);
        escape::name(name, &mut self.0);
        self.0.extend_from_slice(b": ");
        escape::value(value, &mut self.0);
        self.0.extend_from_slice(b"\r\n");
    }

    /// The content of the block.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl<Name: AsRef<str>, Value: AsRef<str>> FromIterator<(Name, Value)> for WarcFields {
    fn from_iter<I: IntoIterator<Item = (Name, Value)>>(pairs: I) -> Self {
        let mut fields = Self::new();
        for (name, value) in pairs {
            fields.put(name.as_ref(), value.as_ref());
        }
        fields
    }
}
