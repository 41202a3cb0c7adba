//! Tests of language identification on article 1 of the Universal Declaration of Human Rights, which is in the public
//! domain.

use proptest::prelude::*;

use super::*;

fn identify(text: &str) -> Option<FoundLanguage> {
    identify_language(text, None, "")
}

/// The code found for a text; empty if none is.
fn code(text: &str) -> &'static str {
    identify(text).map_or("", |found| found.code)
}

/// Lines of a language code, a tab and article 1.
const ARTICLE_1: &str = include_str!("../../data/languages/article1.tsv");

fn articles() -> impl Iterator<Item = (&'static str, &'static str)> {
    ARTICLE_1.lines().filter_map(|line| line.split_once('\t'))
}

#[test]
fn article_1_is_identified_in_every_language() {
    assert!(articles().count() >= 40);
    for (language, text) in articles() {
        let found = identify(text).unwrap_or_else(|| panic!("{language}: unknown"));
        assert_eq!(found.code, language, "{text}");
        // Croatian has the lowest confidence, because Serbian and Bosnian are close to it.
        assert!((45..=100).contains(&found.confidence), "{found:?} {text}");
    }
}

#[test]
fn every_code_has_an_iso_639_3_equivalent() {
    let model = MODEL.as_ref().expect("the embedded model is valid");
    for code in model.codes() {
        assert_eq!(iso_639_3(code).len(), 3, "{code}");
    }
    assert_eq!(iso_639_3("pt"), "por");
    assert_eq!(iso_639_3("grc"), "grc");
}

#[test]
fn short_texts_and_texts_without_language_are_unknown() {
    let text = "Todos os seres humanos nascem livres e iguais em dignidade";
    let cut = |length: usize| text.chars().take(length).collect::<String>();
    assert_eq!(identify(&cut(49)), None);
    assert_eq!(code(&cut(50)), "pt");
    assert_eq!(identify(""), None);
    let digests =
        "0x1f 0x2e 0xff 00:1f:2a 9f86d081884c7d659a2feaa0c55ad015 a3bf4f1b2b0b822cd15d6c15b0f00a08";
    assert_eq!(identify(digests), None);
}

#[test]
fn capitals_and_decomposed_letters_do_not_matter() {
    use unicode_normalization::UnicodeNormalization as _;
    for (language, text) in articles() {
        let decomposed: String = text.nfd().collect();
        assert_eq!(identify(&decomposed), identify(text), "{language}");
    }
    let (_, portuguese) = articles().find(|(code, _)| *code == "pt").expect("in list");
    let capitals = identify(&portuguese.to_uppercase());
    assert_eq!(capitals, identify(&portuguese.to_lowercase()));
}

#[test]
fn navigation_in_another_language_does_not_decide() {
    let of = |language: &str| {
        articles()
            .find(|(code, _)| *code == language)
            .expect("in list")
            .1
    };
    let page = format!("{} {}", of("en").repeat(3), of("pt").repeat(40));
    assert_eq!(code(&page), "pt");
}

#[test]
fn hints_decide_between_close_languages_only() {
    let malay = "Semua manusia dilahirkan bebas dan sama rata dari segi maruah dan hak-hak.";
    let check = |text: &str, declared: Option<&str>, url: &str, expected: &str| {
        let found = identify_language(text, declared, url).map(|found| found.code);
        assert_eq!(found, Some(expected), "{declared:?} {url} {text}");
    };
    check(malay, Some("ms"), "", "ms");
    check(malay, Some("ms-MY"), "http://a.id/", "ms");
    check(malay, None, "http://www.a.my/x", "ms");
    check(malay, Some("en"), "http://a.id/", "id");
    let croatian =
        "Sva ljudska bića rađaju se slobodna i jednaka u dostojanstvu i pravima, obdarena razumom.";
    check(croatian, Some("hr"), "", "hr");
    check(croatian, Some("bs"), "", "bs");
    check(croatian, None, "https://a.ba:8080/", "bs");
    let (_, portuguese) = articles().find(|(code, _)| *code == "pt").expect("in list");
    check(portuguese, Some("en"), "http://a.example.gl/", "pt");
    let (_, danish) = articles().find(|(code, _)| *code == "da").expect("in list");
    check(&danish.repeat(6), Some("nb"), "http://a.no/", "da");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_gives_an_answer_or_none(text in "\\PC{0,3000}", bytes in prop::collection::vec(any::<u8>(), 0..6000)) {
        for text in [text, String::from_utf8_lossy(&bytes).into_owned()] {
            if let Some(found) = identify_language(&text, Some(&text), &text) {
                prop_assert!(found.confidence <= 100);
                prop_assert!(text.chars().count() >= MIN_TEXT);
            }
        }
    }
}

/// A text of one repeated character has the largest counts, and characters that normalization expands give the longest
/// samples.
#[test]
fn extreme_texts_do_not_overflow() {
    for text in ["a", "ΐ", "\u{fb2c}", "\u{1d160}", "𝒶", "\u{300}"] {
        identify(&text.repeat(MAX_SAMPLE * 2));
    }
}

#[test]
fn damaged_models_are_refused() {
    let model = model::tests::decompressed();
    assert!(Model::read(&model).is_some());
    for length in (0..model.len()).step_by(model.len() / 40) {
        assert!(Model::read(&model[..length]).is_none(), "{length}");
    }
}
