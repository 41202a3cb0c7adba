//! Canonicalisation: from text to [`CanonUrl`] or [`Rejected`] (U1 to U7).
//!
//! Plain links are assembled from the base's text (`plain.rs`). All other text is parsed by the WHATWG parser, which is
//! as tolerant as browsers, and then normalised by RFC 3986. Both paths give the same result. The steps:
//!
//! 1. Parser: surrounding white space and control characters are removed, as are tabs and line ends inside the text.
//!    Other control characters are percent-encoded, `\` becomes `/`. Scheme and host are converted to lower case,
//!    internationalised names to ASCII, and IP addresses to their canonical form. Dot segments (also `%2e`) are
//!    resolved, the default port is omitted, an empty path becomes `/`.
//! 2. The fragment is dropped. **Credentials are dropped too**: a crawler must not log in with credentials found in a
//!    link, and they must not appear in logs and archives.
//! 3. Percent-encoding in path and query is normalised (`percent.rs`). The final dot of a host and an empty query are
//!    removed.
//! 4. The optional [`UrlRules`] follow in this order: sessions and tracking, listings, index names, then the limits on
//!    repetition and length. With this order, no rule produces text that an earlier rule would change. So the result is
//!    a fixed point.
//!
//! The tests in `canonicaliser/tests.rs` check all rules together.

use url::Url;

use crate::base::Base;
use crate::canonical::{CanonUrl, PartOffsets};
use crate::growth;
use crate::listing;
use crate::origin;
use crate::parameters::ParameterNames;
use crate::percent;
use crate::plain;
use crate::rejected::Rejected;
use crate::rules::UrlRules;

/// If `UrlRules::max_length` is set, text that is longer than both this constant and `max_length` is rejected without
/// parsing, because some pages have megabytes in a `href`.
pub(crate) const MAX_TEXT_LENGTH: usize = 1 << 16;

/// The compiled [`UrlRules`], shared by all visits.
#[derive(Clone, Debug)]
pub struct Canonicaliser {
    rules: UrlRules,
    /// Parameters to be removed from the path: session identifiers.
    path_names: ParameterNames,
    /// Parameters to be removed from the query: session identifiers and tracking parameters.
    query_names: ParameterNames,
}

impl Default for Canonicaliser {
    fn default() -> Canonicaliser {
        Canonicaliser::new(UrlRules::default())
    }
}

impl Canonicaliser {
    /// Compiles the rules.
    pub fn new(rules: UrlRules) -> Canonicaliser {
        let mut names = Vec::new();
        if rules.drop_sessions {
            names.extend_from_slice(&rules.session_names);
        }
        let path_names = ParameterNames::compile(&names);
        if rules.drop_tracking {
            names.extend_from_slice(&rules.tracking_names);
        }
        Canonicaliser {
            path_names,
            query_names: ParameterNames::compile(&names),
            rules,
        }
    }

    /// The rules.
    pub fn rules(&self) -> &UrlRules {
        &self.rules
    }

    /// Canonicalises an absolute URL.
    pub fn canon(&self, text: &str) -> Result<CanonUrl, Rejected> {
        let text = self.admit(text)?;
        match plain::canon(before_fragment(text), &mut String::new()) {
            Some((text, offsets)) => self.finish(text, offsets),
            None => self.settle(&Url::parse(text).map_err(malformed)?),
        }
    }

    /// Resolves a link of a page against the page's base and canonicalises it. Called for every link.
    pub fn join(&self, base: &Base, href: &str) -> Result<CanonUrl, Rejected> {
        self.join_into(base, href, &mut String::new())
    }

    /// Like [`Canonicaliser::join`], but reuses the allocation of `spare`; see [`CanonUrl::into_string`].
    pub fn join_into(
        &self,
        base: &Base,
        href: &str,
        spare: &mut String,
    ) -> Result<CanonUrl, Rejected> {
        let href = self.admit(href)?;
        let joined = base
            .plain
            .as_ref()
            .and_then(|base| plain::join(base, before_fragment(href), spare));
        match joined {
            Some((text, offsets)) => self.finish(text, offsets),
            None => self.join_by_parser(base, href),
        }
    }

    /// Rebuilds a URL from a stored origin (`https://www.example.org`) and path (`/a?b`), both already canonical. The
    /// rules are not applied again, so a stored URL stays valid when the rules change.
    pub fn rebuild(&self, origin: &str, path: &str) -> Result<CanonUrl, Rejected> {
        let offsets = origin::read(origin, self.rules.fold_www)
            .ok_or_else(|| Rejected::Malformed(format!("`{origin}` is not a stored origin")))?;
        if !path.starts_with('/') {
            return Err(Rejected::Malformed(format!(
                "`{path}` is not a stored path"
            )));
        }
        Ok(CanonUrl::assemble([origin, path].concat(), offsets))
    }

    /// Prepares text for the fast path and for the parser: trims it, and rejects very long text and schemes other than
    /// http and https.
    fn admit<'a>(&self, text: &'a str) -> Result<&'a str, Rejected> {
        let text = text.trim_matches(|c: char| c <= ' ');
        if let Some(scheme) = foreign_scheme(text) {
            return Err(Rejected::Scheme(scheme.to_ascii_lowercase()));
        }
        let limit = self.rules.max_length;
        if limit > 0 && text.len() > MAX_TEXT_LENGTH.max(limit) {
            return Err(Rejected::TooLong {
                length: text.len(),
                limit,
            });
        }
        Ok(text)
    }

    /// Like [`Canonicaliser::join`], but always with the parser.
    fn join_by_parser(&self, base: &Base, href: &str) -> Result<CanonUrl, Rejected> {
        self.settle(&base.parse(href).map_err(malformed)?)
    }

    /// Steps 2 and 3 of canonicalisation: converts the parsed URL to normalised text.
    fn settle(&self, url: &Url) -> Result<CanonUrl, Rejected> {
        let (mut text, offsets) = origin::write(url, true, url.as_str().len())?;
        percent::normalise_into(&mut text, url.path());
        if let Some(query) = url.query() {
            text.push('?');
            percent::normalise_into(&mut text, query);
        }
        self.finish(text, offsets)
    }

    /// Step 4 of canonicalisation: applies the optional rules. `offsets` must be computed with `www.`
    /// folded. If folding is off, the start of the site name is moved back to the start of the host.
    fn finish(&self, mut text: String, mut offsets: PartOffsets) -> Result<CanonUrl, Rejected> {
        if !self.rules.fold_www {
            offsets.site = offsets.scheme.authority_start() as u32;
        }
        let start = offsets.path as usize;
        let path_end = self.trim(&mut text, start);
        if let Some(component) = growth::repeated(&text[start..path_end], self.rules.max_repeats) {
            return Err(Rejected::Repeats {
                component: component.to_owned(),
            });
        }
        let limit = self.rules.max_slashes;
        if let Some(slashes) = growth::slashes_beyond(&text[start..path_end], limit) {
            return Err(Rejected::TooManySlashes { slashes, limit });
        }
        let (length, limit) = (text.len(), self.rules.max_length);
        if limit > 0 && length > limit {
            return Err(Rejected::TooLong { length, limit });
        }
        Ok(CanonUrl::assemble(text, offsets))
    }

    /// Applies the rules for sessions, tracking parameters, listings and index names. Returns the end of the path.
    fn trim(&self, text: &mut String, start: usize) -> usize {
        let mark = memchr::memchr(b'?', &text.as_bytes()[start..]);
        let mut path_end = mark.map_or(text.len(), |mark| start + mark);
        if self.rules.drop_sessions
            && memchr::memchr2(b';', b'(', &text.as_bytes()[start..path_end]).is_some()
        {
            path_end = self.path_names.strip_path(text, start, path_end);
        }
        if mark.is_some() {
            let query = path_end + 1;
            self.query_names.strip_query(text, query);
            let listing = self.rules.trim_listings
                && text.as_bytes()[path_end - 1] == b'/'
                && listing::is_reordering(&text[query..]);
            if listing || query == text.len() {
                text.truncate(path_end);
            }
        }
        if self.rules.drop_index && path_end == text.len() {
            path_end = self.index_start(text);
            text.truncate(path_end);
        }
        path_end
    }

    /// Returns the offset of the index name with which the text ends, or the length of the text if it does not end with
    /// an index name.
    fn index_start(&self, text: &str) -> usize {
        let name = memchr::memrchr(b'/', text.as_bytes()).map_or(text.len(), |slash| slash + 1);
        let known = self
            .rules
            .index_names
            .iter()
            .any(|index| index.eq_ignore_ascii_case(&text[name..]));
        if known { name } else { text.len() }
    }
}

fn malformed(error: url::ParseError) -> Rejected {
    match error {
        url::ParseError::EmptyHost => Rejected::NoHost,
        url::ParseError::RelativeUrlWithoutBase => {
            Rejected::Malformed("the scheme (http:// or https://) is missing".to_owned())
        }
        other => Rejected::Malformed(other.to_string()),
    }
}

fn before_fragment(text: &str) -> &str {
    memchr::memchr(b'#', text.as_bytes()).map_or(text, |mark| &text[..mark])
}

/// The scheme of the text if it is neither http nor https.
fn foreign_scheme(text: &str) -> Option<&str> {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.'))?;
    let scheme = &text[..end];
    let foreign = text.as_bytes()[end] == b':'
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && !scheme.eq_ignore_ascii_case("http")
        && !scheme.eq_ignore_ascii_case("https");
    foreign.then_some(scheme)
}

#[cfg(test)]
mod tests;
