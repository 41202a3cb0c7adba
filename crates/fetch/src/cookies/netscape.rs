//! Cookies from a file in the Netscape format, which curl, wget and browser extensions write.
//!
//! A line has seven fields separated by tabs: domain, whether subdomains are included, path, whether the cookie is sent
//! over https only, expiry in Unix seconds (0 = end of the session), name and value. Lines that begin with `#` are
//! comments, except after the prefix `#HttpOnly_`.

use std::collections::HashMap;

use aranha_url::CanonUrl;

use super::jar::{Cookie, is_public_suffix};

const HTTP_ONLY: &str = "#HttpOnly_";

/// The cookies of a file, by domain.
#[derive(Debug, Default)]
pub(crate) struct ImportedCookies {
    by_domain: HashMap<String, Vec<Cookie>>,
}

impl ImportedCookies {
    /// Reads the text of a file. The error is the number of the first invalid line.
    pub(crate) fn parse(text: &str) -> Result<ImportedCookies, usize> {
        let mut imported = ImportedCookies::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end_matches('\r');
            let content = line.strip_prefix(HTTP_ONLY).unwrap_or(line);
            if content.trim().is_empty() || content.starts_with('#') {
                continue;
            }
            let cookie = parse_line(content).ok_or(number + 1)?;
            let domain = imported.by_domain.entry(cookie.domain.clone());
            domain.or_default().push(cookie);
        }
        Ok(imported)
    }

    /// Adds the cookies for a URL to the value of a `Cookie` header. A cookie whose name is already in the header is
    /// left out, because the server has replaced it. `None` if nothing was added.
    pub(crate) fn extend(
        &self,
        header: Option<&str>,
        url: &CanonUrl,
        now_ms: i64,
    ) -> Option<String> {
        if self.by_domain.is_empty() {
            return None;
        }
        let host = url.host();
        let parents = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
        let domains = std::iter::once(host).chain(parents);
        let mut chosen: Vec<&Cookie> = domains
            .filter_map(|domain| self.by_domain.get(domain))
            .flatten()
            .filter(|cookie| cookie.applies(url, now_ms))
            .collect();
        chosen.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let known: Vec<&str> = header
            .into_iter()
            .flat_map(|header| header.split("; "))
            .collect();
        let is_new = |cookie: &&Cookie| {
            let name = cookie.name.as_str();
            let names = known.iter().filter_map(|pair| pair.split('=').next());
            !names.into_iter().any(|known| known == name)
        };
        let added: Vec<String> = chosen
            .into_iter()
            .filter(is_new)
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        if added.is_empty() {
            return None;
        }
        let pairs = known.into_iter().chain(added.iter().map(String::as_str));
        Some(pairs.collect::<Vec<_>>().join("; "))
    }
}

fn parse_line(line: &str) -> Option<Cookie> {
    let mut fields = line.splitn(7, '\t');
    let domain = fields
        .next()?
        .trim()
        .trim_start_matches('.')
        .to_ascii_lowercase();
    let subdomains = parse_flag(fields.next()?)?;
    let path = fields.next()?.trim();
    let secure = parse_flag(fields.next()?)?;
    let expires: i64 = fields.next()?.trim().parse().ok()?;
    let name = fields.next()?.trim();
    // curl writes no seventh field for an empty value.
    let value = fields.next().unwrap_or_default().trim();
    let is_text = |text: &str| !text.bytes().any(|byte| byte.is_ascii_control());
    let is_valid = !domain.is_empty() && !name.is_empty() && path.starts_with('/');
    (is_valid && is_text(name) && is_text(value)).then(|| Cookie {
        host_only: !subdomains || is_public_suffix(&domain),
        name: name.to_owned(),
        value: value.to_owned(),
        path: path.to_owned(),
        secure,
        expires_ms: (expires > 0).then(|| expires.saturating_mul(1000)),
        domain,
    })
}

fn parse_flag(text: &str) -> Option<bool> {
    match text.trim() {
        flag if flag.eq_ignore_ascii_case("true") => Some(true),
        flag if flag.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use aranha_url::{Canonicaliser, UrlRules};

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    #[track_caller]
    fn check(file: &str, header: Option<&str>, url: &str, expected: Option<&str>) {
        let cookies = ImportedCookies::parse(file).expect("the file is valid");
        let url = Canonicaliser::new(UrlRules::default())
            .canon(url)
            .expect("a URL");
        assert_eq!(
            cookies.extend(header, &url, NOW).as_deref(),
            expected,
            "{url}"
        );
    }

    const FILE: &str = "# Netscape HTTP Cookie File\n\n\
        .example.org\tTRUE\t/\tFALSE\t0\tid\tone\r\n\
        #HttpOnly_example.org\tFALSE\t/in/\tTRUE\t1800000000\tsession\ttwo words\n\
        old.example.org\tFALSE\t/\tFALSE\t1600000000\told\tx\n\
        .com\tTRUE\t/\tFALSE\t0\tsuffix\tx\n\
        127.0.0.1\tFALSE\t/\tFALSE\t0\tempty\n";

    #[test]
    fn cookies_go_to_their_domain_and_path() {
        check(FILE, None, "http://example.org/", Some("id=one"));
        check(FILE, None, "http://a.example.org/in/x", Some("id=one"));
        check(FILE, None, "http://example.org/in/x", Some("id=one"));
        check(
            FILE,
            None,
            "https://example.org/in/x",
            Some("session=two words; id=one"),
        );
        check(FILE, None, "http://badexample.org/", None);
        check(FILE, None, "http://example.com/", None);
        check(FILE, None, "http://old.example.org/", Some("id=one"));
        check(FILE, None, "http://127.0.0.1:81/", Some("empty="));
    }

    #[test]
    fn a_cookie_of_the_server_replaces_an_imported_one() {
        check(FILE, Some("id=new; a=b"), "http://example.org/", None);
        check(
            FILE,
            Some("a=b"),
            "http://example.org/",
            Some("a=b; id=one"),
        );
    }

    #[test]
    fn the_first_invalid_line_is_named() {
        for line in [
            "x",
            "example.org\tyes\t/\tTRUE\t0\ta\tb",
            "a\tTRUE\t/\tTRUE\tsoon\ta\tb",
        ] {
            let file = format!("# comment\n\n{line}\n");
            assert_eq!(ImportedCookies::parse(&file).err(), Some(3), "{line}");
        }
    }
}
