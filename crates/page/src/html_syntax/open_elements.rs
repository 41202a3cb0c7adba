//! Tracks open `<svg>` and `<math>` elements, where CDATA sections and `/>` have a meaning (WHATWG HTML, 13.2.6.5), and
//! open `<noscript>` elements. Elements are counted, not stacked. Used by `format/html` and `rewrite/locate`.

use crate::html_syntax::element::Element;

/// Counts of the open elements that change how the tokenizer reads.
#[derive(Debug, Default)]
pub(crate) struct OpenElements {
    /// Open `<svg>` and `<math>` elements.
    open: u32,
    /// Open `<foreignObject>` elements, where HTML begins again.
    integration: u32,
    noscript: bool,
}

impl OpenElements {
    #[inline]
    pub(crate) fn inside(&self) -> bool {
        self.open > self.integration
    }

    #[inline]
    pub(crate) fn in_noscript(&self) -> bool {
        self.noscript
    }

    /// Records a start tag. Returns whether the tag closes its element: `/>` does so only in foreign content and XML.
    #[inline]
    pub(crate) fn start(&mut self, element: Element, self_closing: bool, xml: bool) -> bool {
        if element.closes_foreign_content() && self.inside() {
            (self.open, self.integration) = (0, 0);
        }
        let closed = self_closing && (xml || self.inside());
        match element {
            Element::Svg | Element::Math if !self_closing => self.open += 1,
            Element::ForeignObject if !closed && self.inside() => self.integration += 1,
            Element::Noscript => self.noscript = !closed,
            _ => {}
        }
        closed
    }

    /// Records an end tag.
    #[inline]
    pub(crate) fn end(&mut self, element: Element) {
        match element {
            Element::Svg | Element::Math => {
                self.open = self.open.saturating_sub(1);
                self.integration = self.integration.min(self.open);
            }
            Element::ForeignObject => self.integration = self.integration.saturating_sub(1),
            Element::Noscript => self.noscript = false,
            _ => {}
        }
    }
}
