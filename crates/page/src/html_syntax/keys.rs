//! Integer keys (see `name`) of the attribute and element names that `format/html` and `rewrite/locate` look for.

use super::name::key;

pub(crate) const ACTION: u128 = key(b"action");
pub(crate) const BACKGROUND: u128 = key(b"background");
pub(crate) const CONTENT: u128 = key(b"content");
pub(crate) const CROSSORIGIN: u128 = key(b"crossorigin");
pub(crate) const DATA: u128 = key(b"data");
pub(crate) const DATA_SRC: u128 = key(b"data-src");
pub(crate) const DATA_SRCSET: u128 = key(b"data-srcset");
pub(crate) const FORMACTION: u128 = key(b"formaction");
pub(crate) const HREF: u128 = key(b"href");
pub(crate) const HTTP_EQUIV: u128 = key(b"http-equiv");
pub(crate) const IMAGESRCSET: u128 = key(b"imagesrcset");
pub(crate) const INTEGRITY: u128 = key(b"integrity");
pub(crate) const LANG: u128 = key(b"lang");
pub(crate) const METHOD: u128 = key(b"method");
pub(crate) const NAME: u128 = key(b"name");
pub(crate) const ON: u128 = key(b"on");
pub(crate) const POSTER: u128 = key(b"poster");
pub(crate) const PROPERTY: u128 = key(b"property");
pub(crate) const REL: u128 = key(b"rel");
pub(crate) const SRC: u128 = key(b"src");
pub(crate) const SRCDOC: u128 = key(b"srcdoc");
pub(crate) const SRCSET: u128 = key(b"srcset");
pub(crate) const STYLE: u128 = key(b"style");
pub(crate) const TYPE: u128 = key(b"type");
pub(crate) const XLINK_HREF: u128 = key(b"xlink:href");
pub(crate) const XML_LANG: u128 = key(b"xml:lang");
