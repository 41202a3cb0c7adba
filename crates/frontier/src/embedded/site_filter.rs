//! Bloom filter of the sites in a link run. With it, most sites without links in the link run are recognised without
//! reading the file.

/// Bits per site. Ten bits give about 1% false positives.
const BITS: u64 = 10;

/// Bloom filter of site keys.
#[derive(Debug)]
pub(super) struct SiteFilter {
    words: Vec<u64>,
}

impl SiteFilter {
    /// A link run with more sites has no filter. This bounds memory. A filter would rarely help, because such a link
    /// run contains nearly every site.
    pub(super) const MAX_SITES: usize = 1 << 21;

    /// A filter of these sites. If there are more than [`SiteFilter::MAX_SITES`], the filter is empty and every site
    /// passes.
    pub(super) fn of(sites: &[i64]) -> SiteFilter {
        if sites.len() > SiteFilter::MAX_SITES {
            return SiteFilter { words: Vec::new() };
        }
        let words = (sites.len() as u64 * BITS).div_ceil(64).next_power_of_two();
        let mut filter = SiteFilter {
            words: vec![0; words as usize],
        };
        for site in sites {
            filter.insert(*site);
        }
        filter
    }

    /// The filter with these words; `None` if they are damaged.
    pub(super) fn read(words: Vec<u64>) -> Option<SiteFilter> {
        (words.is_empty() || words.len().is_power_of_two()).then_some(SiteFilter { words })
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    fn bits(&self, site: i64) -> [u64; 4] {
        let mask = self.words.len() as u64 * 64 - 1;
        let (low, high) = (site as u64, (site as u64).rotate_left(32) | 1);
        [0, 1, 2, 3].map(|step| low.wrapping_add(high.wrapping_mul(step)) & mask)
    }

    fn insert(&mut self, site: i64) {
        for bit in self.bits(site) {
            self.words[(bit / 64) as usize] |= 1 << (bit % 64);
        }
    }

    /// Returns false only if the site is not in the link run.
    pub(super) fn may_have(&self, site: i64) -> bool {
        self.words.is_empty()
            || self
                .bits(site)
                .iter()
                .all(|bit| self.words[(bit / 64) as usize] & (1 << (bit % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_sites_are_found_and_others_rarely() {
        let site = |n: i64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64);
        let sites: Vec<i64> = (1..2000).map(site).collect();
        let filter = SiteFilter::of(&sites);
        assert!(sites.iter().all(|site| filter.may_have(*site)));
        let wrong = (2000..12000).filter(|n| filter.may_have(site(*n))).count();
        assert!(wrong < 500, "{wrong} of 10000");
        let filter = SiteFilter::read(filter.words().to_vec()).expect("valid");
        assert!(sites.iter().all(|site| filter.may_have(*site)));
        assert!(SiteFilter::read(vec![0; 3]).is_none());
        assert!(SiteFilter::read(Vec::new()).expect("valid").may_have(7));
    }
}
