//! Prints the state of a running crawl at regular intervals, and its notices.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use aranha_engine::{Clock, Event, LiveCounters, Notice, Speed, Status, Tally};
use aranha_frontier::FrontierError;
use aranha_units::calendar;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::bar::Bar;
use super::{OutputMode, about, grouped, json, with_bar_hidden};
use crate::output::message;
use crate::terminal_escape::Escaped;

/// Interval between two updates of the progress line on a terminal.
const LIVE_INTERVAL: Duration = Duration::from_millis(250);
/// Interval between two progress lines in a file or pipe, and between two `progress` events in JSON.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of notices printed for people. Further notices are only in `logs/events.jsonl`.
const MAX_NOTICES: u32 = 200;

/// Prints reports. The future never completes, so the caller ends the reports by dropping it.
pub(crate) async fn follow(
    mode: OutputMode,
    counters: Arc<LiveCounters>,
    status: impl AsyncFn() -> Result<Status, FrontierError>,
    mut notices: mpsc::Receiver<Notice>,
) {
    let interval = match mode {
        OutputMode::Live => LIVE_INTERVAL,
        OutputMode::Lines | OutputMode::Json => LINE_INTERVAL,
        OutputMode::Quiet => return std::future::pending().await,
    };
    let clock = Clock::new();
    let bar = (mode == OutputMode::Live).then(Bar::new);
    let mut notices_printed = 0;
    let began = Instant::now();
    let mut speed = Speed::default();
    let mut ticks = tokio::time::interval_at(Instant::now() + interval, interval);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Some(notice) = notices.recv() => {
                if mode == OutputMode::Json {
                    json::print(&Event::notice(clock.now(), notice));
                } else {
                    notices_printed += 1;
                    print_notice(&notice, notices_printed);
                }
                continue;
            }
        }
        let tally = counters.tally();
        let elapsed = began.elapsed();
        let pages_per_second = speed.update(elapsed, tally.pages);
        // An error of the frontier is ignored here. It ends the crawl, which reports it.
        let Ok(status) = status().await else { continue };
        if mode == OutputMode::Json {
            let event = Event::progress(clock.now(), elapsed, pages_per_second, tally, status);
            json::print(&event);
            continue;
        }
        let line = line(elapsed, pages_per_second, &tally, &status);
        match &bar {
            Some(bar) => bar.show(line),
            None => message(line),
        }
    }
}

fn print_notice(notice: &Notice, count: u32) {
    let text = match count {
        0..=MAX_NOTICES => Escaped(&notice.to_string()).to_string(),
        _ if count == MAX_NOTICES + 1 => {
            "further notices are written to logs/events.jsonl only".to_owned()
        }
        _ => return,
    };
    with_bar_hidden(|| message(text));
}

fn line(elapsed: Duration, pages_per_second: f64, tally: &Tally, status: &Status) -> String {
    let mut line = format!(
        "{}  {} pages  {pages_per_second:.1}/s  {} of {} sites active  {} queued  {} errors  {}",
        hours_minutes_seconds(elapsed),
        grouped(tally.pages),
        grouped(tally.active_visits),
        grouped(status.sites.known),
        grouped(status.pages.queued),
        grouped(tally.failed + tally.http_errors),
        about(tally.bytes_received),
    );
    if let Some(due) = status.next_due
        && tally.active_visits == 0
    {
        let _ = write!(line, "  next at {} UTC", calendar::date_time(due));
    }
    line
}

fn hours_minutes_seconds(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}
