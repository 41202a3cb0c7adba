//! Converts errors of the frontier and the engine to messages with hints.

use std::io::ErrorKind;
use std::path::Path;

use aranha_engine::EngineError;
use aranha_frontier::{FrontierError, Refusal};
use aranha_volume::VolumeError;

use crate::error::{CommandError, FREE_DISK_SPACE};

/// Hint for a frontier whose database or link runs are missing.
pub(super) const RESTORE_BOTH: &str = "restore frontier.db and frontier.runs/ from the same backup";

/// The message for an error of the frontier.
pub(crate) fn frontier_error(error: &FrontierError) -> CommandError {
    let sentence = error.to_string();
    match error {
        FrontierError::Locked { .. } => CommandError::failed(sentence)
            .hint("wait until it ends, stop it with Ctrl-C, or choose another folder with -c"),
        FrontierError::Refused { refusal, place, .. } => {
            CommandError::failed(sentence).hint(match refusal {
                Refusal::Login => "check role and password; the password is read from PGPASSWORD, from ~/.pgpass (or PGPASSFILE), or from the file in `--frontier @FILE`".to_owned(),
                Refusal::Rights => missing_schema(&place.to_string_lossy()),
                Refusal::NoDatabase => "create it with `createdb`, or correct the address".to_owned(),
            })
        }
        FrontierError::Older { .. } => CommandError::failed(sentence).hint(
            "start `aranha crawl` or `aranha node` of this version once: it migrates the tables",
        ),
        FrontierError::OtherFrontier { .. } => CommandError::usage(sentence)
            .hint("choose another folder with -c, or the frontier to which it belongs"),
        FrontierError::Missing { .. } => CommandError::usage(sentence)
            .hint("name a collection with -c, or create one with `aranha crawl`"),
        FrontierError::Full { .. } => CommandError::stopped(sentence).hint(FREE_DISK_SPACE),
        FrontierError::File { path, source } if is_missing_run(path, source) => {
            CommandError::failed(sentence).hint(RESTORE_BOTH)
        }
        FrontierError::File { .. } => CommandError::failed(sentence)
            .hint("make sure that you are allowed to write to the collection, or choose another folder with -c"),
        FrontierError::Newer { .. } => CommandError::failed(sentence)
            .hint("use the version of aranha that wrote it, or choose another folder with -c"),
        FrontierError::Away { .. } | FrontierError::Unanswered { .. } => CommandError::failed(sentence)
            .hint("make sure that the database runs and that its address is right"),
        FrontierError::Database { place, .. } if place.to_string_lossy().starts_with("postgres") => {
            CommandError::failed(sentence)
                .hint("check the address of the frontier, and the log of the database server")
        }
        FrontierError::Damaged { .. } => CommandError::failed(sentence).hint(format!(
            "the pages in archive/ are safe; {RESTORE_BOTH}, or rebuild it from the archive with `aranha check --repair`"
        )),
        FrontierError::Database { .. } => CommandError::failed(sentence).hint(format!(
            "the pages in archive/ are safe; {RESTORE_BOTH}, or start again in another folder"
        )),
    }
}

/// The hint for a role that may not create its schema. `address` is `postgres://ROLE@HOST/DATABASE?schema=NAME`.
fn missing_schema(address: &str) -> String {
    let after = |mark: &str| address.split_once(mark).map(|(_, rest)| rest);
    let role = after("://").and_then(|rest| rest.split_once('@'));
    let role = role.map_or("ROLE", |(role, _)| role);
    let schema = after("schema=").and_then(|rest| rest.split('&').next());
    let schema = schema.unwrap_or("aranha");
    format!(
        "the role needs a schema of its own: CREATE SCHEMA {schema} AUTHORIZATION {role} (docs/cluster.md)"
    )
}

/// Whether the error says that a file of `frontier.runs/` does not exist.
fn is_missing_run(path: &Path, source: &std::io::Error) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    source.kind() == ErrorKind::NotFound && folder.is_some_and(|name| name == "frontier.runs")
}

/// The message for an error of the engine.
pub(super) fn engine_error(error: EngineError) -> CommandError {
    match error {
        EngineError::Frontier(error) => frontier_error(&error),
        EngineError::Config(error) => error.into(),
        EngineError::Volume(VolumeError::DiskFull { path }) => CommandError::stopped(format!(
            "no space left on the disk that holds {}",
            path.display()
        ))
        .hint(FREE_DISK_SPACE),
        other => CommandError::failed(other.to_string()).hint(
            "pages that were checked in are safe; remove the cause, then run the same command again",
        ),
    }
}
