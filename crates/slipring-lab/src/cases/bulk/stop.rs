//! Ctrl-C and SIGTERM, told to a run between its steps, so that what it has measured is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Whether the run is to end.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on the signals do not end the process, but are told by [`Stop::check`].
    ///
    /// # Errors
    /// When they cannot be listened to.
    pub fn listen() -> Result<Stop> {
        const LISTENING: &str = "listening for Ctrl-C";
        let stop = Stop::default();
        let told = stop.clone();
        let runtime = Builder::new_current_thread().enable_io().build().context(LISTENING)?;
        let entered = runtime.enter();
        let mut interrupts = signal(SignalKind::interrupt()).context(LISTENING)?;
        let mut terminations = signal(SignalKind::terminate()).context(LISTENING)?;
        drop(entered);
        let listen = move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupts.recv() => {}
                    _ = terminations.recv() => {}
                }
            });
            told.0.store(true, Ordering::Release);
        };
        let thread = std::thread::Builder::new().name("lab-signals".to_owned());
        thread.spawn(listen).context(LISTENING)?;
        Ok(stop)
    }

    /// Whether the run may go on.
    ///
    /// # Errors
    /// When it is to end.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Acquire) {
            bail!("it was interrupted");
        }
        Ok(())
    }
}
