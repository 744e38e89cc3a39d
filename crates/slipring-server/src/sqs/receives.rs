//! ReceiveMessage.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use slipring::{Delivery, Error, ErrorKind, Queue, ReceiveRequest};
use slipring_wire::sqs::{Answer, ErrorCode, ReceiveMessage, ReceiveMessageAnswer, SqsError};

use super::attributes;
use super::call::Call;
use super::failure::is_in_flight_limit;
use super::messages::{Wanted, receipt_handle};
use super::service::{LARGE_BYTES, no_room_to_answer};
use crate::budget::Room;

impl Call<'_> {
    pub(super) async fn receive_message(&self, p: ReceiveMessage) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let info = queue.info();
        let fifo = info.settings.fifo;
        let seconds = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let request = ReceiveRequest {
            up_to: p.max_number_of_messages.and_then(|most| u32::try_from(most).ok()).unwrap_or(1),
            wait: match p.wait_time_seconds {
                Some(wait) => seconds(wait),
                None => attributes::receive_wait(&info.settings),
            },
            lease: p.visibility_timeout.map(seconds),
            session: false,
        };
        self.polls.store(!request.wait.is_zero(), Ordering::Relaxed);
        let deliveries = match &p.receive_request_attempt_id {
            Some(id) if fifo => self.receive_once(&queue, request, id).await?,
            _ => self.receive(&queue, request, fifo).await?,
        };
        let system = [p.attribute_names.as_slice(), p.message_system_attribute_names.as_slice()];
        let wanted = Wanted::new(&system, p.message_attribute_names.into_vec());
        let bytes = self.shared.sizes.note(queue.id(), &deliveries);
        // Of a receive that waited, too: others find less room, whether there is any for this one.
        self.room.lock().grow(bytes);
        let (shared, now) = (Arc::clone(self.shared), self.now());
        let made = move || {
            let messages = deliveries.into_iter().map(|delivery| {
                let handle = receipt_handle(&shared.engine, &delivery.receipt, now);
                wanted.received(delivery, fifo, handle, &shared.settings)
            });
            messages.collect()
        };
        // Digests of large bodies would hold up the other connections of this thread.
        let messages = if bytes < LARGE_BYTES {
            made()
        } else {
            let failed = |_| SqsError::new(ErrorCode::InternalFailure, "The answer failed.");
            self.shared.leaving.beside(made).await.map_err(failed)?
        };
        Ok(Answer::ReceiveMessage(ReceiveMessageAnswer { messages }))
    }

    async fn receive(
        &self,
        queue: &Queue,
        request: ReceiveRequest,
        fifo: bool,
    ) -> Result<Vec<Delivery>, SqsError> {
        let received = if request.wait.is_zero() {
            let room = self.room_for(queue, request.up_to).await?;
            *self.room.lock() = room;
            queue.receive(request).await
        } else {
            self.receive_waiting(queue, request).await
        };
        match received {
            Err(error) if is_in_flight_limit(&error) && fifo => Ok(Vec::new()),
            Err(error) if is_in_flight_limit(&error) => Err(SqsError::new(
                ErrorCode::OverLimit,
                "Too many messages in flight; delete received messages first.",
            )),
            received => received.map_err(|error| self.refused(&error)),
        }
    }

    /// Room for what a receive may bring, so that not all receives at once bring more than there
    /// is room for. A guess, which is made to fit when the answer is made.
    async fn room_for(&self, queue: &Queue, messages: u32) -> Result<Room, SqsError> {
        let mut room = self.shared.leaving.room();
        let bytes = self.shared.sizes.expected(queue.id(), messages);
        let had = room.within(bytes, &**self.shared.engine.clock(), self.stop).await;
        had.map(|()| room).map_err(|_| no_room_to_answer())
    }

    /// A receive that waits; it takes no messages while the room for answers is scarce.
    async fn receive_waiting(
        &self,
        queue: &Queue,
        request: ReceiveRequest,
    ) -> Result<Vec<Delivery>, Error> {
        let (clock, leaving) = (&**self.shared.engine.clock(), &self.shared.leaving);
        let until = clock.now().after(request.wait);
        let receive = |wait| queue.receive(ReceiveRequest { wait, ..request });
        tokio::select! {
            received = leaving.while_plenty(clock, until, receive) => {
                received.unwrap_or_else(|| Ok(Vec::new()))
            }
            () = self.stop.cancelled() => Ok(Vec::new()),
        }
    }

    /// A receive that, asked a second time with the same id, gives the same messages again.
    async fn receive_once(
        &self,
        queue: &Queue,
        request: ReceiveRequest,
        id: &str,
    ) -> Result<Vec<Delivery>, SqsError> {
        let replays = &self.shared.replays;
        if let Some(before) = replays.find(queue.id(), id, self.now()) {
            let held = self.prolonged(queue, before, request.lease).await?;
            if !held.is_empty() {
                replays.keep(queue.id(), id, &held, self.now());
                return Ok(held);
            }
        }
        let deliveries = self.receive(queue, request, true).await?;
        replays.keep(queue.id(), id, &deliveries, self.now());
        Ok(deliveries)
    }

    /// Prolongs leases; answers the deliveries that are held still.
    async fn prolonged(
        &self,
        queue: &Queue,
        deliveries: Vec<Delivery>,
        lease: Option<Duration>,
    ) -> Result<Vec<Delivery>, SqsError> {
        let leases = deliveries.iter().map(|delivery| (delivery.receipt, lease)).collect();
        let prolonged = queue.extend(leases).await.map_err(|error| self.refused(&error))?;
        let mut held = Vec::with_capacity(deliveries.len());
        for (delivery, prolonged) in deliveries.into_iter().zip(prolonged) {
            match prolonged {
                Ok(_) => held.push(delivery),
                Err(error)
                    if matches!(error.kind(), ErrorKind::LeaseLost | ErrorKind::MessageGone) => {}
                Err(error) => return Err(self.refused(&error)),
            }
        }
        Ok(held)
    }
}
