//! The rows of PostgreSQL's speed table, each in a fresh database of one PostgreSQL.

mod consumers;
mod contenders;
mod crowd;

use self::contenders::{BY_SERVER, PLAIN};
use super::conditions::{self, SKIP_LOCKED};
use super::{Row, Sizes};
use crate::run::condition::Condition;
use crate::run::held::Held;
use crate::run::rounds::ContenderReport;
use crate::targets::Kind;
use crate::workloads::{Settings, Work};

/// Both ways to us, where the target is one for all that is ours.
const OURS: [&str; 2] = ["ours", "ours by SQL"];

/// The contenders of the row `poison`: what is driven, and how many messages fail.
const POISONED: [(&str, Kind, usize); 8] = [
    ("ours", Kind::Postgres, 0),
    ("ours 1", Kind::Postgres, 1),
    ("ours 10", Kind::Postgres, 10),
    ("ours 100", Kind::Postgres, 100),
    (BY_SERVER, Kind::PostgresServer, 0),
    ("ours by server 1", Kind::PostgresServer, 1),
    ("ours by server 10", Kind::PostgresServer, 10),
    ("ours by server 100", Kind::PostgresServer, 100),
];

/// All rows, in the order of the table.
pub(super) fn all() -> Vec<Row> {
    let mut rows = batches();
    rows.extend([transactions(), business(), single(), dead_rows()]);
    rows.extend([held_snapshot(), failing(), poison()]);
    rows.extend([writing_transaction(), writing_transaction_failing()]);
    rows.extend([consumers::sql_consumers(), consumers::idle_consumer()]);
    rows.extend([wake(), many_queues(), idle()]);
    rows.extend(crowd::rows());
    rows
}

fn batches() -> Vec<Row> {
    vec![
        Row {
            name: "batch_send",
            what: "sends in batches of 1,000, 4 callers",
            rounds_max: usize::MAX,
            contenders: |sizes, _| {
                let settings = batch(sizes, Work::Send, 1000);
                // Rows of a raw table are counted in the end; they cannot be received.
                let raw = Settings { drain: false, ..settings.clone() };
                let raw = [
                    contenders::on("insert indexed", Kind::PgInsertIndexed, &raw),
                    contenders::on("insert bare", Kind::PgInsert, &raw),
                    contenders::on("COPY indexed", Kind::PgCopyIndexed, &raw),
                    contenders::on("COPY bare", Kind::PgCopy, &raw),
                ];
                contenders::with(raw, sizes, &settings)
            },
            held: Held::Nothing,
            conditions: |contenders| {
                vec![conditions::times(contenders, "ours", "insert indexed", 1.2)]
            },
        },
        Row {
            name: "batch_cycle",
            what: "send + receive + ack in batches of 1,000, 4 callers",
            rounds_max: usize::MAX,
            contenders: |sizes, _| {
                let settings = batch(sizes, Work::Cycle, 1000);
                contenders::all(sizes, &settings)
            },
            held: Held::Nothing,
            conditions: |contenders| {
                vec![
                    conditions::times(contenders, "ours", SKIP_LOCKED, 8.0),
                    conditions::times_fastest_peer(contenders, "ours", 3.0),
                    conditions::no_dead_rows(contenders, "ours"),
                ]
            },
        },
        Row {
            name: "small_batch_cycle",
            what: "send + receive + ack in batches of 100, 4 callers",
            rounds_max: usize::MAX,
            contenders: |sizes, _| {
                let settings = batch(sizes, Work::Cycle, 100);
                contenders::all(sizes, &settings)
            },
            held: Held::Nothing,
            conditions: |contenders| {
                vec![
                    conditions::times(contenders, "ours", SKIP_LOCKED, 5.0),
                    conditions::no_dead_rows(contenders, "ours"),
                ]
            },
        },
    ]
}

/// 16 connections that each send a message in a transaction of their own.
fn transactions() -> Row {
    Row {
        name: "transaction_send",
        what: "single sends by SQL, a transaction each, 16 connections; beside a plain INSERT",
        rounds_max: usize::MAX,
        contenders: |sizes, _| contenders::in_transactions(&transaction(sizes, Work::Transactions)),
        held: Held::Nothing,
        conditions: |contenders| vec![conditions::times(contenders, "ours by SQL", PLAIN, 0.9)],
    }
}

fn business() -> Row {
    Row {
        name: "business_send",
        what: "as before, inside a transaction that also writes a row of the user's",
        rounds_max: usize::MAX,
        contenders: |sizes, _| contenders::in_transactions(&transaction(sizes, Work::Business)),
        held: Held::Nothing,
        conditions: |contenders| vec![conditions::times(contenders, "ours by SQL", PLAIN, 0.9)],
    }
}

fn single() -> Row {
    Row {
        name: "single_cycle",
        what: "64 callers of single send, receive, ack: one engine, one server; 64 connections",
        rounds_max: usize::MAX,
        contenders: |sizes, _| {
            let callers = if sizes.smoke { 8 } else { 64 };
            let settings = Settings { callers, ..batch(sizes, Work::Cycle, 1) };
            let server = contenders::on(BY_SERVER, Kind::PostgresServer, &settings);
            // The limit of the server's way: as many sockets, and nothing behind them.
            let wire = contenders::on("wire alone", Kind::BeanstalkdMemory, &settings);
            contenders::with([server, wire], sizes, &settings)
        },
        held: Held::Nothing,
        conditions: |contenders| {
            vec![
                conditions::times(contenders, "ours", SKIP_LOCKED, 5.0),
                conditions::times(contenders, BY_SERVER, SKIP_LOCKED, 5.0),
                conditions::no_dead_rows(contenders, "ours"),
            ]
        },
    }
}

fn dead_rows() -> Row {
    Row {
        name: "dead_rows",
        what: "the happy path at 2,000 messages/s: dead rows of all tables",
        rounds_max: 1,
        contenders: |sizes, _| {
            let settings = Settings { windows: 3, ..paced(sizes) };
            contenders::all(sizes, &settings)
        },
        held: Held::Nothing,
        conditions: |contenders| {
            vec![
                conditions::no_dead_rows(contenders, "ours"),
                conditions::no_dead_rows(contenders, "ours by SQL"),
            ]
        },
    }
}

fn held_snapshot() -> Row {
    Row {
        name: "held_snapshot",
        what: "2,000 messages/s while a transaction that only reads stays open",
        rounds_max: 1,
        contenders: |sizes, _| contenders::all(sizes, &paced(sizes)),
        held: Held::Reader,
        conditions: unmoved_without_dead_rows,
    }
}

fn unmoved_without_dead_rows(contenders: &[ContenderReport]) -> Vec<Condition> {
    let of = |name| {
        let mut found = conditions::unmoved(contenders, name);
        found.push(conditions::no_dead_rows_in_windows(contenders, name));
        found
    };
    OURS.into_iter().flat_map(of).collect()
}

fn failing() -> Row {
    Row {
        name: "held_snapshot_failing",
        what: "as before, and one batch in ten fails and comes again 100 ms later",
        contenders: |sizes, _| {
            contenders::without_peers(&Settings { work: Work::Failing, ..paced(sizes) })
        },
        ..held_snapshot()
    }
}

fn poison() -> Row {
    Row {
        name: "poison",
        what: "good messages by tens beside 1, 10 and 100 that are given back at once",
        rounds_max: 5,
        contenders: |sizes, _| {
            let contender = |(name, kind, poisons)| {
                let seconds = sizes.seconds.min(10.0);
                let plain = batch(sizes, Work::Poison, 10);
                contenders::on(name, kind, &Settings { callers: 8, seconds, poisons, ..plain })
            };
            POISONED.into_iter().map(contender).collect()
        },
        held: Held::Nothing,
        conditions: |contenders| {
            let with = POISONED.into_iter().filter(|(.., poisons)| *poisons > 0);
            let of = |(name, kind, _)| {
                let without = if kind == Kind::Postgres { "ours" } else { BY_SERVER };
                conditions::times(contenders, name, without, 0.9)
            };
            with.map(of).collect()
        },
    }
}

fn writing_transaction() -> Row {
    Row {
        name: "writing_transaction",
        what: "2,000 messages/s while a transaction that has written stays open",
        rounds_max: 1,
        contenders: |sizes, _| contenders::without_peers(&paced(sizes)),
        held: Held::Writer,
        conditions: |contenders| {
            let of = |name| {
                let mut found = conditions::unmoved(contenders, name);
                found.push(conditions::retired(contenders, name));
                found
            };
            OURS.into_iter().flat_map(of).collect()
        },
    }
}

fn writing_transaction_failing() -> Row {
    Row {
        name: "writing_transaction_failing",
        what: "as before at 400/s, half of the messages sent with a delay or failed",
        rounds_max: 1,
        contenders: |sizes, _| {
            // The table knows no delays.
            contenders::ours(&Settings { work: Work::Deferred, rate: 400.0, ..paced(sizes) })
        },
        held: Held::Writer,
        conditions: unmoved_without_dead_rows,
    }
}

fn wake() -> Row {
    Row {
        name: "wake",
        what: "from a send to the wake of a waiting receive, nothing else going on",
        rounds_max: 1,
        contenders: |sizes, _| {
            let seconds = if sizes.smoke { 0.5 } else { sizes.seconds.max(60.0) };
            let wake = |work| Settings { seconds, callers: 1, ..batch(sizes, work, 1) };
            contenders::wake(&wake(Work::Wake), &wake(Work::WakeBySql), &wake(Work::Commits))
        },
        held: Held::Nothing,
        conditions: |contenders| {
            vec![
                conditions::wakes_within(contenders, "ours", 5.0),
                conditions::wakes_within(contenders, BY_SERVER, 5.0),
                conditions::wakes_within(contenders, "ours by SQL", 25.0),
            ]
        },
    }
}

fn many_queues() -> Row {
    Row {
        name: "many_queues",
        what: "10 busy queues of 1,000, a caller each, batches of 100",
        rounds_max: 3,
        contenders: |sizes, _| {
            let busy = Settings { callers: 10, queues: 10, ..batch(sizes, Work::Queues, 100) };
            let many = Settings { queues: queues(sizes), ..busy.clone() };
            contenders::queues(&busy, &many)
        },
        held: Held::Nothing,
        conditions: |contenders| vec![conditions::times(contenders, "ours", "ours alone", 0.9)],
    }
}

fn idle() -> Row {
    Row {
        name: "idle",
        what: "1,000 queues, receives waiting on 10 of them, nothing sent",
        rounds_max: 1,
        contenders: |sizes, _| {
            let settings = Settings { queues: queues(sizes), ..idle_settings(sizes) };
            vec![contenders::on("ours", Kind::Postgres, &settings)]
        },
        held: Held::Nothing,
        conditions: |contenders| conditions::costs_nothing(contenders, "ours"),
    }
}

/// Receives that wait on 10 queues.
fn idle_settings(sizes: Sizes) -> Settings {
    let seconds = if sizes.smoke { 0.5 } else { sizes.seconds.max(60.0) };
    Settings { seconds, callers: 10, ..batch(sizes, Work::Idle, 1) }
}

fn transaction(sizes: Sizes, work: Work) -> Settings {
    let callers = if sizes.smoke { 4 } else { 16 };
    Settings { callers, ..batch(sizes, work, 1) }
}

fn queues(sizes: Sizes) -> usize {
    if sizes.smoke { 30 } else { 1000 }
}

fn batch(sizes: Sizes, work: Work, batch: usize) -> Settings {
    Settings {
        callers: 4,
        batch,
        seconds: sizes.seconds,
        warmup: if sizes.smoke { 0.1 } else { (sizes.seconds / 6.0).min(10.0) },
        messages: if sizes.smoke { 200 } else { 10_000 },
        drain: sizes.smoke,
        ..Settings::new(work, Kind::Postgres)
    }
}

/// A fixed rate, with as many windows as [`Sizes`] say.
fn paced(sizes: Sizes) -> Settings {
    let plan = sizes.plan();
    Settings {
        callers: 8,
        batch: 10,
        seconds: plan.seconds,
        warmup: if sizes.smoke { 0.2 } else { 5.0 },
        windows: plan.windows(),
        rate: 2000.0,
        drain: true,
        ..Settings::new(Work::Paced, Kind::Postgres)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_ask_for_what_the_page_says() {
        let asked = |name: &str| {
            let row = all().into_iter().find(|row| row.name == name).unwrap();
            let asked = (row.conditions)(&[]);
            asked.into_iter().map(|condition| condition.target).next().unwrap()
        };
        assert_eq!(asked("batch_send"), "≥ 1.2 × insert indexed");
        assert_eq!(asked("batch_cycle"), "≥ 8 × skip locked");
        assert_eq!(asked("small_batch_cycle"), "≥ 5 × skip locked");
        let held = "≥ 1 × the rate before, less 2 % for counting, ours";
        assert_eq!(asked("held_snapshot"), held);
        assert_eq!(asked("writing_transaction_failing"), held);
    }
}
