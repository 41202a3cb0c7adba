//! Measures the speed of reading pages.
//!
//! ```text
//! cargo run --release -p aranha-page --example read_speed -- DIRECTORY [LIMIT [NAME]]
//! ```
//!
//! Loads up to LIMIT (default 2,000) HTML files of a directory tree into memory. Then it measures the tokenizer of
//! html5gum with two emitters (one that discards everything, and html5gum's callback emitter), and `read` with default
//! options, without text, and with all options. The shortest of five repetitions is reported. Processor time is
//! measured if the kernel provides it, so that other load has little effect. If NAME is given, only the measurements
//! whose names contain NAME are made, which is useful with a profiler.

use std::convert::Infallible;
use std::hint::black_box;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use aranha_page::{Input, Options, read};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, Error, Span, State, Tokenizer, naive_next_state};

const ROUNDS: usize = 5;

/// A function that reads a page in one of the measured modes.
type Reader = Box<dyn Fn(&[u8])>;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        eprintln!("usage: read_speed DIRECTORY [LIMIT [NAME]]");
        std::process::exit(2);
    };
    let limit = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2000);
    let mut pages = Vec::new();
    load_html(Path::new(&directory), limit, &mut pages);
    let bytes: usize = pages.iter().map(Vec::len).sum();
    println!(
        "{} pages, {:.1} MB, best of {ROUNDS} rounds",
        pages.len(),
        bytes as f64 / 1e6
    );

    let everything = Options {
        assets: true,
        forms: true,
        scripts: true,
        ..Options::default()
    };
    let links_only = Options {
        text: false,
        ..Options::default()
    };
    let page = move |body: &[u8], options: &Options| {
        let input = Input {
            url: "http://example.org/",
            content_type: Some("text/html"),
            body,
            content_language: None,
        };
        black_box(read(&input, options));
    };
    let mut readers: Vec<(&str, Reader)> = vec![
        ("bare tokenizer", Box::new(tokenize_bare)),
        ("callback emitter", Box::new(tokenize_callback)),
        (
            "read, default",
            Box::new(move |body| page(body, &Options::default())),
        ),
        (
            "read, no text",
            Box::new(move |body| page(body, &links_only)),
        ),
        (
            "read, everything",
            Box::new(move |body| page(body, &everything)),
        ),
    ];
    if let Some(name) = arguments.next() {
        readers.retain(|(reader, _)| reader.contains(&name));
    }
    let mut best = vec![Duration::MAX; readers.len()];
    for _ in 0..ROUNDS {
        for ((_, reader), best) in readers.iter_mut().zip(&mut best) {
            let start = processor_time();
            for body in &pages {
                reader(body);
            }
            *best = (*best).min(processor_time().saturating_sub(start));
        }
    }
    for ((name, _), time) in readers.iter().zip(&best) {
        let seconds = time.as_secs_f64();
        println!(
            "{name:<18}{:8.1} MB/s {:9.0} pages/s {:6.1}% of the tokenizer",
            bytes as f64 / 1e6 / seconds,
            pages.len() as f64 / seconds,
            100.0 * best[0].as_secs_f64() / seconds
        );
    }
}

/// Processor time of this thread. If the kernel does not report it, the time since the first call.
fn processor_time() -> Duration {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(
        || ORIGIN.get_or_init(Instant::now).elapsed(),
        Duration::from_nanos,
    )
}

fn load_html(directory: &Path, limit: usize, pages: &mut Vec<Vec<u8>>) {
    let mut entries: Vec<_> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for path in entries {
        if pages.len() >= limit {
            return;
        }
        if path.is_dir() {
            load_html(&path, limit, pages);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            pages.extend(std::fs::read(&path));
        }
    }
}

fn tokenize_bare(body: &[u8]) {
    let Ok(()) = Tokenizer::new_with_emitter(body, DiscardingEmitter::default()).finish();
}

/// The callback emitter of html5gum with an empty callback.
fn tokenize_callback(body: &[u8]) {
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        black_box(&event);
        None::<Infallible>
    });
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(body, emitter).finish();
}

/// An emitter that keeps only the name of the last start tag, which the tokenizer needs.
#[derive(Default)]
struct DiscardingEmitter {
    name: Vec<u8>,
    last: Vec<u8>,
    start: bool,
}

impl Emitter for DiscardingEmitter {
    type Token = Infallible;
    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: Error) {}
    fn should_emit_errors(&mut self) -> bool {
        false
    }
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }
    fn emit_string(&mut self, characters: &[u8]) {
        black_box(characters);
    }
    fn init_start_tag(&mut self) {
        self.name.clear();
        self.start = true;
    }
    fn init_end_tag(&mut self) {
        self.name.clear();
        self.start = false;
    }
    fn init_comment(&mut self) {}
    fn emit_current_tag(&mut self) -> Option<State> {
        if !self.start {
            return None;
        }
        std::mem::swap(&mut self.name, &mut self.last);
        naive_next_state(&self.last)
    }
    fn emit_current_comment(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_self_closing(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_tag_name(&mut self, part: &[u8]) {
        self.name.extend_from_slice(part);
    }
    fn push_comment(&mut self, _: &[u8]) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn init_attribute(&mut self) {}
    fn push_attribute_name(&mut self, part: &[u8]) {
        black_box(part);
    }
    fn push_attribute_value(&mut self, part: &[u8]) {
        black_box(part);
    }
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        !self.last.is_empty() && self.last == self.name
    }
}
