//! What a crawl shows while it runs, and what it says at its end.
//!
//! Everything here goes to stderr, but for `--json`, which is data. On a terminal one line is kept up to date; into a
//! file or a pipe a line goes every few seconds, so that a log stays readable.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use aranha_engine::{Notice, Reason, Summary, Tally};
use aranha_frontier::{FrontierError, FrontierStatus};
use aranha_units::{calendar, duration};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::output::{counted, message};
use crate::terminal_escape::{Escaped, EscapedJson};

/// An object on stdout. When nobody is left to read it, the crawl goes on.
fn show_json(value: &Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{}", EscapedJson(value)).and_then(|()| stdout.flush());
}

/// How often the line on a terminal changes.
const GLANCE: Duration = Duration::from_millis(250);
/// How often a line goes to a file or a program.
const LINE: Duration = Duration::from_secs(5);

/// Things that happened are said one by one up to so many; what is left is in the collection.
const NOTICES: u32 = 200;
const SILENCE: u32 = NOTICES + 1;

/// How much is said, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// A line that is kept up to date.
    Live,
    /// A line now and then.
    Lines,
    /// JSON on stdout.
    Json,
    /// Complaints only.
    Quiet,
}

impl Voice {
    pub(crate) fn choose(json: bool, quiet: bool) -> Self {
        if json {
            Self::Json
        } else if quiet {
            Self::Quiet
        } else if std::io::stderr().is_terminal() {
            Self::Live
        } else {
            Self::Lines
        }
    }

    /// A sentence for people.
    pub(crate) fn say(self, sentence: &str) {
        if matches!(self, Self::Live | Self::Lines) {
            message(format_args!("{sentence}"));
        }
    }
}

/// Tells how the crawl goes until it is dropped by whoever waits for the crawl's end.
pub(crate) async fn follow(
    voice: Voice,
    tally: Arc<Tally>,
    status: impl AsyncFn() -> Result<FrontierStatus, FrontierError>,
    mut notices: mpsc::Receiver<Notice>,
) {
    let every = match voice {
        Voice::Live => GLANCE,
        Voice::Lines | Voice::Json => LINE,
        Voice::Quiet => return std::future::pending().await,
    };
    let mut said = 0;
    let bar = Bar::new(voice);
    let began = Instant::now();
    let mut speed = Speed::default();
    let mut ticks = tokio::time::interval_at(Instant::now() + every, every);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Some(notice) = notices.recv() => {
                said += 1;
                bar.say(&notice, said);
                continue;
            }
        }
        let now = tally.snapshot();
        let rate = speed.note(began.elapsed(), now.pages);
        // The crawl itself finds out when the frontier has failed.
        let Ok(status) = status().await else { continue };
        match voice {
            Voice::Json => show_json(
                &json!({"event": "progress", "seconds": began.elapsed().as_secs(), "pages_per_second": rate,
                       "tally": now, "queued": status.pages.queued, "later": status.pages.retry, "again": status.pages.revisit,
                       "sites": {"known": status.sites.known, "visited_now": now.visits}}),
            ),
            _ => bar.show(&format!(
                "{}  {} pages  {rate:.1}/s  {} of {} sites  {} queued  {} errors  {}{}",
                clock(began.elapsed()),
                grouped(now.pages),
                now.visits,
                grouped(status.sites.known),
                grouped(status.pages.queued),
                grouped(now.failures + now.refusals),
                about(now.received),
                waiting(now.visits, status.next_due),
            )),
        }
    }
}

/// What a crawl that goes on waits for, while it does nothing.
fn waiting(visits: u64, due: Option<i64>) -> String {
    match due {
        Some(due) if visits == 0 => format!("  next at {} UTC", calendar::date_time(due)),
        _ => String::new(),
    }
}

/// The line on the terminal, which is wiped away when the display ends.
struct Bar {
    bar: Option<ProgressBar>,
    json: bool,
}

impl Bar {
    fn new(voice: Voice) -> Self {
        let bar = (voice == Voice::Live).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_style(
                ProgressStyle::with_template("{spinner} {wide_msg}")
                    .expect("the template is fixed"),
            );
            bar
        });
        Self {
            bar,
            json: voice == Voice::Json,
        }
    }

    /// Something that happened: a line of its own, or an object.
    fn say(&self, notice: &Notice, count: u32) {
        if self.json {
            return show_json(
                &json!({"event": "notice", "text": notice.to_string(), "what": notice}),
            );
        }
        let line = match count {
            0..=NOTICES => Escaped(&notice.to_string()).to_string(),
            SILENCE => "more happens than is said here: aranha status".to_owned(),
            _ => return,
        };
        match &self.bar {
            Some(bar) => bar.suspend(|| message(format_args!("{line}"))),
            None => message(format_args!("{line}")),
        }
    }

    fn show(&self, line: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(line.to_owned());
                bar.tick();
            }
            None => message(format_args!("{line}")),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Pages a second over the last few readings.
#[derive(Default)]
struct Speed(std::collections::VecDeque<(Duration, u64)>);

impl Speed {
    const SPAN: Duration = Duration::from_secs(5);

    fn note(&mut self, at: Duration, pages: u64) -> f64 {
        while self.0.len() > 1 && self.0[1].0 + Self::SPAN < at {
            self.0.pop_front();
        }
        let (first, before) = self.0.front().copied().unwrap_or_default();
        self.0.push_back((at, pages));
        let span = at.saturating_sub(first).as_secs_f64();
        if span > 0.0 {
            (pages - before) as f64 / span
        } else {
            0.0
        }
    }
}

/// The last words: what was done, what is left, and how to go on.
pub(crate) fn summary(voice: Voice, summary: &Summary, folder: &str) {
    let (tally, status) = (&summary.tally, &summary.status);
    match voice {
        Voice::Quiet => return,
        Voice::Json => {
            let outcomes: serde_json::Map<_, _> = status
                .outcomes
                .iter()
                .map(|(outcome, count)| (outcome.to_string(), json!(count)))
                .collect();
            show_json(
                &json!({"event": "end", "reason": summary.reason.to_string(), "seconds": summary.took.as_secs_f64(),
                       "tally": tally, "outcomes": outcomes,
                       "pages": {"known": status.pages.known, "done": status.pages.done,
                                 "queued": status.pages.queued, "later": status.pages.retry, "again": status.pages.revisit,
                                 "aside": status.pages.blocked},
                       "sites": {"known": status.sites.known, "waiting": status.sites.waiting, "set_aside": status.sites.blocked}}),
            );
            return;
        }
        Voice::Live | Voice::Lines => {}
    }
    let seconds = summary.took.as_secs_f64();
    message("");
    message(format_args!(
        "{} after {}.",
        sentence(&summary.reason),
        duration::format(rounded(summary.took))
    ));
    if tally.pages + tally.failures + tally.excluded + status.pages.queued == 0 {
        message("  fetched   nothing: no page was due");
    } else {
        message(format_args!(
            "  fetched   {}, {} ({:.1} pages/s)",
            counted(tally.pages, "page"),
            about(tally.received),
            tally.pages as f64 / seconds.max(0.001),
        ));
        message(format_args!(
            "  archived  {} on disk, {} pages had content stored already",
            about(tally.written),
            grouped(tally.duplicates)
        ));
    }
    let seen = tally.unchanged + tally.changed + tally.gone;
    if seen > 0 {
        message(format_args!(
            "  again     {} visited again: {} as before, {} changed, {} gone",
            counted(seen, "page"),
            grouped(tally.unchanged),
            grouped(tally.changed),
            grouped(tally.gone)
        ));
    }
    if tally.signals > 0 {
        message(format_args!(
            "  signals   {} heard: {} visits brought forward, {} new pages; {} taken from the proxy, {} no longer there",
            grouped(tally.signals),
            grouped(tally.sooner),
            grouped(tally.announced),
            grouped(tally.cached),
            grouped(tally.uncached)
        ));
    }
    if tally.traps > 0 || status.sites.blocked > 0 {
        message(format_args!(
            "  set aside {} with {}: traps, and what is shut out  (aranha status --blocked -c {folder})",
            counted(status.sites.blocked, "site"),
            counted(status.pages.blocked, "page"),
        ));
    }
    if tally.soft + tally.cloaked > 0 {
        message(format_args!(
            "  hollow    {} said \"not found\" with status 200, {} wanted another browser",
            grouped(tally.soft),
            grouped(tally.cloaked)
        ));
    }
    if tally.failures + tally.refusals + tally.excluded > 0 {
        message(format_args!(
            "  without   {} answered with an error, {} did not answer, {} refused by robots.txt",
            grouped(tally.refusals),
            grouped(tally.failures),
            grouped(tally.excluded)
        ));
    }
    message(format_args!(
        "  in all    {} done, {} queued, {} to be tried later, on {}",
        counted(status.pages.done, "page"),
        grouped(status.pages.queued),
        grouped(status.pages.retry),
        counted(status.sites.known, "site")
    ));
    if tally.pages == 0 && tally.failures > 0 {
        message(format_args!(
            "Nothing came:  aranha why URL -c {folder}  tells the reason"
        ));
    }
    let left = status.pages.queued + status.pages.retry;
    match status.next_due {
        Some(due) if left > 0 && summary.reason == Reason::Finished => message(format_args!(
            "What is left waits for servers that did not answer; from {} UTC on:  aranha crawl -c {folder}",
            calendar::date_time(due)
        )),
        _ if left > 0 => message(format_args!("Go on with:  aranha crawl -c {folder}")),
        _ => {
            if let Some(due) = status.next_revisit {
                message(format_args!(
                    "The next page is due again at {} UTC:  aranha crawl -c {folder}",
                    calendar::date_time(due)
                ));
            }
        }
    }
}

fn sentence(reason: &Reason) -> String {
    match reason {
        Reason::Finished => "Finished".to_owned(),
        Reason::Limit(limit) => format!("Stopped: the limit of {limit} was reached"),
        Reason::Interrupted => "Interrupted".to_owned(),
        Reason::DiskFull(_) => "Stopped: the disk is full".to_owned(),
        Reason::Failed(_) => "Failed".to_owned(),
    }
}

fn rounded(took: Duration) -> Duration {
    Duration::from_millis(took.as_millis() as u64 / 100 * 100)
}

fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// A size to glance at: `1.4 MB`.
pub(crate) fn about(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut number = bytes as f64;
    let mut unit = 0;
    while number >= 999.95 && unit + 1 < UNITS.len() {
        number /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{number:.1} {}", UNITS[unit]),
    }
}

/// `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn sizes_at_a_glance() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_960, "1.0 MB"),
            (1_234_567, "1.2 MB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(about(bytes), text);
        }
    }

    #[test]
    fn speed_forgets() {
        let mut speed = Speed::default();
        let mut rate = 0.0;
        for second in 1..=60 {
            let pages = if second <= 30 { second * 100 } else { 3000 };
            rate = speed.note(Duration::from_secs(second), pages);
        }
        assert!(rate.abs() < f64::EPSILON, "{rate}");
    }
}
