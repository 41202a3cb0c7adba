//! The command line: what people type, what they read, and the exit status.
//!
//! One file a verb under `commands/`. Data goes to stdout through [`output`], everything else to stderr; text that
//! came from the web goes through [`terminal_escape`] first. Whatever goes wrong ends as a [`error::CommandError`]: one
//! sentence, a hint, a status.
//!
//! Read first: [`commands`], then [`error`].

mod allocator;
mod arguments;
mod collection;
mod collection_reader;
mod commands;
mod display;
mod error;
mod fetch_json;
mod input;
mod live_scope;
mod logging;
mod mirror;
mod output;
mod page_history;
mod point_in_time;
mod progress_line;
mod session;
mod settings;
mod shared_args;
mod stored_page;
mod terminal_escape;
mod word_diff;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::set_purge_delay();
    // Pages come and go in buffers of a few kilobytes: with huge pages the system clears two megabytes for each of many.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let ended = arguments::read().and_then(commands::run);
    match ended {
        Ok(status) => status.into(),
        Err(complaint) => complaint.report(),
    }
}
