//! The end of a run by Ctrl-C or SIGTERM: what was measured so far is kept, and servers that were
//! started are stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Between two looks whether a run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until this process is told to end; answers by what, as the reason why a run is
/// incomplete.
pub async fn interrupted() -> Error {
    let terminate = async {
        let mut terminations = signal(SignalKind::terminate()).context("waiting for SIGTERM")?;
        terminations.recv().await;
        Ok::<_, Error>(())
    };
    tokio::select! {
        waited = tokio::signal::ctrl_c() => match waited {
            Ok(()) => Error::msg("it was interrupted"),
            Err(error) => Error::from(error).context("waiting for Ctrl-C"),
        },
        waited = terminate => match waited {
            Ok(()) => Error::msg("it was terminated"),
            Err(error) => error,
        },
    }
}

/// Whether this process was told to end, for runs that are no futures. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on Ctrl-C and SIGTERM do not end the process but are told by [`Interrupt::came`].
    ///
    /// # Errors
    /// When the signals cannot be listened to.
    pub fn listen() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        let told = interrupt.clone();
        let runtime = Builder::new_current_thread().enable_io().build();
        let runtime = runtime.context("listening for Ctrl-C")?;
        let mut waits = Box::pin(interrupted());
        // Polled once, which registers the signals before this returns.
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = &mut waits => told.set(),
                () = std::future::ready(()) => {}
            }
        });
        if interrupt.came() {
            return Ok(interrupt);
        }
        let thread = std::thread::Builder::new().name("interrupt".to_owned());
        let listening = thread.spawn(move || {
            runtime.block_on(waits);
            told.set();
        });
        listening.context("listening for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Whether the process was told to end.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Whether the run may go on.
    ///
    /// # Errors
    /// When it is to end.
    pub fn check(&self) -> Result<()> {
        if self.came() {
            bail!("it was interrupted");
        }
        Ok(())
    }

    /// What `work` answers, or that the run is to end.
    ///
    /// # Errors
    /// Those of `work`, and when the process is told to end before.
    pub async fn until<O>(&self, work: impl Future<Output = Result<O>>) -> Result<O> {
        let told = async {
            loop {
                self.check()?;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            ended = work => ended,
            told = told => told,
        }
    }

    fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
