//! Reads every page of `tests/corpus/page` with all options and compares the result with its `.expected` file.
//!
//! `ARANHA_BLESS=1 cargo test -p aranha-page --test corpus` writes the expected files. Review the difference before
//! committing it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use aranha_page::{Input, Options, Page, read};

fn corpus_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/page")
}

fn render(page: &Page) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        writeln!(out, "{name}: {value}").expect("write to a string");
    };
    line("type", &page.media_type);
    line("charset", &page.charset);
    let fields = [
        ("title", &page.title),
        ("description", &page.description),
        ("language", &page.language),
        ("canonical", &page.canonical),
        ("base", &page.base),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            line(name, value);
        }
    }
    for (name, content) in &page.robots {
        line(&format!("robots {name}"), content);
    }
    for (index, link) in page.links.iter().enumerate() {
        let nofollow = if link.nofollow { " nofollow" } else { "" };
        let date = page.link_dates.iter().find(|(dated, _)| *dated == index);
        let date = date.map(|(_, date)| format!(" {date}")).unwrap_or_default();
        line(&format!("{}{nofollow}{date}", link.kind), &link.href);
    }
    for remark in &page.remarks {
        line("remark", remark);
    }
    out.push_str("text:\n");
    out.push_str(&page.text);
    out.push('\n');
    out
}

#[test]
fn corpus_pages_are_read_as_expected() {
    let bless = std::env::var_os("ARANHA_BLESS").is_some();
    let options = Options {
        assets: true,
        forms: true,
        scripts: true,
        ..Options::default()
    };
    let mut count = 0;
    for entry in std::fs::read_dir(corpus_directory()).expect("corpus in the repository") {
        let path = entry.expect("readable directory").path();
        let header = match path.extension().and_then(|extension| extension.to_str()) {
            Some("html") => "text/html",
            Some("xhtml") => "application/xhtml+xml",
            Some("xml") => "application/xml",
            _ => continue,
        };
        let body = std::fs::read(&path).expect("readable file");
        let url = "http://site.example/dir/page";
        let page = read(
            &Input {
                url,
                content_type: Some(header),
                body: &body,
                content_language: None,
            },
            &options,
        );
        let found = render(&page);
        let expected = path.with_extension("expected");
        if bless {
            std::fs::write(&expected, &found).expect("writable directory");
        }
        let expected = std::fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, expected, "{}", path.display());
        count += 1;
    }
    assert!(count >= 18, "only {count} pages in the corpus");
}
