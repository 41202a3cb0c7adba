//! Compares the tokens with the html5lib test suite (all cases) and with html5gum (the corpus, random documents, and with
//! `ARANHA_PAGES=DIRECTORY` every page of a directory tree).
//!
//! Not compared: parse errors, because the tokenizer reports none; the content of doctypes, of which only the position is
//! checked. The cases of `xmlViolation.test` expect the coercion of a tree to XML. This crate has no tree, so their input
//! must give the tokens that html5gum finds. The number of cases is checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use html5gum::{DefaultEmitter, Tokenizer};
use proptest::prelude::*;
use serde_json::Value;

use crate::html_syntax::character_reference::{TextKind, decode};
use crate::html_syntax::name::HtmlName;
use crate::html_syntax::raw_text::ContentModel;
use crate::html_syntax::tokenizer::{self, TokenSink};

/// A token of either tokenizer, everything decoded.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Text(String),
    Start(String, BTreeMap<String, String>, bool),
    End(String),
    Comment(String),
    Doctype,
}

fn push_text(tokens: &mut Vec<Token>, text: &str) {
    match tokens.last_mut() {
        Some(Token::Text(before)) => before.push_str(text),
        _ if text.is_empty() => {}
        _ => tokens.push(Token::Text(text.to_owned())),
    }
}

fn string(bytes: &[u8], place: TextKind) -> String {
    String::from_utf8(decode(bytes, place).into_owned()).expect("cut between characters")
}

/// A name: ASCII in lower case, nulls replaced.
fn name(bytes: &[u8]) -> String {
    string(&bytes.to_ascii_lowercase(), TextKind::RawText)
}

/// Puts our events together.
#[derive(Default)]
struct TokenRecorder {
    tokens: Vec<Token>,
    start: bool,
    name: String,
    attributes: BTreeMap<String, String>,
    /// Whether start tags open raw text by their name alone.
    switching: bool,
}

impl<'a> TokenSink<'a> for TokenRecorder {
    fn text(&mut self, characters: &'a [u8], place: TextKind) {
        push_text(&mut self.tokens, &string(characters, place));
    }

    fn open(&mut self, start: bool, name: HtmlName<'a>) -> bool {
        self.start = start;
        self.name = self::name(name.written);
        self.attributes.clear();
        true
    }

    fn attribute(&mut self, name: HtmlName<'a>, value: &'a [u8]) {
        let value = string(value, TextKind::AttributeValue);
        self.attributes
            .entry(self::name(name.written))
            .or_insert(value);
    }

    fn close(&mut self, self_closing: bool) -> Option<ContentModel> {
        let name = std::mem::take(&mut self.name);
        let attributes = std::mem::take(&mut self.attributes);
        if !self.start {
            self.tokens.push(Token::End(name));
            return None;
        }
        let raw = match &*name {
            "title" | "textarea" => Some(ContentModel::Rcdata),
            // "noframe" is as html5gum has it.
            "style" | "xmp" | "iframe" | "noembed" | "noframe" | "noscript" => {
                Some(ContentModel::RawText)
            }
            "script" => Some(ContentModel::Script),
            "plaintext" => Some(ContentModel::Plaintext),
            _ => None,
        };
        self.tokens
            .push(Token::Start(name, attributes, self_closing));
        raw.filter(|_| self.switching)
    }

    fn allows_cdata(&self) -> bool {
        false
    }

    fn comment(&mut self, data: &'a [u8]) {
        self.tokens
            .push(Token::Comment(string(data, TextKind::RawText)));
    }

    fn doctype(&mut self, _: &'a [u8]) {
        self.tokens.push(Token::Doctype);
    }
}

fn ours(document: &str) -> Vec<Token> {
    let mut sink = TokenRecorder {
        switching: true,
        ..TokenRecorder::default()
    };
    tokenizer::run(document.as_bytes(), &mut sink);
    sink.tokens
}

fn theirs(document: &str) -> Vec<Token> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let string =
        |text: html5gum::HtmlString| String::from_utf8(text.0).expect("a document of characters");
    let mut tokens = Vec::new();
    for token in Tokenizer::new_with_emitter(document, emitter) {
        let Ok(token) = token;
        match token {
            html5gum::Token::StartTag(tag) => {
                let attributes = tag.attributes.into_iter();
                let attributes =
                    attributes.map(|(name, value)| (string(name), string(value.value)));
                tokens.push(Token::Start(
                    string(tag.name),
                    attributes.collect(),
                    tag.self_closing,
                ));
            }
            html5gum::Token::EndTag(tag) => tokens.push(Token::End(string(tag.name))),
            html5gum::Token::String(text) => push_text(&mut tokens, &string(text.value)),
            html5gum::Token::Comment(text) => tokens.push(Token::Comment(string(text.value))),
            html5gum::Token::Doctype(_) => tokens.push(Token::Doctype),
            html5gum::Token::Error(_) => {}
        }
    }
    tokens
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/page")
}

/// `\uHHHH` once more. A lone surrogate, which no string of ours can hold, is `None`: see `suite`.
fn unescape(text: &str) -> Option<String> {
    let json = format!(
        "\"{}\"",
        text.replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\r', "\\r")
    );
    serde_json::from_str(&json).ok()
}

/// What a case expects, `None` when a string in it cannot be told in UTF-8.
fn expected(output: &Value, doubly: bool) -> Option<Vec<Token>> {
    let string = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        if doubly {
            unescape(text)
        } else {
            Some(text.to_owned())
        }
    };
    let mut tokens = Vec::new();
    for token in output.as_array().expect("a list") {
        match token[0].as_str().expect("a kind") {
            "Character" => push_text(&mut tokens, &string(&token[1])?),
            "Comment" => tokens.push(Token::Comment(string(&token[1])?)),
            "DOCTYPE" => tokens.push(Token::Doctype),
            "EndTag" => tokens.push(Token::End(string(&token[1])?)),
            "StartTag" => {
                let attributes = token[2].as_object().expect("attributes");
                let attributes = attributes
                    .iter()
                    .map(|(name, value)| Some((name.clone(), string(value)?)));
                let attributes = attributes.collect::<Option<_>>()?;
                let self_closing = token[3].as_bool().unwrap_or_default();
                tokens.push(Token::Start(string(&token[1])?, attributes, self_closing));
            }
            other => panic!("an unknown kind of token: {other}"),
        }
    }
    Some(tokens)
}

/// Tokens of a case that begins in a state of its own.
fn ours_in(input: &str, state: &str, last_start_tag: &str) -> Vec<Token> {
    let mut sink = TokenRecorder::default();
    let (document, last) = (input.as_bytes(), last_start_tag.as_bytes());
    match state {
        "Data state" => {
            tokenizer::run(document, &mut sink);
        }
        "CDATA section state" => tokenizer::run_in_data(document, &mut sink),
        "RCDATA state" => tokenizer::run_in(document, ContentModel::Rcdata, last, &mut sink),
        "RAWTEXT state" => tokenizer::run_in(document, ContentModel::RawText, last, &mut sink),
        "Script data state" => tokenizer::run_in(document, ContentModel::Script, last, &mut sink),
        "PLAINTEXT state" => tokenizer::run_in(document, ContentModel::Plaintext, last, &mut sink),
        other => panic!("an unknown state: {other}"),
    }
    sink.tokens
}

#[test]
fn suite() {
    let (mut cases, mut runs, mut untold, mut wrong) = (0, 0, 0, Vec::new());
    let mut files: Vec<PathBuf> = std::fs::read_dir(corpus().join("html5lib-tokenizer"))
        .expect("the suite is in the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "test")
        })
        .collect();
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let file: Value = serde_json::from_str(&text).expect("a file of cases");
        let coerced = file.get("xmlViolationTests");
        for case in coerced
            .or(file.get("tests"))
            .and_then(Value::as_array)
            .expect("cases")
        {
            cases += 1;
            let doubly = case["doubleEscaped"].as_bool().unwrap_or_default();
            let input = case["input"].as_str().expect("an input");
            let input = if doubly {
                unescape(input)
            } else {
                Some(input.to_owned())
            };
            // Halves of characters outside the basic plane stand alone in these: no string of UTF-8 has such.
            let (Some(input), Some(expected)) = (input, expected(&case["output"], doubly)) else {
                untold += 1;
                continue;
            };
            let expected = if coerced.is_some() {
                theirs(&input)
            } else {
                expected
            };
            let states = case["initialStates"].as_array().cloned();
            for state in states.unwrap_or_else(|| vec!["Data state".into()]) {
                runs += 1;
                let last = case["lastStartTag"].as_str().unwrap_or_default();
                let found = ours_in(&input, state.as_str().expect("a state"), last);
                if found != expected {
                    wrong.push(format!(
                        "{}: {input:?} in {state}\n  {found:?}\n  {expected:?}",
                        case["description"]
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {runs} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!((cases, runs, untold), (6808, 7030, 4));
}

/// Names the first token that differs, not the whole page.
fn compare(document: &str, origin: &str) -> usize {
    let (ours, theirs) = (ours(document), theirs(document));
    let count = ours.len();
    for (index, pair) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(pair.0, pair.1, "{origin}: token {index}");
    }
    assert_eq!(count, theirs.len(), "{origin}");
    count
}

#[test]
fn pages() {
    let mut pending = vec![corpus()];
    let given = std::env::var_os("ARANHA_PAGES").map(PathBuf::from);
    pending.extend(given);
    let (mut pages, mut tokens) = (0, 0);
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a readable folder");
            pending.extend(entries.flatten().map(|entry| entry.path()));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            let bytes = std::fs::read(&path).expect("a readable file");
            tokens += compare(
                &String::from_utf8_lossy(&bytes),
                &path.display().to_string(),
            );
            pages += 1;
        }
    }
    println!("{pages} pages, {tokens} tokens, all alike");
    assert!(tokens > 100);
}

/// Tags that are easily cut at the wrong place.
#[test]
fn tags() {
    for document in [
        "<a b=c=\"d>e\">f",
        "<a b=\"c>d\">e",
        "<a =\"b>c\">d",
        "<a b = 'c>d' e>f",
        "<a/b/=c/>d<a b=c/>d<a b/ >",
        "<a b=\"c\"d='e'f>g",
        "<a\rb\r=\rc\r>d",
    ] {
        compare(document, document);
    }
}

/// Pieces that begin, end and hide each other.
fn document() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "<",
        ">",
        "</",
        "/>",
        "<a",
        "<A ",
        " href",
        "=",
        "\"",
        "'",
        "<!--",
        "-->",
        "--!>",
        "-",
        "!",
        "<!",
        "<?",
        "<!doctype",
        "<![CDATA[",
        "]]>",
        "<script>",
        "</script>",
        "<script",
        "</script",
        "<title>",
        "</title>",
        "</title",
        "<style>",
        "</style ",
        "<plaintext>",
        "<textarea/>",
        "</textarea/x>",
        "&",
        "&amp",
        "&lt;",
        "&not",
        "in;",
        "&#",
        "x41",
        "65",
        ";",
        "\0",
        "\r",
        "\n",
        "\r\n",
        "\t",
        " ",
        "\u{C}",
        "x",
        "é",
        "\u{10FFFF}",
        "/",
        "`",
        "A",
    ]);
    let piece = prop_oneof![12 => pieces.prop_map(str::to_owned), 1 => any::<String>().prop_map(|text| text.chars().take(6).collect())];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document(document in document()) {
        prop_assert_eq!(ours(&document), theirs(&document));
    }
}
