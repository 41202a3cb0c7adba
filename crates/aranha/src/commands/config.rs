//! `aranha config`: shows the configuration, and checks configuration files.

use std::path::PathBuf;

use aranha_engine::config::{Layers, PROFILES};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::output::Output;
use crate::settings::{self, Settings};
use crate::shared_args::{CollectionArg, JsonObjectArg};

const SHOW_EXAMPLES: &str = "\
Examples:
  aranha config show               all keys with their default values
  aranha config show -c example    the configuration of the collection `example`
  aranha config show --profile vn2006 | grep -v '# default'
  aranha config show --config mine.toml --pause 1s
  aranha config show --json | jq '.\"crawl.pause\".origin'";

const CHECK_EXAMPLES: &str = "\
Examples:
  aranha config check aranha.toml
  aranha config check example/aranha.toml && aranha crawl -c example";

const PROFILES_EXAMPLES: &str = "\
Examples:
  aranha config profiles
  aranha config profiles vn2006                its values, with comments
  aranha config profiles vn2006 > mine.toml    a configuration file to edit";

/// Show and check configurations
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Print every configuration value with its origin, as TOML
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
    /// Check a configuration file and report the first error
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        /// Configuration file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// List the profiles, or print one
    #[command(after_help = PROFILES_EXAMPLES)]
    Profiles {
        /// Print this profile as TOML
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    settings: Box<Settings>,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(command: Command) -> Result<ExitStatus, CommandError> {
    let mut output = Output::new();
    match command {
        Command::Show(show) => print(&show, &mut output)?,
        Command::Check { file } => check(file, &mut output)?,
        Command::Profiles { name: None } => list(&mut output)?,
        Command::Profiles { name: Some(name) } => profile(&name, &mut output)?,
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

fn print(show: &Show, output: &mut Output) -> Result<(), CommandError> {
    let settings = show.settings.with_frontier_of(&show.collection);
    let mut layers = settings.layers(show.collection.configuration());
    frontier_access::add_shared_settings(&mut layers, &show.collection)?;
    let (config, origins) = settings::load(&layers)?;
    if !show.output.json {
        return output.text(&config.show(&origins));
    }
    let entries = config.entries(&origins).into_iter().map(|entry| {
        let described = json!({ "value": entry.value, "origin": entry.origin.to_string() });
        (entry.key, described)
    });
    output.json(&entries.collect::<serde_json::Map<_, _>>().into())
}

fn check(file: PathBuf, output: &mut Output) -> Result<(), CommandError> {
    let shown = file.display().to_string();
    settings::load(&Layers {
        files: vec![file],
        ..Layers::default()
    })?;
    output.line(format_args!("{shown}: valid"))
}

fn list(output: &mut Output) -> Result<(), CommandError> {
    for profile in PROFILES {
        output.line(format_args!("{:<10}{}", profile.name, profile.about))?;
    }
    Ok(())
}

fn profile(name: &str, output: &mut Output) -> Result<(), CommandError> {
    // Loading fails because the name is unknown. The hint is a similar name.
    settings::load(&Layers {
        profile: Some(name.to_owned()),
        ..Layers::default()
    })?;
    let known = PROFILES.iter().filter(|profile| profile.name == name);
    known
        .map(|profile| profile.text)
        .try_for_each(|text| output.text(text))
}
