//! Claims that go on when their caller goes away: what they take for a receive that is gone is
//! handed back (S2.3).

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::error::Error;
use crate::message::Delivery;
use crate::queue::QueueId;

use super::EngineHandle;
use super::isolated::unanswered;

/// The answer of a claim that is waited for; dropping it hands back what it was just given.
pub(super) struct Claiming<T> {
    engine: Arc<EngineHandle>,
    answer: oneshot::Receiver<Result<T, Error>>,
    messages: fn(T) -> Vec<Delivery>,
}

impl<T> Claiming<T> {
    /// `messages` takes what was claimed out of an answer.
    pub(super) fn new(
        engine: Arc<EngineHandle>,
        answer: oneshot::Receiver<Result<T, Error>>,
        messages: fn(T) -> Vec<Delivery>,
    ) -> Claiming<T> {
        Claiming { engine, answer, messages }
    }

    /// Waits for the answer.
    pub(super) async fn answer(mut self) -> Result<T, Error> {
        (&mut self.answer).await.unwrap_or_else(|_| Err(unanswered()))
    }
}

impl<T> Drop for Claiming<T> {
    fn drop(&mut self) {
        // Closed first: what was not sent by then is handed back by the claim itself.
        self.answer.close();
        if let Ok(Ok(claimed)) = self.answer.try_recv() {
            hand_back(&self.engine, (self.messages)(claimed));
        }
    }
}

/// Gives messages back to their queues, their attempts not counted.
pub(super) fn hand_back(engine: &EngineHandle, list: Vec<Delivery>) {
    let mut by_queue: Vec<(QueueId, Vec<Delivery>)> = Vec::new();
    for delivery in list {
        let of = delivery.receipt.queue;
        match by_queue.iter_mut().find(|(queue, _)| *queue == of) {
            Some((_, list)) => list.push(delivery),
            None => by_queue.push((of, vec![delivery])),
        }
    }
    for (of, list) in by_queue {
        // That of a queue that is gone went with it.
        if let Some(core) = engine.registry.by_id(of) {
            core.receives.hand_back(list);
        }
    }
}
