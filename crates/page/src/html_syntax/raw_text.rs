//! Where raw text ends: the content of `script`, `style`, `title` and their like, in which a tag is no tag.
//!
//! Asked by `tokenizer` once per such element. Only its own end tag ends it; inside a script, one that stands in
//! a comment in which another script was opened does not (WHATWG HTML, sections 13.2.5.9 to 13.2.5.31, drawn together
//! to what can be told from the bytes around `<` and `>`).

/// How the content of an element is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Raw {
    /// References count: `title`, `textarea`.
    Title,
    /// Nothing counts: `style`, `iframe`, `xmp`.
    Text,
    /// Nothing counts, but comments hide end tags.
    Script,
    /// To the end of the document.
    Plain,
}

/// Where the end tag stands that ends the raw text beginning at `from`; `None` when there is none.
pub(crate) fn end(bytes: &[u8], from: usize, raw: Raw, name: &[u8]) -> Option<usize> {
    match raw {
        Raw::Plain => None,
        Raw::Script => script(bytes, from, name),
        Raw::Title | Raw::Text => {
            let mut places = memchr::memchr_iter(b'<', &bytes[from..]).map(|at| from + at);
            places.find(|at| is_end(&bytes[*at..], name))
        }
    }
}

/// Whether `rest` begins with the end tag.
fn is_end(rest: &[u8], name: &[u8]) -> bool {
    !name.is_empty() && rest.starts_with(b"</") && is_named(&rest[2..], name)
}

/// Whether `rest` begins with the name, and something that ends a name.
fn is_named(rest: &[u8], name: &[u8]) -> bool {
    rest.split_at_checked(name.len())
        .is_some_and(|(start, after)| {
            let ended = matches!(
                after.first(),
                Some(b' ' | b'\t' | b'\n' | b'\x0C' | b'\r' | b'/' | b'>')
            );
            ended && start.eq_ignore_ascii_case(name)
        })
}

/// The end of a script.
fn script(bytes: &[u8], from: usize, name: &[u8]) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr(b'<', &bytes[at..])?;
        if is_end(&bytes[at..], name) {
            return Some(at);
        }
        at += 1;
        if bytes[at..].starts_with(b"!--") {
            match comment(bytes, at + 1, name) {
                Comment::Closed(after) => at = after,
                Comment::Ended(end) => return Some(end),
                Comment::Open => return None,
            }
        }
    }
}

/// How a comment inside a script comes out.
enum Comment {
    /// `-->`, and what stands behind it.
    Closed(usize),
    /// The end tag of the script that the comment is in.
    Ended(usize),
    Open,
}

/// Reads a comment whose two first dashes are at `dashes`.
fn comment(bytes: &[u8], dashes: usize, name: &[u8]) -> Comment {
    let mut at = dashes + 2;
    // Inside a script that was opened in the comment: its end tag is none.
    let mut inner = false;
    while let Some(next) = memchr::memchr2(b'<', b'>', &bytes[at..]) {
        let place = at + next;
        at = place + 1;
        if bytes[place] == b'>' {
            if bytes[dashes..place].ends_with(b"--") {
                return Comment::Closed(at);
            }
        } else if inner {
            inner = !is_end(&bytes[place..], b"script");
        } else if is_end(&bytes[place..], name) {
            return Comment::Ended(place);
        } else {
            inner = is_named(&bytes[at..], b"script");
        }
    }
    Comment::Open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends() {
        let check = |raw, text: &str, expected: Option<&str>| {
            let name: &[u8] = if raw == Raw::Script {
                b"script"
            } else {
                b"title"
            };
            let found = end(text.as_bytes(), 0, raw, name).map(|at| &text[at..]);
            assert_eq!(found, expected, "{text}");
        };
        check(Raw::Title, "a<b></titles></TITLE x>", Some("</TITLE x>"));
        check(Raw::Text, "</title", None);
        check(Raw::Plain, "</title>", None);
        check(Raw::Script, "<!-- </script>", Some("</script>"));
        check(
            Raw::Script,
            "<!-- <script> </script> </script>x",
            Some("</script>x"),
        );
        check(
            Raw::Script,
            "<!-- <script> --> </script>1</script>",
            Some("</script>1</script>"),
        );
        check(Raw::Script, "<!--> </script>", Some("</script>"));
        check(Raw::Script, "<!--<script>--></script>", Some("</script>"));
        check(Raw::Script, "<!--<script></script>", None);
        check(Raw::Script, "<!-<script></script>", Some("</script>"));
    }
}
