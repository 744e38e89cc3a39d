//! The rows of the project's speed table: store in-process, both wires, bad days.

mod bad_days;
mod slow_disk;

use super::conditions::{latency, rate, times};
use super::{Contender, Row, Sizes};
use crate::run::condition::Condition;
use crate::run::held::Held;
use crate::run::rounds::ContenderReport;
use crate::targets::Kind;
use crate::workloads::{Settings, Work};

/// Rows per second of the raw loop where the target for SQS was set, and that target.
const SQS_REFERENCE: (f64, f64) = (900_000.0, 40_000.0);

/// What one caller and a thousand callers reach of the raw loop, at least.
const ONE_CALLER: f64 = 0.85;
const MANY_CALLERS: f64 = 0.4;
/// What a message to and fro takes by wire, at most: so many times what the peer takes.
const TO_AND_FRO: f64 = 1.2;

/// All rows, in the order of the table.
pub(super) fn all() -> Vec<Row> {
    let all = [in_process(), by_wire(), slow_disk::rows(), bad_days::rows(), informative()];
    all.into_iter().flatten().collect()
}

fn in_process() -> Vec<Row> {
    vec![
        Row {
            name: "batch_send",
            what: "store in-process, 4 callers sending batches of 1,000",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                vec![ours(sizes, Work::Send, 4, 1000), raw(sizes, 1000), disk(sizes, 1000)]
            },
            conditions: |contenders| vec![times(contenders, "ours", "raw", 0.6)],
        },
        Row {
            name: "single_send",
            what: "store in-process, 1,000 concurrent callers sending single messages",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| vec![ours(sizes, Work::Send, 1000, 1), raw(sizes, 1000)],
            conditions: |contenders| vec![times(contenders, "ours", "raw", MANY_CALLERS)],
        },
        Row {
            name: "batch_cycle",
            what: "store in-process, 4 callers, full cycle, batches of 1,000",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| vec![ours(sizes, Work::Cycle, 4, 1000), raw(sizes, 1000)],
            conditions: |contenders| vec![times(contenders, "ours", "raw", 0.3)],
        },
        Row {
            name: "one_by_one",
            what: "store in-process, one caller, one message at a time",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                vec![ours(sizes, Work::Send, 1, 1), raw(sizes, 1), disk(sizes, 1)]
            },
            conditions: |contenders| vec![times(contenders, "ours", "raw", ONE_CALLER)],
        },
    ]
}

fn by_wire() -> Vec<Row> {
    vec![
        Row {
            name: "tube_single",
            what: "beanstalkd wire, 64 connections, 1 in flight, put + reserve + delete",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                let contender = |name, kind| cycle(sizes, name, kind, 64, 1);
                vec![
                    contender("ours", Kind::SlipringBeanstalkd),
                    contender("peer", Kind::Beanstalkd),
                ]
            },
            conditions: |contenders| vec![times(contenders, "ours", "peer", 3.0)],
        },
        Row {
            name: "tube_pipelined",
            what: "beanstalkd wire, 8 connections, 100 in flight each",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                let contender = |name, kind| cycle(sizes, name, kind, 8, 100);
                vec![
                    contender("ours", Kind::SlipringBeanstalkd),
                    contender("peer", Kind::Beanstalkd),
                    contender("peer no -b", Kind::BeanstalkdMemory),
                ]
            },
            conditions: |contenders| {
                vec![
                    times(contenders, "ours", "peer", 8.0),
                    times(contenders, "ours", "peer no -b", 1.0),
                ]
            },
        },
        Row {
            name: "ping_pong",
            what: "one message to and fro, in-process and by the beanstalkd wire",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                vec![
                    to_and_fro(sizes, "ours", Kind::Store),
                    to_and_fro(sizes, "memory", Kind::Memory),
                    to_and_fro(sizes, BY_WIRE, Kind::SlipringBeanstalkd),
                    to_and_fro(sizes, "peer", Kind::Beanstalkd),
                ]
            },
            conditions: |contenders| vec![as_fast_to_and_fro(contenders)],
        },
        Row {
            name: "sqs",
            what: "SQS wire, batches of 10, 32 connections, send + receive + delete",
            rounds_max: usize::MAX,
            held: Held::Nothing,
            contenders: |sizes, _| {
                vec![cycle(sizes, "ours", Kind::SlipringSqs, 32, 10), raw(sizes, 1000)]
            },
            conditions: |contenders| {
                let (raw_rate, target) = SQS_REFERENCE;
                let needed = target * rate(contenders, "raw") / raw_rate;
                let text = "40,000/s × raw / 900,000".to_owned();
                vec![Condition::at_least(text, "messages/s", rate(contenders, "ours"), needed)]
            },
        },
    ]
}

fn informative() -> Vec<Row> {
    vec![Row {
        name: "open_loop",
        what: "messages on a schedule, rate sweep (no target)",
        rounds_max: 1,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let scale = if sizes.smoke { 0.1 } else { 1.0 };
            let contender = |name, kind, rate: f64| {
                let (callers, rate) = (64, rate * scale);
                let settings =
                    Settings { callers, rate, batch: 1, ..settings(sizes, Work::OpenLoop, kind) };
                Contender { name, settings }
            };
            vec![
                contender("ours 1,000/s", Kind::Store, 1000.0),
                contender("ours 5,000/s", Kind::Store, 5000.0),
                contender("ours 20,000/s", Kind::Store, 20_000.0),
                contender("wire 1,000/s", Kind::SlipringBeanstalkd, 1000.0),
                contender("wire 5,000/s", Kind::SlipringBeanstalkd, 5000.0),
                contender("peer 1,000/s", Kind::Beanstalkd, 1000.0),
                contender("peer 5,000/s", Kind::Beanstalkd, 5000.0),
            ]
        },
        conditions: |_| Vec::new(),
    }]
}

fn settings(sizes: Sizes, work: Work, kind: Kind) -> Settings {
    let warmup = if sizes.smoke { 0.05 } else { 0.5 };
    Settings { seconds: sizes.seconds, warmup, drain: sizes.smoke, ..Settings::new(work, kind) }
}

fn ours(sizes: Sizes, work: Work, callers: usize, batch: usize) -> Contender {
    let settings = Settings { callers, batch, ..settings(sizes, work, Kind::Store) };
    Contender { name: "ours", settings }
}

fn raw(sizes: Sizes, batch: usize) -> Contender {
    let settings = Settings { callers: 1, batch, ..settings(sizes, Work::Send, Kind::RawSqlite) };
    Contender { name: "raw", settings }
}

/// The contender of a message to and fro that is judged.
const BY_WIRE: &str = "ours by wire";

fn to_and_fro(sizes: Sizes, name: &'static str, kind: Kind) -> Contender {
    let plain = settings(sizes, Work::PingPong, kind);
    Contender { name, settings: Settings { callers: 1, batch: 1, ..plain } }
}

/// Half of the messages by wire come back as soon as the peer's.
fn as_fast_to_and_fro(contenders: &[ContenderReport]) -> Condition {
    let median = |contender| latency(contenders, contender, "round_trip", |p| p.p50_us);
    let text = format!("P50 by wire, {TO_AND_FRO} × peer");
    Condition::at_most(&text, "µs", median(BY_WIRE), TO_AND_FRO * median("peer"))
}

fn disk(sizes: Sizes, batch: usize) -> Contender {
    let plain = settings(sizes, Work::Send, Kind::RawFile);
    Contender { name: "disk", settings: Settings { callers: 1, batch, drain: false, ..plain } }
}

fn cycle(sizes: Sizes, name: &'static str, kind: Kind, callers: usize, batch: usize) -> Contender {
    Contender { name, settings: Settings { callers, batch, ..settings(sizes, Work::Cycle, kind) } }
}
