//! Tests stdout, stderr and exit status of commands that need no crawl. `snapshots.rs` compares whole outputs.

mod command_line;
mod help;

use command_line::{CommandResult, aranha};

#[test]
fn url_canon_prints_canonical_urls() {
    aranha(&["url", "canon"])
        .input("HTTP://Example.ORG:80/a/../b#c\n\n  https://example.org/%7euser \n")
        .stdout("http://example.org/b\nhttps://example.org/~user\n")
        .stderr("")
        .status(0);
}

#[test]
fn url_canon_prints_the_reason_of_a_rejection() {
    let run = aranha(&["url", "canon"]).input("https://example.org/\nmailto:a@example.org\n");
    assert_eq!(run.stdout_text(), "https://example.org/\n");
    let message = run.stderr_text();
    assert!(
        message.starts_with("line 2: mailto:a@example.org: "),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
    run.status(1);
}

#[test]
fn url_canon_escapes_control_characters() {
    let run = aranha(&["url", "canon", "mailto:\u{1b}[2Jx"]).input("");
    assert!(!run.stderr_text().contains('\u{1b}'));
    assert!(
        run.stderr_text()
            .starts_with("argument 1: mailto:\\u{1b}[2Jx: ")
    );
    run.status(1);
}

#[test]
fn json_output_escapes_control_characters() {
    aranha(&["url", "canon", "--json"])
        .input("nothing\u{9b}2J\u{7f}\u{202e}\n")
        .stdout(
            "{\"input\":\"nothing\\u009b2J\\u007f\\u202e\",\"reason\":\"malformed URL: the scheme (http:// or https://) is missing\"}\n",
        )
        .status(1);
}

#[test]
fn url_canon_json_keeps_the_order() {
    let run = aranha(&[
        "url",
        "canon",
        "--json",
        "https://www.example.org/",
        "javascript:x",
    ])
    .input("");
    let lines: Vec<serde_json::Value> = run
        .stdout_text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("the line is JSON"))
        .collect();
    assert_eq!(lines[0]["url"], "https://www.example.org/");
    assert_eq!(lines[0]["site"], "example.org");
    assert_eq!(lines[0]["key"].as_str().map(str::len), Some(32));
    assert_eq!(lines[1]["input"], "javascript:x");
    assert!(lines[1]["reason"].is_string(), "{}", lines[1]);
    run.status(1);
}

#[test]
fn url_canon_uses_the_rules_of_a_profile() {
    aranha(&[
        "url",
        "canon",
        "--profile",
        "vn2006",
        "https://example.org/a/index.html",
    ])
    .input("")
    .stdout("https://example.org/a/\n")
    .status(0);
}

#[test]
fn robots_allowed_names_the_rule() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("robots.txt");
    std::fs::write(
        &file,
        "User-agent: *\nDisallow: /private/\nAllow: /private/open\n",
    )
    .expect("the file is written");
    let file = file.display().to_string();
    let arguments = ["robots", "allowed", "--agent", "aranha", "--file", &file];
    aranha(&arguments)
        .input("https://example.org/private/x\nhttps://example.org/private/open\n/public\n")
        .stdout(
            "refused\thttps://example.org/private/x\tline 2: Disallow: /private/\n\
             allowed\thttps://example.org/private/open\tline 3: Allow: /private/open\n\
             allowed\t/public\tno rule\n",
        )
        .stderr("")
        .status(0);
    let run = aranha(&[&arguments[..], &["--json", "/private/x"]].concat()).input("");
    let line: serde_json::Value =
        serde_json::from_str(&run.stdout_text()).expect("the line is JSON");
    assert_eq!(line["allowed"], false);
    assert_eq!(line["rule"]["line"], 2);
    run.status(0);
    aranha(&[&arguments[..], &["--json", "mailto:me@example.org", "/"]].concat())
        .input("")
        .stdout(
            "{\"reason\":\"the scheme is `mailto`, not http or https\",\"url\":\"mailto:me@example.org\"}\n\
             {\"allowed\":true,\"rule\":null,\"url\":\"/\"}\n",
        )
        .stderr("")
        .status(1);
}

#[test]
fn robots_allowed_reports_a_missing_file() {
    let run = aranha(&["robots", "allowed", "--agent", "x", "--file", "nowhere.txt"]).input("/\n");
    assert!(
        run.stderr_text()
            .starts_with("error: cannot read nowhere.txt: "),
        "{}",
        run.stderr_text()
    );
    run.status(1);
}

#[test]
fn config_show_prints_the_origin_of_each_value() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "[crawl]\nsites = 5\n").expect("the file is written");
    let file = file.display().to_string();
    let run = aranha(&[
        "config",
        "show",
        "--profile",
        "vn2006",
        "--config",
        &file,
        "--pause",
        "0.5",
    ])
    .input("");
    let shown = run.stdout_text();
    let line = |start: &str| {
        shown
            .lines()
            .find(|line| line.starts_with(start))
            .unwrap_or_else(|| panic!("{start}: {shown}"))
    };
    assert!(line("sites = 5").ends_with(&format!("# {file}, line 2")));
    assert!(line("pause = \"500ms\"").ends_with("# flag --pause"));
    assert!(line("urls = 5000").ends_with("# profile vn2006"));
    assert!(line("quantum = ").ends_with("# default"));
    run.status(0);
}

#[test]
fn config_show_json_is_one_object() {
    let run = aranha(&["config", "show", "--json", "--pages", "10"]).input("");
    let all: serde_json::Value = serde_json::from_str(&run.stdout_text()).expect("stdout is JSON");
    assert_eq!(all["crawl.pages"]["value"], 10);
    assert_eq!(all["crawl.pages"]["origin"], "flag --pages");
    assert_eq!(all["crawl.pause"]["value"], "2s");
    assert_eq!(all["crawl.pause"]["origin"], "default");
    run.status(0);
}

#[test]
fn config_show_reads_the_file_of_the_collection() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("aranha.toml"), "[crawl]\ndepth = 3\n")
        .expect("the file is written");
    let collection = folder.path().display().to_string();
    let run = aranha(&["config", "show", "-c", &collection]).input("");
    assert!(
        run.stdout_text().contains("\ndepth = 3 "),
        "{}",
        run.stdout_text()
    );
    run.status(0);
}

#[test]
fn set_sets_any_value_on_every_command_with_config() {
    let run = aranha(&[
        "config",
        "show",
        "--json",
        "--pause",
        "1s",
        "--set",
        "crawl.pause=7s",
        "--set",
        "crawl.pause_factor = 0.5",
        "--set",
        "crawl.tlds=[\"pt\", \"br\"]",
        "--set",
        "crawl.product=My-Bot",
        "--set",
        "profile=vn2006",
        "--set",
        "parasite.queries=true",
    ])
    .input("");
    let all: serde_json::Value = serde_json::from_str(&run.stdout_text()).expect("stdout is JSON");
    for (key, value) in [
        ("crawl.pause", serde_json::json!("7s")),
        ("crawl.pause_factor", serde_json::json!(0.5)),
        ("crawl.tlds", serde_json::json!(["pt", "br"])),
        ("crawl.product", serde_json::json!("My-Bot")),
        ("profile", serde_json::json!("vn2006")),
        ("proxy_cache.queries", serde_json::json!(true)),
    ] {
        assert_eq!(all[key]["value"], value, "{key}");
        assert_eq!(all[key]["origin"], "flag --set", "{key}");
    }
    run.stderr("warning: --set: `parasite` is now `proxy_cache`; the old name will be removed\n")
        .status(0);

    aranha(&[
        "url",
        "canon",
        "--set",
        "url.drop_index=true",
        "https://example.org/a/index.html",
    ])
    .input("")
    .stdout("https://example.org/a/\n")
    .status(0);
}

#[test]
fn errors_in_set_name_the_key() {
    let check = |setting: &str, stderr: &str| {
        aranha(&["config", "show", "--set", setting])
            .input("")
            .stdout("")
            .stderr(stderr)
            .status(2);
    };
    check(
        "crawl.puase=1s",
        "error: --set crawl.puase: unknown key `puase`\nhint: did you mean `pause`?\n",
    );
    check(
        "pause=1s",
        "error: --set pause: unknown key `pause`\nhint: `pause` belongs in [crawl]\n",
    );
    check(
        "crawl.sites=many",
        "error: --set crawl.sites: invalid type: string \"many\", expected a whole number\n\
         hint: `aranha config show` prints all keys, each with a valid value\n",
    );
    check(
        "crawl.tlds=pt",
        "error: --set crawl.tlds: invalid type: string \"pt\", expected a sequence\n\
         hint: write a list as 'crawl.tlds=[\"…\", \"…\"]'\n",
    );
    check(
        "crawl.sites",
        "error: --set: expected SECTION.KEY=VALUE\n\
         hint: for example crawl.pause=5s; `aranha config show` lists the keys\n",
    );
    check(
        "crawl.sites=0",
        "error: crawl.sites (flag --set): the value is 0, so no site could be visited\nhint: use 1 or more\n",
    );
}

/// Runs `config check` on a file with this text. `FILE` stands for its path in the expected output.
#[track_caller]
fn config_check(text: &str, stdout: &str, stderr: &str, status: i32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("aranha.toml");
    std::fs::write(&file, text).expect("the file is written");
    let file = file.display().to_string();
    let run = aranha(&["config", "check", &file]).input("");
    assert_eq!(run.stdout_text().replace(&file, "FILE"), stdout);
    assert_eq!(run.stderr_text().replace(&file, "FILE"), stderr);
    run.status(status);
}

#[test]
fn config_check_reports_line_and_column() {
    config_check("[crawl]\npause = \"1s\"\n", "FILE: valid\n", "", 0);
    config_check(
        "[crawl]\npuase = \"1s\"\n",
        "",
        "error: FILE, line 2, column 1: unknown key `puase`\nhint: did you mean `pause`?\n",
        2,
    );
    config_check(
        "[crawl]\nsites = \"all\"\n",
        "",
        "error: FILE, line 2, column 9: invalid type: string \"all\", expected a whole number\n\
         hint: `aranha config show` prints all keys, each with a valid value\n",
        2,
    );
}

#[test]
fn config_profiles_lists_all_and_prints_one() {
    let run = aranha(&["config", "profiles"]).input("");
    let names: Vec<_> = run
        .stdout_text()
        .lines()
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect();
    assert_eq!(names, ["default", "vn2006", "archive", "mysite"]);
    run.status(0);
    let run = aranha(&["config", "profiles", "vn2006"]).input("");
    assert!(run.stdout_text().contains("urls = 5000"));
    run.status(0);
    aranha(&["config", "profiles", "vn2007"])
        .input("")
        .stdout("")
        .stderr("error: there is no profile named `vn2007`\nhint: did you mean `vn2006`?\n")
        .status(2);
}

#[track_caller]
fn usage(arguments: &[&str], stderr: &str) {
    aranha(arguments)
        .input("")
        .stdout("")
        .stderr(stderr)
        .status(2);
}

#[test]
fn wrong_usage_is_one_sentence_and_a_hint() {
    usage(
        &[],
        "error: a command is missing\nhint: `aranha --help` lists the commands\n",
    );
    usage(
        &["url"],
        "error: a command is missing\nhint: `aranha url --help` lists the commands\n",
    );
    usage(
        &["crwal"],
        "error: unrecognized subcommand 'crwal'\nhint: a similar subcommand exists: 'crawl'\n",
    );
    usage(
        &["crawl", "--puase", "2s"],
        "error: unexpected argument '--puase' found\nhint: a similar argument exists: '--pause'\n",
    );
    usage(
        &["crawl", "--scope", "world"],
        "error: invalid value 'world' for '--scope <REACH>' [possible values: page, prefix, host, domain, any]\n\
         hint: `aranha crawl --help` describes the arguments\n",
    );
    usage(
        &["crawl", "--pause", "soon"],
        "error: invalid value 'soon' for '--pause <TIME>': `soon` is not a duration: the number is missing; \
         write for example 500ms, 2s, 1h30m or 7d\n\
         hint: `aranha crawl --help` describes the arguments\n",
    );
    usage(
        &["crawl", "--pause", "-1"],
        "error: invalid value '-1' for '--pause <TIME>': a duration cannot be negative\n\
         hint: `aranha crawl --help` describes the arguments\n",
    );
    usage(
        &["crawl", "--resolver", "nonsense"],
        "error: invalid value 'nonsense' for '--resolver <IP[:PORT]>': expected an IP address, with or without a port, such as \
         192.0.2.1, 127.0.0.1:5353 or [2001:db8::1]:53\n\
         hint: `aranha crawl --help` describes the arguments\n",
    );
    usage(
        &["config", "show", "--sites", "0"],
        "error: crawl.sites (flag --sites): the value is 0, so no site could be visited\nhint: use 1 or more\n",
    );
}

#[test]
fn a_pause_can_be_written_in_several_forms() {
    for pause in ["0", "0s", "0.5s", "2", "1m30s"] {
        aranha(&["config", "show", "--pause", pause])
            .input("")
            .stderr("")
            .status(0);
        aranha(&["lab", "--list", "--pause", pause])
            .input("")
            .stderr("")
            .status(0);
    }
    let file = tempfile::NamedTempFile::new().expect("the file is written");
    let name = file.path().display().to_string();
    let run = aranha(&["demo", "--quiet", "--pause", "1", "-c", &name]).input("");
    assert!(run.stderr_text().contains("a file with that name exists"));
    run.status(1);
}

#[test]
fn help_and_version_go_to_stdout() {
    aranha(&["--version"])
        .input("")
        .stdout(concat!("aranha ", env!("CARGO_PKG_VERSION"), "\n"))
        .stderr("")
        .status(0);
    for command in [
        &["--help"][..],
        &["crawl", "--help"],
        &["url", "canon", "--help"],
        &["config", "show", "--help"],
    ] {
        let run = aranha(command).input("").stderr("");
        assert!(run.stdout_text().contains("Examples:\n"), "{command:?}");
        run.status(0);
    }
}

#[test]
fn completions_contain_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let run = aranha(&["completions", shell]).input("").stderr("");
        assert!(run.stdout_text().contains("canon"), "{shell}");
        run.status(0);
    }
}

#[test]
fn man_pages_describe_every_command_and_flag() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let man = folder.path().join("share/man1");
    aranha(&["man", &man.display().to_string()])
        .input("")
        .stdout("")
        .stderr("")
        .status(0);
    for command in help::commands() {
        let name = command.name().replace(' ', "-");
        let page = std::fs::read_to_string(man.join(format!("{name}.1")))
            .unwrap_or_else(|error| panic!("{name}.1: {error}"));
        for flag in &command.flags {
            let escaped = flag.replace('-', "\\-");
            assert!(page.contains(&escaped), "{flag} is missing in {name}.1");
        }
    }
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let CommandResult { output, .. } = aranha(&["config", "show"]).stdout_closed();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
