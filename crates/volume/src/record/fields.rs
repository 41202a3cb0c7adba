//! A block of type `application/warc-fields` (WARC 1.1, section 6.2): lines of names and values.

use crate::record::escape;

/// Named fields, written as they are put: one text, however many there are. Whatever a value holds, it stays one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarcFields(Vec<u8>);

impl WarcFields {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// None yet, with room for so many bytes of them.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Adds a field behind the others.
    pub fn put(&mut self, name: &str, value: &str) {
        self.0.reserve(name.len() + value.len() + 4);
        escape::name(name, &mut self.0);
        self.0.extend_from_slice(b": ");
        escape::value(value, &mut self.0);
        self.0.extend_from_slice(b"\r\n");
    }

    /// The block.
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
