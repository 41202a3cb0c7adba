//! The truth: what a crawler that obeys the rules must find.

/// What the crawler whose result is foreseen does. The default is aranha's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crawler {
    /// Product token looked for in robots.txt.
    pub agent: String,
    /// robots.txt is obeyed.
    pub robots: bool,
    /// Links of pages with a robots meta tag `nofollow` are not followed.
    pub meta_nofollow: bool,
    /// Links with `rel=nofollow` are not followed.
    pub rel_nofollow: bool,
    /// Images and style sheets are fetched.
    pub assets: bool,
    /// Sites other than the seeds' are visited.
    pub outside: bool,
}

impl Default for Crawler {
    fn default() -> Self {
        Crawler {
            agent: "aranha".to_owned(),
            robots: true,
            meta_nofollow: true,
            rel_nofollow: true,
            assets: false,
            outside: true,
        }
    }
}

/// What is expected of one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Status of the answer under the site's preferred name.
    pub status: u16,
    /// The answer is an HTML page.
    pub html: bool,
    /// Least number of links, redirects counted, from a seed.
    pub depth: u16,
}
