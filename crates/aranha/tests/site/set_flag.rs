//! Tests of `crawl --set`. The value takes effect, and a new collection keeps it unless it is a limit.

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};

#[test]
fn a_new_collection_keeps_the_values_of_set() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/a", "/b"]),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let mut command = crawl(&collection, &site.url("/"));
    command.args(["--set", "crawl.reject=[\"path:/b\"]"]);
    run(command.args(["--set", "crawl.soft_404=false", "--set", "crawl.pages=1"]));
    assert_eq!(site.requests(), ["/"]);
    let stored = std::fs::read_to_string(collection.join("aranha.toml")).unwrap();
    assert!(stored.contains("reject = [\"path:/b\"]"), "{stored}");
    assert!(stored.contains("soft_404 = false"), "{stored}");
    assert!(!stored.contains("pages"), "{stored}");
    let mut later = crate::support::aranha();
    run(later.args(["crawl", "--quiet", "-c"]).arg(&collection));
    assert_eq!(site.requests(), ["/", "/a"]);
}
