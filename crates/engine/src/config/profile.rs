//! Named profiles: values that belong together, between the defaults and the user's file.
//!
//! Each is a TOML file beside this one, with the reason for every value. A profile is kept only while it serves a
//! kind of crawl that its name tells; single values belong in the user's own file.

/// The name of the profile that changes nothing.
pub(super) const DEFAULT: &str = "default";

/// One named set of values.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// As `--profile` takes it.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Its values, TOML with comments.
    pub text: &'static str,
}

/// All of them.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: DEFAULT,
        about: "today's sensible values for the public web",
        text: "",
    },
    Profile {
        name: "vn2006",
        about: "the limits of the Viuva Negra crawls of the Portuguese web (2005)",
        text: include_str!("profiles/vn2006.toml"),
    },
    Profile {
        name: "mysite",
        about: "a site of your own: no pause, several connections",
        text: include_str!("profiles/mysite.toml"),
    },
];

/// The profile of that name.
pub(super) fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}
