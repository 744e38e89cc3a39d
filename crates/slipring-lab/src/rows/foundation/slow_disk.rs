//! The rows of one message and of many on a disk that takes its time.

use super::{BY_WIRE, MANY_CALLERS, ONE_CALLER, as_fast_to_and_fro, ours, raw, to_and_fro};
use crate::rows::conditions::times;
use crate::rows::{Contender, Row};
use crate::run::held::Held;
use crate::targets::Kind;
use crate::workloads::Work;

/// What a flush takes here at least.
const FLUSH_US: u64 = 500;

/// The rows of a slow disk.
pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "one_by_one_slow_disk",
            what: "one caller, one message at a time, flushes of 500 µs",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                vec![ours(sizes, Work::Send, 1, 1), raw(sizes, 1)].into_iter().map(slow).collect()
            },
            conditions: |contenders| vec![times(contenders, "ours", "raw", ONE_CALLER)],
        },
        Row {
            name: "single_send_slow_disk",
            what: "1,000 concurrent callers sending single messages, flushes of 500 µs",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                let contenders = [ours(sizes, Work::Send, 1000, 1), raw(sizes, 1000)];
                contenders.into_iter().map(slow).collect()
            },
            conditions: |contenders| vec![times(contenders, "ours", "raw", MANY_CALLERS)],
        },
        Row {
            name: "ping_pong_slow_disk",
            what: "one message to and fro by the beanstalkd wire, flushes of 500 µs",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                let contenders = [
                    to_and_fro(sizes, BY_WIRE, Kind::SlipringBeanstalkd),
                    to_and_fro(sizes, "peer", Kind::Beanstalkd),
                ];
                contenders.into_iter().map(slow).collect()
            },
            conditions: |contenders| vec![as_fast_to_and_fro(contenders)],
        },
    ]
}

/// The same contender on a slow disk.
fn slow(mut contender: Contender) -> Contender {
    contender.settings.flush_us = FLUSH_US;
    contender
}
