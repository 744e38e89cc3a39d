//! ReceiveMessage.

use std::time::Duration;

use slipring::{Delivery, Queue, ReceiveRequest};
use slipring_wire::sqs::{Answer, ErrorCode, ReceiveMessage, ReceiveMessageAnswer, SqsError};

use super::attributes;
use super::call::Call;
use super::failure::is_in_flight_limit;
use super::messages::{Wanted, receipt_handle};

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
        let deliveries = match &p.receive_request_attempt_id {
            Some(id) if fifo => self.receive_once(&queue, request, id).await?,
            _ => self.receive(&queue, request, fifo).await?,
        };
        let system = [p.attribute_names.as_slice(), p.message_system_attribute_names.as_slice()];
        let wanted = Wanted::new(&system, p.message_attribute_names.into_vec());
        let (engine, now) = (&self.shared.engine, self.now());
        let messages = deliveries.into_iter().map(|delivery| {
            let handle = receipt_handle(engine, &delivery.receipt, now);
            wanted.received(delivery, fifo, handle, &self.shared.settings)
        });
        Ok(Answer::ReceiveMessage(ReceiveMessageAnswer { messages: messages.collect() }))
    }

    async fn receive(
        &self,
        queue: &Queue,
        request: ReceiveRequest,
        fifo: bool,
    ) -> Result<Vec<Delivery>, SqsError> {
        let received = if request.wait.is_zero() {
            queue.receive(request).await
        } else {
            tokio::select! {
                received = queue.receive(request) => received,
                () = self.stop.cancelled() => Ok(Vec::new()),
            }
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

    /// A receive that, asked a second time with the same id, gives the same messages again.
    async fn receive_once(
        &self,
        queue: &Queue,
        request: ReceiveRequest,
        id: &str,
    ) -> Result<Vec<Delivery>, SqsError> {
        let replays = &self.shared.replays;
        if let Some(before) = replays.take(queue.id(), id, self.now()) {
            let leases = before.iter().map(|delivery| (delivery.receipt, request.lease)).collect();
            let prolonged = queue.extend(leases).await.map_err(|error| self.refused(&error))?;
            let held = before.into_iter().zip(prolonged).filter(|(_, prolonged)| prolonged.is_ok());
            let held: Vec<Delivery> = held.map(|(delivery, _)| delivery).collect();
            if !held.is_empty() {
                replays.keep(queue.id(), id, &held, self.now());
                return Ok(held);
            }
        }
        let deliveries = self.receive(queue, request, true).await?;
        replays.keep(queue.id(), id, &deliveries, self.now());
        Ok(deliveries)
    }
}
