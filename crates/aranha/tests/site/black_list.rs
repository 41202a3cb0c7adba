//! The two black lists of a crawl: that of the configuration, and that of the collection.

use std::path::Path;
use std::process::Command;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run, run_without_answer};
use crate::support::{aranha, assert_status};
use crate::{outcomes, resolver_to_loopback, settings};

#[test]
fn a_seed_on_the_black_list_is_not_fetched() {
    let site = ScriptedSite::start(|_, _, _| page("never"));
    let folder = tempfile::tempdir().unwrap();
    let file = settings(
        folder.path(),
        &format!("[crawl]\nblacklist = [\"{}\"]\n", site.url("/")),
    );
    let collection = folder.path().join("c");
    run_without_answer(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    assert_eq!(site.requests(), Vec::<String>::new());
    assert_eq!(outcomes(&collection)["/"], "blocked");
}

/// The collection stores the path of the list. Later commands must find it, whatever folder they run in.
#[test]
fn a_black_list_file_is_found_relative_to_its_configuration() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/open", "/shut"]),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("cfg")).unwrap();
    std::fs::write(folder.path().join("cfg/list.txt"), site.url("/shut")).unwrap();
    std::fs::write(
        folder.path().join("cfg/mine.toml"),
        "[crawl]\nblacklist_files = [\"list.txt\"]\n",
    )
    .unwrap();
    let here = |command: &mut Command| run(command.current_dir(folder.path()));
    here(crawl(Path::new("c"), &site.url("/")).args(["--config", "cfg/mine.toml"]));
    here(&mut crawl(Path::new("c"), &site.url("/")));
    here(aranha().args(["why", &site.url("/shut"), "-c", "c"]));
    assert_eq!(site.requests(), ["/", "/open"]);
}

/// A list with invalid UTF-8 must not be treated as empty.
#[test]
fn an_unreadable_black_list_is_an_error() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    let why = || {
        let mut command = aranha();
        command.args(["why", &site.url("/"), "-c"]).arg(&collection);
        command
    };
    run(&mut why());
    std::fs::write(collection.join("blacklist.txt"), b"127.0.0.1 # caf\xe9\n").unwrap();
    let output = why().output().unwrap();
    assert_status(&output, 1);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("blacklist.txt: "), "{text}");
}

#[test]
fn an_address_range_on_the_black_list_blocks_host_names() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let seed = format!("http://localhost:{}/", site.port);
    run(&mut crawl(&collection, &seed));
    assert_eq!(site.requests(), ["/"]);
    run(aranha()
        .args(["block", "127.0.0.0/8", "::1", "-c"])
        .arg(&collection));
    run_without_answer(crawl(&collection, &seed).arg("--again"));
    assert_eq!(site.requests(), ["/"]);
    assert_eq!(outcomes(&collection)["/"], "address refused");
}

/// The stored name of a site is lower case and without `www.`.
#[test]
fn unblock_accepts_other_spellings_of_a_host() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let resolver = resolver_to_loopback();
    let home = format!("http://www.foo.example:{}/", site.port);
    let visit = || {
        run(crawl(&collection, &home).args(["--again", "--resolver", &resolver]));
        site.requests().len()
    };
    let output_of = |arguments: &[&str]| {
        let mut command = aranha();
        let output = command.args(arguments).arg("-c").arg(&collection);
        let output = output.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        (output.status.code().unwrap(), text)
    };
    assert_eq!(visit(), 1);
    for empty in ["", " ", "#foo"] {
        let (status, text) = output_of(&["block", empty]);
        assert_eq!(status, 2, "{text}");
        assert!(text.contains("hint: "), "{text}");
    }
    assert_eq!(output_of(&["block", "WWW.Foo.Example"]).0, 0);
    assert_eq!(visit(), 1);
    let (_, blocked) = output_of(&["status", "--blocked"]);
    assert_eq!(
        blocked,
        "WWW.Foo.Example  1 site  blocked by the black list\n"
    );
    let (_, blocked) = output_of(&["status", "--blocked", "--json"]);
    assert!(
        blocked.contains(r#""entry":"WWW.Foo.Example""#),
        "{blocked}"
    );
    let place = format!("-c {}", collection.display());
    let (_, why) = output_of(&["why", &home]);
    let hint = format!("aranha unblock 'WWW.Foo.Example' {place} unblocks it");
    assert!(why.contains(&hint), "{why}");
    let (status, text) = output_of(&["unblock", "www.foo.EXAMPLE", "typo.example"]);
    assert_eq!(status, 1);
    assert!(
        text.contains("1 entry removed from the black list, 1 site unblocked"),
        "{text}"
    );
    assert!(
        text.contains("`typo.example` is neither on the black list nor a blocked site"),
        "{text}"
    );
    assert!(text.contains(&place), "{text}");
    assert_eq!(visit(), 2);
}

/// The server of one port is blocked; another server on the same host is not.
#[test]
fn an_entry_with_a_port_blocks_only_that_port() {
    let start = || {
        ScriptedSite::start(|path, _, _| match path {
            "/robots.txt" => String::new(),
            _ => page("here"),
        })
    };
    let (one, other) = (start(), start());
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let visit = || run(crawl(&collection, &one.url("/")).args([&other.url("/"), "--again"]));
    visit();
    let entry = format!("127.0.0.1:{}", one.port);
    run(aranha().args(["block", &entry, "-c"]).arg(&collection));
    visit();
    assert_eq!((one.requests().len(), other.requests().len()), (1, 2));
    run(aranha().args(["unblock", &entry, "-c"]).arg(&collection));
    visit();
    assert_eq!((one.requests().len(), other.requests().len()), (2, 3));
}

/// `block` takes filters, and `--reject` takes entries of the black list.
#[test]
fn block_and_reject_share_one_syntax() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/calendar/?month=1", "/calendar/", "/docs/a", "/b"]),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    for (name, on_black_list) in [("block", true), ("reject", false)] {
        let collection = folder.path().join(name);
        let before = site.requests().len();
        for entry in ["path:/calendar/* and query:*", &site.url("/docs/*")] {
            if on_black_list {
                run(aranha()
                    .args(["seed", "add", &site.url("/"), "-c"])
                    .arg(&collection));
                run(aranha().args(["block", entry, "-c"]).arg(&collection));
            } else {
                run(crawl(&collection, &site.url("/")).args(["--reject", entry, "--pages", "1"]));
            }
        }
        run(&mut crawl(&collection, &site.url("/")));
        let mut requests = site.requests().split_off(before);
        requests.sort();
        requests.dedup();
        assert_eq!(requests, ["/", "/b", "/calendar/"], "{name}");
    }
    let collection = folder.path().join("block");
    let list = || std::fs::read_to_string(collection.join("blacklist.txt")).unwrap();
    assert_eq!(list().lines().count(), 2);
    run(aranha()
        .args(["unblock", "path:/calendar/* and query:*", "-c"])
        .arg(&collection));
    assert_eq!(list().lines().count(), 1, "{}", list());
}

/// The media type of a page is not known when its link is found, so `--reject` cannot test it.
#[test]
fn reject_refuses_tests_of_responses() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(&folder.path().join("c"), "http://127.0.0.1:9/");
    let output = command.args(["--reject", "type:image/*"]).output().unwrap();
    assert_status(&output, 2);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("`type` is known only when a page has been fetched"),
        "{text}"
    );
    assert!(text.contains("hint: use --keep"), "{text}");
}
