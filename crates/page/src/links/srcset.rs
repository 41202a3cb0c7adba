//! Finds the URLs of a `srcset` attribute (WHATWG HTML, 4.8.4.3.10, "parse a srcset attribute").

/// Calls `found` with every URL of the set. Descriptors (`2x`, `100w`) are skipped.
pub(crate) fn urls(set: &[u8], mut found: impl FnMut(&[u8])) {
    let mut rest = set;
    loop {
        let start = rest
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && *byte != b',');
        let Some(start) = start else {
            return;
        };
        rest = &rest[start..];
        let end = rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        // A comma inside a URL is part of the URL. A comma at the end of a URL separates it from the next one.
        let commas = url.iter().rev().take_while(|byte| **byte == b',').count();
        found(&url[..url.len() - commas]);
        rest = if commas > 0 {
            after
        } else {
            skip_descriptors(after)
        };
    }
}

/// Skips the descriptors after a URL. Returns the part of `rest` that begins at the next comma outside parentheses.
fn skip_descriptors(rest: &[u8]) -> &[u8] {
    let mut depth = 0_u32;
    for (index, byte) in rest.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return &rest[index..],
            _ => {}
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    #[test]
    fn urls_of_candidates() {
        let check = |set: &str, expected: &[&str]| {
            let mut list = Vec::new();
            super::urls(set.as_bytes(), |url| {
                list.push(String::from_utf8_lossy(url).into_owned());
            });
            assert_eq!(list, expected, "{set}");
        };
        check("a.png, b.png 2x", &["a.png", "b.png"]);
        check("a.png 1x,b.png 2x", &["a.png", "b.png"]);
        check(" ,, a,b.png 100w , c.png", &["a,b.png", "c.png"]);
        check("a.png (x, y), b.png", &["a.png", "b.png"]);
        check("a.png,", &["a.png"]);
        check("a.png,b.png", &["a.png,b.png"]);
        check("", &[]);
        check("a.png (", &["a.png"]);
    }
}
