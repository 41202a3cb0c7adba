//! XML events for the readers of formats that are XML inside: elements by their local names, and text with its
//! character references resolved.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

/// A part of an XML document.
pub(super) enum Item<'a> {
    /// The start of an element. `is_empty`: it ends here, and no [`Item::End`] follows.
    Start {
        element: Element<'a>,
        is_empty: bool,
    },
    /// The end of the element with this local name.
    End(&'a str),
    Text(&'a str),
}

/// The start of an element.
pub(super) struct Element<'a>(&'a BytesStart<'a>);

impl Element<'_> {
    /// The name without its prefix. Empty if it is not UTF-8.
    pub(super) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// The value of the first attribute with this local name.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let attributes = attributes.with_checks(false).flatten();
        let mut named =
            attributes.filter(|attribute| attribute.key.local_name().into_inner() == name);
        let attribute = named.next()?;
        let value = &attribute.value;
        let unescaped = quick_xml::escape::unescape(value).ok();
        Some(unescaped.map_or_else(|| value.to_string(), std::borrow::Cow::into_owned))
    }
}

/// Calls `visit` for every item until it returns false, the document ends, or it is malformed. Returns whether the
/// document was well-formed as far as it was read.
pub(super) fn visit(document: &[u8], mut visit: impl FnMut(Item<'_>) -> bool) -> bool {
    let text = decode(document);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let mut depth = 0_usize;
    loop {
        let Ok(event) = reader.read_event() else {
            return false;
        };
        let goes_on = match &event {
            Event::Start(start) => {
                depth += 1;
                visit(Item::Start {
                    element: Element(start),
                    is_empty: false,
                })
            }
            Event::Empty(start) => visit(Item::Start {
                element: Element(start),
                is_empty: true,
            }),
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                visit(Item::End(end.local_name().into_inner()))
            }
            Event::Text(text) => visit(Item::Text(text)),
            Event::CData(text) => visit(Item::Text(text)),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().ok().flatten();
                match character {
                    Some(character) => visit(Item::Text(character.encode_utf8(&mut [0; 4]))),
                    None => resolve_predefined_entity(reference)
                        .is_none_or(|text| visit(Item::Text(text))),
                }
            }
            Event::Eof => return depth == 0,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => true,
        };
        if !goes_on {
            return true;
        }
    }
}

/// The text of the first element with this local name.
pub(super) fn text_of(document: &[u8], name: &str) -> Option<String> {
    let mut found: Option<String> = None;
    visit(document, |item| match item {
        Item::Start { element, is_empty } if found.is_none() && element.name() == name => {
            found = Some(String::new());
            !is_empty
        }
        Item::Text(text) => {
            if let Some(found) = &mut found {
                found.push_str(text);
            }
            true
        }
        Item::End(ended) => found.is_none() || ended != name,
        Item::Start { .. } => true,
    });
    found
}

/// Decodes by the byte-order mark; without one, as UTF-8.
fn decode(document: &[u8]) -> std::borrow::Cow<'_, str> {
    encoding_rs::UTF_8.decode(document).0
}
