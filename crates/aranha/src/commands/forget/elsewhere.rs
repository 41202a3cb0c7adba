//! The records of forgotten pages that are in the folders of other nodes. Only the machine with the folder can overwrite them;
//! `aranha forget` says which command remains to be run there.
//!
//! A record counts as forgotten if its folder has forgotten the page after the record was stored.

use std::borrow::Cow;
use std::collections::BTreeMap;

use aranha_url::{CanonUrl, Canonicaliser};
use aranha_volume::Location;
use serde_json::{Value, json};

use super::Arguments;
use crate::error::CommandError;
use crate::forgotten::{ForgetTarget, ForgottenEntry};
use crate::output::{counted, message};
use crate::own_volumes::OwnVolumes;
use crate::terminal_escape::Escaped;

pub(super) struct Elsewhere<'a> {
    own: &'a OwnVolumes,
    /// What the folders of the crawl have forgotten.
    forgotten: Vec<(ForgetTarget, &'a ForgottenEntry)>,
    /// Number of records that remain, by number of the folder.
    remaining: BTreeMap<u32, u64>,
    /// Number of records that were forgotten before.
    pub(super) already: u64,
}

impl<'a> Elsewhere<'a> {
    pub(super) fn new(
        own: &'a OwnVolumes,
        entries: &'a [ForgottenEntry],
        literal: &Canonicaliser,
    ) -> Self {
        let target = |entry: &'a ForgottenEntry| {
            ForgetTarget::parse(&entry.target, literal).map(|target| (target, entry))
        };
        Self {
            own,
            forgotten: entries.iter().filter_map(target).collect(),
            remaining: BTreeMap::new(),
            already: 0,
        }
    }

    /// Whether a record is in this folder. If it is not, it is counted.
    pub(super) fn is_here(&mut self, location: Location, url: &CanonUrl, time: i64) -> bool {
        if self.own.contains(location.volume) {
            return true;
        }
        let folder = location.volume.node();
        let mut forgotten = self.forgotten.iter();
        let is_forgotten = forgotten.any(|(target, entry)| {
            entry.folders.contains(&folder) && time <= entry.time_ms && target.covers(url)
        });
        if is_forgotten {
            self.already += 1;
        } else {
            *self.remaining.entry(folder).or_default() += 1;
        }
        false
    }

    pub(super) fn is_empty(&self) -> bool {
        self.remaining.is_empty()
    }

    /// The command to run on the machine with this folder; `None` if the folder is not known.
    fn command(&self, folder: u32, arguments: &Arguments) -> Option<String> {
        let (_, path) = self.own.folder(folder)?.place.split_once(':')?;
        let mut words = vec!["aranha", "forget", &arguments.target, "-c", path];
        words.extend(arguments.copies.then_some("--copies"));
        words.extend(arguments.no_block.then_some("--no-block"));
        if !arguments.reason.is_empty() {
            words.extend(["--reason", &arguments.reason]);
        }
        let quoted: Vec<_> = words.into_iter().map(quoted).collect();
        Some(quoted.join(" "))
    }

    pub(super) fn json(&self, arguments: &Arguments) -> Value {
        let remaining = self.remaining.iter().map(|(number, records)| {
            let folder = self.own.folder(*number);
            json!({
                "folder": number,
                "node": folder.map(|folder| &folder.node),
                "place": folder.map(|folder| &folder.place),
                "records": records,
                "command": self.command(*number, arguments),
            })
        });
        remaining.collect()
    }

    /// Prints which records remain, and the commands that delete them.
    pub(super) fn print(&self, arguments: &Arguments) {
        if self.already > 0 {
            let records = counted(self.already, "record");
            message(format_args!("{records} of other folders forgotten before"));
        }
        for (number, records) in &self.remaining {
            let records = counted(*records, "record");
            let (Some(folder), Some(command)) =
                (self.own.folder(*number), self.command(*number, arguments))
            else {
                message(format_args!(
                    "{records} in volumes of the folder {number}, which is not known"
                ));
                continue;
            };
            message(format_args!(
                "{records} in {}, the folder of {}. Run there, while no node works in it:",
                Escaped(&folder.place),
                Escaped(&folder.node)
            ));
            message(format_args!("  {}", Escaped(&command)));
        }
    }

    /// The error for records that remain.
    pub(super) fn error(&self, arguments: &Arguments) -> CommandError {
        let count = self.remaining.len() as u64;
        let folders = counted(count, "other folder");
        let have = if count == 1 { "has" } else { "have" };
        CommandError::failed(format!(
            "{folders} of the crawl still {have} contents of {}",
            arguments.target
        ))
        .hint("run the printed commands on the machines with these folders")
    }
}

/// A word for a shell.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+-,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("https://example.org/a%20b", "https://example.org/a%20b"),
            ("https://example.org/?a&b", "'https://example.org/?a&b'"),
            ("owner's request", r"'owner'\''s request'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
