//! Whether the store can serve: shown by a write of some pages that is flushed, like a send.
//!
//! Probes share a write: those that come while one is under way wait for it, and its result is
//! good for a second, so that a storm of them costs no more than one. None waits longer than
//! [`WITHIN`], whatever the disk or another process does.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::clock::monotonic_ns;
use slipring::{Durability, Error, ErrorKind, WaitClass};
use tokio::sync::Notify;

use crate::fault::{Fault, Outcome, closed};
use crate::open::PAGE_BYTES;
use crate::ring::{Load, Owner};
use crate::room::{SENDS_LEAVE, no_room};
use crate::statements::Query;
use crate::task::Task;
use crate::write_lock::Denied;
use crate::writer::{Writer, WriterTask};

/// A write that has not come through for so long will not be waited for.
const WITHIN: Duration = Duration::from_millis(1500);
/// A result is good for so long.
const FRESH_NS: u64 = 1_000_000_000;
/// More than a small send changes, so that a disk with room for one page does not count.
const PROBE_PAGES: u64 = 8;
const PROBE_BYTES: usize = (PROBE_PAGES * PAGE_BYTES) as usize;
const PATTERN_BYTES: usize = 8;

/// The probe under way, and the result of the last.
pub(crate) struct Probes {
    state: Mutex<State>,
    ended: Notify,
    denied: Arc<Denied>,
}

#[derive(Default)]
struct State {
    closed: bool,
    since_ns: Option<u64>,
    last: Option<(u64, Result<(), Error>)>,
}

/// What one who asks is to do.
enum Turn {
    Known(Result<(), Error>),
    Begin,
    /// Wait for the one that began at a moment.
    Wait(u64),
}

impl Probes {
    pub(crate) fn new(denied: Arc<Denied>) -> Probes {
        Probes { state: Mutex::default(), ended: Notify::new(), denied }
    }

    /// Whether a write comes through; `leave` leaves one with the writer.
    ///
    /// # Errors
    /// What the write failed with; `StorageUnavailable` when it takes too long.
    pub(crate) async fn check(
        self: &Arc<Self>,
        leave: impl FnOnce(WriterTask) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let ended = self.ended.notified();
        tokio::pin!(ended);
        // Before the look, so that an end right after it is not missed.
        ended.as_mut().enable();
        let now_ns = monotonic_ns();
        let since_ns = match self.turn(now_ns) {
            Turn::Known(result) => return result,
            Turn::Begin => {
                let probes = Some(Arc::clone(self));
                leave(Box::new(Probe { probes, refused: None, left_ns: now_ns }))?;
                now_ns
            }
            Turn::Wait(since_ns) => since_ns,
        };
        let waited = Duration::from_nanos(now_ns.saturating_sub(since_ns));
        if tokio::time::timeout(WITHIN.saturating_sub(waited), ended).await.is_err() {
            return Err(self.slow(since_ns));
        }
        self.state.lock().last.clone().map_or_else(|| Err(closed()), |(_, result)| result)
    }

    fn turn(&self, now_ns: u64) -> Turn {
        let mut state = self.state.lock();
        if state.closed {
            return Turn::Known(Err(closed()));
        }
        if let Some(since_ns) = state.since_ns {
            return Turn::Wait(since_ns);
        }
        match &state.last {
            Some((at_ns, result)) if now_ns.saturating_sub(*at_ns) < FRESH_NS => {
                Turn::Known(result.clone())
            }
            _ => {
                state.since_ns = Some(now_ns);
                Turn::Begin
            }
        }
    }

    fn slow(&self, since_ns: u64) -> Error {
        if let Some(error) = self.denied.error() {
            return error;
        }
        let waited = Duration::from_nanos(monotonic_ns().saturating_sub(since_ns));
        let text = format!(
            "a write of {PROBE_BYTES} bytes has not come through for {:.1} s: the disk hangs, or \
             is given more than it can do",
            waited.as_secs_f64()
        );
        Error::new(ErrorKind::StorageUnavailable, text)
    }

    /// From here on the store is not ready.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
    }

    fn end(&self, result: Result<(), Error>) {
        let mut state = self.state.lock();
        state.since_ns = None;
        state.last = Some((monotonic_ns(), result));
        drop(state);
        self.ended.notify_waiters();
    }
}

/// A write for those who ask at the moment.
struct Probe {
    /// Taken when the result is there.
    probes: Option<Arc<Probes>>,
    refused: Option<Error>,
    left_ns: u64,
}

impl Probe {
    fn end(&mut self, result: Result<(), Error>) {
        if let Some(probes) = self.probes.take() {
            probes.end(result);
        }
    }
}

impl Drop for Probe {
    /// A write that is dropped was not made.
    fn drop(&mut self) {
        self.end(Err(closed()));
    }
}

impl<'c> Task<Writer<'c>> for Probe {
    fn load(&self) -> Load {
        Load::of(Owner::Administration, 1).writing(PROBE_BYTES as u64)
    }

    fn needs_transaction(&self) -> bool {
        true
    }

    fn left_ns(&self) -> u64 {
        self.left_ns
    }

    fn taken(&mut self, _wait: &WaitClass) {}

    fn run(&mut self, writer: &mut Writer<'c>) -> Result<(), Fault> {
        self.refused = None;
        // A file or disk that is full to its bound refuses sends; others of the transaction stand.
        let spare_pages = writer.spare_pages(SENDS_LEAVE)?;
        let leaves_room = writer.leaves_room(PROBE_BYTES as u64)?;
        if !leaves_room || spare_pages.is_none_or(|pages| pages < PROBE_PAGES) {
            self.refused = Some(no_room().into_error());
            return Ok(());
        }
        writer.probe()
    }

    fn answer(mut self: Box<Self>) {
        let refused = self.refused.take();
        self.end(refused.map_or(Ok(()), Err));
    }

    fn fail(mut self: Box<Self>, error: Error) {
        self.end(Err(error));
    }
}

impl Writer<'_> {
    /// Changes some pages that mean nothing.
    fn probe(&mut self) -> Outcome<()> {
        // SQLite does not write what is there already.
        let mut pattern = [0; PATTERN_BYTES];
        self.memory.randomness.fill(&mut pattern);
        self.db.execute(Query::Probe, [pattern.repeat(PROBE_BYTES / PATTERN_BYTES)])?;
        self.promise(Durability::Full);
        Ok(())
    }
}
