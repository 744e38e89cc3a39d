//! How large one store call may be, and entries dealt into calls of that size: a call holds up all
//! others that the store has to run meanwhile (law 6).

use crate::lifecycle::Settlement;
use crate::message::NewMessage;
use crate::store::Capabilities;

/// What costs a store as much as so many messages that are sent or acked at once: a message that
/// leaves the order of its queue is rewritten.
const REWRITE_MESSAGES: u64 = 8;

/// The size of a store call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallSize {
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

impl CallSize {
    /// The largest call that a store wants.
    pub(super) fn most(capabilities: &Capabilities) -> CallSize {
        CallSize {
            messages: u64::from(capabilities.call_messages_max.max(1)),
            bytes: capabilities.call_bytes_max,
        }
    }

    /// Nothing.
    pub(super) const ZERO: CallSize = CallSize { messages: 0, bytes: 0 };

    /// Both together.
    pub(super) fn and(self, other: CallSize) -> CallSize {
        CallSize {
            messages: self.messages.saturating_add(other.messages),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Whether a call of this size may get more.
    pub(super) fn admits(self, so_far: CallSize, more: CallSize) -> bool {
        let both = so_far.and(more);
        so_far.messages == 0 || (both.messages <= self.messages && both.bytes <= self.bytes)
    }

    /// Deals entries into calls of this size, in their order, at least one entry each.
    pub(super) fn deal<T>(self, entries: Vec<T>, size: impl Fn(&T) -> CallSize) -> Vec<Vec<T>> {
        let (mut calls, mut call, mut so_far) = (Vec::new(), Vec::new(), CallSize::ZERO);
        for entry in entries {
            let more = size(&entry);
            if !self.admits(so_far, more) {
                calls.push(std::mem::take(&mut call));
                so_far = CallSize::ZERO;
            }
            so_far = so_far.and(more);
            call.push(entry);
        }
        if !call.is_empty() {
            calls.push(call);
        }
        calls
    }
}

/// The size of a message that is sent.
pub(super) fn of_message(message: &NewMessage) -> CallSize {
    let plain = message.delay.is_none() && message.group.is_none() && message.dedup_id.is_none();
    let messages = if plain { 1 } else { REWRITE_MESSAGES };
    CallSize { messages, bytes: message.size_bytes() }
}

/// The size of a settlement.
pub(super) fn of_settlement(settlement: &Settlement) -> CallSize {
    let messages = if *settlement == Settlement::Ack { 1 } else { REWRITE_MESSAGES };
    CallSize { messages, bytes: reason_bytes(settlement) }
}

/// What the reason of a settlement takes.
pub(super) fn reason_bytes(settlement: &Settlement) -> u64 {
    settlement.reason().map_or(0, |reason| reason.as_str().len() as u64)
}

/// The size of a prolongation.
pub(super) const PROLONGATION: CallSize = CallSize { messages: REWRITE_MESSAGES, bytes: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_dealt_in_order_and_a_large_one_goes_alone() {
        let most = CallSize { messages: 3, bytes: 10 };
        let size = |bytes: &u64| CallSize { messages: 1, bytes: *bytes };
        assert_eq!(most.deal(vec![1, 2, 3, 4], size), [vec![1, 2, 3], vec![4]]);
        assert_eq!(most.deal(vec![5, 6, 99, 1], size), [vec![5], vec![6], vec![99], vec![1]]);
        assert!(most.deal(Vec::new(), size).is_empty());
        let acks = vec![Settlement::Ack, Settlement::HandBack, Settlement::Ack];
        let calls = CallSize { messages: 9, bytes: 0 }.deal(acks, of_settlement);
        assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    }
}
