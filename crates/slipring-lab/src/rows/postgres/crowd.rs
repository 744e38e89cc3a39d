//! Rows beside a hundred thousand queues of one database. Those of a work come after them, and so
//! share message tables, which each measurement checks.

use super::{batch, contenders};
use crate::rows::conditions::{self, figure, latency};
use crate::rows::{Contender, Row, Sizes};
use crate::run::condition::Condition;
use crate::run::held::Held;
use crate::run::rounds::ContenderReport;
use crate::targets::Kind;
use crate::workloads::{Settings, Work};

/// Busy beside nothing, and beside the others.
const BUSY: [(&str, &str, Kind); 2] =
    [("ours alone", "ours", Kind::Postgres), ("ours by SQL alone", "ours by SQL", Kind::Sql)];
/// Neighbours with tables of their own, and in shared ones.
const NEIGHBOURS: [(&str, &str, Kind); 2] = [
    ("ours by SQL, own tables", "ours by SQL", Kind::Sql),
    ("ours, own tables", "ours", Kind::Postgres),
];
/// A database in which there is not much.
const FEW: &str = "ours among few";
/// To create one more queue.
const CREATE_MS: f64 = 15.0;
/// What a session may hold in memory beyond one of a database with few queues.
const SESSION_MB: f64 = 5.0;
/// The table of locks holds at least so many with the defaults of PostgreSQL, which are 64 for each
/// of 100 connections. The PostgreSQL of the lab takes more connections and so has more.
const LOCKS: f64 = 6400.0;
/// How much slower a neighbour may get.
const SLOWER: f64 = 1.5;

/// How many queues there are besides those of the work.
fn others(sizes: Sizes) -> usize {
    if sizes.smoke { 80 } else { 99_900 }
}

pub(super) fn rows() -> [Row; 4] {
    [busy(), costs(), idle(), neighbours()]
}

fn busy() -> Row {
    Row {
        name: "queues_100k",
        what: "4 callers cycle on a queue by batches of 100, alone and among 100,000 queues",
        rounds_max: 3,
        contenders: |sizes, _| {
            let alone = batch(sizes, Work::Cycle, 100);
            pairs(&BUSY, &alone, others(sizes))
        },
        held: Held::Nothing,
        conditions: |contenders| {
            let of = |(alone, among, _)| conditions::times(contenders, among, alone, 0.9);
            BUSY.into_iter().map(of).collect()
        },
    }
}

fn costs() -> Row {
    Row {
        name: "queues_100k_costs",
        what: "100,000 queues: one more, memory of a session, pg_dump and pg_restore",
        rounds_max: 1,
        contenders: |sizes, _| {
            let queues = if sizes.smoke { 5 } else { 50 };
            let few = Settings { queues, ..batch(sizes, Work::QueueCosts, 1) };
            pairs(&[(FEW, "ours", Kind::Sql)], &few, others(sizes))
        },
        held: Held::Nothing,
        conditions: |contenders| {
            let create_ms = latency(contenders, "ours", "create_queue", |p| p.p50_us) / 1000.0;
            let session = |name| figure(contenders, name, "session_mb");
            let more = session("ours") - session(FEW);
            let locks = figure(contenders, "ours", "dump_locks");
            // A dump or restore that fails makes the row fail.
            vec![
                Condition::at_most("P50 of creating one more", "ms", create_ms, CREATE_MS),
                Condition::at_most("a session's memory beyond few's", "MB", more, SESSION_MB),
                Condition::at_most("locks of pg_dump", "locks", locks, LOCKS),
            ]
        },
    }
}

fn idle() -> Row {
    Row {
        name: "queues_100k_idle",
        what: "receives waiting on 10 queues among 100,000, nothing sent",
        contenders: |sizes, _| {
            let idle = Settings { queues: 10, ..super::idle_settings(sizes) };
            let settings = Settings { others: others(sizes), ..idle };
            vec![contenders::on("ours", Kind::Postgres, &settings)]
        },
        ..super::idle()
    }
}

fn neighbours() -> Row {
    Row {
        name: "queues_100k_neighbours",
        what: "40 single cycles/s while 2 callers storm another queue of the same tables",
        rounds_max: 1,
        contenders: |sizes, _| {
            let seconds = sizes.seconds.min(20.0);
            let plain = batch(sizes, Work::Neighbours, 100);
            let settings = Settings { callers: 2, queues: 1, rate: 40.0, seconds, ..plain };
            // Each turn lasts more than a second: a smoke run has one of the two ways to us.
            let ways = if sizes.smoke { &NEIGHBOURS[..1] } else { &NEIGHBOURS };
            pairs(ways, &settings, others(sizes))
        },
        held: Held::Nothing,
        conditions: |contenders| {
            NEIGHBOURS.into_iter().map(|(_, shared, _)| steady(contenders, shared)).collect()
        },
    }
}

fn steady(contenders: &[ContenderReport], name: &str) -> Condition {
    let slower = figure(contenders, name, "p95_beside_over_alone");
    Condition::at_most(&format!("{name}: P95 beside / alone"), "×", slower, SLOWER)
}

/// The same work in a database of its own, and beside so many others.
fn pairs(
    of: &[(&'static str, &'static str, Kind)],
    settings: &Settings,
    others: usize,
) -> Vec<Contender> {
    let beside = Settings { others, ..settings.clone() };
    let pair = |(alone, among, kind): &(&'static str, &'static str, Kind)| {
        [contenders::on(alone, *kind, settings), contenders::on(among, *kind, &beside)]
    };
    of.iter().flat_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::rows::Table;

    #[test]
    fn each_row_has_what_is_beside_a_hundred_thousand_queues() {
        let full = Sizes::new(Table::Postgres, false);
        for row in rows() {
            let all = (row.contenders)(full, Path::new("x"));
            let beside = |one: &Contender| one.settings.others == 99_900;
            let alone = |one: &Contender| one.settings.others == 0;
            assert!(all.iter().all(|one| beside(one) || alone(one)), "{}", row.name);
            let most = slipring::Limits::default().queues_max;
            let those = |one: &Contender| one.settings.others + one.settings.queues.max(2) <= most;
            assert!(all.iter().all(those), "{}", row.name);
            assert!(all.iter().any(beside), "{}", row.name);
            assert!(all.iter().filter(|one| one.name.ends_with("alone")).all(alone));
        }
    }

    #[test]
    fn what_a_session_holds_is_compared_with_one_among_few() {
        let with = |name: &str, session_mb: f64| {
            let mut contender = ContenderReport::new(name);
            let settings = Settings::new(Work::QueueCosts, Kind::Sql);
            contender.add(
                Default::default(),
                crate::run::rounds::Round {
                    settings,
                    answer: crate::driver::protocol::Answer {
                        figures: [("session_mb".to_owned(), session_mb)].into(),
                        ..Default::default()
                    },
                    waits: vec![],
                    cost: None,
                    windows: vec![],
                },
            );
            contender
        };
        let memory = |mb| (costs().conditions)(&[with(FEW, 9.0), with("ours", mb)]).remove(1);
        assert!(memory(14.0).pass);
        assert!(!memory(14.5).pass, "{:?}", memory(14.5));
    }
}
