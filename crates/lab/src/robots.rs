//! robots.txt of the honest sites, and what each means.
//!
//! The meaning is written out by hand beside the file instead of being parsed from it: the truth must not
//! depend on a robots parser, least of all on the one under test. RFC 9309; the untidy file is tidy enough
//! that every tolerant parser reads it alike (R1).

use crate::site::Manners;

const PRIVATE: &str = "User-agent: *\nDisallow: /private/\n";
const GROUPS: &str = "# Known visitors first.\nUser-agent: badbot\nDisallow: /\n\n\
    User-agent: aranha\nUser-agent: labtest\nDisallow: /private/\nAllow: /private/open.html\n\n\
    User-agent: *\nDisallow: /\n";
const PATTERN: &str = "User-agent: *\nDisallow: /*?print=\nDisallow: /private/*.html$\n\nUser-agent: otherbot\nDisallow: /\n";
const UNTIDY: &str = "\u{feff}\r\n<!-- robots -->\r\nuser-AGENT : *\r\n\
    Disalow /everything\r\n  DISALLOW:/private/   # not for robots\r\nNoindex: /\r\n";
const CLOSED: &str = "User-agent: *\nDisallow: /\n";

/// The file; `None` when the site has none.
pub(crate) fn text(manners: Manners) -> Option<&'static str> {
    match manners {
        Manners::None => None,
        Manners::Empty => Some(""),
        Manners::Private => Some(PRIVATE),
        Manners::Groups => Some(GROUPS),
        Manners::Pattern => Some(PATTERN),
        Manners::Untidy => Some(UNTIDY),
        Manners::Closed => Some(CLOSED),
    }
}

/// Whether a crawler with this product token may ask for this path and query.
pub(crate) fn allowed(manners: Manners, agent: &str, path: &str) -> bool {
    let is = |name: &str| agent.eq_ignore_ascii_case(name);
    let private = path.starts_with("/private/");
    match manners {
        Manners::None | Manners::Empty => true,
        Manners::Private | Manners::Untidy => !private,
        Manners::Groups => {
            (is("aranha") || is("labtest")) && (!private || path.starts_with("/private/open.html"))
        }
        Manners::Pattern => {
            let page = path
                .rsplit_once('.')
                .is_some_and(|(_, ending)| ending == "html");
            !(is("otherbot") || path.contains("?print=") || private && page)
        }
        Manners::Closed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_mean_what_is_said() {
        let check = |manners, agent, path, expected| {
            assert_eq!(
                allowed(manners, agent, path),
                expected,
                "{manners:?} {agent} {path}"
            );
        };
        check(Manners::None, "aranha", "/private/0.html", true);
        check(Manners::Private, "aranha", "/private/0.html", false);
        check(Manners::Private, "aranha", "/privately", true);
        check(Manners::Groups, "aranha", "/private/0.html", false);
        check(Manners::Groups, "Aranha", "/private/open.html", true);
        check(Manners::Groups, "badbot", "/", false);
        check(Manners::Groups, "unheard", "/", false);
        check(
            Manners::Pattern,
            "aranha",
            "/a/show.php?print=1&id=3",
            false,
        );
        check(Manners::Pattern, "aranha", "/a/show.php?id=3", true);
        check(Manners::Closed, "aranha", "/", false);
    }
}
