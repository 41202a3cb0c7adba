//! The command line: what people type, what they read, and the exit status.
//!
//! One file a verb under `commands/`. Data goes to stdout through [`output`], everything else to stderr; text that
//! came from the web goes through [`plain`] first. Whatever goes wrong ends as a [`complaint::Complaint`]: one
//! sentence, a hint, a status.
//!
//! Read first: [`commands`], then [`complaint`].

mod allocator;
mod archived;
mod arguments;
mod collection;
mod commands;
mod complaint;
mod display;
mod history;
mod input;
mod mirror;
mod output;
mod plain;
mod session;
mod settings;
mod wanted;
mod when;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::give_back_soon();
    // Pages come and go in buffers of a few kilobytes: with huge pages the system clears two megabytes for each of many.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let ended = arguments::read().and_then(commands::run);
    match ended {
        Ok(status) => status.into(),
        Err(complaint) => complaint.report(),
    }
}
