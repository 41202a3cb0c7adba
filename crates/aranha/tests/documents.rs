//! Documents on the command line: `aranha read` of files, and `aranha text` of stored documents that nginx served.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod origin;
mod scripted_site;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use origin::{Kind, Origin};
use serde_json::Value;
use support::{aranha, assert_status};

const FIRST_LINE: &str = "The garden spider";

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus/read")
        .join(name)
}

#[track_caller]
fn output(command: &mut Command, status: i32) -> Output {
    let output = command.output().unwrap();
    assert_status(&output, status);
    output
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn text_of_files() {
    let folder = tempfile::tempdir().unwrap();
    // The name is wrong, and the type that the name suggests too.
    let renamed = folder.path().join("renamed.doc");
    fs::copy(sample("sample.docx"), &renamed).unwrap();
    let plain = folder.path().join("notes.txt");
    fs::write(&plain, "The garden spider\nsleeps").unwrap();
    for file in [sample("sample.pdf"), sample("sample.odt"), renamed, plain] {
        let output = output(aranha().arg("read").arg(&file), 0);
        let text = text(output.stdout);
        assert_eq!(text.lines().next(), Some(FIRST_LINE), "{}", file.display());
        assert!(
            !text.contains("abcdefghijklmnopqrstuvwxyz"),
            "a long string is left out (T5)"
        );
    }
}

#[test]
fn files_without_text() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.docx");
    let whole = fs::read(sample("sample.docx")).unwrap();
    fs::write(&cut, &whole[..60]).unwrap();
    let image = folder.path().join("image.gif");
    fs::write(&image, "GIF89a").unwrap();
    for (file, reason) in [
        (
            sample("encrypted.pdf"),
            "it is a pdf document that needs a password",
        ),
        (cut, "it is a damaged docx document: "),
        (image, "it is image/gif"),
    ] {
        let output = output(aranha().arg("read").arg(&file), 5);
        assert_eq!(output.stdout, b"");
        let message = text(output.stderr);
        let expected = format!("{}: no text: {reason}", file.display());
        assert!(message.starts_with(&expected), "{message}");
    }
    let missing = folder.path().join("missing.pdf");
    let message = text(output(aranha().arg("read").arg(missing), 1).stderr);
    assert!(message.contains("No such file"), "{message}");
}

#[test]
fn the_type_can_be_set() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("letter");
    fs::write(&file, "no signature {\\rtf1 words}").unwrap();
    let as_text = text(output(aranha().arg("read").arg(&file), 0).stdout);
    assert_eq!(as_text, "no signature {\\rtf1 words}\n");
    let as_rtf = output(aranha().args(["read", "--type", "rtf"]).arg(&file), 0);
    assert_eq!(text(as_rtf.stdout), "no signature words\n");
    let wrong = output(aranha().args(["read", "--type", "docs"]).arg(&file), 2);
    assert!(text(wrong.stderr).contains("the types are pdf, doc,"));
}

#[test]
fn text_of_stored_documents() {
    let folder = tempfile::tempdir().unwrap();
    let server = Origin::start(Kind::Nginx, folder.path());
    let publish = |path: &str, bytes: &[u8]| {
        let file = server.file(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
        server.url(path)
    };
    let bytes = |name: &str| fs::read(sample(name)).unwrap();
    let pdf = publish("/plain/report.pdf", &bytes("sample.pdf"));
    // nginx declares the type that the extension has.
    let misnamed = publish("/plain/letter.html", &bytes("sample.doc"));
    let encrypted = publish("/plain/secret.docx", &bytes("encrypted.docx"));
    let collection = folder.path().join("c");
    let mut crawl = scripted_site::crawl(&collection, &pdf);
    output(crawl.args([&misnamed, &encrypted]), 0);
    let ask = |command: &str, url: &str| {
        let mut words = aranha();
        words.args([command, url, "-c"]).arg(&collection);
        words
    };
    for url in [&pdf, &misnamed] {
        let text = text(output(&mut ask("text", url), 0).stdout);
        assert_eq!(text.lines().next(), Some(FIRST_LINE), "{url}");
        let links = output(&mut ask("links", url), 0).stdout;
        let links = String::from_utf8(links).unwrap();
        assert!(
            links.contains("anchor\thttps://example.org/spiders?page=2\n"),
            "{links}"
        );
    }
    let refused = output(&mut ask("text", &encrypted), 5);
    let message = text(refused.stderr);
    let expected = format!(
        "error: {encrypted} has no text: it is a docx document that needs a password\nhint: "
    );
    assert!(message.starts_with(&expected), "{message}");

    let json = output(ask("text", &pdf).arg("--json"), 0);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["type"], "application/pdf");
    assert_eq!(json["title"], FIRST_LINE);
    assert_eq!(json["document"]["outcome"], "text");
    assert_eq!(json["language_found"], "en");
}
