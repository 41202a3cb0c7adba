//! Events of a crawl, as `crawl --json` prints them and `logs/events.jsonl` keeps them.

use std::time::Duration;

use aranha_units::calendar;
use serde::{Serialize, Serializer};

use super::collection_status::Status;
use super::notice::Notice;
use super::tally::Tally;
use crate::node::Summary;

/// Something that happened in a crawl, and when. It is serialised as one flat JSON object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Unix milliseconds; RFC 3339 in JSON.
    #[serde(serialize_with = "as_timestamp")]
    pub time: i64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened. The JSON field `event` names the kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The state of a running crawl. Sent every few seconds.
    Progress {
        /// Time since the crawl began, in seconds.
        seconds: f64,
        /// Pages per second over the last few seconds.
        pages_per_second: f64,
        /// Counters of this crawl.
        tally: Tally,
        /// Totals of the collection.
        status: Status,
    },
    /// Something that the operator should know.
    Notice {
        /// The notice as a sentence.
        text: String,
        /// The notice as data.
        #[serde(flatten)]
        notice: Notice,
    },
    /// The crawl has ended.
    End {
        /// Why the crawl ended.
        reason: String,
        /// Duration of the crawl in seconds.
        seconds: f64,
        /// Counters of this crawl.
        tally: Tally,
        /// Totals of the collection.
        status: Status,
        /// The user's own hosts, if robots.txt was ignored there.
        robots_ignored_on: Vec<String>,
    },
}

impl Event {
    /// Makes an event with the state of a running crawl.
    pub fn progress(
        time: i64,
        elapsed: Duration,
        pages_per_second: f64,
        tally: Tally,
        status: Status,
    ) -> Self {
        let kind = EventKind::Progress {
            seconds: elapsed.as_secs_f64(),
            pages_per_second,
            tally,
            status,
        };
        Self { time, kind }
    }

    /// Makes an event of a notice.
    pub fn notice(time: i64, notice: Notice) -> Self {
        let text = notice.to_string();
        Self {
            time,
            kind: EventKind::Notice { text, notice },
        }
    }

    /// Makes the event for the end of a crawl.
    pub fn end(time: i64, summary: &Summary) -> Self {
        let kind = EventKind::End {
            reason: summary.reason.to_string(),
            seconds: summary.took.as_secs_f64(),
            tally: summary.tally,
            status: summary.status.clone(),
            robots_ignored_on: summary.robots_ignored_on.clone(),
        };
        Self { time, kind }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn as_timestamp<S: Serializer>(time: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    calendar::rfc3339(*time).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_one_flat_object() {
        let event = Event::notice(
            1_794_764_880_123,
            Notice::SiteShare {
                site: "example.org".to_owned(),
                percent: 50,
            },
        );
        let expected = serde_json::json!({
            "time": "2026-11-15T17:48:00.123Z",
            "event": "notice",
            "text": "50% of the requests go to example.org; `aranha block example.org` blocks it",
            "notice": "site_share",
            "site": "example.org",
            "percent": 50,
        });
        assert_eq!(serde_json::to_value(&event).unwrap(), expected);
    }
}
