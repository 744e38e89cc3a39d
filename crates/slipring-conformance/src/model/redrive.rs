//! Redrives of a sequence: of everything, and of chosen messages.

use proptest::prelude::*;
use slipring::{ChosenMove, ErrorKind, MessageId, MessageState as State, MoveRequest};

use super::replay::{Compared, Replay, kind};

impl Replay {
    pub(super) async fn redrive(&mut self) -> Compared {
        let mut total = 0;
        loop {
            let request = MoveRequest { source: self.queues[1].id, target: None, limit: 3 };
            let store = self.bench.store();
            let moved = store.move_messages(request, self.bench.now()).await;
            let moved = moved.map_err(|error| TestCaseError::fail(error.to_string()))?;
            if moved.is_empty() {
                break;
            }
            total += moved.iter().map(|(_, count)| count).sum::<u64>();
        }
        prop_assert_eq!(total, self.model.redrive());
        Ok(())
    }

    /// Moves messages out of the second queue, to the first or each back.
    pub(super) async fn move_chosen(&mut self, messages: &[usize], back: bool) -> Compared {
        let messages: Vec<MessageId> = messages.iter().filter_map(|at| self.back(*at)).collect();
        let target = (!back).then_some(self.queues[0].id);
        let request = ChosenMove { source: self.queues[1].id, target, messages };
        let answers = self.bench.store().move_chosen(&request, self.bench.now()).await;
        let answers = answers.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(answers.len(), request.messages.len());
        for (id, answer) in request.messages.into_iter().zip(answers) {
            let seen = self.model.find(id).map(|m| (m.queue, m.state, m.source));
            let refusal = match seen {
                Some((1, State::Leased | State::Delayed, _)) => Some(ErrorKind::WrongState),
                Some((1, _, None)) if back => Some(ErrorKind::QueueNotFound),
                Some((1, ..)) => None,
                _ => Some(ErrorKind::MessageGone),
            };
            prop_assert_eq!(kind(&answer), refusal);
            if refusal.is_none() {
                prop_assert_eq!(answer.ok(), Some(self.queues[0].id));
                self.model.send_over(id, 0, None);
            }
        }
        Ok(())
    }
}
