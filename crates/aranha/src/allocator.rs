//! The allocator of the process (mimalloc), and the delay after which it returns free memory to the system.
//!
//! mimalloc is faster than the system allocator for many small strings on many threads. By default it keeps free memory
//! for one second. A hostile site can make every thread allocate and free large buffers many times per second. With the
//! default delay, peak memory was 1.5 times the memory in use (`docs/zoo.md`). So the delay is 100 ms here.

use std::ffi::{c_int, c_long};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of the option `mi_option_purge_delay` in mimalloc.h, versions 2 and 3.
const PURGE_DELAY_OPTION: c_int = 15;

/// How long free memory is kept, in milliseconds. During this time, later fetches can reuse it.
const PURGE_DELAY_MS: c_long = 100;

#[expect(
    unsafe_code,
    reason = "a C function; the mimalloc crate has no constant for this option"
)]
mod native {
    use super::{c_int, c_long};

    unsafe extern "C" {
        /// Sets an option of the allocator. Unknown options are ignored.
        pub(super) safe fn mi_option_set(option: c_int, value: c_long);
    }
}

/// Sets the purge delay, unless the environment variable `MIMALLOC_PURGE_DELAY` is set. Must be called before other
/// threads start.
pub(crate) fn set_purge_delay() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        native::mi_option_set(PURGE_DELAY_OPTION, PURGE_DELAY_MS);
    }
}
