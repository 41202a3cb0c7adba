//! The documents of `tests/corpus/read`, and pools that read them.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::Path;

use aranha_read::{Kind, Limits, Pool};

pub(crate) const SAMPLES: [(&str, Kind); 13] = [
    ("sample.pdf", Kind::Pdf),
    ("sample.doc", Kind::Doc),
    ("sample.xls", Kind::Xls),
    ("sample.ppt", Kind::Ppt),
    ("sample.docx", Kind::Docx),
    ("sample.xlsx", Kind::Xlsx),
    ("sample.pptx", Kind::Pptx),
    ("sample.odt", Kind::Odt),
    ("sample.ods", Kind::Ods),
    ("sample.odp", Kind::Odp),
    ("sample.rtf", Kind::Rtf),
    ("sample.epub", Kind::Epub),
    ("groff.ps", Kind::Ps),
];

pub(crate) fn sample(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/read");
    std::fs::read(folder.join(name)).expect("a file of the corpus")
}

pub(crate) fn pool(workers: usize, limits: Limits) -> Pool {
    let program = env!("CARGO_BIN_EXE_aranha-hostile-worker");
    Pool::new(program, [] as [&str; 0], workers, limits)
}
