//! What is compared between store and model, beside the answers to operations.

use proptest::prelude::{TestCaseError, prop_assert, prop_assert_eq};
use slipring::store::Pass;
use slipring::{Delivery, MessageState as State, QueueStats};

use crate::bench::s;

use super::replay::{Compared, Replay};

impl Replay {
    /// What was handed out; the model hands it out as well.
    pub(super) fn compare_delivery(&mut self, delivery: &Delivery, lease: Option<u64>) -> Compared {
        let (got, receipt) = (&delivery.message, delivery.receipt);
        let before = self.model.find(got.id).and_then(|message| message.fence);
        prop_assert!(Some(receipt.fence) > before, "fences grow");
        let deadline = self.model.hand_out(got.id, lease.map(s), receipt.fence);
        prop_assert_eq!(delivery.deadline, deadline);
        self.receipts.push(receipt);
        let Some(model) = self.model.find(got.id) else {
            return Err(TestCaseError::fail("the model does not have it"));
        };
        prop_assert_eq!(&got.body, &model.sent.body);
        prop_assert_eq!(got.priority, model.sent.priority);
        prop_assert_eq!(got.sent_at, model.sent_at);
        prop_assert_eq!(got.attempts, model.attempts);
        prop_assert_eq!(got.earlier_attempts, model.earlier);
        prop_assert_eq!(got.lease, model.sent.lease);
        prop_assert_eq!(&got.group, &model.sent.group);
        prop_assert_eq!(&got.dedup_id, &model.sent.dedup_id);
        let source = model.source.map(|queue| &self.queues[queue].info.name);
        prop_assert_eq!(got.dead_letter_source.as_ref(), source);
        Ok(())
    }

    /// What a pass over deadlines told; `waiting` is the state that such a pass ends.
    pub(super) fn compare_pass(&self, pass: &Pass, ready: [u64; 2], waiting: State) -> Compared {
        for (nth, queue) in self.queues.iter().enumerate() {
            let told = pass.ready.iter().find(|(id, _)| *id == queue.id);
            let told = told.map_or(0, |(_, count)| *count);
            if self.model.settings[nth].fifo {
                prop_assert!(told >= ready[nth], "{} of {} told", told, ready[nth]);
            } else {
                prop_assert_eq!(told, ready[nth], "ready messages of queue {}", nth);
            }
        }
        let still = self.model.messages.iter().filter(|message| message.state == waiting);
        let next = still.map(|message| message.until).min();
        prop_assert_eq!(pass.next.is_some(), next.is_some(), "{:?} and {:?}", pass.next, next);
        prop_assert!(pass.next <= next, "the next pass would be late");
        Ok(())
    }

    /// The statistics of both queues.
    pub(super) async fn compare_stats(&self) -> Compared {
        for (nth, queue) in self.queues.iter().enumerate() {
            let count = |state| self.model.in_state(nth, state).len() as u64;
            let ready = self.model.in_state(nth, State::Ready);
            let expected = QueueStats {
                ready: count(State::Ready),
                urgent: self.model.urgent(nth),
                delayed: count(State::Delayed),
                leased: count(State::Leased),
                parked: count(State::Parked),
                bytes: self.model.bytes(nth),
                oldest_ready_sent_at: ready.iter().map(|message| message.sent_at).min(),
                set_aside: 0,
            };
            prop_assert_eq!(queue.stats().await, expected, "statistics of queue {}", nth);
        }
        Ok(())
    }

    /// Compares everything that can be looked at.
    pub(super) async fn look(&self) -> Compared {
        for (nth, queue) in self.queues.iter().enumerate() {
            for state in [State::Ready, State::Delayed, State::Leased, State::Parked] {
                let mut seen: Vec<_> = queue.peek_full(Some(state), 1000).await;
                let mut expected = self.model.in_state(nth, state);
                expected.sort_by_key(|message| self.model.rank(message));
                if matches!(state, State::Delayed | State::Leased) {
                    if state == State::Delayed {
                        prop_assert!(seen.is_sorted_by_key(|peeked| peeked.until), "by due time");
                    }
                    seen.sort_by_key(|peeked| (peeked.until, peeked.message.id));
                    expected.sort_by_key(|message| (message.until, message.id));
                }
                let ids: Vec<_> = seen.iter().map(|peeked| peeked.message.id).collect();
                let wanted: Vec<_> = expected.iter().map(|message| message.id).collect();
                prop_assert_eq!(ids, wanted, "{} messages of queue {}", state.name(), nth);
                for (peeked, message) in seen.iter().zip(expected) {
                    let waits = matches!(state, State::Delayed | State::Leased);
                    prop_assert_eq!(peeked.until, waits.then_some(message.until));
                    prop_assert_eq!(peeked.message.attempts, message.attempts);
                    prop_assert_eq!(&peeked.message.body, &message.sent.body);
                    prop_assert_eq!(&peeked.failures, &message.failures);
                }
            }
        }
        for id in &self.sent {
            let seen = self.bench.lookup(*id).await;
            let seen = seen.map(|peeked| (peeked.queue, peeked.state, peeked.failures));
            let model = self.model.find(*id);
            let model = model.map(|m| (self.queues[m.queue].id, m.state, m.failures.clone()));
            prop_assert_eq!(seen, model, "looking up {}", id);
        }
        Ok(())
    }
}
