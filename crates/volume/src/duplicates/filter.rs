//! A blocked Bloom filter (Putze, Sanders, Singler 2007): says of most digests that are not in a run that they are
//! not, at the cost of one cache line. Digests are uniform already, so their own bits choose the bits.

use crate::record::digest::Digest;

/// Bits a digest at which about one digest in two hundred passes by mistake.
const BITS: u64 = 12;
/// Below this many bits a digest the filter would let too much pass to be worth its memory.
const FEWEST_BITS: u64 = 4;
/// Nine bits of the digest each.
const PROBES: usize = 7;

type FilterBlock = [u64; 8];

/// The filter of one run.
#[derive(Debug)]
pub(crate) struct DigestFilter {
    blocks: Vec<FilterBlock>,
}

impl DigestFilter {
    /// A filter for this many digests in at most `room` bytes; none when that is too little.
    pub(crate) fn new(digests: u64, room: usize) -> Option<Self> {
        let bits = (digests * BITS).min((room as u64).saturating_mul(8));
        if digests == 0 || bits / digests < FEWEST_BITS {
            return None;
        }
        let blocks = bits.div_ceil(512) as usize;
        Some(Self {
            blocks: vec![FilterBlock::default(); blocks],
        })
    }

    /// Bytes held.
    pub(crate) fn size(&self) -> usize {
        self.blocks.len() * size_of::<FilterBlock>()
    }

    pub(crate) fn insert(&mut self, digest: &Digest) {
        let (block, bits) = self.place(digest);
        for bit in bits {
            self.blocks[block][bit / 64] |= 1 << (bit % 64);
        }
    }

    /// False means that the digest was not inserted; true that it may have been.
    pub(crate) fn may_hold(&self, digest: &Digest) -> bool {
        let (block, bits) = self.place(digest);
        let block = &self.blocks[block];
        bits.into_iter()
            .all(|bit| block[bit / 64] & 1 << (bit % 64) != 0)
    }

    /// The block is chosen by other bits than those that order a run, the bits in it by others again.
    fn place(&self, digest: &Digest) -> (usize, [usize; PROBES]) {
        let word =
            |at: usize| u64::from_le_bytes(digest[at..at + 8].try_into().expect("eight bytes"));
        let block = (u128::from(word(4)) * self.blocks.len() as u128) >> 64;
        let choice = word(12);
        let bits = std::array::from_fn(|probe| (choice >> (9 * probe)) as usize & 511);
        (block as usize, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::digest::sha1;

    #[test]
    fn nothing_inserted_is_denied_and_little_else_passes() {
        let mut filter = DigestFilter::new(20_000, usize::MAX).unwrap();
        for n in 0..20_000u32 {
            filter.insert(&sha1(&n.to_le_bytes()));
        }
        assert!((0..20_000u32).all(|n| filter.may_hold(&sha1(&n.to_le_bytes()))));
        let passed = (20_000..40_000u32)
            .filter(|n| filter.may_hold(&sha1(&n.to_le_bytes())))
            .count();
        assert!(passed < 250, "{passed} of 20000 passed");
        assert!(filter.size() <= 20_000 * 12 / 8 + 64);
    }

    #[test]
    fn too_little_memory_means_none() {
        assert!(DigestFilter::new(1000, 400).is_none());
        assert!(DigestFilter::new(1000, 600).is_some());
        assert!(DigestFilter::new(0, 600).is_none());
    }
}
