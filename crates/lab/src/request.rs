//! Parses the head of a request. Only the fields that the lab uses are kept.

/// The request line and the header fields that the lab uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub(crate) method: String,
    /// Path and query as sent. Scheme and host of an absolute target are removed.
    pub(crate) target: String,
    /// `Host` in lower case, without the port and without a final dot.
    pub(crate) host: String,
    /// `User-Agent`, empty if absent.
    pub(crate) agent: String,
    /// `Cookie`, empty if absent.
    pub(crate) cookie: String,
    /// `Authorization`, empty if absent.
    pub(crate) authorization: String,
    /// Whether the request has a `Range` header.
    pub(crate) range: bool,
    /// Whether `Accept-Encoding` allows gzip.
    pub(crate) gzip: bool,
    /// Whether the version is HTTP/1.0.
    pub(crate) http_1_0: bool,
    pub(crate) keep_alive: bool,
    pub(crate) if_none_match: Option<String>,
    pub(crate) if_modified_since: Option<String>,
    /// `Content-Length`: number of body bytes that the server skips.
    pub(crate) body_length: usize,
}

/// The result of parsing the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParsedHead {
    /// A complete head and its length in bytes.
    Complete(Box<RequestHead>, usize),
    /// More bytes are needed.
    Partial,
    Malformed,
}

/// Maximum number of header fields.
const MAX_HEADERS: usize = 100;

pub(crate) fn parse(bytes: &[u8]) -> ParsedHead {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return ParsedHead::Partial,
        Err(_) => return ParsedHead::Malformed,
    };
    let mut head = RequestHead {
        method: request.method.unwrap_or_default().to_owned(),
        target: origin_form(request.path.unwrap_or_default()).to_owned(),
        http_1_0: request.version == Some(0),
        keep_alive: request.version == Some(1),
        ..RequestHead::default()
    };
    for header in request.headers.iter() {
        let value = String::from_utf8_lossy(header.value);
        head.set_field(header.name, value.trim());
    }
    ParsedHead::Complete(Box::new(head), length)
}

impl RequestHead {
    fn set_field(&mut self, name: &str, value: &str) {
        match name.to_ascii_lowercase().as_str() {
            "host" => self.host = host_name(value),
            "user-agent" => value.clone_into(&mut self.agent),
            "cookie" => value.clone_into(&mut self.cookie),
            "authorization" => value.clone_into(&mut self.authorization),
            "range" => self.range = true,
            "accept-encoding" => self.gzip = value.contains("gzip") || value.contains('*'),
            "connection" => {
                let has = |token| value.to_ascii_lowercase().contains(token);
                self.keep_alive = !has("close") && (self.keep_alive || has("keep-alive"));
            }
            "if-none-match" => self.if_none_match = Some(value.to_owned()),
            "if-modified-since" => self.if_modified_since = Some(value.to_owned()),
            "content-length" => self.body_length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
}

fn host_name(value: &str) -> String {
    let name = value.split(':').next().unwrap_or(value);
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Removes scheme and host from an absolute target.
fn origin_form(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("/", |at| &rest[at..])
        }
        _ => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_partial_and_malformed_heads() {
        let text = b"GET http://x/a?b=http://c HTTP/1.1\r\nHOST: WWW.Site001.lab.:80\r\n\
            Accept-Encoding: br, gzip\r\nConnection: close\r\n\r\nrest";
        let ParsedHead::Complete(head, length) = parse(text) else {
            panic!("head not complete");
        };
        assert_eq!(length, text.len() - 4);
        assert_eq!(head.host, "www.site001.lab");
        assert_eq!(head.target, "/a?b=http://c");
        assert!(head.gzip && !head.keep_alive && !head.http_1_0);
        assert_eq!(parse(b"GET / HT"), ParsedHead::Partial);
        assert_eq!(parse(b"\x16\x03\x01"), ParsedHead::Malformed);
    }
}
