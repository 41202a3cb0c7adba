//! Reads the URL of an `xml-stylesheet` processing instruction (W3C, "Associating Style Sheets with XML documents").

/// The value of `href`, as written. `instruction` is the text between `<` and `>`. `None` if this is another
/// instruction, or if the style sheet is in the document itself (`#id`).
pub(crate) fn href(instruction: &[u8]) -> Option<&[u8]> {
    let mut rest = instruction.strip_prefix(b"?xml-stylesheet")?;
    loop {
        let start = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let equals = start + memchr::memchr(b'=', &rest[start..])?;
        let name = rest[start..equals].trim_ascii();
        let quote = equals + 1 + memchr::memchr2(b'"', b'\'', &rest[equals + 1..])?;
        let value = &rest[quote + 1..];
        let length = memchr::memchr(rest[quote], value)?;
        if name == b"href" {
            return Some(&value[..length]).filter(|href| !matches!(href, [] | [b'#', ..]));
        }
        rest = &value[length + 1..];
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn hrefs_of_instructions() {
        let check = |instruction: &str, expected: Option<&str>| {
            let href = super::href(instruction.as_bytes());
            assert_eq!(href, expected.map(str::as_bytes), "{instruction}");
        };
        check("?xml-stylesheet href='a.css'?", Some("a.css"));
        check(
            "?xml-stylesheet  type=\"text/css\"\n href = \"a'b.css\" ?",
            Some("a'b.css"),
        );
        check("?xml-stylesheet href='#style'?", None);
        check("?xml-stylesheet href=''?", None);
        check("?xml-stylesheet href='a.css", None);
        check("?xml-stylesheet type?", None);
        check("?xml version='1.0' href='a'?", None);
        check("?", None);
    }
}
