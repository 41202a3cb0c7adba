//! Damaged documents: cut, with flipped bits, and spliced from two. None of them may cost another document, end the pool, or
//! fill the memory of the process that asks.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use aranha_read::{Kind, Limits, Outcome};

const DOCUMENTS: usize = 2500;

/// A generator of numbers (`SplitMix64`), so that the documents are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// Damages a document. `other` is a document of the same or another kind.
fn damage(body: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut damaged = body.to_vec();
    match random.below(4) {
        0 => damaged.truncate(random.below(body.len())),
        1 => {
            for _ in 0..=random.below(50) {
                let at = random.below(body.len());
                damaged[at] ^= 1 << random.below(8);
            }
        }
        2 => {
            // Numbers such as lengths and offsets become large.
            for _ in 0..=random.below(10) {
                let at = random.below(body.len());
                let end = (at + 4).min(body.len());
                damaged[at..end].fill(if random.below(2) == 0 { 0xFF } else { 0x7F });
            }
        }
        _ => {
            damaged.truncate(random.below(body.len()));
            damaged.extend_from_slice(&other[random.below(other.len())..]);
        }
    }
    damaged
}

/// Resident memory of this process in bytes.
fn memory() -> u64 {
    let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = sizes.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn damaged_documents_cost_nothing_but_themselves() {
    let limits = Limits {
        time: Duration::from_secs(10),
        ..Limits::default()
    };
    let longest = limits.time + Duration::from_secs(1);
    let pool = support::pool(2, limits);
    let samples = support::SAMPLES.map(|(name, kind)| (kind, support::sample(name)));
    for (kind, body) in &samples {
        assert_eq!(pool.read(*kind, body).outcome, Outcome::Text);
    }
    let before = memory();
    let mut outcomes = BTreeMap::<_, u32>::new();
    let mut random = Random(1);
    for number in 0..DOCUMENTS {
        let (kind, body) = &samples[number % samples.len()];
        let (_, other) = &samples[random.below(samples.len())];
        let damaged = damage(body, other, &mut random);
        let started = Instant::now();
        let reading = pool.read(*kind, &damaged);
        assert!(started.elapsed() < longest, "{kind} {number}: {reading:?}");
        *outcomes.entry((*kind, reading.outcome)).or_default() += 1;
        if reading.outcome == Outcome::Crashed {
            println!("{kind} {number}: {}", reading.detail);
        }
        if number % 10 == 0 || reading.outcome > Outcome::Damaged {
            let next = pool.read(*kind, body);
            assert_eq!(
                next.outcome,
                Outcome::Text,
                "after {kind} {number}: {reading:?}"
            );
        }
    }
    let grown = memory().saturating_sub(before);
    println!("{outcomes:#?}\nthe process grew by {grown} bytes");
    assert!(grown < 50 << 20, "the process grew by {grown} bytes");
    let with_text: u32 = outcomes
        .iter()
        .filter(|((_, outcome), _)| *outcome == Outcome::Text)
        .map(|(_, count)| count)
        .sum();
    assert!(
        with_text as usize * 4 > DOCUMENTS,
        "only {with_text} of {DOCUMENTS} have text"
    );
}

/// Deep nesting, loops and bombs.
#[test]
fn hostile_documents_end_with_an_outcome() {
    let pool = support::pool(1, Limits::default());
    let check = |kind: Kind, body: &[u8], expected: &[Outcome]| {
        let reading = pool.read(kind, body);
        let (outcome, detail) = (reading.outcome, reading.detail);
        assert!(expected.contains(&outcome), "{kind}: {outcome} {detail}");
        let sample = support::sample("sample.rtf");
        assert_eq!(pool.read(Kind::Rtf, &sample).outcome, Outcome::Text);
    };
    let deep =
        |open: &str, close: &str| format!("{}a{}", open.repeat(200_000), close.repeat(200_000));
    let rtf = deep("{\\b ", "}");
    check(
        Kind::Rtf,
        format!("{{\\rtf1 {rtf}}}").as_bytes(),
        &[Outcome::Text],
    );
    let ps = format!("%!PS\n{}(a) show", deep("{", "}"));
    check(Kind::Ps, ps.as_bytes(), &[Outcome::Text]);
    let odt = zip("content.xml", deep("<text:p>", "</text:p>").as_bytes());
    check(Kind::Odt, &odt, &[Outcome::Text]);
    let any = [
        Outcome::Text,
        Outcome::Empty,
        Outcome::Damaged,
        Outcome::TooLarge,
        Outcome::Crashed,
    ];
    let docx = zip("word/document.xml", deep("<w:p>", "</w:p>").as_bytes());
    check(Kind::Docx, &docx, &any);
    let zeros = vec![0; 300 << 20];
    check(Kind::Ods, &zip("content.xml", &zeros), &[Outcome::TooLarge]);
    check(Kind::Epub, &zip("a.xhtml", &zeros), &[Outcome::TooLarge]);
    // A page tree whose child is itself, and an object that refers to itself.
    let pdf = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
        2 0 obj<</Type/Pages/Count 1/Kids[2 0 R]>>endobj\n3 0 obj 3 0 R endobj\n\
        trailer<</Root 1 0 R/Info 3 0 R>>\n%%EOF";
    check(Kind::Pdf, pdf, &[Outcome::Empty, Outcome::Damaged]);
    let arrays = deep("[", "]");
    let pdf = format!("%PDF-1.4\n1 0 obj{arrays}endobj\ntrailer<</Root 1 0 R>>");
    check(Kind::Pdf, pdf.as_bytes(), &any);
}

/// A zip archive with one compressed part.
fn zip(name: &str, content: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = flate2::read::DeflateEncoder::new(content, flate2::Compression::fast());
    std::io::Read::read_to_end(&mut encoder, &mut packed).unwrap();
    let header = |magic: &[u8]| {
        let mut header = magic.to_vec();
        header.extend_from_slice(&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        header.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        header.extend_from_slice(&(content.len() as u32).to_le_bytes());
        header.extend_from_slice(&(name.len() as u16).to_le_bytes());
        header.extend_from_slice(&[0; 2]);
        header
    };
    let mut zip = header(b"PK\x03\x04");
    zip.extend_from_slice(name.as_bytes());
    zip.extend_from_slice(&packed);
    let start = zip.len() as u32;
    zip.extend_from_slice(&header(b"PK\x01\x02\x14\0"));
    zip.extend_from_slice(&[0; 14]);
    zip.extend_from_slice(name.as_bytes());
    let length = zip.len() as u32 - start;
    zip.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend_from_slice(&length.to_le_bytes());
    zip.extend_from_slice(&start.to_le_bytes());
    zip.extend_from_slice(&[0; 2]);
    zip
}
