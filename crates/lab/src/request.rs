//! The head of a request as the lab's servers read it: the few fields that answers depend on.

/// A request head, owned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// Path and query as sent; the path of an absolute target.
    pub(crate) target: String,
    /// `Host`, lower case, without port and final dot.
    pub(crate) host: String,
    pub(crate) agent: String,
    /// `Cookie`, empty when absent.
    pub(crate) cookie: String,
    /// `Authorization`, empty when absent.
    pub(crate) authorization: String,
    /// A `Range` was asked for.
    pub(crate) range: bool,
    pub(crate) gzip: bool,
    /// HTTP/1.0.
    pub(crate) old: bool,
    pub(crate) keep_alive: bool,
    pub(crate) if_none_match: Option<String>,
    pub(crate) if_modified_since: Option<String>,
    /// Bytes of body to read past.
    pub(crate) length: usize,
}

/// What the bytes read so far are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// A head and how many bytes it took.
    Head(Box<Head>, usize),
    More,
    Malformed,
}

const MAX_HEADERS: usize = 100;

pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Parsed::More,
        Err(_) => return Parsed::Malformed,
    };
    let mut head = Head {
        method: request.method.unwrap_or_default().to_owned(),
        target: origin_form(request.path.unwrap_or_default()).to_owned(),
        old: request.version == Some(0),
        keep_alive: request.version == Some(1),
        ..Head::default()
    };
    for header in request.headers.iter() {
        let value = String::from_utf8_lossy(header.value);
        head.field(header.name, value.trim());
    }
    Parsed::Head(Box::new(head), length)
}

impl Head {
    fn field(&mut self, name: &str, value: &str) {
        match name.to_ascii_lowercase().as_str() {
            "host" => self.host = host(value),
            "user-agent" => value.clone_into(&mut self.agent),
            "cookie" => value.clone_into(&mut self.cookie),
            "authorization" => value.clone_into(&mut self.authorization),
            "range" => self.range = true,
            "accept-encoding" => self.gzip = value.contains("gzip") || value.contains('*'),
            "connection" => {
                let has = |word| value.to_ascii_lowercase().contains(word);
                self.keep_alive = !has("close") && (self.keep_alive || has("keep-alive"));
            }
            "if-none-match" => self.if_none_match = Some(value.to_owned()),
            "if-modified-since" => self.if_modified_since = Some(value.to_owned()),
            "content-length" => self.length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
}

fn host(value: &str) -> String {
    let name = value.split(':').next().unwrap_or(value);
    name.trim_end_matches('.').to_ascii_lowercase()
}

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
    fn heads_are_read() {
        let text = b"GET http://x/a?b=http://c HTTP/1.1\r\nHOST: WWW.Site001.lab.:80\r\n\
            Accept-Encoding: br, gzip\r\nConnection: close\r\n\r\nrest";
        let Parsed::Head(head, length) = parse(text) else {
            panic!("a whole head");
        };
        assert_eq!(length, text.len() - 4);
        assert_eq!(head.host, "www.site001.lab");
        assert_eq!(head.target, "/a?b=http://c");
        assert!(head.gzip && !head.keep_alive && !head.old);
        assert_eq!(parse(b"GET / HT"), Parsed::More);
        assert_eq!(parse(b"\x16\x03\x01"), Parsed::Malformed);
    }
}
