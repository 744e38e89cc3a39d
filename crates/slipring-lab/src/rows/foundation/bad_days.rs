//! The rows of the bad days: a backlog, many waiters, and one participant beside the others.

use super::{cycle, ours, settings};
use crate::rows::conditions::{figure, latency, peak, rate, times};
use crate::rows::{Contender, Row};
use crate::run::condition::Condition;
use crate::run::held::Held;
use crate::targets::Kind;
use crate::workloads::{Settings, Work};

/// The rows of what one participant does to the others.
pub(super) fn rows() -> Vec<Row> {
    vec![
        backlog(),
        waiters(),
        neighbours(),
        several_tubes(),
        storm(),
        purge_beside(),
        connection_end_beside(),
        retention_beside(),
        poison(),
    ]
}

fn backlog() -> Row {
    Row {
        name: "backlog",
        what: "10 million messages in the backlog, cycles of 4 × 1,000",
        rounds_max: 3,
        held: Held::Nothing,
        contenders: |sizes, folder| {
            let mut full = ours(sizes, Work::Backlog, 4, 1000);
            full.settings.messages = sizes.backlog;
            // Only a first and last round may be drained; the backlog is to stay.
            full.settings.drain = sizes.smoke && sizes.rounds == 1;
            full.settings.folder = Some(folder.join("backlog"));
            let mut empty = ours(sizes, Work::Cycle, 4, 1000);
            empty.name = "empty";
            vec![full, empty]
        },
        conditions: |contenders| {
            vec![
                times(contenders, "ours", "empty", 0.8),
                Condition::at_most(
                    "resident peak",
                    "MB",
                    peak(contenders, "ours", "resident_peak_mb"),
                    300.0,
                ),
            ]
        },
    }
}

fn waiters() -> Row {
    Row {
        name: "waiters",
        what: "10,000 waiting receives over 1,000 queues, in-process",
        rounds_max: 3,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let (waiters, queues) = if sizes.smoke { (200, 20) } else { (10_000, 1000) };
            let mut many = ours(sizes, Work::Waiters, waiters, 1);
            many.settings.queues = queues;
            many.settings.rate = 200.0;
            many.settings.seconds = sizes.seconds.max(if sizes.smoke { 0.2 } else { 3.0 });
            let mut one = Contender { name: "one waiter", settings: many.settings.clone() };
            (one.settings.callers, one.settings.queues) = (1, 1);
            vec![many, one]
        },
        conditions: |contenders| {
            let p95 = |contender| latency(contenders, contender, "wake", |p| p.p95_us);
            let idle = peak(contenders, "ours", "idle_cpu_percent");
            vec![
                Condition::at_most(
                    "resident",
                    "MB",
                    peak(contenders, "ours", "resident_peak_mb"),
                    250.0,
                ),
                Condition::at_most(
                    "P95 send to wake, 2 × one waiter",
                    "µs",
                    p95("ours"),
                    2.0 * p95("one waiter"),
                ),
                Condition::at_most("idle CPU", "%", idle, 2.0),
            ]
        },
    }
}

/// Busy queues beside a quiet one.
struct Neighbours {
    name: &'static str,
    queues: usize,
    callers: usize,
    /// Of all bodies.
    bytes: usize,
    /// Messages of the quiet queue in a second: less than half of an equal share, or it would not
    /// be a quiet one.
    rate: f64,
    /// The time is so many times as long, so that there are messages enough.
    seconds_times: f64,
    /// At most so many times alone.
    times_max: f64,
}

const fn small(name: &'static str, queues: usize) -> Neighbours {
    let (rate, seconds_times) = (100.0, 1.0);
    Neighbours { name, queues, callers: 128, bytes: 100, rate, seconds_times, times_max: 2.0 }
}

const fn large(name: &'static str, queues: usize, rate: f64, seconds_times: f64) -> Neighbours {
    let bytes = 1_000_000;
    Neighbours { name, queues, callers: 64, bytes, rate, seconds_times, times_max: 4.0 }
}

const NEIGHBOURS: [Neighbours; 6] = [
    small("1 × 100 B", 1),
    small("8 × 100 B", 8),
    small("64 × 100 B", 64),
    large("1 × 1 MB", 1, 20.0, 1.0),
    large("8 × 1 MB", 8, 10.0, 2.0),
    large("64 × 1 MB", 64, 1.5, 8.0),
];

fn neighbours() -> Row {
    Row {
        name: "neighbours",
        what: "1, 8, 64 busy queues (128 callers; 64 of 1 MB) beside a quiet queue, in-process",
        rounds_max: 3,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let contender = |row: &Neighbours| {
                let mut contender = ours(sizes, Work::Neighbours, row.callers, 1);
                contender.name = row.name;
                (contender.settings.queues, contender.settings.body) = (row.queues, row.bytes);
                contender.settings.rate = row.rate;
                contender.settings.seconds *= row.seconds_times;
                contender
            };
            NEIGHBOURS.iter().map(contender).collect()
        },
        conditions: |contenders| {
            let condition = |row: &Neighbours| {
                let ratio = figure(contenders, row.name, "p95_beside_over_alone");
                let what = format!("P95 beside / alone, {}", row.name);
                Condition::at_most(&what, "×", ratio, row.times_max)
            };
            NEIGHBOURS.iter().map(condition).collect()
        },
    }
}

fn purge_beside() -> Row {
    Row {
        name: "purge_beside",
        what: "a purge of 2,000 × 1 MB from the disk beside a quiet queue, in-process",
        rounds_max: 3,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let mut contender = ours(sizes, Work::PurgeBeside, 1, 1);
            let (messages, body) = if sizes.smoke { (50, 256 << 10) } else { (2000, 1_000_000) };
            (contender.settings.messages, contender.settings.body) = (messages, body);
            contender.settings.rate = 20.0;
            vec![contender]
        },
        conditions: |contenders| {
            let ratio = figure(contenders, "ours", "p99_beside_over_alone");
            let stall = peak(contenders, "ours", "stall_max_ms");
            vec![
                Condition::at_most("longest stall", "ms", stall, 100.0),
                Condition::at_most("P99 beside / alone", "×", ratio, 4.0),
            ]
        },
    }
}

fn connection_end_beside() -> Row {
    Row {
        name: "connection_end_beside",
        what: "the end of a connection with 120,000 reservations beside a quiet tube",
        rounds_max: 3,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let mut contender = cycle(sizes, "ours", Kind::SlipringBeanstalkd, 1, 1000);
            contender.settings.work = Work::ConnectionEndBeside;
            contender.settings.messages = if sizes.smoke { 2000 } else { 120_000 };
            contender.settings.rate = 20.0;
            vec![contender]
        },
        conditions: |contenders| {
            let stall = peak(contenders, "ours", "stall_max_ms");
            vec![Condition::at_most("longest stall", "ms", stall, 50.0)]
        },
    }
}

fn retention_beside() -> Row {
    Row {
        name: "retention_beside",
        what: "4,000 × 250 kB that grow too old beside a quiet queue, in-process",
        rounds_max: 3,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let mut contender = ours(sizes, Work::RetentionBeside, 1, 1);
            let (messages, body) = if sizes.smoke { (50, 64 << 10) } else { (4000, 250_000) };
            (contender.settings.messages, contender.settings.body) = (messages, body);
            contender.settings.rate = 20.0;
            vec![contender]
        },
        conditions: |contenders| {
            let stall = peak(contenders, "ours", "stall_max_ms");
            vec![Condition::at_most("longest stall", "ms", stall, 50.0)]
        },
    }
}

fn storm() -> Row {
    Row {
        name: "storm",
        what: "a million delays that end at once in one queue, beside two others, in-process",
        rounds_max: 1,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let mut storm = ours(sizes, Work::Storm, 1, 1000);
            storm.settings.messages = if sizes.smoke { 20_000 } else { 1_000_000 };
            storm.settings.seconds = if sizes.smoke { 1.0 } else { 10.0 };
            vec![storm]
        },
        conditions: |contenders| {
            let p99_ms = |name| latency(contenders, "ours", name, |p| p.p99_us) / 1e3;
            // S5.3.
            vec![
                Condition::at_most("P99 of a look at an empty queue", "ms", p99_ms("look"), 50.0),
                Condition::at_most("P99 lateness of 1 s delays", "ms", p99_ms("late"), 50.0),
            ]
        },
    }
}

fn several_tubes() -> Row {
    Row {
        name: "several_tubes",
        what: "beanstalkd wire, 8 connections, 100 in flight, each over 1 to 1,000 tubes",
        rounds_max: 5,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let contender = |name, queues| {
                let mut contender = cycle(sizes, name, Kind::SlipringBeanstalkd, 8, 100);
                (contender.settings.work, contender.settings.queues) = (Work::Several, queues);
                contender.settings.messages = if sizes.smoke { 2000 } else { 100_000 };
                contender
            };
            vec![
                contender("1 tube", 1),
                contender("2 tubes", 2),
                contender("10 tubes", 10),
                contender("1,000 tubes", if sizes.smoke { 50 } else { 1000 }),
            ]
        },
        conditions: |contenders| {
            let drain = |contender: &str| figure(contenders, contender, "drain_messages_per_s");
            let drained = |contender: &str, part: f64| {
                let text = format!("drain of one over {contender}, {part:.2} × 1 tube");
                Condition::at_least(text, "messages/s", drain(contender), part * drain("1 tube"))
            };
            let (few, many) = (1.0 / 1.5, 1.0 / 3.0);
            vec![
                times(contenders, "2 tubes", "1 tube", few),
                times(contenders, "10 tubes", "1 tube", few),
                times(contenders, "1,000 tubes", "1 tube", many),
                drained("2 tubes", few),
                drained("10 tubes", few),
                drained("1,000 tubes", many),
            ]
        },
    }
}

/// The contenders of the row `poison`: what is driven, and how many messages fail.
const POISONED: [(&str, Kind, usize, usize); 16] = [
    ("store", Kind::Store, 4, 0),
    ("store 1", Kind::Store, 4, 1),
    ("store 10", Kind::Store, 4, 10),
    ("store 100", Kind::Store, 4, 100),
    ("memory", Kind::Memory, 4, 0),
    ("memory 1", Kind::Memory, 4, 1),
    ("memory 10", Kind::Memory, 4, 10),
    ("memory 100", Kind::Memory, 4, 100),
    ("sqs", Kind::SlipringSqs, 8, 0),
    ("sqs 1", Kind::SlipringSqs, 8, 1),
    ("sqs 10", Kind::SlipringSqs, 8, 10),
    ("sqs 100", Kind::SlipringSqs, 8, 100),
    ("tube", Kind::SlipringBeanstalkd, 8, 0),
    ("tube 1", Kind::SlipringBeanstalkd, 8, 1),
    ("tube 10", Kind::SlipringBeanstalkd, 8, 10),
    ("tube 100", Kind::SlipringBeanstalkd, 8, 100),
];

fn poison() -> Row {
    Row {
        name: "poison",
        what: "good messages by tens beside 1, 10 and 100 that are given back at once",
        rounds_max: 5,
        held: Held::Nothing,
        contenders: |sizes, _| {
            let messages = if sizes.smoke { 200 } else { 10_000 };
            let contender = |(name, kind, callers, poisons)| {
                let plain = settings(sizes, Work::Poison, kind);
                let settings = Settings { callers, batch: 10, messages, poisons, ..plain };
                Contender { name, settings }
            };
            POISONED.into_iter().map(contender).collect()
        },
        conditions: |contenders| {
            let with = POISONED.into_iter().filter(|(.., poisons)| *poisons > 0);
            let of = |(name, ..): (&'static str, Kind, usize, usize)| {
                let without = name.split(' ').next().unwrap_or_default();
                let served = figure(contenders, name, "poison_deliveries_per_s");
                let text = format!("poison deliveries of {name}");
                let fast = Condition::times(
                    rate(contenders, name),
                    rate(contenders, without),
                    without,
                    0.9,
                );
                [fast, Condition::at_least(text, "deliveries/s", served, 0.1)]
            };
            with.flat_map(of).collect()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::protocol::{Answer, Ready};
    use crate::ledger::Checks;
    use crate::run::rounds::{ContenderReport, Round};

    #[test]
    fn one_stall_in_one_round_is_a_miss() {
        for (longest_ms, misses) in [(10.0, 0), (400.0, 1)] {
            let mut ours = ContenderReport::new("ours");
            for stall_ms in [10.0, longest_ms, 10.0] {
                let mut answer = Answer::new(1, 1.0, Checks::default());
                answer.figures.insert("stall_max_ms".into(), stall_ms);
                answer.figures.insert("p99_beside_over_alone".into(), 1.0);
                let settings = Settings::new(Work::PurgeBeside, Kind::Store);
                let round = Round { settings, answer, waits: vec![], cost: None, windows: vec![] };
                ours.add(Ready::default(), round);
            }
            for row in [purge_beside(), connection_end_beside(), retention_beside()] {
                let asked = (row.conditions)(std::slice::from_ref(&ours));
                let missed = asked.iter().filter(|condition| !condition.pass).count();
                assert_eq!(missed, misses, "{}: {asked:?}", row.name);
            }
        }
    }
}
