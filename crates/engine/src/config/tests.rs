//! Whole configurations: layers, origins, complaints with their place.

use std::path::Path;
use std::time::Duration;

use super::*;

fn layers(text: &str) -> (tempfile::TempDir, Layers) {
    let folder = tempfile::tempdir().expect("a folder");
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

/// What loading a file with this text complains about, as people see it (`FILE` for its path).
#[track_caller]
fn complaint(text: &str, expected: &str) {
    let (_folder, layers) = layers(text);
    let error = Config::load(&layers).expect_err("this configuration is wrong");
    let path = layers.files[0].display().to_string();
    let mut shown = error.to_string().replace(&path, "FILE");
    if let Some(hint) = error.hint() {
        shown.push_str("\nhint: ");
        shown.push_str(hint);
    }
    assert_eq!(shown, expected);
}

fn table(config: &Config) -> toml::Table {
    toml::Table::try_from(config).expect("a configuration is TOML")
}

#[test]
fn defaults_survive_the_way_through_toml() {
    let (config, origins) = Config::load(&Layers::default()).expect("the defaults are good");
    assert_eq!(table(&config), table(&Config::default()));
    assert!(
        config
            .entries(&origins)
            .iter()
            .all(|entry| entry.origin == Origin::Default)
    );
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
fn vn2006_is_table_7() {
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
            depth: Some(5),
            trap_pages: None,
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
fn a_later_layer_wins_and_its_origin_is_kept() {
    let (_folder, mut layers) = layers(
        "profile = \"vn2006\"\n\n[thresholds]\nurls = 7\ndepth = \"none\"\n[crawl]\npause = \"9s\"\n",
    );
    layers.flags.set("--pause", "crawl.pause", "500ms");
    let (config, origins) = Config::load(&layers).expect("all layers are good");
    assert_eq!(config.crawl.pause, Duration::from_millis(500));
    assert_eq!(
        config.thresholds,
        Thresholds {
            urls: Some(7),
            duplicates: Some(10),
            depth: None,
            trap_pages: None,
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
fn a_profile_flag_is_stronger_than_the_file_s() {
    let (_folder, mut layers) = layers("profile = \"vn2006\"\n");
    layers.profile = Some("mysite".to_owned());
    let (config, origins) = Config::load(&layers).expect("all layers are good");
    assert_eq!(config.profile, "mysite");
    assert_eq!(config.thresholds, Thresholds::default());
    assert_eq!(origins.of("profile"), Origin::Flag("--profile".to_owned()));
}

#[test]
fn unknown_keys_are_refused_with_a_hint() {
    complaint(
        "[crawl]\nscope = \"host\"\n  puase = \"1s\"\n",
        "FILE, line 3, column 3: unknown key `puase`\nhint: did you mean `pause`?",
    );
    complaint(
        "pause = \"1s\"\n",
        "FILE, line 1, column 1: unknown key `pause`\nhint: `pause` belongs in [crawl]",
    );
    complaint(
        "[crawll]\n",
        "FILE, line 1, column 2: unknown key `crawll`\nhint: did you mean `crawl`?",
    );
    complaint(
        "[thresholds]\nzeitgeist = 1",
        "FILE, line 2, column 1: unknown key `zeitgeist`\nhint: the keys here are urls, duplicates, depth, trap_pages",
    );
}

#[test]
fn wrong_kinds_are_refused_where_they_stand() {
    complaint(
        "[crawl]\nsites = \"many\"\n",
        "FILE, line 2, column 9: invalid type: string \"many\", expected usize",
    );
    complaint(
        "[thresholds]\nurls = -1\n",
        "FILE, line 2, column 8: invalid value: integer `-1`, expected a whole number or \"none\"",
    );
    complaint(
        "[crawl]\ndepth = 70000\n",
        "FILE, line 2, column 9: invalid value: integer `70000`, expected a whole number or \"none\"",
    );
    complaint(
        "[crawl]\npause = \"2 parsecs\"\n",
        "FILE, line 2, column 9: `2 parsecs` is not a duration: the unit is not known; write for example 500ms, 2s, 1h30m or 7d",
    );
}

#[test]
fn broken_toml_is_refused_where_it_breaks() {
    let (_folder, layers) = layers("[crawl]\npause = \n");
    let error = Config::load(&layers).expect_err("this is not TOML");
    let ConfigError::File { place, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((place.line, place.column), (2, 9));
}

#[test]
fn senseless_values_are_refused_with_who_set_them() {
    complaint(
        "[crawl]\n\nsites = 0\n",
        "crawl.sites (FILE, line 3): is 0: no site could be visited\nhint: use 1 or more",
    );
    complaint(
        "[crawl]\nproduct = \"my bot/1\"",
        "crawl.product (FILE, line 2): is not a product token: letters, `-` and `_` only (RFC 9309, 2.2.1)\n\
         hint: put a version or an address into fetch.user_agent",
    );
    complaint(
        "[crawl]\ncontact = \"me\"",
        "crawl.contact (FILE, line 2): is neither the address of a web page nor a mail address\n\
         hint: for example https://example.org/crawler or crawler@example.org",
    );
}

#[test]
fn filters_and_black_lists_are_read_before_the_crawl() {
    let (_folder, layers) = layers("[crawl]\nreject = [\"ext:zip\", \"domian:a.org\"]\n");
    let error = Config::load(&layers).expect_err("there is no such test");
    assert!(
        error
            .to_string()
            .ends_with(", line 2): in `domian:a.org`, column 1: there is no test `domian`"),
        "{error}"
    );
    assert!(error.hint().is_some());

    let (folder, mut layers) = layers_with_list("192.0.2.0/24\n:::\n");
    let error = Config::load(&layers).expect_err("the second line is no entry");
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
    let (config, _) = Config::load(&layers).expect("good");
    let blacklist = config.blacklist().expect("good");
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
fn sitemaps_are_unpacked_as_far_as_bodies_are_decoded() {
    for (text, most) in [
        ("", 50 << 20),
        ("[fetch]\nmax_decoded = \"4MiB\"\n", 4 << 20),
    ] {
        let (_folder, layers) = layers(text);
        let config = Config::load(&layers).expect("a good file").0;
        assert_eq!(config.page.max_unpacked, most, "{text:?}");
    }
}

#[test]
fn flags_are_named_in_complaints() {
    let mut layers = Layers::default();
    layers.flags.set("--pause", "crawl.pause", "soon");
    let error = Config::load(&layers).expect_err("no such duration");
    assert!(
        error
            .to_string()
            .starts_with("--pause: `soon` is not a duration"),
        "{error}"
    );
}

#[test]
fn an_unknown_profile_names_the_known_ones() {
    let layers = Layers {
        profile: Some("vn2005".to_owned()),
        ..Layers::default()
    };
    let error = Config::load(&layers).expect_err("no such profile");
    assert_eq!(error.to_string(), "there is no profile named `vn2005`");
    assert_eq!(error.hint(), Some("did you mean `vn2006`?"));
}

#[test]
fn a_missing_file_is_named() {
    let layers = Layers {
        files: vec!["nowhere/aranha.toml".into()],
        ..Layers::default()
    };
    let error = Config::load(&layers).expect_err("no such file");
    assert!(
        error
            .to_string()
            .starts_with("cannot read the configuration nowhere/aranha.toml: "),
        "{error}"
    );
}

#[test]
fn the_contact_goes_into_what_is_sent() {
    let mut layers = Layers::default();
    layers
        .flags
        .set("--contact", "crawl.contact", "bot@example.org");
    let (config, origins) = Config::load(&layers).expect("good");
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
    let (config, origins) = Config::load(&layers).expect("good");
    assert_eq!(config.fetch.user_agent, "mine/2");
    assert_eq!(
        origins.of("fetch.user_agent"),
        Origin::Flag("--user-agent".to_owned())
    );
}

#[test]
fn show_is_toml_again_and_says_where_from() {
    let (_folder, mut layers) = layers("[crawl]\npause = \"3s\"\n");
    layers.flags.set("--pages", "crawl.pages", 10);
    let (config, origins) = Config::load(&layers).expect("good");
    let shown = config.show(&origins);
    let again: Config = toml::from_str(&shown).expect("what is shown can be read");
    assert_eq!(table(&again), table(&config));
    let path = layers.files[0].display();
    let line = |start: &str| {
        shown
            .lines()
            .find(|line| line.starts_with(start))
            .expect("the key is shown")
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
fn what_is_kept_gives_the_same_configuration_again() {
    let (folder, mut layers) = layers(
        "profile = \"vn2006\"\n[crawl]\npause = \"3s\"\n[fetch.max_body_by_type]\n\"text/html\" = 5\n",
    );
    layers.flags.set("--tld", "crawl.tlds", vec!["pt", "br"]);
    layers
        .flags
        .set("--contact", "crawl.contact", "bot@example.org");
    let (config, origins) = Config::load(&layers).expect("good");
    let kept = config.show_own(&origins);
    assert!(
        !kept.contains("user_agent") && !kept.contains("thresholds"),
        "{kept}"
    );

    let path = folder.path().join("kept.toml");
    std::fs::write(&path, &kept).expect("a file");
    let (again, _) = Config::load(&Layers {
        files: vec![path],
        ..Layers::default()
    })
    .expect("good");
    assert_eq!(table(&again), table(&config), "{kept}");
}

#[test]
fn the_example_in_the_documentation_is_the_defaults() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/aranha.toml");
    let (config, origins) = Config::load(&Layers {
        files: vec![path],
        ..Layers::default()
    })
    .expect("the example is good");
    let differing = config
        .entries(&origins)
        .into_iter()
        .zip(Config::default().entries(&origins))
        .find(|(example, default)| example != default);
    assert_eq!(differing, None, "the example and the default");
    // The User-Agent holds the version; the example says how it is made instead.
    let left_out =
        |entry: &ConfigEntry| entry.origin == Origin::Default && entry.key != "fetch.user_agent";
    let missing: Vec<_> = config
        .entries(&origins)
        .into_iter()
        .filter(left_out)
        .collect();
    assert!(missing.is_empty(), "the example leaves out {missing:?}");
}

/// A value for each renamed key that differs from its default.
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
fn old_key_names_are_read_and_reported() {
    assert_eq!(OLD_NAMES.len(), renamed::RENAMED.len());
    for (text, old, new) in OLD_NAMES {
        let (_folder, old_layers) = layers(text);
        let (config, origins) = Config::load(&old_layers).expect("old names are read");
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
            "{old} sets nothing"
        );

        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let (_folder, new_layers) = layers(&text.replacen(&last(old), &last(new), 1));
        let (current, origins) = Config::load(&new_layers).expect("new names are read");
        assert_eq!(origins.renamed(), []);
        assert_eq!(table(&config), table(&current), "{old}");
    }
}

#[test]
fn an_old_section_with_an_old_key_is_read() {
    for text in [
        "[parasite]\nagain = \"7h\"\n",
        "parasite = { again = \"7h\" }\n",
        "parasite.again = \"7h\"\n",
    ] {
        let (_folder, layers) = layers(text);
        let (config, origins) = Config::load(&layers).expect("old names are read");
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
    let (config, _) = Config::load(&layers).expect("good");
    assert_eq!(config.crawl.idle_wait, Duration::from_secs(9));
}

#[test]
fn an_old_name_beside_its_new_name_is_refused() {
    complaint(
        "[crawl]\nidle_wait = \"9s\"\nlinger = \"7s\"\n",
        "FILE, line 3, column 1: `crawl.linger` is the old name of `crawl.idle_wait`, which is set too\n\
         hint: remove `crawl.linger`",
    );
}

#[test]
fn an_error_in_the_value_of_an_old_name_is_located() {
    complaint(
        "[load]\nrequests = -1\n",
        "FILE, line 2, column 12: invalid value: integer `-1`, expected a whole number or \"none\"",
    );
}
