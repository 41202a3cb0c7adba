//! `aranha forget`: contents are deleted from the archive, and stay deleted.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod process;
mod scripted_site;
mod support;

use std::path::Path;
use std::process::Output;

use aranha_test_database::new_address;
use process::{assert_error, run};
use scripted_site::{ScriptedSite, crawl, links, page, status};
use serde_json::Value;
use support::{aranha, archive_text, assert_status, assert_valid};

const SECRET: &str = "um segredo que ninguém mais deve ler";

/// A site with a page that its owner wants deleted, a copy of it, and another page. `first` is one more link.
fn site(first: &'static str) -> ScriptedSite {
    ScriptedSite::start(move |path, _, before| match path {
        "/" => links(&[first, "/secret", "/copy", "/other"]),
        "/chunked" => {
            let body = secret_page();
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
                 {:x}\r\n{body}\r\n0\r\n\r\n",
                body.len()
            )
        }
        "/secret" | "/copy" => {
            let response = page(&secret_page());
            response.replacen("\r\n", "\r\nETag: \"1\"\r\n", 1)
        }
        "/other" => page(&format!("<p>outra página, versão {before}</p>")),
        _ => status("404 Not Found"),
    })
}

fn secret_page() -> String {
    let padding = "<p>palavras para um corpo mais longo</p>".repeat(20);
    format!("<title>página</title><p>{SECRET}</p>{padding}")
}

fn forget(target: &str, flags: &[&str], folder: &Path) -> Output {
    run(aranha()
        .args(["forget", target])
        .args(flags)
        .arg("-c")
        .arg(folder))
}

fn read(command: &str, url: &str, folder: &Path) -> Output {
    run(aranha().args([command, url, "-c"]).arg(folder))
}

/// What is said about contents that remain in one other folder.
fn remaining(output: &Output) -> String {
    assert_status(output, 1);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("1 other folder of the crawl still has contents"),
        "{message}"
    );
    message
}

fn json(output: &Output) -> Value {
    assert_status(output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_page_is_forgotten_with_all_its_versions() {
    let site = site("/other");
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    scripted_site::run(&mut crawl(&folder, &site.url("/")));
    scripted_site::run(crawl(&folder, &site.url("/")).arg("--again"));
    let (secret, copy) = (site.url("/secret"), site.url("/copy"));
    assert!(archive_text(&folder).contains(SECRET));

    let flags = ["--reason", "pedido 17", "--json"];
    let planned = json(&forget(
        &secret,
        &[&flags[..], &["--dry-run"]].concat(),
        &folder,
    ));
    assert!(archive_text(&folder).contains(SECRET));
    assert_eq!(planned["records"], 2, "{planned}");
    assert_eq!(planned["copies"], serde_json::json!([copy]));
    let done = json(&forget(&secret, &flags, &folder));
    assert_eq!(done["records"], 2);

    assert!(!archive_text(&folder).contains(SECRET));
    assert_valid(&folder);
    assert_status(&run(aranha().args(["check", "-c"]).arg(&folder)), 0);
    assert_error(&read("cat", &secret, &folder), 1, "pedido 17");
    assert_error(&read("text", &copy, &folder), 1, "was deleted");
    assert_status(&read("cat", &site.url("/other"), &folder), 0);
    for command in ["why", "history"] {
        let output = read(command, &secret, &folder);
        assert_status(&output, 0);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("forgotten on 20"), "{text}");
        assert!(text.contains("UTC: pedido 17"), "{text}");
    }
    let known = json(&run(aranha()
        .args(["why", &secret, "--json", "-c"])
        .arg(&folder)));
    assert_eq!(known["forgotten"]["reason"], "pedido 17");
    let events = std::fs::read_to_string(folder.join("logs/events.jsonl")).unwrap();
    assert!(events.contains("\"notice\":\"forgotten\""), "{events}");

    // The next crawl does not request the page, and stores the copy anew: its record referred to the deleted one.
    let before = site.requests().len();
    scripted_site::run(crawl(&folder, &site.url("/")).arg("--again"));
    let requests = site.requests().split_off(before);
    assert!(!requests.contains(&"/secret".to_owned()), "{requests:?}");
    assert!(requests.contains(&"/copy".to_owned()), "{requests:?}");
    assert_status(&read("text", &copy, &folder), 0);
    assert_status(&run(aranha().args(["check", "-c"]).arg(&folder)), 0);

    // The same again, now with the copies.
    let again = json(&forget(&secret, &["--copies", "--json"], &folder));
    assert_eq!(again["already"], 2, "{again}");
    assert_status(&forget(&copy, &[], &folder), 0);
    assert!(!archive_text(&folder).contains(SECRET));
    assert_valid(&folder);
    assert_error(
        &forget(&site.url("/nothing"), &[], &folder),
        1,
        "no content of",
    );
}

#[test]
fn copies_are_forgotten_with_the_page() {
    let site = site("/chunked");
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    scripted_site::run(&mut crawl(&folder, &site.url("/")));
    let done = json(&forget(
        &site.url("/copy"),
        &["--copies", "--json"],
        &folder,
    ));
    // The chunked copy is stored with another digest.
    assert_eq!(done["records"], 3, "{done}");
    assert!(!archive_text(&folder).contains(SECRET));
    let before = site.requests().len();
    scripted_site::run(crawl(&folder, &site.url("/")).arg("--again"));
    let requests = site.requests().split_off(before);
    assert_eq!(requests, ["/", "/other"]);
    let output = read("history", &site.url("/secret"), &folder);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("as a copy of"), "{text}");
}

#[test]
fn a_site_is_forgotten_and_can_be_fetched_again() {
    let site = site("/other");
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    scripted_site::run(&mut crawl(&folder, &site.url("/")));
    let name = format!("127.0.0.1:{}", site.port);
    let done = json(&forget(&name, &["--no-block", "--json"], &folder));
    assert!(done["records"].as_u64().unwrap() >= 4, "{done}");
    let text = archive_text(&folder);
    assert!(!text.contains(SECRET) && !text.contains("outra página"));
    assert_valid(&folder);
    for path in ["/", "/secret", "/copy", "/other"] {
        assert_error(&read("cat", &site.url(path), &folder), 1, "was deleted");
    }
    // Without the validators, the server sends the pages again.
    scripted_site::run(&mut crawl(&folder, &site.url("/")));
    assert_eq!(site.conditional_requests(), [""; 0]);
    assert_status(&read("text", &site.url("/secret"), &folder), 0);
    assert!(archive_text(&folder).contains(SECRET));
    assert_status(&run(aranha().args(["check", "-c"]).arg(&folder)), 0);
}

/// Each of two folders of one crawl has a version of the page and of its copy. A third one has nothing.
#[test]
fn a_page_is_forgotten_in_every_folder_of_a_shared_crawl() {
    let site = site("/other");
    let above = tempfile::tempdir().unwrap();
    let address = new_address();
    let [one, two] = ["one", "two"].map(|name| above.path().join(name));
    let crawl_in = |folder: &Path, flags: &[&str]| {
        let mut command = crawl(folder, &site.url("/"));
        scripted_site::run(command.args(["--frontier", &address]).args(flags));
    };
    crawl_in(&one, &[]);
    crawl_in(&two, &["--again"]);
    let secret = site.url("/secret");
    let flags = ["--copies", "--reason", "pedido 18", "--json"];

    let planned = json(&forget(
        &secret,
        &[&flags[..], &["--dry-run"]].concat(),
        &one,
    ));
    assert_eq!(planned["records"], 2, "{planned}");
    let elsewhere = &planned["elsewhere"];
    assert_eq!(elsewhere[0]["records"], 2, "{planned}");
    let place = elsewhere[0]["place"].as_str().unwrap();
    assert!(place.ends_with(two.to_str().unwrap()), "{place}");
    assert!(archive_text(&one).contains(SECRET));

    // Only this folder is changed. The message names the other one, and the command to run there.
    let message = remaining(&forget(&secret, &flags[..3], &one));
    let two_path = std::fs::canonicalize(&two).unwrap();
    let command = format!(
        "aranha forget {secret} -c {} --copies --reason 'pedido 18'",
        two_path.display()
    );
    assert!(message.contains(&command), "{message}");
    assert!(!archive_text(&one).contains(SECRET));
    assert!(archive_text(&two).contains(SECRET));
    assert_error(&read("cat", &secret, &one), 1, "pedido 18");
    assert_status(&read("cat", &secret, &two), 0);

    // A folder without volumes changes nothing, and the other folder still has to do its part.
    let mut nowhere = aranha();
    nowhere.args(["forget", &secret, "--copies", "--frontier", &address]);
    nowhere.args(["-c", "/nonexistent"]);
    let output = run(&mut nowhere);
    let message = remaining(&output);
    assert!(
        message.contains("2 records of other folders forgotten before"),
        "{message}"
    );

    let done = json(&forget(&secret, &flags, &two));
    assert_eq!(
        (&done["records"], &done["elsewhere"]),
        (&2.into(), &serde_json::json!([]))
    );
    assert!(!archive_text(&two).contains(SECRET));
    let again = json(&forget(&secret, &flags, &one));
    assert_eq!(
        (&again["records"], &again["already"]),
        (&0.into(), &2.into())
    );
    assert_status(&run(&mut nowhere), 0);
    for folder in [&one, &two] {
        assert_valid(folder);
        assert_status(&run(aranha().args(["check", "-c"]).arg(folder)), 0);
        // Every folder knows what any of them has forgotten.
        for url in [&secret, &site.url("/copy")] {
            let output = read("why", url, folder);
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains("pedido 18"), "{text}");
        }
    }
    assert_error(&read("cat", &secret, &two), 1, "pedido 18");

    // Page and copy are on the black list of all nodes.
    let before = site.requests().len();
    crawl_in(&above.path().join("three"), &["--again"]);
    assert_eq!(site.requests().split_off(before), ["/", "/other"]);
}
