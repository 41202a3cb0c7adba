//! Canonical scheme, host and port, and their offsets in the text.

use url::Url;

use crate::canonical::{PartOffsets, Scheme};
use crate::rejected::Rejected;
use crate::site;

/// Maximum length of a DNS name in text form (RFC 1035, 2.3.4).
const MAX_HOST_LENGTH: usize = 253;
/// Maximum length of a label of a DNS name.
const MAX_LABEL_LENGTH: usize = 63;

/// Writes the origin of a parsed URL without credentials, default port and the final dot of the host. `capacity` is the
/// expected length of the whole URL, because callers append path and query to the returned string.
pub(crate) fn write(
    url: &Url,
    fold: bool,
    capacity: usize,
) -> Result<(String, PartOffsets), Rejected> {
    let scheme = scheme(url.scheme())?;
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_suffix('.').unwrap_or(host);
    check_host(host)?;
    let mut text = String::with_capacity(capacity);
    text.push_str(scheme.as_str());
    text.push_str("://");
    let start = text.len() as u32;
    text.push_str(host);
    let host_end = text.len() as u32;
    if let Some(port) = url.port() {
        use std::fmt::Write as _;
        let _ = write!(text, ":{port}");
    }
    let offsets = PartOffsets {
        scheme,
        port: url.port().unwrap_or(scheme.default_port()),
        site: start + if fold { site::folded(host) } else { 0 },
        host_end,
        path: text.len() as u32,
    };
    Ok((text, offsets))
}

/// Reads a stored canonical origin; `None` if the text is not a canonical origin.
pub(crate) fn read(origin: &str, fold: bool) -> Option<PartOffsets> {
    let (scheme, authority) = origin.split_once("://")?;
    let scheme = scheme_of(scheme)?;
    let colon = match authority.strip_prefix('[') {
        Some(address) => {
            let end = address.find(']')? + 2;
            (end < authority.len()).then_some(end)
        }
        None => memchr::memchr(b':', authority.as_bytes()),
    };
    let (host, port) = match colon {
        Some(colon) => (
            &authority[..colon],
            authority[colon..].strip_prefix(':')?.parse().ok()?,
        ),
        None => (authority, scheme.default_port()),
    };
    let valid = |byte: u8| byte > b' ' && !matches!(byte, b'/' | b'?' | b'#' | b'@' | b'\\');
    if host.is_empty() || !host.bytes().all(valid) {
        return None;
    }
    let start = scheme.authority_start() as u32;
    Some(PartOffsets {
        scheme,
        port,
        site: start + if fold { site::folded(host) } else { 0 },
        host_end: start + host.len() as u32,
        path: origin.len() as u32,
    })
}

fn scheme(text: &str) -> Result<Scheme, Rejected> {
    scheme_of(text).ok_or_else(|| Rejected::Scheme(text.to_owned()))
}

fn scheme_of(text: &str) -> Option<Scheme> {
    match text {
        "http" => Some(Scheme::Http),
        "https" => Some(Scheme::Https),
        _ => None,
    }
}

/// Rejects hosts that the URL standard allows but DNS does not.
fn check_host(host: &str) -> Result<(), Rejected> {
    if host.is_empty() {
        return Err(Rejected::NoHost);
    }
    if host.starts_with('[') {
        return Ok(());
    }
    let malformed = |problem: &str| Err(Rejected::Malformed(format!("host `{host}` {problem}")));
    if host.len() > MAX_HOST_LENGTH {
        return malformed("is longer than DNS allows");
    }
    if host.split('.').any(str::is_empty) {
        return malformed("has an empty label");
    }
    if host.split('.').any(|label| label.len() > MAX_LABEL_LENGTH) {
        return malformed("has a label longer than DNS allows");
    }
    Ok(())
}

/// Whether the parser would certainly not change the host. True only if each label has at most 63 lower-case letters,
/// digits and hyphens, does not begin with a hyphen, and does not have `--` after two characters (`xn--`). The last
/// label must begin with a letter, so that the host is no IP address. The parser leaves some other hosts unchanged too.
pub(crate) fn is_plain_host(host: &[u8]) -> bool {
    if host.is_empty() || host.len() > MAX_HOST_LENGTH {
        return false;
    }
    let mut label = 0;
    for (index, byte) in host.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => {}
            b'-' if index > label => {
                // `xn--` and other reserved labels need the parser.
                if index == label + 2 && host.get(index + 1) == Some(&b'-') {
                    return false;
                }
            }
            b'.' if index > label => {
                label = index + 1;
                continue;
            }
            _ => return false,
        }
        if index - label >= MAX_LABEL_LENGTH {
            return false;
        }
    }
    host.get(label).is_some_and(u8::is_ascii_lowercase)
}
