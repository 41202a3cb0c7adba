//! Replays real sites through the trap check in many orders of pages, and counts the orders in which a site is postponed
//! or blocked. The figures in `docs/decisions/0008-novelty.md` were made with it.
//!
//! ```text
//! cargo run --release -p aranha-engine --example trap_replay -- SEEDS FOLDER…
//! ```
//!
//! Each folder is a site of HTML files, such as `/usr/share/doc/rust-doc/html`. The orders are breadth first, depth first,
//! reverse, by size in both directions, all pages in reverse; and SEEDS times each: a random page of the queue, breadth
//! and depth first and random from a random page, breadth first from a page with many links, all pages in random order.
//! Where a page cannot be reached from the first one, another site links to it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::error::Error;
use std::path::{Path, PathBuf};

use aranha_engine::{ReplayPage, ReplayVerdict, TrapReplay};
use aranha_page::{Input, LinkKind, Options};
use aranha_url::{Base, Canonicaliser, UrlRules};

/// The default of `thresholds.trap_pages`.
const LIMIT: u32 = 50;
/// The limits for which the orders are counted, to show how far the default is from harm.
const LIMITS: [u32; 5] = [10, 20, 30, 40, LIMIT];

/// Random numbers that are the same in every run (`SplitMix64`).
struct Chance(u64);

impl Chance {
    fn of(seed: u64, stream: u64) -> Chance {
        Chance(seed << 8 | stream)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((value ^ (value >> 31)) % bound as u64) as usize
    }
}

/// A site, and the number of its home page.
struct Site {
    pages: Vec<SitePage>,
    home: usize,
}

struct SitePage {
    reading: ReplayPage,
    size: usize,
    links: Vec<usize>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().unwrap_or_default().parse()?;
    for folder in arguments {
        let Site { pages, home } = read_site(Path::new(&folder))?;
        let orders = orders(&pages, home, seeds);
        println!("{folder}: {} pages, {} orders", pages.len(), orders.len());
        for limit in LIMITS {
            let mut postponed = 0;
            let mut blocked = 0;
            let mut cut = 0;
            for order in &orders {
                let (is_postponed, unfetched) = replay(&pages, order, limit);
                postponed += usize::from(is_postponed);
                blocked += usize::from(unfetched > 0);
                cut += unfetched;
            }
            println!(
                "  trap_pages = {limit}: postponed in {postponed} orders, blocked in {blocked}, {cut} pages cut"
            );
        }
    }
    Ok(())
}

/// Whether the site is postponed, and the number of pages that are not fetched because it is blocked.
fn replay(pages: &[SitePage], order: &[(usize, u32)], limit: u32) -> (bool, usize) {
    let mut check = TrapReplay::default();
    let mut is_postponed = false;
    for (index, &(page, new)) in order.iter().enumerate() {
        let page = &pages[page];
        match check.add_page(&page.reading, page.links.len() as u32, new, limit) {
            ReplayVerdict::Continue => {}
            ReplayVerdict::Postponed => is_postponed = true,
            ReplayVerdict::Blocked => return (is_postponed, order.len() - index - 1),
        }
    }
    (is_postponed, 0)
}

fn read_site(folder: &Path) -> Result<Site, Box<dyn Error>> {
    let mut files = Vec::new();
    find_pages(folder, &mut files)?;
    files.sort();
    let url = |path: &str| format!("http://site.example/{path}");
    let canonicaliser = Canonicaliser::new(UrlRules::default());
    let mut urls = HashMap::new();
    for (number, file) in files.iter().enumerate() {
        let name = file.strip_prefix(folder)?.to_string_lossy().into_owned();
        let mut names = vec![name.clone()];
        names.extend(name.strip_suffix("index.html").map(str::to_owned));
        for name in names {
            if let Ok(url) = canonicaliser.canon(&url(&name)) {
                urls.insert(url.path().to_owned(), number);
            }
        }
    }
    let mut pages = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let body = std::fs::read(file)?;
        let own = url(&file.strip_prefix(folder)?.to_string_lossy());
        let input = Input {
            url: &own,
            content_type: Some("text/html; charset=utf-8"),
            body: &body,
            content_language: None,
        };
        let page = aranha_page::read(&input, &Options::default());
        let base = Base::of(
            &canonicaliser
                .canon(&own)
                .map_err(|why| format!("{own}: {why:?}"))?,
        );
        let mut links = Vec::new();
        for link in &page.links {
            let found = canonicaliser.join(&base, &link.href).ok();
            let found = found.filter(|url| url.site() == "site.example");
            if let Some(&target) = found.and_then(|url| urls.get(url.path()))
                && link.kind != LinkKind::Asset
                && target != number
            {
                links.push(target);
            }
        }
        let mut seen = BTreeSet::new();
        links.retain(|target| seen.insert(*target));
        pages.push(SitePage {
            reading: ReplayPage::of(&page),
            size: body.len(),
            links,
        });
    }
    let home = urls.get("/").copied().unwrap_or_default();
    Ok(Site { pages, home })
}

fn find_pages(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_pages(&path, files)?;
        } else if path.extension().is_some_and(|name| name == "html") {
            files.push(path);
        }
    }
    Ok(())
}

/// From which end of the queue the next page is taken.
#[derive(Clone, Copy)]
enum Next {
    First,
    Last,
    Random,
    Smallest,
    Largest,
}

/// Each order: the pages, with the number of new links of each.
fn orders(pages: &[SitePage], home: usize, seeds: u64) -> Vec<Vec<(usize, u32)>> {
    let all = |reverse: bool| -> Vec<usize> {
        let order: Vec<usize> = (0..pages.len()).collect();
        if reverse {
            order.into_iter().rev().collect()
        } else {
            order
        }
    };
    let mut orders = vec![
        order(pages, vec![all(true)], Next::First, Chance::of(0, 0)),
        order(pages, vec![all(false)], Next::First, Chance::of(0, 0)),
    ];
    for next in [Next::First, Next::Last, Next::Smallest, Next::Largest] {
        orders.push(order(pages, vec![vec![home]], next, Chance::of(0, 0)));
    }
    let mut hubs = all(false);
    hubs.sort_by_key(|page| std::cmp::Reverse(pages[*page].links.len()));
    for seed in 1..=seeds {
        let mut chance = Chance::of(seed, 0);
        let mut shuffled = all(false);
        for last in (1..shuffled.len()).rev() {
            shuffled.swap(last, chance.below(last + 1));
        }
        let hub = hubs[chance.below(hubs.len().min(200))];
        let starts: Vec<Vec<usize>> = shuffled.iter().map(|page| vec![*page]).collect();
        orders.push(order(
            pages,
            vec![vec![home]],
            Next::Random,
            Chance::of(seed, 1),
        ));
        orders.push(order(
            pages,
            vec![vec![hub]],
            Next::First,
            Chance::of(seed, 2),
        ));
        for next in [Next::First, Next::Last, Next::Random] {
            orders.push(order(pages, starts.clone(), next, Chance::of(seed, 3)));
        }
        orders.push(order(
            pages,
            vec![shuffled],
            Next::First,
            Chance::of(seed, 4),
        ));
    }
    orders
}

/// Crawls the site from each group of pages that other sites link to, one group after the other.
fn order(
    pages: &[SitePage],
    groups: Vec<Vec<usize>>,
    next: Next,
    mut chance: Chance,
) -> Vec<(usize, u32)> {
    let mut known = vec![false; pages.len()];
    let mut order = Vec::new();
    let mut queue = VecDeque::new();
    let mut sorted = BTreeSet::new();
    for group in groups {
        for page in group {
            if !std::mem::replace(&mut known[page], true) {
                queue.push_back(page);
                sorted.insert((pages[page].size, page));
            }
        }
        loop {
            let page = match next {
                Next::First => queue.pop_front(),
                Next::Last => queue.pop_back(),
                Next::Random if queue.is_empty() => None,
                Next::Random => queue.swap_remove_back(chance.below(queue.len())),
                Next::Smallest => sorted.pop_first().map(|(_, page)| page),
                Next::Largest => sorted.pop_last().map(|(_, page)| page),
            };
            let Some(page) = page else {
                queue.clear();
                sorted.clear();
                break;
            };
            let mut new = 0;
            for &link in &pages[page].links {
                if !std::mem::replace(&mut known[link], true) {
                    new += 1;
                    queue.push_back(link);
                    if matches!(next, Next::Smallest | Next::Largest) {
                        sorted.insert((pages[link].size, link));
                    }
                }
            }
            order.push((page, new));
        }
    }
    order
}
