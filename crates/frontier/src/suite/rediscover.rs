//! Page records that are read again, and pages that are found in stored pages.

use super::*;

pub(crate) fn records_are_read_site_by_site_newest_first(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let seeds = ["http://a.test/", "http://b.test/", "http://c.test/"];
    let seeds: Vec<_> = seeds.into_iter().map(seed).collect();
    frontier.seed(0, &seeds).expect("seeds");
    for time in [10, 20] {
        for lease in frontier.check_out(time, 2).expect("checks out") {
            let mut entry = finish(&lease, time);
            entry.done[0].next = Some(time + 5);
            accept(&mut frontier, time, entry);
        }
    }
    let mut cursor = RecordCursor::default();
    let mut found: BTreeMap<SiteKey, Vec<i64>> = BTreeMap::new();
    let mut last = None;
    while let Some(batch) = frontier.read_records(&mut cursor).expect("reads") {
        assert!(!batch.blocked);
        assert!(last <= Some(batch.site.0 as i64), "in order of key");
        last = Some(batch.site.0 as i64);
        let times = batch.records.iter().map(|record| record.time);
        found.entry(batch.site).or_default().extend(times);
    }
    let mut times: Vec<_> = found.into_values().collect();
    times.sort();
    // The site that was checked out last has one record. A site without records is left out.
    assert_eq!(times.concat().len(), 4);
    for times in times {
        assert!(
            times.is_sorted_by(|newer, older| newer >= older),
            "{times:?}"
        );
    }
}

pub(crate) fn pages_found_again_are_queued_once(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    frontier.seed(0, &[seed("http://a.test/")]).expect("seeds");
    let lease = one(&mut frontier, 0);
    let refused = record(&page("/refused"), 5, Outcome::OutOfScope);
    let mut entry = finish(&lease, 5);
    entry.done.push(refused);
    entry.keys = vec![PathKey::of("/refused")];
    accept(&mut frontier, 6, entry);
    assert_eq!(frontier.status(10).expect("status").next_due, None);
    let found = Rediscovered {
        linked: ["/", "/a", "/b", "/c", "/d", "/e", "/a", "/f"]
            .map(page)
            .into(),
        wanted_again: ["/refused", "/refused"].map(page).into(),
        outside: vec![link("http://b.test/x")],
        max_known: Some(7),
    };
    let key = lease.site_key;
    let queued = frontier.rediscover(10, key, &found);
    assert_eq!(
        queued.expect("admits"),
        6,
        "two pages are known, so that five are admitted; and a refused one"
    );
    let again = frontier.rediscover(11, key, &found);
    assert_eq!(again.expect("admits"), 0, "all pages are queued");
    let unknown = frontier.rediscover(11, SiteKey(1), &found);
    assert_eq!(unknown.expect("admits"), 0);
    let mut leases = frontier.check_out(12, 5).expect("checks out");
    leases.sort_by(|a, b| a.site.cmp(&b.site));
    assert_eq!(sites(&leases), ["a.test", "b.test"]);
    assert_eq!(paths(&leases[0].pending), ["/a", "/b", "/c", "/d"]);
    assert!(leases[0].has_more);
    assert_eq!(leases[0].pending[0].site_depth, 1);
    assert_eq!(paths(&leases[1].pending), ["/x"]);
}
