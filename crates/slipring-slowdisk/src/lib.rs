//! A slow disk for any program: `fdatasync` and `fsync` that take at least as long as the
//! environment says.
//!
//! The lab starts our server, the raw loop and beanstalkd with this library preloaded
//! (`LD_PRELOAD`), so that all of them find the same disk, and none of them knows of it. Nothing
//! that is shipped contains it.
//!
//! `unsafe` is needed for two things only. The exported names take the place of those of the C
//! library; their signatures are the same, and they touch no memory of the caller. Behind them is
//! the system call itself, made with the caller's number of a file; the kernel refuses a number
//! that is none.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A flush takes at least so many microseconds. Without it, or with a text that is no number, a
/// flush takes what it takes.
const VARIABLE: &str = "SLIPRING_LAB_FLUSH_US";

fn at_least() -> Duration {
    static AT_LEAST: OnceLock<Duration> = OnceLock::new();
    *AT_LEAST.get_or_init(|| {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        text.parse().map_or(Duration::ZERO, Duration::from_micros)
    })
}

/// Makes a system call that flushes a file, and waits until it has taken long enough. A failure is
/// told at once, with `errno` as the kernel has set it.
fn flush(call: libc::c_long, file: libc::c_int) -> libc::c_int {
    let began = Instant::now();
    // SAFETY: the call takes the number of a file and no address; the kernel checks the number.
    let answer = unsafe { libc::syscall(call, file) };
    if answer != 0 {
        return -1;
    }
    if let Some(rest) = at_least().checked_sub(began.elapsed()) {
        std::thread::sleep(rest);
    }
    0
}

/// As the C library's, but it takes its time.
// SAFETY: the name is that of the C library, with its signature and its promises.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(file: libc::c_int) -> libc::c_int {
    flush(libc::SYS_fdatasync, file)
}

/// As the C library's, but it takes its time.
// SAFETY: the name is that of the C library, with its signature and its promises.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(file: libc::c_int) -> libc::c_int {
    flush(libc::SYS_fsync, file)
}
