//! Parser of one line of robots.txt.
//!
//! It tolerates the errors that are frequent on the web (Viuva Negra 5.4, and Google's reports): missing colons, spaces
//! inside field names, common misspellings of `Disallow`.

/// A parsed line. Its value has neither surrounding white space nor a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RobotsLine<'a> {
    /// Empty, or only a comment.
    Blank,
    Agent(&'a [u8]),
    Allow(&'a [u8]),
    Disallow(&'a [u8]),
    Delay(&'a [u8]),
    Sitemap(&'a [u8]),
    /// A record for other crawlers (`Host`, `Clean-param` …). Not an error.
    Other,
    /// Not a record.
    Garbage,
}

/// A tolerated error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineFault {
    NoColon,
    Misspelt,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldName {
    Agent,
    Allow,
    Disallow,
    Delay,
    Sitemap,
}

/// Accepted field names in lower case, without spaces, `-` and `_`. The first name of each field is the correct one.
const NAMES: [(&str, FieldName); 20] = [
    ("useragent", FieldName::Agent),
    ("useragents", FieldName::Agent),
    ("useragant", FieldName::Agent),
    ("usseragent", FieldName::Agent),
    ("useagent", FieldName::Agent),
    ("disallow", FieldName::Disallow),
    ("dissallow", FieldName::Disallow),
    ("dissalow", FieldName::Disallow),
    ("disalow", FieldName::Disallow),
    ("diasllow", FieldName::Disallow),
    ("disallaw", FieldName::Disallow),
    ("dissallaw", FieldName::Disallow),
    ("disallows", FieldName::Disallow),
    ("desallow", FieldName::Disallow),
    ("allow", FieldName::Allow),
    ("alow", FieldName::Allow),
    ("allows", FieldName::Allow),
    ("sitemap", FieldName::Sitemap),
    ("sitemaps", FieldName::Sitemap),
    ("crawldelay", FieldName::Delay),
];

/// Correct spellings, in lower case.
const CORRECT_NAMES: [&[u8]; 5] = [
    b"user-agent",
    b"disallow",
    b"allow",
    b"sitemap",
    b"crawl-delay",
];

/// Maximum length of a field name. It bounds the work on a line that is not `name: value`.
const MAX_NAME_LENGTH: usize = 24;

/// Parses a line without its line end.
pub(crate) fn read(line: &[u8]) -> (RobotsLine<'_>, Option<LineFault>) {
    let line = trimmed(memchr::memchr(b'#', line).map_or(line, |mark| &line[..mark]));
    if line.is_empty() {
        return (RobotsLine::Blank, None);
    }
    let colon = memchr::memchr(b':', line);
    if let Some(colon) = colon {
        let name = line[..colon].trim_ascii();
        if let Some(field) = field(name) {
            let right = CORRECT_NAMES
                .iter()
                .any(|right| right.eq_ignore_ascii_case(name));
            return (
                record(field, line[colon + 1..].trim_ascii()),
                (!right).then_some(LineFault::Misspelt),
            );
        }
    }
    if let Some(line) = without_colon(line) {
        return (line, Some(LineFault::NoColon));
    }
    let other = colon.is_some_and(|colon| is_name(line[..colon].trim_ascii()));
    (
        if other {
            RobotsLine::Other
        } else {
            RobotsLine::Garbage
        },
        None,
    )
}

/// Removes surrounding white space and NUL bytes, because some servers pad files with NUL.
pub(crate) fn trimmed(line: &[u8]) -> &[u8] {
    let outer = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let Some(first) = line.iter().position(|byte| !outer(byte)) else {
        return b"";
    };
    let last = line.iter().rposition(|byte| !outer(byte)).unwrap_or(first);
    &line[first..=last]
}

/// Parses a line without a colon, such as `Disallow /x` or `User agent *`. The field name is the first word or the
/// first two words.
fn without_colon(line: &[u8]) -> Option<RobotsLine<'_>> {
    let space = |from: usize| {
        line[from..]
            .iter()
            .position(u8::is_ascii_whitespace)
            .map(|at| from + at)
    };
    let first = space(0)?;
    if let Some(field) = field(&line[..first]) {
        return Some(record(field, line[first..].trim_ascii()));
    }
    let word = first
        + line[first..]
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())?;
    let second = space(word).unwrap_or(line.len());
    field(&line[..second]).map(|field| record(field, line[second..].trim_ascii()))
}

fn record(field: FieldName, value: &[u8]) -> RobotsLine<'_> {
    match field {
        FieldName::Agent => RobotsLine::Agent(value),
        FieldName::Allow => RobotsLine::Allow(value),
        FieldName::Disallow => RobotsLine::Disallow(value),
        FieldName::Delay => RobotsLine::Delay(value),
        FieldName::Sitemap => RobotsLine::Sitemap(value),
    }
}

fn field(name: &[u8]) -> Option<FieldName> {
    if name.len() > MAX_NAME_LENGTH {
        return None;
    }
    let letters = || {
        name.iter()
            .filter(|byte| !matches!(byte, b' ' | b'\t' | b'-' | b'_'))
            .map(u8::to_ascii_lowercase)
    };
    NAMES
        .iter()
        .find(|(known, _)| letters().eq(known.bytes()))
        .map(|(_, field)| *field)
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME_LENGTH
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: RobotsLine<'_>, slip: Option<LineFault>) {
        assert_eq!(read(line.as_bytes()), (expected, slip), "{line}");
    }

    #[test]
    fn correct_lines() {
        check("User-agent: *", RobotsLine::Agent(b"*"), None);
        check("  DISALLOW :\t/x  # why", RobotsLine::Disallow(b"/x"), None);
        check("Allow:/a b", RobotsLine::Allow(b"/a b"), None);
        check("Disallow:", RobotsLine::Disallow(b""), None);
        check("crawl-delay: 10", RobotsLine::Delay(b"10"), None);
        check(
            "Sitemap: https://example.org/s.xml",
            RobotsLine::Sitemap(b"https://example.org/s.xml"),
            None,
        );
        check("# comment", RobotsLine::Blank, None);
        check("", RobotsLine::Blank, None);
        check("Host: example.org", RobotsLine::Other, None);
        check("Clean-param: a /x", RobotsLine::Other, None);
    }

    #[test]
    fn tolerated_errors() {
        check(
            "Disallow /x",
            RobotsLine::Disallow(b"/x"),
            Some(LineFault::NoColon),
        );
        check(
            "Disallow /x:y",
            RobotsLine::Disallow(b"/x:y"),
            Some(LineFault::NoColon),
        );
        check(
            "User agent *",
            RobotsLine::Agent(b"*"),
            Some(LineFault::NoColon),
        );
        check(
            "User agent: *",
            RobotsLine::Agent(b"*"),
            Some(LineFault::Misspelt),
        );
        check(
            "useragent: *",
            RobotsLine::Agent(b"*"),
            Some(LineFault::Misspelt),
        );
        check(
            "Dissallow: /x",
            RobotsLine::Disallow(b"/x"),
            Some(LineFault::Misspelt),
        );
        check(
            "Crawl delay: 5",
            RobotsLine::Delay(b"5"),
            Some(LineFault::Misspelt),
        );
        check(
            "Site-map: /s",
            RobotsLine::Sitemap(b"/s"),
            Some(LineFault::Misspelt),
        );
        check("<html>", RobotsLine::Garbage, None);
        check("Disallow", RobotsLine::Garbage, None);
        check("please do not: come", RobotsLine::Garbage, None);
    }
}
