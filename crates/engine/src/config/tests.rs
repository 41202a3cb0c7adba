//! Tests of loading a configuration: layers, origins, and errors with their position.
//!
//! The file is long because it is a list of cases.

use std::path::Path;
use std::time::Duration;

use super::*;

/// Writes `text` to a configuration file. Returns the temporary folder of the file, and layers that contain only this
/// file.
fn layers(text: &str) -> (tempfile::TempDir, Layers) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("aranha.toml");
    std::fs::write(&path, text).expect("a file");
    (
        folder,
        Layers {
            files: vec![path],
            ..Layers::default()
        },
    )
}

/// Checks the error message and hint for a file with this text (`FILE` stands for its path).
#[track_caller]
fn check_error(text: &str, expected: &str) {
    let (_folder, layers) = layers(text);
    let error = Config::load(&layers).expect_err("an invalid configuration");
    let path = layers.files[0].display().to_string();
    let mut shown = error.to_string().replace(&path, "FILE");
    if let Some(hint) = error.hint() {
        shown.push_str("\nhint: ");
        shown.push_str(hint);
    }
    assert_eq!(shown, expected);
}

fn table(config: &Config) -> toml::Table {
    toml::Table::try_from(config).expect("a configuration can be serialised")
}

#[test]
fn defaults_are_unchanged_by_serialisation() {
    let (config, origins) = Config::load(&Layers::default()).expect("the defaults are valid");
    assert_eq!(table(&config), table(&Config::default()));
    assert!(
        config
            .entries(&origins)
            .iter()
            .all(|entry| entry.origin == Origin::Default)
    );
}

#[test]
fn a_body_limit_beyond_a_record_is_refused() {
    check_error(
        "[fetch]\nmax_body = \"5GB\"",
        "fetch.max_body (FILE, line 2): is more than the archive can store in one record\nhint: use 4GB or less",
    );
    let (_folder, layers) =
        layers("[fetch]\nmax_body = \"4GB\"\n[fetch.max_body_by_type]\n\"video/mp4\" = 5000000000");
    let error = Config::load(&layers).expect_err("a limit that is too large");
    assert!(error.to_string().contains("video/mp4"), "{error}");
}

#[test]
fn every_profile_loads() {
    for profile in PROFILES {
        let layers = Layers {
            profile: Some(profile.name.to_owned()),
            ..Layers::default()
        };
        let (config, _) =
            Config::load(&layers).unwrap_or_else(|error| panic!("{}: {error}", profile.name));
        assert_eq!(config.profile, profile.name);
    }
}

#[test]
fn vn2006_has_the_values_of_table_7() {
    let layers = Layers {
        profile: Some("vn2006".to_owned()),
        ..Layers::default()
    };
    let (config, origins) = Config::load(&layers).expect("a built-in profile");
    assert_eq!(
        config.thresholds,
        Thresholds {
            urls: Some(5000),
            duplicates: Some(10),
            block: false,
            depth: Some(5),
            trap_pages: None,
            dead_hosts: None,
        }
    );
    assert_eq!(config.url.max_length, 200);
    assert_eq!(config.fetch.max_body, 2_000_000);
    assert_eq!(config.fetch.total_timeout, Duration::from_mins(1));
    assert_eq!(config.crawl.pause, Duration::from_secs(2));
    assert_eq!(
        origins.of("thresholds.urls"),
        Origin::Profile("vn2006".to_owned())
    );
    assert_eq!(origins.of("crawl.sites"), Origin::Default);
}

#[test]
fn a_later_layer_overrides_and_its_origin_is_kept() {
    let (_folder, mut layers) = layers(
        "profile = \"vn2006\"\n\n[thresholds]\nurls = 7\ndepth = \"none\"\n[crawl]\npause = \"9s\"\n",
    );
    layers.flags.set("--pause", "crawl.pause", "500ms");
    let (config, origins) = Config::load(&layers).expect("valid layers");
    assert_eq!(config.crawl.pause, Duration::from_millis(500));
    assert_eq!(
        config.thresholds,
        Thresholds {
            urls: Some(7),
            duplicates: Some(10),
            block: false,
            depth: None,
            trap_pages: None,
            dead_hosts: None,
        }
    );
    let file = |line| Origin::File {
        path: layers.files[0].clone(),
        line,
    };
    assert_eq!(origins.of("profile"), file(1));
    assert_eq!(origins.of("thresholds.urls"), file(4));
    assert_eq!(
        origins.of("thresholds.duplicates"),
        Origin::Profile("vn2006".to_owned())
    );
    assert_eq!(
        origins.of("crawl.pause"),
        Origin::Flag("--pause".to_owned())
    );
}

#[test]
fn a_profile_flag_overrides_the_profile_of_a_file() {
    let (_folder, mut layers) = layers("profile = \"vn2006\"\n");
    layers.profile = Some("mysite".to_owned());
    let (config, origins) = Config::load(&layers).expect("valid layers");
    assert_eq!(config.profile, "mysite");
    assert_eq!(config.thresholds, Thresholds::default());
    assert_eq!(origins.of("profile"), Origin::Flag("--profile".to_owned()));
}

#[test]
fn unknown_keys_are_errors_with_a_hint() {
    check_error(
        "[crawl]\nscope = \"host\"\n  puase = \"1s\"\n",
        "FILE, line 3, column 3: unknown key `puase`\nhint: did you mean `pause`?",
    );
    check_error(
        "pause = \"1s\"\n",
        "FILE, line 1, column 1: unknown key `pause`\nhint: `pause` belongs in [crawl]",
    );
    check_error(
        "[crawll]\n",
        "FILE, line 1, column 2: unknown key `crawll`\nhint: did you mean `crawl`?",
    );
    check_error(
        "[thresholds]\nzeitgeist = 1",
        "FILE, line 2, column 1: unknown key `zeitgeist`\nhint: the keys here are urls, duplicates, block, depth, trap_pages, dead_hosts",
    );
}

#[test]
fn wrong_types_are_errors_with_a_position() {
    check_error(
        "[crawl]\nsites = \"many\"\n",
        "FILE, line 2, column 9: invalid type: string \"many\", expected a whole number",
    );
    check_error(
        "[thresholds]\nurls = -1\n",
        "FILE, line 2, column 8: invalid value: integer `-1`, expected a whole number or \"none\"",
    );
    check_error(
        "[crawl]\ndepth = 70000\n",
        "FILE, line 2, column 9: invalid value: integer `70000`, expected a whole number or \"none\"",
    );
    check_error(
        "[crawl]\npause = \"2 parsecs\"\n",
        "FILE, line 2, column 9: `2 parsecs` is not a duration: the unit is not known; write for example 500ms, 2s, 1h30m or 7d",
    );
}

#[test]
fn invalid_toml_is_an_error_with_a_position() {
    let (_folder, layers) = layers("[crawl]\npause = \n");
    let error = Config::load(&layers).expect_err("invalid TOML");
    let ConfigError::File { position, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((position.line, position.column), (2, 9));
}

#[test]
fn impossible_values_are_errors_with_an_origin() {
    check_error(
        "[crawl]\n\nsites = 0\n",
        "crawl.sites (FILE, line 3): the value is 0, so no site could be visited\nhint: use 1 or more",
    );
    check_error(
        "[crawl]\nproduct = \"my bot/1\"",
        "crawl.product (FILE, line 2): is not a product token: letters, `-` and `_` only (RFC 9309, 2.2.1)\n\
         hint: put a version or an address into fetch.user_agent",
    );
    check_error(
        "[crawl]\ncontact = \"me\"",
        "crawl.contact (FILE, line 2): is neither the URL of a web page nor a mail address\n\
         hint: for example https://example.org/crawler or crawler@example.org",
    );
}

#[test]
fn filters_and_black_lists_are_checked_on_loading() {
    let (_folder, layers) = layers("[crawl]\nreject = [\"ext:zip\", \"domian:a.org\"]\n");
    let error = Config::load(&layers).expect_err("an unknown filter");
    assert!(
        error
            .to_string()
            .ends_with(", line 2): in `domian:a.org`, column 1: unknown field `domian`"),
        "{error}"
    );
    assert!(error.hint().is_some());

    let (folder, mut layers) = layers_with_list("192.0.2.0/24\n:::\n");
    let error = Config::load(&layers).expect_err("an invalid second line");
    assert!(
        error
            .to_string()
            .contains("black.txt: black list, line 2: "),
        "{error}"
    );
    std::fs::write(folder.path().join("black.txt"), "192.0.2.0/24\n").expect("a file");
    layers
        .flags
        .set("--reject", "crawl.reject", vec!["ext:zip", "ext:gz"]);
    let (config, _) = Config::load(&layers).expect("a valid configuration");
    let blacklist = config.blacklist().expect("a valid configuration");
    assert!(
        blacklist
            .address("192.0.2.7".parse().expect("an address"))
            .is_some()
    );
    assert!(config.scope().is_ok());
}

fn layers_with_list(list: &str) -> (tempfile::TempDir, Layers) {
    let (folder, layers) = layers("[crawl]\nblacklist_files = [\"black.txt\"]\n");
    std::fs::write(folder.path().join("black.txt"), list).expect("a file");
    (folder, layers)
}

#[test]
fn max_decoded_limits_the_unpacking_of_sitemaps() {
    for (text, expected) in [
        ("", 50 << 20),
        ("[fetch]\nmax_decoded = \"4MiB\"\n", 4 << 20),
    ] {
        let (_folder, layers) = layers(text);
        let config = Config::load(&layers).expect("a valid file").0;
        assert_eq!(config.page.max_unpacked, expected, "{text:?}");
    }
}

#[test]
fn errors_name_the_flag() {
    let mut layers = Layers::default();
    layers.flags.set("--pause", "crawl.pause", "soon");
    let error = Config::load(&layers).expect_err("an invalid duration");
    assert!(
        error
            .to_string()
            .starts_with("--pause: `soon` is not a duration"),
        "{error}"
    );
}

#[test]
fn an_unknown_profile_gets_a_hint() {
    let layers = Layers {
        profile: Some("vn2005".to_owned()),
        ..Layers::default()
    };
    let error = Config::load(&layers).expect_err("an unknown profile");
    assert_eq!(error.to_string(), "there is no profile named `vn2005`");
    assert_eq!(error.hint(), Some("did you mean `vn2006`?"));
}

#[test]
fn an_error_names_a_missing_file() {
    let layers = Layers {
        files: vec!["nowhere/aranha.toml".into()],
        ..Layers::default()
    };
    let error = Config::load(&layers).expect_err("a missing file");
    assert!(
        error
            .to_string()
            .starts_with("cannot read the configuration nowhere/aranha.toml: "),
        "{error}"
    );
}

#[test]
fn the_contact_is_part_of_user_agent_and_from() {
    let mut layers = Layers::default();
    layers
        .flags
        .set("--contact", "crawl.contact", "bot@example.org");
    let (config, origins) = Config::load(&layers).expect("a valid configuration");
    assert_eq!(
        config.fetch.user_agent,
        concat!("aranha/", env!("CARGO_PKG_VERSION"), " (bot@example.org)")
    );
    assert_eq!(config.fetch.from.as_deref(), Some("bot@example.org"));
    assert_eq!(
        origins.of("fetch.user_agent"),
        Origin::Derived("crawl.contact")
    );

    layers
        .flags
        .set("--user-agent", "fetch.user_agent", "mine/2");
    let (config, origins) = Config::load(&layers).expect("a valid configuration");
    assert_eq!(config.fetch.user_agent, "mine/2");
    assert_eq!(
        origins.of("fetch.user_agent"),
        Origin::Flag("--user-agent".to_owned())
    );
}

#[test]
fn the_accept_header_follows_the_media_types() {
    let key = "fetch.accept";
    let text = "[fetch]\nmedia_types = [\"text/html\", \"application/pdf\"]\n";
    let (_folder, layers_without) = layers(text);
    let (config, origins) = Config::load(&layers_without).expect("a valid configuration");
    assert_eq!(config.fetch.accept, "text/html,application/pdf,*/*;q=0.1");
    assert_eq!(origins.of(key), Origin::Derived("fetch.media_types"));

    let (_folder, layers_with) = layers(&format!("{text}accept = \"*/*\"\n"));
    let (config, _) = Config::load(&layers_with).expect("a valid configuration");
    assert_eq!(config.fetch.accept, "*/*");
}

#[test]
fn a_filter_by_language_switches_identification_on() {
    let key = "page.identify_language";
    let load = |text: &str| {
        let (_folder, layers) = layers(text);
        Config::load(&layers)
            .map(|(config, origins)| (config.page.identify_language, origins.of(key)))
    };
    let keep = "[crawl]\nkeep = [\"ext:pdf or language:pt\"]\n";
    let derived = load(keep).expect("a valid configuration");
    assert_eq!(derived, (true, Origin::Derived("crawl.keep")));
    let default = load("[crawl]\nkeep = [\"ext:pdf\"]\n").expect("a valid configuration");
    assert_eq!(default, (false, Origin::Default));
    let error =
        load(&format!("{keep}[page]\nidentify_language = false\n")).expect_err("contradiction");
    assert!(
        error.to_string().contains("page.identify_language"),
        "{error}"
    );
}

#[test]
fn busy_hours_and_time_zones_are_read() {
    let (_folder, layers) = layers(
        "[crawl]\nbusy_hours = \"08:00-20:00\"\n[crawl.time_zones]\npt = \"+01:00\"\n\"example.br\" = \"-03:00\"\n",
    );
    let (config, _) = Config::load(&layers).expect("a valid configuration");
    assert_eq!(
        config.crawl.busy_hours.expect("hours").to_string(),
        "08:00-20:00"
    );
    assert_eq!(config.crawl.time_zones["example.br"].to_string(), "-03:00");
}

#[test]
fn show_is_valid_toml_with_origins() {
    let (_folder, mut layers) = layers("[crawl]\npause = \"3s\"\n");
    layers.flags.set("--pages", "crawl.pages", 10);
    let (config, origins) = Config::load(&layers).expect("a valid configuration");
    let shown = config.show(&origins);
    let again: Config = toml::from_str(&shown).expect("the output of show can be parsed");
    assert_eq!(table(&again), table(&config));
    let path = layers.files[0].display();
    let line = |start: &str| {
        shown
            .lines()
            .find(|line| line.starts_with(start))
            .expect("a line for the key")
            .to_owned()
    };
    assert!(
        line("pause = ").ends_with(&format!("# {path}, line 2")),
        "{shown}"
    );
    assert!(line("pages = 10").ends_with("# flag --pages"), "{shown}");
    assert!(line("depth = \"none\"").ends_with("# default"), "{shown}");
}

#[test]
fn show_own_gives_the_same_configuration_again() {
    let (folder, mut layers) = layers(
        "profile = \"vn2006\"\n[crawl]\npause = \"3s\"\n[fetch.max_body_by_type]\n\"text/html\" = 5\n",
    );
    layers.flags.set("--tld", "crawl.tlds", vec!["pt", "br"]);
    layers
        .flags
        .set("--contact", "crawl.contact", "bot@example.org");
    let (config, origins) = Config::load(&layers).expect("a valid configuration");
    let own = config.show_own(&origins);
    assert!(
        !own.contains("user_agent") && !own.contains("thresholds"),
        "{own}"
    );

    let path = folder.path().join("own.toml");
    std::fs::write(&path, &own).expect("a file");
    let (again, _) = Config::load(&Layers {
        files: vec![path],
        ..Layers::default()
    })
    .expect("a valid configuration");
    assert_eq!(table(&again), table(&config), "{own}");
}

#[test]
fn the_example_in_the_documentation_has_all_defaults() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/aranha.toml");
    let (config, origins) = Config::load(&Layers {
        files: vec![path],
        ..Layers::default()
    })
    .expect("the example is valid");
    let differing = config
        .entries(&origins)
        .into_iter()
        .zip(Config::default().entries(&origins))
        .find(|(example, default)| example != default);
    assert_eq!(
        differing, None,
        "a value of the example differs from the default"
    );
    // The default User-Agent contains the version of aranha, so `docs/aranha.toml` does not set it.
    let is_missing =
        |entry: &ConfigEntry| entry.origin == Origin::Default && entry.key != "fetch.user_agent";
    let missing: Vec<_> = config
        .entries(&origins)
        .into_iter()
        .filter(is_missing)
        .collect();
    assert!(missing.is_empty(), "missing in the example: {missing:?}");
}

/// For each renamed key: a text that sets the key to a value other than the default, the old name of the key, and its
/// new name.
const OLD_NAMES: &[(&str, &str, &str)] = &[
    (
        "[parasite]\nproxy = \"127.0.0.1:3128\"",
        "parasite",
        "proxy_cache",
    ),
    ("[crawl]\nrate = \"7MB\"", "crawl.rate", "crawl.limit_rate"),
    (
        "[crawl]\ncheck_in = \"7s\"",
        "crawl.check_in",
        "crawl.check_in_interval",
    ),
    (
        "[crawl]\nlinger = \"7s\"",
        "crawl.linger",
        "crawl.idle_wait",
    ),
    (
        "[thresholds]\nbarren = 7",
        "thresholds.barren",
        "thresholds.trap_pages",
    ),
    ("[load]\nrequests = 7", "load.requests", "load.max_requests"),
    ("[load]\ncpu = 7", "load.cpu", "load.max_cpu_percent"),
    (
        "[load]\nlatency = \"7s\"",
        "load.latency",
        "load.max_latency",
    ),
    (
        "[load]\nerrors = 7",
        "load.errors",
        "load.max_error_percent",
    ),
    (
        "[fetch]\nmemory = \"7MiB\"",
        "fetch.memory",
        "fetch.body_memory",
    ),
    (
        "[fetch]\nrange = true",
        "fetch.range",
        "fetch.range_requests",
    ),
    (
        "[frontier]\nexternal = \"combined\"",
        "frontier.external",
        "frontier.external_links",
    ),
    (
        "[frontier]\ncache = \"7MiB\"",
        "frontier.cache",
        "frontier.cache_size",
    ),
    (
        "[frontier]\nlog = \"7MiB\"",
        "frontier.log",
        "frontier.wal_size",
    ),
    (
        "[revisit]\nleast = \"7h\"",
        "revisit.least",
        "revisit.min_interval",
    ),
    (
        "[revisit]\nmost = \"7d\"",
        "revisit.most",
        "revisit.max_interval",
    ),
    ("[revisit]\ngone = 7", "revisit.gone", "revisit.max_gone"),
    (
        "[revisit]\nwindow = 7",
        "revisit.window",
        "revisit.history_visits",
    ),
    (
        "[revisit]\nfirst = 7",
        "revisit.first",
        "revisit.initial_rounds",
    ),
    (
        "[revisit]\ndescend = 0.7",
        "revisit.descend",
        "revisit.min_changed_share",
    ),
    (
        "[revisit]\nquick = \"7h\"",
        "revisit.quick",
        "revisit.quick_every",
    ),
    (
        "[revisit]\nprior = \"7d\"",
        "revisit.prior",
        "revisit.prior_change_interval",
    ),
    (
        "[revisit]\nchance = 0.7",
        "revisit.chance",
        "revisit.change_probability",
    ),
    (
        "[proxy_cache]\nagain = \"7h\"",
        "proxy_cache.again",
        "proxy_cache.min_interval",
    ),
];

#[test]
fn old_key_names_are_accepted_and_reported() {
    assert_eq!(OLD_NAMES.len(), renamed::RENAMED.len());
    for (text, old, new) in OLD_NAMES {
        let (_folder, old_layers) = layers(text);
        let (config, origins) = Config::load(&old_layers).expect("old names are accepted");
        let path = &old_layers.files[0];
        let line = if old.contains('.') { 2 } else { 1 };
        let warnings: Vec<_> = origins.renamed().iter().map(Renamed::to_string).collect();
        let expected = format!(
            "{}, line {line}: `{old}` is now `{new}`; the old name will be removed",
            path.display()
        );
        assert_eq!(warnings, [expected]);
        assert_ne!(
            table(&config),
            table(&Config::default()),
            "{old} has no effect"
        );

        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let (_folder, new_layers) = layers(&text.replacen(&last(old), &last(new), 1));
        let (current, origins) = Config::load(&new_layers).expect("new names are accepted");
        assert_eq!(origins.renamed(), []);
        assert_eq!(table(&config), table(&current), "{old}");
    }
}

#[test]
fn the_documentation_lists_the_renamed_keys() {
    let text = include_str!("../../../../docs/configuration.md");
    let (_, table) = text.split_once("| old name | new name |").expect("a table");
    let documented: Vec<_> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    let expected = renamed::RENAMED
        .iter()
        .map(|(section, old, new)| match *section {
            "" => format!("| `[{old}]` | `[{new}]` |"),
            section => format!("| `{section}.{old}` | `{section}.{new}` |"),
        });
    assert_eq!(documented, expected.collect::<Vec<_>>());
}

#[test]
fn an_old_section_with_an_old_key_is_accepted() {
    for text in [
        "[parasite]\nagain = \"7h\"\n",
        "parasite = { again = \"7h\" }\n",
        "parasite.again = \"7h\"\n",
    ] {
        let (_folder, layers) = layers(text);
        let (config, origins) = Config::load(&layers).expect("old names are accepted");
        assert_eq!(config.proxy_cache.min_interval, Duration::from_hours(7));
        let old: Vec<_> = origins.renamed().iter().map(|name| &*name.old).collect();
        assert_eq!(old, ["parasite", "proxy_cache.again"]);
        assert!(matches!(
            origins.of("proxy_cache.min_interval"),
            Origin::File { .. }
        ));
    }
}

#[test]
fn an_old_name_in_one_file_is_overridden_by_the_new_name_in_another() {
    let (folder, mut layers) = layers("[crawl]\nlinger = \"7s\"\n");
    let second = folder.path().join("second.toml");
    std::fs::write(&second, "[crawl]\nidle_wait = \"9s\"\n").expect("a file");
    layers.files.push(second);
    let (config, _) = Config::load(&layers).expect("a valid configuration");
    assert_eq!(config.crawl.idle_wait, Duration::from_secs(9));
}

#[test]
fn an_old_name_beside_its_new_name_is_an_error() {
    check_error(
        "[crawl]\nidle_wait = \"9s\"\nlinger = \"7s\"\n",
        "FILE, line 3, column 1: `crawl.linger` is the old name of `crawl.idle_wait`, which is set too\n\
         hint: remove `crawl.linger`",
    );
}

#[test]
fn an_error_in_the_value_of_an_old_name_has_a_position() {
    check_error(
        "[load]\nrequests = -1\n",
        "FILE, line 2, column 12: invalid value: integer `-1`, expected a whole number or \"none\"",
    );
}
