//! What is done to one message by its id: it is taken, removed or made ready.
//!
//! A lease that has ended is over at that moment for who asks for its message by id, too (S5.5),
//! though the message becomes free only with the queue's next pass. Who finds it leased waits for
//! that pass, and looks once more.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Retry};
use crate::message::{Delivery, MessageId};
use crate::queue::QueueId;

use super::Engine;
use super::claiming::Claiming;
use super::isolated::isolated;
use super::queue::{Queue, ReceiveRequest};
use super::schedule::Schedule;

/// Whether a message was found leased at `now`, and may not be any more: what was overdue then in
/// its queue has been passed over since.
async fn may_be_free<T>(found: &Result<T, Error>, queue: &Schedule, now: Timestamp) -> bool {
    let leased = found.as_ref().is_err_and(|error| error.kind() == ErrorKind::WrongState);
    if !leased || !queue.overdue(now) {
        return false;
    }
    while !queue.pass_ended(now).await {}
    true
}

impl Queue {
    /// Takes one given message that is not leased, whatever its state.
    ///
    /// # Errors
    /// `MessageGone`, `WrongState` when it is leased, `QueueNotFound` when the queue is deleted,
    /// storage errors.
    pub async fn claim_message(
        &self,
        message: MessageId,
        request: ReceiveRequest,
    ) -> Result<Delivery, Error> {
        self.check_receive(&request, "claim_message")?;
        let (queue, demand) = (self.clone(), request.demand());
        let (slot, answer) = oneshot::channel();
        // A shutdown waits for it.
        let under_way = self.core.receives.under_way();
        let under_way = under_way.map_err(|e| self.named(e, "claim_message"))?;
        // Goes on when the caller goes away: what it takes then is handed back (S2.3).
        self.engine.services.runtime.spawn(async move {
            let _under_way = under_way;
            let (services, core) = (&queue.engine.services, &queue.core);
            let claim = || {
                let now = services.clock.now();
                isolated(services.store.claim_message(core.id, message, demand, now))
            };
            let began = services.clock.now();
            let mut claimed = claim().await;
            if may_be_free(&claimed, &core.schedule, began).await {
                claimed = claim().await;
            }
            match &claimed {
                Ok(delivery) => {
                    core.schedule.expire_at(delivery.deadline);
                    core.counts.received(1);
                }
                // It may be leased all the same; the store knows until when.
                Err(error) if error.retry() == Retry::Unknown => core.schedule.expire_at(began),
                Err(_) => {}
            }
            if let Err(Ok(delivery)) = slot.send(claimed) {
                core.receives.hand_back(vec![delivery]);
            }
        });
        let claiming = Claiming::new(Arc::clone(&self.engine), answer, |delivery| vec![delivery]);
        claiming.answer().await.map_err(|e| self.named(e, "claim_message"))
    }
}

impl Engine {
    /// Removes one message that is not leased (S4.2); answers the queue it was in.
    ///
    /// # Errors
    /// `MessageGone`, `WrongState` when it is leased, storage errors.
    pub async fn cancel(&self, message: MessageId) -> Result<QueueId, Error> {
        let handle = Arc::clone(&self.0);
        let call = async move {
            let (store, clock) = (&handle.services.store, &handle.services.clock);
            let now = clock.now();
            let mut cancelled = store.cancel(message, now).await;
            if cancelled.as_ref().is_err_and(|error| error.kind() == ErrorKind::WrongState)
                && let Some(found) = store.lookup(message, now).await?
                && let Some(core) = handle.registry.by_id(found.queue)
                && may_be_free(&cancelled, &core.schedule, now).await
            {
                cancelled = store.cancel(message, clock.now()).await;
            }
            let queue = cancelled.map_err(|e| e.during("cancel"))?;
            // It may have kept the others of its group back (S7.3).
            let core = handle.registry.by_id(queue);
            if let Some(core) = core.filter(|core| core.info().settings.fifo) {
                core.receives.notify(1);
            }
            Ok(queue)
        };
        self.0.to_the_end(call).await
    }

    /// Makes one parked or delayed message ready; answers the queue it is in.
    ///
    /// # Errors
    /// `MessageGone`, `WrongState` when it is ready or leased, storage errors.
    pub async fn kick_message(&self, message: MessageId) -> Result<QueueId, Error> {
        let handle = Arc::clone(&self.0);
        let call = async move {
            let now = handle.services.clock.now();
            let kicked = handle.services.store.kick_message(message, now).await;
            let queue = kicked.map_err(|e| e.during("kick_message"))?;
            if let Some(core) = handle.registry.by_id(queue) {
                core.receives.notify(1);
            }
            Ok(queue)
        };
        self.0.to_the_end(call).await
    }
}
