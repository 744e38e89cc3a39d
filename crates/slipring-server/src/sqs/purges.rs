//! PurgeQueue: once a minute for a queue, and to its end though the client leaves.

use std::future::Future;
use std::sync::Arc;

use slipring::{Error, QueueId, Timestamp};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::recent::Recent;

/// The purges of a server.
#[derive(Default)]
pub(super) struct Purges {
    /// When queues were purged. A purge that failed, or was ended by the end of the server, does
    /// not count: it has to be tried again.
    recent: Arc<Recent<QueueId>>,
    running: TaskTracker,
    stop: CancellationToken,
}

impl Purges {
    /// Runs a purge, unless `rule` holds and the queue was purged within the last minute: then
    /// answers nothing. It goes on when the answer is not waited for any more.
    ///
    /// # Errors
    /// That of the purge.
    pub(super) async fn run(
        &self,
        queue: QueueId,
        now: Timestamp,
        rule: bool,
        purge: impl Future<Output = Result<u64, Error>> + Send + 'static,
    ) -> Option<Result<(), Error>> {
        if !self.recent.note(queue, now) && rule {
            return None;
        }
        let mut noted = Noted { queue, recent: Arc::clone(&self.recent), done: false };
        let stop = self.stop.clone();
        let task = self.running.spawn(async move {
            let purged = tokio::select! {
                purged = purge => purged.map(drop),
                () = stop.cancelled() => Err(Error::closed()),
            };
            noted.ended(&purged);
            purged
        });
        Some(task.await.unwrap_or_else(|_| Err(Error::closed())))
    }

    /// Ends all purges. What they have not removed stays.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.running.close();
        self.running.wait().await;
    }

    /// Forgets which queues were purged.
    pub(super) fn clear(&self) {
        self.recent.clear();
    }
}

/// The note that a queue is purged; taken back when it was not, also by a fault.
struct Noted {
    queue: QueueId,
    recent: Arc<Recent<QueueId>>,
    done: bool,
}

impl Noted {
    fn ended(&mut self, purged: &Result<(), Error>) {
        self.done = purged.is_ok();
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        if !self.done {
            self.recent.forget(&self.queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use slipring::ErrorKind;
    use tokio::sync::Notify;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1000);
    const QUEUE: QueueId = QueueId(7);

    #[tokio::test]
    async fn a_purge_that_failed_can_be_tried_again_at_once_and_one_that_was_done_cannot() {
        let purges = Purges::default();
        let failing = async { Err(Error::new(ErrorKind::StorageUnavailable, "not now")) };
        let failed = purges.run(QUEUE, NOW, true, failing).await.unwrap().unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::StorageUnavailable);
        let broken = async { panic!("a fault") };
        assert!(purges.run(QUEUE, NOW, true, broken).await.unwrap().is_err());
        purges.run(QUEUE, NOW, true, async { Ok(3) }).await.unwrap().unwrap();
        assert!(purges.run(QUEUE, NOW, true, async { Ok(0) }).await.is_none());
        assert!(purges.run(QUEUE, NOW, false, async { Ok(0) }).await.is_some());
        assert!(purges.run(QueueId(8), NOW, true, async { Ok(0) }).await.is_some());
    }

    #[tokio::test]
    async fn a_purge_goes_on_when_its_client_leaves_and_ends_with_the_server() {
        let purges = Purges::default();
        let (gate, done) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let purge = {
            let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
            async move {
                gate.notified().await;
                done.store(true, Ordering::Relaxed);
                Ok(1)
            }
        };
        let mut waits = Box::pin(purges.run(QUEUE, NOW, true, purge));
        assert!(futures::poll!(&mut waits).is_pending());
        drop(waits);
        gate.notify_one();
        while !purges.running.is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(done.load(Ordering::Relaxed));
        let mut endless = Box::pin(purges.run(QueueId(8), NOW, true, std::future::pending()));
        assert!(futures::poll!(&mut endless).is_pending());
        purges.end().await;
        assert_eq!(endless.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    }
}
