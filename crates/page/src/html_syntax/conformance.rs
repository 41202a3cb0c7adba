//! Compares the tokens of `tokenizer` with those of the html5lib test suite (all cases) and of html5gum. The documents
//! for html5gum are the corpus, random documents and, with `ARANHA_PAGES=DIRECTORY`, every page of a directory tree.
//!
//! Parse errors are not compared, because the tokenizer reports none. For doctypes, only the position is compared. The
//! cases of `xmlViolation.test` expect a tree that was converted to XML. This crate builds no tree, so for these cases
//! the tokens of the tokenizer are compared with those of html5gum. The number of cases is checked, so that no case is
//! skipped by mistake.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use html5gum::{DefaultEmitter, Tokenizer};
use proptest::prelude::*;
use serde_json::Value;

use crate::html_syntax::character_reference::{TextKind, decode};
use crate::html_syntax::name::HtmlName;
use crate::html_syntax::raw_text::ContentModel;
use crate::html_syntax::tokenizer::{self, TokenSink};

/// A decoded token of either tokenizer.
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

fn decoded(bytes: &[u8], kind: TextKind) -> String {
    String::from_utf8(decode(bytes, kind).into_owned()).expect("token boundaries at characters")
}

/// A name in lower case, with nulls replaced.
fn normalised_name(bytes: &[u8]) -> String {
    decoded(&bytes.to_ascii_lowercase(), TextKind::RawText)
}

/// Collects the tokens of this crate's tokenizer.
#[derive(Default)]
struct TokenRecorder {
    tokens: Vec<Token>,
    start: bool,
    name: String,
    attributes: BTreeMap<String, String>,
    /// Whether the start tags of raw text elements switch the content model.
    switch_content_model: bool,
}

impl<'a> TokenSink<'a> for TokenRecorder {
    fn text(&mut self, characters: &'a [u8], kind: TextKind) {
        push_text(&mut self.tokens, &decoded(characters, kind));
    }

    fn open(&mut self, start: bool, name: HtmlName<'a>) -> bool {
        self.start = start;
        self.name = normalised_name(name.written);
        self.attributes.clear();
        true
    }

    fn attribute(&mut self, name: HtmlName<'a>, value: &'a [u8]) {
        let value = decoded(value, TextKind::AttributeValue);
        self.attributes
            .entry(normalised_name(name.written))
            .or_insert(value);
    }

    fn close(&mut self, self_closing: bool) -> Option<ContentModel> {
        let name = std::mem::take(&mut self.name);
        let attributes = std::mem::take(&mut self.attributes);
        if !self.start {
            self.tokens.push(Token::End(name));
            return None;
        }
        let model = match &*name {
            "title" | "textarea" => Some(ContentModel::Rcdata),
            // html5gum has "noframe" in place of "noframes".
            "style" | "xmp" | "iframe" | "noembed" | "noframe" | "noscript" => {
                Some(ContentModel::RawText)
            }
            "script" => Some(ContentModel::Script),
            "plaintext" => Some(ContentModel::Plaintext),
            _ => None,
        };
        self.tokens
            .push(Token::Start(name, attributes, self_closing));
        model.filter(|_| self.switch_content_model)
    }

    fn allows_cdata(&self) -> bool {
        false
    }

    fn comment(&mut self, data: &'a [u8]) {
        self.tokens
            .push(Token::Comment(decoded(data, TextKind::RawText)));
    }

    fn doctype(&mut self, _: &'a [u8]) {
        self.tokens.push(Token::Doctype);
    }
}

fn tokens_of_page(document: &str) -> Vec<Token> {
    let mut sink = TokenRecorder {
        switch_content_model: true,
        ..TokenRecorder::default()
    };
    tokenizer::run(document.as_bytes(), &mut sink);
    sink.tokens
}

fn tokens_of_html5gum(document: &str) -> Vec<Token> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let string = |text: html5gum::HtmlString| {
        String::from_utf8(text.0).expect("UTF-8 input gives UTF-8 tokens")
    };
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

fn corpus_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/page")
}

/// Decodes `\uHHHH` escapes. `None` for a lone surrogate, which UTF-8 cannot represent.
fn unescape(text: &str) -> Option<String> {
    let json = format!(
        "\"{}\"",
        text.replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\r', "\\r")
    );
    serde_json::from_str(&json).ok()
}

/// The expected tokens of a case. `None` if a string contains a lone surrogate.
fn expected_tokens(output: &Value, double_escaped: bool) -> Option<Vec<Token>> {
    let string = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        if double_escaped {
            unescape(text)
        } else {
            Some(text.to_owned())
        }
    };
    let mut tokens = Vec::new();
    for token in output.as_array().expect("list of tokens") {
        match token[0].as_str().expect("kind of token") {
            "Character" => push_text(&mut tokens, &string(&token[1])?),
            "Comment" => tokens.push(Token::Comment(string(&token[1])?)),
            "DOCTYPE" => tokens.push(Token::Doctype),
            "EndTag" => tokens.push(Token::End(string(&token[1])?)),
            "StartTag" => {
                let attributes = token[2].as_object().expect("object of attributes");
                let attributes = attributes
                    .iter()
                    .map(|(name, value)| Some((name.clone(), string(value)?)));
                let attributes = attributes.collect::<Option<_>>()?;
                let self_closing = token[3].as_bool().unwrap_or_default();
                tokens.push(Token::Start(string(&token[1])?, attributes, self_closing));
            }
            other => panic!("unknown kind of token: {other}"),
        }
    }
    Some(tokens)
}

/// The tokens of a document when the tokenizer begins in `state`.
fn tokens_from_state(input: &str, state: &str, last_start_tag: &str) -> Vec<Token> {
    let mut sink = TokenRecorder::default();
    let (document, last) = (input.as_bytes(), last_start_tag.as_bytes());
    let raw_text = match state {
        "Data state" => None,
        "CDATA section state" => {
            tokenizer::run_in_cdata(document, &mut sink);
            return sink.tokens;
        }
        "RCDATA state" => Some(ContentModel::Rcdata),
        "RAWTEXT state" => Some(ContentModel::RawText),
        "Script data state" => Some(ContentModel::Script),
        "PLAINTEXT state" => Some(ContentModel::Plaintext),
        other => panic!("unknown state: {other}"),
    };
    match raw_text {
        Some(model) => tokenizer::run_in_raw_text(document, model, last, &mut sink),
        None => {
            tokenizer::run(document, &mut sink);
        }
    }
    sink.tokens
}

#[test]
fn html5lib_suite() {
    let (mut cases, mut runs, mut skipped, mut failures) = (0, 0, 0, Vec::new());
    let mut files: Vec<PathBuf> = std::fs::read_dir(corpus_directory().join("html5lib-tokenizer"))
        .expect("html5lib suite in the repository")
        .map(|entry| entry.expect("readable directory").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "test")
        })
        .collect();
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable file");
        let file: Value = serde_json::from_str(&text).expect("JSON file of cases");
        let xml_violations = file.get("xmlViolationTests");
        for case in xml_violations
            .or(file.get("tests"))
            .and_then(Value::as_array)
            .expect("list of cases")
        {
            cases += 1;
            let double_escaped = case["doubleEscaped"].as_bool().unwrap_or_default();
            let input = case["input"].as_str().expect("input of a case");
            let input = if double_escaped {
                unescape(input)
            } else {
                Some(input.to_owned())
            };
            // Cases with lone surrogates cannot be represented in UTF-8.
            let expected = expected_tokens(&case["output"], double_escaped);
            let (Some(input), Some(expected)) = (input, expected) else {
                skipped += 1;
                continue;
            };
            let expected = if xml_violations.is_some() {
                tokens_of_html5gum(&input)
            } else {
                expected
            };
            let states = case["initialStates"].as_array().cloned();
            for state in states.unwrap_or_else(|| vec!["Data state".into()]) {
                runs += 1;
                let last = case["lastStartTag"].as_str().unwrap_or_default();
                let found = tokens_from_state(&input, state.as_str().expect("state name"), last);
                if found != expected {
                    failures.push(format!(
                        "{}: {input:?} in {state}\n  {found:?}\n  {expected:?}",
                        case["description"]
                    ));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {runs} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert_eq!((cases, runs, skipped), (6808, 7030, 4));
}

/// Compares the tokens of both tokenizers and returns their number. A failure names the first token that differs.
fn compare(document: &str, origin: &str) -> usize {
    let (found, expected) = (tokens_of_page(document), tokens_of_html5gum(document));
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "{origin}: token {index}");
    }
    assert_eq!(found.len(), expected.len(), "{origin}");
    found.len()
}

#[test]
fn pages_as_html5gum() {
    let mut pending = vec![corpus_directory()];
    pending.extend(std::env::var_os("ARANHA_PAGES").map(PathBuf::from));
    let (mut pages, mut tokens) = (0, 0);
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("readable directory");
            pending.extend(entries.flatten().map(|entry| entry.path()));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            let bytes = std::fs::read(&path).expect("readable file");
            tokens += compare(
                &String::from_utf8_lossy(&bytes),
                &path.display().to_string(),
            );
            pages += 1;
        }
    }
    println!("{pages} pages, {tokens} tokens, all equal");
    assert!(tokens > 100);
}

/// Checks tags whose end is easily missed by a parser.
#[test]
fn difficult_tags_as_html5gum() {
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

/// Generates documents from random pieces: the starts and ends of tags, comments, CDATA sections and raw text.
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
    fn random_documents_as_html5gum(document in document()) {
        prop_assert_eq!(tokens_of_page(&document), tokens_of_html5gum(&document));
    }
}
