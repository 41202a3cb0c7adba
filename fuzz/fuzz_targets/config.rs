//! Configuration files, durations and sizes. A configuration that was read can be shown, and the shown text gives the
//! same configuration. Filters that are added to a file are read from it.
#![no_main]

use std::path::{Path, PathBuf};

use aranha_engine::config::{Config, Layers, Origins};
use aranha_units::{duration, size};
use libfuzzer_sys::fuzz_target;

fn load(path: &Path, text: &str) -> Option<(Config, Origins)> {
    std::fs::write(path, text).expect("the folder for temporary files is writable");
    let layers = Layers {
        files: vec![path.to_owned()],
        ..Layers::default()
    };
    match Config::load(&layers) {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("a configuration can be serialised")
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(span) = duration::parse(&text) {
        assert_eq!(duration::parse(&duration::format(span)), Ok(span));
    }
    if let Ok(bytes) = size::parse(&text) {
        assert_eq!(size::parse(&size::format(bytes)), Ok(bytes));
    }
    let path: PathBuf =
        std::env::temp_dir().join(format!("aranha-fuzz-{}.toml", std::process::id()));
    let Some((mut config, origins)) = load(&path, &text) else {
        return;
    };
    let shown = config.show(&origins);
    let (again, _) = load(&path, &shown).expect("a shown configuration can be read");
    assert_eq!(json(&again), json(&config), "{shown}");
    config.crawl.reject.push("ext:zip".to_owned());
    if let Some(edited) = config.with_filters(&text) {
        let (edited, _) = load(&path, &edited).expect("an edited configuration can be read");
        assert_eq!(json(&edited.crawl), json(&config.crawl));
    }
});
