//! `aranha config`: what is in force, and whether a file is good.

use std::path::PathBuf;

use aranha_engine::config::{Layers, PROFILES};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::settings::{self, Settings};
use crate::shared_args::CollectionArg;

const SHOW_EXAMPLES: &str = "\
Examples:
  aranha config show                                everything, with its defaults
  aranha config show -c example                     what the collection `example` is crawled with
  aranha config show --profile vn2006 | grep -v '# default'
  aranha config show --config mine.toml --pause 1s  what these would do to a crawl
  aranha config show --json | jq '.\"crawl.pause\".origin'";

const CHECK_EXAMPLES: &str = "\
Examples:
  aranha config check aranha.toml
  aranha config check example/aranha.toml && aranha crawl -c example";

const PROFILES_EXAMPLES: &str = "\
Examples:
  aranha config profiles
  aranha config profiles vn2006                     its values, with their reasons
  aranha config profiles vn2006 > mine.toml         a file to start from";

/// What is in force, where it came from, and whether a file is good
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Print every value in force, as TOML, with its origin
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
    /// Read a configuration file and complain about what is wrong with it
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// List the profiles, or print one
    #[command(after_help = PROFILES_EXAMPLES)]
    Profiles {
        /// Print this one as TOML
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
    /// One JSON object: each dotted key with its value and origin
    #[arg(long)]
    json: bool,
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
    let layers = show.settings.layers(show.collection.configuration());
    let (config, origins) = settings::load(&layers)?;
    if !show.json {
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
    output.line(format_args!("{shown}: good"))
}

fn list(output: &mut Output) -> Result<(), CommandError> {
    for profile in PROFILES {
        output.line(format_args!("{:<10}{}", profile.name, profile.about))?;
    }
    Ok(())
}

fn profile(name: &str, output: &mut Output) -> Result<(), CommandError> {
    // Loading it gives the complaint about a name that nobody knows.
    settings::load(&Layers {
        profile: Some(name.to_owned()),
        ..Layers::default()
    })?;
    let known = PROFILES.iter().filter(|profile| profile.name == name);
    known
        .map(|profile| profile.text)
        .try_for_each(|text| output.text(text))
}
