//! Documents of every kind, written by `LibreOffice`, groff and Python, with the text that they must give.

mod support;

use aranha_read::{Kind, Limits, Outcome, Reading, read};

/// The words of a text, without the marks of lists and tables.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

const TITLE: &str = "The garden spider";
const TEXT: &str = "The garden spider
A garden spider spins a new web every evening. She eats the old one first, because silk is costly.
See the page about spiders for more, or webs.
A aranha tece a teia à noite; em Lisboa, a manhã começa com orvalho. Größe: 15 mm. Цена: 20 €.
Species Size
Araneus diadematus 15
abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz is not a word.";
const TEXT_LINKS: [&str; 2] = [
    "https://example.org/spiders?page=2",
    "http://example.net/webs",
];
const SHEET: &str = "Species Size Legs
Araneus diadematus 15 8
Argiope bruennichi 17.5 8
Größe der Spinne 20 8";
const SLIDES: &str = "The garden spider
A new web every evening
A teia da aranha à noite
See the slides";
const MANUAL: &str = "Spider(7) Miscellaneous Information Manual Spider(7)
NAME
spider \u{2212} walks over the web
DESCRIPTION
A garden spider spins a new web every evening. She eats the old one first, because silk is costly. Five of-
fices filed the difference: \u{201C}quoted\u{201D} text, naïve café.
A second paragraph with bold words.
1";

#[track_caller]
fn check(name: &str, kind: Kind, text: &str, links: &[&str]) -> Reading {
    let body = support::sample(name);
    assert_eq!(
        Kind::of("application/octet-stream", "http://a/", &body),
        Some(kind)
    );
    let reading = read(kind, &body, &Limits::default());
    assert_eq!(reading.outcome, Outcome::Text, "{name}: {}", reading.detail);
    assert_eq!(words(&reading.document.text), words(text), "{name}");
    assert_eq!(reading.document.links, links, "{name}");
    assert_eq!(reading.document.remarks, [] as [&str; 0], "{name}");
    reading
}

#[test]
fn texts() {
    for (name, kind) in [
        ("sample.pdf", Kind::Pdf),
        ("sample.docx", Kind::Docx),
        ("sample.odt", Kind::Odt),
        ("sample.rtf", Kind::Rtf),
        ("sample.epub", Kind::Epub),
    ] {
        let reading = check(name, kind, TEXT, &TEXT_LINKS);
        assert_eq!(reading.document.title.as_deref(), Some(TITLE), "{name}");
    }
    check("sample.doc", Kind::Doc, TEXT, &TEXT_LINKS);
    check("groff.ps", Kind::Ps, MANUAL, &[]);
}

#[test]
fn spreadsheets() {
    check("sample.ods", Kind::Ods, SHEET, &[]);
    // The sheets of these have a name.
    let named = format!("sheet {SHEET}");
    check("sample.xls", Kind::Xls, &named, &[]);
    check("sample.xlsx", Kind::Xlsx, &named, &[]);
}

#[test]
fn presentations() {
    let links = ["https://example.org/slides"];
    for (name, kind) in [
        ("sample.odp", Kind::Odp),
        ("sample.ppt", Kind::Ppt),
        ("sample.pptx", Kind::Pptx),
    ] {
        check(name, kind, SLIDES, &links);
    }
}

/// The jail changes nothing.
#[test]
fn workers_read_the_same() {
    let pool = support::pool(2, Limits::default());
    for (name, kind) in support::SAMPLES {
        let body = support::sample(name);
        let inside = pool.read(kind, &body);
        assert_eq!(inside, read(kind, &body, &Limits::default()), "{name}");
    }
}

#[test]
fn documents_with_passwords() {
    for (name, kind) in [
        ("encrypted.pdf", Kind::Pdf),
        ("encrypted.docx", Kind::Docx),
        ("encrypted.odt", Kind::Odt),
    ] {
        let body = support::sample(name);
        assert_eq!(Kind::of("", name, &body), Some(kind));
        let reading = read(kind, &body, &Limits::default());
        assert_eq!(
            reading.outcome,
            Outcome::Encrypted,
            "{name}: {}",
            reading.detail
        );
    }
}
