//! The revisit policy `selective` on daily crawls: the server's log shows which pages were requested on each day.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::daily::{DAY, START, crawl_with};
use crate::scripted_site::{ScriptedSite, links, page};

const BUSY: [&str; 4] = ["/busy/1", "/busy/2", "/busy/3", "/busy/4"];
const CALM: [&str; 4] = ["/calm/1", "/calm/2", "/calm/3", "/calm/4"];

/// Crawls the site once a day. Returns the requests of each day. `today` is the number of the day, which the server's
/// script reads.
fn crawl_daily(
    site: &ScriptedSite,
    today: &AtomicUsize,
    days: usize,
    revisit: &str,
) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let policy = if revisit.contains("policy") {
        ""
    } else {
        "policy = \"selective\""
    };
    let revisit = format!("{policy}\nspread = 0\n{revisit}\n");
    let day = |day: usize| {
        today.store(day, Relaxed);
        let before = site.requests().len();
        let noon = START + day as i64 * DAY + DAY / 2;
        crawl_with(noon, folder.path(), site, &revisit);
        site.requests().split_off(before)
    };
    (0..days).map(day).collect()
}

/// Number of days on which all of these pages were requested.
fn full(days: &[Vec<String>], pages: &[&str]) -> usize {
    let has = |day: &Vec<String>, page: &str| day.iter().any(|path| path == page);
    let is_full = |day: &&Vec<String>| pages.iter().all(|page| has(day, page));
    days.iter().filter(is_full).count()
}

/// The entry page and two lists of links never change. The pages of one list change every day, those of the other never.
/// With `all_pages` each list is judged by its own links.
#[test]
fn each_list_of_links_is_judged_by_its_own_pages() {
    let requested = |selective: &str| {
        let site = ScriptedSite::start(|path, _, before| match path {
            "/robots.txt" => String::new(),
            "/" => links(&["/busy", "/calm"]),
            "/busy" => links(&BUSY),
            "/calm" => links(&CALM),
            path if path.starts_with("/busy/") => page(&format!("{path} version {before}")),
            path => page(path),
        });
        // With one visit of history every page is due every day, so only `selective` passes pages over.
        let revisit = format!("history_visits = 1\nselective = \"{selective}\"");
        let days = crawl_daily(&site, &AtomicUsize::new(0), 24, &revisit).split_off(8);
        (full(&days, &BUSY), full(&days, &CALM))
    };
    let (busy, calm) = requested("all_pages");
    assert!(busy >= 15 && calm <= 6, "of 16 days: {busy} {calm}");
    // One group for the whole site cannot tell the lists apart.
    let (busy, calm) = requested("entry_pages");
    assert!(busy.abs_diff(calm) <= 1, "of 16 days: {busy} {calm}");
}

/// The second way: if a page has not changed, its links are requested on the same day, although it is not their turn.
#[test]
fn the_second_way_descends_into_the_links_of_unchanged_pages() {
    const CHANGES: usize = 10;
    let run = |policy: &str| {
        let today = Arc::new(AtomicUsize::new(0));
        let day = Arc::clone(&today);
        let site = ScriptedSite::start(move |path, _, _| match path {
            "/robots.txt" => String::new(),
            "/" => links(&["/calm"]),
            // Changes every day, until it changes no more.
            "/calm" => {
                let version = day.load(Relaxed).min(CHANGES);
                let list = CALM.map(|path| format!("<a href={path}>link</a>")).concat();
                page(&format!("version {version} {list}"))
            }
            path => page(path),
        });
        crawl_daily(&site, &today, CHANGES + 4, policy)
    };
    let has = |day: &Vec<String>, page: &str| day.iter().any(|path| path == page);
    let descend = run("selective = \"descend\"");
    let (changing, unchanged) = descend.split_at(CHANGES + 1);
    // While the list changes every day, it is requested every day, and its links at their own turns.
    assert_eq!(full(changing, &["/calm"]), CHANGES + 1, "{changing:?}");
    assert!(full(changing, &CALM) <= 6, "{changing:?}");
    // The list is unchanged: whenever it is requested, its links are requested too.
    let visits: Vec<_> = unchanged.iter().filter(|day| has(day, "/calm")).collect();
    assert!(visits.len() >= 2, "{unchanged:?}");
    assert_eq!(full(unchanged, &CALM), visits.len(), "{unchanged:?}");
    // With `frequency` they are not.
    let frequency = run("policy = \"frequency\"").split_off(CHANGES + 1);
    assert!(
        frequency
            .iter()
            .any(|day| has(day, "/calm") && !has(day, CALM[0])),
        "{frequency:?}"
    );
}
