//! Room for bytes that are held for clients: large bodies that are still arriving, and answers
//! that are on their way out (S12.3).
//!
//! Room is taken for bytes that are there, not for bytes that were announced: who announces much
//! and sends nothing takes nothing.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use slipring::{Clock, Timestamp};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

/// So many bytes of each body need no room; they are bounded by the number of connections.
pub(crate) const FREE_BYTES: usize = 4 * 1024;

/// An answer waits so long for the room of others that are not read.
const ROOM_WITHIN: Duration = Duration::from_secs(5);

/// Permits are counted in this unit, as a semaphore counts in `u32`.
const UNIT_BYTES: usize = 1024;

/// The shared room. Cheap to clone; clones are the same room.
#[derive(Clone)]
pub(crate) struct Budget {
    places: Arc<Semaphore>,
    units: usize,
    /// Whether there is less left than a quarter.
    short: watch::Sender<bool>,
    /// Places for work beside the threads that serve connections.
    beside: Arc<Semaphore>,
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let left = self.places.available_permits() * UNIT_BYTES;
        f.debug_struct("Budget").field("left_bytes", &left).finish_non_exhaustive()
    }
}

/// Why there is no room for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// Others do not read theirs.
    Late,
    /// The server stops.
    Stopping,
}

/// Counts anew when a wait for room ends, also one that is given up: what was put aside for it is
/// free then.
struct Recount(Budget);

impl Drop for Recount {
    fn drop(&mut self) {
        self.0.moved();
    }
}

/// Room taken; given back when dropped.
pub(crate) struct Room {
    budget: Budget,
    permit: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// Room for `bytes`, but at least for one body of `body_bytes_max`.
    pub(crate) fn new(bytes: usize, body_bytes_max: usize) -> Budget {
        let units = bytes.max(body_bytes_max).div_ceil(UNIT_BYTES).min(Semaphore::MAX_PERMITS);
        let short = watch::Sender::new(false);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let beside = Arc::new(Semaphore::new(processors));
        Budget { places: Arc::new(Semaphore::new(units)), units, short, beside }
    }

    /// Room for nothing yet.
    pub(crate) fn room(&self) -> Room {
        Room { budget: self.clone(), permit: None }
    }

    /// Does what takes long, such as making a large answer, beside the threads that serve
    /// connections: as many at a time as there are processors, so that those threads find one.
    ///
    /// # Errors
    /// When it panics.
    pub(crate) async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        // It is never closed.
        let place = Arc::clone(&self.beside).acquire_owned().await;
        let with_place = move || {
            let done = work();
            drop(place);
            done
        };
        tokio::task::spawn_blocking(with_place).await
    }

    /// Waits until more than a quarter is left.
    pub(crate) async fn plenty(&self) {
        // The sender is this one's own: it is not gone while this waits.
        let _ = self.short.subscribe().wait_for(|short| !short).await;
    }

    /// Waits until there is less left than a quarter.
    pub(crate) async fn scarce(&self) {
        let _ = self.short.subscribe().wait_for(|short| *short).await;
    }

    /// Whether there is less left than a quarter.
    pub(crate) fn is_scarce(&self) -> bool {
        *self.short.borrow()
    }

    /// Receives by `receive`, which is given how long it may wait, until it gives something. While
    /// the room is scarce nothing is taken: a receive that waits is dropped then, and begun anew
    /// with the time that is left. `None` when the time was over while the room was scarce.
    pub(crate) async fn while_plenty<R: Future>(
        &self,
        clock: &dyn Clock,
        until: Timestamp,
        receive: impl Fn(Duration) -> R,
    ) -> Option<R::Output> {
        while self.has_plenty_by(clock, until).await {
            tokio::select! {
                received = receive(clock.now().until(until)) => return Some(received),
                () = self.scarce() => {}
            }
        }
        None
    }

    /// Waits while the room is scarce; answers whether it is not by then.
    pub(crate) async fn has_plenty_by(&self, clock: &dyn Clock, until: Timestamp) -> bool {
        !self.is_scarce()
            || tokio::select! {
                () = self.plenty() => true,
                () = clock.sleep_until(until) => false,
            }
    }

    fn moved(&self) {
        // Counted under the lock: whoever is last has seen what all others gave back.
        self.short.send_if_modified(|before| {
            let short = self.places.available_permits() < self.units / 4;
            std::mem::replace(before, short) != short
        });
    }
}

impl Room {
    /// Makes the room as large as `bytes` need; never smaller. Answers whether it could.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let Some(more) = self.missing(bytes) else { return true };
        match Arc::clone(&self.budget.places).try_acquire_many_owned(more) {
            Ok(permit) => {
                self.merge(permit);
                true
            }
            Err(_) => false,
        }
    }

    /// As [`Room::grow`], but waits for the bytes of others to go. For more than there is at all
    /// it waits for all there is.
    pub(crate) async fn wait(&mut self, bytes: usize) {
        let Some(more) = self.missing(bytes) else { return };
        let most = u32::try_from(self.budget.units).unwrap_or(u32::MAX);
        let more = more.min(most.saturating_sub(self.units()));
        let _recount = Recount(self.budget.clone());
        let mut taking = std::pin::pin!(Arc::clone(&self.budget.places).acquire_many_owned(more));
        let taken = match futures::poll!(taking.as_mut()) {
            Poll::Ready(taken) => taken,
            Poll::Pending => {
                // What is free was put aside for this one.
                self.budget.moved();
                taking.await
            }
        };
        // It is never closed.
        if let Ok(permit) = taken {
            self.merge(permit);
        }
    }

    /// Room for an answer that is made: what was taken before its parts were fetched stays taken,
    /// and is made to fit where that is possible. One that took none before waits as
    /// [`Room::within`].
    ///
    /// # Errors
    /// As [`Room::within`].
    pub(crate) async fn fit(
        &mut self,
        bytes: usize,
        clock: &dyn Clock,
        stop: &CancellationToken,
    ) -> Result<(), NoRoom> {
        self.shrink(bytes);
        // Who waits for more with something in hand may be waited for.
        if self.grow(bytes) || self.permit.is_some() {
            return Ok(());
        }
        self.within(bytes, clock, stop).await
    }

    /// As [`Room::wait`], for 5 s at most.
    ///
    /// # Errors
    /// When the bytes of others are not gone by then, or `stop` is told.
    pub(crate) async fn within(
        &mut self,
        bytes: usize,
        clock: &dyn Clock,
        stop: &CancellationToken,
    ) -> Result<(), NoRoom> {
        if self.grow(bytes) {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = self.wait(bytes) => Ok(()),
            () = clock.sleep_until(clock.now().after(ROOM_WITHIN)) => Err(NoRoom::Late),
            () = stop.cancelled() => Err(NoRoom::Stopping),
        }
    }

    /// Gives back what is more than `bytes` need.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let needed = units_for(bytes);
        if let Some(permit) = &mut self.permit
            && permit.num_permits() > needed
        {
            let spare = permit.num_permits() - needed;
            drop(permit.split(spare));
            self.budget.moved();
        }
    }

    /// The bytes, which keep the room until the last of them is gone.
    pub(crate) fn hold(self, bytes: impl Into<Bytes>) -> Bytes {
        let bytes = bytes.into();
        if self.permit.is_none() {
            return bytes;
        }
        Bytes::from_owner(Held { bytes, _room: self })
    }

    fn units(&self) -> u32 {
        let permits = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        u32::try_from(permits).unwrap_or(u32::MAX)
    }

    fn missing(&self, bytes: usize) -> Option<u32> {
        let needed = u32::try_from(units_for(bytes)).unwrap_or(u32::MAX);
        needed.checked_sub(self.units()).filter(|more| *more > 0)
    }

    fn merge(&mut self, permit: OwnedSemaphorePermit) {
        match &mut self.permit {
            Some(mine) => mine.merge(permit),
            none => *none = Some(permit),
        }
        self.budget.moved();
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.permit.take().is_some() {
            self.budget.moved();
        }
    }
}

fn units_for(bytes: usize) -> usize {
    bytes.saturating_sub(FREE_BYTES).div_ceil(UNIT_BYTES)
}

/// Bytes with their room.
struct Held {
    bytes: Bytes,
    _room: Room,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests;
