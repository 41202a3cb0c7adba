//! Repairs of a frontier, for `aranha check --repair`.

use super::Embedded;
use crate::{FrontierError, PageRecord};

impl Embedded {
    /// Add page records, oldest first, to the history of a site. A site that is unknown is created. The pages get no
    /// next visit (see [`crate::Frontier::make_all_due`]).
    pub fn restore(
        &mut self,
        site: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<(), FrontierError> {
        self.transact(true, |engine| {
            engine.core.restore_site(site, origin, records)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use aranha_url::PathKey;

    use super::*;
    use crate::Pending;
    use crate::suite::{page, record, release, seed, small, url};
    use crate::{Frontier as _, Outcome, Past, Then, WindowUpdate};

    /// A page with a past that would make its next request conditional.
    fn fetched(path: &str) -> Pending {
        let past = Past {
            etag: "\"1\"".into(),
            ..Past::default()
        };
        Pending {
            past: Some(Box::new(past)),
            ..page(path)
        }
    }

    #[test]
    fn a_lost_page_is_fetched_again_without_its_past() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut frontier = Embedded::open(folder.path(), small()).expect("opens");
        frontier
            .seed(0, &[seed("https://a.example/")])
            .expect("seeds");
        let lease = frontier.check_out(1, 1).expect("checks out").remove(0);
        // One page in each place: done, waiting for a revisit, in the window, in the queue behind it.
        let done = record(&page("/done"), 1, Outcome::Answer(200));
        let mut revisit = record(&page("/revisit"), 1, Outcome::Answer(200));
        revisit.next = Some(1000);
        revisit.past = fetched("/revisit").past;
        let mut entry = release(&lease, 2);
        entry.then = Then::Release { due: 500 };
        entry.done = vec![done, revisit];
        entry.window = WindowUpdate::Replace(vec![fetched("/window"), fetched("/kept")]);
        entry.overflow = vec![fetched("/queue")];
        let paths = ["/done", "/revisit", "/window", "/queue", "/kept"];
        entry.keys = paths.map(PathKey::of).to_vec();
        let replies = frontier.check_in(2, vec![entry]).expect("stored");
        assert!(replies[0].is_ok());

        let lost: HashSet<_> = paths[..4].iter().map(|path| PathKey::of(path)).collect();
        let unknown = HashSet::from([PathKey::of("/unknown")]);
        assert_eq!(
            frontier.refetch(3, "a.example", &lost).expect("refetches"),
            4
        );
        assert_eq!(
            frontier
                .refetch(3, "a.example", &unknown)
                .expect("refetches"),
            0
        );
        assert_eq!(
            frontier.refetch(3, "b.example", &lost).expect("refetches"),
            0
        );
        let lease = frontier.check_out(500, 1).expect("checks out").remove(0);
        let mut pages = lease.pending;
        let mut rest = release_for_more(&mut frontier, lease.id);
        pages.append(&mut rest);
        let mut found: Vec<_> = pages
            .iter()
            .map(|page| (page.path.as_str(), page.past.is_some()))
            .collect();
        found.sort_unstable();
        let expected = [
            ("/done", false),
            ("/kept", true),
            ("/queue", false),
            ("/revisit", false),
            ("/window", false),
        ];
        assert_eq!(found, expected);
    }

    /// The pages of the site that a check-in returns.
    fn release_for_more(frontier: &mut Embedded, lease: u64) -> Vec<Pending> {
        let mut replies = Vec::new();
        let entry = crate::CheckIn {
            lease,
            done: Vec::new(),
            window: WindowUpdate::default(),
            later: Vec::new(),
            claims: Vec::new(),
            overflow: Vec::new(),
            keys: Vec::new(),
            outside: Vec::new(),
            facts: None,
            then: Then::Keep { want: 10 },
        };
        replies.append(&mut frontier.check_in(501, vec![entry]).expect("stored"));
        replies.remove(0).expect("lease in force").more
    }

    #[test]
    fn restored_records_are_the_history_of_their_pages() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut frontier = Embedded::open(folder.path(), small()).expect("opens");
        let first = record(&page("/a"), 1, Outcome::Answer(200));
        let second = record(&page("/a"), 2, Outcome::Answer(404));
        let origin = "https://a.example";
        for records in [[first.clone()], [second.clone()]] {
            frontier
                .restore("a.example", origin, &records)
                .expect("restores");
        }
        let known = frontier
            .explain(&url("https://a.example/a"))
            .expect("explains");
        assert_eq!(known.records, [first, second]);
        let status = frontier.status(3).expect("status");
        assert_eq!(
            (status.sites.known, status.pages.known, status.records),
            (1, 1, 2)
        );
        let order = crate::VisitOrder {
            source: 1,
            unconditional: true,
            max_age: 0,
        };
        frontier.make_all_due(3, &order).expect("makes due");
        let lease = frontier.check_out(4, 1).expect("checks out").remove(0);
        assert_eq!(lease.facts.origin, origin);
        assert_eq!(lease.pending.len(), 1);
    }
}
