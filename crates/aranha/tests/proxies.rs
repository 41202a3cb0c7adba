//! Crawls through proxies (`fetch.proxy`): Debian's Squid for HTTP, and microsocks for SOCKS5. The servers are the
//! lab's.
//!
//! Only the lab's own DNS server knows the names of the lab. Squid reads them from a hosts file. So it acts like a
//! proxy in a network that has other name servers than the crawler.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod daemon;
mod scripted_site;
mod support;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aranha_lab::{CourtesyScope, Crawler, Lab, Plan, Violation};
use daemon::{Daemon, free_port};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::{
    answered, aranha, archive_text, assert_status, assert_valid, expected, finish, pages,
};

const SQUID: &str = "/usr/sbin/squid";
const MICROSOCKS: &str = "/usr/bin/microsocks";
const HOST: &str = "127.0.0.1";
const PAUSE: Duration = Duration::from_millis(20);

/// The login that both proxies accept, and its forms in requests.
const LOGIN: &str = "anna:s3cret";
const SECRETS: [&str; 3] = ["s3cret", "YW5uYTpzM2NyZXQ", "Proxy-Authorization"];

/// Time limit of every wait.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// A proxy and the folder with its files.
struct Proxy {
    daemon: Daemon,
    folder: tempfile::TempDir,
}

impl Proxy {
    /// Starts a Squid with these lines before `http_access deny all`; `HERE` is replaced by its folder. It can resolve
    /// the names of the lab, and caches nothing.
    fn squid(lab: Option<&Lab>, lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Squid started by root runs as another user.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let here = folder.path().display().to_string();
        let names = lab.map_or_else(String::new, hosts);
        fs::write(folder.path().join("hosts"), names).unwrap();
        // `openssl passwd -1 -salt ab s3cret`
        let users = "anna:$1$ab$uCzd2IA9Rb.P73vs8WgwD1\n";
        fs::write(folder.path().join("users"), users).unwrap();
        let lines = lines.replace("HERE", &here);
        let name = format!("proxies{}", free_port(HOST));
        let arguments = ["-N", "-n", &name, "-f"];
        let daemon = Daemon::start(folder.path(), SQUID, HOST, &arguments, |port| {
            format!(
                "http_port {HOST}:{port}\n{lines}http_access deny all\ncache deny all\npid_filename none\n\
                 hosts_file {here}/hosts\ncache_log {here}/cache.log\naccess_log stdio:{here}/access.log\n\
                 logfile_rotate 0\nnetdb_filename none\npinger_enable off\ncoredump_dir {here}\n\
                 visible_hostname squid.example\nshutdown_lifetime 0 seconds\nconnect_timeout 5 seconds\n"
            )
        });
        Self { daemon, folder }
    }

    /// Starts a Squid that requires the login.
    fn squid_with_login(lab: &Lab) -> Self {
        let lines = "auth_param basic program /usr/lib/squid/basic_ncsa_auth HERE/users\n\
            auth_param basic children 1\nacl users proxy_auth REQUIRED\nhttp_access allow users\n";
        Self::squid(Some(lab), lines)
    }

    /// Starts microsocks on this port. With `login`, it requires the login.
    fn microsocks(port: u16, login: bool) -> Self {
        assert!(
            Path::new(MICROSOCKS).exists(),
            "{MICROSOCKS} is missing: run ./test once to install the tools of the tests"
        );
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(MICROSOCKS);
        command.args(["-i", HOST, "-p", &port.to_string()]);
        if login {
            let (user, password) = LOGIN.split_once(':').unwrap();
            command.args(["-u", user, "-P", password]);
        }
        let log = folder.path().join("log");
        let daemon = Daemon::wait(&mut command, HOST, port, &log);
        Self { daemon, folder }
    }

    /// The URL of the proxy with the login.
    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{LOGIN}@{HOST}:{}", self.daemon.port)
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

/// The hosts of the lab as a hosts file.
fn hosts(lab: &Lab) -> String {
    let names = (0..lab.plan().sites).flat_map(|number| {
        let name = format!("site{number:03}.lab");
        [format!("www.{name}"), name]
    });
    let lines = names.filter_map(|name| {
        let address = lab.web().address(&name)?;
        Some(format!("{address} {name}\n"))
    });
    lines.collect()
}

/// The command that crawls the whole lab through a proxy.
fn crawl(lab: &Lab, folder: &Path, proxy: &str) -> Command {
    let mut command = support::crawl(lab, folder, "20ms");
    command.args(["--proxy", proxy]);
    command
}

/// The command that crawls one URL through a proxy, and prints messages.
fn crawl_one(folder: &Path, seed: &str, proxy: &str) -> Command {
    let mut command = aranha();
    command
        .args([
            "crawl",
            seed,
            "--allow-private",
            "--contact",
            "test@localhost",
            "--pause",
            "0",
        ])
        .args(["--proxy", proxy, "-c"])
        .arg(folder);
    command
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn events(folder: &Path) -> String {
    fs::read_to_string(folder.join("logs/events.jsonl")).unwrap_or_default()
}

/// Waits until the text occurs in the event log.
async fn wait_for_event(folder: &Path, text: &str) {
    let deadline = Instant::now() + MAX_WAIT;
    while !events(folder).contains(text) {
        assert!(Instant::now() < deadline, "{text}: {}", events(folder));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Checks that no file below `folder` contains one of the texts.
fn assert_absent(folder: &Path, texts: &[&str]) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_absent(&path, texts);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        for text in texts {
            let found = bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes());
            assert!(!found, "{} contains {text}", path.display());
        }
    }
}

/// Checks that the crawl has fetched every page of the lab, with courtesy, and that its archive is valid.
fn assert_complete(lab: &Lab, collection: &Path) {
    let found = answered(lab, collection);
    let missed: BTreeSet<_> = expected(lab)
        .into_iter()
        .filter(|(url, status)| found.get(url) != Some(status))
        .collect();
    assert_eq!(missed, BTreeSet::new());
    assert_eq!(lab.tally(&Crawler::default(), PAUSE).missed, [""; 0]);
    assert_valid(collection);
}

/// The records of an archive, each with its headers.
fn records(collection: &Path) -> Vec<String> {
    let text = archive_text(collection);
    text.split("WARC/1.1\r\n")
        .skip(1)
        .map(str::to_owned)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_is_crawled_through_squid() {
    let plan = Plan {
        secure: 70,
        ..Plan::small(7)
    };
    let lab = Lab::start(plan).await.unwrap();
    let squid = Proxy::squid_with_login(&lab);
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let output = finish(crawl(&lab, &collection, &squid.url("http"))).await;
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    // aranha also looks up the names, so it keeps the pause per address, too.
    assert_eq!(lab.violations(PAUSE), []);
    let log = squid.log("access.log");
    let through = |method: &str| log.lines().filter(|line| line.contains(method)).count();
    assert!(through(" CONNECT ") > 5 && through(" GET ") > 50, "{log}");

    assert_absent(&collection, &SECRETS);
    let archive = records(&collection);
    let proxy = format!("proxy: http://{HOST}:{}\r\n", squid.daemon.port);
    assert!(archive[0].contains(&proxy), "{}", archive[0]);
    let (mut plain, mut secure) = (0, 0);
    for record in &archive {
        assert!(
            !SECRETS.iter().any(|secret| record.contains(secret)),
            "{record}"
        );
        // The address of the server is not known, and the address of the proxy is not recorded in its place.
        assert!(!record.contains("WARC-IP-Address"), "{record}");
        if record.contains("WARC-Type: response") {
            // Responses are stored as received. Squid adds the header `Via` to the responses that it can read.
            let is_plain = record.contains("WARC-Target-URI: http://");
            assert_eq!(
                record.contains("Via: 1.1 squid.example"),
                is_plain,
                "{record}"
            );
            *(if is_plain { &mut plain } else { &mut secure }) += 1;
        }
    }
    assert!(plain > 20 && secure > 20, "{plain} {secure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socks5_proxy_gets_the_addresses_that_the_archive_names() {
    let plan = Plan {
        secure: 50,
        ..Plan::small(7)
    };
    let lab = Lab::start(plan).await.unwrap();
    let proxy = Proxy::microsocks(free_port(HOST), true);
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let output = finish(crawl(&lab, &collection, &proxy.url("socks5"))).await;
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    assert_eq!(lab.violations(PAUSE), []);
    let connections = proxy.log("log").matches("connected to").count();
    assert!(connections > 10, "{}", proxy.log("log"));
    assert_absent(&collection, &SECRETS);
    let addresses: BTreeSet<_> = records(&collection)
        .iter()
        .filter_map(|record| {
            let (_, rest) = record.split_once("WARC-IP-Address: ")?;
            Some(rest.split("\r\n").next()?.to_owned())
        })
        .collect();
    let servers: BTreeSet<_> = lab
        .web()
        .addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(addresses, servers);
}

/// In this network only the proxy can resolve names.
#[tokio::test(flavor = "multi_thread")]
async fn a_web_is_crawled_through_squid_without_name_servers() {
    let lab = Lab::start(Plan::small(7)).await.unwrap();
    let squid = Proxy::squid(Some(&lab), "http_access allow all\n");
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let url = format!("http://{HOST}:{}", squid.daemon.port);
    let mut command = crawl(&lab, &collection, &url);
    command.args([
        "--set",
        &format!("fetch.resolvers=[\"{HOST}:{}\"]", free_port(HOST)),
    ]);
    let output = finish(command).await;
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    assert_eq!(lab.questions(), []);
    // The pause per site is kept even if no addresses are known.
    let per_site = |violation: &Violation| matches!(violation.scope, CourtesyScope::Site(_));
    assert!(!lab.violations(PAUSE).iter().any(per_site));
    assert!(
        events(&collection).contains("no_local_dns"),
        "{}",
        events(&collection)
    );
}

/// A proxy that is down for a while is not the fault of the sites.
#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_waits_while_the_proxy_is_down() {
    let lab = Lab::start(Plan::small(7)).await.unwrap();
    let port = free_port(HOST);
    let proxy = Proxy::microsocks(port, false);
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let command = crawl(&lab, &collection, &proxy.url("socks5"));
    // When the proxy is killed, requests in flight break off. With these settings they are repeated soon.
    let retries = "[crawl]\ncheck_in_interval = \"100ms\"\npause_factor = 0\nidle_wait = \"5s\"\n\
        [retry]\nreset = [\"1s\", \"1s\"]\nserver_down = [\"1s\", \"1s\"]\nrobots_unreachable = [\"1s\", \"1s\"]\n";
    fs::write(collection.with_extension("settings.toml"), retries).unwrap();
    let crawling = tokio::spawn(finish(command));
    lab.wait_for_requests(40).await;
    drop(proxy);
    wait_for_event(&collection, "\"proxy_down\"").await;
    let requests = lab.count();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(lab.count(), requests, "no request while the proxy is down");
    let mut status = aranha();
    status.args(["status", "--json", "-c"]).arg(&collection);
    let status: Value = serde_json::from_slice(&finish(status).await.stdout).unwrap();
    assert_eq!(status["crawl"]["waits_for"], "proxy");
    let mut status = aranha();
    status.args(["status", "-c"]).arg(&collection);
    let text = finish(status).await.stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("waits until the proxy can be reached again"),
        "{text}"
    );

    let _proxy = Proxy::microsocks(port, false);
    let output = crawling.await.unwrap();
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    assert!(events(&collection).contains("\"proxy_up\""));
    let failed: Vec<_> = pages(&collection)
        .into_iter()
        .filter(|(_, page)| page["status"].is_null() && page["outcome"] != "robots.txt refused")
        .collect();
    assert_eq!(failed, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_that_waits_for_the_proxy_can_be_interrupted() {
    let lab = Lab::start(Plan::small(7)).await.unwrap();
    let proxy = Proxy::microsocks(free_port(HOST), false);
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let mut command = crawl(&lab, &collection, &proxy.url("socks5"));
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    lab.wait_for_requests(20).await;
    drop(proxy);
    wait_for_event(&collection, "\"proxy_down\"").await;
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    let began = Instant::now();
    kill_process(pid, Signal::INT).unwrap();
    let status = support::wait(child).await;
    assert_eq!(status.code(), Some(130));
    // The request that waits for the proxy ends at once. Other requests in flight would have 5 seconds to end.
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_login_stops_the_crawl_and_no_page_fails() {
    let lab = Lab::start(Plan::small(7)).await.unwrap();
    let squid = Proxy::squid_with_login(&lab);
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let place = format!("{HOST}:{}", squid.daemon.port);
    for wrong in [
        format!("http://{place}"),
        format!("http://anna:wr0ng@{place}"),
    ] {
        let began = Instant::now();
        let output = finish(crawl(&lab, &collection, &wrong)).await;
        assert_status(&output, 3);
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
        let text = stderr(&output);
        let sentence = format!(
            "error: the proxy http://{place} cannot be used: it wants a login, or rejects the user or the password (407)\n\
             hint: check scheme, host, port and login of the proxy"
        );
        assert!(text.contains(&sentence), "{text}");
        assert!(!text.contains("wr0ng"), "{text}");
        assert_eq!(lab.count(), 0);
        assert!(pages(&collection).is_empty(), "no page was recorded");
    }
    // The proxy is stored without its login.
    let stored = fs::read_to_string(collection.join("aranha.toml")).unwrap();
    assert!(
        stored.contains(&format!("proxy = \"http://{place}\"")),
        "{stored}"
    );
    let output = finish(crawl(&lab, &collection, &squid.url("http"))).await;
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    assert_absent(&collection, &SECRETS);
}

#[test]
fn a_wrong_proxy_is_noticed_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let socks = Proxy::microsocks(free_port(HOST), true);
    let squid = Proxy::squid(None, "http_access allow all\n");
    let closed = free_port(HOST);
    for (proxy, problem) in [
        (format!("http://{HOST}:{closed}"), "connection refused"),
        (format!("socks5h://{HOST}:{closed}"), "connection refused"),
        (
            format!("socks5://{HOST}:{}", socks.daemon.port),
            "it wants a login, or does not serve this machine",
        ),
        (
            format!("socks5://anna:wr0ng@{HOST}:{}", socks.daemon.port),
            "it rejects the user or the password",
        ),
        (
            format!("socks5://{HOST}:{}", squid.daemon.port),
            // Squid waits for the end of an HTTP request, so it does not answer the greeting.
            "no answer to the SOCKS greeting within 10 s",
        ),
    ] {
        let output = crawl_one(&collection, "http://127.0.0.1:9/", &proxy)
            .output()
            .unwrap();
        assert_status(&output, 3);
        let text = stderr(&output);
        assert!(
            text.contains(&format!("cannot be used: {problem}\nhint: ")),
            "{text}"
        );
        assert!(
            text.contains("--proxy none") && !text.contains("wr0ng"),
            "{text}"
        );
        assert!(!collection.exists());
    }
    for (proxy, problem) in [
        (
            "http://anna:s3cret@proxy.example.org".to_owned(),
            "the port of the proxy is missing",
        ),
        (
            "https://anna:s3cret@proxy.example.org:443".to_owned(),
            "over TLS",
        ),
        ("@no-such-file".to_owned(), "no-such-file: No such file"),
        (
            "$ARANHA_NO_SUCH_VARIABLE".to_owned(),
            "the environment variable ARANHA_NO_SUCH_VARIABLE is not set",
        ),
    ] {
        let output = crawl_one(&collection, "http://127.0.0.1:9/", &proxy)
            .output()
            .unwrap();
        assert_status(&output, 2);
        let text = stderr(&output);
        assert!(text.contains(problem) && !text.contains("s3cret"), "{text}");
        assert!(!collection.exists());
    }
    // `check_proxies` only connects to an HTTP proxy, so the first request finds this problem.
    let wrong = format!("http://{HOST}:{}", socks.daemon.port);
    let output = crawl_one(&collection, "http://127.0.0.1:9/", &wrong)
        .output()
        .unwrap();
    assert_status(&output, 3);
    let text = stderr(&output);
    let problem = "cannot be used: it is a SOCKS5 proxy; write socks5:// or socks5h://\nhint: ";
    assert!(text.contains(problem), "{text}");
}

#[test]
fn servers_that_a_proxy_does_not_reach_fail_with_a_reason() {
    let closed = free_port(HOST);
    let denied = free_port(HOST);
    let rule =
        format!("acl denied port {denied}\nhttp_access deny denied\nhttp_access allow all\n");
    let squid = Proxy::squid(None, &rule);
    let socks = Proxy::microsocks(free_port(HOST), false);
    let http = format!("http://{HOST}:{}", squid.daemon.port);
    let socks = format!("socks5h://{HOST}:{}", socks.daemon.port);
    let squid_failed = "the proxy could not connect to the server (503";
    for (proxy, scheme, port, words) in [
        (&http, "http", closed, squid_failed),
        (&http, "https", closed, squid_failed),
        (
            &http,
            "http",
            denied,
            "the rules of the proxy do not allow a connection to this server (403, ERR_ACCESS_DENIED)",
        ),
        (
            &http,
            "https",
            denied,
            "the rules of the proxy do not allow a connection to this server (403",
        ),
        (
            &socks,
            "http",
            closed,
            "the server refused the connection of the proxy (SOCKS5 code 5)",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let collection = folder.path().join("c");
        let seed = format!("{scheme}://{HOST}:{port}/");
        let output = crawl_one(&collection, &seed, proxy).output().unwrap();
        assert_status(&output, 4);
        let text = stderr(&output);
        assert!(
            text.contains(&format!("connection failed: {words}")),
            "{text}"
        );
    }
}

/// The error page comes from the proxy and not from the site, so nothing may be stored.
#[test]
fn error_pages_of_the_proxy_are_not_archived() {
    let squid = Proxy::squid(None, "http_access allow all\n");
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let seed = format!("http://{HOST}:{}/", free_port(HOST));
    let proxy = format!("http://{HOST}:{}", squid.daemon.port);
    assert_status(&crawl_one(&collection, &seed, &proxy).output().unwrap(), 4);
    let archive = fs::read_dir(collection.join("archive")).unwrap();
    assert_eq!(archive.count(), 0, "there is no volume");
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_variables_are_obeyed_and_named() {
    let lab = Lab::start(Plan::small(7)).await.unwrap();
    let squid = Proxy::squid_with_login(&lab);
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let command = |collection: &Path| {
        let mut command = support::crawl(&lab, collection, "20ms");
        // Removes `--quiet`, so that notes are printed.
        let arguments: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
        command = aranha();
        command.args(arguments.iter().filter(|argument| *argument != "--quiet"));
        command.env("http_proxy", squid.url("http"));
        command
    };
    let output = finish(command(&collection)).await;
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    let note = format!(
        "note: requests for http URLs go through the proxy http://{HOST}:{} (environment variable http_proxy); --proxy none \
         connects directly",
        squid.daemon.port
    );
    assert!(stderr(&output).contains(&note), "{}", stderr(&output));
    let requests = squid.log("access.log").lines().count();
    assert!(requests > 50, "{requests}");
    // A proxy that an environment variable names is not stored in the collection.
    let stored = fs::read_to_string(collection.join("aranha.toml")).unwrap();
    assert!(!stored.contains("proxy"), "{stored}");
    assert_absent(&collection, &SECRETS);

    // With `none`, the crawl connects directly.
    let direct = folder.path().join("direct");
    let mut without = command(&direct);
    without.args(["--proxy", "none"]);
    let output = finish(without).await;
    assert_status(&output, 0);
    assert!(!stderr(&output).contains("proxy"), "{}", stderr(&output));
    assert_eq!(squid.log("access.log").lines().count(), requests);
    let stored = fs::read_to_string(direct.join("aranha.toml")).unwrap();
    assert!(stored.contains("proxy = \"none\""), "{stored}");
}

/// If only an environment variable names a proxy, requests to servers on this machine are sent directly.
#[test]
fn loopback_is_reached_without_the_proxy_of_the_environment() {
    let site = scripted_site::ScriptedSite::start(|_, _, _| scripted_site::page("here"));
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let closed = TcpListener::bind((HOST, 0)).unwrap().local_addr().unwrap();
    let mut command = scripted_site::crawl(&collection, &site.url("/"));
    command.env("http_proxy", format!("http://{closed}"));
    assert_status(&command.output().unwrap(), 0);
    assert_eq!(site.requests(), ["/"]);
}

#[test]
fn the_login_is_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.txt");
    fs::write(&file, "socks5h://anna:s3cret@127.0.0.1:9050\n").unwrap();
    let show = |proxy: &str| {
        let mut command = aranha();
        let output = command
            .args(["config", "show", "--json", "--proxy", proxy])
            .output()
            .unwrap();
        assert_status(&output, 0);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("s3cret") && !text.contains("anna"), "{text}");
        let all: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(all["fetch.proxy"]["origin"], "flag --proxy");
        all["fetch.proxy"]["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(show("http://anna:s3cret@h:1"), "http://(hidden)@h:1");
    assert_eq!(show("none"), "none");
    assert_eq!(show("$MY_PROXY"), "$MY_PROXY");
    let shown = show(&format!("@{}", file.display()));
    assert_eq!(shown, format!("@{}", file.display()));
    let relative: PathBuf = show("@proxy.txt").trim_start_matches('@').into();
    assert!(relative.is_absolute(), "{}", relative.display());
}
