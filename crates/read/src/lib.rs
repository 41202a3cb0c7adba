//! Reads documents into text: PDF, Office files, `OpenDocument`, RTF, EPUB and `PostScript` (T3, T4).
//!
//! ```
//! use aranha_read::{Kind, Limits, Outcome, read};
//!
//! let body = br"{\rtf1\ansi A {\b short} text.\par}";
//! let kind = Kind::of("application/msword", "http://example.org/letter.doc", body);
//! assert_eq!(kind, Some(Kind::Rtf));
//! let reading = read(Kind::Rtf, body, &Limits::default());
//! assert_eq!(reading.outcome, Outcome::Text);
//! assert_eq!(reading.document.text, "A short text.\n");
//! ```
//!
//! A document passes through these steps:
//!
//! 1. [`Kind::of`] decides from the first bytes, the declared media type and the name which reader is used.
//! 2. [`Pool::read`] sends the bytes to a worker process: the same program again, started with other arguments.
//! 3. The worker confines itself before it reads a document (`jail`): it can open no file and no socket and start no
//!    program, and its memory is limited.
//! 4. [`read`] calls the reader of the kind: `pdf`, `office`, `odf`, `epub`, `rtf` or `postscript`.
//! 5. The worker answers with a [`Reading`]. If it dies or exceeds its time, it costs this document only: the pool
//!    replaces it and reports the [`Outcome`].
//!
//! **Invariants.** [`Pool::read`] always returns, at most one second after the time limit. Documents are never parsed in
//! the process of the caller; [`Kind::of`] compares bytes only. [`read`] itself may panic, overflow its stack or not
//! return, because it calls readers of other authors. Call it in a worker, or for documents that you trust.
//!
//! Read first: [`Reading`], then `worker.rs` and `pool.rs`.

mod document;
mod frame;
mod jail;
mod kind;
mod limits;
mod pool;
mod readers;
mod worker;

pub use document::{Document, Outcome, Reading};
pub use jail::Protection;
pub use kind::Kind;
pub use limits::Limits;
pub use pool::Pool;
pub use readers::read;
pub use worker::{run as run_worker, run_with as run_worker_with};
