//! Rows of consumers by SQL alone, which receive and ack in one transaction.

use super::{batch, contenders};
use crate::rows::conditions::{self, figure, peak};
use crate::rows::{Contender, Row, Sizes};
use crate::run::condition::Condition;
use crate::run::held::Held;
use crate::run::rounds::ContenderReport;
use crate::targets::Kind;
use crate::workloads::{Settings, Work};

/// Messages of a receive, how many the queue is filled with, and the contenders' names: ours, the
/// SKIP LOCKED table, pgmq by read and delete, and by pop, which is both.
const SIZES: [(usize, u64, [&str; 4]); 3] = [
    (1, 300_000, ["ours 1", "skip locked 1", "pgmq 1", "pgmq pop 1"]),
    (100, 1_000_000, ["ours 100", "skip locked 100", "pgmq 100", "pgmq pop 100"]),
    (1000, 2_000_000, ["ours 1000", "skip locked 1000", "pgmq 1000", "pgmq pop 1000"]),
];
/// No idle consumer, one that holds messages of the same queue, one that holds another queue's.
const IDLE: [(&str, Work); 3] = [
    ("none idle", Work::Consumers),
    ("one idle", Work::ConsumersBesideIdle),
    ("one idle elsewhere", Work::ConsumersBesideIdleElsewhere),
];
/// The longest time in which no other consumer may commit.
const STALL_MS: f64 = 500.0;

/// What a target needs to be for batches, and for single messages.
fn factors(batch: usize) -> (f64, f64) {
    if batch == 1 { (1.0, 2.0) } else { (2.0, 3.0) }
}

pub(super) fn sql_consumers() -> Row {
    Row {
        name: "sql_consumers",
        what: "64 consumers by SQL, receive and ack in one transaction, by 1, 100 and 1,000",
        rounds_max: 3,
        contenders: |sizes, _| SIZES.into_iter().flat_map(|size| of_size(sizes, size)).collect(),
        held: Held::Nothing,
        conditions: |contenders| {
            let of = |(batch, _, [ours, table, pgmq @ ..]): (usize, u64, [&str; 4])| {
                let (of_table, of_pgmq) = factors(batch);
                [
                    conditions::times(contenders, ours, table, of_table),
                    conditions::times_fastest(contenders, ours, &pgmq, of_pgmq),
                ]
            };
            SIZES.into_iter().flat_map(of).collect()
        },
    }
}

fn of_size(
    sizes: Sizes,
    (batch, messages, names): (usize, u64, [&'static str; 4]),
) -> Vec<Contender> {
    let settings = consumers(sizes, Work::Consumers, batch, messages);
    let settings = if sizes.smoke { settings } else { Settings { callers: 64, ..settings } };
    let pop = Settings { work: Work::ConsumersPop, ..settings.clone() };
    let ways = [
        (Kind::Sql, &settings),
        (Kind::SkipLocked, &settings),
        (Kind::Pgmq, &settings),
        (Kind::Pgmq, &pop),
    ];
    // A smoke test needs nothing that comes from elsewhere.
    let all = names.into_iter().zip(ways).take(if sizes.smoke { 2 } else { 4 });
    all.map(|(name, (kind, settings))| contenders::on(name, kind, settings)).collect()
}

pub(super) fn idle_consumer() -> Row {
    Row {
        name: "idle_consumer",
        what: "16 consumers by SQL, by tens, beside one that stays in its transaction",
        rounds_max: 5,
        contenders: |sizes, _| {
            let of = |(name, work)| {
                contenders::on(name, Kind::Sql, &consumers(sizes, work, 10, 300_000))
            };
            IDLE.into_iter().map(of).collect()
        },
        held: Held::Nothing,
        conditions: |contenders| {
            let [(without, _), idle @ ..] = IDLE;
            idle.into_iter().flat_map(|(name, _)| beside(contenders, name, without)).collect()
        },
    }
}

fn beside(contenders: &[ContenderReport], name: &str, without: &str) -> [Condition; 2] {
    let stall = peak(contenders, name, "stall_max_ms");
    let before = figure(contenders, without, "stall_max_ms");
    let what = format!("{name}: longest stall ({before:.0} ms without)");
    [
        conditions::times(contenders, name, without, 0.9),
        Condition::at_most(&what, "ms", stall, STALL_MS),
    ]
}

fn consumers(sizes: Sizes, work: Work, of: usize, messages: u64) -> Settings {
    let warmup = if sizes.smoke { 0.05 } else { 2.0 };
    let (callers, messages) = if sizes.smoke { (4, 20_000) } else { (16, messages) };
    Settings { callers, messages, warmup, ..batch(sizes, work, of) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Table;

    #[test]
    fn every_size_is_compared_with_both_others() {
        let all = (sql_consumers().contenders)(
            Sizes::new(Table::Postgres, false),
            std::path::Path::new("x"),
        );
        assert_eq!(all.len(), 12);
        let pops = all.iter().filter(|one| one.settings.work == Work::ConsumersPop);
        assert_eq!(pops.filter(|one| one.settings.target == Kind::Pgmq).count(), 3);
        assert!(all.iter().all(|one| one.settings.callers == 64));
        let asked = (sql_consumers().conditions)(&[]);
        let asked: Vec<&str> = asked.iter().map(|one| one.target.as_str()).collect();
        assert_eq!(asked[..3], ["≥ 1 × skip locked 1", "≥ 2 × pgmq 1", "≥ 2 × skip locked 100"]);
    }

    #[test]
    fn a_stall_that_was_not_measured_is_a_miss() {
        let asked = (idle_consumer().conditions)(&[]);
        assert_eq!(asked.len(), 4);
        assert!(asked.iter().all(|one| !one.pass));
    }
}
