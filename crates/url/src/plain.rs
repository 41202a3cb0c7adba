//! Fast path for plain links. Their canonical URL is a prefix of the base followed by the link, so the parser is not
//! needed.
//!
//! A link is plain if normalisation changes none of its characters (no `%`, no `\`, only ASCII). A plain link may begin
//! with `./`, and with `../` that does not remove a drive letter. It has no other dot segments. All other links go
//! through the parser. **Both paths give the same URL**, which a property test checks.

use crate::base::PlainBase;
use crate::canonical::{PartOffsets, Scheme};
use crate::origin;
use crate::site;

/// Characters that normalisation keeps in both path and query.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&()*+,;=:@/";
    let mut index = 0;
    while index < plain.len() {
        table[plain[index] as usize] = true;
        index += 1;
    }
    table
};

/// Joins a link, given without its fragment, to a base. Returns `None` if the link is not plain. The result reuses the
/// allocation of `spare`.
pub(crate) fn join(
    base: &PlainBase,
    href: &str,
    spare: &mut String,
) -> Option<(String, PartOffsets)> {
    let bytes = href.as_bytes();
    let keep = match bytes {
        [] => base.text.len(),
        [b'?', ..] => base.path_end,
        [b'/', b'/', authority @ ..] => {
            return absolute(base.offsets.scheme, authority, &href[2..], spare);
        }
        [b'/', ..] => base.offsets.path as usize,
        [b'h', b't', b't', b'p', ..] if href.contains("://") => return canon(href, spare),
        _ => return relative(base, href, spare),
    };
    is_plain(bytes, false).then(|| (concat(&base.text[..keep], href, spare), base.offsets))
}

/// Canonicalises an absolute URL, given without its fragment. Returns `None` if the URL is not plain.
pub(crate) fn canon(text: &str, spare: &mut String) -> Option<(String, PartOffsets)> {
    if let Some(rest) = text.strip_prefix("https://") {
        return absolute(Scheme::Https, rest.as_bytes(), rest, spare);
    }
    let rest = text.strip_prefix("http://")?;
    absolute(Scheme::Http, rest.as_bytes(), rest, spare)
}

/// Joins a relative path: leading `./` and `../` are resolved against the base's directory, and the rest is appended.
fn relative(base: &PlainBase, href: &str, spare: &mut String) -> Option<(String, PartOffsets)> {
    let root = base.offsets.path as usize + 1;
    let mut keep = base.directory_end;
    let mut rest = href;
    loop {
        if let Some(after) = rest.strip_prefix("../") {
            rest = after;
            if keep > root {
                let start = memchr::memrchr(b'/', &base.text.as_bytes()[..keep - 1])? + 1;
                if is_drive_letter(&base.text.as_bytes()[start..keep - 1]) {
                    return None;
                }
                keep = start;
            }
        } else if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else {
            break;
        }
    }
    is_plain(rest.as_bytes(), true).then(|| (concat(&base.text[..keep], rest, spare), base.offsets))
}

/// Whether a path segment looks like a Windows drive letter. The parser keeps such a segment before `../` in every URL
/// (servo/rust-url issue 1130), although WHATWG URL, 4.4, keeps it only in `file:` URLs.
fn is_drive_letter(segment: &[u8]) -> bool {
    matches!(segment, [letter, b':' | b'|'] if letter.is_ascii_alphabetic())
}

/// Canonicalises a URL with this scheme. `rest` is the text after `scheme://`, and `bytes` are the same text as bytes.
fn absolute(
    scheme: Scheme,
    bytes: &[u8],
    rest: &str,
    spare: &mut String,
) -> Option<(String, PartOffsets)> {
    let host_end = memchr::memchr2(b'/', b'?', bytes).unwrap_or(bytes.len());
    if !origin::is_plain_host(&bytes[..host_end]) || !is_plain(&bytes[host_end..], false) {
        return None;
    }
    let start = scheme.authority_start();
    let mut text = emptied(spare, start + rest.len() + 1);
    text.push_str(scheme.as_str());
    text.push_str("://");
    text.push_str(&rest[..host_end]);
    if bytes.get(host_end) != Some(&b'/') {
        text.push('/');
    }
    text.push_str(&rest[host_end..]);
    let offsets = PartOffsets {
        scheme,
        port: scheme.default_port(),
        site: start as u32 + site::folded(&rest[..host_end]),
        host_end: (start + host_end) as u32,
        path: (start + host_end) as u32,
    };
    Some((text, offsets))
}

/// Returns the allocation of `spare`, emptied and with room for `room` bytes.
fn emptied(spare: &mut String, room: usize) -> String {
    let mut text = std::mem::take(spare);
    text.clear();
    text.reserve_exact(room);
    text
}

fn concat(head: &str, tail: &str, spare: &mut String) -> String {
    let mut text = emptied(spare, head.len() + tail.len());
    text.push_str(head);
    text.push_str(tail);
    text
}

/// Whether all characters are plain and no path segment begins with a dot. A relative link with a `:` before its query
/// is not plain, because the `:` may end a scheme.
fn is_plain(bytes: &[u8], relative: bool) -> bool {
    let mut segment = relative;
    for (index, &byte) in bytes.iter().enumerate() {
        match byte {
            b'?' => {
                return bytes[index + 1..]
                    .iter()
                    .all(|&byte| PLAIN[byte as usize] || byte == b'?');
            }
            b'.' if segment => return false,
            b':' if relative => return false,
            _ if !PLAIN[byte as usize] => return false,
            _ => segment = byte == b'/',
        }
    }
    true
}
