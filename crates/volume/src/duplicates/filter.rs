//! A blocked Bloom filter (Putze, Sanders, Singler 2007). It recognises most digests that are not in a digest segment,
//! and reads only one cache line per look-up. Digests are uniformly distributed, so their bits are used as hash values.

use crate::record::digest::Digest;

/// Filter size per digest, in bits. Twelve bits give about one false positive in 200 look-ups.
const BITS_PER_DIGEST: u64 = 12;
/// Minimum filter size per digest, in bits. If there is memory for fewer bits, no filter is made, because it would have
/// too many false positives.
const MIN_BITS_PER_DIGEST: u64 = 4;
/// Number of bits that are set in the filter for each digest. Each one is selected by nine bits of the digest.
const PROBES: usize = 7;

/// The bits of one cache line.
type FilterBlock = [u64; 8];

/// The filter of one digest segment.
#[derive(Debug)]
pub(crate) struct DigestFilter {
    blocks: Vec<FilterBlock>,
}

impl DigestFilter {
    /// A filter for this many digests, of at most `max_memory` bytes; `None` if that is too little memory.
    pub(crate) fn new(digests: u64, max_memory: usize) -> Option<Self> {
        let bits = (digests * BITS_PER_DIGEST).min((max_memory as u64).saturating_mul(8));
        if digests == 0 || bits / digests < MIN_BITS_PER_DIGEST {
            return None;
        }
        let blocks = bits.div_ceil(512) as usize;
        Some(Self {
            blocks: vec![FilterBlock::default(); blocks],
        })
    }

    /// Memory use in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.blocks.len() * size_of::<FilterBlock>()
    }

    pub(crate) fn insert(&mut self, digest: &Digest) {
        let (block, bits) = self.probes(digest);
        for bit in bits {
            self.blocks[block][bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Returns `false` if the digest was not inserted, and `true` if it may have been.
    pub(crate) fn may_contain(&self, digest: &Digest) -> bool {
        let (block, bits) = self.probes(digest);
        let block = &self.blocks[block];
        bits.into_iter()
            .all(|bit| block[bit / 64] & 1 << (bit % 64) != 0)
    }

    /// The block of a digest, and its bits in the block. Bytes 4 to 11 of the digest select the block, and bytes 12 to
    /// 19 select the bits.
    fn probes(&self, digest: &Digest) -> (usize, [usize; PROBES]) {
        let word = |at: usize| {
            u64::from_le_bytes(
                digest[at..at + 8]
                    .try_into()
                    .expect("the range has eight bytes"),
            )
        };
        let block = (u128::from(word(4)) * self.blocks.len() as u128) >> 64;
        let selector = word(12);
        let bits = std::array::from_fn(|probe| (selector >> (9 * probe)) as usize & 511);
        (block as usize, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::digest::sha1;

    #[test]
    fn every_inserted_digest_passes_and_at_most_one_percent_of_others() {
        let mut filter = DigestFilter::new(20_000, usize::MAX).unwrap();
        for n in 0..20_000u32 {
            filter.insert(&sha1(&n.to_le_bytes()));
        }
        assert!((0..20_000u32).all(|n| filter.may_contain(&sha1(&n.to_le_bytes()))));
        let passed = (20_000..40_000u32)
            .filter(|n| filter.may_contain(&sha1(&n.to_le_bytes())))
            .count();
        assert!(passed <= 200, "{passed} of 20000 passed");
        assert!(filter.memory() <= 20_000 * 12 / 8 + 64);
    }

    #[test]
    fn there_is_no_filter_when_memory_is_too_small() {
        assert!(DigestFilter::new(1000, 400).is_none());
        assert!(DigestFilter::new(1000, 600).is_some());
        assert!(DigestFilter::new(0, 600).is_none());
    }
}
