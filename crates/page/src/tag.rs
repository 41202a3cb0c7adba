//! The tag being read: its element and those of its attributes that somebody will ask for.
//!
//! `html` fills one `Tag` over and over; values go to one buffer that is reused, and an attribute that nobody wants
//! is not even copied. The first of several attributes of one name counts, as the standard says.

use crate::element::Element;
use crate::name::Name;
use crate::{Options, name};

/// Attributes that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    Action,
    Content,
    /// `data` of an object, `poster` of a video, `background` of old: one more asset.
    Extra,
    Href,
    HttpEquiv,
    Lang,
    LazySrc,
    LazySrcset,
    Method,
    Name,
    Property,
    Rel,
    Src,
    Srcset,
    /// `style`, read when it ends.
    Style,
    /// `onclick` and its like, read when it ends.
    Handler,
}

const COUNT: usize = Attribute::Handler as usize + 1;

/// Where the value that is being read goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// The name is not complete yet.
    Open,
    Keep(Attribute),
    Ignore,
}

/// The current tag.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) name: Name,
    pub(crate) start: bool,
    pub(crate) self_closing: bool,
    element: Option<Element>,
    attribute: Name,
    slot: Slot,
    values: Vec<u8>,
    begin: usize,
    present: u32,
    ranges: [(usize, usize); COUNT],
}

impl Tag {
    pub(crate) fn new() -> Tag {
        Tag {
            name: Name::default(),
            start: false,
            self_closing: false,
            element: None,
            attribute: Name::default(),
            slot: Slot::Ignore,
            values: Vec::new(),
            begin: 0,
            present: 0,
            ranges: [(0, 0); COUNT],
        }
    }

    #[inline]
    pub(crate) fn open(&mut self, start: bool) {
        self.name.clear();
        self.start = start;
        self.self_closing = false;
        self.element = None;
        self.slot = Slot::Ignore;
        self.values.clear();
        self.present = 0;
    }

    /// The element, looked up once, when the name is complete.
    #[inline]
    pub(crate) fn element(&mut self) -> Element {
        *self
            .element
            .get_or_insert_with(|| Element::named(self.name.key()))
    }

    #[inline]
    pub(crate) fn open_attribute(&mut self) {
        self.attribute.clear();
        self.slot = Slot::Open;
    }

    #[inline]
    pub(crate) fn push_attribute_name(&mut self, part: &[u8]) {
        self.attribute.push(part);
    }

    /// The name is complete: decides whether its value is wanted.
    #[inline]
    pub(crate) fn open_value(&mut self, options: &Options) {
        let element = self.element();
        let wanted = if self.start {
            wanted(element, &self.attribute, options)
        } else {
            None
        };
        self.slot = match wanted {
            Some(attribute) if self.present & bit(attribute) == 0 => Slot::Keep(attribute),
            _ => Slot::Ignore,
        };
        self.begin = self.values.len();
    }

    #[inline]
    pub(crate) fn push_value(&mut self, part: &[u8]) {
        if let Slot::Keep(_) = self.slot {
            self.values.extend_from_slice(part);
        }
    }

    /// Ends the current attribute, if there is one, and returns it if it is to be read at once: styles and event
    /// handlers can be many in one tag.
    #[inline]
    pub(crate) fn close_attribute(&mut self, options: &Options) -> Option<(Attribute, &[u8])> {
        if self.slot == Slot::Ignore {
            return None;
        }
        // `<a href>` has no value at all.
        if self.slot == Slot::Open {
            self.open_value(options);
        }
        let Slot::Keep(attribute) = std::mem::replace(&mut self.slot, Slot::Ignore) else {
            return None;
        };
        if matches!(attribute, Attribute::Style | Attribute::Handler) {
            return Some((attribute, &self.values[self.begin..]));
        }
        self.present |= bit(attribute);
        self.ranges[attribute as usize] = (self.begin, self.values.len());
        None
    }

    /// The value of an attribute that was wanted; empty when it has none.
    pub(crate) fn get(&self, attribute: Attribute) -> Option<&[u8]> {
        if self.present & bit(attribute) == 0 {
            return None;
        }
        let (begin, end) = self.ranges[attribute as usize];
        Some(&self.values[begin..end])
    }
}

fn bit(attribute: Attribute) -> u32 {
    1 << attribute as u32
}

/// Which attributes of which elements are kept.
#[inline]
fn wanted(element: Element, name: &Name, options: &Options) -> Option<Attribute> {
    let found = match element {
        Element::Other | Element::Block | Element::Break => None,
        Element::Anchor | Element::Area | Element::Link => match name.as_bytes() {
            b"href" | b"xlink:href" => Some(Attribute::Href),
            b"rel" => Some(Attribute::Rel),
            b"imagesrcset" if options.assets => Some(Attribute::Srcset),
            _ => None,
        },
        Element::Base => (name.key() == name::key(b"href")).then_some(Attribute::Href),
        Element::Meta => match name.as_bytes() {
            b"name" => Some(Attribute::Name),
            b"content" => Some(Attribute::Content),
            b"http-equiv" => Some(Attribute::HttpEquiv),
            b"property" => Some(Attribute::Property),
            _ => None,
        },
        Element::Html => {
            matches!(name.as_bytes(), b"lang" | b"xml:lang").then_some(Attribute::Lang)
        }
        Element::Frame | Element::Iframe => {
            (name.key() == name::key(b"src")).then_some(Attribute::Src)
        }
        Element::Form if options.forms => match name.as_bytes() {
            b"action" => Some(Attribute::Action),
            b"method" => Some(Attribute::Method),
            _ => None,
        },
        _ if options.assets => asset(element, name),
        _ => None,
    };
    if found.is_some() || !(options.assets || options.scripts) {
        return found;
    }
    match name.as_bytes() {
        b"background" if options.assets => Some(Attribute::Extra),
        b"style" if options.assets => Some(Attribute::Style),
        [b'o', b'n', _, ..] if options.scripts => Some(Attribute::Handler),
        _ => None,
    }
}

/// Attributes that name what a page needs to be shown.
fn asset(element: Element, name: &Name) -> Option<Attribute> {
    match (element, name.as_bytes()) {
        (
            Element::Image
            | Element::Script
            | Element::Source
            | Element::Video
            | Element::Audio
            | Element::Track
            | Element::Embed
            | Element::Input,
            b"src",
        ) => Some(Attribute::Src),
        (Element::Image | Element::Source, b"srcset") => Some(Attribute::Srcset),
        // What scripts copy to src and srcset when the image comes into view.
        (Element::Image | Element::Source, b"data-src") => Some(Attribute::LazySrc),
        (Element::Image | Element::Source, b"data-srcset") => Some(Attribute::LazySrcset),
        (Element::Video, b"poster") | (Element::Object, b"data") => Some(Attribute::Extra),
        (Element::SvgImage, b"href" | b"xlink:href") => Some(Attribute::Href),
        _ => None,
    }
}
