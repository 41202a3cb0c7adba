//! SHA-1 (FIPS 180-4, 6.1.2) of two texts at once, by the processor's own instructions for it.
//!
//! Each step of SHA-1 waits for the one before it, so that one text keeps half of the processor busy; the steps of two
//! texts that take turns do not wait for each other. Twice as fast as one after the other, on pages of six kilobytes and
//! more (docs/decisions/0009-where-the-processor-goes.md).

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_extract_epi32, _mm_set_epi32, _mm_set_epi64x, _mm_setzero_si128,
    _mm_sha1msg1_epu32, _mm_sha1msg2_epu32, _mm_sha1nexte_epu32, _mm_sha1rnds4_epu32,
    _mm_shuffle_epi8, _mm_xor_si128,
};
use std::array;
use std::ops::Range;

use crate::record::digest::Digest;

const BLOCK: usize = 64;

/// The digests of both, where the processor can.
pub(crate) fn sha1_pair(texts: [&[u8]; 2]) -> Option<[Digest; 2]> {
    let can = is_x86_feature_detected!("sha")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("sse4.1");
    #[expect(unsafe_code, reason = "the processor was asked whether it can")]
    can.then(|| unsafe { both(texts) })
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn both(texts: [&[u8]; 2]) -> [Digest; 2] {
    let mut states = [Sha1State::new(); 2];
    let blocks = texts.map(|text| text.as_chunks().0);
    let together = blocks[0].len().min(blocks[1].len());
    take(&mut states, blocks, 0..together);
    array::from_fn(|place| {
        let state = array::from_mut(&mut states[place]);
        take(state, [blocks[place]], together..blocks[place].len());
        let (end, count) = end(texts[place]);
        take(state, [end.as_chunks().0], 0..count);
        state[0].digest()
    })
}

/// What is left of a text behind its whole blocks, the mark of its end and its length, in one block or two (5.1.1).
fn end(text: &[u8]) -> ([u8; 2 * BLOCK], usize) {
    let rest = text.as_chunks::<BLOCK>().1;
    let mut end = [0; 2 * BLOCK];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let count = if rest.len() < BLOCK - 8 { 1 } else { 2 };
    let bits = 8 * text.len() as u64;
    end[count * BLOCK - 8..count * BLOCK].copy_from_slice(&bits.to_be_bytes());
    (end, count)
}

/// The five words between two blocks: a to d, and e, each with its first word in the highest place.
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
        for (place, word) in digest.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_be_bytes();
        }
        digest
    }
}

/// Takes in these blocks of each text.
#[target_feature(enable = "sha,ssse3,sse4.1")]
#[inline]
fn take<const TEXTS: usize>(
    states: &mut [Sha1State; TEXTS],
    blocks: [&[[u8; BLOCK]]; TEXTS],
    places: Range<usize>,
) {
    for place in places {
        let mut lanes: [Lane; TEXTS] =
            array::from_fn(|text| Lane::new(states[text], &blocks[text][place]));
        rounds::<0, TEXTS>(&mut lanes);
        rounds::<1, TEXTS>(&mut lanes);
        rounds::<2, TEXTS>(&mut lanes);
        rounds::<3, TEXTS>(&mut lanes);
        for (state, lane) in states.iter_mut().zip(lanes) {
            state.abcd = _mm_add_epi32(state.abcd, lane.abcd);
            state.e = _mm_sha1nexte_epu32(lane.before, state.e);
        }
    }
}

/// A block on its way through the rounds.
#[derive(Clone, Copy)]
struct Lane {
    /// The last sixteen words of the schedule.
    words: [__m128i; 4],
    abcd: __m128i,
    /// `abcd` four rounds ago, which has the next e in it.
    before: __m128i,
    /// For the first four rounds.
    e: __m128i,
}

impl Lane {
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    #[inline]
    fn new(state: Sha1State, block: &[u8; BLOCK]) -> Lane {
        let (quarters, _) = block.as_chunks();
        // Words are big-endian, the first in the highest place: all bytes turned around.
        let turn = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
        let words = array::from_fn(|place| {
            let bytes = i128::from_le_bytes(quarters[place]);
            let quarter = _mm_set_epi64x((bytes >> 64) as i64, bytes as i64);
            _mm_shuffle_epi8(quarter, turn)
        });
        Lane {
            words,
            abcd: state.abcd,
            before: _mm_setzero_si128(),
            e: state.e,
        }
    }
}

/// Twenty rounds with the same function, four at a time.
#[target_feature(enable = "sha,ssse3,sse4.1")]
#[inline]
fn rounds<const FUNCTION: i32, const TEXTS: usize>(lanes: &mut [Lane; TEXTS]) {
    for step in 0..5 {
        let four = 5 * FUNCTION as usize + step;
        for lane in &mut *lanes {
            if four >= 4 {
                let [oldest, older, old, last] =
                    array::from_fn(|place| lane.words[(four + place) % 4]);
                let mixed = _mm_xor_si128(_mm_sha1msg1_epu32(oldest, older), old);
                lane.words[four % 4] = _mm_sha1msg2_epu32(mixed, last);
            }
            let words = lane.words[four % 4];
            let e = if four == 0 {
                _mm_add_epi32(lane.e, words)
            } else {
                _mm_sha1nexte_epu32(lane.before, words)
            };
            lane.before = lane.abcd;
            lane.abcd = _mm_sha1rnds4_epu32::<FUNCTION>(lane.abcd, e);
        }
    }
}
