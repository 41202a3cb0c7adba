//! The naive Bayes model: finds the features of a text, and adds their weights for each class.
//!
//! The score of a class is the logarithm of its probability, up to a constant:
//!
//! ```text
//! prior + sum over the features of ln(1 + count) * weight
//! ```
//!
//! A feature is a byte string. At each byte of the text, the longest feature that ends there is counted. The weight of a
//! feature in a class is the lowest weight of the class plus a difference, which is 0 if the feature never occurred in
//! the training texts of the class. Features with few differences are stored as lists, the others as rows of a matrix.
//! Differences are bytes, and `ln(1 + count)` is a fixed-point number, so that sums are exact and compilers produce
//! vector instructions. The layout of the file is in `data/languages/convert.py`.

use super::MAX_SAMPLE;
use super::automaton::Automaton;

const EMBEDDED: &[u8] = include_bytes!("../../data/languages/model.zst");
/// Maximum length of the decompressed model, in bytes.
const MAX_MODEL: usize = 8 << 20;
const MAGIC: &[u8] = b"aralang1";
/// Length of a row of the matrix: the number of classes, rounded up to full vectors.
const ROW: usize = 144;
/// For features that occur at most this many times, the rows of the matrix are added without multiplication.
const SMALL_COUNTS: usize = 4;
/// Length of a language code in the file.
const CODE_LENGTH: usize = 8;
/// Maximum number of bytes of a text. A character takes at most 4 bytes in UTF-8, and normalization turns one character
/// into at most 3.
const MAX_BYTES: usize = MAX_SAMPLE * 4 * 3;
/// Denominator of the fixed-point numbers. A sum is at most `MAX_BYTES * ln(2) * 255` times this value, which fits into
/// `u32`.
const FIXED_ONE: f32 = 1024.0;
const _: () = {
    let largest_sum = MAX_BYTES as f64 * std::f64::consts::LN_2 * 255.0 * FIXED_ONE as f64;
    assert!(largest_sum < u32::MAX as f64);
};

/// The model in memory.
pub(super) struct Model {
    automaton: Automaton,
    /// ISO 639 codes of the classes.
    codes: Vec<String>,
    /// Classes that have the same code as an earlier class, each with that earlier class.
    aliases: Vec<(usize, usize)>,
    /// Logarithms of the probabilities of the classes.
    prior: Vec<f32>,
    /// Lowest weight of each class.
    lowest: Vec<f32>,
    /// Unit of the differences.
    step: f32,
    /// Differences of the dense features by class.
    matrix: Vec<[u8; ROW]>,
    /// Pairs of class and difference of the sparse features.
    pairs: Vec<[u8; 2]>,
    /// Where the pairs of each sparse feature begin, and the end of the last.
    starts: Vec<u32>,
    /// `ln(1 + count)` as a fixed-point number, by count.
    logarithms: Vec<u16>,
}

impl Model {
    /// The embedded model; `None` if it is damaged.
    pub(super) fn embedded() -> Option<Model> {
        Model::read(&zstd::bulk::decompress(EMBEDDED, MAX_MODEL).ok()?)
    }

    pub(super) fn read(file: &[u8]) -> Option<Model> {
        let mut file = File(file);
        if file.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let step = f32::from_le_bytes(file.array()?);
        let (classes, dense, sparse) = (file.number()?, file.number()?, file.number()?);
        let mut codes = Vec::new();
        for code in file.take(classes * CODE_LENGTH)?.chunks(CODE_LENGTH) {
            let code = std::str::from_utf8(code).ok()?;
            codes.push(code.trim_end_matches('\0').to_owned());
        }
        let prior = file.floats(classes)?;
        let lowest = file.floats(classes)?;
        let states = file.number()?;
        let [base, parent, failure, feature] = [(); 4].map(|()| file.numbers(states));
        let arrays = [&*base?, &*parent?, &*failure?, &*feature?];
        let automaton = Automaton::new(arrays, dense + sparse)?;
        let counts = file.take(sparse)?;
        let starts: Vec<u32> = std::iter::once(0)
            .chain(counts.iter().scan(0, |end, &count| {
                *end += u32::from(count);
                Some(*end)
            }))
            .collect();
        let total = *starts.last()? as usize;
        let (columns, values) = (file.take(total)?, file.take(total)?);
        if columns.iter().any(|&column| usize::from(column) >= classes) {
            return None;
        }
        let pairs = columns.iter().zip(values);
        if !(1..=ROW).contains(&classes) {
            return None;
        }
        let rows = file.take(dense * classes)?.chunks(classes).map(|row| {
            let mut padded = [0; ROW];
            padded[..classes].copy_from_slice(row);
            padded
        });
        let log = |count: usize| ((count as f32).ln_1p() * FIXED_ONE).round() as u16;
        Some(Model {
            automaton,
            aliases: aliases(&codes),
            codes,
            prior,
            lowest,
            step,
            matrix: rows.collect(),
            pairs: pairs.map(|(&column, &value)| [column, value]).collect(),
            starts,
            logarithms: (0..=MAX_BYTES).map(log).collect(),
        })
    }

    /// The codes of the classes. A language in two scripts has two classes.
    pub(super) fn codes(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(String::as_str)
    }

    /// Classes that have the same code as an earlier class, each with that earlier class.
    pub(super) fn aliases(&self) -> &[(usize, usize)] {
        &self.aliases
    }

    /// The score of each class; `None` if the text has no feature.
    pub(super) fn scores(&self, text: &[u8]) -> Option<Vec<f32>> {
        let text = &text[..text.len().min(MAX_BYTES)];
        let mut counter = Counter::new(text.len());
        self.automaton.find(text, |feature| counter.add(feature));
        let mut sums = Sums::new();
        let mut total = 0;
        for (feature, count) in counter.counts() {
            let factor = self.logarithms[count];
            total += u32::from(factor);
            match self.matrix.get(feature) {
                Some(row) => sums.add_row(row, count, factor),
                None => sums.add_pairs(self.pairs(feature - self.matrix.len()), factor),
            }
        }
        if total == 0 {
            return None;
        }
        let sums = sums.products(&self.logarithms);
        let by_class = self.prior.iter().zip(&self.lowest).zip(sums);
        let total = total as f32 / FIXED_ONE;
        let unit = self.step / FIXED_ONE;
        let score = |((prior, lowest), sum)| prior + total * lowest + sum as f32 * unit;
        Some(by_class.map(score).collect())
    }

    /// The differences of a sparse feature.
    fn pairs(&self, feature: usize) -> &[[u8; 2]] {
        &self.pairs[self.starts[feature] as usize..self.starts[feature + 1] as usize]
    }
}

/// Sums of differences by class.
struct Sums {
    /// Sums of the products of difference and factor.
    products: [u32; ROW],
    /// Sums of the differences of dense features that occur once, twice, and so on, and the number of these features.
    /// Most features occur a few times, and adding is cheaper than multiplying.
    by_count: [([u16; ROW], u16); SMALL_COUNTS],
}

impl Sums {
    fn new() -> Sums {
        Sums {
            products: [0; ROW],
            by_count: [([0; ROW], 0); SMALL_COUNTS],
        }
    }

    fn add_pairs(&mut self, pairs: &[[u8; 2]], factor: u16) {
        for &[class, value] in pairs {
            self.products[usize::from(class)] += u32::from(value) * u32::from(factor);
        }
    }

    /// Adds the row of a feature that occurs `count` times.
    fn add_row(&mut self, row: &[u8; ROW], count: usize, factor: u16) {
        let Some((sums, rows)) = self.by_count.get_mut(count - 1) else {
            for (sum, &value) in self.products.iter_mut().zip(row) {
                *sum += u32::from(u16::from(value)) * u32::from(factor);
            }
            return;
        };
        for (sum, &value) in sums.iter_mut().zip(row) {
            *sum += u16::from(value);
        }
        *rows += 1;
        // One more row could overflow a sum.
        if *rows == u16::MAX / 255 {
            self.multiply(count, factor);
        }
    }

    /// Moves the sums for a small count to the products.
    fn multiply(&mut self, count: usize, factor: u16) {
        let (sums, rows) = &mut self.by_count[count - 1];
        for (product, sum) in self.products.iter_mut().zip(sums) {
            *product += u32::from(*sum) * u32::from(factor);
            *sum = 0;
        }
        *rows = 0;
    }

    /// Moves the sums for all small counts to the products, and returns the products. `factors` are the logarithms
    /// `ln(1 + count)` as fixed-point numbers, by count.
    fn products(mut self, factors: &[u16]) -> [u32; ROW] {
        for (count, &factor) in factors.iter().enumerate().take(SMALL_COUNTS + 1).skip(1) {
            self.multiply(count, factor);
        }
        self.products
    }
}

fn aliases(codes: &[String]) -> Vec<(usize, usize)> {
    let first = |(index, code)| {
        let first = codes.iter().position(|other| other == code)?;
        (first < index).then_some((index, first))
    };
    codes.iter().enumerate().filter_map(first).collect()
}

/// Counts features: a hash table with open addressing. An empty slot is 0. In other slots, the lowest [`COUNT_BITS`]
/// bits are the count, and the bits above are the number of the feature plus one.
struct Counter {
    slots: Vec<u32>,
    shift: u32,
}

const COUNT_BITS: u32 = 14;
const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;
const _: () = assert!(MAX_BYTES <= COUNT_MASK as usize);

impl Counter {
    /// A counter for at most `features` features.
    fn new(features: usize) -> Counter {
        let slots = (features * 2).next_power_of_two().max(2);
        Counter {
            slots: vec![0; slots],
            shift: 32 - slots.trailing_zeros(),
        }
    }

    fn add(&mut self, feature: u32) {
        let tag = (feature + 1) << COUNT_BITS;
        // Multiplicative hashing with the golden ratio.
        let mut slot = (feature.wrapping_mul(0x9e37_79b1) >> self.shift) as usize;
        loop {
            let value = &mut self.slots[slot];
            if *value == 0 {
                *value = tag | 1;
                return;
            }
            if *value & !COUNT_MASK == tag {
                *value += 1;
                return;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// The features that occurred, each with its count.
    fn counts(&self) -> impl Iterator<Item = (usize, usize)> {
        let used = self.slots.iter().filter(|&&value| value != 0);
        used.map(|&value| {
            let feature = (value >> COUNT_BITS) - 1;
            (feature as usize, (value & COUNT_MASK) as usize)
        })
    }
}

/// The unread rest of the model file.
struct File<'a>(&'a [u8]);

impl<'a> File<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(self.array()?) as usize)
    }

    fn numbers(&mut self, count: usize) -> Option<Vec<u32>> {
        let (numbers, _) = self.take(count.checked_mul(4)?)?.as_chunks();
        Some(
            numbers
                .iter()
                .map(|&bytes| u32::from_le_bytes(bytes))
                .collect(),
        )
    }

    fn floats(&mut self, count: usize) -> Option<Vec<f32>> {
        let numbers = self.numbers(count)?;
        Some(numbers.into_iter().map(f32::from_bits).collect())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn sums_do_not_overflow() {
        let factors = [0, 710, 1125, 1420, 1648];
        let mut sums = Sums::new();
        for _ in 0..600 {
            sums.add_row(&[255; ROW], 1, factors[1]);
            sums.add_row(&[1; ROW], 4, factors[4]);
            sums.add_row(&[2; ROW], 9, 2358);
        }
        sums.add_pairs(&[[3, 7]], factors[2]);
        let products = sums.products(&factors);
        let expected = 600 * (255 * 710 + 1648 + 2 * 2358);
        assert_eq!((products[0], products[3]), (expected, expected + 7 * 1125));
    }

    pub(in super::super) fn decompressed() -> Vec<u8> {
        zstd::bulk::decompress(EMBEDDED, MAX_MODEL).expect("the embedded model is valid")
    }
}
