//! Profiles: named sets of values for one kind of crawl, applied after the defaults and before the user's files.
//!
//! Each profile is a TOML file in `profiles/`, with the reason for every value.

/// Name of the profile that leaves all defaults unchanged.
pub(super) const DEFAULT: &str = "default";

/// A named set of values.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Name for `--profile`.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Values as TOML with comments.
    pub text: &'static str,
}

/// All profiles.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: DEFAULT,
        about: "the defaults, for the public web",
        text: "",
    },
    Profile {
        name: "vn2006",
        about: "the limits of the Viuva Negra crawls of the Portuguese web (2005)",
        text: include_str!("profiles/vn2006.toml"),
    },
    Profile {
        name: "archive",
        about: "complete pages for replay: with their images, style sheets, fonts and scripts",
        text: include_str!("profiles/archive.toml"),
    },
    Profile {
        name: "mysite",
        about: "a site of your own: no pause, several connections",
        text: include_str!("profiles/mysite.toml"),
    },
];

/// The profile with this name.
pub(super) fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}
