//! The bytes of a connection: reading them with patience and within the room there is, and writing
//! replies to clients that may not read.

use std::ops::ControlFlow;

use bytes::BytesMut;
use slipring::Timestamp;
use slipring::clock::Sleep;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::patience::{At, unread};
use super::session::Session;
use crate::budget::Room;

/// An output buffer above this size is not kept for an idle connection.
const OUT_BYTES_KEPT: usize = 256 * 1024;

/// A quiet connection reads so much at a time; one that fills it reads twice as much next time.
pub(super) const READ_BYTES_MIN: usize = 2 * 1024;
const READ_BYTES_MAX: usize = 128 * 1024;

impl Session {
    /// Writes all replies out. Waits for a client that does not read, for a time: nothing more is
    /// taken from it meanwhile.
    pub(super) async fn flush(&mut self) -> ControlFlow<()> {
        let mut room = None;
        let mut written = 0;
        while let Some(rest) = self.out.get(written..).filter(|rest| !rest.is_empty()) {
            let count = tokio::select! {
                biased;
                count = self.stream.write(rest) => count.unwrap_or(0),
                () = self.stop.cancelled() => 0,
                () = async {
                    // What does not go out at once counts, whether there is room for it or not.
                    let room = room.get_or_insert_with(|| self.shared.leaving.room());
                    room.grow(rest.len());
                    unread(&self.shared, &self.shared.settings.deadlines).await;
                } => 0,
            };
            if count == 0 {
                self.out.clear();
                return ControlFlow::Break(());
            }
            written += count;
        }
        self.out.clear();
        if self.out.capacity() > OUT_BYTES_KEPT {
            self.out = BytesMut::new();
        }
        ControlFlow::Continue(())
    }

    /// What has come of a large body needs room before more of it is read; without room its put is
    /// refused.
    pub(super) fn make_room(&mut self) {
        if self.parser.unfinished_body_bytes().is_none() {
            self.room.shrink(0);
        } else if !self.room.grow(self.parser.buffer_mut().len()) {
            self.parser.refuse_body();
        }
    }

    /// Waits until answers of this size have room, or until the server stops.
    pub(super) async fn room_to_answer(&mut self, bytes: usize) -> ControlFlow<(), Room> {
        let mut room = self.shared.leaving.room();
        if !room.grow(bytes) {
            tokio::select! {
                () = room.wait(bytes) => {}
                () = self.stop.cancelled() => return ControlFlow::Break(()),
            }
        }
        ControlFlow::Continue(room)
    }

    /// Makes room in the parser's buffer for the next read.
    pub(super) fn reserve_buffer(&mut self) {
        self.parser.buffer_mut().reserve(self.read_bytes);
    }

    /// Notes how much a read gave, and sizes the next one by it.
    pub(super) fn has_read(&mut self, bytes: usize) {
        self.half_closed = bytes == 0;
        if bytes >= self.read_bytes {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        } else if bytes < self.read_bytes / 4 {
            self.read_bytes = (self.read_bytes / 2).max(READ_BYTES_MIN);
        }
    }

    /// Waits for the client; what runs out meanwhile is counted.
    pub(super) async fn read(&mut self) -> ControlFlow<()> {
        self.reserve_buffer();
        loop {
            self.arm_lapse();
            let at = match (self.parser.is_idle(), self.held.soonest()) {
                (false, _) => At::Command,
                (true, Some(_)) => At::Holding,
                (true, None) => At::Rest,
            };
            if self.patience.is_late(at, &self.shared) {
                return ControlFlow::Break(());
            }
            if at == At::Rest {
                self.place.rests(self.shared.now());
            }
            let read = tokio::select! {
                read = self.stream.read_buf(self.parser.buffer_mut()) => read,
                () = fired(&mut self.lapse) => {
                    self.take_lapsed();
                    continue;
                }
                () = self.patience.fired() => continue,
                () = self.place.is_wanted() => {
                    // One that has begun something since it was told stays.
                    if at != At::Holding && self.place.is_quiet(self.shared.now()) {
                        return ControlFlow::Break(());
                    }
                    continue;
                }
                () = self.stop.cancelled() => return ControlFlow::Break(()),
            };
            return match read {
                Ok(bytes) => {
                    self.patience.came(bytes, self.shared.now());
                    self.has_read(bytes);
                    ControlFlow::Continue(())
                }
                Err(_) => ControlFlow::Break(()),
            };
        }
    }

    /// Keeps a timer that fires no later than the first deadline. One that would fire earlier is
    /// kept as it is: settling a job costs nothing here.
    fn arm_lapse(&mut self) {
        let Some(soonest) = self.held.soonest() else { return };
        if self.lapse.as_ref().is_none_or(|(at, _)| *at > soonest) {
            self.lapse = Some((soonest, self.shared.engine.clock().sleep_until(soonest)));
        }
    }
}

/// Ends when the timer fires; never without one.
async fn fired(timer: &mut Option<(Timestamp, Sleep)>) {
    match timer {
        Some((_, sleep)) => sleep.as_mut().await,
        None => std::future::pending().await,
    }
}
