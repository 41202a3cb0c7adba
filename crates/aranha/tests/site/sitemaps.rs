//! Sitemaps that list the pages of other hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use crate::resolver_to_loopback;
use crate::scripted_site::{ScriptedSite, crawl, page, run, status};

fn xml(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn sitemap(urls: &[String]) -> String {
    let entries: Vec<_> = urls
        .iter()
        .map(|url| format!("<url><loc>{url}</loc></url>"))
        .collect();
    let entries = entries.concat();
    xml(&format!(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>"
    ))
}

/// A site whose robots.txt names the sitemap at `sitemap`, if any.
fn site(sitemap: Option<String>) -> ScriptedSite {
    ScriptedSite::start(move |path, _, _| match (path, &sitemap) {
        ("/robots.txt", Some(sitemap)) => page(&format!("Sitemap: {sitemap}\n")),
        ("/robots.txt", None) => String::new(),
        _ => page("text"),
    })
}

/// Entries of another host count only if the robots.txt of that host names the sitemap (sitemaps.org, "Sitemaps & Cross
/// Submits"). The sitemap here is reached through an index.
#[test]
fn a_sitemap_counts_for_hosts_whose_robots_txt_names_it() {
    let ports: Arc<[AtomicU16; 3]> = Arc::default();
    let urls = {
        let ports = Arc::clone(&ports);
        move |paths: [&str; 3]| {
            let names = ["maps", "named", "unnamed"].into_iter();
            let urls = names.zip(paths).zip(ports.iter());
            urls.map(|((name, path), port)| {
                format!("http://{name}.example:{}{path}", port.load(Relaxed))
            })
            .collect::<Vec<_>>()
        }
    };
    let maps = {
        let urls = urls.clone();
        ScriptedSite::start(move |path, _, _| match path {
            "/robots.txt" => String::new(),
            "/index.xml" => xml(&format!(
                "<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>",
                urls(["/map.xml", "", ""])[0]
            )),
            "/map.xml" => sitemap(&urls(["/listed", "/listed", "/listed"])),
            "/listed" => page("text"),
            _ => status("404 Not Found"),
        })
    };
    ports[0].store(maps.port, Relaxed);
    let index = urls(["/index.xml", "", ""]).remove(0);
    let (named, unnamed) = (site(Some(index)), site(None));
    ports[1].store(named.port, Relaxed);
    ports[2].store(unnamed.port, Relaxed);
    let folder = tempfile::tempdir().unwrap();
    let seeds = urls(["", "/", "/"]);
    let mut command = crawl(folder.path(), &seeds[1]);
    command.args([
        &seeds[2],
        "--scope",
        "any",
        "--resolver",
        &resolver_to_loopback(),
    ]);
    run(&mut command);
    assert!(named.requests().contains(&"/listed".to_owned()));
    assert_eq!(maps.requests(), ["/index.xml", "/map.xml", "/listed"]);
    assert!(!unnamed.requests().contains(&"/listed".to_owned()));
}
