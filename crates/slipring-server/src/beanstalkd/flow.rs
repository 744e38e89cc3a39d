//! The bytes of a connection: reading them with patience and within the room there is, and writing
//! replies to clients that may not read.

use std::future::poll_fn;
use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use slipring::clock::Sleep;
use slipring::{Clock, Timestamp};
use slipring_wire::beanstalkd::Parser;
use tokio::io::AsyncWriteExt;
use tokio_util::io::poll_read_buf;

use super::listener::Stream;
use super::patience::{At, unread};
use super::session::Session;

/// An output buffer above this size is not kept when it is empty: ten thousand connections that
/// were once told of a large job would keep as many large buffers.
const OUT_BYTES_KEPT: usize = 4 * 1024;

/// A quiet connection reads so much at a time; one that fills it reads twice as much next time.
pub(super) const READ_BYTES_MIN: usize = 2 * 1024;
const READ_BYTES_MAX: usize = 128 * 1024;

/// Whether a client has left is looked for this often while nothing is read from it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Session {
    /// Writes all replies out. Waits for a client that does not read, for a time: nothing more is
    /// taken from it meanwhile.
    pub(super) async fn flush(&mut self) -> ControlFlow<()> {
        let Session { shared, stream, stop, out, leaving, .. } = self;
        let mut written = 0;
        while let Some(rest) = out.get(written..).filter(|rest| !rest.is_empty()) {
            let count = tokio::select! {
                biased;
                count = stream.write(rest) => count.unwrap_or(0),
                () = stop.cancelled() => 0,
                () = async {
                    // What does not go out at once counts, whether there is room for it or not.
                    leaving.grow(rest.len());
                    unread(shared, &shared.settings.deadlines).await;
                } => 0,
            };
            if count == 0 {
                out.clear();
                return ControlFlow::Break(());
            }
            written += count;
        }
        out.clear();
        leaving.shrink(0);
        if self.out.capacity() > OUT_BYTES_KEPT {
            self.out = BytesMut::new();
        }
        ControlFlow::Continue(())
    }

    /// What has come of a large body needs room before more of it is read; without room its put is
    /// refused. Who sends a body is not quiet.
    pub(super) fn make_room(&mut self) {
        if self.parser.unfinished_body_bytes().is_none() {
            self.room.shrink(0);
            return;
        }
        self.place.moves(self.shared.now());
        if !self.room.grow(self.parser.buffer_mut().len()) {
            self.parser.refuse_body();
        }
    }

    /// Waits until answers of this size have room beside the replies that are not out yet, or until
    /// the server stops. The room is kept until they are out.
    pub(super) async fn room_to_answer(&mut self, bytes: usize) -> ControlFlow<()> {
        if !self.leaving.grow(self.out.len().saturating_add(bytes)) {
            // Who waits for the room of others has none.
            self.flush().await?;
            tokio::select! {
                () = self.leaving.wait(bytes) => {}
                () = self.stop.cancelled() => return ControlFlow::Break(()),
            }
        }
        ControlFlow::Continue(())
    }

    /// Makes the room that was taken to answer fit the replies that are there. Where there is too
    /// little, as after a wait for jobs, they are there all the same.
    pub(super) fn fit_room(&mut self) {
        self.leaving.shrink(self.out.len());
        self.leaving.grow(self.out.len());
    }

    /// Notes how much a read gave, and sizes the next one by it.
    pub(super) fn has_read(&mut self, bytes: usize) {
        if bytes == 0 {
            (self.half_closed, self.all_read) = (true, true);
        }
        if bytes >= self.read_bytes {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        } else if bytes < self.read_bytes / 4 {
            self.read_bytes = (self.read_bytes / 2).max(READ_BYTES_MIN);
        }
    }

    /// Waits for the client; what runs out meanwhile is counted.
    pub(super) async fn read(&mut self) -> ControlFlow<()> {
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
            let Session { stream, parser, read_bytes, .. } = self;
            let read = tokio::select! {
                read = read_some(stream, parser, *read_bytes, usize::MAX) => read,
                () = fired(&mut self.lapse) => {
                    self.take_lapsed();
                    if at == At::Holding {
                        // Its silence begins when it holds nothing any more.
                        self.patience.came(0, self.shared.now());
                    }
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

/// Reads into the parser's buffer, with room for `room` bytes and `most` bytes at most; answers how
/// many came, 0 at the end. While nothing comes, no memory is held for what may come.
pub(super) async fn read_some(
    stream: &mut Stream,
    parser: &mut Parser,
    room: usize,
    most: usize,
) -> io::Result<usize> {
    poll_fn(|context| {
        let buffer = parser.buffer_mut();
        buffer.reserve(room.min(most));
        let read = poll_read_buf(Pin::new(&mut *stream), context, &mut buffer.limit(most));
        if read.is_pending() {
            parser.shrink();
        }
        read
    })
    .await
}

/// Reads what comes behind a command that waits, with `room` bytes at most in the parser's buffer;
/// answers how many bytes came. Where there is no room left it waits for the end of what the client
/// sends: `None` when that is on its way behind what was not read.
pub(super) async fn read_ahead(
    stream: &mut Stream,
    parser: &mut Parser,
    read_bytes: usize,
    room: usize,
    clock: &dyn Clock,
) -> io::Result<Option<usize>> {
    let left = room.saturating_sub(parser.buffer_mut().len());
    if left > 0 {
        return read_some(stream, parser, read_bytes, left).await.map(Some);
    }
    while !stream.sends_no_more().await? {
        clock.sleep_until(clock.now().after(LOOK_EVERY)).await;
    }
    Ok(None)
}

/// Ends when the timer fires; never without one.
async fn fired(timer: &mut Option<(Timestamp, Sleep)>) {
    match timer {
        Some((_, sleep)) => sleep.as_mut().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use slipring_wire::beanstalkd::Command;
    use tokio::net::UnixStream;

    use super::*;

    const ROOM: usize = 64 * 1024;

    #[tokio::test]
    async fn no_memory_is_held_for_what_may_come() {
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut stream = Stream::Unix(server);
        let mut parser = Parser::new(1 << 16);
        assert!(read_some(&mut stream, &mut parser, ROOM, usize::MAX).now_or_never().is_none());
        assert_eq!(parser.buffer_mut().capacity(), 0);
        client.write_all(b"put 0 0 60 4\r\nbo").await.unwrap();
        assert_eq!(read_some(&mut stream, &mut parser, ROOM, usize::MAX).await.unwrap(), 16);
        assert!(parser.next().is_none());
        // Half of a job is there, and nothing more comes.
        assert!(read_some(&mut stream, &mut parser, ROOM, usize::MAX).now_or_never().is_none());
        assert_eq!(&parser.buffer_mut()[..], b"bo");
        assert!(parser.buffer_mut().capacity() < 1024);
        client.write_all(b"dy\r\n").await.unwrap();
        // No more than it is told.
        assert_eq!(read_some(&mut stream, &mut parser, ROOM, 3).await.unwrap(), 3);
        assert!(parser.next().is_none());
        assert_eq!(read_some(&mut stream, &mut parser, ROOM, 3).await.unwrap(), 1);
        let Some(Ok(Command::Put(put))) = parser.next() else { panic!("the put came whole") };
        assert_eq!(put.body, "body");
        assert!(read_some(&mut stream, &mut parser, ROOM, ROOM).now_or_never().is_none());
        assert_eq!(parser.buffer_mut().capacity(), 0);
        drop(client);
        assert_eq!(read_some(&mut stream, &mut parser, ROOM, ROOM).await.unwrap(), 0);
    }
}
