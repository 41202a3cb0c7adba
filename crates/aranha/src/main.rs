//! The command-line program: arguments, output, exit status.
//!
//! Each command has a file in `commands/`. Data goes to stdout through [`output`]. Everything else goes to stderr. Text
//! from the web passes through [`terminal_escape`] before it is printed. Every failure is a [`error::CommandError`]:
//! one sentence, a hint and an exit status.
//!
//! Read first: [`commands`], then [`error`]. A crawl is run by [`session`] and reported by [`display`].

mod allocator;
mod arguments;
mod collection;
mod collection_reader;
mod commands;
mod crawl_state;
mod display;
mod documents;
mod error;
mod fetch_json;
mod foreign_flags;
mod forgotten;
mod frontier_access;
mod input;
mod live_scope;
mod logging;
mod mirror;
mod output;
mod own_volumes;
mod page_history;
mod point_in_time;
mod progress_line;
mod repair;
mod robots_error;
mod session;
mod settings;
mod shared_args;
mod stored_page;
mod terminal_escape;
mod url_counter;
mod word_diff;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::set_purge_delay();
    // Most buffers have a few kilobytes, and exist for one fetch. With transparent huge pages, the kernel would clear 2
    // MB of memory for many of these buffers.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    match arguments::read().and_then(commands::run) {
        Ok(status) => status.into(),
        Err(error) => error.report(),
    }
}
