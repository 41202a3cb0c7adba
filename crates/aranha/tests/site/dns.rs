//! Host names whose DNS answers are scripted: several addresses, and names that do not exist.

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::outcomes;
use crate::scripted_site::{ScriptedSite, crawl, links, page, run, status};

/// The answer to a query.
pub(crate) enum DnsAnswer {
    /// One A record for each address 127.0.0.N, where N is in this list. A query for another type gets no records.
    Loopback(&'static [u8]),
    NoSuchName,
    /// Like `NoSuchName`, with the SOA record of the zone that has no such name.
    NoSuchNameIn(&'static str),
}

/// A DNS server whose answers are a function of the name.
pub(crate) struct DnsServer {
    address: String,
    /// Name and record type of every query, in order.
    queries: Arc<Mutex<Vec<(String, u8)>>>,
}

impl DnsServer {
    pub(crate) fn start(script: impl Fn(&str) -> DnsAnswer + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let queries = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&queries);
        std::thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((_, from)) = socket.recv_from(&mut query) {
                let (name, end) = name(&query);
                let record_type = query[end + 1];
                log.lock().unwrap().push((name.clone(), record_type));
                let mut answer = query[..end + 4].to_vec();
                answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0]);
                match script(&name) {
                    DnsAnswer::NoSuchName => answer[3] = 0x83,
                    DnsAnswer::NoSuchNameIn(zone) => {
                        answer[3] = 0x83;
                        answer[9] = 1;
                        answer.push(zone.len() as u8);
                        answer.extend(zone.as_bytes());
                        // The root after the zone, type SOA, class IN, TTL 60, two names (the root), five numbers.
                        answer.extend([0, 0, 6, 0, 1, 0, 0, 0, 60, 0, 22, 0, 0]);
                        answer.extend([0, 0, 0, 60].repeat(5));
                    }
                    DnsAnswer::Loopback(hosts) if record_type == 1 => {
                        answer[7] = hosts.len() as u8;
                        for host in hosts {
                            // One record: the name of the question, type A, class IN, TTL 60, address 127.0.0.`host`.
                            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
                            answer.extend([127, 0, 0, *host]);
                        }
                    }
                    DnsAnswer::Loopback(_) => {}
                }
                let _ = socket.send_to(&answer, from);
            }
        });
        Self { address, queries }
    }

    /// The command that crawls with this DNS server.
    pub(crate) fn crawl(&self, folder: &Path, seed: &str) -> Command {
        let mut command = crawl(folder, seed);
        command.args(["--resolver", &self.address, "--scope", "any"]);
        command
    }
}

/// The name in the question of a query, and the position after it.
fn name(query: &[u8]) -> (String, usize) {
    let mut labels = Vec::new();
    let mut position = 12;
    while query[position] > 0 {
        let end = position + 1 + usize::from(query[position]);
        labels.push(String::from_utf8_lossy(&query[position + 1..end]).to_lowercase());
        position = end;
    }
    (labels.join("."), position + 1)
}

/// The first three of the four addresses refuse connections, so the fourth must be tried (RFC 1123, 2.3).
#[test]
fn every_address_of_a_name_is_tried() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/a"]),
        _ => page("text"),
    });
    let dns = DnsServer::start(|_| DnsAnswer::Loopback(&[5, 6, 7, 1]));
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://many.example:{}/", site.port);
    run(&mut dns.crawl(folder.path(), &seed));
    let expected =
        [("/", "200"), ("/a", "200")].map(|(path, outcome)| (path.to_owned(), outcome.to_owned()));
    assert_eq!(outcomes(folder.path()), expected.into());
    let queries = dns.queries.lock().unwrap().len();
    assert_eq!(queries, 2, "A and AAAA, once for both pages");
}

/// The name above `www.dead.example` does not exist, so `www.dead.example` does not exist either (RFC 8020) and is not
/// looked up.
#[test]
fn a_name_that_does_not_exist_costs_one_query_of_each_type() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["http://dead.example/"]),
        _ => status("404 Not Found"),
    });
    let dns = DnsServer::start(|name| match name {
        "live.example" => DnsAnswer::Loopback(&[1]),
        _ => DnsAnswer::NoSuchName,
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://live.example:{}/", site.port);
    run(&mut dns.crawl(folder.path(), &seed));
    let queries = dns.queries.lock().unwrap();
    let mut dead: Vec<_> = queries
        .iter()
        .filter(|(name, _)| name.ends_with("dead.example"))
        .cloned()
        .collect();
    dead.sort();
    assert_eq!(
        dead,
        [1, 28].map(|record_type| ("dead.example".to_owned(), record_type))
    );
}

/// The name server answers that `www.dead.example` does not exist in the zone `example`. So `dead.example` is not a
/// zone and is not looked up. The bare name of a site whose own zone has no `www.` is looked up.
#[test]
fn a_www_name_in_no_zone_costs_one_query_of_each_type() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => page("text"),
        _ => status("404 Not Found"),
    });
    let dns = DnsServer::start(|name| match name {
        "live.example" => DnsAnswer::Loopback(&[1]),
        "www.live.example" => DnsAnswer::NoSuchName,
        _ => DnsAnswer::NoSuchNameIn("example"),
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = |name: &str| format!("http://www.{name}.example:{}/", site.port);
    run(dns.crawl(folder.path(), &seed("live")).arg(seed("dead")));
    let queries = dns.queries.lock().unwrap();
    let mut names: Vec<_> = queries.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let once = ["live.example", "www.dead.example", "www.live.example"];
    assert_eq!(names, once.map(|name| [name; 2]).concat());
}

/// A page links to 600 names that do not exist. After `thresholds.dead_hosts` such names, further names from the same
/// site are not looked up. A name that another site links to as well is looked up.
#[test]
fn dead_names_are_looked_up_at_the_expense_of_their_source() {
    let other = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["http://dead599.example/"]),
        _ => status("404 Not Found"),
    });
    let names: Vec<_> = (0..600)
        .map(|number| format!("http://dead{number}.example/"))
        .collect();
    let flood = ScriptedSite::start(move |path, _, _| match path {
        "/" => links(&names.iter().map(String::as_str).collect::<Vec<_>>()),
        _ => status("404 Not Found"),
    });
    let dns = DnsServer::start(|name| match name {
        "flood.example" | "other.example" => DnsAnswer::Loopback(&[1]),
        _ => DnsAnswer::NoSuchName,
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://flood.example:{}/", flood.port);
    let other_seed = format!("http://other.example:{}/", other.port);
    run(dns.crawl(folder.path(), &seed).arg(other_seed));
    let queries = dns.queries.lock().unwrap();
    let dead: std::collections::BTreeSet<_> = queries
        .iter()
        .filter(|(name, _)| name.starts_with("dead"))
        .map(|(name, _)| name.as_str())
        .collect();
    assert!((100..150).contains(&dead.len()), "{} names", dead.len());
    assert!(dead.contains("dead599.example"));
}

/// The server of `www.half.example` refuses connections. The bare name has another address, which answers.
#[test]
fn the_twin_of_a_name_with_a_dead_server_is_tried() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("text"),
    });
    let dns = DnsServer::start(|name| match name {
        "half.example" => DnsAnswer::Loopback(&[1]),
        "www.half.example" | "www.dead.example" | "dead.example" => DnsAnswer::Loopback(&[5]),
        _ => DnsAnswer::NoSuchName,
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = |name: &str| format!("http://www.{name}.example:{}/", site.port);
    run(dns.crawl(folder.path(), &seed("half")).arg(seed("dead")));
    let expected = [("/".to_owned(), "200".to_owned())];
    assert_eq!(outcomes(folder.path()), expected.into());
}

/// Every name below `.example` that nobody registered has the address 127.0.0.9. The profile `vn2006` refuses this
/// address.
#[test]
fn the_target_of_a_top_level_wildcard_is_refused() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["http://misprint.example/"]),
        _ => status("404 Not Found"),
    });
    let dns = DnsServer::start(|name| match name {
        "live.example" => DnsAnswer::Loopback(&[1]),
        _ => DnsAnswer::Loopback(&[9]),
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://live.example:{}/", site.port);
    run(dns
        .crawl(folder.path(), &seed)
        .args(["--profile", "vn2006"]));
    let list = std::fs::read_to_string(folder.path().join("blacklist.txt")).unwrap();
    assert!(list.contains("127.0.0.9"), "{list}");
    let log = std::fs::read_to_string(folder.path().join("logs/crawl.log")).unwrap();
    let misprint = log.lines().find(|line| line.contains("misprint.example"));
    let refused = "black-list_entry_127.0.0.9";
    assert!(misprint.unwrap().contains(refused), "{log}");
    assert_eq!(outcomes(folder.path())["/"], "200");
}

/// The server of the second seed refuses connections, so its site stores no address. The second crawl finds the address
/// in the DNS cache of the first.
#[test]
fn the_dns_cache_is_kept_between_crawls() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("text"),
    });
    let dns = DnsServer::start(|name| match name {
        "live.example" => DnsAnswer::Loopback(&[1]),
        _ => DnsAnswer::Loopback(&[5]),
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = |name: &str| format!("http://{name}.example:{}/", site.port);
    run(dns.crawl(folder.path(), &seed("live")).arg(seed("down")));
    let first = dns.queries.lock().unwrap().len();
    run(dns.crawl(folder.path(), &seed("live")).arg("--again"));
    let queries = dns.queries.lock().unwrap();
    assert_eq!(queries[first..], []);
    let log = std::fs::read_to_string(folder.path().join("logs/crawl.log")).unwrap();
    assert_eq!(
        log.matches(&seed("down")).count(),
        2,
        "tried in both crawls: {log}"
    );
}
