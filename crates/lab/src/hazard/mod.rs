//! Hostile sites, one small file each: what the web does to crawlers.
//!
//! A hazard is a site of its own, named after it, at an address of its own, linked from the home page of one of
//! the seeds when the plan has it. Its file has `serve`, which is given the visit and may do with the bytes what
//! it likes (the connection ends when it returns), or `resolve`, where the DNS server misbehaves, or both. To add
//! one: the file and a line in the table. Hazards have no part in the truth: what a crawler makes of them is
//! judged by the log.
//!
//! A plan may name a hazard several times: `calendar.lab`, `calendar2.lab` and so on.

mod absent;
mod aimless;
mod alias;
mod ancient;
mod bits;
mod bomb;
mod browser;
mod busy;
mod calendar;
mod carousel;
mod charsets;
mod chunks;
mod circle;
mod cookies;
mod counter;
mod credentials;
mod crooked;
mod crowd;
mod dates;
mod descent;
mod doorman;
mod down;
mod drip;
mod endless;
mod escape;
mod expired;
mod facets;
mod fields;
mod fleeting;
mod flood;
mod garbled;
mod gate;
mod giant;
mod growth;
mod handshake;
mod insider;
mod interim;
mod inward;
mod length;
mod lengthy;
mod listing;
mod lookup;
mod manner;
mod maze;
mod metadata;
mod mixed;
mod mute;
mod nested;
mod nulls;
mod othername;
mod patterns;
mod plaintext;
mod preamble;
mod radio;
mod ranges;
mod rebind;
mod reset;
mod ribbon;
mod ring;
mod schemes;
mod selfsigned;
mod servfail;
mod session;
mod shifting;
mod silence;
mod sitemaps;
mod soft;
mod storm;
mod symlink;
mod tarpit;
mod tenants;
mod trickle;
mod truncated;
mod tunnel;
mod types;
mod unterminated;
mod visit;
mod void;
mod wildcard;

use std::io;
use std::pin::Pin;

pub(crate) use lookup::{Lookup, Said};
pub(crate) use visit::Visit;

/// What a hazard attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Webs without end.
    Trap,
    /// Servers that break the protocol, the connection or their word.
    Server,
    /// Bodies that are not what they should be.
    Content,
    /// Meant to harm: memory, other hosts, terminals, archives.
    Attack,
    /// Names that do not resolve as they should.
    Name,
}

/// The table: group, variant, name and file, one line for people.
macro_rules! hazards {
    ($($group:ident { $($variant:ident $file:ident $line:literal)* })*) => {
        /// Which hostile sites a plan can have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Hazard {
            $($(#[doc = $line] $variant,)*)*
        }

        impl Hazard {
            /// All of them, by group.
            pub const ALL: &'static [Hazard] = &[$($(Hazard::$variant,)*)*];

            /// Its name, which is also the first part of its site's.
            pub const fn name(self) -> &'static str {
                match self { $($(Hazard::$variant => stringify!($file),)*)* }
            }

            /// The name of its first site: `calendar.lab`.
            pub const fn host(self) -> &'static str {
                match self { $($(Hazard::$variant => concat!(stringify!($file), ".lab"),)*)* }
            }

            /// One line on what it does.
            pub const fn line(self) -> &'static str {
                match self { $($(Hazard::$variant => $line,)*)* }
            }

            /// What it attacks.
            pub const fn group(self) -> Group {
                match self { $($(Hazard::$variant => Group::$group,)*)* }
            }

            fn act<'v>(self, visit: &'v mut Visit<'_>) -> Acting<'v> {
                match self { $($(Hazard::$variant => Box::pin($file::serve(visit)),)*)* }
            }
        }
    };
}

hazards! {
    Trap {
        Calendar calendar "A calendar that has a next month for ever."
        Growth growth "Paths that grow by a relative link, URLs that carry their history."
        Symlink symlink "A directory that is a link to its own root: every page at every depth."
        Session session "Session identifiers in path and query, new on every visit."
        Listing listing "Directory listings with links that sort them anew."
        Wildcard wildcard "Every name under a domain exists: hosts without end."
        Tenants tenants "Two dozen slow hosts at one address."
        Maze maze "A maze of links and invented text, as fast as it is asked."
        Tarpit tarpit "The maze again, ten seconds a page."
        Counter counter "Links to itself with a counter one higher."
        Facets facets "Filters that combine in any order: a few articles, millions of URLs."
    }
    Server {
        Silence silence "Takes the request and says nothing."
        Drip drip "One byte of the body every half second."
        Trickle trickle "A head that comes a byte every half second."
        Endless endless "A body that never ends."
        Radio radio "A radio station and a camera that never end."
        Preamble preamble "A head that never ends: lines, one line, the status line."
        Interim interim "Interim answers (1xx) without a final one."
        Length length "A Content-Length that is not the body's length, both ways, or no length."
        Chunks chunks "Chunked bodies that break the rules in sixteen ways."
        Ancient ancient "HTTP/0.9, ICY, HTTP/2.0 in words, and status lines that are none."
        Fields fields "Header fields missing, doubled, folded, misspelt, five thousand."
        Ranges ranges "416 to whoever asks for a range."
        Aimless aimless "Redirects without Location, with two, with one that is no URL."
        Circle circle "Redirects in circles, short and long, to themselves, and onward for ever."
        Soft soft "200 that says not found, or a redirect to it."
        Storm storm "Errors of the server of every number, some only the first time."
        Busy busy "429 and 503 with Retry-After in seconds, as a date, and as nonsense."
        Reset reset "Connections reset at byte N, for every N."
        Down down "An address where nobody listens."
        Void void "An address that does not answer at all."
        Expired expired "TLS: a certificate that has expired."
        SelfSigned selfsigned "TLS: a certificate that nobody vouches for."
        OtherName othername "TLS: a certificate for another name."
        PlainText plaintext "Plain HTTP where TLS is expected."
        Handshake handshake "A TLS handshake that never ends."
    }
    Content {
        Types types "Media types that lie, are missing or are none."
        Nulls nulls "Nulls in URLs, one or 68 KB of them."
        Lengthy lengthy "URLs of 68 KB in links, redirects and host names."
        Unterminated unterminated "Attributes, strings, comments and tags left open."
        Nested nested "A hundred thousand tags, one inside the other."
        Giant giant "A single tag, word or comment of ten megabytes."
        Charsets charsets "Character sets that are wrong, mixed or unknown."
        Dates dates "Dates before the web, after tomorrow, or none."
        Browser browser "Your browser is not supported."
        Crowd crowd "A page of a hundred thousand links."
    }
    Attack {
        Bomb bomb "A gigabyte of nothing in gzip, deflate, zstd and brotli, and in layers."
        Inward inward "Links and redirects to refused loopback addresses in every way to write them."
        Metadata metadata "Links and redirects to private networks and metadata services; outside the lab."
        Schemes schemes "Links and redirects to file:, gopher:, data: and others."
        Insider insider "A name that resolves to a refused address."
        Rebind rebind "A name whose address is good when checked and refused afterwards."
        Mixed mixed "A name with a refused and a good address in one answer."
        Tunnel tunnel "A name with addresses of version six that carry a refused one."
        Cookies cookies "Cookies by the thousand, and for domains that are not the site's."
        Credentials credentials "Asks for credentials and hands visitors on to others."
        Flood flood "A robots.txt of a gigabyte."
        Ribbon ribbon "A robots.txt of one line, 64 megabytes long."
        Patterns patterns "A robots.txt with patterns built to explode."
        Gate gate "A robots.txt that answers 503 each time."
        Doorman doorman "A robots.txt that begins and never ends."
        Carousel carousel "A robots.txt that redirects for ever."
        Escape escape "CR, LF, ESC and HTML in titles, headers, URLs and reasons."
        Sitemaps sitemaps "Sitemaps with entity bombs, in circles, without end."
    }
    Name {
        Absent absent "A name that does not exist."
        ServFail servfail "A name whose servers fail or refuse."
        Mute mute "A name about which the DNS server says nothing."
        Garbled garbled "A name whose answers are broken packets."
        Crooked crooked "A good address and after it a broken record."
        Shifting shifting "Another good address with each question."
        Alias alias "A chain of eight aliases with a good end."
        Ring ring "Aliases that lead back to the start."
        Descent descent "Aliases without end."
        Fleeting fleeting "Addresses that hold for no time at all."
        Truncated truncated "An answer that fits into TCP only."
    }
}

/// Boxed: otherwise every connection is as large as the largest hazard.
type Acting<'v> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'v>>;
