//! The file `census` keeps the page counts of the revisit policy `optimal` between crawls.
//!
//! The census is an estimate. It is written periodically and when a crawl ends. A crash loses the changes since the
//! last write. Later visits learn them again from the histories of the pages. A file that cannot be read is ignored.

use std::fs;
use std::io;
use std::path::Path;

use aranha_revisit::{Census, Policy, Schedule};

use crate::config::Config;

/// Loads the census of an earlier crawl, if there is one.
pub(crate) fn restore(schedule: &Schedule, path: &Path) {
    let saved = fs::read(path)
        .ok()
        .and_then(|bytes| postcard::from_bytes::<Census>(&bytes).ok());
    if let Some(census) = saved {
        schedule.restore(&census);
    }
}

/// Saves the census if the policy is `optimal`. Writes a temporary file and renames it, so that the file is never
/// partial.
pub(crate) fn save(schedule: &Schedule, config: &Config, path: &Path) -> io::Result<()> {
    if config.revisit.policy != Policy::Optimal {
        return Ok(());
    }
    let bytes = postcard::to_stdvec(&schedule.census()).map_err(io::Error::other)?;
    let temporary = path.with_extension("new");
    fs::write(&temporary, bytes)?;
    fs::rename(temporary, path)
}

#[cfg(test)]
mod tests {
    use aranha_revisit::{History, PageState, PageVisit};

    use super::*;

    #[test]
    fn the_census_is_restored_and_an_unreadable_file_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("census");
        let mut config = Config::default();
        config.revisit.policy = Policy::Optimal;
        let schedule = Schedule::new(&config.revisit);
        for key in 0..50 {
            let visit = PageVisit::new(1_700_000_000_000, PageState::New, key);
            schedule.plan(&mut History::default(), &visit);
        }
        save(&schedule, &config, &path).unwrap();
        let next = Schedule::new(&config.revisit);
        restore(&next, &path);
        assert_eq!(
            (next.census(), next.census().pages()),
            (schedule.census(), 50)
        );
        fs::write(&path, b"\xff\xff").unwrap();
        let next = Schedule::new(&config.revisit);
        restore(&next, &path);
        assert_eq!(next.census().pages(), 0);
    }
}
