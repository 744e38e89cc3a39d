//! Reading the body of a request: within its size, its time, its rate, and the room there is.

use std::sync::Arc;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body;
use slipring::Clock;

use crate::budget::{Budget, Room};
use crate::deadlines::{Arrival, Deadlines};

/// So much of a body that is too large is read and thrown away, so that the client gets to read
/// the error.
const DRAINED_BYTES_MAX: usize = 64 << 20;

/// What bodies of one listener are read with.
pub(crate) struct Bodies<'a> {
    pub(crate) budget: &'a Budget,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) deadlines: &'a Deadlines,
    pub(crate) bytes_max: usize,
}

/// Why there is no body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It has at least so many bytes.
    TooLarge(usize),
    /// It did not come in time, or too slowly.
    Late,
    /// Others' bodies take all the room there is.
    NoRoom,
    /// The connection failed, or the encoding is wrong.
    Broken(String),
}

impl Bodies<'_> {
    /// The body, and its room.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) async fn read<B>(&self, mut body: B) -> Result<(Bytes, Room), Refused>
    where
        B: Body<Data = Bytes, Error: std::fmt::Display> + Unpin,
    {
        let mut arrival = Arrival::begin(self.clock.now(), self.deadlines);
        let announced = body.size_hint().lower();
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        if announced > self.bytes_max {
            return Err(self.drained(body, announced, arrival).await);
        }
        let mut room = self.budget.room();
        let Some(first) = self.piece(&mut body, &mut arrival).await? else {
            return Ok((Bytes::new(), room));
        };
        if !room.grow(first.len()) {
            return Err(Refused::NoRoom);
        }
        if body.is_end_stream() {
            return Ok((first, room));
        }
        let mut whole = BytesMut::from(first);
        while let Some(piece) = self.piece(&mut body, &mut arrival).await? {
            let bytes = whole.len() + piece.len();
            if bytes > self.bytes_max {
                drop((whole, room));
                return Err(self.drained(body, bytes, arrival).await);
            }
            if !room.grow(bytes) {
                return Err(Refused::NoRoom);
            }
            whole.extend_from_slice(&piece);
        }
        Ok((whole.freeze(), room))
    }

    /// The next piece of data; other frames are passed over.
    async fn piece<B>(&self, body: &mut B, arrival: &mut Arrival) -> Result<Option<Bytes>, Refused>
    where
        B: Body<Data = Bytes, Error: std::fmt::Display> + Unpin,
    {
        loop {
            let mut frame = body.frame();
            // Most of it is there already: no timer for that.
            let next = match futures::poll!(&mut frame) {
                Poll::Ready(next) => next,
                Poll::Pending => loop {
                    tokio::select! {
                        next = &mut frame => break next,
                        () = self.clock.sleep_until(arrival.look_at()) => {
                            if arrival.is_late(self.clock.now(), self.deadlines) {
                                return Err(Refused::Late);
                            }
                        }
                    }
                },
            };
            match next {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        arrival.came(data.len());
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(Refused::Broken(error.to_string())),
            }
        }
    }

    /// Reads on, up to a limit, and answers that the body is too large.
    async fn drained<B>(&self, mut body: B, known_bytes: usize, mut arrival: Arrival) -> Refused
    where
        B: Body<Data = Bytes, Error: std::fmt::Display> + Unpin,
    {
        let mut left = DRAINED_BYTES_MAX;
        while let Ok(Some(piece)) = self.piece(&mut body, &mut arrival).await
            && piece.len() < left
        {
            left -= piece.len();
        }
        Refused::TooLarge(known_bytes)
    }
}
