//! Our server beside others that speak the SQS protocol.

use crate::rows::conditions::{latency, rate, times};
use crate::rows::{Contender, Row, Sizes};
use crate::run::condition::Condition;
use crate::run::held::Held;
use crate::run::rounds::ContenderReport;
use crate::stats::Percentiles;
use crate::targets::Kind;
use crate::workloads::{Settings, Work};

const OURS: &str = "ours";
const IN_MEMORY: &str = "ours memory";
const MOTO: &str = "moto";
const ELASTICMQ: &str = "elasticmq";
const ELASTICMQ_FILE: &str = "elasticmq file";

/// Who speaks the protocol.
const SPEAKERS: [(&str, Kind); 5] = [
    (OURS, Kind::SlipringSqs),
    (IN_MEMORY, Kind::SlipringSqsMemory),
    (MOTO, Kind::Moto),
    (ELASTICMQ, Kind::Elasticmq),
    (ELASTICMQ_FILE, Kind::ElasticmqFile),
];

/// Ours, and the peer that it is compared with. An acknowledged send to the first has survived at
/// least what one to the second has: each of ours that is flushed is above all peers.
const COMPARED: [(&str, &str); 5] = [
    (OURS, MOTO),
    (OURS, ELASTICMQ),
    (OURS, ELASTICMQ_FILE),
    (IN_MEMORY, MOTO),
    (IN_MEMORY, ELASTICMQ),
];

const WARM_UP_SECONDS: f64 = 5.0;
/// A program in Java compiles what it does often. Under load on two cores ElasticMQ becomes several
/// times faster in its first minute.
const JAVA_WARM_UP_SECONDS: f64 = 60.0;
/// A wake comes 1.6 times a second, so they are counted for longer than others.
const WAIT_FACTOR: f64 = 6.0;

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "sqs_cycle",
            what: "SQS wire, batches of 10, 32 connections, send + receive + delete",
            rounds_max: usize::MAX,
            contenders: |sizes, _| all(sizes, Work::Cycle, 32, 10),
            held: Held::Nothing,
            conditions: as_fast,
        },
        Row {
            name: "sqs_single",
            what: "SQS wire, one message a call, 16 connections, send + receive + delete",
            rounds_max: usize::MAX,
            contenders: |sizes, _| all(sizes, Work::Cycle, 16, 1),
            held: Held::Nothing,
            conditions: as_fast,
        },
        Row {
            name: "sqs_wait",
            what: "SQS wire, from a send to the wake of a waiting receive, nothing else going on",
            rounds_max: 1,
            contenders: |sizes, _| {
                let seconds = if sizes.smoke { 0.5 } else { WAIT_FACTOR * sizes.seconds };
                all(Sizes { seconds, ..sizes }, Work::Wake, 1, 1)
            },
            held: Held::Nothing,
            conditions: |contenders| {
                let of = |(ours, peer)| {
                    let median = wakes_as_soon(contenders, ours, peer, "P50", |p| p.p50_us);
                    [median, wakes_as_soon(contenders, ours, peer, "P99", |p| p.p99_us)]
                };
                COMPARED.into_iter().flat_map(of).collect()
            },
        },
    ]
}

/// The same work on all; in a smoke run only on ours.
fn all(sizes: Sizes, work: Work, callers: usize, batch: usize) -> Vec<Contender> {
    let speakers = SPEAKERS.into_iter().filter(|(_, kind)| !sizes.smoke || kind.is_ours());
    let contender = |(name, kind)| {
        let (seconds, plain) = (sizes.seconds, Settings::new(work, kind));
        let warmup = if sizes.smoke { 0.05 } else { warmup(work, kind) };
        Contender { name, settings: Settings { callers, batch, seconds, warmup, ..plain } }
    };
    speakers.map(contender).collect()
}

/// Seconds before the measured time. The few calls of a wake compile nothing however long they go
/// on: such a server is woken as slowly by its users.
fn warmup(work: Work, kind: Kind) -> f64 {
    match kind {
        Kind::Elasticmq | Kind::ElasticmqFile if work != Work::Wake => JAVA_WARM_UP_SECONDS,
        _ => WARM_UP_SECONDS,
    }
}

fn as_fast(contenders: &[ContenderReport]) -> Vec<Condition> {
    let of = |(ours, peer)| match ours {
        OURS => times(contenders, OURS, peer, 1.0),
        _ => {
            let name = format!("{peer}, {ours}");
            Condition::times(rate(contenders, ours), rate(contenders, peer), &name, 1.0)
        }
    };
    COMPARED.into_iter().map(of).collect()
}

/// A waiting receive of ours is woken at least as soon as the peer's.
fn wakes_as_soon(
    contenders: &[ContenderReport],
    ours: &str,
    peer: &str,
    name: &str,
    which: fn(&Percentiles) -> f64,
) -> Condition {
    let ms = |contender| latency(contenders, contender, "wake", which) / 1000.0;
    Condition::at_most(&format!("{name} of {ours}, {peer}'s"), "ms", ms(ours), ms(peer))
}
