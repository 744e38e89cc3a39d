//! The end of a run by Ctrl-C or SIGTERM: what was measured so far is kept, and servers that were
//! started are stopped.

use anyhow::{Context, Error};
use tokio::signal::unix::{SignalKind, signal};

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
