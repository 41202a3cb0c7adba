//! Optional rules of the canonicaliser: the section `[url]` of `aranha.toml`.
//!
//! These are heuristics that can be wrong for a site, so each can be turned off. The normalisation of RFC 3986, 6.2
//! (case, percent-encoding, dot segments, default port, empty path, fragment; U1) is always on, because URLs that
//! differ only in these points are equivalent by definition.

use serde::{Deserialize, Serialize};

/// Options of the canonicaliser.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UrlRules {
    /// U3: `www.example.org` and `example.org` are one site if the name after `www.` is a registrable domain.
    pub fold_www: bool,
    /// U2: drop a well-known file name at the end, such as `index.html`. Off by default, so that pages are archived
    /// under the URLs that were linked.
    pub drop_index: bool,
    /// File names that `drop_index` drops, ignoring case.
    pub index_names: Vec<String>,
    /// U4: remove session identifiers from path and query.
    pub drop_sessions: bool,
    /// Parameter names of session identifiers, ignoring case. `name*` matches every name with this start. `name=16`
    /// requires a value of at least 16 letters and digits, or a UUID, because `sid=123` may be the number of an
    /// article.
    pub session_names: Vec<String>,
    /// Remove tracking parameters from the query. They tell a site where its visitors come from and do not change the page.
    pub drop_tracking: bool,
    /// Names of tracking parameters, in the syntax of `session_names`.
    pub tracking_names: Vec<String>,
    /// U5: remove the sort parameters of Apache's directory listings.
    pub trim_listings: bool,
    /// U6: maximum length of a canonical URL in bytes; 0 = no limit.
    pub max_length: usize,
    /// U6: maximum number of times that a path component may occur in a row; 0 = no limit. In the whole path it may
    /// occur three times as often.
    pub max_repeats: usize,
    /// U6: maximum number of slashes in a path; 0 = no limit.
    pub max_slashes: usize,
}

/// Well-known names of a directory's index page (Viuva Negra 3.4, and newer ones).
const INDEX_NAMES: [&str; 10] = [
    "index.html",
    "index.htm",
    "index.shtml",
    "index.xhtml",
    "index.php",
    "default.html",
    "default.htm",
    "default.asp",
    "default.aspx",
    "home.html",
];

/// Parameter names of session identifiers (Viuva Negra 5.4, Castillo A.6.1, and newer frameworks).
const SESSION_NAMES: [&str; 15] = [
    "jsessionid",
    "jsessid",
    "phpsessid",
    "phpsession",
    "sessionid=16",
    "session_id=16",
    "sessid=16",
    "sid=16",
    "cfid",
    "cftoken",
    "aspsessionid*",
    "asp.net_sessionid",
    "oscsid",
    "zenid",
    "xtcsid",
];

/// Names of tracking parameters of advertising networks, mail campaigns and web analytics. Only names that no site uses for
/// content are in the list.
const TRACKING_NAMES: [&str; 27] = [
    "utm_*",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "srsltid",
    "_ga",
    "_gl",
    "fbclid",
    "igshid",
    "msclkid",
    "twclid",
    "ttclid",
    "li_fat_id",
    "yclid",
    "ysclid",
    "_openstat",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsctatracking",
];

impl UrlRules {
    /// These rules without the removal of parameters and file names, so that a URL keeps the linked text in the normal
    /// form of RFC 3986.
    #[must_use]
    pub fn literal(&self) -> UrlRules {
        UrlRules {
            drop_index: false,
            drop_sessions: false,
            drop_tracking: false,
            trim_listings: false,
            ..self.clone()
        }
    }

    /// These rules without the removal of tracking parameters, for the files that a page loads. When the page is
    /// replayed, a browser requests these files under the URLs that the page contains. Session identifiers are still
    /// removed, because with them the same file would have another URL on every page.
    #[must_use]
    pub fn for_requisites(&self) -> UrlRules {
        UrlRules {
            drop_tracking: false,
            ..self.clone()
        }
    }
}

impl Default for UrlRules {
    fn default() -> UrlRules {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        UrlRules {
            fold_www: true,
            drop_index: false,
            index_names: owned(&INDEX_NAMES),
            drop_sessions: true,
            session_names: owned(&SESSION_NAMES),
            drop_tracking: true,
            tracking_names: owned(&TRACKING_NAMES),
            trim_listings: true,
            max_length: 2000,
            max_repeats: 2,
            max_slashes: 32,
        }
    }
}
