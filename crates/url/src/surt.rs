//! SURT, the sort-friendly URI reordering transform: the key of CDX and CDXJ indexes (`org,example)/a?b=c`).
//!
//! The host is reversed, so that the pages of a domain are adjacent. The form is coarser than [`crate::CanonUrl`]:
//! lower case, sorted parameters, always without `www.`. Replay tools look up pages by this key, so it must equal the
//! key of the Python package `surt` that pywb uses, including its quirks. `tests/corpus/url/surt.tsv` has keys that the
//! package computed, and a test compares them.

/// SURT form of a URL, for CDXJ keys. Text that is not a URL gets a key too.
pub fn surt(url: &str) -> String {
    plain_surt(url).unwrap_or_else(|| any_surt(url))
}

/// Fast path for URLs without escapes, dot segments and other special cases. Nearly all canonical URLs are of this
/// kind. Returns `None` for any other URL. The result equals that of [`any_surt`].
fn plain_surt(url: &str) -> Option<String> {
    // The loop has no early exit, so that the compiler can vectorise it. A URL with an opening
    // parenthesis is left to `any_surt`, because the parenthesis may start a session identifier.
    let plain =
        |plain, byte: u8| plain & (byte.is_ascii_graphic() && !matches!(byte, b'%' | b'#' | b'('));
    let (rest, default) = match url.strip_prefix("http") {
        Some(rest) if rest.starts_with("://") => (&rest[3..], "80"),
        Some(rest) if rest.starts_with("s://") => (&rest[4..], "443"),
        _ => return None,
    };
    if !rest.bytes().fold(true, plain) {
        return None;
    }
    let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
    let slash = memchr::memchr(b'/', before_query.as_bytes());
    let (authority, path) = before_query.split_at(slash.unwrap_or(before_query.len()));
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let odd = |odd, pair: &[u8]| odd | (pair[0] == b'/' && matches!(pair[1], b'/' | b'.'));
    if !is_plain_host(host)
        || !port.bytes().all(|byte| byte.is_ascii_digit())
        || path.as_bytes().windows(2).fold(false, odd)
    {
        return None;
    }
    let mut key = Vec::with_capacity(rest.len() + 2);
    push_labels(&mut key, without_www(host.as_bytes()));
    push_port(&mut key, port, default);
    key.push(b')');
    let path_start = key.len();
    key.extend_from_slice(if path.is_empty() { "/" } else { path }.as_bytes());
    key[path_start..].make_ascii_lowercase();
    if path.len() > 1 && path.ends_with('/') {
        key.pop();
    }
    push_query(&mut key, query.to_ascii_lowercase().into_bytes());
    String::from_utf8(key).ok()
}

/// Whether the host consists of lower-case labels separated by single dots and is not a number.
fn is_plain_host(host: &str) -> bool {
    let mut before = b'.';
    let mut named = false;
    for byte in host.bytes() {
        match byte {
            b'a'..=b'z' | b'-' => named = true,
            b'0'..=b'9' => {}
            b'.' if before != b'.' => named = true,
            _ => return false,
        }
        before = byte;
    }
    named && before != b'.'
}

/// The slow path of [`surt`], for any text.
fn any_surt(url: &str) -> String {
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
    let query = escaped(&unescaped(query.as_bytes())).to_ascii_lowercase();
    push_query(&mut key, query);
    String::from_utf8(key)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Splits the scheme from the text after the colon; the default scheme is http.
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
    push_labels(key, &host_key(host));
    let default = match scheme.to_ascii_lowercase().as_str() {
        "http" => "80",
        "https" => "443",
        _ => "",
    };
    push_port(key, port, default);
}

/// Appends the labels of a host in reverse order.
fn push_labels(key: &mut Vec<u8>, host: &[u8]) {
    for (index, label) in host.rsplit(|byte| *byte == b'.').enumerate() {
        if index > 0 {
            key.push(b',');
        }
        key.extend_from_slice(label);
    }
}

fn push_port(key: &mut Vec<u8>, port: &str, default: &str) {
    if !port.is_empty() && port != default {
        key.push(b':');
        key.extend_from_slice(port.as_bytes());
    }
}

/// The host unescaped, in ASCII and lower case, without dots at its ends and without `www`, `www2` …. A host that is a
/// decimal number is converted to an IPv4 address.
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
    without_www(&escaped(ascii.as_bytes())).to_vec()
}

/// Removes the first label if it is `www`, `www2` ….
fn without_www(host: &[u8]) -> &[u8] {
    let Some(rest) = host.strip_prefix(b"www") else {
        return host;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest[digits..].strip_prefix(b".").unwrap_or(host)
}

/// Makes the key of a path. Steps: unescape, resolve dot segments, merge repeated slashes, escape again, convert to lower
/// case, remove session segments and the last slash.
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

/// Removes cookieless sessions of ASP.NET before an `.aspx` page: `/(s(24 characters))/` or the older `/(24
/// characters)/`.
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
    // A ticket is a letter and an identifier in parentheses.
    let ticket = |bytes: &[u8]| {
        bytes.len() == IDENTIFIER + 3
            && bytes[0].is_ascii_lowercase()
            && bytes[1] == b'('
            && bytes[IDENTIFIER + 2] == b')'
            && identifier(&bytes[2..IDENTIFIER + 2])
    };
    !inner.is_empty() && inner.chunks(IDENTIFIER + 3).all(ticket)
}

/// Removes session identifiers from the query, sorts its parameters, and appends `?` and the query to the key. Appends
/// nothing if no parameter is left. The query must already be in lower case.
fn push_query(key: &mut Vec<u8>, mut query: Vec<u8>) {
    // Every name of a session parameter contains `id`.
    if query.windows(2).any(|pair| pair == b"id") {
        strip_value(&mut query, b"jsessionid=", 32, u8::is_ascii_alphanumeric);
        strip_value(&mut query, b"phpsessid=", 32, u8::is_ascii_alphanumeric);
        strip_value(&mut query, b"sid=", 32, u8::is_ascii_alphanumeric);
        strip_asp(&mut query);
        strip_cold_fusion(&mut query);
    }
    if query.is_empty() {
        return;
    }
    key.push(b'?');
    let mut parameters: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|byte| *byte == b'&')
        .map(|parameter| match memchr::memchr(b'=', parameter) {
            Some(sign) => (&parameter[..sign], Some(&parameter[sign + 1..])),
            None => (parameter, None),
        })
        .collect();
    parameters.sort_unstable();
    for (index, (name, value)) in parameters.into_iter().enumerate() {
        if index > 0 {
            key.push(b'&');
        }
        key.extend_from_slice(name);
        if let Some(value) = value {
            key.push(b'=');
            key.extend_from_slice(value);
        }
    }
}

/// Finds the last occurrence of `name` (which includes the `=`) that is followed by a value of exactly `length` valid
/// bytes. Removes this name, its value and the `&` after the value.
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

/// Removes `aspsessionid` followed by eight letters, with a value of 24 letters.
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

/// Removes `cfid` directly followed by `cftoken`. The two parameters are kept if they are in reverse order.
fn strip_cold_fusion(query: &mut Vec<u8>) {
    const FIRST: &[u8] = b"cfid=";
    const SECOND: &[u8] = b"cftoken=";
    let value_end =
        |from: usize| memchr::memchr(b'&', &query[from..]).map_or(query.len(), |at| from + at);
    // The search goes backwards, from the last `cfid=` to the first. Each value ends at the next `&`. If another
    // `cfid=` comes before that `&`, both values end at the same position. That position is already known, so the bytes
    // after the other `cfid=` are not searched again, and the time is linear.
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

/// Removes a range and the `&` after it.
fn cut(query: &mut Vec<u8>, start: usize, end: usize) {
    let end = (end + 1).min(query.len());
    query.drain(start..end);
}

/// Decodes percent-encoding repeatedly, until no triplet is left.
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

/// Percent-encodes every byte that is not visible ASCII, and also `%` and `#`.
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_equal_those_of_the_python_package() {
        let corpus = include_str!("../../../tests/corpus/url/surt.tsv");
        let mut cases = 0;
        for line in corpus.lines().filter(|line| !line.starts_with('#')) {
            let (url, expected) = line.split_once('\t').expect("URL, tab, key");
            assert_eq!(surt(url), expected, "{url}");
            cases += 1;
        }
        assert!(cases > 80, "the corpus is complete: {cases}");
    }

    /// Checks that both paths give the same key. Returns whether the fast path was taken.
    #[track_caller]
    fn check_both(url: &str) -> bool {
        let plain = plain_surt(url);
        if let Some(plain) = &plain {
            assert_eq!(*plain, any_surt(url), "{url}");
        }
        plain.is_some()
    }

    #[test]
    fn plain_urls_take_the_fast_path() {
        for url in [
            "http://example.org",
            "http://example.org/",
            "https://www.example.org/A/b.html",
            "https://www2.example.org:8443/a/?b=c&A=D&sid=0123456789abcdef0123456789abcdef",
            "http://127.0.0.1:80/a/b/",
            "http://a:443?",
            "https://a-b.c1/~d;e,f=g!$'*+:@|?q?",
        ] {
            assert!(check_both(url), "{url}");
        }
        for url in [
            "HTTP://example.org/",
            "http://user@example.org/",
            "http://Example.org/",
            "http://1234/",
            "http://.a/",
            "http://a./",
            "http://a..b/",
            "http:///a/b",
            "http://?a",
            "http://a:b/",
            "http://a/b/../c",
            "http://a/b//c",
            "http://a/%41",
            "http://a/(s(0123456789abcdefghijklmn))/b.aspx",
            "http://a/b#c",
            "http://a/ b",
            "http://a/\u{e4}",
            "http://[::1]/",
            "ftp://a/",
            "",
        ] {
            assert!(!check_both(url), "{url}");
        }
        let corpus = include_str!("../../../tests/corpus/url/surt.tsv");
        for line in corpus.lines() {
            check_both(line.split('\t').next().unwrap_or_default());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn both_paths_give_the_same_key(
            host in "(www[0-9]?[.])?([a-z0-9-]{0,3}[.]){0,2}[a-zA-Z0-9.-]{0,4}",
            port in "(:[0-9]{0,3}|:80|:443)?",
            path in "(/[a-zA-Z0-9._~;=@:!-]{0,3}){0,4}(/[(]s[(]0123456789abcdefghijklmn[)][)]/a[.]aspx)?",
            query in "([?]([a-c]{0,2}=?[A-Z0-9?/&=]{0,3}&?){0,4})?",
            session in "(&(jsessionid|PHPSESSID|sid|cfid|cftoken|aspsessionidabcdefgh)=[a-z0-9]{0,1}([a-z0-9]{32}|[a-z]{24})){0,2}",
            odd in "[ -~\\t\u{e4}]{0,3}",
        ) {
            for scheme in ["http", "https"] {
                check_both(&format!("{scheme}://{host}{port}{path}{query}{session}"));
                check_both(&format!("{scheme}://{host}{port}{odd}{path}{query}{odd}"));
                check_both(&format!("{scheme}://{odd}{host}{port}{path}{odd}{query}"));
            }
        }
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
