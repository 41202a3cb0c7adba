//! The facts of sites (table `facts`): a version byte and [`SiteFacts`] in postcard encoding, in the envelope of
//! `codec.rs`.

use rusqlite::params;

use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use crate::SiteFacts;
use crate::codec::BlockBuffer;

/// Version of the encoding.
const VERSION: u8 = 3;

impl Store {
    pub(super) fn facts_write(
        &self,
        site: &mut SiteRow,
        facts: &SiteFacts,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        block.clear();
        block.text.push(VERSION);
        let text = std::mem::take(&mut block.text);
        block.text = postcard::to_extend(facts, text)
            .map_err(|error| StoreError::Damaged(format!("facts of {}: {error}", site.name)))?;
        self.run(
            "INSERT INTO facts VALUES (?1, ?2) ON CONFLICT DO UPDATE SET facts = excluded.facts",
            params![site.key, self.packer.seal(block)],
        )?;
        if !facts.origin.is_empty() {
            site.origin.clone_from(&facts.origin);
        }
        Ok(())
    }

    /// The facts of a site. If it was never visited, only the origin is set.
    pub(super) fn facts_read(&self, site: &SiteRow) -> Result<SiteFacts, StoreError> {
        let sealed: Option<Vec<u8>> = self.first(
            "SELECT facts FROM facts WHERE site = ?1",
            [site.key],
            |row| row.get(0),
        )?;
        let Some(sealed) = sealed else {
            return Ok(SiteFacts {
                origin: site.origin.clone(),
                ..SiteFacts::default()
            });
        };
        self.packer
            .open(&sealed)
            .and_then(|(text, _)| {
                let (version, bytes) = text.split_first()?;
                (*version == VERSION)
                    .then(|| postcard::from_bytes(bytes).ok())
                    .flatten()
            })
            .ok_or_else(|| StoreError::damaged("facts of site", site.key))
    }
}
