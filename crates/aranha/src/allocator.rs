//! The allocator of the process, and how soon it gives memory back.
//!
//! Many small strings are made and dropped by many threads: the system's allocator is the slower one there. mimalloc
//! keeps what is free for a second before the system gets it back. A site can make a crawler take and drop large
//! buffers faster than that, on every thread, so that the peak was half as high again as what was in use (`docs/zoo.md`).

use std::ffi::{c_int, c_long};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc.h, the same number in versions 2 and 3.
const PURGE_DELAY: c_int = 15;

/// Milliseconds that free memory is kept: long enough for the next page's buffers to be made of it.
const DELAY: c_long = 100;

#[expect(
    unsafe_code,
    reason = "a C function; its crate names no constant for this option"
)]
mod native {
    use super::{c_int, c_long};

    unsafe extern "C" {
        /// Sets an option of the allocator; an unknown one is ignored.
        pub(super) safe fn mi_option_set(option: c_int, value: c_long);
    }
}

/// Free memory goes back to the system after a moment. Called once, before other threads begin; whoever sets
/// `MIMALLOC_PURGE_DELAY` in the environment is obeyed.
pub(crate) fn set_purge_delay() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        native::mi_option_set(PURGE_DELAY, DELAY);
    }
}
