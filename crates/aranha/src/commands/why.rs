//! `aranha why`: every decision of the crawl about a URL, with the rule behind it (invariant 9).
//!
//! The decisions are listed in the order in which the crawl makes them: URL, scope, robots.txt, site, page, fetches.

use std::path::Path;

use aranha_engine::config::DuplicateLinks;
use aranha_engine::{Clock, Config};
use aranha_frontier::{Explanation, Flags, PageRecord, SiteState, Waiting};
use aranha_robots::{Access, Robots};
use aranha_url::{CanonUrl, Scope};
use aranha_volume::ArchiveReader;
use clap::Args;
use serde_json::{Value, json};

use crate::collection_reader::{self, CollectionReader};
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::fetch_json::FetchJson;
use crate::forgotten::ForgottenEntry;
use crate::output::Output;
use crate::robots_error::unreachable;
use crate::session::seed_settings;
use crate::shared_args::{JsonObjectArg, PageArgs};
use crate::terminal_escape::Escaped;
use aranha_units::calendar;

const EXAMPLES: &str = "\
Examples:
  aranha why https://example.org/private/ -c example
  aranha why https://example.org/ -c example --json | jq .history";

/// Explain what the crawl decided about a URL, and by which rule
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.page.collection)?;
    let (url, known) = collection.stored_url(&arguments.page.url)?;
    let last = collection.last_config();
    let scope_now = scope(&collection.scope_of(&last)?, &url, &known);
    let next_scope = scope(&collection.scope()?, &url, &known);
    let decisions = Decisions {
        next_scope: (next_scope.0 != scope_now.0).then_some(next_scope),
        scope: scope_now,
        robots: robots(&collection.config, &url, &known),
        forgotten: collection.forgotten(&url)?,
        known,
        url,
        folder: collection.folder.display().to_string(),
        limits: limits(&last),
    };
    let mut output = Output::new();
    if arguments.output.json {
        output.json(&decisions.json())?;
    } else {
        for (topic, line) in decisions.lines() {
            output.line(format_args!("{topic:<11} {}", Escaped(&line)))?;
        }
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

struct Decisions {
    url: CanonUrl,
    /// Whether the URL is in scope by the rules of the last crawl, and the rule that decides it.
    scope: (bool, String),
    /// The same for the rules in `aranha.toml`, if their decision differs.
    next_scope: Option<(bool, String)>,
    /// Whether robots.txt allows the URL, and the rule that decides it; `None` if robots.txt was not fetched yet.
    robots: Option<(bool, String)>,
    /// When and why the contents of the page were deleted.
    forgotten: Option<ForgottenEntry>,
    known: Explanation,
    /// The collection, as typed.
    folder: String,
    /// The kinds of links that are not followed.
    limits: String,
}

/// Whether the URL is in scope, and the rule that decides it. The depth of the page is taken from its last fetch
/// record, otherwise from a waiting link. If there is neither, the depth of a seed is 0, and any other page is assumed
/// to have depth 1.
fn scope(scope: &Scope, url: &CanonUrl, known: &Explanation) -> (bool, String) {
    let fetched = known
        .records
        .last()
        .map(|record| (record.depth, record.hop));
    let judgement = match fetched.or(known.link) {
        Some((depth, hop)) if hop.embeds() > 0 => scope.judge_requisite(url, url.key(), depth),
        Some((depth, _)) => scope.judge(url, depth),
        None => scope.judge(url, u16::from(!known.seed)),
    };
    (judgement.inside, judgement.rule.to_string())
}

/// The limits of the configuration that exclude links from the crawl.
fn limits(config: &Config) -> String {
    let depths = [
        ("crawl.depth", config.crawl.depth),
        ("thresholds.depth", config.thresholds.depth),
    ];
    let mut limits: Vec<_> = depths
        .into_iter()
        .filter_map(|(key, depth)| Some(format!("links beyond {key} = {}", depth?)))
        .collect();
    limits.push("links on pages marked nofollow".to_owned());
    if !config.crawl.follow_nofollow {
        limits.push("links marked nofollow".to_owned());
    }
    match config.crawl.duplicate_links {
        DuplicateLinks::Follow => {}
        DuplicateLinks::SkipCopies => {
            limits
                .push("links on a copy of another page if the other page has them too".to_owned());
        }
        DuplicateLinks::SkipAll => limits.push("links on pages with a known text".to_owned()),
    }
    let last = limits.pop().unwrap_or_default();
    match limits.as_slice() {
        [] => last,
        others => format!("{}, or {last}", others.join(", ")),
    }
}

fn robots(config: &Config, url: &CanonUrl, known: &Explanation) -> Option<(bool, String)> {
    let file = known.facts.as_ref()?.robots.as_ref()?;
    if config.crawl.ignores_robots(url.host()) {
        let reason = "crawl.own_hosts names the host, and crawl.robots is `ignore`";
        return Some((true, reason.to_owned()));
    }
    let fetched = format!("{} of {} UTC", file.url, calendar::date_time(file.fetched));
    let status = (file.status != 0).then_some(file.status);
    Some(match aranha_robots::access(status) {
        Access::AllowAll => (
            true,
            format!("there is no file: {fetched}, status {}", file.status),
        ),
        Access::DenyAll => (
            false,
            format!(
                "{}, so no page of the site is fetched: {fetched}",
                unreachable(file)
            ),
        ),
        Access::Use => {
            let rules = Robots::parse(&file.body).agent(&config.crawl.product);
            let decision = rules.judge(url.path());
            let rule = decision.rule.map_or_else(
                || "no rule matches".to_owned(),
                |rule| format!("line {}: {}", rule.line, rule.text),
            );
            (decision.allowed, format!("{rule} ({fetched})"))
        }
    })
}

impl Decisions {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let known = &self.known;
        let mut lines = vec![("url", self.url.to_string())];
        let place = |(inside, rule): &(bool, String)| {
            format!("{}: {rule}", if *inside { "inside" } else { "outside" })
        };
        lines.push(("scope", place(&self.scope)));
        if let Some(next) = &self.next_scope {
            let next = place(next);
            lines.push(("", format!("in a crawl by aranha.toml: {next}")));
        }
        lines.push((
            "robots.txt",
            match &self.robots {
                Some((true, rule)) => format!("allowed: {rule}"),
                Some((false, rule)) => format!("refused: {rule}"),
                None => "not fetched yet".to_owned(),
            },
        ));
        lines.push(("site", self.site()));
        if !known.settings.is_empty() {
            let settings = seed_settings::words(&known.settings);
            lines.push(("", format!("set for its seeds: {settings}")));
        }
        if let Some(blocked) = known
            .facts
            .as_ref()
            .and_then(|facts| facts.blocked.as_ref())
        {
            lines.push(("", format!("blocked: {blocked}")));
            let name = collection_reader::unblock_argument(self.url.site(), blocked);
            let hint = format!("aranha unblock '{name}' -c {} unblocks it", self.folder);
            lines.push(("", hint));
        }
        lines.push(("page", self.page()));
        if let Some(entry) = &self.forgotten {
            lines.push(("content", entry.sentence()));
        }
        for record in &known.records {
            let mut parts = vec![
                format!("{} UTC", calendar::date_time(record.time)),
                record.outcome.to_string(),
            ];
            if !record.media_type.is_empty() {
                parts.push(record.media_type.clone());
                parts.push(format!("{} bytes", grouped(record.size)));
            }
            if let Some(language) = &record.language {
                let (code, confidence) = (&language.code, language.confidence);
                parts.push(format!("in language {code} ({confidence}%)"));
            }
            if record.flags.has(Flags::TRUNCATED) {
                parts.push(self.truncation(record));
            }
            if record.revisit {
                parts.push("(same content as at an earlier fetch)".to_owned());
            }
            if record.flags.has(Flags::NOT_KEPT) {
                parts.push("(not stored: crawl.keep or crawl.noindex)".to_owned());
            }
            if let Some(target) = &record.redirect {
                parts.push(format!("to {target}"));
            }
            lines.push(("fetched", parts.join("  ")));
        }
        if let Some(record) = known.records.last().filter(|record| !record.via.is_empty()) {
            lines.push((
                "found on",
                format!(
                    "{} ({}, link depth {})",
                    record.via,
                    record.hop.words(),
                    record.depth
                ),
            ));
        }
        lines
    }

    /// Why the stored body is incomplete, from the `WARC-Truncated` field of its record.
    fn truncation(&self, record: &PageRecord) -> String {
        let reason = || {
            let archive = ArchiveReader::open(Path::new(&self.folder)).ok()?;
            let stored = archive.read(record.location?).ok()?;
            Some(match stored.header("WARC-Truncated")? {
                "length" => "the body is longer than fetch.max_body",
                "time" => {
                    "fetch.total_timeout, fetch.idle_timeout or fetch.min_speed ended the response"
                }
                "disconnect" => "the server closed the connection early",
                _ => "the server's framing of the body is broken",
            })
        };
        match reason() {
            Some(reason) => format!("truncated: {reason}"),
            None => "truncated".to_owned(),
        }
    }

    fn site(&self) -> String {
        let Some(site) = &self.known.site else {
            return format!("{} is unknown", self.url.site());
        };
        let state = match site.state {
            SiteState::Waiting => match site.due {
                Some(due) if due > Clock::new().now() => {
                    format!("waits until {} UTC", calendar::date_time(due))
                }
                _ => "waits for a visit".to_owned(),
            },
            SiteState::Leased => "is being visited".to_owned(),
            SiteState::Idle => "is idle: no page is due".to_owned(),
            SiteState::Blocked => "is blocked".to_owned(),
        };
        format!(
            "{} {state}; {} pages known, {} queued, {} waiting for a later visit",
            site.site,
            grouped(site.known),
            grouped(site.queued),
            grouped(site.retry)
        )
    }

    fn page(&self) -> String {
        let known = &self.known;
        let mut state = match known.waiting {
            Some(Waiting::Window) => "queued, among the next pages of its site".to_owned(),
            Some(Waiting::Queue) => "queued".to_owned(),
            Some(Waiting::Retry(due)) if known.records.is_empty() => format!(
                "not fetched yet, because its site has reached crawl.pages_per_site; due again {} UTC",
                calendar::date_time(due)
            ),
            Some(Waiting::Retry(due)) => {
                format!("waiting for a retry, due {} UTC", calendar::date_time(due))
            }
            Some(Waiting::Revisit(due)) => {
                format!("done; next visit due {} UTC", calendar::date_time(due))
            }
            None if known.known => "done".to_owned(),
            None if known.inbox => {
                "linked from another site; will be queued at the next visit of its site".to_owned()
            }
            None if !self.scope.0 => {
                "unknown: links to URLs outside the scope are not stored".to_owned()
            }
            None => format!(
                "unknown: the crawl found no link to this URL that it follows; it does not follow {}",
                self.limits
            ),
        };
        if known.seed {
            state.push_str(" (a seed)");
        }
        state
    }

    fn json(&self) -> Value {
        let known = &self.known;
        let waiting = match known.waiting {
            Some(Waiting::Window) => json!("next"),
            Some(Waiting::Queue) => json!("queued"),
            Some(Waiting::Retry(due) | Waiting::Revisit(due)) => json!(calendar::rfc3339(due)),
            None => Value::Null,
        };
        let site = known.site.as_ref().map(|site| {
            // `pending`, `later`, `again` and `closed` are the names of the previous release.
            json!({"name": site.site, "state": format!("{:?}", site.state).to_lowercase(),
                   "due": site.due.map(calendar::rfc3339), "known": site.known, "queued": site.queued,
                   "retry": site.retry, "revisit": site.revisit,
                   "pending": site.queued, "later": site.retry, "again": site.revisit})
        });
        let records = FetchJson::new(Path::new(&self.folder));
        let history: Vec<_> = known
            .records
            .iter()
            .map(|record| records.record(self.url.as_str(), record))
            .collect();
        let blocked = known
            .facts
            .as_ref()
            .and_then(|facts| facts.blocked.as_ref());
        let blocked = blocked.map(ToString::to_string);
        json!({
            "url": self.url.as_str(),
            "scope": {"inside": self.scope.0, "rule": self.scope.1},
            "next_scope": self.next_scope.as_ref().map(|(inside, rule)| json!({"inside": inside, "rule": rule})),
            "robots": self.robots.as_ref().map(|(allowed, rule)| json!({"allowed": allowed, "rule": rule})),
            "site": site, "settings": seed_settings::json(&known.settings),
            "blocked": blocked, "closed": blocked,
            "forgotten": self.forgotten.as_ref().map(ForgottenEntry::json),
            "known": known.known, "seed": known.seed, "inbox": known.inbox, "waiting": waiting,
            "history": history,
        })
    }
}
