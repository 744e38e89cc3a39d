//! Redis streams, NATS JetStream and RabbitMQ: servers that are no queue on a database, each as
//! durable as it can be told to be.

use crate::peers::Peer;
use crate::rows::conditions::{rate, times};
use crate::rows::{Contender, Row, Sizes};
use crate::run::condition::Condition;
use crate::run::held::Held;
use crate::run::rounds::ContenderReport;
use crate::targets::Kind;
use crate::workloads::{Settings, Work};

/// Our server as the peers are driven: over sockets, from another process.
const BY_WIRE: &str = "ours by wire";
/// Those whose acks are flushed before they are answered, as ours are.
const ACKS_FLUSHED: &[Peer] = &[Peer::Redis, Peer::Nats];

/// All of them.
pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "classes_send",
            what: "sends in batches of 100, 4 callers",
            rounds_max: usize::MAX,
            contenders: |sizes, _| contenders(sizes, Work::Send, 4, 100),
            held: Held::Nothing,
            conditions: |contenders| as_fast_as(contenders, Peer::CLASSES),
        },
        Row {
            name: "classes_cycle",
            what: "send + receive + ack in batches of 100, 8 callers",
            rounds_max: usize::MAX,
            contenders: |sizes, _| contenders(sizes, Work::Cycle, 8, 100),
            held: Held::Nothing,
            conditions: |contenders| as_fast_as(contenders, ACKS_FLUSHED),
        },
        Row {
            name: "classes_single",
            what: "64 callers of single send, receive, ack",
            rounds_max: usize::MAX,
            contenders: |sizes, _| contenders(sizes, Work::Cycle, 64, 1),
            held: Held::Nothing,
            conditions: |contenders| as_fast_as(contenders, ACKS_FLUSHED),
        },
        Row {
            name: "classes_ping_pong",
            what: "one message to and fro",
            rounds_max: usize::MAX,
            contenders: |sizes, _| contenders(sizes, Work::PingPong, 1, 1),
            held: Held::Nothing,
            conditions: |contenders| as_fast_as(contenders, ACKS_FLUSHED),
        },
    ]
}

/// Ours and the peers with the same work.
fn contenders(sizes: Sizes, work: Work, callers: usize, batch: usize) -> Vec<Contender> {
    let on = |name, target| {
        let (seconds, drain) = (sizes.seconds, sizes.smoke);
        let warmup = if sizes.smoke { 0.05 } else { 1.0 };
        let plain = Settings::new(work, target);
        let settings = Settings { callers, batch, seconds, warmup, drain, ..plain };
        Contender { name, settings }
    };
    let mut contenders = vec![
        on("ours", Kind::Store),
        on(BY_WIRE, Kind::SlipringBeanstalkd),
        on("ours over PostgreSQL", Kind::PostgresServer),
    ];
    // A smoke test needs nothing that comes from elsewhere.
    let peers = if sizes.smoke { &[][..] } else { Peer::CLASSES };
    contenders.extend(peers.iter().map(|peer| on(peer.name(), peer.kind())));
    contenders
}

/// Our server is at least as fast as each of these peers that is there.
fn as_fast_as(contenders: &[ContenderReport], peers: &[Peer]) -> Vec<Condition> {
    let there = peers.iter().filter(|peer| !rate(contenders, peer.name()).is_nan());
    there.map(|peer| times(contenders, BY_WIRE, peer.name(), 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Summary;

    #[test]
    fn a_peer_that_is_absent_asks_for_nothing() {
        let measured = |name: &str, rate: f64| {
            let rate = Summary::of(&[rate]);
            ContenderReport { rate, ..ContenderReport::new(name) }
        };
        let mut contenders = vec![measured(BY_WIRE, 10.0), measured("redis", 11.0)];
        contenders.push(ContenderReport::new("nats"));
        let asked = as_fast_as(&contenders, Peer::CLASSES);
        assert_eq!(asked.len(), 1);
        assert!(!asked[0].pass && asked[0].target.contains("redis"), "{asked:?}");
    }
}
