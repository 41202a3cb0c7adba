//! The fetches of one page from the oldest to the newest, and the finding of each fetch.
//!
//! A page has changed when its text has changed (D2). A file without text, such as an image, has changed when its bytes
//! have changed. If a page has text and only its bytes differ, only the markup has changed. A fetch that ends with an
//! error, a refusal or a missing page is listed, but it is not a version. So the next content is compared with the last
//! content before that fetch.
//!
//! Read first: [`findings`].

use aranha_frontier::{Flags, Outcome, PageRecord};

/// The finding of a fetch, compared with earlier fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The first content of the page.
    New,
    /// The text differs from the text of the previous content.
    Changed,
    /// The bytes differ from the previous content, but the text is the same.
    Markup,
    /// The bytes are the same as in the previous content.
    Same,
    /// The server answered 304.
    NotModified,
    /// A redirect.
    Moved,
    /// The page does not exist: 404, 410 or a soft 404.
    Gone,
    /// The fetch says nothing about the page: an error, a refusal, a rejected response.
    Failed,
}

impl Finding {
    /// The name in output for people and programs.
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

    /// Whether the text is new or has changed.
    pub(crate) fn is_change(self) -> bool {
        matches!(self, Finding::New | Finding::Changed)
    }
}

/// One fetch with its finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PastFetch<'a> {
    pub(crate) record: &'a PageRecord,
    pub(crate) finding: Finding,
    /// Milliseconds since the last change before this fetch; `None` if there was no earlier change.
    pub(crate) since_change: Option<i64>,
}

/// The kind of response in a fetch record, without comparison with earlier fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseKind {
    Content,
    NotModified,
    Moved,
    Gone,
    Failed,
}

pub(crate) fn kind(record: &PageRecord) -> ResponseKind {
    match record.outcome {
        Outcome::Answer(304) => ResponseKind::NotModified,
        Outcome::Answer(404 | 410) => ResponseKind::Gone,
        Outcome::Answer(200..=299) if record.flags.has(Flags::SOFT_404) => ResponseKind::Gone,
        Outcome::Answer(200..=299) => ResponseKind::Content,
        Outcome::Answer(300..=399) => ResponseKind::Moved,
        _ => ResponseKind::Failed,
    }
}

/// Whether the record is a version of the page: stored content, or a 304 response that confirms earlier content.
pub(crate) fn is_version(record: &PageRecord) -> bool {
    matches!(
        kind(record),
        ResponseKind::Content | ResponseKind::NotModified
    ) && record.location.is_some()
}

/// The findings of all fetches of one page. The caller must pass `records` sorted by time, oldest first.
pub(crate) fn findings(records: &[PageRecord]) -> Vec<PastFetch<'_>> {
    let mut last: Option<&PageRecord> = None;
    let mut change = None;
    let judged = records.iter().map(|record| {
        let finding = match kind(record) {
            ResponseKind::Content => {
                let finding = last.map_or(Finding::New, |last| compare(last, record));
                last = Some(record);
                finding
            }
            ResponseKind::NotModified => Finding::NotModified,
            ResponseKind::Moved => Finding::Moved,
            ResponseKind::Gone => Finding::Gone,
            ResponseKind::Failed => Finding::Failed,
        };
        let since_change = change.map(|change| record.time - change);
        if finding.is_change() {
            change = Some(record.time);
        }
        PastFetch {
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

/// Whether two records have the same text. False for records without text, such as those of images.
pub(crate) fn same_text(one: &PageRecord, other: &PageRecord) -> bool {
    one.text_digest != 0 && one.text_digest == other.text_digest
}

/// The records whose location may hold the content of `records[index]`. They are sorted in the order in which to try
/// them: first the record itself, then the earlier records with the same digest from the newest to the oldest. For a
/// 304 response, the record itself is last.
pub(crate) fn content_sources(records: &[PageRecord], index: usize) -> Vec<&PageRecord> {
    let record = &records[index];
    let mut sources: Vec<_> = records[..index]
        .iter()
        .rev()
        .filter(|earlier| kind(earlier) != ResponseKind::NotModified && earlier.location.is_some())
        .filter(|earlier| earlier.digest.is_some() && earlier.digest == record.digest)
        .collect();
    let own = if kind(record) == ResponseKind::NotModified {
        sources.len()
    } else {
        0
    };
    sources.insert(own, record);
    sources
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
            language: None,
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
        let found: Vec<_> = findings(records)
            .iter()
            .map(|fetch| (fetch.finding.name(), fetch.since_change))
            .collect();
        assert_eq!(found, expected);
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
        // Content without text is compared by its bytes.
        check(
            &[record(1, FOUND, 1, 0), record(2, FOUND, 2, 0)],
            &[("new", None), ("changed", Some(1))],
        );
    }

    #[test]
    fn errors_are_visits_but_not_versions() {
        let mut soft = record(6, FOUND, 9, 9);
        soft.flags = Flags::SOFT_404;
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
    fn not_modified_takes_the_content_of_the_last_fetch_with_the_same_digest() {
        let records = [
            record(1, FOUND, 1, 1),
            record(2, FOUND, 1, 1),
            record(3, FOUND, 2, 2),
            record(4, Outcome::Answer(304), 1, 1),
            record(5, Outcome::Answer(304), 1, 1),
        ];
        let check = |index: usize, expected: &[i64]| {
            let times: Vec<_> = content_sources(&records, index)
                .iter()
                .map(|r| r.time)
                .collect();
            assert_eq!(times, expected);
        };
        check(0, &[1]);
        check(1, &[2, 1]);
        check(2, &[3]);
        check(3, &[2, 1, 4]);
        check(4, &[2, 1, 5]);
    }
}
