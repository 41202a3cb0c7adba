//! Removal of parameters that give one page many URLs: session identifiers (U4; Viuva Negra 4.1, 5.4; Castillo A.6.1)
//! and tracking parameters. Session identifiers occur in the query (`?a=1&PHPSESSID=…`), in path parameters
//! (`;jsessionid=…`) and as path segments of ASP.NET (`/(S(…))/`). Tracking parameters (`?utm_source=…`) occur in the query.
//!
//! A parameter is kept if it has no `=`, or if its value is shorter than the configured minimum. For example, some
//! sites use the name `sid` for article numbers (`article.php?sid=123`). If these were removed, all articles would have
//! one URL.

/// Compiled parameter names.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParameterNames {
    names: Vec<ParameterName>,
    /// Indexed by the last five bits of the first letter of a name. Bit n is set if some entry matches names of n bytes
    /// that start with this letter. A look-up in this table excludes most parameters.
    lengths: [u64; 32],
}

#[derive(Clone, Debug)]
struct ParameterName {
    text: String,
    /// True for an entry such as `aspsessionid*`: every name that starts with `text` matches.
    open: bool,
    /// Minimum length of the value; 16 for the entry `sid=16`. The value must consist of letters and digits, or be a
    /// UUID. 0 = any value.
    value: usize,
}

impl ParameterNames {
    /// Entries are `name` or `name*`, optionally followed by `=N`.
    pub(crate) fn compile(entries: &[String]) -> ParameterNames {
        let mut compiled = ParameterNames::default();
        for entry in entries.iter().filter(|entry| !entry.is_empty()) {
            let (name, value) = entry.split_once('=').unwrap_or((entry, "0"));
            let text = name.trim_end_matches('*').to_owned();
            let open = text.len() < name.len();
            let shortest = text.len().min(63);
            let lengths = if open {
                u64::MAX << shortest
            } else {
                1 << shortest
            };
            match text.as_bytes().first() {
                Some(first) => compiled.lengths[letter(*first)] |= lengths,
                // The entry `*` matches every name.
                None => compiled.lengths.iter_mut().for_each(|all| *all |= lengths),
            }
            compiled.names.push(ParameterName {
                text,
                open,
                value: value.parse().unwrap_or(0),
            });
        }
        compiled
    }

    fn matches(&self, parameter: &str) -> bool {
        let Some(end) = memchr::memchr(b'=', parameter.as_bytes()) else {
            return false;
        };
        let first = parameter.as_bytes()[0];
        if self.lengths[letter(first)] & (1 << end.min(63)) == 0 {
            return false;
        }
        let (name, value) = (&parameter[..end], &parameter[end + 1..]);
        self.names
            .iter()
            .any(|known| known.is(name) && known.takes(value))
    }

    /// Removes these parameters from the query (without its `?`) that starts at `start` in `text`. A separator is
    /// removed together with the parameter after it.
    pub(crate) fn strip_query(&self, text: &mut String, start: usize) {
        if !parameters(&text[start..]).any(|(_, parameter)| self.matches(parameter)) {
            return;
        }
        let query = text.split_off(start);
        for (separator, parameter) in parameters(&query) {
            if !self.matches(parameter) {
                if text.len() > start {
                    text.push_str(separator);
                }
                text.push_str(parameter);
            }
        }
    }

    /// Removes session parameters and session segments from the path at `start..end` of `text`. Returns the new end.
    pub(crate) fn strip_path(&self, text: &mut String, start: usize, end: usize) -> usize {
        let path = &text[start..end];
        if !path[1..].split('/').any(|segment| self.concerns(segment)) {
            return end;
        }
        let mut kept = String::with_capacity(path.len());
        let last = path[1..].split('/').count() - 1;
        for (index, segment) in path[1..].split('/').enumerate() {
            let before = kept.len();
            kept.push('/');
            self.push_segment(&mut kept, segment);
            if is_session_segment(&kept[before + 1..]) {
                // If the last segment is removed, its slash stays, because the rest of the path is a directory.
                kept.truncate(before + usize::from(index == last));
            }
        }
        text.replace_range(start..end, &kept);
        start + kept.len()
    }

    fn concerns(&self, segment: &str) -> bool {
        is_session_segment(segment)
            || segment
                .split(';')
                .skip(1)
                .any(|parameter| self.matches(parameter))
    }

    /// Appends a segment without its session parameters. If only a dot segment would be left, appends the whole
    /// segment. The reason is that `..;sid=…` is a name, but `..` is the parent directory.
    fn push_segment(&self, kept: &mut String, segment: &str) {
        let start = kept.len();
        for (index, parameter) in segment.split(';').enumerate() {
            if index > 0 && self.matches(parameter) {
                continue;
            }
            if index > 0 {
                kept.push(';');
            }
            kept.push_str(parameter);
        }
        if matches!(&kept[start..], "." | "..") {
            kept.truncate(start);
            kept.push_str(segment);
        }
    }
}

impl ParameterName {
    fn is(&self, name: &str) -> bool {
        let known = self.text.len();
        (name.len() == known || (self.open && name.len() > known))
            && name.as_bytes()[..known].eq_ignore_ascii_case(self.text.as_bytes())
    }

    fn takes(&self, value: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric();
        self.value == 0
            || (value.len() >= self.value && (value.bytes().all(plain) || is_uuid(value)))
    }
}

/// Index of a name's first byte in `ParameterNames::lengths`. The cases of a letter have the same index.
fn letter(first: u8) -> usize {
    usize::from(first & 31)
}

/// Whether the value has the form of a UUID: `550e8400-e29b-41d4-a716-446655440000` (RFC 9562, 4).
fn is_uuid(value: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let fits = |(index, byte): (usize, u8)| match byte {
        b'-' => HYPHENS.contains(&index),
        _ => byte.is_ascii_hexdigit() && !HYPHENS.contains(&index),
    };
    value.len() == 36 && value.bytes().enumerate().all(fits)
}

/// The parameters of a query, each with the separator before it. The first one has an empty separator.
fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut from = Some(0);
    std::iter::from_fn(move || {
        let start = from?;
        let end = memchr::memchr2(b'&', b';', &query.as_bytes()[start..])
            .map_or(query.len(), |at| start + at);
        from = (end < query.len()).then_some(end + 1);
        let separator = if start == 0 {
            ""
        } else {
            &query[start - 1..start]
        };
        Some((separator, &query[start..end]))
    })
}

/// Whether the segment is a cookieless session of ASP.NET: `(S(lit3py55t21z5v55vlm25s55))`, possibly with other tickets
/// before the `S`.
fn is_session_segment(segment: &str) -> bool {
    const IDENTIFIER: usize = 24;
    let Some(inner) = segment
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix("))"))
    else {
        return false;
    };
    inner.rfind("S(").is_some_and(|at| {
        let identifier = &inner[at + 2..];
        identifier.len() == IDENTIFIER
            && identifier.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::UrlRules;

    fn names() -> ParameterNames {
        ParameterNames::compile(&UrlRules::default().session_names)
    }

    #[track_caller]
    fn check_query(query: &str, expected: &str) {
        let mut text = format!("?{query}");
        names().strip_query(&mut text, 1);
        assert_eq!(&text[1..], expected, "{query}");
    }

    #[track_caller]
    fn check_path(path: &str, expected: &str) {
        let mut text = format!("{path}?q");
        let end = names().strip_path(&mut text, 0, path.len());
        assert_eq!(&text[..end], expected, "{path}");
        assert_eq!(&text[end..], "?q", "what follows the path stays");
    }

    #[test]
    fn in_the_query() {
        check_query("PHPSESSID=abc", "");
        check_query("a=1&PHPSESSID=abc", "a=1");
        check_query("phpsessid=abc&a=1", "a=1");
        check_query("a=1&jsessionid=9;b=2", "a=1;b=2");
        check_query("CFID=12&CFTOKEN=34&id=5", "id=5");
        check_query("ASPSESSIONIDQQABCDEF=GHIJ&x", "x");
        check_query("x&&sessionid=0123456789abcdef&y", "x&&y");
        check_query("PHPSESSID", "PHPSESSID");
        check_query("mysessid=1&sessid2=2", "mysessid=1&sessid2=2");
    }

    #[test]
    fn short_values_are_kept() {
        check_query("sid=123", "sid=123");
        for name in ["session_id", "sessionid", "SESSID"] {
            let talk = format!("{name}=42");
            check_query(&talk, &talk);
            let moment = format!("{name}=2026-11-16T10-30-00");
            check_query(&moment, &moment);
            check_query(&format!("{name}=0123456789abcdef"), "");
            let uuid = "550E8400-e29b-41d4-a716-446655440000";
            check_query(&format!("{name}={uuid}"), "");
        }
        check_query("sid=04/11/15/1234567890", "sid=04/11/15/1234567890");
        check_query("sid=0123456789abcdef0123456789abcdef", "");
    }

    #[test]
    fn in_the_path() {
        check_path("/shop;jsessionid=09A89732/cart", "/shop/cart");
        check_path("/shop;v=1;jsessionid=09A89732;w=2", "/shop;v=1;w=2");
        check_path("/;jsessionid=1", "/");
        check_path("/a;b=1/c", "/a;b=1/c");
        check_path("/(S(lit3py55t21z5v55vlm25s55))/order.aspx", "/order.aspx");
        check_path("/app/(X(1)S(lit3py55t21z5v55vlm25s55))", "/app/");
        check_path("/a/(S(lit3py55t21z5v55vlm25s55));jsessionid=1/b", "/a/b");
        check_path("/wiki/Mercury_(S(1))/x", "/wiki/Mercury_(S(1))/x");
        check_path("/..;jsessionid=1/x", "/..;jsessionid=1/x");
    }

    #[test]
    fn configured_names() {
        let names = ParameterNames::compile(&["token*".to_owned(), "k=4".to_owned()]);
        let mut text = "tokenized=1&TOKEN=2&k=123&k=1234&t=5".to_owned();
        names.strip_query(&mut text, 0);
        assert_eq!(text, "k=123&t=5");
        let names = ParameterNames::compile(&["*".to_owned()]);
        let mut text = "a=1&=2&b".to_owned();
        names.strip_query(&mut text, 0);
        assert_eq!(text, "b");
    }
}
