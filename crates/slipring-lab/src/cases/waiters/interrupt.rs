//! Ctrl-C ends the case early and in order: what was measured so far is kept.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Runtime;

static SEEN: AtomicBool = AtomicBool::new(false);
/// What a shell expects of a program that was interrupted.
const EXIT_CODE: i32 = 130;

/// Listens from now on, as long as the runtime lives. A second Ctrl-C ends the program at once.
pub fn watch(runtime: &Runtime) {
    runtime.spawn(async {
        while tokio::signal::ctrl_c().await.is_ok() {
            if SEEN.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_CODE);
            }
        }
    });
}

/// Whether the run is to end.
pub fn seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}
