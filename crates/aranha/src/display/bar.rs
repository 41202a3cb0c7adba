//! The progress line on a terminal. There is at most one per process.

use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};

static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Runs `print` while no progress line is on the terminal, so that its output is not mixed with the line.
pub(crate) fn with_bar_hidden<T>(print: impl FnOnce() -> T) -> T {
    let bar = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// The progress line, removed from the terminal when dropped.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        bar.set_style(style.expect("the template is valid"));
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Self(bar)
    }

    pub(super) fn show(&self, line: String) {
        self.0.set_message(line);
        self.0.tick();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.finish_and_clear();
    }
}
