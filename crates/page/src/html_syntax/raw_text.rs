//! Finds the end of raw text: the content of `script`, `style`, `title` and similar elements, in which tags are not
//! recognised.
//!
//! Raw text ends with the end tag of its element. In a script, an end tag is ignored if it is inside a comment in which
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

/// Position of the end tag that ends the raw text beginning at `from`. `None` if the raw text extends to the end of the
/// document.
pub(crate) fn end(bytes: &[u8], from: usize, model: ContentModel, name: &[u8]) -> Option<usize> {
    match model {
        ContentModel::Plaintext => None,
        ContentModel::Script => end_of_script(bytes, from, name),
        ContentModel::Rcdata | ContentModel::RawText => {
            let mut tags = memchr::memchr_iter(b'<', &bytes[from..]).map(|at| from + at);
            tags.find(|at| is_end_tag(&bytes[*at..], name))
        }
    }
}

/// Whether `rest` begins with the end tag of `name`.
fn is_end_tag(rest: &[u8], name: &[u8]) -> bool {
    !name.is_empty() && rest.starts_with(b"</") && starts_with_name(&rest[2..], name)
}

/// Whether `rest` begins with `name`, followed by a byte that ends a name.
fn starts_with_name(rest: &[u8], name: &[u8]) -> bool {
    rest.split_at_checked(name.len())
        .is_some_and(|(start, after)| {
            let ended = matches!(
                after.first(),
                Some(b' ' | b'\t' | b'\n' | b'\x0C' | b'\r' | b'/' | b'>')
            );
            ended && start.eq_ignore_ascii_case(name)
        })
}

/// Position of the end tag of a script.
fn end_of_script(bytes: &[u8], from: usize, name: &[u8]) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr(b'<', &bytes[at..])?;
        if is_end_tag(&bytes[at..], name) {
            return Some(at);
        }
        at += 1;
        if bytes[at..].starts_with(b"!--") {
            match skip_comment(bytes, at + 1, name) {
                ScriptComment::Closed(after) => at = after,
                ScriptComment::EndTag(end) => return Some(end),
                ScriptComment::Unterminated => return None,
            }
        }
    }
}

/// How a comment inside a script ends.
enum ScriptComment {
    /// The comment ends with `-->`. The value is the position after the `-->`.
    Closed(usize),
    /// The comment ends with the end tag of the script that contains it. The value is the position of that tag.
    EndTag(usize),
    /// The document ends inside the comment.
    Unterminated,
}

/// Finds the end of a comment whose first two dashes are at `dashes`.
fn skip_comment(bytes: &[u8], dashes: usize, name: &[u8]) -> ScriptComment {
    let mut at = dashes + 2;
    // Whether `at` is inside a script that was opened in the comment. The end tag of that script does not end the outer
    // script.
    let mut in_inner_script = false;
    while let Some(next) = memchr::memchr2(b'<', b'>', &bytes[at..]) {
        let position = at + next;
        at = position + 1;
        if bytes[position] == b'>' {
            if bytes[dashes..position].ends_with(b"--") {
                return ScriptComment::Closed(at);
            }
        } else if in_inner_script {
            in_inner_script = !is_end_tag(&bytes[position..], b"script");
        } else if is_end_tag(&bytes[position..], name) {
            return ScriptComment::EndTag(position);
        } else {
            in_inner_script = starts_with_name(&bytes[at..], b"script");
        }
    }
    ScriptComment::Unterminated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_tags_of_raw_text() {
        let check = |model, text: &str, expected: Option<&str>| {
            let name: &[u8] = if model == ContentModel::Script {
                b"script"
            } else {
                b"title"
            };
            let found = end(text.as_bytes(), 0, model, name).map(|at| &text[at..]);
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
