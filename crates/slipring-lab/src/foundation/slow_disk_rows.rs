//! The rows of one message and of many on a disk that takes its time.

use super::rows::{
    BY_WIRE, MANY_CALLERS, ONE_CALLER, Row, Side, as_fast_to_and_fro, ours, raw, to_and_fro,
};
use super::verdict::times;
use crate::targets::Kind;
use crate::workloads::Shape;

/// What a flush takes here at least.
const FLUSH_US: u64 = 500;

/// The rows of a slow disk.
pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "one_by_one_slow_disk",
            what: "one caller, one message at a time, flushes of 500 µs",
            rounds_max: usize::MAX,
            sides: |sizes, _| {
                vec![ours(sizes, Shape::Send, 1, 1), raw(sizes, 1)].into_iter().map(slow).collect()
            },
            conditions: |sides| vec![times(sides, "ours", "raw", ONE_CALLER)],
        },
        Row {
            name: "single_send_slow_disk",
            what: "1,000 concurrent callers sending single messages, flushes of 500 µs",
            rounds_max: usize::MAX,
            sides: |sizes, _| {
                let sides = [ours(sizes, Shape::Send, 1000, 1), raw(sizes, 1000)];
                sides.into_iter().map(slow).collect()
            },
            conditions: |sides| vec![times(sides, "ours", "raw", MANY_CALLERS)],
        },
        Row {
            name: "ping_pong_slow_disk",
            what: "one message to and fro by the beanstalkd wire, flushes of 500 µs",
            rounds_max: usize::MAX,
            sides: |sizes, _| {
                let sides = [
                    to_and_fro(sizes, BY_WIRE, Kind::SlipringBeanstalkd),
                    to_and_fro(sizes, "peer", Kind::Beanstalkd),
                ];
                sides.into_iter().map(slow).collect()
            },
            conditions: |sides| vec![as_fast_to_and_fro(sides)],
        },
    ]
}

/// The same side on a slow disk.
fn slow(mut side: Side) -> Side {
    side.settings.flush_us = FLUSH_US;
    side
}
