//! The commands, one file each: flag definitions, help with examples, and the function that runs the command.

mod block;
mod cat;
mod changes;
mod check;
mod clean;
mod completions;
mod config;
mod crawl;
mod demo;
mod diff;
mod drain;
mod export;
mod export_links;
mod forget;
mod history;
mod lab;
mod links;
mod listen;
mod man;
mod node;
mod nodes;
mod pages;
mod read;
mod robots;
mod seed;
mod seed_list;
mod ship;
mod sites;
mod squid;
mod status;
mod text;
mod unlock;
mod url;
mod why;

use clap::Subcommand;

use crate::error::{CommandError, ExitStatus};

/// A command with its arguments.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Demo(demo::Arguments),
    Crawl(Box<crawl::Arguments>),
    Node(Box<node::Arguments>),
    #[command(subcommand)]
    Seed(seed::Command),
    Status(status::Arguments),
    Why(why::Arguments),
    Sites(sites::Arguments),
    Pages(pages::Arguments),
    Changes(changes::Arguments),
    Links(links::Arguments),
    Text(text::Arguments),
    Cat(cat::Arguments),
    Read(read::Arguments),
    History(history::Arguments),
    Diff(diff::Arguments),
    #[command(subcommand)]
    Export(export::Command),
    Check(check::Arguments),
    Clean(clean::Arguments),
    Nodes(nodes::Arguments),
    Drain(drain::Arguments),
    Unlock(unlock::Arguments),
    Ship(ship::Arguments),
    Block(block::Block),
    Unblock(block::Unblock),
    Forget(forget::Arguments),
    #[command(subcommand)]
    Config(config::Command),
    #[command(subcommand)]
    Url(url::Command),
    #[command(subcommand)]
    Robots(robots::Command),
    Squid(squid::Arguments),
    Listen(listen::Arguments),
    Lab(lab::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// Runs a command.
pub(crate) fn run(command: Command) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Crawl(arguments) => crawl::run(&arguments),
        Command::Node(arguments) => node::run(&arguments),
        Command::Seed(command) => seed::run(command),
        Command::Status(arguments) => status::run(&arguments),
        Command::Why(arguments) => why::run(&arguments),
        Command::Sites(arguments) => sites::run(&arguments),
        Command::Pages(arguments) => pages::run(&arguments),
        Command::Changes(arguments) => changes::run(&arguments),
        Command::Links(arguments) => links::run(&arguments),
        Command::Text(arguments) => text::run(&arguments),
        Command::Cat(arguments) => cat::run(&arguments),
        Command::Read(arguments) => read::run(&arguments),
        Command::History(arguments) => history::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Export(command) => export::run(&command),
        Command::Check(arguments) => check::run(&arguments),
        Command::Clean(arguments) => clean::run(&arguments),
        Command::Nodes(arguments) => nodes::run(&arguments),
        Command::Drain(arguments) => drain::run(&arguments),
        Command::Unlock(arguments) => unlock::run(&arguments),
        Command::Ship(arguments) => ship::run(&arguments),
        Command::Block(arguments) => block::block(&arguments),
        Command::Unblock(arguments) => block::unblock(&arguments),
        Command::Forget(arguments) => forget::run(&arguments),
        Command::Config(command) => config::run(command),
        Command::Url(command) => url::run(command),
        Command::Robots(command) => robots::run(command),
        Command::Squid(arguments) => Ok(squid::run(&arguments)),
        Command::Listen(arguments) => listen::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
