//! Merges the layers into one configuration.

use std::path::Path;

use toml::{Table, Value};

use super::error::ConfigError;
use super::layer::ConfigLayer;
use super::nearest::nearest;
use super::profile::{self, PROFILES, Profile};
use super::{Config, Layers, Origin, Origins, check, derive};

/// The text that messages and origins show as the path of the settings that nodes share.
const SHARED_SETTINGS: &str = "settings of the crawl";

pub(super) fn load(layers: &Layers) -> Result<(Config, Origins), ConfigError> {
    let shared = layers.shared.as_deref();
    let shared = shared.map(|text| ConfigLayer::text(Path::new(SHARED_SETTINGS), text));
    let files = shared
        .into_iter()
        .chain(layers.files.iter().map(|path| ConfigLayer::file(path)))
        .collect::<Result<Vec<_>, _>>()?;
    let settings = layers
        .settings
        .iter()
        .map(|text| ConfigLayer::setting(text))
        .collect::<Result<Vec<_>, _>>()?;
    let mut by_rank = settings.iter().rev().chain(files.iter().rev());
    let named = by_rank.find_map(ConfigLayer::named_profile);
    let profile = find_profile(layers.profile.as_deref().or(named))?;
    let flags = ConfigLayer::flags(&layers.flags)?;

    let others = files.iter().chain(&flags).chain(&settings);
    let environment = layers.environment.layer(others)?;

    let mut table = Table::try_from(Config::default()).expect("the defaults can be serialised");
    let mut origins = Origins::default();
    for layer in std::iter::once(ConfigLayer::profile(profile))
        .chain(environment)
        .chain(files)
        .chain(flags)
        .chain(settings)
    {
        overlay(&mut table, layer.table);
        origins.add_renamed(layer.renamed);
        for (key, origin) in layer.origins {
            origins.set(&key, origin);
        }
    }
    table.insert("profile".to_owned(), Value::from(profile.name));
    if layers.profile.is_some() {
        origins.set("profile", Origin::Flag("--profile".to_owned()));
    }
    let mut config: Config = table
        .try_into()
        .map_err(|error: toml::de::Error| ConfigError::Layers(error.message().to_owned()))?;
    derive::identity(&mut config, &mut origins);
    derive::accept(&mut config, &mut origins);
    derive::language(&mut config, &mut origins);
    check::check(&config, &origins)?;
    // The limit for decoded bodies also applies to unpacked sitemaps.
    let decoded = usize::try_from(config.fetch.max_decoded).unwrap_or(usize::MAX);
    config.page.max_unpacked = config.page.max_unpacked.min(decoded);
    Ok((config, origins))
}

fn find_profile(name: Option<&str>) -> Result<&'static Profile, ConfigError> {
    let name = name.unwrap_or(profile::DEFAULT);
    profile::find(name).ok_or_else(|| {
        let names = || PROFILES.iter().map(|profile| profile.name);
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "the profiles are {}",
                names().collect::<Vec<_>>().join(", ")
            ),
        };
        ConfigError::Profile {
            name: name.to_owned(),
            hint,
        }
    })
}

/// Merges `over` into `base`: tables are merged, other values are replaced.
fn overlay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
