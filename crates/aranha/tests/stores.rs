//! Crawls whose volumes go to an object store (moto's S3 server) or to several disks.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod process;
#[path = "../../volume/tests/s3_server/mod.rs"]
mod s3_server;
mod support;

use std::path::Path;
use std::process::{Command, Output};

use aranha_lab::{Lab, Plan, Sizes};
use process::{BackgroundProcess, assert_error, run};
use s3_server::S3Server;
use serde_json::Value;
use support::{answered, aranha, assert_status, crawl, expected, finish, pages};

/// The secret key of the tests. It must not appear in any file or message.
const SECRET: &str = "the-secret-key-of-the-tests";

/// Adds the keys and the address of the server to the environment of a command, as users of AWS tools do.
fn with_keys(mut command: Command, server: u16) -> Command {
    command
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{server}"));
    command
}

/// A crawl into `s3://archive/PREFIX`, with volumes of a few pages that are not kept on the disk.
fn crawl_to_store(lab: &Lab, folder: &Path, server: u16) -> Command {
    let mut command = crawl(lab, folder, "5ms");
    command.args(["--volumes", "s3://archive/lab"]);
    command.args([
        "--set",
        "volume.keep_local=false",
        "--set",
        "volume.roll_size=30KB",
    ]);
    with_keys(command, server)
}

/// Runs a command that reads the collection.
fn read(arguments: &[&str], folder: &Path, server: u16) -> Output {
    let mut command = aranha();
    command.args(arguments).arg("-c").arg(folder);
    run(&mut with_keys(command, server))
}

fn local_volumes(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder.join("archive")).unwrap().flatten();
    let is_volume = |name: &str| name.contains(".warc.gz");
    names
        .filter(|entry| is_volume(&entry.file_name().to_string_lossy()))
        .count()
}

async fn small_lab() -> Lab {
    let plan = Plan {
        pages: Sizes {
            smallest: 8,
            largest: 60,
        },
        ..Plan::small(8)
    };
    Lab::start(plan).await.unwrap()
}

/// Whether any file of the folder contains the secret key.
fn has_secret(folder: &Path) -> bool {
    let output = run(Command::new("grep").args(["-r", "-l", SECRET]).arg(folder));
    output.status.success()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_keeps_its_archive_in_a_store() {
    let lab = small_lab().await;
    let server = S3Server::start(0);
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    let crawled = finish(crawl_to_store(&lab, &folder, server.port)).await;
    assert_status(&crawled, 0);
    assert_eq!(answered(&lab, &folder), expected(&lab));
    assert_eq!(local_volumes(&folder), 0);
    let objects = server.objects("lab/");
    let indexes = objects.iter().filter(|name| name.contains(".cdxj"));
    assert!(objects.len() > 6, "{objects:?}");
    assert_eq!(2 * indexes.count(), objects.len());
    let checked = read(&["check", "--json"], &folder, server.port);
    assert_status(&checked, 0);
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(report["volumes"], objects.len() / 2);
    let is_page = |page: &&Value| page["status"] == 200 && page["type"] == "text/html";
    let all = pages(&folder);
    for page in all.values().filter(is_page).take(5) {
        let url = page["url"].as_str().unwrap();
        assert!(page["archive"]["volume"].is_string(), "{page}");
        for command in ["cat", "history", "links"] {
            let output = read(&[command, url], &folder, server.port);
            assert_status(&output, 0);
            assert!(command == "links" || !output.stdout.is_empty(), "{url}");
        }
    }
    let status = read(&["status", "--json"], &folder, server.port);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(
        status["waiting_uploads"],
        serde_json::json!({"volumes": 0, "bytes": 0})
    );
    // A second crawl adds volumes.
    let mut again = crawl_to_store(&lab, &folder, server.port);
    again.arg("--again");
    assert_status(&finish(again).await, 0);
    assert!(server.objects("lab/").len() > objects.len());
    assert_eq!(local_volumes(&folder), 0);
    assert_status(&read(&["check"], &folder, server.port), 0);
    assert!(!has_secret(above.path()));
    // Without the server, a reader says what is missing.
    let port = server.port;
    server.stop();
    let url = all.values().find(is_page).unwrap()["url"].as_str().unwrap();
    assert_error(&read(&["cat", url], &folder, port), 1, "s3://archive/lab");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_goes_on_while_the_store_is_away() {
    let lab = small_lab().await;
    let server = S3Server::start(0);
    let port = server.port;
    server.stop();
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    assert_status(&finish(crawl_to_store(&lab, &folder, port)).await, 0);
    assert_eq!(answered(&lab, &folder), expected(&lab));
    let events = std::fs::read_to_string(folder.join("logs/events.jsonl")).unwrap();
    assert!(events.contains("\"store_down\""), "{events}");
    assert!(events.contains("\"uploads_wait\""), "{events}");
    let volumes = local_volumes(&folder);
    assert!(volumes > 3, "{volumes}");
    // The volumes that wait are read from the disk.
    assert_status(&read(&["check"], &folder, port), 0);
    let status = read(&["status"], &folder, port);
    let text = String::from_utf8(status.stdout).unwrap();
    assert!(
        text.contains(&format!("{volumes} closed volumes waiting")),
        "{text}"
    );
    let ship = ["ship", "--volumes", "s3://archive/lab", "--json"];
    assert_error(&read(&ship, &folder, port), 1, "s3://archive/lab");
    let server = S3Server::start(port);
    let shipped = read(&ship, &folder, port);
    assert_status(&shipped, 0);
    let report: Value = serde_json::from_slice(&shipped.stdout).unwrap();
    assert_eq!(report["volumes"], volumes);
    assert_eq!(server.objects("lab/").len(), 2 * volumes);
    assert!(!has_secret(above.path()));
}

/// The process is killed when the first volume is in the store. The next crawl continues both the crawl and the uploads.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_crawl_loses_nothing() {
    let lab = small_lab().await;
    let server = S3Server::start(0);
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    let mut running = BackgroundProcess::start(crawl_to_store(&lab, &folder, server.port));
    while server.requests(&["PUT", ".warc.gz"]) == 0 {
        assert!(running.0.try_wait().unwrap().is_none(), "the crawl ended");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    running.signal("KILL");
    running.wait().await;
    assert_status(&finish(crawl_to_store(&lab, &folder, server.port)).await, 0);
    assert_eq!(answered(&lab, &folder), expected(&lab));
    assert_eq!(local_volumes(&folder), 0);
    assert_status(&read(&["check"], &folder, server.port), 0);
}

/// The store accepts connections and never answers. Ctrl-C ends the wait at the end of the crawl.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_crawl_does_not_wait_for_a_store_that_hangs() {
    let lab = small_lab().await;
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    std::thread::spawn(move || silent.incoming().collect::<Vec<_>>());
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    let mut running = BackgroundProcess::start(crawl_to_store(&lab, &folder, port));
    let events = folder.join("logs/events.jsonl");
    while !std::fs::read_to_string(&events).is_ok_and(|text| text.contains("\"uploading\"")) {
        assert!(running.0.try_wait().unwrap().is_none(), "the crawl ended");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    running.signal("INT");
    // `wait` fails after a minute. Without the interruption, each request takes that long.
    assert_status(&running.wait().await, 0);
    assert!(local_volumes(&folder) > 3);
    assert_eq!(answered(&lab, &folder), expected(&lab));
}

/// Two disks, one of them small, in a mount namespace of the command. The large one takes over; then all is read.
#[tokio::test(flavor = "multi_thread")]
async fn the_second_disk_takes_over_when_the_first_is_full() {
    const SCRIPT: &str = r#"
        above=$1; shift
        mkdir "$above/one" "$above/two"
        mount -t tmpfs -o size=100k aranha "$above/one" || exit 99
        mount -t tmpfs -o size=20m aranha "$above/two" || exit 99
        dd if=/dev/zero of="$above/two/fill" bs=1k count=20400 2>/dev/null
        "$@" --volumes "$above/one" --volumes "$above/two" &
        crawl=$!
        until grep -qs '"created"' "$above/c/archive/stores.jsonl"; do
            kill -0 $crawl || exit 97
            sleep 0.01
        done
        rm "$above/two/fill"
        wait $crawl || exit 96
        ls "$above/one" "$above/two" "$above/c/archive"
        "$0" check -c "$above/c""#;
    let flags: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    let may_mount = |flags: &&&[&str]| {
        let mut command = Command::new("unshare");
        command.args(**flags);
        command.args(["mount", "-t", "tmpfs", "aranha", "/mnt"]);
        run(&mut command).status.success()
    };
    let Some(flags) = flags.iter().find(may_mount) else {
        println!("skipped: mount namespaces are not available");
        return;
    };
    let lab = small_lab().await;
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    let command = crawl(&lab, &folder, "5ms");
    let mut wrapped = Command::new("unshare");
    wrapped.args(*flags).args(["sh", "-c", SCRIPT]);
    wrapped.arg(command.get_program()).arg(above.path());
    wrapped.arg(command.get_program()).args(command.get_args());
    let output = finish(wrapped).await;
    assert_status(&output, 0);
    assert_eq!(answered(&lab, &folder), expected(&lab));
    let listed = String::from_utf8(output.stdout).unwrap();
    let volumes = listed.lines().filter(|line| line.ends_with(".warc.gz"));
    assert_eq!(volumes.count(), 2, "one on each disk: {listed}");
    let events = std::fs::read_to_string(folder.join("logs/events.jsonl")).unwrap();
    assert!(events.contains("\"volume_folder_left\""), "{events}");
}

#[test]
fn unusable_places_are_refused_before_anything_is_written() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("c");
    for (place, sentence) in [
        ("s3://", "s3://BUCKET"),
        ("http://archive/x", "s3://BUCKET"),
        ("s3://key:secret@archive", "AWS_ACCESS_KEY_ID"),
    ] {
        let output = run(aranha()
            .args(["crawl", "http://localhost/", "--volumes", place, "-c"])
            .arg(&folder));
        assert_eq!(output.status.code(), Some(2), "{place}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(sentence), "{message}");
        assert!(!folder.exists());
    }
}
