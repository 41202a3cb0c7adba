//! What the policy `optimal` knows of all pages together, kept over a restart: `census` in the collection.
//!
//! An estimate, not a record: it is written now and then and at an orderly stop, and what a crash loses of it is learnt
//! again from the pages' own histories. A file that cannot be read counts as none.

use std::fs;
use std::io;
use std::path::Path;

use aranha_revisit::{Census, Policy, Schedule};

use crate::config::Config;

/// Takes over what an earlier run knew.
pub(crate) fn restore(schedule: &Schedule, path: &Path) {
    let known = fs::read(path)
        .ok()
        .and_then(|bytes| postcard::from_bytes::<Census>(&bytes).ok());
    if let Some(census) = known {
        schedule.restore(&census);
    }
}

/// Writes it beside the old one, then in its place.
pub(crate) fn keep(schedule: &Schedule, config: &Config, path: &Path) -> io::Result<()> {
    if config.revisit.policy != Policy::Optimal {
        return Ok(());
    }
    let bytes = postcard::to_stdvec(&schedule.census()).map_err(io::Error::other)?;
    let beside = path.with_extension("new");
    fs::write(&beside, bytes)?;
    fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use aranha_revisit::{History, PageState, PageVisit};

    use super::*;

    #[test]
    fn a_restart_knows_what_was_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("census");
        let mut config = Config::default();
        config.revisit.policy = Policy::Optimal;
        let schedule = Schedule::new(&config.revisit);
        for key in 0..50 {
            let visit = PageVisit::new(1_700_000_000_000, PageState::New, key);
            schedule.plan(&mut History::default(), &visit);
        }
        keep(&schedule, &config, &path).unwrap();
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
