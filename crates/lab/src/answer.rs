//! The response of an honest site before `wire.rs` encodes it: status, headers, and a body without content coding.
//!
//! `wire.rs` adds content coding and framing. `html.rs` makes the bodies of pages. This module makes the bodies of
//! style sheets, pictures and files.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use crate::chance::Chance;
use crate::html;
use crate::outline::outline;
use crate::resource::Resource;
use crate::site::Site;
use crate::web::Web;

/// The response of a site to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Headers, except Content-Encoding and the framing headers, which `wire.rs` adds.
    pub headers: Vec<(&'static str, String)>,
    /// The body without content coding.
    pub body: Vec<u8>,
}

// Keys of the random streams, one for each property that is chosen at random.
const DATES: u64 = 40;
const PIXELS: u64 = 41;
const BYTES: u64 = 42;
/// The latest `Last-Modified` date: 1 January 2026, in Unix seconds.
const NEWEST: u64 = 1_767_225_600;

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    pub(crate) fn of(web: &Web, site: &Site, resource: &Resource, target: &str) -> Answer {
        if let Resource::Redirect(status, path) = resource {
            let location = match status {
                302 => path.clone(), // a relative reference, which RFC 9110, 10.2.2 allows
                _ => format!("{}{path}", site.origin(web.port())),
            };
            return Answer::redirect(site, *status, &location, target);
        }
        let status = resource.status();
        if status != 200 {
            let heading = if status == 410 { "Gone" } else { "Not Found" };
            return Answer::notice(site, status, heading, target, None);
        }
        let mut answer = Answer {
            status,
            headers: general(site),
            body: body(web, site, resource),
        };
        answer.push("Content-Type", content_type(site, resource.media_type()));
        answer.dates(site, target);
        if site.cookies && resource.media_type() == "text/html" {
            let visitor = Chance::of(site.seed, &[BYTES, site.number as u64]).next();
            answer.push("Set-Cookie", format!("visitor={visitor:016x}; Path=/"));
            answer.push(
                "Set-Cookie",
                "theme=light; Max-Age=86400; HttpOnly".to_owned(),
            );
        }
        answer
    }

    pub(crate) fn redirect(site: &Site, status: u16, location: &str, target: &str) -> Answer {
        let mut answer = Answer::notice(site, status, "Moved", target, Some(location));
        answer.push("Location", location.to_owned());
        answer
    }

    /// The 404 response for a host name that the lab does not have.
    pub(crate) fn unknown_host() -> Answer {
        Answer {
            status: 404,
            headers: vec![("Content-Type", "text/plain".to_owned())],
            body: b"no such host in this lab\n".to_vec(),
        }
    }

    /// The 304 response to a conditional request.
    pub(crate) fn not_modified(mut self) -> Answer {
        self.status = 304;
        self.body.clear();
        self
    }

    fn notice(
        site: &Site,
        status: u16,
        heading: &str,
        requested: &str,
        to: Option<&str>,
    ) -> Answer {
        let mut answer = Answer {
            status,
            headers: general(site),
            body: site.encode(&html::notice(heading, requested, to)),
        };
        answer.push("Content-Type", content_type(site, "text/html"));
        answer
    }

    fn push(&mut self, name: &'static str, value: String) {
        self.headers.push((name, value));
    }

    fn dates(&mut self, site: &Site, target: &str) {
        let target_hash = target
            .bytes()
            .map(u64::from)
            .fold(DATES, |sum, byte| sum.wrapping_mul(257).wrapping_add(byte));
        let mut chance = Chance::of(site.seed, &[DATES, site.number as u64, target_hash]);
        let age = chance.below(20 * 365 * 86_400) as u64;
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(NEWEST - age);
        self.push("Last-Modified", httpdate::fmt_http_date(date));
        self.push("ETag", format!("\"{:012x}\"", chance.next() >> 16));
    }
}

impl Site {
    /// Encodes the text in the character set of the site.
    fn encode(&self, text: &str) -> Vec<u8> {
        if self.latin_1 {
            text.chars()
                .map(|c| u8::try_from(c).unwrap_or(b'?'))
                .collect()
        } else {
            text.as_bytes().to_vec()
        }
    }
}

fn general(site: &Site) -> Vec<(&'static str, String)> {
    let server = [
        "nginx/1.26.3",
        "Apache/2.4.62 (Debian)",
        "lighttpd/1.4.76",
        "lab",
    ];
    vec![("Server", server[site.number % server.len()].to_owned())]
}

fn content_type(site: &Site, media_type: &str) -> String {
    match media_type {
        "text/html" if site.latin_1 => "text/html; charset=ISO-8859-1".to_owned(),
        "text/html" if site.number.is_multiple_of(2) => "text/html".to_owned(),
        "text/html" | "text/plain" => format!("{media_type}; charset=utf-8"),
        other => other.to_owned(),
    }
}

fn body(web: &Web, site: &Site, resource: &Resource) -> Vec<u8> {
    match resource {
        Resource::Robots(text) => text.unwrap_or_default().as_bytes().to_vec(),
        Resource::Style => format!("body {{ margin: {}em }}\n", 1 + site.number % 5).into_bytes(),
        Resource::Logo => picture(site, 0),
        Resource::Picture(page) => picture(site, *page),
        Resource::TextFile(page) => html::plain(site, *page).into_bytes(),
        Resource::BinaryFile(page) => {
            let mut chance = Chance::of(site.seed, &[BYTES, site.number as u64, *page as u64]);
            (0..512).flat_map(|_| chance.next().to_le_bytes()).collect()
        }
        page => site.encode(&html::page(site, page, &outline(web, site, page))),
    }
}

/// A PNG picture of 8 by 8 random pixels. Every page of every site has a different picture.
fn picture(site: &Site, page: usize) -> Vec<u8> {
    let mut chance = Chance::of(site.seed, &[PIXELS, site.number as u64, page as u64]);
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..8 {
        let mut row = [0; 25]; // one filter byte, then red, green and blue of eight pixels
        row[1..]
            .iter_mut()
            .for_each(|byte| *byte = chance.next() as u8);
        pixels
            .write_all(&row)
            .expect("a write to memory cannot fail");
    }
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    png_chunk(&mut out, *b"IHDR", &[0, 0, 0, 8, 0, 0, 0, 8, 8, 2, 0, 0, 0]);
    png_chunk(
        &mut out,
        *b"IDAT",
        &pixels.finish().expect("a write to memory cannot fail"),
    );
    png_chunk(&mut out, *b"IEND", &[]);
    out
}

/// Appends a PNG chunk.
fn png_chunk(out: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    let mut sum = Crc::new();
    for piece in [&name, data] {
        sum.update(piece);
        out.extend(piece);
    }
    out.extend(sum.sum().to_be_bytes());
}
