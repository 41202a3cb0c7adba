//! Whether a place in a document is inside `<svg>` or `<math>`, where CDATA sections and `/>` mean something (WHATWG
//! HTML, section 13.2.6.5), or inside `<noscript>`, out of which nothing leads but its end. Counted, not stacked: who asks
//! is `html` and `spot`.

use crate::html_syntax::element::Element;

/// The open elements that matter.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// Open `<svg>` and `<math>` elements.
    open: u32,
    /// Open `<foreignObject>` elements, where HTML begins again.
    integration: u32,
    noscript: bool,
}

impl Foreign {
    #[inline]
    pub(crate) fn inside(&self) -> bool {
        self.open > self.integration
    }

    #[inline]
    pub(crate) fn in_noscript(&self) -> bool {
        self.noscript
    }

    /// A start tag. Returns whether the element is closed with it: only in foreign content and XML does a solidus close
    /// anything.
    #[inline]
    pub(crate) fn start(&mut self, element: Element, self_closing: bool, xml: bool) -> bool {
        if element.leaves_foreign() && self.inside() {
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

    /// An end tag.
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
