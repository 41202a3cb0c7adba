//! Hazards: hostile sites that imitate faults and attacks on the real web. Each hazard has a small source file.
//!
//! A hazard is a site with its own name and address. If a plan includes a hazard, the home page of a seed links to it.
//! The function `serve` in its file answers one request, and the connection closes when `serve` returns. Some files
//! also have a function `resolve`, which answers DNS queries for the name. To add a hazard, add its file and a line in
//! the table below. The pages that a crawl must find (`truth.rs`) do not include hazards. The behaviour of a crawler at
//! a hazard is judged by the request log. The files cite requirements such as `N5` (docs/requirements.md) and papers
//! (docs/references.md).
//!
//! A plan may include several copies of a hazard: `calendar.lab`, `calendar2.lab` and so on.

mod absent;
mod aimless;
mod alias;
mod ancient;
mod babble;
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
mod foreign;
mod garbled;
mod gate;
mod giant;
mod growth;
mod handshake;
mod hollow;
mod insider;
mod interim;
mod inward;
mod layers;
mod length;
mod lengthy;
mod listing;
mod lookup;
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
mod properties;
mod radio;
mod ranges;
mod rebind;
mod request;
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
mod sorry;
mod storm;
mod symlink;
mod tarpit;
mod tenants;
mod trickle;
mod truncated;
mod tunnel;
mod types;
mod unterminated;
mod void;
mod wildcard;

use std::io;
use std::pin::Pin;

pub(crate) use lookup::{DnsResponse, Lookup};
pub(crate) use request::HazardRequest;

/// The part of a crawler that a hazard attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Endless or deceptive link structures.
    Trap,
    /// Servers that violate the protocol or break connections.
    Server,
    /// Malformed or mislabelled contents.
    Content,
    /// Attacks on memory, other hosts, terminals or archives.
    Attack,
    /// Faulty DNS responses.
    Name,
}

/// Declares the hazards. Each has a group, a variant, a name (of the file and of the host) and a description.
macro_rules! hazards {
    ($($group:ident { $($variant:ident $file:ident $line:literal)* })*) => {
        /// The hostile sites that a plan can have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Hazard {
            $($(#[doc = $line] $variant,)*)*
        }

        impl Hazard {
            /// All hazards, by group.
            pub const ALL: &'static [Hazard] = &[$($(Hazard::$variant,)*)*];

            /// The name, which is also the first label of the host name.
            pub const fn name(self) -> &'static str {
                match self { $($(Hazard::$variant => stringify!($file),)*)* }
            }

            /// The host name of the first copy, such as `calendar.lab`.
            pub const fn host(self) -> &'static str {
                match self { $($(Hazard::$variant => concat!(stringify!($file), ".lab"),)*)* }
            }

            /// A description in one sentence.
            pub const fn description(self) -> &'static str {
                match self { $($(Hazard::$variant => $line,)*)* }
            }

            /// The part of a crawler that this hazard attacks.
            pub const fn group(self) -> Group {
                match self { $($(Hazard::$variant => Group::$group,)*)* }
            }

            fn dispatch<'v>(self, request: &'v mut HazardRequest<'_>) -> ServeFuture<'v> {
                match self { $($(Hazard::$variant => Box::pin($file::serve(request)),)*)* }
            }
        }
    };
}

hazards! {
    Trap {
        Calendar calendar "A calendar in which every month links to the next one."
        Growth growth "Relative links that lengthen the path, and URLs that contain the previous URL."
        Symlink symlink "A directory that is a symbolic link to the root: every page exists at every depth."
        Session session "Session identifiers in path and query, new on every visit."
        Listing listing "Directory listings with links that sort them."
        Wildcard wildcard "A DNS wildcard: every name under the domain exists."
        Tenants tenants "Twenty-four slow hosts at one address."
        Maze maze "An endless maze of links and generated text, served fast."
        Tarpit tarpit "The same maze, ten seconds per page."
        Counter counter "Pages that link to themselves with the next number."
        Facets facets "Filters that combine in any order: twelve articles, millions of URLs."
        Hollow hollow "An index of 100,000 nearly empty pages."
        Babble babble "A maze of invented and shuffled words with random link texts."
        Sorry sorry "Endless apologies with status 200 and random words."
    }
    Server {
        Silence silence "Reads the request and sends nothing."
        Drip drip "Sends one byte of the body every half second."
        Trickle trickle "Sends one byte of the headers every half second."
        Endless endless "Sends a body that never ends."
        Radio radio "Audio and camera streams that never end."
        Preamble preamble "Endless header lines, an endless header line, an endless status line."
        Interim interim "Interim responses (1xx) without a final one."
        Length length "A Content-Length that is too large, too small or not a number."
        Chunks chunks "Chunked bodies with sixteen different syntax errors."
        Ancient ancient "HTTP/0.9, ICY, HTTP/2.0 in an HTTP/1 status line, invalid status lines."
        Fields fields "Header fields that are missing, repeated, folded, malformed, or 5,000 in number."
        Ranges ranges "Answers 416 to every range request."
        Aimless aimless "Redirects without Location, with two, or with one that is not a URL."
        Circle circle "Redirect loops, short and long, redirects to themselves, and endless chains."
        Soft soft "Missing pages that answer 200, or redirect to a page that does."
        Storm storm "Server errors of every status code, some for the first request only."
        Busy busy "429 and 503 with Retry-After in seconds, as a date, and as an invalid value."
        Reset reset "Connections reset at byte N, for every N."
        Down down "An address that refuses connections."
        Void void "An address that never answers."
        Expired expired "TLS: an expired certificate."
        SelfSigned selfsigned "TLS: a self-signed certificate."
        OtherName othername "TLS: a certificate for another host name."
        PlainText plaintext "Plain HTTP where TLS is expected."
        Handshake handshake "A TLS handshake that never ends."
    }
    Content {
        Types types "Media types that are wrong, missing or invalid."
        Nulls nulls "Null bytes in URLs, up to 68 KB of them."
        Lengthy lengthy "URLs of 68 KB in links, redirects and host names."
        Unterminated unterminated "Attributes, strings, comments and tags without an end."
        Nested nested "100,000 nested tags."
        Giant giant "A single tag, word or comment of ten megabytes."
        Charsets charsets "Character encodings that are wrong, mixed or unknown."
        Dates dates "Last-Modified dates before 1993, in the future, or invalid."
        Browser browser "A site that reports an unsupported browser."
        Crowd crowd "A page of 100,000 links."
    }
    Attack {
        Bomb bomb "Decompression bombs: a gigabyte of zeros in gzip, deflate, zstd, brotli and in layers."
        Layers layers "Decompression bombs in mixed layers, in chunks, in files, and just below the limits."
        Inward inward "Links and redirects to refused loopback addresses in every notation."
        Metadata metadata "Links and redirects to private networks and metadata services outside the lab."
        Schemes schemes "Links and redirects to file:, gopher:, data: and other schemes."
        Insider insider "A host name that resolves to a refused address."
        Rebind rebind "A host name with a valid address at the first lookup and a refused one later."
        Mixed mixed "A host name with a refused and a valid address in one response."
        Tunnel tunnel "A host name with IPv6 addresses that embed a refused IPv4 address."
        Cookies cookies "Thousands of cookies, some for domains of other sites."
        Credentials credentials "Asks for credentials and redirects to other sites."
        Flood flood "A robots.txt of one gigabyte."
        Ribbon ribbon "A robots.txt of one line of 64 megabytes."
        Patterns patterns "A robots.txt with patterns that take exponential time in a backtracking matcher."
        Gate gate "A robots.txt that always answers 503."
        Doorman doorman "A robots.txt response that never ends."
        Carousel carousel "A robots.txt that redirects without end."
        Escape escape "CR, LF, ESC and HTML in titles, headers, URLs and reasons."
        Sitemaps sitemaps "Sitemaps with entity bombs, loops and endless depth."
        Foreign foreign "A sitemap and its index that list a thousand foreign names."
    }
    Name {
        Absent absent "A host name that does not exist."
        ServFail servfail "A host name whose name servers fail or refuse."
        Mute mute "A host name for which the DNS server sends no response."
        Garbled garbled "A host name with malformed DNS responses."
        Crooked crooked "A DNS response with a valid address and a malformed record."
        Shifting shifting "A host name that alternates between two valid addresses."
        Alias alias "A chain of eight CNAME records with a valid end."
        Ring ring "CNAME records that form a loop."
        Descent descent "An endless chain of CNAME records."
        Fleeting fleeting "Address records with a TTL of 0."
        Truncated truncated "A DNS response that is complete over TCP only."
    }
}

/// The future of `serve`, boxed because the futures of the hazards differ in size and each connection holds one.
type ServeFuture<'v> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'v>>;
