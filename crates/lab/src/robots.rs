//! The robots.txt files of the honest sites, and the paths that each file allows.
//!
//! [`allowed`] states in code which paths each file allows. The expected result of a crawl (`truth.rs`) must not depend
//! on a robots.txt parser, because it is used to test such a parser. The files follow RFC 9309. The malformed file has
//! only faults that all tolerant parsers treat in the same way (R1).

use crate::site::RobotsVariant;

const PRIVATE_DIRECTORY: &str = "User-agent: *\nDisallow: /private/\n";
const GROUPS: &str = "# Known visitors first.\nUser-agent: badbot\nDisallow: /\n\n\
    User-agent: aranha\nUser-agent: labtest\nDisallow: /private/\nAllow: /private/open.html\n\n\
    User-agent: *\nDisallow: /\n";
const PATTERN: &str = "User-agent: *\nDisallow: /*?print=\nDisallow: /private/*.html$\n\nUser-agent: otherbot\nDisallow: /\n";
const MALFORMED: &str = "\u{feff}\r\n<!-- robots -->\r\nuser-AGENT : *\r\n\
    Disalow /everything\r\n  DISALLOW:/private/   # not for robots\r\nNoindex: /\r\n";
const DISALLOW_ALL: &str = "User-agent: *\nDisallow: /\n";

/// The content of the file. `None` if the site has no robots.txt.
pub(crate) fn text(file: RobotsVariant) -> Option<&'static str> {
    match file {
        RobotsVariant::None => None,
        RobotsVariant::Empty => Some(""),
        RobotsVariant::PrivateDirectory => Some(PRIVATE_DIRECTORY),
        RobotsVariant::Groups => Some(GROUPS),
        RobotsVariant::Pattern => Some(PATTERN),
        RobotsVariant::Malformed => Some(MALFORMED),
        RobotsVariant::DisallowAll => Some(DISALLOW_ALL),
    }
}

/// Whether a crawler with this product token may request this path and query.
pub(crate) fn allowed(file: RobotsVariant, agent: &str, path: &str) -> bool {
    let is = |name: &str| agent.eq_ignore_ascii_case(name);
    let private = path.starts_with("/private/");
    match file {
        RobotsVariant::None | RobotsVariant::Empty => true,
        RobotsVariant::PrivateDirectory | RobotsVariant::Malformed => !private,
        RobotsVariant::Groups => {
            (is("aranha") || is("labtest")) && (!private || path.starts_with("/private/open.html"))
        }
        RobotsVariant::Pattern => {
            let html = path
                .rsplit_once('.')
                .is_some_and(|(_, extension)| extension == "html");
            !(is("otherbot") || path.contains("?print=") || private && html)
        }
        RobotsVariant::DisallowAll => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_paths_of_each_file() {
        let check = |file, agent, path, expected| {
            assert_eq!(
                allowed(file, agent, path),
                expected,
                "{file:?} {agent} {path}"
            );
        };
        check(RobotsVariant::None, "aranha", "/private/0.html", true);
        check(
            RobotsVariant::PrivateDirectory,
            "aranha",
            "/private/0.html",
            false,
        );
        check(
            RobotsVariant::PrivateDirectory,
            "aranha",
            "/privately",
            true,
        );
        check(RobotsVariant::Groups, "aranha", "/private/0.html", false);
        check(RobotsVariant::Groups, "Aranha", "/private/open.html", true);
        check(RobotsVariant::Groups, "badbot", "/", false);
        check(RobotsVariant::Groups, "unknown", "/", false);
        check(
            RobotsVariant::Pattern,
            "aranha",
            "/a/show.php?print=1&id=3",
            false,
        );
        check(RobotsVariant::Pattern, "aranha", "/a/show.php?id=3", true);
        check(RobotsVariant::DisallowAll, "aranha", "/", false);
    }
}
