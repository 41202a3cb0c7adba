//! Prints events as JSON on stdout, one object per line. Each object has the current field names and those of the
//! previous release.
//!
//! The old names are documented as deprecated in docs/json.md and will be removed in the next release.

use std::io::Write as _;

use aranha_engine::{Event, EventKind, Notice};
use serde_json::{Map, Value, json};

use crate::terminal_escape::EscapedJson;

/// Old and new names of the fields of `tally`.
const TALLY: &[(&str, &str)] = &[
    ("failures", "failed"),
    ("refusals", "http_errors"),
    ("excluded", "disallowed"),
    ("received", "bytes_received"),
    ("written", "bytes_written"),
    ("visits", "active_visits"),
    ("visited", "visits_started"),
    ("allowed", "request_limit"),
    ("soft", "soft_404"),
    ("cloaked", "unsupported_browser"),
    ("sooner", "revisits_advanced"),
    ("announced", "pages_announced"),
    ("cached", "proxy_hits"),
    ("uncached", "proxy_misses"),
];

/// Old and new paths of the fields of `status --json`.
const STATUS: &[(&str, &str)] = &[
    ("/sites/visited_now", "/sites/leased"),
    ("/sites/set_aside", "/sites/blocked"),
    ("/pages/pending", "/pages/queued"),
    ("/pages/later", "/pages/retry"),
    ("/pages/set_aside", "/pages/blocked"),
    ("/pages/again", "/pages/revisit"),
    ("/links_outside", "/external_links"),
    ("/next_again", "/next_revisit"),
];

/// Old and new paths of the fields of the event `progress`.
const PROGRESS: &[(&str, &str)] = &[
    ("/queued", "/status/pages/queued"),
    ("/later", "/status/pages/retry"),
    ("/again", "/status/pages/revisit"),
    ("/sites/known", "/status/sites/known"),
    ("/sites/visited_now", "/tally/active_visits"),
];

/// Old and new paths of the fields of the event `end`.
const END: &[(&str, &str)] = &[
    ("/outcomes", "/status/outcomes"),
    ("/pages/known", "/status/pages/known"),
    ("/pages/done", "/status/pages/done"),
    ("/pages/queued", "/status/pages/queued"),
    ("/pages/later", "/status/pages/retry"),
    ("/pages/again", "/status/pages/revisit"),
    ("/pages/aside", "/status/pages/blocked"),
    ("/sites/known", "/status/sites/known"),
    ("/sites/waiting", "/status/sites/waiting"),
    ("/sites/set_aside", "/status/sites/blocked"),
];

/// Prints an event. Errors are ignored, so that the crawl continues if stdout is closed.
pub(super) fn print(event: &Event) {
    let mut value = serde_json::to_value(event).expect("an event is valid JSON");
    match &event.kind {
        EventKind::Progress { .. } => {
            copy(&mut value, PROGRESS);
            add_deprecated_tally_fields(&mut value["tally"]);
        }
        EventKind::End { .. } => {
            copy(&mut value, END);
            add_deprecated_tally_fields(&mut value["tally"]);
        }
        EventKind::Notice { notice, .. } => value["what"] = old_notice(notice),
    }
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{}", EscapedJson(&value)).and_then(|()| stdout.flush());
}

/// Adds the old field names to the output of `status --json`.
pub(crate) fn add_deprecated_status_fields(status: &mut Value) {
    copy(status, STATUS);
}

fn add_deprecated_tally_fields(tally: &mut Value) {
    for (old, new) in TALLY {
        tally[*old] = tally[*new].clone();
    }
}

/// Copies each value from its new path to its old path. A path has one or two names.
fn copy(value: &mut Value, names: &[(&str, &str)]) {
    for (old, new) in names {
        let found = value.pointer(new).cloned().unwrap_or_default();
        let mut place = &mut *value;
        for step in old.split('/').skip(1) {
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[step];
        }
        *place = found;
    }
}

/// The value that the field `what` had in the previous release; null for a notice that this release did not have.
fn old_notice(notice: &Notice) -> Value {
    match notice {
        Notice::Trap { site, reason } => {
            json!({"notice": "closed", "site": site, "reason": reason})
        }
        Notice::DomainTrap { entry, reason } => {
            json!({"notice": "shut_out", "entry": entry, "reason": reason})
        }
        Notice::SiteShare { site, percent } => {
            json!({"notice": "dominates", "site": site, "percent": percent})
        }
        Notice::DnsDown => json!({"notice": "names_down"}),
        Notice::DnsUp { seconds } => {
            json!({"notice": "names_up", "after": {"secs": seconds, "nanos": 0}})
        }
        Notice::BlacklistReloaded => json!({"notice": "blacklist_read"}),
        Notice::BlacklistError { problem } => {
            json!({"notice": "blacklist_wrong", "problem": problem})
        }
        Notice::SignalsError { problem } => json!({"notice": "signals_wrong", "problem": problem}),
        Notice::SiteBlocked { .. }
        | Notice::SitePostponed { .. }
        | Notice::LinksStopped { .. }
        | Notice::SeedFailed { .. }
        | Notice::FrontierDown { .. }
        | Notice::FrontierUp { .. }
        | Notice::NoLocalDns
        | Notice::ProxyDown { .. }
        | Notice::ProxyUp { .. }
        | Notice::ClockBehind { .. }
        | Notice::ClockChanged { .. }
        | Notice::DiskFull { .. }
        | Notice::VolumeFolderLeft { .. }
        | Notice::StoreDown { .. }
        | Notice::StoreUp { .. }
        | Notice::UploadFailed { .. }
        | Notice::Uploading { .. }
        | Notice::UploadsWait { .. }
        | Notice::Forgotten { .. }
        | Notice::VisitFailed { .. }
        | Notice::PageFailed { .. }
        | Notice::RulesWidened { .. }
        | Notice::PagesReadAgain { .. }
        | Notice::Draining
        | Notice::SettingsChanged => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_have_the_values_of_the_new_ones() {
        let mut value = json!({"status": {"pages": {"queued": 7}}, "tally": {"active_visits": 2}});
        copy(&mut value, PROGRESS);
        assert_eq!(value["queued"], 7);
        assert_eq!(value["sites"]["visited_now"], 2);
    }
}
