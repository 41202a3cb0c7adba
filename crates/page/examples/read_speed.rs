//! How fast pages are read: `cargo run --release -p aranha-page --example read_speed -- DIRECTORY [LIMIT [NAME]]`.
//!
//! Reads the HTML files of a directory tree into memory, then times, round by round and in turn: html5gum's bare
//! tokenizer (an emitter that drops everything), its own callback emitter, `read` with default options, and `read` with everything on. The
//! best round of each counts, in processor time where the kernel tells it: other load on the machine then matters
//! little. NAME keeps only the runs whose name has it, for a profiler.

use std::convert::Infallible;
use std::hint::black_box;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use aranha_page::{Input, Options, read};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, Error, Span, State, Tokenizer, naive_next_state};

const ROUNDS: usize = 5;

/// One way of reading a page.
type Reader = Box<dyn Fn(&[u8])>;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        eprintln!("usage: speed DIRECTORY [LIMIT [NAME]]");
        std::process::exit(2);
    };
    let limit = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2000);
    let mut pages = Vec::new();
    collect(Path::new(&directory), limit, &mut pages);
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
    let mut runs: Vec<(&str, Reader)> = vec![
        ("bare tokenizer", Box::new(bare)),
        ("callback emitter", Box::new(callback)),
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
        runs.retain(|(run, _)| run.contains(&name));
    }
    let mut best = vec![Duration::MAX; runs.len()];
    for _ in 0..ROUNDS {
        for ((_, run), best) in runs.iter_mut().zip(&mut best) {
            let start = clock();
            for body in &pages {
                run(body);
            }
            *best = (*best).min(clock().saturating_sub(start));
        }
    }
    for ((name, _), time) in runs.iter().zip(&best) {
        let seconds = time.as_secs_f64();
        println!(
            "{name:<18}{:8.1} MB/s {:9.0} pages/s {:6.1}% of the tokenizer",
            bytes as f64 / 1e6 / seconds,
            pages.len() as f64 / seconds,
            100.0 * best[0].as_secs_f64() / seconds
        );
    }
}

/// Processor time of this thread, else the time of day.
fn clock() -> Duration {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let running = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    running.map_or_else(
        || ORIGIN.get_or_init(Instant::now).elapsed(),
        Duration::from_nanos,
    )
}

fn collect(directory: &Path, limit: usize, pages: &mut Vec<Vec<u8>>) {
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
            collect(&path, limit, pages);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            pages.extend(std::fs::read(&path));
        }
    }
}

fn bare(body: &[u8]) {
    let Ok(()) = Tokenizer::new_with_emitter(body, Bare::default()).finish();
}

/// What html5gum itself offers to those who do not write an emitter of their own, with nothing done in the callback.
fn callback(body: &[u8]) {
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        black_box(&event);
        None::<Infallible>
    });
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(body, emitter).finish();
}

/// Does what a tokenizer needs (the name of the last start tag) and nothing else.
#[derive(Default)]
struct Bare {
    name: Vec<u8>,
    last: Vec<u8>,
    start: bool,
}

impl Emitter for Bare {
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
