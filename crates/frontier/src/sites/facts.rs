//! The facts of sites (table `facts`): a version byte and [`SiteFacts`] in postcard encoding, in the envelope of
//! `codec.rs`.

use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::SiteFacts;
use crate::codec::BlockBuffer;
use crate::store_error::StoreError;

/// Version of the encoding.
const VERSION: u8 = 4;
/// The previous version, which lacks the last field, [`SiteFacts::sources`]. It is read as if one zero byte (the
/// encoding of 0) followed.
const WITHOUT_SOURCES: u8 = 3;

impl<T: Tables> Store<T> {
    pub(crate) fn facts_write(
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
        self.tables.facts_write(site.key, self.packer.seal(block))?;
        if !facts.origin.is_empty() {
            site.origin.clone_from(&facts.origin);
        }
        Ok(())
    }

    /// The facts of a site. If it was never visited, only the origin is set.
    pub(crate) fn facts_read(&self, site: &SiteRow) -> Result<SiteFacts, StoreError> {
        let Some(sealed) = self.tables.facts(site.key)? else {
            return Ok(SiteFacts {
                origin: site.origin.clone(),
                ..SiteFacts::default()
            });
        };
        self.packer
            .open(&sealed)
            .and_then(|(text, _)| {
                let (version, bytes) = text.split_first()?;
                match *version {
                    VERSION => postcard::from_bytes(bytes).ok(),
                    WITHOUT_SOURCES => postcard::from_bytes(&[bytes, &[0]].concat()).ok(),
                    _ => None,
                }
            })
            .ok_or_else(|| StoreError::damaged("facts of site", site.key))
    }
}
