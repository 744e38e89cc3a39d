//! One HTTP connection's use of its time: what it is at, since when, and whether it is late.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};
use slipring::{Clock, Timestamp};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::budget::Budget;
use crate::deadlines::Deadlines;
use crate::places::{Place, Share};

/// Between two requests.
const RESTS: u8 = 0;
/// Some of a request's head has come.
const HEAD: u8 = 1;
/// A request is being answered; its body has deadlines of its own.
const WORKS: u8 = 2;
/// The answer is made, and not all of it is out.
const ANSWERED: u8 = 3;

/// What a connection is at. Shared by its socket, its service and who watches it.
pub(crate) struct Pace {
    clock: Arc<dyn Clock>,
    deadlines: Deadlines,
    leaving: Budget,
    place: Place,
    phase: AtomicU8,
    /// When the phase began, in milliseconds.
    since: AtomicU64,
    /// Since when the socket takes no more of an answer, in milliseconds; 0 while it does.
    unread_since: AtomicU64,
}

/// Why a connection is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// It was silent.
    Idle,
    /// A head did not come whole.
    Head,
    /// An answer was not read.
    Unread,
}

impl Pace {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        deadlines: Deadlines,
        leaving: Budget,
        place: Place,
    ) -> Arc<Pace> {
        let since = AtomicU64::new(clock.now().as_millis());
        let (phase, unread_since) = (AtomicU8::new(RESTS), AtomicU64::new(0));
        Arc::new(Pace { clock, deadlines, leaving, place, phase, since, unread_since })
    }

    /// A request's head is there.
    pub(crate) fn works(&self) {
        self.phase.store(WORKS, Ordering::Relaxed);
        self.place.works();
    }

    /// The answer is made.
    fn answered(&self) {
        self.phase.store(ANSWERED, Ordering::Relaxed);
    }

    fn came(&self) {
        if self.phase.load(Ordering::Relaxed) == RESTS {
            self.since.store(self.clock.now().as_millis(), Ordering::Relaxed);
            self.phase.store(HEAD, Ordering::Relaxed);
        }
    }

    /// Everything written is out.
    fn is_out(&self) {
        if self.phase.load(Ordering::Relaxed) == ANSWERED {
            let now = self.clock.now();
            self.since.store(now.as_millis(), Ordering::Relaxed);
            self.phase.store(RESTS, Ordering::Relaxed);
            self.place.rests(now);
        }
    }

    fn wrote(&self, taken: bool) {
        if taken {
            self.unread_since.store(0, Ordering::Relaxed);
        } else if self.unread_since.load(Ordering::Relaxed) == 0 {
            self.unread_since.store(self.clock.now().as_millis().max(1), Ordering::Relaxed);
        }
    }

    /// Why it is late by now, or until when it is not.
    fn look(&self, now: Timestamp) -> Result<Timestamp, Late> {
        let Deadlines { idle, head, .. } = self.deadlines;
        let unread = self.deadlines.unread(self.leaving.is_scarce());
        // What begins after this look is not late before then.
        let mut again = now.after(idle.min(head).min(unread));
        let since = Timestamp::from_millis(self.since.load(Ordering::Relaxed));
        let blocked = self.unread_since.load(Ordering::Relaxed);
        let ends = [
            (self.phase.load(Ordering::Relaxed) == RESTS).then(|| (since.after(idle), Late::Idle)),
            (self.phase.load(Ordering::Relaxed) == HEAD).then(|| (since.after(head), Late::Head)),
            (blocked > 0).then(|| (Timestamp::from_millis(blocked).after(unread), Late::Unread)),
        ];
        for (at, late) in ends.into_iter().flatten() {
            if at <= now {
                return Err(late);
            }
            again = again.min(at);
        }
        Ok(again)
    }

    /// Ends when the connection is late, or is to leave its place to another.
    pub(crate) async fn is_late(&self) -> Late {
        loop {
            let again = match self.look(self.clock.now()) {
                Ok(again) => again,
                Err(late) => return late,
            };
            let scarce = self.leaving.is_scarce();
            tokio::select! {
                () = self.clock.sleep_until(again) => {}
                () = self.leaving.scarce(), if !scarce => {}
                () = self.place.is_wanted() => {
                    // One that has begun something since it was told stays.
                    if self.place.is_quiet(self.clock.now()) {
                        return Late::Idle;
                    }
                }
            }
        }
    }
}

/// The socket of a connection, which notes what comes and goes.
pub(crate) struct Metered<S> {
    pub(crate) stream: S,
    pub(crate) pace: Arc<Pace>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.pace.came();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.pace.wrote(written.is_ready());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.pace.wrote(written.is_ready());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.pace.is_out();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of an answer, which tells when all of it is taken.
pub(crate) struct Told<B> {
    body: B,
    pace: Arc<Pace>,
    share: Option<Share>,
}

impl<B> Told<B> {
    pub(crate) fn new(body: B, pace: Arc<Pace>) -> Told<B> {
        Told { body, pace, share: None }
    }

    /// The same, which gives back a client's share when it is taken.
    #[must_use]
    pub(crate) fn with(mut self, share: Share) -> Told<B> {
        self.share = Some(share);
        self
    }
}

impl<B: Body + Unpin> Body for Told<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for Told<B> {
    fn drop(&mut self) {
        self.pace.answered();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use slipring::ManualClock;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::places::Places;

    struct Bench {
        clock: ManualClock,
        leaving: Budget,
        pace: Arc<Pace>,
    }

    async fn bench() -> Bench {
        let clock = ManualClock::at(Timestamp::from_millis(1_000_000));
        let leaving = Budget::new(1 << 20, 0);
        let place = Places::new(1, 100).take(None, &clock).await.unwrap();
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let pace = Pace::new(shared, Deadlines::default(), leaving.clone(), place);
        Bench { clock, leaving, pace }
    }

    impl Bench {
        /// Whether it is late after so many more seconds, and not a moment before.
        fn late_after(&self, seconds: u64) -> Late {
            self.clock.advance(Duration::from_millis(seconds * 1000 - 1));
            assert!(self.pace.look(self.clock.now()).is_ok());
            self.clock.advance(Duration::from_millis(1));
            self.pace.look(self.clock.now()).unwrap_err()
        }
    }

    #[tokio::test]
    async fn silence_and_half_a_head_have_their_times() {
        // S12.5
        let bench = bench().await;
        let (mut client, server) = duplex(1024);
        let mut server = Metered { stream: server, pace: Arc::clone(&bench.pace) };
        assert_eq!(bench.late_after(60), Late::Idle);
        client.write_all(b"GET / HT").await.unwrap();
        assert_eq!(server.read(&mut [0; 64]).await.unwrap(), 8);
        assert_eq!(bench.late_after(10), Late::Head);
        bench.pace.works();
        bench.clock.advance(Duration::from_secs(3600));
        assert!(bench.pace.look(bench.clock.now()).is_ok(), "a request is at work");
        drop(Told::new((), Arc::clone(&bench.pace)));
        server.flush().await.unwrap();
        assert_eq!(bench.late_after(60), Late::Idle);
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_ends_the_connection_earlier_where_room_is_scarce() {
        // S12.6
        let bench = bench().await;
        let (mut client, server) = duplex(16);
        let mut server = Metered { stream: server, pace: Arc::clone(&bench.pace) };
        bench.pace.works();
        let mut writing = std::pin::pin!(server.write_all(&[7; 64]));
        assert!(futures::poll!(writing.as_mut()).is_pending());
        bench.clock.advance(Duration::from_secs(9));
        client.read_exact(&mut [0; 16]).await.unwrap();
        assert!(futures::poll!(writing.as_mut()).is_pending());
        bench.clock.advance(Duration::from_secs(9));
        assert!(bench.pace.look(bench.clock.now()).is_ok(), "some of it was read");
        let mut room = bench.leaving.room();
        let mut late = std::pin::pin!(bench.pace.is_late());
        assert!(futures::poll!(late.as_mut()).is_pending());
        assert!(room.grow(1 << 20));
        assert_eq!(late.await, Late::Unread);
    }
}
