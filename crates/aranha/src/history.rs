//! The fetches of one page, oldest first, and what each of them found.
//!
//! The frontier keeps a record of every fetch; here they are put beside each other. What counts as a change is the text
//! (D2): other bytes with the same words are mark-up. An error, a refusal or a page that is gone is a visit, but no
//! version: what comes after it is compared with the last content that there was.
//!
//! Read first: [`visits`].

use aranha_frontier::{Flags, Outcome, PageRecord};

/// What a fetch found, in the light of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Content, for the first time.
    New,
    /// Another text.
    Changed,
    /// Other bytes, the same text.
    Markup,
    /// The same bytes.
    Same,
    /// The server said that nothing has changed (304).
    NotModified,
    /// A redirect.
    Moved,
    /// The server says that there is no such page, in its status or in its words.
    Gone,
    /// Nothing that says anything about the page: an error, a refusal, an answer that was not wanted.
    Failed,
}

impl Finding {
    /// The word that people and programs read.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Finding::New => "new",
            Finding::Changed => "changed",
            Finding::Markup => "markup only",
            Finding::Same => "same",
            Finding::NotModified => "not modified",
            Finding::Moved => "moved",
            Finding::Gone => "gone",
            Finding::Failed => "failed",
        }
    }

    /// Whether the text was another one than before.
    pub(crate) fn is_change(self) -> bool {
        matches!(self, Finding::New | Finding::Changed)
    }
}

/// One fetch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'a> {
    pub(crate) record: &'a PageRecord,
    pub(crate) finding: Finding,
    /// Milliseconds from the last change before this visit; `None` when there was none.
    pub(crate) since_change: Option<i64>,
}

/// What a record says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Content,
    NotModified,
    Moved,
    Gone,
    Failed,
}

pub(crate) fn kind(record: &PageRecord) -> Kind {
    match record.outcome {
        Outcome::Answer(304) => Kind::NotModified,
        Outcome::Answer(404 | 410) => Kind::Gone,
        Outcome::Answer(200..=299) if record.flags.has(Flags::SOFT) => Kind::Gone,
        Outcome::Answer(200..=299) => Kind::Content,
        Outcome::Answer(300..=399) => Kind::Moved,
        _ => Kind::Failed,
    }
}

/// Whether the record stands for content: new bytes, or the word of the server that the old ones hold.
pub(crate) fn is_version(record: &PageRecord) -> bool {
    matches!(kind(record), Kind::Content | Kind::NotModified) && record.location.is_some()
}

/// What each fetch found. `records` are those of one page, oldest first.
pub(crate) fn visits(records: &[PageRecord]) -> Vec<Visit<'_>> {
    let mut last: Option<&PageRecord> = None;
    let mut change = None;
    let judged = records.iter().map(|record| {
        let finding = match kind(record) {
            Kind::Content => {
                let finding = last.map_or(Finding::New, |last| compare(last, record));
                last = Some(record);
                finding
            }
            Kind::NotModified => Finding::NotModified,
            Kind::Moved => Finding::Moved,
            Kind::Gone => Finding::Gone,
            Kind::Failed => Finding::Failed,
        };
        let since_change = change.map(|change| record.time - change);
        if finding.is_change() {
            change = Some(record.time);
        }
        Visit {
            record,
            finding,
            since_change,
        }
    });
    judged.collect()
}

fn compare(before: &PageRecord, after: &PageRecord) -> Finding {
    if before.digest.is_some() && before.digest == after.digest {
        Finding::Same
    } else if same_text(before, after) {
        Finding::Markup
    } else {
        Finding::Changed
    }
}

/// Content without a text (an image) has no text in common with anything.
pub(crate) fn same_text(one: &PageRecord, other: &PageRecord) -> bool {
    one.text_digest != 0 && one.text_digest == other.text_digest
}

/// Where the bytes of `records[index]` may be, the best place first: in the record itself, or, where the server said that
/// nothing had changed, in the newest one before it with the same digest.
pub(crate) fn places(records: &[PageRecord], index: usize) -> Vec<&PageRecord> {
    let record = &records[index];
    let mut places: Vec<_> = records[..index]
        .iter()
        .rev()
        .filter(|earlier| kind(earlier) != Kind::NotModified && earlier.location.is_some())
        .filter(|earlier| earlier.digest.is_some() && earlier.digest == record.digest)
        .collect();
    let own = if kind(record) == Kind::NotModified {
        places.len()
    } else {
        0
    };
    places.insert(own, record);
    places
}

#[cfg(test)]
mod tests {
    use aranha_frontier::Location;
    use aranha_url::PathKey;

    use super::*;

    fn record(time: i64, outcome: Outcome, digest: u8, text: u64) -> PageRecord {
        PageRecord {
            path: "/".into(),
            key: PathKey::of("/"),
            depth: 0,
            site_depth: 0,
            time,
            outcome,
            media_type: "text/html".into(),
            size: 1,
            digest: (digest > 0).then_some([digest; 20]),
            text_digest: text,
            location: (digest > 0).then_some(Location {
                volume: 1.into(),
                offset: time as u64,
                length: 1,
            }),
            revisit: outcome == Outcome::Answer(304),
            duration_ms: 1,
            tries: 0,
            hop: aranha_frontier::Hop::Seed,
            via: String::new(),
            redirect: None,
            flags: Flags::default(),
            next: None,
            past: None,
        }
    }

    #[track_caller]
    fn check(records: &[PageRecord], expected: &[(&str, Option<i64>)]) {
        let told: Vec<_> = visits(records)
            .iter()
            .map(|visit| (visit.finding.name(), visit.since_change))
            .collect();
        assert_eq!(told, expected);
    }

    const FOUND: Outcome = Outcome::Answer(200);

    #[test]
    fn a_change_is_a_change_of_the_text() {
        check(
            &[
                record(10, FOUND, 1, 1),
                record(20, FOUND, 1, 1),
                record(30, FOUND, 2, 1),
                record(40, Outcome::Answer(304), 2, 1),
                record(50, FOUND, 3, 2),
                record(60, FOUND, 3, 2),
            ],
            &[
                ("new", None),
                ("same", Some(10)),
                ("markup only", Some(20)),
                ("not modified", Some(30)),
                ("changed", Some(40)),
                ("same", Some(10)),
            ],
        );
        // Without a text the bytes are all there is.
        check(
            &[record(1, FOUND, 1, 0), record(2, FOUND, 2, 0)],
            &[("new", None), ("changed", Some(1))],
        );
    }

    #[test]
    fn errors_are_visits_but_no_versions() {
        let mut soft = record(6, FOUND, 9, 9);
        soft.flags = Flags::SOFT;
        check(
            &[
                record(1, Outcome::Timeout, 0, 0),
                record(2, FOUND, 1, 1),
                record(3, Outcome::Answer(503), 7, 7),
                record(4, Outcome::Answer(404), 8, 8),
                record(5, Outcome::Answer(301), 6, 0),
                soft,
                record(7, Outcome::RobotsRefused, 0, 0),
                record(8, FOUND, 1, 1),
            ],
            &[
                ("failed", None),
                ("new", None),
                ("failed", Some(1)),
                ("gone", Some(2)),
                ("moved", Some(3)),
                ("gone", Some(4)),
                ("failed", Some(5)),
                ("same", Some(6)),
            ],
        );
    }

    #[test]
    fn not_modified_has_the_bytes_of_the_last_equal_fetch() {
        let records = [
            record(1, FOUND, 1, 1),
            record(2, FOUND, 1, 1),
            record(3, FOUND, 2, 2),
            record(4, Outcome::Answer(304), 1, 1),
            record(5, Outcome::Answer(304), 1, 1),
        ];
        let check = |index: usize, expected: &[i64]| {
            let times: Vec<_> = places(&records, index).iter().map(|r| r.time).collect();
            assert_eq!(times, expected);
        };
        check(0, &[1]);
        check(1, &[2, 1]);
        check(2, &[3]);
        check(3, &[2, 1, 4]);
        check(4, &[2, 1, 5]);
    }
}
