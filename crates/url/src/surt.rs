//! SURT, the sort-friendly URI reordering transform: the key of CDX and CDXJ indexes (`org,example)/a?b=c`).
//!
//! The host is reversed so that a domain's pages are neighbours. The form is far coarser than [`crate::CanonUrl`]
//! (everything in lower case, parameters sorted, `www.` always gone), because replay tools look pages up by it: what
//! counts is that the keys equal those of the Python package `surt`, which pywb uses, quirks included.
//! `tests/corpus/url/surt.tsv` holds them together.

/// SURT form of a URL, for CDXJ keys. Never fails: what is no URL is keyed as text.
pub fn surt(url: &str) -> String {
    let url: String = url
        .trim()
        .chars()
        .filter(|c| !matches!(c, '\n' | '\r' | '\t'))
        .collect();
    if url.is_empty() {
        return "-".to_owned();
    }
    let url = url.split('#').next().unwrap_or_default();
    let (scheme, rest) = split_scheme(url);
    let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = split_authority(scheme, before_query);
    let mut key = Vec::with_capacity(url.len() + 8);
    if authority.is_empty() {
        key.extend_from_slice(scheme.as_bytes());
        key.push(b':');
        key.extend(escaped(&unescaped(path.as_bytes())).to_ascii_lowercase());
    } else {
        push_host(&mut key, authority, scheme);
        key.push(b')');
        key.extend(path_key(path));
    }
    let query = query_key(query);
    if !query.is_empty() {
        key.push(b'?');
        key.extend(query);
    }
    String::from_utf8(key)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Scheme and the rest behind the colon; a text without scheme is taken as http.
fn split_scheme(url: &str) -> (&str, &str) {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    };
    match url.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        _ => ("http", url),
    }
}

fn split_authority<'a>(scheme: &str, rest: &'a str) -> (&'a str, &'a str) {
    let http = scheme.len() >= 4 && scheme[..4].eq_ignore_ascii_case("http");
    let authority = match rest.strip_prefix("//") {
        Some(authority) => authority,
        None if http => rest,
        None => return ("", rest),
    };
    let authority = if http {
        authority.trim_start_matches('/')
    } else {
        authority
    };
    authority.split_at(authority.find('/').unwrap_or(authority.len()))
}

fn push_host(key: &mut Vec<u8>, authority: &str, scheme: &str) {
    let host_and_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = match host_and_port
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((address, port)) => (address, port.trim_start_matches(':')),
        None => host_and_port.split_once(':').unwrap_or((host_and_port, "")),
    };
    let host = host_key(host);
    for (index, label) in host.rsplit(|byte| *byte == b'.').enumerate() {
        if index > 0 {
            key.push(b',');
        }
        key.extend_from_slice(label);
    }
    let default = match scheme.to_ascii_lowercase().as_str() {
        "http" => "80",
        "https" => "443",
        _ => "",
    };
    if !port.is_empty() && port != default {
        key.push(b':');
        key.extend_from_slice(port.as_bytes());
    }
}

/// The host unescaped, in ASCII and lower case, without outer dots and `www`, `www2` …; a bare number is an address.
fn host_key(host: &str) -> Vec<u8> {
    let plain = unescaped(host.as_bytes());
    let text = String::from_utf8_lossy(&plain).replace("..", ".");
    let text = text.trim_matches('.').to_lowercase();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = text.parse::<u128>().unwrap_or_default();
        return std::net::Ipv4Addr::from(number as u32)
            .to_string()
            .into_bytes();
    }
    let ascii = if text.is_ascii() {
        text
    } else {
        match url::Host::parse(&text) {
            Ok(host) => host.to_string(),
            Err(_) => text,
        }
    };
    let escaped = escaped(ascii.as_bytes());
    match escaped.strip_prefix(b"www") {
        Some(rest) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match rest[digits..].strip_prefix(b".") {
                Some(bare) => bare.to_vec(),
                None => escaped,
            }
        }
        None => escaped,
    }
}

/// The path unescaped, dot segments resolved, slashes single, escaped again, in lower case, without its last slash.
fn path_key(path: &str) -> Vec<u8> {
    let plain = unescaped(path.as_bytes());
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in plain.split(|byte| *byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut joined = vec![b'/'];
    if let Some((last, before)) = kept.split_last() {
        for segment in before.iter().filter(|segment| !segment.is_empty()) {
            joined.extend_from_slice(segment);
            joined.push(b'/');
        }
        joined.extend_from_slice(last);
    }
    let mut key = escaped(&joined).to_ascii_lowercase();
    strip_session_segments(&mut key);
    if key.len() > 1 && key.last() == Some(&b'/') {
        key.pop();
    }
    key
}

/// ASP.NET's cookieless sessions before an `.aspx` page: `/(s(24 characters))/` and the older `/(24 characters)/`.
fn strip_session_segments(path: &mut Vec<u8>) {
    for tickets in [true, false] {
        let Some(last_page) = memchr::memmem::rfind(path, b".aspx") else {
            return;
        };
        let found = path
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == b'/')
            .find_map(|(slash, _)| {
                let segment = &path[slash + 1..];
                let length = segment.iter().position(|byte| *byte == b'/')?;
                let page = slash + 1 + length + 1;
                let aspx = last_page > page && !path[page..].starts_with(b".aspx");
                (aspx && is_session(&segment[..length], tickets))
                    .then_some((slash + 1, slash + length + 2))
            });
        if let Some((from, to)) = found {
            path.drain(from..to);
        }
    }
}

fn is_session(segment: &[u8], tickets: bool) -> bool {
    const IDENTIFIER: usize = 24;
    let identifier =
        |bytes: &[u8]| bytes.len() == IDENTIFIER && bytes.iter().all(u8::is_ascii_alphanumeric);
    let Some(inner) = segment
        .strip_prefix(b"(")
        .and_then(|rest| rest.strip_suffix(b")"))
    else {
        return false;
    };
    if !tickets {
        return identifier(inner);
    }
    // One ticket is a letter and an identifier in parentheses.
    let ticket = |bytes: &[u8]| {
        bytes.len() == IDENTIFIER + 3
            && bytes[0].is_ascii_lowercase()
            && bytes[1] == b'('
            && bytes[IDENTIFIER + 2] == b')'
            && identifier(&bytes[2..IDENTIFIER + 2])
    };
    !inner.is_empty() && inner.chunks(IDENTIFIER + 3).all(ticket)
}

/// The query unescaped and escaped again, sessions removed, in lower case, parameters sorted.
fn query_key(query: &str) -> Vec<u8> {
    let mut query = escaped(&unescaped(query.as_bytes())).to_ascii_lowercase();
    strip_value(&mut query, b"jsessionid=", 32, u8::is_ascii_alphanumeric);
    strip_value(&mut query, b"phpsessid=", 32, u8::is_ascii_alphanumeric);
    strip_value(&mut query, b"sid=", 32, u8::is_ascii_alphanumeric);
    strip_asp(&mut query);
    strip_cold_fusion(&mut query);
    if query.len() <= 1 {
        return query;
    }
    let mut parameters: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|byte| *byte == b'&')
        .map(|parameter| match memchr::memchr(b'=', parameter) {
            Some(sign) => (&parameter[..sign], Some(&parameter[sign + 1..])),
            None => (parameter, None),
        })
        .collect();
    parameters.sort_unstable();
    let mut sorted = Vec::with_capacity(query.len());
    for (index, (name, value)) in parameters.into_iter().enumerate() {
        if index > 0 {
            sorted.push(b'&');
        }
        sorted.extend_from_slice(name);
        if let Some(value) = value {
            sorted.push(b'=');
            sorted.extend_from_slice(value);
        }
    }
    sorted
}

/// Remove the last `name` with a value of just this length, and the `&` behind it.
fn strip_value(query: &mut Vec<u8>, name: &[u8], length: usize, valid: fn(&u8) -> bool) {
    let found = memchr::memmem::rfind_iter(query, name).find(|start| {
        let value = &query[start + name.len()..];
        value.len() >= length
            && value[..length].iter().all(valid)
            && matches!(value.get(length), None | Some(b'&'))
    });
    if let Some(start) = found {
        cut(query, start, start + name.len() + length);
    }
}

/// `aspsessionid` with eight letters of its own, and 24 letters of value.
fn strip_asp(query: &mut Vec<u8>) {
    const NAME: &[u8] = b"aspsessionid";
    let found = memchr::memmem::rfind_iter(query, NAME).find(|start| {
        let rest = &query[start + NAME.len()..];
        rest.len() >= 33
            && rest[..8].iter().all(u8::is_ascii_alphabetic)
            && rest[8] == b'='
            && rest[9..33].iter().all(u8::is_ascii_alphabetic)
            && matches!(rest.get(33), None | Some(b'&'))
    });
    if let Some(start) = found {
        cut(query, start, start + NAME.len() + 33);
    }
}

/// The `cfid` and `cftoken` pair, in this order only.
fn strip_cold_fusion(query: &mut Vec<u8>) {
    const FIRST: &[u8] = b"cfid=";
    const SECOND: &[u8] = b"cftoken=";
    let value_end =
        |from: usize| memchr::memchr(b'&', &query[from..]).map_or(query.len(), |at| from + at);
    // The value that begins here ends where the next one behind it does, unless an `&` comes before that.
    let (mut behind, mut behind_end) = (query.len(), query.len());
    let found = memchr::memmem::rfind_iter(query, FIRST).find_map(|start| {
        let first = start + FIRST.len();
        let first_end =
            memchr::memchr(b'&', &query[first..behind]).map_or(behind_end, |at| first + at);
        (behind, behind_end) = (first, first_end);
        let second = first_end + 1 + SECOND.len();
        let pair = first_end > first && query.get(first_end + 1..)?.starts_with(SECOND);
        let end = if pair { value_end(second) } else { second };
        (pair && end > second).then_some((start, end))
    });
    if let Some((start, end)) = found {
        cut(query, start, end);
    }
}

/// Remove a stretch and the `&` behind it.
fn cut(query: &mut Vec<u8>, start: usize, end: usize) {
    let end = (end + 1).min(query.len());
    query.drain(start..end);
}

/// Percent-triplets decoded until none is left: what decoding brings forth is decoded too, where it stands.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    for &byte in text {
        plain.push(byte);
        while let [.., b'%', high, low] = plain[..] {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                break;
            };
            plain.truncate(plain.len() - 3);
            plain.push((high * 16 + low) as u8);
        }
    }
    plain
}

/// Everything but visible ASCII escaped, `%` and `#` too.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'%' | b'#') {
            text.push(byte);
        } else {
            text.extend([
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_reference() {
        let corpus = include_str!("../../../tests/corpus/url/surt.tsv");
        let mut cases = 0;
        for line in corpus.lines().filter(|line| !line.starts_with('#')) {
            let (url, expected) = line.split_once('\t').expect("URL, tab, key");
            assert_eq!(surt(url), expected, "{url}");
            cases += 1;
        }
        assert!(cases > 80, "the corpus is there");
    }

    #[test]
    fn never_fails() {
        for text in [
            "",
            "   ",
            "http://",
            "http:",
            ":",
            "?",
            "%",
            "http://%/%?%",
            "http://[",
            "(",
            "http://@:/",
        ] {
            let _ = surt(text);
        }
        assert_eq!(surt(""), "-");
    }
}
