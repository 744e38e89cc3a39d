//! Which message of a standard queue comes next, as the model sees it (S7.1, S7.2, S11).

use slipring::MessageId;

use super::naive::Model;

impl Model {
    /// With how many others a message may be handed out, itself counted.
    pub(super) fn company(&self, id: MessageId, up_to: u32) -> usize {
        let message = self.find(id).expect("the model has it");
        let Some(max) = self.settings[message.queue].max_attempts else { return up_to as usize };
        let (tried, left) = (message.attempts, max.saturating_sub(message.attempts));
        match (tried, left) {
            (0, _) => up_to as usize,
            (_, 0 | 1) => 1,
            _ => {
                let halved = up_to as usize / 2_usize.pow(tried.min(30));
                halved.max(2_usize.pow((left - 1).min(30))).min(up_to as usize)
            }
        }
    }

    /// The next of a standard queue's ready messages for a receive that has `got` already.
    pub(super) fn next_of_standard(
        &mut self,
        queue: usize,
        ready: &[MessageId],
        got: usize,
        up_to: u32,
    ) -> Option<MessageId> {
        let message = |id: &MessageId| self.find(*id).expect("the model has it");
        let fits = |id: &MessageId| got < self.company(*id, up_to);
        let tried = |id: &MessageId| message(id).attempts;
        let rank = |id: &MessageId| self.rank(message(id));
        let new = ready.iter().find(|id| tried(id) == 0);
        let again = ready.iter().find(|id| (1..4).contains(&tried(id)));
        let poison = ready.iter().find(|id| tried(id) >= 4);
        let first = match (new, again) {
            (Some(new), Some(again)) if fits(again) && rank(again) < rank(new) => Some(again),
            (None, Some(again)) if fits(again) => Some(again),
            (None, Some(_)) => return None,
            (new, _) => new,
        };
        let left_out = again.filter(|id| !fits(id));
        let passed = left_out.is_some_and(|id| first.is_some_and(|first| rank(id) < rank(first)));
        let waits = poison.filter(|id| first.is_none_or(|first| rank(id).0 <= rank(first).0));
        let turn = self.waited[queue] >= 99 || first.is_none();
        let in_turn = waits.filter(|id| turn && fits(id)).copied();
        let (first, waits) = (first.copied(), waits.is_some());
        if got == 0 {
            let heads = [again.copied(), poison.copied()];
            if let Some(overdue) = self.overdue(queue, heads) {
                return Some(overdue);
            }
        }
        self.left_out[queue] += u32::from(passed);
        if in_turn.is_some() {
            self.waited[queue] = 0;
            return in_turn;
        }
        self.waited[queue] += u32::from(waits && first.is_some());
        first
    }

    /// What too many deliveries went past, the first retried message and the first poison.
    fn overdue(
        &mut self,
        queue: usize,
        [again, poison]: [Option<MessageId>; 2],
    ) -> Option<MessageId> {
        if again.is_some() && self.left_out[queue] >= 100 {
            self.left_out[queue] = 0;
            return again;
        }
        if poison.is_some() && self.waited[queue] >= 199 {
            self.waited[queue] = 0;
            return poison;
        }
        None
    }
}
