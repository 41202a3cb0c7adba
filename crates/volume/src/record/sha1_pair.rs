//! SHA-1 (FIPS 180-4, 6.1.2) of two inputs at once, with the SHA instructions of x86-64.
//!
//! Every step of SHA-1 depends on the step before it, so a single input leaves half of the execution units idle. The
//! steps of two inputs do not depend on each other, so they are interleaved. For pages of 6 kB and more this is twice
//! as fast as hashing one input after the other (docs/decisions/0009-where-the-processor-goes.md).

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_extract_epi32, _mm_set_epi32, _mm_set_epi64x, _mm_setzero_si128,
    _mm_sha1msg1_epu32, _mm_sha1msg2_epu32, _mm_sha1nexte_epu32, _mm_sha1rnds4_epu32,
    _mm_shuffle_epi8, _mm_xor_si128,
};
use std::array;
use std::ops::Range;

use crate::record::digest::Digest;

const BLOCK_SIZE: usize = 64;

/// The digests of both inputs; `None` if the processor has no SHA instructions.
pub(crate) fn sha1_pair(inputs: [&[u8]; 2]) -> Option<[Digest; 2]> {
    let supported = is_x86_feature_detected!("sha")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("sse4.1");
    #[expect(unsafe_code, reason = "the processor has the instructions")]
    supported.then(|| unsafe { hash_pair(inputs) })
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn hash_pair(inputs: [&[u8]; 2]) -> [Digest; 2] {
    let mut states = [Sha1State::new(); 2];
    let blocks = inputs.map(|input| input.as_chunks().0);
    let common = blocks[0].len().min(blocks[1].len());
    process_blocks(&mut states, blocks, 0..common);
    array::from_fn(|index| {
        let state = array::from_mut(&mut states[index]);
        process_blocks(state, [blocks[index]], common..blocks[index].len());
        let (padded, count) = padded_end(inputs[index]);
        process_blocks(state, [padded.as_chunks().0], 0..count);
        state[0].digest()
    })
}

/// Pads the bytes after the last complete block and appends the length, which gives one or two blocks (FIPS 180-4,
/// 5.1.1). Returns the bytes and the number of blocks.
fn padded_end(input: &[u8]) -> ([u8; 2 * BLOCK_SIZE], usize) {
    let rest = input.as_chunks::<BLOCK_SIZE>().1;
    let mut padded = [0; 2 * BLOCK_SIZE];
    padded[..rest.len()].copy_from_slice(rest);
    padded[rest.len()] = 0x80;
    let count = if rest.len() < BLOCK_SIZE - 8 { 1 } else { 2 };
    let bits = 8 * input.len() as u64;
    padded[count * BLOCK_SIZE - 8..count * BLOCK_SIZE].copy_from_slice(&bits.to_be_bytes());
    (padded, count)
}

/// The hash value between two blocks: the words a to d in `abcd`, and the word e. The first word is in the highest
/// lane.
#[derive(Clone, Copy)]
struct Sha1State {
    abcd: __m128i,
    e: __m128i,
}

impl Sha1State {
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn new() -> Sha1State {
        let word = u32::cast_signed;
        Sha1State {
            abcd: _mm_set_epi32(
                word(0x6745_2301),
                word(0xefcd_ab89),
                word(0x98ba_dcfe),
                word(0x1032_5476),
            ),
            e: _mm_set_epi32(word(0xc3d2_e1f0), 0, 0, 0),
        }
    }

    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn digest(self) -> Digest {
        let words = [
            _mm_extract_epi32::<3>(self.abcd),
            _mm_extract_epi32::<2>(self.abcd),
            _mm_extract_epi32::<1>(self.abcd),
            _mm_extract_epi32::<0>(self.abcd),
            _mm_extract_epi32::<3>(self.e),
        ];
        let mut digest = [0; 20];
        for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_be_bytes();
        }
        digest
    }
}

/// Processes the blocks in `range` of every input.
#[target_feature(enable = "sha,ssse3,sse4.1")]
#[inline]
fn process_blocks<const INPUTS: usize>(
    states: &mut [Sha1State; INPUTS],
    blocks: [&[[u8; BLOCK_SIZE]]; INPUTS],
    range: Range<usize>,
) {
    for index in range {
        let mut inputs: [BlockState; INPUTS] =
            array::from_fn(|input| BlockState::new(states[input], &blocks[input][index]));
        twenty_rounds::<0, INPUTS>(&mut inputs);
        twenty_rounds::<1, INPUTS>(&mut inputs);
        twenty_rounds::<2, INPUTS>(&mut inputs);
        twenty_rounds::<3, INPUTS>(&mut inputs);
        for (state, block) in states.iter_mut().zip(inputs) {
            state.abcd = _mm_add_epi32(state.abcd, block.abcd);
            state.e = _mm_sha1nexte_epu32(block.previous_abcd, state.e);
        }
    }
}

/// Working variables of one block during the rounds.
#[derive(Clone, Copy)]
struct BlockState {
    /// The last sixteen words of the message schedule.
    words: [__m128i; 4],
    abcd: __m128i,
    /// The value of `abcd` four rounds ago, from which the next e is computed.
    previous_abcd: __m128i,
    /// The word e for the first four rounds; later rounds use `previous_abcd`.
    e: __m128i,
}

impl BlockState {
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    #[inline]
    fn new(state: Sha1State, block: &[u8; BLOCK_SIZE]) -> BlockState {
        let (quarters, _) = block.as_chunks();
        // Words are big endian, with the first word in the highest lane, so all 16 bytes are reversed.
        let reversed = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
        let words = array::from_fn(|index| {
            let bytes = i128::from_le_bytes(quarters[index]);
            let quarter = _mm_set_epi64x((bytes >> 64) as i64, bytes as i64);
            _mm_shuffle_epi8(quarter, reversed)
        });
        BlockState {
            words,
            abcd: state.abcd,
            previous_abcd: _mm_setzero_si128(),
            e: state.e,
        }
    }
}

/// Twenty rounds with the same function, four at a time.
#[target_feature(enable = "sha,ssse3,sse4.1")]
#[inline]
fn twenty_rounds<const FUNCTION: i32, const INPUTS: usize>(blocks: &mut [BlockState; INPUTS]) {
    for step in 0..5 {
        // Index of this group of four rounds among the twenty groups of the block.
        let group = 5 * FUNCTION as usize + step;
        for block in &mut *blocks {
            if group >= 4 {
                let [oldest, older, old, last] =
                    array::from_fn(|index| block.words[(group + index) % 4]);
                let mixed = _mm_xor_si128(_mm_sha1msg1_epu32(oldest, older), old);
                block.words[group % 4] = _mm_sha1msg2_epu32(mixed, last);
            }
            let words = block.words[group % 4];
            let e = if group == 0 {
                _mm_add_epi32(block.e, words)
            } else {
                _mm_sha1nexte_epu32(block.previous_abcd, words)
            };
            block.previous_abcd = block.abcd;
            block.abcd = _mm_sha1rnds4_epu32::<FUNCTION>(block.abcd, e);
        }
    }
}
