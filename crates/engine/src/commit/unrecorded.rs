//! The list `unrecorded.jsonl` of archive records without a page record. They come from pages whose lease was lost
//! before their check-in was stored. The archive records are valid. The node that has the site now fetches the pages
//! again. The list lets a later command find the archive records.

use std::io;
use std::path::{Path, PathBuf};

use aranha_frontier::CheckIn;
use serde_json::json;

use crate::collection::files;

/// The file with the list.
#[derive(Clone, Debug)]
pub(crate) struct Unrecorded(PathBuf);

impl Unrecorded {
    pub(crate) fn at(path: PathBuf) -> Unrecorded {
        Unrecorded(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Appends a line for each stored response in these check-ins, whose leases are lost.
    pub(crate) fn add<'a>(&self, lost: impl Iterator<Item = &'a CheckIn>) -> io::Result<()> {
        let mut lines = String::new();
        for check_in in lost {
            for page in &check_in.done {
                let Some(location) = page.location else {
                    continue;
                };
                let line = json!({
                    "lease": check_in.lease,
                    "path": page.path,
                    "time": page.time,
                    "volume": location.volume.to_string(),
                    "offset": location.offset,
                    "length": location.length,
                });
                lines.push_str(&line.to_string());
                lines.push('\n');
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let (file, _) = files::append(&self.0, lines.as_bytes())?;
        file.sync_data()
    }
}
