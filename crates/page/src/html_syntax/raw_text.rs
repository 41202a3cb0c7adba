//! Finds the end of raw text: the content of `script`, `style`, `title` and similar elements, in which tags do not count.
//!
//! Raw text ends with the end tag of its element. In a script, an end tag does not count if it is inside a comment in which
//! another script was opened (WHATWG HTML, 13.2.5.9 to 13.2.5.31).

/// How the content of an element is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentModel {
    /// Text with character references: `title`, `textarea`.
    Rcdata,
    /// Text without references: `style`, `iframe`, `xmp`.
    RawText,
    /// Text without references, in which a comment can hide the end tag.
    Script,
    /// Text up to the end of the document.
    Plaintext,
}

/// Where the end tag stands that ends the raw text beginning at `from`; `None` when there is none.
pub(crate) fn end(bytes: &[u8], from: usize, raw: ContentModel, name: &[u8]) -> Option<usize> {
    match raw {
        ContentModel::Plaintext => None,
        ContentModel::Script => script(bytes, from, name),
        ContentModel::Rcdata | ContentModel::RawText => {
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
                ScriptComment::Closed(after) => at = after,
                ScriptComment::Ended(end) => return Some(end),
                ScriptComment::Open => return None,
            }
        }
    }
}

/// How a comment inside a script comes out.
enum ScriptComment {
    /// `-->`, and what stands behind it.
    Closed(usize),
    /// The end tag of the script that the comment is in.
    Ended(usize),
    Open,
}

/// Reads a comment whose two first dashes are at `dashes`.
fn comment(bytes: &[u8], dashes: usize, name: &[u8]) -> ScriptComment {
    let mut at = dashes + 2;
    // Inside a script that was opened in the comment: its end tag is none.
    let mut inner = false;
    while let Some(next) = memchr::memchr2(b'<', b'>', &bytes[at..]) {
        let place = at + next;
        at = place + 1;
        if bytes[place] == b'>' {
            if bytes[dashes..place].ends_with(b"--") {
                return ScriptComment::Closed(at);
            }
        } else if inner {
            inner = !is_end(&bytes[place..], b"script");
        } else if is_end(&bytes[place..], name) {
            return ScriptComment::Ended(place);
        } else {
            inner = is_named(&bytes[at..], b"script");
        }
    }
    ScriptComment::Open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends() {
        let check = |raw, text: &str, expected: Option<&str>| {
            let name: &[u8] = if raw == ContentModel::Script {
                b"script"
            } else {
                b"title"
            };
            let found = end(text.as_bytes(), 0, raw, name).map(|at| &text[at..]);
            assert_eq!(found, expected, "{text}");
        };
        check(
            ContentModel::Rcdata,
            "a<b></titles></TITLE x>",
            Some("</TITLE x>"),
        );
        check(ContentModel::RawText, "</title", None);
        check(ContentModel::Plaintext, "</title>", None);
        check(ContentModel::Script, "<!-- </script>", Some("</script>"));
        check(
            ContentModel::Script,
            "<!-- <script> </script> </script>x",
            Some("</script>x"),
        );
        check(
            ContentModel::Script,
            "<!-- <script> --> </script>1</script>",
            Some("</script>1</script>"),
        );
        check(ContentModel::Script, "<!--> </script>", Some("</script>"));
        check(
            ContentModel::Script,
            "<!--<script>--></script>",
            Some("</script>"),
        );
        check(ContentModel::Script, "<!--<script></script>", None);
        check(
            ContentModel::Script,
            "<!-<script></script>",
            Some("</script>"),
        );
    }
}
