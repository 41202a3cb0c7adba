//! Recognises pages that only say "your browser is not supported" or "please enable JavaScript" (T9, Viuva Negra 4.2).
//!
//! The check is made when the text of an HTML page is complete. Only short texts are checked, so an article about
//! browsers does not match. A text is a notice if it contains one phrase of the table. A phrase is a list of lower-case
//! pieces that follow each other closely: "your browser (Lynx 2.9) is not supported" matches `browser`, `not
//! supported`. Many complete pages, such as those of javadoc, have a notice in `<noscript>` beside their text. If there is
//! enough text outside of `<noscript>`, only that text is searched.

use std::ops::Range;

/// Maximum number of words in a notice.
const MAX_WORDS: u32 = 120;
/// If a page has more words than this outside of `<noscript>`, it has content for readers without scripts.
const MAX_WORDS_BESIDE_NOSCRIPT: usize = 20;
/// Maximum number of bytes in a notice.
const MAX_BYTES: usize = 4096;
/// Maximum number of bytes between two pieces of a phrase.
const MAX_GAP: usize = 60;

/// Phrases in English, Portuguese, Spanish, French, German, Italian, Dutch, Polish, Russian, Japanese, Chinese.
#[rustfmt::skip]
const PHRASES: &[&[&str]] = &[
    &["browser", "not supported"], &["browser", "unsupported"], &["unsupported browser"], &["browser", "no longer support"],
    &["not support", "your browser"], &["support", "this browser"], &["browser", "out of date"], &["browser", "outdated"], &["outdated browser"],
    &["browser", "too old"], &["upgrade your", "browser"], &["update your browser"], &["checking your browser"], &["use", "a modern browser"],
    &["enable javascript"], &["enable java script"], &["javascript", "enabled"], &["javascript", "disabled"], &["javascript", "required"], &["requires javascript"],
    &["activate javascript"], &["turn on javascript"], &["without javascript"], &["not support javascript"], &["javascript", "turned off"],
    &["enable cookies"], &["enable", "cookies to continue"], &["cookies", "disabled"], &["cookies", "must be enabled"], &["cookies are required"],
    &["navegador", "não", "suportado"], &["navegador", "não", "compatível"], &["navegador", "não", "suporta"], &["navegador", "desatualizado"], &["atualize", "navegador"],
    &["ative", "javascript"], &["active", "javascript"], &["habilite", "javascript"], &["ativar", "javascript"], &["activar", "javascript"], &["habilitar", "javascript"],
    &["javascript", "desativado"], &["javascript", "desabilitado"], &["javascript", "ativado"], &["javascript", "activado"], &["javascript", "habilitado"],
    &["ative", "cookies"], &["active", "cookies"], &["habilite", "cookies"], &["ativar", "cookies"],
    &["navegador", "no", "soportado"], &["navegador", "no", "compatible"], &["navegador", "no es compatible"], &["navegador", "obsoleto"], &["actualice", "navegador"], &["actualiza", "navegador"],
    &["javascript", "desactivado"], &["javascript", "deshabilitado"], &["activar", "cookies"], &["habilitar", "cookies"],
    &["navigateur", "pas", "pris en charge"], &["navigateur", "pas supporté"], &["navigateur", "pas compatible"], &["navigateur", "obsolète"], &["navigateur", "incompatible"],
    &["navigateur", "trop ancien"], &["mettre à jour", "navigateur"], &["mettez à jour", "navigateur"], &["activez", "javascript"], &["activer", "javascript"], &["activer", "cookies"],
    &["activez", "cookies"], &["javascript", "désactivé"], &["javascript", "activé"], &["javascript", "nécessaire"],
    &["browser", "nicht unterstützt"], &["browser", "veraltet"], &["browser", "nicht", "kompatibel"], &["veralteten browser"], &["unterstützt", "browser nicht"], &["aktualisieren sie", "browser"],
    &["javascript", "aktivier"], &["aktivier", "javascript"], &["javascript", "deaktiviert"], &["javascript", "eingeschaltet"], &["cookies", "aktivier"], &["aktivier", "cookies"],
    &["browser", "non", "supportato"], &["browser", "non", "compatibile"], &["browser", "obsoleto"], &["browser", "non aggiornato"], &["aggiorna", "browser"],
    &["abilita", "javascript"], &["attiva", "javascript"], &["javascript", "disabilitato"], &["javascript", "disattivato"], &["javascript", "abilitato"], &["abilita", "cookie"], &["attiva", "cookie"],
    &["browser", "niet ondersteund"], &["browser", "verouderd"], &["javascript", "inschakelen"], &["schakel", "javascript"], &["cookies", "inschakelen"],
    &["przeglądark", "nie jest obsługiwan"], &["włącz", "javascript"], &["włącz", "cookie"],
    &["браузер", "не поддерживается"], &["браузер", "устарел"], &["включите", "javascript"], &["включить", "javascript"], &["javascript", "отключ"], &["включите", "cookie"],
    &["ブラウザ", "サポートされていません"], &["ブラウザ", "サポートしていません"], &["ブラウザ", "対応していません"], &["javascript", "有効"],
    &["浏览器", "不支持"], &["不支持", "浏览器"], &["浏览器", "版本过低"], &["启用", "javascript"], &["啟用", "javascript"],
];

/// Every phrase contains one of these words or one of `NON_ASCII_SUBJECTS`. A text without any of these words is not
/// searched for phrases. This excludes most short pages. Case is ignored for ASCII letters only.
const SUBJECTS: &[&str] = &[
    "browser",
    "javascript",
    "java script",
    "cookie",
    "navegador",
    "navigateur",
];
/// Words with characters outside ASCII. They are searched for only in texts that are not ASCII.
const NON_ASCII_SUBJECTS: &[&str] = &["przeglądark", "браузер", "Браузер", "ブラウザ", "浏览器"];

/// Whether a text of `words` words is a notice about the browser. `noscript` are the ranges of the text that were in
/// `<noscript>` elements, in ascending order.
pub(crate) fn is_browser_notice(text: &str, words: u32, noscript: &[Range<usize>]) -> bool {
    if words == 0 || words > MAX_WORDS || text.len() > MAX_BYTES {
        return false;
    }
    if noscript.is_empty() {
        return contains_notice(text);
    }
    let outside = without(text, noscript);
    if outside.split_whitespace().count() > MAX_WORDS_BESIDE_NOSCRIPT {
        contains_notice(&outside)
    } else {
        contains_notice(text)
    }
}

/// The text without these ranges.
fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut start = 0;
    for range in ranges {
        rest.push_str(text.get(start..range.start).unwrap_or_default());
        start = range.end;
    }
    rest.push_str(text.get(start..).unwrap_or_default());
    rest
}

fn contains_notice(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let find =
        |subject: &&str| memchr::memmem::find(lower.as_bytes(), subject.as_bytes()).is_some();
    let found = SUBJECTS.iter().any(find);
    if !found && (text.is_ascii() || !NON_ASCII_SUBJECTS.iter().any(find)) {
        return false;
    }
    let text = text.to_lowercase().replace('\n', " ");
    PHRASES.iter().any(|phrase| contains_phrase(&text, phrase))
}

/// Whether the pieces of a phrase follow each other in the text, at most [`MAX_GAP`] bytes apart.
fn contains_phrase(text: &str, phrase: &[&str]) -> bool {
    let [first, rest @ ..] = phrase else {
        return true;
    };
    // Every occurrence of the first piece is tried, because the first occurrence may belong to another sentence.
    text.match_indices(first).any(|(at, _)| {
        let mut after = &text.as_bytes()[at + first.len()..];
        rest.iter().all(|piece| {
            let window = &after[..after.len().min(MAX_GAP + piece.len())];
            match memchr::memmem::find(window, piece.as_bytes()) {
                Some(found) => {
                    after = &after[found + piece.len()..];
                    true
                }
                None => false,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_notice(text: &str) -> bool {
        is_browser_notice(text, text.split_whitespace().count() as u32, &[])
    }

    /// Whether the remarks of a page include `PageRemark::UnsupportedBrowser`.
    fn is_marked(html: &str) -> bool {
        let input = crate::Input {
            url: "http://example.org/",
            content_type: Some("text/html"),
            body: html.as_bytes(),
            content_language: None,
        };
        let page = crate::read(&input, &crate::Options::default());
        page.remarks
            .contains(&crate::PageRemark::UnsupportedBrowser)
    }

    #[test]
    fn a_notice_in_noscript_beside_enough_text_is_ignored() {
        let notice = "<noscript><div>JavaScript is disabled on your browser.</div></noscript>";
        let navigation = "Overview Module Package Class Use Tree Preview New Deprecated Index Help";
        let content =
            "Uses of Class java.lang.Compiler. No usage of java.lang.Compiler. Report a bug.";
        let page = |body: &str| format!("<html><title>Uses</title><body>{body}</body>");
        assert!(!is_marked(&page(&format!(
            "{notice}{navigation}<p>{content}"
        ))));
        assert!(!is_marked(&page(&format!(
            "{navigation}{notice}{content}{notice}"
        ))));
        assert!(is_marked(&page(notice)), "an application without text");
        assert!(is_marked(&page(&format!(
            "{notice}<h1>My shop</h1>Loading …"
        ))));
        let outside = "<p>Please enable JavaScript to continue.";
        assert!(is_marked(&page(&format!(
            "{notice}{navigation}<p>{content}{outside}"
        ))));
    }

    #[test]
    fn every_phrase_contains_a_subject() {
        for phrase in PHRASES {
            let whole = phrase.concat();
            let mut subjects = SUBJECTS.iter().chain(NON_ASCII_SUBJECTS);
            assert!(
                subjects.any(|subject| whole.contains(subject)),
                "{phrase:?}"
            );
        }
    }

    #[test]
    fn notices_are_recognised() {
        for text in [
            "Your browser is not supported.\nPlease use Chrome, Firefox or Safari.",
            "Unsupported browser",
            "We're sorry, your browser (Lynx 2.9) is not supported any more",
            "You need to enable JavaScript to run this app.",
            "Just a moment...\nEnable JavaScript and cookies to continue",
            "Please turn on JavaScript in your browser and reload the page.",
            "O seu navegador não é suportado. Atualize-o.",
            "Este navegador já não é compatível... O navegador não é compatível com este site",
            "Por favor ative o JavaScript para continuar",
            "Su navegador no es compatible con este sitio",
            "Debe activar JavaScript para ver esta página",
            "Votre navigateur n'est pas pris en charge",
            "Veuillez activer JavaScript pour continuer",
            "Ihr Browser wird nicht unterstützt",
            "Bitte aktivieren Sie JavaScript und Cookies",
            "Il tuo browser non è supportato",
            "Per continuare abilita JavaScript",
            "Ваш браузер не поддерживается",
            "JavaScriptを有効にしてください",
            "您的浏览器不支持此功能",
        ] {
            assert!(is_notice(text), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_notices() {
        let long = "The history of the browser that is not supported any more, and of JavaScript disabled. ".repeat(9);
        for text in [
            "",
            "Welcome to our shop. We have browsers, cookies and tea.",
            "Cookies with chocolate: mix butter and sugar. The oven is required.",
            "The browser wars began in 1995, and this museum has kept a copy of each program. Elsewhere, features that are not supported",
            "This site uses cookies.",
            "O navegador Vasco da Gama não é esquecido",
            &long,
        ] {
            assert!(!is_notice(text), "{text}");
        }
    }

    #[test]
    fn gaps_may_end_inside_a_character() {
        assert!(!is_notice(&"браузер ".repeat(100)));
        assert!(!is_notice(&format!(
            "browser {} unsupported",
            "é".repeat(30)
        )));
    }
}
