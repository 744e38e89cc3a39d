//! The model: a list of messages, and plain loops over it.

use std::collections::BTreeMap;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::Prolong;
use slipring::{
    Backoff, DedupScope, EndedBy, FailedAttempt, Fence, MessageId, MessageState as State,
    NewMessage, Priority, QueueSettings, Reason, Timestamp,
};

/// A message as the model sees it.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) queue: usize,
    pub(super) id: MessageId,
    /// Its place among all messages ever sent.
    pub(super) nth: u64,
    pub(super) sent: NewMessage,
    pub(super) sent_at: Timestamp,
    pub(super) state: State,
    pub(super) until: Timestamp,
    pub(super) attempts: u32,
    /// Deliveries in the queues it was dead-lettered from.
    pub(super) earlier: u32,
    pub(super) fence: Option<Fence>,
    /// The queue it was dead-lettered from.
    pub(super) source: Option<usize>,
    /// What is kept of its failures.
    pub(super) failures: Vec<FailedAttempt>,
}

/// What a settlement does, or the name of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Ready,
    Delayed(Timestamp),
    Parked,
    DeadLettered(usize),
    Gone,
    LeaseLost,
}

/// What a send does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    Stored,
    Duplicate(MessageId),
    Refused,
}

#[derive(Debug)]
pub(super) struct Window {
    pub(super) queue: usize,
    group: Option<String>,
    id: String,
    end: Timestamp,
    first: MessageId,
}

/// Two queues; the second is the dead-letter queue of the first where that has one.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) settings: [QueueSettings; 2],
    pub(super) messages: Vec<Message>,
    pub(super) now: Timestamp,
    pub(super) windows: Vec<Window>,
    pub(super) sent_count: u64,
    /// Deliveries that went past messages of more than three attempts, since the last one of such.
    pub(super) waited: [u32; 2],
    /// Deliveries that went past a retried message that did not fit.
    pub(super) left_out: [u32; 2],
    /// The groups that a receive took from, in the order in which it did: how many messages had
    /// been sent by then, and a number that grows.
    pub(super) served: BTreeMap<(usize, String), (u64, u64)>,
}

impl Model {
    pub(super) fn new(settings: [QueueSettings; 2], now: Timestamp) -> Model {
        Model {
            settings,
            messages: Vec::new(),
            now,
            windows: Vec::new(),
            sent_count: 0,
            waited: [0, 0],
            left_out: [0, 0],
            served: BTreeMap::new(),
        }
    }

    pub(super) fn of(&self, queue: usize) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |message| message.queue == queue)
    }

    pub(super) fn in_state(&self, queue: usize, state: State) -> Vec<&Message> {
        self.of(queue).filter(|message| message.state == state).collect()
    }

    pub(super) fn find(&self, id: MessageId) -> Option<&Message> {
        self.messages.iter().find(|message| message.id == id)
    }

    fn edit(&mut self, id: MessageId) -> &mut Message {
        self.messages.iter_mut().find(|message| message.id == id).expect("the model has it")
    }

    /// Priority and order of sending: what hand-out goes by.
    pub(super) fn rank(&self, message: &Message) -> (u32, u64) {
        let fifo = self.settings[message.queue].fifo;
        (if fifo { 0 } else { message.sent.priority.0 }, message.nth)
    }

    /// Sends one unit. `first` is the number that the first stored message got.
    pub(super) fn append(
        &mut self,
        queue: usize,
        unit: &[NewMessage],
        numbers: &mut dyn FnMut(usize) -> MessageId,
    ) -> Vec<Arrival> {
        let before = (self.messages.len(), self.windows.len());
        let mut answers = Vec::new();
        for (index, new) in unit.iter().enumerate() {
            let settings = self.settings[queue].clone();
            let key = self.window_key(queue, new);
            let open = self.windows.iter().find(|window| {
                window.queue == queue
                    && Some((window.group.clone(), window.id.clone())) == key
                    && self.now < window.end
            });
            if let Some(window) = open {
                answers.push(Arrival::Duplicate(window.first));
                continue;
            }
            let count = self.of(queue).count() as u64 + 1;
            let bytes = self.bytes(queue) + new.size_bytes();
            if settings.messages_max.is_some_and(|max| count > max)
                || settings.bytes_max.is_some_and(|max| bytes > max)
            {
                self.messages.truncate(before.0);
                self.windows.truncate(before.1);
                return vec![Arrival::Refused; unit.len()];
            }
            let id = numbers(index);
            if let Some((group, text)) = key {
                let end = self.now.after(settings.dedup_window);
                self.windows.push(Window { queue, group, id: text, end, first: id });
            }
            let delay = new.delay.unwrap_or(settings.delay);
            self.sent_count += 1;
            self.messages.push(Message {
                queue,
                id,
                nth: self.sent_count,
                sent: new.clone(),
                sent_at: self.now,
                state: if delay.is_zero() { State::Ready } else { State::Delayed },
                until: self.now.after(delay),
                attempts: 0,
                earlier: 0,
                fence: None,
                source: None,
                failures: Vec::new(),
            });
            answers.push(Arrival::Stored);
        }
        answers
    }

    fn window_key(&self, queue: usize, new: &NewMessage) -> Option<(Option<String>, String)> {
        let group = match self.settings[queue].dedup_scope {
            DedupScope::Queue => None,
            DedupScope::Group => Some(new.group.as_deref().unwrap_or("").to_owned()),
        };
        Some((group, new.dedup_id.as_deref()?.to_owned()))
    }

    pub(super) fn bytes(&self, queue: usize) -> u64 {
        self.of(queue).map(|message| message.sent.size_bytes()).sum()
    }

    /// What receives may get, in order.
    pub(super) fn claimable(&self, queue: usize) -> Vec<MessageId> {
        let settings = &self.settings[queue];
        if settings.paused {
            return Vec::new();
        }
        if settings.fifo {
            return self.line(queue).into_iter().flatten().collect();
        }
        let mut ready = self.in_state(queue, State::Ready);
        ready.sort_by_key(|message| self.rank(message));
        ready.iter().map(|message| message.id).collect()
    }

    pub(super) fn room(&self, queue: usize) -> usize {
        let leased = self.in_state(queue, State::Leased).len();
        (self.settings[queue].in_flight_max as usize).saturating_sub(leased)
    }

    /// What one receive gets.
    pub(super) fn choose(&mut self, queue: usize, up_to: u32) -> Vec<MessageId> {
        if self.settings[queue].fifo && !self.settings[queue].paused {
            return self.choose_in_line(queue, up_to as usize);
        }
        let mut together = (up_to as usize).min(self.room(queue));
        let mut ready = self.claimable(queue);
        let mut chosen = Vec::new();
        while chosen.len() < together {
            let next = self.next_of_standard(queue, &ready, chosen.len(), up_to);
            let Some(id) = next else { break };
            together = together.min(self.company(id, up_to));
            ready.retain(|other| *other != id);
            chosen.push(id);
        }
        chosen
    }

    /// Leases a message; answers the deadline.
    pub(super) fn hand_out(
        &mut self,
        id: MessageId,
        lease: Option<Duration>,
        fence: Fence,
    ) -> Timestamp {
        let now = self.now;
        let queue = self.find(id).expect("the model has it").queue;
        let default = self.settings[queue].visibility_timeout;
        let message = self.edit(id);
        message.until = now.after(lease.or(message.sent.lease).unwrap_or(default));
        message.state = State::Leased;
        message.attempts += 1;
        message.fence = Some(fence);
        message.until
    }

    /// Whether the receipt is of the newest hand-out, and whether its lease is valid.
    fn standing(&self, queue: usize, id: MessageId, fence: Fence) -> Result<bool, Outcome> {
        let message =
            self.find(id).filter(|message| message.queue == queue).ok_or(Outcome::Gone)?;
        if message.fence != Some(fence) {
            return Err(Outcome::LeaseLost);
        }
        Ok(message.state == State::Leased && self.now < message.until)
    }

    pub(super) fn settle(
        &mut self,
        queue: usize,
        id: MessageId,
        fence: Fence,
        how: &Settlement,
    ) -> Outcome {
        match self.standing(queue, id, fence) {
            Err(outcome) => return outcome,
            Ok(valid) if *how == Settlement::Ack && (valid || !self.settings[queue].fifo) => {
                self.messages.retain(|message| message.id != id);
                return Outcome::Done;
            }
            Ok(false) => return Outcome::LeaseLost,
            Ok(true) => {}
        }
        if let Settlement::Nack { priority, .. } | Settlement::Park { priority } = how {
            let message = self.edit(id);
            message.sent.priority = priority.unwrap_or(message.sent.priority);
        }
        if let Some(ended_by) = EndedBy::settlement(how) {
            self.keep(id, ended_by, how.reason());
        }
        match how {
            Settlement::Ack => Outcome::Done,
            Settlement::HandBack => {
                self.edit(id).attempts -= 1;
                self.set(id, State::Ready)
            }
            Settlement::Park { .. } => self.set(id, State::Parked),
            Settlement::DeadLetter { .. } => self.give_up(id),
            Settlement::Nack { .. } if self.on_last_try(id) => self.give_up(id),
            Settlement::Nack { delay, .. } => {
                let backoff = match self.settings[queue].backoff {
                    Backoff::Fixed { delay } => delay,
                    _ => Duration::ZERO,
                };
                let delay = delay.unwrap_or(backoff);
                if delay.is_zero() {
                    return self.set(id, State::Ready);
                }
                let until = self.now.after(delay);
                self.edit(id).until = until;
                self.set(id, State::Delayed);
                Outcome::Delayed(until)
            }
        }
    }

    /// Keeps how a delivery ended.
    pub(super) fn keep(&mut self, id: MessageId, ended_by: EndedBy, reason: Option<&Reason>) {
        let at = self.now;
        let message = self.edit(id);
        let (attempt, reason) = (message.attempts, reason.cloned());
        if reason.is_none() && message.failures.is_empty() {
            return;
        }
        message.failures.push(FailedAttempt { attempt, at, ended_by, reason });
        if message.failures.len() > 5 {
            message.failures.remove(0);
        }
    }

    /// Whether a failure of this delivery is the last.
    pub(super) fn on_last_try(&self, id: MessageId) -> bool {
        self.find(id).is_some_and(|message| {
            self.settings[message.queue].max_attempts.is_some_and(|max| message.attempts >= max)
        })
    }

    pub(super) fn set(&mut self, id: MessageId, state: State) -> Outcome {
        self.edit(id).state = state;
        if state == State::Parked { Outcome::Parked } else { Outcome::Ready }
    }

    pub(super) fn give_up(&mut self, id: MessageId) -> Outcome {
        let queue = self.find(id).expect("the model has it").queue;
        if self.settings[queue].dead_letter.is_none() {
            return self.set(id, State::Parked);
        }
        self.send_over(id, 1, Some(queue));
        Outcome::DeadLettered(1)
    }

    pub(super) fn send_over(&mut self, id: MessageId, queue: usize, source: Option<usize>) {
        let message = self.edit(id);
        message.earlier = if source.is_some() { message.earlier + message.attempts } else { 0 };
        (message.queue, message.source) = (queue, source);
        (message.state, message.attempts) = (State::Ready, 0);
    }

    pub(super) fn extend(
        &mut self,
        queue: usize,
        id: MessageId,
        fence: Fence,
        Prolong { lease, take_up }: Prolong,
    ) -> Result<Timestamp, Outcome> {
        let valid = self.standing(queue, id, fence)?;
        let (now, default) = (self.now, self.settings[queue].visibility_timeout);
        let fifo = self.settings[queue].fifo;
        let message = self.edit(id);
        let free = matches!(message.state, State::Ready | State::Leased) && message.attempts > 0;
        let taken_up = take_up && free && !fifo;
        if !valid && !taken_up {
            return Err(Outcome::LeaseLost);
        }
        message.state = State::Leased;
        message.until = now.after(lease.or(message.sent.lease).unwrap_or(default));
        Ok(message.until)
    }

    pub(super) fn urgent(&self, queue: usize) -> u64 {
        let ready = self.in_state(queue, State::Ready);
        let urgent = ready.iter().filter(|message| message.sent.priority < Priority(1024));
        urgent.count() as u64
    }
}
