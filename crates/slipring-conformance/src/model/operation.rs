//! What random sequences are made of.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use slipring::lifecycle::Settlement;
use slipring::{NewMessage, Priority, Reason};

use crate::bench::{m, s};

/// One step. Numbers that name a message or receipt count back from the newest, around the end.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Append { queue: usize, units: Vec<Vec<Spec>> },
    Claim { queue: usize, demands: Vec<(u32, Option<u64>)> },
    ClaimMessage { message: usize },
    Settle { entries: Vec<(usize, Settlement)> },
    Extend { entries: Vec<(usize, Option<u64>, bool)> },
    Advance { seconds: u64 },
    Due,
    Expire,
    Prune,
    Cancel { message: usize },
    KickMessage { message: usize },
    Kick { queue: usize, limit: u32 },
    Purge { queue: usize },
    Redrive,
    MoveChosen { messages: Vec<usize>, back: bool },
    Pause { paused: bool },
    Reopen,
    Look,
}

/// A message to send.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    bytes: usize,
    priority: u32,
    delay: Option<u64>,
    lease: Option<u64>,
    group: Option<u8>,
    dedup: Option<u8>,
}

impl Spec {
    /// The message; its body begins with `number`, so that bodies differ.
    pub(super) fn message(&self, number: usize) -> NewMessage {
        let mut message = m(&format!("{number:<width$}", width = self.bytes));
        message.priority = Priority(self.priority);
        message.delay = self.delay.map(s);
        message.lease = self.lease.map(s);
        message.group = self.group.map(|group| format!("g{group}").into());
        message.dedup_id = self.dedup.map(|id| format!("d{id}").into());
        message
    }
}

/// A sequence of steps.
pub(super) fn sequence() -> impl Strategy<Value = Vec<Operation>> {
    vec(operation(), 1..70)
}

fn operation() -> impl Strategy<Value = Operation> {
    let queue = || prop_oneof![9 => Just(0_usize), 1 => Just(1)];
    let units = vec(vec(spec(), 1..5), 1..4);
    let demands = vec((1..7_u32, option::weighted(0.3, 0..40_u64)), 1..4);
    let entries = vec((back(), settlement()), 1..6);
    let extensions = vec((back(), option::of(0..60_u64), any::<bool>()), 1..4);
    prop_oneof![
        14 => (queue(), units).prop_map(|(queue, units)| Operation::Append { queue, units }),
        16 => (queue(), demands).prop_map(|(queue, demands)| Operation::Claim { queue, demands }),
        2 => back().prop_map(|message| Operation::ClaimMessage { message }),
        18 => entries.prop_map(|entries| Operation::Settle { entries }),
        5 => extensions.prop_map(|entries| Operation::Extend { entries }),
        8 => seconds().prop_map(|seconds| Operation::Advance { seconds }),
        5 => Just(Operation::Due),
        5 => Just(Operation::Expire),
        2 => Just(Operation::Prune),
        2 => back().prop_map(|message| Operation::Cancel { message }),
        2 => back().prop_map(|message| Operation::KickMessage { message }),
        2 => (queue(), 1..5_u32).prop_map(|(queue, limit)| Operation::Kick { queue, limit }),
        1 => queue().prop_map(|queue| Operation::Purge { queue }),
        2 => Just(Operation::Redrive),
        2 => (vec(back(), 1..5), any::<bool>())
            .prop_map(|(messages, back)| Operation::MoveChosen { messages, back }),
        1 => any::<bool>().prop_map(|paused| Operation::Pause { paused }),
        2 => Just(Operation::Reopen),
        3 => Just(Operation::Look),
    ]
}

fn spec() -> impl Strategy<Value = Spec> {
    let delay = prop_oneof![6 => Just(None), 1 => Just(Some(0)), 3 => (1..20_u64).prop_map(Some)];
    let lease = option::weighted(0.2, 1..50_u64);
    let (group, dedup) = (option::weighted(0.8, 0..3_u8), option::weighted(0.3, 0..6_u8));
    (1..20_usize, 1022..1026_u32, delay, lease, group, dedup).prop_map(
        |(bytes, priority, delay, lease, group, dedup)| Spec {
            bytes,
            priority,
            delay,
            lease,
            group,
            dedup,
        },
    )
}

fn settlement() -> impl Strategy<Value = Settlement> {
    let delay = || option::of(prop_oneof![1 => Just(0), 2 => 1..15_u64]);
    let priority = || option::weighted(0.2, (1022..1026_u32).prop_map(Priority));
    prop_oneof![
        6 => Just(Settlement::Ack),
        6 => (delay(), priority(), reason()).prop_map(|(delay, priority, reason)| {
            Settlement::Nack { delay: delay.map(s), priority, reason }
        }),
        2 => Just(Settlement::HandBack),
        2 => priority().prop_map(|priority| Settlement::Park { priority }),
        1 => reason().prop_map(|reason| Settlement::DeadLetter { reason }),
    ]
}

fn reason() -> impl Strategy<Value = Option<Reason>> {
    option::weighted(0.3, "[a-zü\\PC]{0,9}".prop_map(|text| Reason::new(&text)))
}

/// How far back from the newest: mostly not far.
fn back() -> impl Strategy<Value = usize> {
    prop_oneof![5 => 0..8_usize, 1 => 0..80_usize]
}

fn seconds() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..10_u64, 3 => 10..35_u64, 1 => 35..120_u64]
}
