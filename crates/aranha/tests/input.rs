//! Tests of invalid input and unusable folders. The command prints an error with a hint, and nothing on stdout. It has
//! the right exit status and creates no folder. `snapshots.rs` compares the whole error messages.

mod process;
mod support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use aranha_lab::{Lab, Plan};
use process::{BackgroundProcess, assert_error, run};
use support::{answered, aranha, assert_status, assert_valid, crawl, expected, finish};

/// Requires that `aranha` rejects these arguments, and does not create the folder given with `-c`.
#[track_caller]
fn refused(arguments: &[impl AsRef<OsStr>], sentence: &str) {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let folder = parent.path().join("crawl");
    let mut command = aranha();
    command.args(arguments).arg("-c").arg(&folder);
    if arguments[0].as_ref() == "crawl" {
        // If the crawl starts by mistake, it must not send DNS queries to other machines.
        command.args(["--resolver", "127.0.0.1:9"]);
    }
    let output = run(&mut command);
    assert_error(&output, 2, sentence);
    assert!(!folder.exists(), "the folder was created");
}

#[test]
fn invalid_urls_are_rejected() {
    let web = ["crawl", "--contact", "test@localhost"];
    for (url, sentence) in [
        (
            "http://[::1",
            "argument 1: `http://[::1` cannot be crawled: malformed URL",
        ),
        (
            "http://",
            "argument 1: `http://` cannot be crawled: no host",
        ),
        ("http://a..b/", "host `a..b` has an empty label"),
        ("http://localhost:99999/", "invalid port number"),
        (
            "ht tp://example.org",
            "the scheme (http:// or https://) is missing",
        ),
        ("", "argument 1: `` cannot be crawled"),
        (
            "file:///etc/hosts",
            "the scheme is `file`, not http or https",
        ),
        (
            "mailto:me@host.invalid",
            "the scheme is `mailto`, not http or https",
        ),
        ("/etc/hosts", "argument 1: `/etc/hosts` cannot be crawled"),
    ] {
        refused(&[&web[..], &[url]].concat(), sentence);
        refused(&["seed", "add", url], sentence);
    }
    refused(
        &[&web[..], &["http://127.0.0.1:9/", "http://[::1"]].concat(),
        "argument 2: ",
    );
    let bytes = OsStr::from_bytes(b"http://example.org/\xff");
    refused(&[OsStr::new("crawl"), bytes], "invalid UTF-8");
}

/// The error names the line; none of the other 9,999 seeds is added.
#[test]
fn one_invalid_line_rejects_a_seed_file() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let file = parent.path().join("seeds.txt");
    let mut text: Vec<_> = (1..=10_000)
        .map(|number| format!("http://host{number}.example/"))
        .collect();
    text[4_999] = "http://[bad".to_owned();
    std::fs::write(&file, text.join("\n")).unwrap();
    let file = file.to_str().unwrap();
    let sentence = "seeds.txt, line 5000: `http://[bad` cannot be crawled";
    refused(
        &["crawl", "--contact", "test@localhost", "-i", file],
        sentence,
    );
    refused(&["seed", "import", file], sentence);
}

#[test]
fn empty_and_missing_seed_files_are_rejected() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let file = parent.path().join("empty.txt");
    std::fs::write(&file, "\n# nothing yet\n\n").unwrap();
    let file = file.to_str().unwrap();
    let contact = ["--contact", "test@localhost"];
    refused(
        &[&["crawl", "-i", file][..], &contact].concat(),
        "no seed was given",
    );
    refused(&["seed", "import", file], "there are no seeds in the input");
    refused(
        &["crawl", "-i", "/nowhere/seeds.txt"],
        "cannot read /nowhere/seeds.txt",
    );
}

#[test]
fn unknown_flags_and_invalid_values_are_rejected() {
    refused(
        &["crawl", "http://127.0.0.1:9/", "--puase", "1s"],
        "unexpected argument '--puase'",
    );
    refused(
        &["crawl", "http://127.0.0.1:9/", "--pages", "many"],
        "invalid value 'many' for '--pages <N>'",
    );
    refused(
        &[
            "crawl",
            "http://127.0.0.1:9/",
            "--user-agent",
            "me\nHost: you",
        ],
        "fetch.user_agent (flag --user-agent): cannot be sent in a header",
    );
    let bytes = OsStr::from_bytes(b"--\xff");
    refused(&[OsStr::new("crawl"), bytes], "unexpected argument");
}

#[test]
fn commands_report_a_missing_collection() {
    let page = "https://example.org/";
    for command in [
        &["status"][..],
        &["pages"],
        &["check"],
        &["why", page],
        &["text", page],
        &["links", page],
        &["cat", page],
    ] {
        refused(command, "is not a collection");
    }
    refused(
        &["crawl", "--contact", "test@localhost"],
        "is not a collection, and no seed was given",
    );
}

/// The error is the same for every command that reads the file, and no other file is created.
#[test]
fn configuration_errors_name_line_and_column() {
    for (text, sentence) in [
        (
            "[crawl]\npuase = \"1s\"\n",
            "line 2, column 1: unknown key `puase`",
        ),
        ("[crawl]\n  pause = 3\n", "line 2, column 11: "),
        (
            "[crawl]\npause = \"1s\"\npause = \"2s\"\n",
            "line 3, column 1: ",
        ),
        ("[crawl\n", "line 1, column 7: "),
        ("[nonsense]\n", "line 1, column 2: unknown key `nonsense`"),
        ("\n\nfetch = 1\n", "line 3, column 9: "),
    ] {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let file = parent.path().join("aranha.toml");
        std::fs::write(&file, text).unwrap();
        let sentence = format!("{}, {sentence}", file.display());
        let web = ["http://127.0.0.1:9/", "--contact", "test@localhost"];
        let collection = ["-c", parent.path().to_str().unwrap()];
        for command in [
            [&["crawl"][..], &web, &collection].concat(),
            [&["seed", "add", web[0]][..], &collection].concat(),
            [&["config", "show"][..], &collection].concat(),
        ] {
            assert_error(&run(aranha().args(&command)), 2, &sentence);
        }
        let left: Vec<_> = std::fs::read_dir(parent.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        refused(
            &[&["crawl"][..], &web, &["--config", file.to_str().unwrap()]].concat(),
            &sentence,
        );
    }
}

#[test]
fn a_collection_path_that_is_a_file_is_rejected() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let file = parent.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    for folder in [file.clone(), file.join("below")] {
        for command in [
            &["crawl", "http://127.0.0.1:9/", "--allow-private"][..],
            &["seed", "add", "http://127.0.0.1:9/"],
        ] {
            let output = run(aranha().args(command).arg("-c").arg(&folder));
            assert_error(
                &output,
                1,
                &format!("cannot create the collection `{}`: ", folder.display()),
            );
        }
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

/// A command that runs `aranha` without the capabilities of root, so that file permissions apply.
fn aranha_without_privileges() -> Command {
    let root = std::fs::metadata("/proc/self").expect("Linux").uid() == 0;
    if !root {
        return aranha();
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--bounding-set=-all", "--inh-caps=-all"])
        .arg(env!("CARGO_BIN_EXE_aranha"))
        .stdin(Stdio::null());
    command
}

/// Makes a folder read-only until this value is dropped.
struct ReadOnly<'a>(&'a Path);

impl<'a> ReadOnly<'a> {
    fn new(folder: &'a Path) -> Self {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o555))
            .expect("the permissions can be set");
        Self(folder)
    }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(self.0, PermissionsExt::from_mode(0o755));
    }
}

#[test]
fn a_read_only_folder_is_rejected() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let _read_only = ReadOnly::new(parent.path());
    for folder in [parent.path().join("crawl"), parent.path().to_owned()] {
        for command in [
            &["crawl", "http://127.0.0.1:9/", "--allow-private"][..],
            &["seed", "add", "http://127.0.0.1:9/"],
        ] {
            let output = run(aranha_without_privileges()
                .args(command)
                .arg("-c")
                .arg(&folder));
            let sentence = format!(
                "cannot create the collection `{}`: Permission denied",
                folder.display()
            );
            assert_error(&output, 1, &sentence);
        }
    }
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

/// A second crawl of a collection gets an error with the process ID of the first. Commands that read the collection
/// work. The first crawl is not disturbed, and stops cleanly on SIGTERM.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_collection_can_be_read_but_not_crawled() {
    // The pause is long enough that the first crawl is still running when it is stopped.
    const PAUSE: &str = "200ms";
    let lab = Lab::start(Plan::small(11)).await.unwrap();
    let parent = tempfile::tempdir().expect("a temporary folder");
    let folder = parent.path().join("crawl");
    let mut first = BackgroundProcess::start(crawl(&lab, &folder, PAUSE));
    lab.wait_for_requests(20).await;
    let sentence = format!("in use by process {}", first.0.id());
    let seed = ["seed", "add", "http://127.0.0.1:9/", "-c"];
    assert_error(&finish(crawl(&lab, &folder, PAUSE)).await, 1, &sentence);
    assert_error(&run(aranha().args(seed).arg(&folder)), 1, &sentence);
    for reader in [
        &["status"][..],
        &["pages"],
        &["why", &lab.seeds()[0]],
        &["check"],
    ] {
        assert_status(&run(aranha().args(reader).arg("-c").arg(&folder)), 0);
    }
    first.signal("TERM");
    let ended = first.wait().await;
    assert_status(&ended, 130);
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "");
    assert_valid(&folder);
    // The kernel sends SIGHUP when a terminal is closed.
    let seen = lab.count();
    let mut second = BackgroundProcess::start(crawl(&lab, &folder, PAUSE));
    lab.wait_for_requests(seen + 20).await;
    second.signal("HUP");
    assert_status(&second.wait().await, 130);
    assert_valid(&folder);
    assert!(
        answered(&lab, &folder).len() < expected(&lab).len(),
        "the crawl was still running"
    );
    // The same command continues the crawl and fetches the remaining pages.
    assert_status(&finish(crawl(&lab, &folder, "20ms")).await, 0);
    assert_eq!(answered(&lab, &folder), expected(&lab));
    check_closed_stdout(&folder, &lab.seeds()[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_continues_when_its_output_is_closed() {
    let lab = Lab::start(Plan::small(13)).await.unwrap();
    let parent = tempfile::tempdir().expect("a temporary folder");
    for (name, data) in [("words", &[][..]), ("data", &["--json"])] {
        let folder = parent.path().join(name);
        let (reader, writer) = std::io::pipe().expect("the system creates a pipe");
        drop(reader);
        let mut command = aranha();
        command
            .arg("crawl")
            .args(lab.seeds())
            .args(["--scope", "any", "--allow-private", "--pause", "1ms"])
            .args(["--resolver", &lab.resolver().to_string()])
            .args(data)
            .arg("-c")
            .arg(&folder)
            .stdout(writer.try_clone().unwrap())
            .stderr(writer);
        assert_eq!(finish_status(command).await, Some(0), "{name}");
        assert_eq!(answered(&lab, &folder), expected(&lab), "{name}");
    }
}

/// Runs a command to its end without capturing its output.
async fn finish_status(mut command: Command) -> Option<i32> {
    let status = tokio::task::spawn_blocking(move || command.status());
    let ended = status.await.expect("waiting does not panic");
    ended.expect("the binary runs").code()
}

/// A closed stdout, as with `aranha … | head`, is not an error.
fn check_closed_stdout(folder: &Path, page: &str) {
    for command in [
        &["pages", "--json"][..],
        &["status"],
        &["why", page],
        &["text", page],
        &["cat", page],
    ] {
        let (reader, writer) = std::io::pipe().expect("the system creates a pipe");
        drop(reader);
        let output = run(aranha().args(command).arg("-c").arg(folder).stdout(writer));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command:?}");
        assert_status(&output, 0);
    }
}
