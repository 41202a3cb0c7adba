//! The language of a text: naive Bayes over byte strings, with the model of py3langid (T6).
//!
//! A text passes through these steps:
//!
//! 1. `sample` takes at most [`MAX_SAMPLE`] characters and brings them into the form of the training texts.
//! 2. `model` counts the features of the sample and adds their weights for each class.
//! 3. [`identify_language`] converts the sums to probabilities, and `ties` lets the declared language or the top-level domain
//!    decide between languages that the model cannot tell apart.
//!
//! `tag` parses what a page declares about its language. `iso` translates the codes.
//!
//! The model is decompressed when the first text is identified, and stays in memory (8 MB). `data/languages/convert.py`
//! describes the origin of the model, and docs/decisions/0016-languages.md its accuracy and speed.

mod automaton;
mod iso;
mod model;
mod sample;
mod tag;
mod ties;

use std::sync::LazyLock;

pub use iso::iso_639_3;
pub(crate) use tag::parse_tag;

use crate::charset::top_level_domain;
use model::Model;
use sample::Sample;
use ties::Hints;

/// Minimum length of a text in characters. The language of a shorter text is unknown.
const MIN_TEXT: usize = 50;
/// Maximum number of characters of a text that are examined.
const MAX_SAMPLE: usize = 1300;
/// The class of texts that are not in a language, such as source code and tables of numbers.
const NOT_A_LANGUAGE: &str = "zxx";

/// `None` only if the embedded model is damaged, which a test excludes.
static MODEL: LazyLock<Option<Model>> = LazyLock::new(Model::embedded);

/// A language that was identified from the text of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundLanguage {
    /// ISO 639 code in lower case: two letters if the language has such a code, otherwise three. Norwegian Bokmål is
    /// `no`, Nynorsk is `nn`.
    pub code: &'static str,
    /// Confidence in percent, 0 to 100.
    pub confidence: u8,
}

/// Identifies the language of a text. `None` if the text has fewer than 50 characters or is not in a language.
///
/// The declared language and the top-level domain of `url` only decide between Indonesian and Malay, between Croatian,
/// Serbian and Bosnian, and between Bokmål, Nynorsk and Danish.
///
/// ```
/// let text = "Todos os seres humanos nascem livres e iguais em dignidade e em direitos.";
/// let found = aranha_page::identify_language(text, Some("en"), "https://example.org/").unwrap();
/// assert_eq!((found.code, aranha_page::iso_639_3(found.code)), ("pt", "por"));
/// ```
pub fn identify_language(text: &str, declared: Option<&str>, url: &str) -> Option<FoundLanguage> {
    let tld = top_level_domain(url);
    let hints = Hints { declared, tld };
    let sample = Sample::of(text)?;
    let model = MODEL.as_ref()?;
    let probabilities = probabilities(model, &sample)?;
    let best = probabilities
        .iter()
        .copied()
        .reduce(|best, other| if other.1 > best.1 { other } else { best })?;
    let (code, probability) = ties::decide(best, &probabilities, hints);
    (code != NOT_A_LANGUAGE).then_some(FoundLanguage {
        code,
        confidence: (probability * 100.0).round() as u8,
    })
}

/// The probability of each language. The sum of the probabilities is 1.
fn probabilities(model: &'static Model, sample: &Sample) -> Option<Vec<(&'static str, f32)>> {
    let scores = model.scores(sample.bytes())?;
    let highest = scores.iter().copied().fold(f32::MIN, f32::max);
    // The features of a text depend on each other, so the model is too certain about long texts. py3langid divides by
    // the square root of the length.
    let temperature = (sample.bytes().len() as f32).sqrt();
    let mut languages: Vec<(&str, f32)> = Vec::with_capacity(scores.len());
    for (code, score) in model.codes().zip(scores) {
        languages.push((code, ((score - highest) / temperature).exp()));
    }
    let total: f32 = languages.iter().map(|(_, share)| share).sum();
    for &(alias, first) in model.aliases() {
        languages[first].1 += languages[alias].1;
        languages[alias].1 = 0.0;
    }
    for (_, share) in &mut languages {
        *share /= total;
    }
    Some(languages)
}

#[cfg(test)]
mod tests;
