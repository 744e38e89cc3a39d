//! Ctrl-C, told to a run that keeps what it has measured so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use tokio::runtime::Builder;

/// Whether the user wants the run to end. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on Ctrl-C does not end the process but is told by [`Interrupt::came`].
    ///
    /// # Errors
    /// When the signal cannot be listened to.
    pub fn listen() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        let told = interrupt.clone();
        let runtime = Builder::new_current_thread().enable_io().build();
        let runtime = runtime.context("listening for Ctrl-C")?;
        let entered = runtime.enter();
        let signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
        let mut signal = signal.context("listening for Ctrl-C")?;
        drop(entered);
        let thread = std::thread::Builder::new().name("interrupt".to_owned());
        let listening = thread.spawn(move || {
            if runtime.block_on(signal.recv()).is_some() {
                told.0.store(true, Ordering::SeqCst);
            }
        });
        listening.context("listening for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Whether Ctrl-C was pressed.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::*;

    #[test]
    fn an_interrupt_is_told_and_ends_nothing() {
        let interrupt = Interrupt::listen().unwrap();
        assert!(!interrupt.came());
        kill(Pid::this(), Signal::SIGINT).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !interrupt.came() {
            assert!(Instant::now() < deadline, "the signal was not told");
            std::thread::yield_now();
        }
    }
}
