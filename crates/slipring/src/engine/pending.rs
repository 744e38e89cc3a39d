//! A receive that waits for its answer, seen from its caller.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::receives::{Answer, Receives, Ticket};

/// A receive that is in; dropping it takes it out again and hands back what it was just given
/// (S2.3).
pub(super) struct Pending {
    receives: Arc<Receives>,
    ticket: Ticket,
    answer: oneshot::Receiver<Answer>,
    done: bool,
}

impl Pending {
    pub(super) fn new(
        receives: Arc<Receives>,
        ticket: Ticket,
        answer: oneshot::Receiver<Answer>,
    ) -> Pending {
        Pending { receives, ticket, answer, done: false }
    }

    /// Waits for the answer.
    pub(super) async fn answer(mut self) -> Answer {
        let answer = (&mut self.answer).await;
        self.done = true;
        answer.unwrap_or_else(|_| Err(self.receives.unanswered()))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // After closing, a driver that still holds the slot sees that the messages are not taken;
        // what it put in before is found here. Closed first: who goes back to rest after that is
        // taken out by the next line or was never put there.
        self.answer.close();
        self.receives.leave(self.ticket);
        match self.answer.try_recv() {
            Ok(Ok(list)) if !list.is_empty() => self.receives.hand_back(list),
            _ => {}
        }
    }
}
