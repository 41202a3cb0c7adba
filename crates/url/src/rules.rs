//! The canonicaliser's named rules, as they stand in `aranha.toml` under `[url]`.
//!
//! RFC 3986 section 6.2 (case, percent-encoding, dot segments, default port, empty path, fragment: U1) is not
//! switchable: those spellings are one resource by definition. What is here are the heuristics of the trade, which
//! may be wrong for one site and so can be turned off.

use serde::{Deserialize, Serialize};

/// Which heuristics are on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UrlRules {
    /// U3: `www.example.org` and `example.org` are one site where what follows `www.` is a registrable domain.
    pub fold_www: bool,
    /// U2: drop a well-known last file name. Off by default: the archive should hold the URL that was linked.
    pub drop_index: bool,
    /// The names that `drop_index` drops, compared without case.
    pub index_names: Vec<String>,
    /// U4: remove session identifiers from path and query.
    pub drop_sessions: bool,
    /// Parameter names that are session identifiers, compared without case. `name*` matches any rest of the
    /// name; `name=16` asks for a value of at least 16 letters and digits, or a UUID (`sid=123` is some story's number,
    /// `session_id=42` a talk of a conference).
    pub session_names: Vec<String>,
    /// U5: trim the re-orderings of Apache's directory listings.
    pub trim_listings: bool,
    /// U6: longest canonical URL in bytes; 0 switches the limit off.
    pub max_length: usize,
    /// U6: a path component may stand at most this often in a row, and three times as often in all; 0 switches
    /// the rule off.
    pub max_repeats: usize,
}

/// Well-known names of a directory's own page (V 3.4, and their successors).
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

/// Names under which sites carry a session in the URL (V 5.4, P A.6.1, and what later frameworks added).
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

impl Default for UrlRules {
    fn default() -> UrlRules {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        UrlRules {
            fold_www: true,
            drop_index: false,
            index_names: owned(&INDEX_NAMES),
            drop_sessions: true,
            session_names: owned(&SESSION_NAMES),
            trim_listings: true,
            max_length: 2000,
            max_repeats: 2,
        }
    }
}
