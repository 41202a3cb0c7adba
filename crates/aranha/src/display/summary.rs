//! The summary at the end of a crawl: what was fetched, what failed, what is left, and how to continue.

use std::time::Duration;

use aranha_engine::{Clock, Event, Reason, Status, Summary, Tally};
use aranha_units::calendar;

use super::numbers::elapsed;
use super::{OutputMode, about, grouped, json};
use crate::output::{counted, message};

/// Prints the summary as text or JSON, or not at all, depending on the output mode. Hints contain `folder`, which is
/// the collection, and `resume`, which is the command that continues the crawl.
pub(crate) fn summary(mode: OutputMode, summary: &Summary, folder: &str, resume: &str) {
    match mode {
        OutputMode::Quiet => {}
        OutputMode::Json => json::print(&Event::end(Clock::new().now(), summary)),
        OutputMode::Live | OutputMode::Lines => {
            message("");
            message(lines(summary, folder, resume).join("\n"));
        }
    }
}

fn lines(summary: &Summary, folder: &str, resume: &str) -> Vec<String> {
    let (tally, status) = (&summary.tally, &summary.status);
    let mut lines = vec![format!(
        "{} after {}.",
        sentence(&summary.reason),
        elapsed(summary.took)
    )];
    let mut row = |label: &str, text: String| lines.push(format!("  {label:<11}{text}"));
    if tally.pages + tally.failed + tally.disallowed + status.pages.queued == 0 {
        row("fetched", "nothing: no page was due".to_owned());
    } else {
        row("fetched", fetched(tally, summary.took));
        row(
            "archived",
            format!(
                "{} written, {} had content that was already stored",
                about(tally.bytes_written),
                counted(tally.duplicates, "page")
            ),
        );
    }
    if tally.links > 0 {
        row("links", links(tally));
    }
    let revisited = tally.unchanged + tally.changed + tally.gone;
    if revisited > 0 {
        row(
            "revisited",
            format!(
                "{}: {} unchanged, {} changed, {} gone",
                counted(revisited, "page"),
                grouped(tally.unchanged),
                grouped(tally.changed),
                grouped(tally.gone)
            ),
        );
    }
    if tally.signals > 0 {
        row(
            "signals",
            format!(
                "{} received: {} revisits brought forward, {} new pages; {} read from the proxy cache, {} no longer cached",
                grouped(tally.signals),
                grouped(tally.revisits_advanced),
                grouped(tally.pages_announced),
                grouped(tally.proxy_hits),
                grouped(tally.proxy_misses)
            ),
        );
    }
    if tally.traps > 0 || status.sites.blocked > 0 {
        row(
            "blocked",
            format!(
                "{} with {} (aranha status --blocked -c {folder})",
                counted(status.sites.blocked, "site"),
                counted(status.pages.blocked, "page"),
            ),
        );
    }
    if status.sites.problems > 0 {
        row(
            "problems",
            format!(
                "{} (aranha status --problems -c {folder})",
                counted(status.sites.problems, "problem site")
            ),
        );
    }
    if tally.soft_404 + tally.unsupported_browser > 0 {
        row(
            "no content",
            format!(
                "{} \"not found\" with status 200, {} \"browser not supported\"",
                grouped(tally.soft_404),
                grouped(tally.unsupported_browser)
            ),
        );
    }
    if tally.not_kept > 0 {
        row(
            "not stored",
            format!(
                "{} read for links only (crawl.keep, crawl.noindex)",
                counted(tally.not_kept, "page")
            ),
        );
    }
    if tally.truncated > 0 {
        row(
            "truncated",
            format!(
                "{} stored in part (aranha pages -c {folder} marks them; aranha why URL shows the reason)",
                counted(tally.truncated, "page")
            ),
        );
    }
    if tally.failed + tally.http_errors + tally.disallowed > 0 {
        row(
            "errors",
            format!(
                "{} HTTP errors, {} no answer, {} disallowed by robots.txt",
                grouped(tally.http_errors),
                grouped(tally.failed),
                grouped(tally.disallowed)
            ),
        );
    }
    if !summary.robots_ignored_on.is_empty() {
        row(
            "robots.txt",
            format!("ignored on {}", summary.robots_ignored_on.join(", ")),
        );
    }
    row(
        "total",
        format!(
            "{} done, {} queued, {} waiting for a later visit, on {}",
            counted(status.pages.done, "page"),
            grouped(status.pages.queued),
            grouped(status.pages.retry),
            counted(status.sites.known, "site")
        ),
    );
    if tally.pages == 0 && tally.failed > 0 && tally.seeds_failed == 0 {
        lines.push(format!(
            "hint: no page could be fetched; `aranha why URL -c {folder}` shows the reason"
        ));
    }
    lines.extend(next_step(&summary.reason, status, resume));
    lines
}

/// The number of links and, for each reason, the number of links that were not followed.
fn links(tally: &Tally) -> String {
    let reasons = [
        (tally.links_out_of_scope, "out of scope"),
        (tally.links_too_deep, "too deep"),
        (tally.links_filtered, "excluded by a filter"),
        (tally.links_blacklisted, "on the black list"),
        (tally.links_nofollow, "nofollow"),
        (tally.links_other_scheme, "not http or https"),
        (
            tally.links_growing,
            "with a URL that is too long or repetitive",
        ),
        (tally.links_malformed, "malformed"),
    ];
    let found = format!("{} found", grouped(tally.links));
    let rejected: Vec<_> = reasons
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{} {reason}", grouped(count)))
        .collect();
    if rejected.is_empty() {
        found
    } else {
        format!("{found}; not followed: {}", rejected.join(", "))
    }
}

fn fetched(tally: &Tally, took: Duration) -> String {
    format!(
        "{}, {} ({:.1} pages/s)",
        counted(tally.pages, "page"),
        about(tally.bytes_received),
        tally.pages as f64 / took.as_secs_f64().max(0.001),
    )
}

fn next_step(reason: &Reason, status: &Status, resume: &str) -> Option<String> {
    let left = status.pages.queued + status.pages.retry;
    let (due, text) = match (left, status.next_due) {
        (1.., Some(due)) if *reason == Reason::Finished => (Some(due), "visit"),
        (1.., _) => (None, "rest"),
        (0, _) => (Some(status.next_revisit?), "revisit"),
    };
    Some(match due {
        Some(due) => format!(
            "hint: the next {text} is due at {} UTC; `{resume}` continues",
            calendar::date_time(due)
        ),
        None => format!("hint: `{resume}` continues"),
    })
}

fn sentence(reason: &Reason) -> String {
    match reason {
        Reason::Finished => "Finished".to_owned(),
        Reason::Limit(limit) => format!("Stopped at the limit of {limit}"),
        Reason::Interrupted => "Interrupted".to_owned(),
        Reason::Drained => "Drained".to_owned(),
        Reason::DiskFull(_) => "Stopped by a full disk".to_owned(),
        Reason::Proxy(_) => "Stopped by the proxy".to_owned(),
        Reason::Failed(_) => "Failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_errors_and_what_is_left() {
        let mut status = Status::default();
        status.pages.done = 1234;
        status.pages.retry = 4;
        status.sites.known = 1;
        status.sites.blocked = 1;
        status.pages.blocked = 65;
        status.next_due = Some(1_794_764_880_123);
        let tally = Tally {
            pages: 1000,
            bytes_received: 5_000_000,
            bytes_written: 1_200_000,
            duplicates: 1,
            http_errors: 42,
            failed: 4,
            disallowed: 65,
            unchanged: 7,
            soft_404: 3,
            links: 5000,
            links_out_of_scope: 1200,
            links_nofollow: 3,
            ..Tally::default()
        };
        let summary = Summary {
            reason: Reason::Finished,
            tally,
            status,
            failed_seed: None,
            seed_redirects: 0,
            took: Duration::from_millis(10_050),
            robots_ignored_on: vec!["example.org".to_owned()],
        };
        let expected = "\
Finished after 10.0s.
  fetched    1,000 pages, 5.0 MB (99.5 pages/s)
  archived   1.2 MB written, 1 page had content that was already stored
  links      5,000 found; not followed: 1,200 out of scope, 3 nofollow
  revisited  7 pages: 7 unchanged, 0 changed, 0 gone
  blocked    1 site with 65 pages (aranha status --blocked -c example)
  no content 3 \"not found\" with status 200, 0 \"browser not supported\"
  errors     42 HTTP errors, 4 no answer, 65 disallowed by robots.txt
  robots.txt ignored on example.org
  total      1,234 pages done, 0 queued, 4 waiting for a later visit, on 1 site
hint: the next visit is due at 2026-11-15 17:48:00 UTC; `aranha crawl -c example` continues";
        assert_eq!(
            lines(&summary, "example", "aranha crawl -c example").join("\n"),
            expected
        );
    }
}
