//! A GET request, and the bytes of its head.
//!
//! The request line contains the whole URL (absolute form; RFC 9112, 3.2.2) if a proxy reads the request. A proxy reads
//! requests for `http` URLs that are sent through an HTTP proxy, and requests to the cache of a proxy.
//!
//! The headers have the order that common clients use: `Host`, the headers that identify the crawler, the `Accept`
//! headers, and then the headers that only this request has. A value with a control character is an error, so that
//! nobody can inject a header by a line break.

use std::net::{IpAddr, SocketAddr};

use aranha_url::{CanonUrl, Scheme};
use bytes::Bytes;

use super::headers::is_token;
use crate::{FetchSetupError, Options};

/// A GET request for one URL at one address.
#[derive(Clone, Debug)]
pub struct FetchRequest<'a> {
    /// The URL to fetch.
    pub url: &'a CanonUrl,
    /// One of the addresses that [`Fetcher::route`](crate::Fetcher::route) returned. The guard checks it again. If a
    /// proxy resolves the name, the address is used only for this check, and may be `None`.
    pub address: Option<IpAddr>,
    /// Read the cache of this HTTP proxy instead of asking the server, whatever the option `proxy` says. Only for
    /// `http` URLs. The user configured the cache, so the guard does not check its address. The header `Cache-Control:
    /// only-if-cached` makes the proxy answer from its cache only.
    pub cache: Option<SocketAddr>,
    /// Further headers: `Cookie`, `If-None-Match`, `If-Modified-Since`, `Range` …
    pub headers: Vec<(&'static str, String)>,
    /// Maximum body size of this request. If set, it replaces the options `max_body` and `max_body_by_type`.
    pub max_body: Option<u64>,
    /// Accept a body of any media type. Used for robots.txt.
    pub accept_any_type: bool,
    /// Send no `Range` header, whatever the options say. Used after the server responded with 416 to a range.
    pub without_range: bool,
}

impl<'a> FetchRequest<'a> {
    /// A GET request without further headers.
    pub fn new(url: &'a CanonUrl, address: IpAddr) -> Self {
        FetchRequest {
            address: Some(address),
            ..FetchRequest::by_name(url)
        }
    }

    /// A GET request without further headers, for a URL whose name a proxy resolves.
    pub fn by_name(url: &'a CanonUrl) -> Self {
        FetchRequest {
            url,
            address: None,
            cache: None,
            headers: Vec::new(),
            max_body: None,
            accept_any_type: false,
            without_range: false,
        }
    }
}

/// The header lines that all requests share, formatted once.
#[derive(Debug)]
pub(crate) struct CommonHeaders(String);

impl CommonHeaders {
    pub(crate) fn new(options: &Options) -> Result<CommonHeaders, FetchSetupError> {
        let lines = [
            ("user_agent", "User-Agent", Some(&options.user_agent)),
            ("from", "From", options.from.as_ref()),
            ("accept", "Accept", Some(&options.accept)),
            (
                "accept_language",
                "Accept-Language",
                options.accept_language.as_ref(),
            ),
        ];
        let mut further = Vec::new();
        for header in &options.headers {
            let error = |_| FetchSetupError::HeaderText { option: "headers" };
            further.push(check_header(header).map_err(error)?);
        }
        let mut text = String::new();
        for (option, name, value) in lines {
            if further
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
            {
                continue;
            }
            let Some(value) = value.filter(|value| !value.is_empty()) else {
                continue;
            };
            if !is_valid_value(value) {
                return Err(FetchSetupError::HeaderText { option });
            }
            push_line(&mut text, name, value);
        }
        push_line(&mut text, "Accept-Encoding", "gzip, br, zstd");
        for (name, value) in further {
            push_line(&mut text, name, value);
        }
        Ok(CommonHeaders(text))
    }

    /// The head of a request, or the reason why the request cannot be sent. `last_byte` is the end of the range in the
    /// `Range` header.
    pub(crate) fn head(
        &self,
        request: &FetchRequest<'_>,
        absolute_form: bool,
        last_byte: Option<u64>,
    ) -> Result<Bytes, String> {
        let url = request.url;
        if url
            .path()
            .bytes()
            .chain(url.authority().bytes())
            .any(|byte| byte <= b' ' || byte == 0x7f)
        {
            return Err("the URL contains a space or a control character".to_owned());
        }
        if request.cache.is_some() && url.scheme() != Scheme::Http {
            return Err("the cache of a proxy has http URLs only".to_owned());
        }
        let own_length: usize = request
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len() + 4)
            .sum();
        let mut head = String::with_capacity(30 + url.as_str().len() + self.0.len() + own_length);
        head.push_str("GET ");
        if absolute_form {
            head.push_str(url.origin());
        }
        head.push_str(url.path());
        head.push_str(" HTTP/1.1\r\n");
        push_line(&mut head, "Host", url.authority());
        head.push_str(&self.0);
        for (name, value) in &request.headers {
            if !is_valid_line(name, value) {
                return Err(format!(
                    "the request header {} has an invalid name or value",
                    name.escape_debug()
                ));
            }
            push_line(&mut head, name, value);
        }
        if let Some(last_byte) = last_byte {
            push_line(&mut head, "Range", &format!("bytes=0-{last_byte}"));
        }
        head.push_str("\r\n");
        Ok(head.into())
    }
}

/// Headers that `fetch.headers` cannot set. The second text says what to do instead.
const REFUSED_HEADERS: &[(&str, &str)] = &[
    (
        "Authorization",
        "use fetch.auth (--auth), which sends it to one origin only",
    ),
    (
        "Proxy-Authorization",
        "write user and password into fetch.proxy (--proxy http://USER:PASSWORD@HOST:PORT)",
    ),
    (
        "Cookie",
        "use fetch.cookies (--cookies), which sends cookies to their domains only",
    ),
    ("User-Agent", "use fetch.user_agent (--user-agent)"),
    (
        "Accept-Encoding",
        "aranha sends the codings that it can decode",
    ),
    ("Host", SENT_BY_ARANHA),
    ("Connection", SENT_BY_ARANHA),
    ("Content-Length", SENT_BY_ARANHA),
    ("Transfer-Encoding", SENT_BY_ARANHA),
    ("TE", SENT_BY_ARANHA),
    ("Trailer", SENT_BY_ARANHA),
    ("Upgrade", SENT_BY_ARANHA),
    ("Expect", SENT_BY_ARANHA),
    ("Range", SENT_BY_ARANHA),
    ("If-Modified-Since", SENT_BY_ARANHA),
    ("If-None-Match", SENT_BY_ARANHA),
];

const SENT_BY_ARANHA: &str = "aranha sends this header itself where it is needed";

/// Name and value of a header that is written as `Name: value`. `Err`: a problem and a hint.
pub fn check_header(text: &str) -> Result<(&str, &str), (String, &'static str)> {
    const EXAMPLE: &str = "for example 'Accept-Language: pt'";
    let Some((name, value)) = text.split_once(':') else {
        return Err(("is not of the form `Name: value`".to_owned(), EXAMPLE));
    };
    let (name, value) = (name.trim(), value.trim());
    if !is_valid_line(name, value) {
        let problem = "has an invalid header name, or a control character in the value";
        return Err((problem.to_owned(), EXAMPLE));
    }
    let refused = REFUSED_HEADERS.iter();
    match refused
        .clone()
        .find(|(other, _)| other.eq_ignore_ascii_case(name))
    {
        Some((name, hint)) => Err((format!("the header {name} cannot be set here"), hint)),
        None => Ok((name, value)),
    }
}

/// Whether name and value can be sent as a header line.
pub(crate) fn is_valid_line(name: &str, value: &str) -> bool {
    is_token(name.as_bytes()) && is_valid_value(value)
}

fn push_line(text: &mut String, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        text.push_str(part);
    }
}

fn is_valid_value(value: &str) -> bool {
    value
        .bytes()
        .all(|byte| byte == b'\t' || !byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use aranha_url::{Canonicaliser, UrlRules};

    use super::*;

    fn head(options: &Options, headers: Vec<(&'static str, String)>) -> Result<String, String> {
        let url = Canonicaliser::new(UrlRules::default())
            .canon("http://example.org:8080/a?b=c")
            .expect("the URL is valid");
        let request = FetchRequest {
            headers,
            ..FetchRequest::new(&url, [192, 0, 2, 1].into())
        };
        let common = CommonHeaders::new(options).map_err(|error| error.to_string())?;
        Ok(
            String::from_utf8(common.head(&request, false, None)?.to_vec())
                .expect("the head is UTF-8"),
        )
    }

    #[test]
    fn headers_are_in_order() {
        let options = Options {
            user_agent: "aranha/1 (+https://example.org/bot)".to_owned(),
            from: Some("bot@example.org".to_owned()),
            accept: "text/html".to_owned(),
            accept_language: Some("pt".to_owned()),
            ..Options::default()
        };
        assert_eq!(
            head(&options, vec![("Cookie", "a=b".to_owned())]).expect("the head is valid"),
            "GET /a?b=c HTTP/1.1\r\nHost: example.org:8080\r\nUser-Agent: aranha/1 (+https://example.org/bot)\r\n\
             From: bot@example.org\r\nAccept: text/html\r\nAccept-Language: pt\r\nAccept-Encoding: gzip, br, zstd\r\n\
             Cookie: a=b\r\n\r\n"
        );
    }

    #[test]
    fn control_characters_in_headers_are_errors() {
        for value in ["a\r\nb", "a\nb", "a\rb", "a\0"] {
            head(&Options::default(), vec![("Cookie", value.to_owned())]).expect_err(value);
            let options = Options {
                user_agent: value.to_owned(),
                ..Options::default()
            };
            head(&options, Vec::new()).expect_err(value);
        }
        head(&Options::default(), vec![("Coo\r\nkie", String::new())])
            .expect_err("a name with a line break");
    }
}
