//! Sending to one queue of the memory store: what fits, what is known already, what is stored.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::clock::Timestamp;
use crate::error::Error;
use crate::lease::Fence;
use crate::lifecycle::{self, Next, State};
use crate::message::{Message, MessageId, NewMessage};
use crate::store::Sent;

use super::dedup;
use super::queue::QueueState;
use super::stored::Stored;

/// What becomes of a message of a unit.
enum Plan {
    Store,
    /// A message stored before has the same deduplication id.
    Seen(MessageId),
    /// So has an earlier message of the same unit: the n-th that is stored.
    Twin(u64),
}

impl QueueState {
    /// Stores a unit whole or not at all; answers for each message.
    pub(super) fn append_unit(
        &mut self,
        unit: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Sent>, Error> {
        let (plans, stored) = self.plan(&unit, now)?;
        let first = self.next_message.fetch_add(stored, Ordering::Relaxed);
        let mut next = first;
        let mut answers = Vec::with_capacity(unit.len());
        for (message, plan) in unit.into_iter().zip(plans) {
            let duplicate = |id| Sent { id, duplicate: true, due: None };
            answers.push(match plan {
                Plan::Seen(id) => duplicate(id),
                Plan::Twin(nth) => duplicate(MessageId(first + nth)),
                Plan::Store => {
                    next += 1;
                    self.store(message, MessageId(next - 1), now)
                }
            });
        }
        Ok(answers)
    }

    /// Decides what a unit does, and checks that it fits; answers how many messages it stores.
    fn plan(&self, unit: &[NewMessage], now: Timestamp) -> Result<(Vec<Plan>, u64), Error> {
        let settings = &self.info.settings;
        let is_there = |id| self.messages.contains_key(&id);
        let mut twins = BTreeMap::new();
        let (mut count, mut bytes) = (0, 0);
        let mut plans = Vec::with_capacity(unit.len());
        for (index, message) in unit.iter().enumerate() {
            if let Some(key) = dedup::key(message, settings) {
                if let Some(id) = self.remembered.first(&key, now, is_there) {
                    plans.push(Plan::Seen(id));
                    continue;
                }
                if let Some(nth) = twins.get(&key) {
                    plans.push(Plan::Twin(*nth));
                    continue;
                }
                twins.insert(key, count);
            }
            count += 1;
            bytes += message.size_bytes();
            plans.push(Plan::Store);
            let total = self.messages.len() as u64 + count;
            for (limit, value, asked) in [
                ("messages_max", settings.messages_max, total),
                ("bytes_max", settings.bytes_max, self.bytes + bytes),
            ] {
                if let Some(value) = value.filter(|value| asked > *value) {
                    let error = Error::limit(limit, value, asked).with("index", index);
                    return Err(error.with("queue", &self.info.name));
                }
            }
        }
        Ok((plans, count))
    }

    fn store(&mut self, new: NewMessage, id: MessageId, now: Timestamp) -> Sent {
        let settings = &self.info.settings;
        if let Some(key) = dedup::key(&new, settings) {
            self.remembered.remember(key, now, now.after(settings.dedup_window), id);
        }
        let (state, due) = match lifecycle::arrival(&new, settings, now) {
            Next::Delayed { until } => (State::Delayed, Some(until)),
            _ => (State::Ready, None),
        };
        let bytes = new.size_bytes();
        let message = Message {
            id,
            body: new.body,
            priority: new.priority,
            sent_at: now,
            attempts: 0,
            earlier_attempts: 0,
            first_received_at: None,
            delay: new.delay.unwrap_or(settings.delay),
            lease: new.lease,
            group: new.group,
            dedup_id: new.dedup_id,
            headers: new.headers,
            dead_letter_source: None,
        };
        let until = due.unwrap_or(now);
        self.insert(Stored { message, state, until, fence: Fence(0), bytes, failures: Vec::new() });
        Sent { id, duplicate: false, due }
    }
}
