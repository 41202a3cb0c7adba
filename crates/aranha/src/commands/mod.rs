//! The verbs, one file each: its arguments, its help with examples, and what it does.

mod completions;
mod config;
mod crawl;
mod robots;
mod url;

use clap::Subcommand;

use crate::complaint::{Complaint, Status};

/// What can be done.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Crawl(Box<crawl::Arguments>),
    #[command(subcommand)]
    Config(config::Command),
    #[command(subcommand)]
    Url(url::Command),
    #[command(subcommand)]
    Robots(robots::Command),
    Completions(completions::Arguments),
}

/// Does it.
pub(crate) fn run(command: Command) -> Result<Status, Complaint> {
    match command {
        Command::Crawl(arguments) => crawl::run(&arguments),
        Command::Config(command) => config::run(command),
        Command::Url(command) => url::run(command),
        Command::Robots(command) => robots::run(command),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}
