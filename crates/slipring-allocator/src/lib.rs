//! The memory allocator of Slipring's programs: mimalloc, told to give back soon what is free.
//!
//! A message is allocated by one thread and let go by another. With this allocator a thousand
//! callers send 8 % more messages than with glibc's. But it keeps what is free for a second before
//! it gives it back to the system, and a server of large answers that come and go at 500 MB/s then
//! has twice the memory that it needs (decision 0033).
//!
//! `unsafe` is needed for one thing only: the option of the library has no safe binding. The call
//! takes two integers and no address; the library checks the number of the option and stores the
//! value by an atomic write, at any time and from any thread.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set, mi_option_t};
/// The allocator, for `#[global_allocator]`.
pub use mimalloc::MiMalloc as Allocator;

/// The option `purge_delay` of version 3; the bindings do not name it.
const PURGE_DELAY: mi_option_t = 15;

/// The library's own variable for it.
const VARIABLE: &str = "MIMALLOC_PURGE_DELAY";

/// What is free is given back after so many milliseconds; it was the library's default before
/// version 3.
const DELAY_MS: c_long = 10;

/// Lets the allocator give back after 10 ms what is free, instead of after a second. Where the
/// environment has `MIMALLOC_PURGE_DELAY`, that stays. Once, when a program begins; costs a call.
pub fn give_back_soon() {
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: two integers, of which the first is the number of an option (see the head).
        unsafe { mi_option_set(PURGE_DELAY, DELAY_MS) }
    }
}

#[cfg(test)]
mod tests {
    use libmimalloc_sys::mi_option_get;

    use super::*;

    fn gives_back_after_ms() -> c_long {
        // SAFETY: an integer, the number of an option (see the head).
        unsafe { mi_option_get(PURGE_DELAY) }
    }

    #[test]
    fn what_is_free_is_given_back_soon() {
        // The default shows that the number is that of the option.
        assert_eq!(gives_back_after_ms(), 1_000);
        give_back_soon();
        assert_eq!(gives_back_after_ms(), DELAY_MS);
    }
}
