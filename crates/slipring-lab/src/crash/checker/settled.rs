//! What a settlement tells of its message: whether it may be gone, and what came after it.

use super::CLOCK_STEP_NS;
use super::facts::{HandOut, Message, Settlement};
use crate::crash::history::Kind;

impl Message {
    /// Since when it may be in its queue.
    pub fn since(&self) -> u64 {
        self.sends.first().map_or(0, |send| send.span.begin)
    }

    /// Whether an ack that was not refused may have taken it for good. One that was cut has not
    /// when a hand-out began after it could have had its effect.
    pub fn may_be_acked(&self) -> bool {
        self.settlements.iter().any(|ack| {
            ack.nack_delay_ms.is_none()
                && ack.kind != Kind::Fail
                && !self.hand_outs.iter().any(|h| h.is_after(ack))
                && !self.is_stale(ack)
        })
    }

    /// Whether an ack surely came too late and did nothing, though it was answered with success:
    /// its message had been handed out again before (S3.4), by its queue or as a dead letter, which
    /// is in its queue no more (S6.3).
    fn is_stale(&self, ack: &Settlement) -> bool {
        let own = self.hand_outs.iter().find(|h| h.receipt == ack.receipt);
        own.filter(|_| !ack.strict).is_some_and(|own| {
            self.hand_outs.iter().any(|other| {
                other.forgotten.is_none()
                    && other.span.begin > own.span.end
                    && other.span.end < ack.span.begin
            })
        })
    }
}

impl HandOut {
    /// Whether it came after the settlement of another hand-out had its effect, if it had any. A
    /// receive that was under way then came after it when its own lease was still valid at the end
    /// of the settlement: had it come before, the settlement would have been refused, or without
    /// effect.
    pub fn is_after(&self, settlement: &Settlement) -> bool {
        let under_way = self.span.end > settlement.span.begin
            && self.valid_until > settlement.taken_by.saturating_add(CLOCK_STEP_NS);
        self.receipt != settlement.receipt && (self.span.begin > settlement.taken_by || under_way)
    }
}
