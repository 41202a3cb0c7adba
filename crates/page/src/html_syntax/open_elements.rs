//! Tracks open `<svg>` and `<math>` elements, where CDATA sections and `/>` have a meaning (WHATWG HTML, 13.2.6.5), and
//! open `<noscript>` elements. Elements are counted, without a stack. Used by `format/html` and `rewrite/locate`.

use crate::html_syntax::element::Element;

/// Counts of the open elements that affect the tokenizer.
#[derive(Debug, Default)]
pub(crate) struct OpenElements {
    /// Open `<svg>` and `<math>` elements.
    foreign: u32,
    /// Open `<foreignObject>` elements, whose content is HTML again.
    integration_points: u32,
    noscript: bool,
}

impl OpenElements {
    /// Whether the content here is SVG or `MathML`, not HTML.
    #[inline]
    pub(crate) fn in_foreign_content(&self) -> bool {
        self.foreign > self.integration_points
    }

    #[inline]
    pub(crate) fn in_noscript(&self) -> bool {
        self.noscript
    }

    /// Records a start tag. Returns whether the tag also closes its element. A tag with `/>` closes its element only in
    /// foreign content and XML.
    #[inline]
    pub(crate) fn start(&mut self, element: Element, self_closing: bool, xml: bool) -> bool {
        if element.closes_foreign_content() && self.in_foreign_content() {
            (self.foreign, self.integration_points) = (0, 0);
        }
        let closed = self_closing && (xml || self.in_foreign_content());
        match element {
            Element::Svg | Element::Math if !self_closing => self.foreign += 1,
            Element::ForeignObject if !closed && self.in_foreign_content() => {
                self.integration_points += 1;
            }
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
                self.foreign = self.foreign.saturating_sub(1);
                self.integration_points = self.integration_points.min(self.foreign);
            }
            Element::ForeignObject => {
                self.integration_points = self.integration_points.saturating_sub(1);
            }
            Element::Noscript => self.noscript = false,
            _ => {}
        }
    }
}
