//! The model's passes and bulk operations.

use slipring::{EndedBy, MessageId, MessageState as State};

use super::naive::{Message, Model, Outcome};

impl Model {
    /// Ends delays; answers how many in each queue.
    pub(super) fn due(&mut self) -> [u64; 2] {
        let mut ready = [0, 0];
        for message in &mut self.messages {
            if message.state == State::Delayed && message.until <= self.now {
                message.state = State::Ready;
                ready[message.queue] += 1;
            }
        }
        ready
    }

    /// Ends leases; answers how many became ready in each queue, and how many were parked.
    pub(super) fn expire(&mut self) -> ([u64; 2], u64) {
        let (mut ready, mut parked) = ([0, 0], 0);
        let over = |message: &&Message| message.state == State::Leased && message.until <= self.now;
        let lapsed: Vec<MessageId> = self.messages.iter().filter(over).map(|m| m.id).collect();
        for id in lapsed {
            let queue = self.find(id).expect("the model has it").queue;
            self.keep(id, EndedBy::Lapse, None);
            let last = self.on_last_try(id);
            let outcome = if last { self.give_up(id) } else { self.set(id, State::Ready) };
            ready[queue] += 1;
            match outcome {
                Outcome::DeadLettered(target) => ready[target] += 1,
                Outcome::Parked => parked += 1,
                _ => {}
            }
        }
        (ready, parked)
    }

    /// Removes what is too old; answers how many.
    pub(super) fn prune(&mut self) -> u64 {
        let before = self.messages.len();
        let (settings, now) = (&self.settings, self.now);
        self.messages.retain(|message| {
            let retention = settings[message.queue].retention;
            retention.is_none_or(|retention| message.sent_at.after(retention) > now)
        });
        (before - self.messages.len()) as u64
    }

    /// Kicks up to `limit` parked messages, or delayed ones where none is parked; answers which.
    pub(super) fn kick(&mut self, queue: usize, limit: u32) -> Vec<MessageId> {
        let mut parked = self.in_state(queue, State::Parked);
        parked.sort_by_key(|message| self.rank(message));
        let mut delayed = self.in_state(queue, State::Delayed);
        delayed.sort_by_key(|message| (message.until, message.nth));
        let from = if parked.is_empty() { delayed } else { parked };
        let kicked: Vec<_> = from.iter().take(limit as usize).map(|message| message.id).collect();
        for id in &kicked {
            self.set(*id, State::Ready);
        }
        kicked
    }

    pub(super) fn kick_message(&mut self, id: MessageId) {
        self.set(id, State::Ready);
    }

    pub(super) fn remove(&mut self, id: MessageId) {
        self.messages.retain(|message| message.id != id);
    }

    pub(super) fn purge(&mut self, queue: usize) -> u64 {
        let before = self.messages.len();
        self.messages.retain(|message| message.queue != queue);
        self.windows.retain(|window| window.queue != queue);
        (before - self.messages.len()) as u64
    }

    /// Sends dead letters back to where they came from; answers how many.
    pub(super) fn redrive(&mut self) -> u64 {
        let free = |message: &&Message| matches!(message.state, State::Ready | State::Parked);
        let back =
            self.of(1).filter(free).filter_map(|message| Some((message.id, message.source?)));
        let back: Vec<_> = back.collect();
        for (id, source) in &back {
            self.send_over(*id, *source, None);
        }
        back.len() as u64
    }
}
