//! Remembers sites that have links in their inbox. Another link to such a site needs no look-up in the database.

/// Set-associative cache of site keys: a new site replaces an older one of its set. If a site was replaced, the next
/// link to it needs a look-up in the database.
#[derive(Debug)]
pub(super) struct SitesWithInbox {
    sets: Vec<[i64; WAYS]>,
    /// Number of insertions. It selects the entry to replace in a full set.
    insertions: usize,
}

/// Number of entries in a set.
const WAYS: usize = 4;

impl SitesWithInbox {
    pub(super) fn new(sites: usize) -> SitesWithInbox {
        SitesWithInbox {
            sets: vec![[0; WAYS]; (sites / WAYS).next_power_of_two()],
            insertions: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        if self.insertions > 0 {
            *self = SitesWithInbox::new(self.sets.len() * WAYS);
        }
    }

    fn set(&mut self, site: i64) -> &mut [i64; WAYS] {
        let index = (site as u64 >> 20) as usize & (self.sets.len() - 1);
        &mut self.sets[index]
    }

    pub(super) fn has(&mut self, site: i64) -> bool {
        site != 0 && self.set(site).contains(&site)
    }

    pub(super) fn insert(&mut self, site: i64) {
        self.insertions += 1;
        let victim = self.insertions % WAYS;
        let set = self.set(site);
        if !set.contains(&site) {
            let way = set.iter().position(|other| *other == 0).unwrap_or(victim);
            set[way] = site;
        }
    }

    pub(super) fn remove(&mut self, site: i64) {
        for slot in self.set(site) {
            if *slot == site {
                *slot = 0;
            }
        }
    }
}
