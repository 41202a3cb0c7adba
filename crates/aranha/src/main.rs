//! The command line: what people type, what they read, and the exit status.
//!
//! One file a verb under `commands/`. Data goes to stdout through [`output`], everything else to stderr; text that
//! came from the web goes through [`plain`] first. Whatever goes wrong ends as a [`complaint::Complaint`]: one
//! sentence, a hint, a status.
//!
//! Read first: [`commands`], then [`complaint`].

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
mod when;
mod words;

use std::process::ExitCode;

/// Many small strings are made and dropped by many threads: the system's allocator is the slower one there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let ended = arguments::read().and_then(commands::run);
    match ended {
        Ok(status) => status.into(),
        Err(complaint) => complaint.report(),
    }
}
