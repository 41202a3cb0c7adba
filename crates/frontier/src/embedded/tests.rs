//! Runs the suite on the embedded engine, and tests what only this engine has: lock, layout, blocks, link runs, and
//! readers during writing.

use std::ops::Range;
use std::path::PathBuf;

use aranha_url::PathKey;
use tempfile::TempDir;

use super::merge::RUNS_PER_MERGE;
use super::*;
use crate::suite::model::model;
use crate::suite::{
    EngineFactory, everything, link, page, record, release, seed, small, suite, url,
};
use crate::{Outcome, PageFilter, SiteEntry, Then, View, WindowUpdate};

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        // The folder is in memory where possible, for speed. `tests/crash.rs` tests durability.
        let memory = TempDir::new_in("/dev/shm");
        Folder(memory.or_else(|_| TempDir::new()).expect("a folder"))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

impl EngineFactory for Folder {
    type Engine = Embedded;
    fn open(&self, options: Options) -> Embedded {
        Embedded::open(self.0.path(), options).expect("opens")
    }

    fn view(&self) -> View {
        View::open(self.0.path()).expect("opens")
    }
}

suite!(Folder::new());
model!(Folder::new(), 24);

#[test]
fn a_collection_has_one_writer() {
    let folder = Folder::new();
    let first = folder.open(small());
    let error = Embedded::open(&folder.path(), small()).expect_err("locked");
    assert!(
        matches!(error, FrontierError::Locked { pid, .. } if pid == std::process::id()),
        "{error}"
    );
    drop(first);
    folder.open(small());
}

#[test]
fn a_newer_layout_is_refused() {
    let folder = Folder::new();
    drop(folder.open(small()));
    let db = rusqlite::Connection::open(folder.path().join(FILE)).expect("opens");
    db.pragma_update(None, "user_version", 99).expect("sets");
    drop(db);
    let error = Embedded::open(&folder.path(), small()).expect_err("newer");
    assert!(error.to_string().contains("layout 99"), "{error}");
    let error = View::open(&folder.path()).expect_err("newer");
    assert!(error.to_string().contains("layout 99"), "{error}");
}

#[test]
fn a_folder_without_a_frontier_cannot_be_viewed() {
    let folder = Folder::new();
    assert!(matches!(
        View::open(&folder.path()),
        Err(FrontierError::Missing { .. })
    ));
}

#[test]
fn readers_see_the_committed_state() {
    let folder = Folder::new();
    let mut frontier = folder.open(small());
    let view = View::open(&folder.path()).expect("opens");
    let seeds = ["https://a.example/", "https://www.b.example/x"].map(seed);
    frontier.seed(0, &seeds).expect("seeds");
    for round in 0..3 {
        for lease in frontier.check_out(round, 9).expect("succeeds") {
            let mut entry = release(&lease, round + 1);
            entry.window = WindowUpdate::Replace(lease.pending.clone());
            entry.done = vec![record(
                &lease.pending[0],
                round,
                Outcome::Answer(200 + round as u16),
            )];
            entry.outside = vec![link("https://c.example/1")];
            entry.then = Then::Release { due: round + 1 };
            frontier.check_in(round, vec![entry]).expect("stored");
        }
    }
    assert_eq!(view.seeds().expect("seeds").len(), 2);
    let status = view.status(9).expect("status");
    assert_eq!(status.records, frontier.status(9).expect("status").records);
    let mut names = Vec::new();
    view.sites(|entry: SiteEntry| {
        names.push(entry.site);
        true
    })
    .expect("lists");
    names.sort();
    assert_eq!(names[..2], ["a.example", "b.example"]);
    let list = |filter: PageFilter<'_>| {
        let mut found = Vec::new();
        view.pages(&filter, |entry| {
            found.push(format!("{} {}", entry.url(), entry.record.outcome));
            true
        })
        .expect("lists");
        found.sort();
        found
    };
    assert_eq!(
        list(PageFilter {
            site: Some("b.example"),
            ..PageFilter::default()
        }),
        ["https://www.b.example/x 202"]
    );
    let all = PageFilter {
        all: true,
        site: Some("a.example"),
        ..PageFilter::default()
    };
    assert_eq!(
        list(all),
        [
            "https://a.example/ 200",
            "https://a.example/ 201",
            "https://a.example/ 202"
        ]
    );
    let some = PageFilter {
        outcome: Some(Outcome::Answer(202)),
        ..PageFilter::default()
    };
    assert!(list(some).contains(&"https://a.example/ 202".to_owned()));
    assert!(list(some).iter().all(|line| line.ends_with(" 202")));
    let found = view.explain(&url("https://c.example/1")).expect("explains");
    assert!(found.inbox || found.known);
    // A reader also works after the writer has closed and removed the write-ahead log.
    drop(view);
    drop(frontier);
    let view = View::open(&folder.path()).expect("opens");
    assert_eq!(view.status(9).expect("status").records, status.records);
}

#[test]
fn a_failed_transaction_changes_nothing() {
    let folder = Folder::new();
    let mut frontier = folder.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = frontier.check_out(0, 1).expect("succeeds").remove(0);
    let entry = || {
        let mut entry = release(&lease, 1);
        entry.done = vec![record(&lease.pending[0], 1, Outcome::Answer(200))];
        entry.outside = vec![link("https://b.example/1")];
        entry
    };
    // Simulate a full disk: limit the database to its current size.
    let pages: i64 = frontier
        .core
        .store
        .tables
        .db
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .expect("counts");
    frontier
        .core
        .store
        .tables
        .db
        .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
        .expect("limits");
    let mut large = entry();
    large.facts = Some(crate::SiteFacts {
        cookies: (0..100_000u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect(),
        ..crate::SiteFacts::default()
    });
    let before = frontier.status(1).expect("status");
    let error = frontier.check_in(1, vec![large]).expect_err("full");
    assert!(matches!(error, FrontierError::Full { .. }), "{error}");
    assert_eq!(frontier.status(1).expect("status").pages, before.pages);
    frontier
        .core
        .store
        .tables
        .db
        .pragma_update_and_check(None, "max_page_count", 1_000_000, |_| Ok(()))
        .expect("limits");
    frontier.check_in(1, vec![entry()]).expect("stored");
    let leases = frontier.check_out(1000, 9).expect("succeeds");
    assert_eq!(
        leases.len(),
        1,
        "the link of the failed check-in is sent again"
    );
    assert_eq!(leases[0].site, "b.example");
}

#[test]
fn blocks_of_keys_are_merged() {
    let folder = Folder::new();
    let mut frontier = folder.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = frontier.check_out(0, 1).expect("succeeds").remove(0);
    // The call of `seed` wrote the first block.
    for round in 2..=200u64 {
        let mut entry = release(&lease, 1);
        entry.keys = vec![PathKey(round), PathKey(round + 1000)];
        entry.window = WindowUpdate::Replace(lease.pending.clone());
        entry.then = Then::Keep { want: 0 };
        frontier.check_in(1, vec![entry]).expect("stored");
        let blocks: i64 = frontier
            .core
            .store
            .tables
            .first("SELECT count(*) FROM keys", [], |row| row.get(0))
            .expect("counts")
            .expect("a row");
        let digits = round % 8 + round / 8 % 8 + round / 64;
        assert_eq!(blocks as u64, digits, "after {round} blocks");
    }
    drop(frontier);
    let mut frontier = folder.open(small());
    let lease = frontier.check_out(2, 1).expect("succeeds").remove(0);
    let known: std::collections::BTreeSet<_> = lease.known.iter().collect();
    assert_eq!((known.len(), lease.known.len()), (399, 399));
}

/// Number of rows in the table `held`, and number of pages in these rows.
fn held_blocks(frontier: &Embedded) -> (i64, i64) {
    let sql = "SELECT count(*), coalesce(sum(count), 0) FROM held";
    let found = frontier
        .core
        .store
        .tables
        .first(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    found.expect("counts").expect("a row")
}

#[test]
fn a_window_is_appended_or_rewritten() {
    let folder = Folder::new();
    let mut frontier = folder.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = frontier.check_out(0, 1).expect("succeeds").remove(0);
    assert_eq!(held_blocks(&frontier), (1, 1));
    let mut next = 0;
    let mut check_in = |frontier: &mut Embedded, keep_last: usize, new: u32| {
        let more = (next..next + new).map(|number| page(&format!("/{number}")));
        next += new;
        let mut entry = release(&lease, 1);
        let more: Vec<_> = more.collect();
        entry.keys = more.iter().map(|page| page.key).collect();
        entry.window = WindowUpdate::Tail {
            keep_last,
            append: more,
        };
        entry.then = Then::Keep { want: 0 };
        frontier.check_in(1, vec![entry]).expect("stored");
        held_blocks(frontier)
    };
    assert_eq!(check_in(&mut frontier, 0, 20), (1, 20), "new chain");
    assert_eq!(check_in(&mut frontier, 18, 2), (2, 22), "appended");
    assert_eq!(check_in(&mut frontier, 6, 0), (2, 22), "nothing written");
    assert_eq!(check_in(&mut frontier, 6, 3), (3, 25), "appended");
    assert_eq!(
        check_in(&mut frontier, 9, 1),
        (1, 10),
        "rewritten: too many blocks"
    );
    assert_eq!(check_in(&mut frontier, 3, 0), (1, 10), "nothing written");
    assert_eq!(
        check_in(&mut frontier, 2, 2),
        (2, 12),
        "appended: twice as many taken pages are allowed"
    );
    assert_eq!(
        check_in(&mut frontier, 2, 1),
        (1, 3),
        "rewritten: too many taken pages"
    );
    assert_eq!(check_in(&mut frontier, 0, 0), (0, 0), "empty");
    assert_eq!(check_in(&mut frontier, 0, 1), (1, 1), "new chain");
    drop(frontier);
    let mut frontier = folder.open(small());
    let lease = frontier.check_out(2, 1).expect("succeeds").remove(0);
    assert_eq!(lease.pending, [page(&format!("/{}", next - 1))]);
    assert_eq!(held_blocks(&frontier), (1, 1), "unchanged by the check-out");
}

#[test]
fn a_damaged_window_is_an_error() {
    for damage in [
        "DELETE FROM held",
        "UPDATE held SET pages = x'00'",
        "UPDATE held SET count = 0",
        "UPDATE held SET previous = id",
        "UPDATE sites SET held = held + 1",
        "UPDATE sites SET held = -1",
        "UPDATE sites SET held = 1 << 60",
    ] {
        let folder = Folder::new();
        let mut frontier = folder.open(small());
        frontier
            .seed(0, &[seed("https://a.example/")])
            .expect("seeds");
        frontier.core.store.tables.run(damage, []).expect("damages");
        let error = frontier.check_out(1, 1).expect_err("damaged");
        assert!(matches!(error, FrontierError::Damaged { .. }), "{error}");
    }
}

/// In each round, check in `links` links from a.example to three sites, and block these sites, so that only a.example
/// is leased.
fn send_links(frontier: &mut Embedded, rounds: Range<u64>, links: u64) {
    for round in rounds {
        let now = round as i64 * 10_000;
        let lease = frontier.check_out(now, 1).expect("succeeds").remove(0);
        assert_eq!(lease.site, "a.example");
        let mut entry = release(&lease, now);
        entry.window = WindowUpdate::Replace(lease.pending.clone());
        for number in 0..links {
            let address = format!("https://b{}.example/{round}/{number}", number % 3);
            entry.outside.push(link(&address));
        }
        frontier.check_in(now, vec![entry]).expect("succeeds");
        frontier.block(now, "b0.example").expect("succeeds");
        frontier.block(now, "b1.example").expect("succeeds");
        frontier.block(now, "b2.example").expect("succeeds");
    }
}

fn run_files(folder: &Folder) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.path().join("frontier.runs")).expect("lists");
    let mut files: Vec<_> = files.map(|entry| entry.expect("reads").path()).collect();
    files.sort();
    files
}

/// A power failure can undo an unsynced merge. Then the files of the merged link runs are needed again.
#[test]
fn the_files_of_merged_runs_stay_until_the_merge_is_durable() {
    let folder = Folder::new();
    let mut frontier = folder.open(small());
    let seeds = [seed("https://a.example/")];
    frontier.seed(0, &seeds).expect("seeds");
    // A flush writes a link run but starts no merge.
    for round in 0..RUNS_PER_MERGE as u64 {
        send_links(&mut frontier, round..round + 1, 2);
        frontier.flush(0).expect("flushes");
    }
    let before = run_files(&folder);
    assert_eq!(before.len(), RUNS_PER_MERGE);
    while frontier.tidy(0, Duration::MAX).expect("tidies") {}
    assert_eq!(frontier.status(0).expect("status").runs, 1, "merged");
    let after = run_files(&folder);
    assert!(before.iter().all(|path| after.contains(path)));
    frontier.seed(0, &seeds).expect("seeds");
    let runs = frontier.status(0).expect("status").runs;
    assert_eq!(run_files(&folder).len() as u64, runs);
    drop(frontier);
    std::fs::write(folder.path().join("frontier.runs/99.run"), b"torn").expect("writes");
    let frontier = folder.open(small());
    assert_eq!(
        run_files(&folder).len() as u64,
        runs,
        "the file that the database does not list is removed"
    );
    drop(frontier);
    std::fs::remove_file(&run_files(&folder)[0]).expect("removes");
    let error = Embedded::open(&folder.path(), small()).expect_err("a run is missing");
    assert!(matches!(error, FrontierError::File { .. }), "{error}");
}

/// SQLite checkpoints the write-ahead log when the last connection closes. The last one must be the connection of the
/// writer, because the connection of a merge thread is read-only.
#[test]
fn closing_during_a_merge_leaves_no_log() {
    let folder = Folder::new();
    let options = || Options {
        run_links: 10_000,
        ..small()
    };
    let mut frontier = folder.open(options());
    let seeds = [seed("https://a.example/")];
    frontier.seed(0, &seeds).expect("seeds");
    for round in 0..RUNS_PER_MERGE as u64 {
        send_links(&mut frontier, round..round + 1, 2000);
        frontier.flush(0).expect("flushes");
    }
    let merging = frontier.tidy(0, Duration::ZERO).expect("tidies");
    assert!(merging, "the merge has just begun");
    drop(frontier);
    let log = folder.path().join(format!("{FILE}-wal"));
    assert!(!log.exists(), "the write-ahead log still exists");
    let mut frontier = folder.open(options());
    while frontier.tidy(0, Duration::MAX).expect("tidies") {}
    assert_eq!(frontier.status(0).expect("status").runs, 1, "merged");
}

/// If an inbox has several batches of links, all links are admitted, in order of arrival.
#[test]
fn a_large_inbox_is_admitted_in_order() {
    let folder = Folder::new();
    let mut frontier = folder.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = frontier.check_out(0, 1).expect("succeeds").remove(0);
    let mut entry = release(&lease, 0);
    entry.outside = (0..3000)
        .map(|number| link(&format!("https://b.example/{number}")))
        .collect();
    frontier.check_in(0, vec![entry]).expect("succeeds");
    frontier.flush(0).expect("flushes");
    let mut leases = frontier.check_out(1, 2).expect("succeeds");
    leases.retain(|lease| lease.site == "b.example");
    let lease = leases.remove(0);
    assert_eq!((lease.known.len(), lease.has_more), (3000, true));
    let mut pages = lease.pending.clone();
    while pages.len() < 3000 {
        let entry = crate::CheckIn {
            then: Then::Keep { want: 500 },
            ..release(&lease, 1)
        };
        let reply = frontier
            .check_in(1, vec![entry])
            .expect("succeeds")
            .remove(0);
        let more = reply.expect("in force").more;
        assert!(!more.is_empty());
        pages.extend(more);
    }
    let expected: Vec<String> = (0..3000).map(|number| format!("/{number}")).collect();
    let paths: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    assert_eq!(paths, expected);
}

/// A repeated seed makes the retries of its site due. The call must not read the revisits, because most pages of a
/// large site wait for a revisit.
#[test]
fn making_a_site_due_reads_only_its_retries() {
    let folder = Folder::new();
    let mut frontier = folder.open(small());
    let home = seed("https://a.example/");
    frontier
        .seed(0, std::slice::from_ref(&home))
        .expect("seeds");
    let lease = frontier.check_out(0, 1).expect("succeeds").remove(0);
    let mut entry = release(&lease, 1);
    for number in 0..1000i64 {
        let page = crate::suite::page(&format!("/{number}"));
        let fetched = number % 2 == 0;
        entry.keys.push(page.key);
        entry.done.push(crate::PageRecord {
            next: Some(9000 + number),
            past: fetched.then(Box::default),
            ..record(&page, 1, Outcome::Answer(if fetched { 200 } else { 503 }))
        });
    }
    frontier.check_in(1, vec![entry]).expect("succeeds");
    let changed = frontier
        .core
        .store
        .tables
        .run("UPDATE later SET pages = x'00' WHERE again = 1", [])
        .expect("damages");
    assert!(changed > 1, "several blocks");
    frontier
        .make_due(10, &[home, seed("https://a.example/other")])
        .expect("makes due");
    let lease = frontier.check_out(10, 1).expect("succeeds").remove(0);
    let entry = crate::CheckIn {
        then: Then::Keep { want: 1000 },
        ..release(&lease, 10)
    };
    let reply = frontier
        .check_in(10, vec![entry])
        .expect("succeeds")
        .remove(0);
    let more = reply.expect("in force").more.len();
    assert_eq!(lease.pending.len() + more, 500);
    assert!(
        frontier.make_all_due(20, &everything()).is_err(),
        "revisits are damaged and must be read"
    );
}

/// If the database is missing, the link runs hold the only copy of their links and must not be removed.
#[test]
fn no_database_is_created_beside_link_runs() {
    let folder = Folder::new();
    let mut frontier = folder.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    send_links(&mut frontier, 0..3, 12);
    frontier.flush(0).expect("flushes");
    drop(frontier);
    let runs = run_files(&folder);
    assert!(!runs.is_empty());
    let path = folder.path().join(FILE);
    let refused = || {
        let error = Embedded::open(&folder.path(), small()).expect_err("refuses");
        assert!(matches!(error, FrontierError::Damaged { .. }), "{error}");
        let message = error.to_string();
        assert!(message.ends_with("missing or empty beside the links in frontier.runs"));
        assert_eq!(run_files(&folder), runs);
    };
    std::fs::remove_file(&path).expect("removes");
    refused();
    assert!(!path.exists());
    std::fs::write(&path, b"").expect("writes");
    refused();
    // Now the database is valid but has no tables.
    let db = rusqlite::Connection::open(&path).expect("opens");
    db.pragma_update(None, "journal_mode", "WAL").expect("sets");
    drop(db);
    refused();
    for run in &runs {
        std::fs::remove_file(run).expect("removes");
    }
    folder.open(small());
}
