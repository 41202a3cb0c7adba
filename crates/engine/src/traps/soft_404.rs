//! Recognises soft 404s (T8): "not found" pages with status 200, and redirects to such pages.
//!
//! After the first pages of a site, the visit sends a probe: a request for a page that cannot exist. The response is
//! stored with the site as [`Absent`]. A page with the same response counts as gone, although its status is not an
//! error.

use aranha_frontier::{Absent, Outcome, Pending};
use aranha_url::SiteKey;

use crate::collect::PageResponse;

/// The path that the soft 404 probe of a site requests.
pub fn probe_path(site: SiteKey) -> String {
    format!("/aranha-{:016x}.html", !site.0)
}

/// Makes the site's "not found" response from the response to the probe. `None` if the probe got no response.
pub(crate) fn learn(response: &PageResponse) -> Option<Absent> {
    let Outcome::Answer(status) = response.outcome else {
        return None;
    };
    let sketch = response.reading.as_ref().map(|reading| reading.sketch);
    let redirect = response.redirect.as_ref();
    Some(Absent {
        status,
        text_digest: response.text_digest,
        sketch: sketch.unwrap_or_default(),
        location: redirect.map_or_else(String::new, |to| to.target.as_str().to_owned()),
    })
}

/// Whether a response equals the site's "not found" response: it is the same redirect, or has the same or nearly the
/// same text.
pub(crate) fn is_soft_404(
    absent: Option<&Absent>,
    page: &Pending,
    response: &PageResponse,
) -> bool {
    let Some(absent) = absent else {
        return false;
    };
    // A site may send its home page for every unknown path, so the home page itself is never a soft 404.
    if page.path == "/" || page.depth == 0 {
        return false;
    }
    if response.outcome != Outcome::Answer(absent.status) || absent.status >= 400 {
        return false;
    }
    if let Some(redirect) = &response.redirect {
        return redirect.target.as_str() == absent.location;
    }
    let Some(reading) = &response.reading else {
        return false;
    };
    reading.text != 0 && reading.text == absent.text_digest
        || aranha_page::is_near_duplicate(reading.sketch, absent.sketch)
}
