//! Changes one list in the text of a configuration file. The rest of the text, with its comments, stays as it is.

use toml::Value;

use super::leaf::leaves;

/// The text with `section.name` set to `value`. Returns `None` in the same cases as [`set_list`].
pub(super) fn set_text(text: &str, section: &str, name: &str, value: &str) -> Option<String> {
    set(text, section, name, &Value::from(value))
}

/// The text with `section.name` set to this list. `None` if the text is not valid TOML, or if the section is written in
/// a form that cannot be extended.
pub(super) fn set_list(text: &str, section: &str, name: &str, list: &[String]) -> Option<String> {
    set(text, section, name, &Value::from(list.to_vec()))
}

fn set(text: &str, section: &str, name: &str, value: &Value) -> Option<String> {
    let line = format!("{name} = {value}");
    let key = format!("{section}.{name}");
    let header = format!("[{section}]");
    let found = leaves(text).ok()?.into_iter().find(|leaf| leaf.key == key);
    let edited = if let Some(leaf) = found {
        let before = &text[leaf.span.clone()];
        let (name, _) = before.split_once('=')?;
        let after = &text[leaf.span.end..];
        format!("{}{name}= {value}{after}", &text[..leaf.span.start])
    } else if let Some(end) = end_of_line(text, &header) {
        format!("{}{line}\n{}", &text[..end], &text[end..])
    } else {
        format!("{}\n\n{header}\n{line}\n", text.trim_end())
    };
    leaves(&edited).is_ok().then_some(edited)
}

/// Byte offset of the end of the first line that contains only `header` and possibly a comment. `None` if no such line
/// ends with a newline.
fn end_of_line(text: &str, header: &str) -> Option<usize> {
    let mut end = 0;
    text.split_inclusive('\n').find_map(|line| {
        end += line.len();
        let bare = line.split('#').next().unwrap_or_default().trim();
        (bare == header && line.ends_with('\n')).then_some(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let list = ["ext:zip".to_owned(), "path:/a/*".to_owned()];
        let edited = set_list(text, "crawl", "reject", &list);
        assert_eq!(edited.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn only_the_list_changes() {
        check(
            "# mine\n[crawl] # here\nreject = [\n \"a\" ] # old\npause = \"1s\"\n",
            Some(
                "# mine\n[crawl] # here\nreject = [\"ext:zip\", \"path:/a/*\"] # old\npause = \"1s\"\n",
            ),
        );
        check(
            "crawl = { reject = [], sites = 3 }\n",
            Some("crawl = { reject = [\"ext:zip\", \"path:/a/*\"], sites = 3 }\n"),
        );
        check(
            "[crawl] # here\nsites = 3\n[log]\n",
            Some("[crawl] # here\nreject = [\"ext:zip\", \"path:/a/*\"]\nsites = 3\n[log]\n"),
        );
        check(
            "profile = \"mysite\"\n",
            Some("profile = \"mysite\"\n\n[crawl]\nreject = [\"ext:zip\", \"path:/a/*\"]\n"),
        );
        check("crawl = { sites = 3 }\n", None);
        check("crawl = {", None);
    }
}
