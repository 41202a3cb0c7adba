//! Measures the accuracy and the speed of language identification.
//!
//! ```text
//! cargo run --release -p aranha-page --example languages -- SENTENCES [--print]
//! ```
//!
//! SENTENCES has one text per line: the code of its language, a tab, the text; `\n` in the text stands for a line break.
//! Prints for each language the share of texts that were identified rightly, then the mean of the languages, precision
//! and recall of "is it Portuguese?", and the time and memory used. With `--print`, it prints the answer for each line
//! instead, for comparison with other programs.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use aranha_page::identify_language;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: languages SENTENCES [--print]");
        return ExitCode::from(2);
    };
    let file = match std::fs::read_to_string(&path) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("error: {path}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let texts: Vec<(&str, String)> = file
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(code, text)| (code, text.replace("\\n", "\n")))
        .collect();
    let found = |text: &str| identify_language(text, None, "");
    if arguments.next().is_some() {
        for (_, text) in &texts {
            match found(text) {
                Some(language) => println!("{}\t{}", language.code, language.confidence),
                None => println!("-\t0"),
            }
        }
        return ExitCode::SUCCESS;
    }
    let before = resident();
    let start = Instant::now();
    found(&"a ".repeat(50));
    println!(
        "loading the model: {:?}, {} kB",
        start.elapsed(),
        resident().saturating_sub(before)
    );
    let start = Instant::now();
    let answers: Vec<_> = texts.iter().map(|(_, text)| found(text)).collect();
    let time = start.elapsed();

    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let (mut portuguese, mut claimed, mut rightly) = (0, 0, 0);
    for ((code, _), answer) in texts.iter().zip(&answers) {
        let (right, all) = counts.entry(code).or_default();
        *all += 1;
        *right += u32::from(answer.is_some_and(|answer| answer.code == *code));
        let claims = answer.is_some_and(|answer| answer.code == "pt" && answer.confidence >= 50);
        portuguese += u32::from(*code == "pt");
        claimed += u32::from(claims);
        rightly += u32::from(claims && *code == "pt");
    }
    let percent = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole.max(1));
    let mut sum = 0.0;
    for (code, &(right, all)) in &counts {
        println!("{code}\t{:.1}\t{all}", percent(right, all));
        sum += percent(right, all);
    }
    println!(
        "mean of {} languages: {:.2}",
        counts.len(),
        sum / counts.len() as f64
    );
    println!(
        "Portuguese at confidence 50: precision {:.2}, recall {:.2}",
        percent(rightly, claimed),
        percent(rightly, portuguese)
    );
    let characters: usize = texts.iter().map(|(_, text)| text.chars().count()).sum();
    println!(
        "memory after all texts: {} kB more than before",
        resident().saturating_sub(before)
    );
    println!(
        "{} texts, {} characters in the mean, {:.1} µs each",
        texts.len(),
        characters / texts.len().max(1),
        time.as_secs_f64() * 1e6 / texts.len().max(1) as f64
    );
    ExitCode::SUCCESS
}

/// Resident memory of this process in kilobytes; 0 if the system does not tell.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
