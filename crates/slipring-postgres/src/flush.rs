//! Waiting for the disk outside the queue's lock: a settlement's commit does not wait for its
//! flush, and before it is answered a flush follows that all who wait at that time share.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use slipring::clock::monotonic_ns;
use slipring::{Error, ErrorKind, Retry};
use tokio::sync::Semaphore;

use crate::fault::garbled;
use crate::queries;
use crate::rows::value;
use crate::seats::Seat;
use crate::session::Session;

/// Flushes that may be on their way at a time: while the disk is busy with one, those whose
/// commit came too late for it need not wait for its end.
const FLUSHES_MAX: usize = 2;

/// A flush, and which start of the server it was made by.
type Flush = Shared<BoxFuture<'static, Result<Option<String>, Error>>>;

/// Makes the flushes of one store.
pub(crate) struct Flusher {
    session: Arc<Session>,
    running: Arc<Semaphore>,
    /// The flush that has not begun yet: whoever committed before now is covered by it. It runs
    /// while anybody waits for it, whoever of them goes away.
    next: Arc<Mutex<Option<Flush>>>,
}

impl Flusher {
    pub(crate) fn new(session: Arc<Session>) -> Flusher {
        let running = Arc::new(Semaphore::new(FLUSHES_MAX));
        Flusher { session, running, next: Arc::default() }
    }

    /// Waits until a commit that has been answered is flushed. `token` is what the server said
    /// with it.
    ///
    /// # Errors
    /// Storage errors, all of them of the kind that leaves it open whether the call took effect;
    /// one of them when the server was restarted since, for it may have forgotten the commit.
    pub(crate) async fn flushed(&self, token: &str) -> Result<(), Error> {
        let began = monotonic_ns();
        let flush = self.next.lock().get_or_insert_with(|| self.begin()).clone();
        let answer = flush.await;
        self.session.classes().flushed(began);
        let error = match answer {
            Ok(by) if by.as_deref() == Some(token) => return Ok(()),
            Ok(_) => {
                let text = "the server was restarted before it had flushed the call's commit";
                let error = Error::new(ErrorKind::StorageUnavailable, text);
                self.session.located(error).during(queries::FLUSH.operation)
            }
            Err(error) => error,
        };
        Err(error.with_retry(Retry::Unknown))
    }

    fn begin(&self) -> Flush {
        let (session, running) = (Arc::clone(&self.session), Arc::clone(&self.running));
        // The flush itself is in there.
        let next = Arc::downgrade(&self.next);
        let flush = async move {
            // Never closed.
            let _running = running.acquire().await;
            // From here on nobody joins: the statement may have begun before their commit.
            if let Some(next) = next.upgrade() {
                next.lock().take();
            }
            let row = session.row_of(Seat::Kept, &queries::FLUSH, &[]).await?;
            value(&row.ok_or_else(|| garbled("no answer to a flush"))?, 0)
        };
        flush.boxed().shared()
    }
}
