//! Why a run ends before its end: Ctrl-C, a target that went away, operations without an answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::time::monotonic_ns;

/// Ends a run early. All clones are one. The first reason is the one that is told, but a signal
/// comes before others: on Ctrl-C servers that the lab started may end first.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    set: AtomicBool,
    reason: Mutex<Option<(String, u64)>>,
    told: Notify,
}

impl Stop {
    /// Ends the run.
    pub fn because(&self, reason: impl Into<String>) {
        let mut first = self.0.reason.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| (reason.into(), monotonic_ns()));
        drop(first);
        self.tell();
    }

    /// Ends the run for a signal of this name.
    fn by_signal(&self, name: &str) {
        let mut first = self.0.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let moment_ns = first.as_ref().map_or_else(monotonic_ns, |(_, moment_ns)| *moment_ns);
        *first = Some((format!("stopped by {name}"), moment_ns));
        drop(first);
        self.tell();
    }

    fn tell(&self) {
        self.0.set.store(true, Ordering::Release);
        self.0.told.notify_waiters();
    }

    /// Whether the run is to end.
    pub fn is_set(&self) -> bool {
        self.0.set.load(Ordering::Acquire)
    }

    /// Why it is to end, if it is.
    pub fn reason(&self) -> Option<String> {
        let first = self.0.reason.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|(reason, _)| reason.clone())
    }

    /// When it was told to end, in nanoseconds of the monotonic clock.
    pub fn moment_ns(&self) -> Option<u64> {
        let first = self.0.reason.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|(_, moment_ns)| *moment_ns)
    }

    /// Waits until the run is to end.
    pub async fn told(&self) {
        let mut told = std::pin::pin!(self.0.told.notified());
        // Registered before the look, so that no word between the two is missed.
        told.as_mut().enable();
        if !self.is_set() {
            told.await;
        }
    }

    /// Ends the run on Ctrl-C and on SIGTERM, from now on. It needs a runtime.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub fn on_signals(&self) -> std::io::Result<()> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let stop = self.clone();
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = interrupt.recv() => "Ctrl-C",
                _ = terminate.recv() => "SIGTERM",
            };
            stop.by_signal(name);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_is_told_to_those_who_wait_and_to_those_who_come_later() {
        let stop = Stop::default();
        let waiting = tokio::spawn({
            let stop = stop.clone();
            async move { stop.told().await }
        });
        assert!(!stop.is_set() && stop.reason().is_none());
        stop.because("first");
        stop.because("second");
        waiting.await.unwrap();
        stop.told().await;
        assert_eq!(stop.reason().as_deref(), Some("first"));
        let moment_ns = stop.moment_ns();
        assert!(moment_ns.is_some());
        stop.by_signal("Ctrl-C");
        assert_eq!(stop.reason().as_deref(), Some("stopped by Ctrl-C"));
        assert_eq!(stop.moment_ns(), moment_ns);
    }
}
