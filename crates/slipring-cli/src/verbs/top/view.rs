//! What two looks say: rates, the queues with the most to do first, and the waits between them.

use std::cmp::Reverse;

use serde::Serialize;
use slipring::QueueCounts;
use slipring_server::admin::model::WaitView;

use super::super::doctor::judge::{Finding, Level, judge};
use super::super::doctor::snapshot::{SeenQueue, Snapshot};

/// So many wait classes are shown.
const WAITS_MAX: usize = 8;

/// A screen.
#[derive(Debug, Serialize)]
pub struct View {
    /// When the second look began, in milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
    /// Between the looks.
    pub seconds: f64,
    /// How many queues were looked at.
    pub queues: usize,
    /// Whether these are all.
    pub all_queues: bool,
    /// Of all of them together; `None` where nothing is counted.
    pub rates: Option<Rates>,
    /// Ready messages of all of them.
    pub ready: u64,
    /// The busiest queues.
    pub busiest: Vec<Row>,
    /// The classes in which most time was waited.
    pub waits: Vec<Waited>,
    /// What the rules of `slipring doctor` say, without their notes.
    pub findings: Vec<Finding>,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    /// Messages in each state; `None` where the store could not say.
    pub holds: Option<Holds>,
    /// Receives that wait at the server.
    pub waiting: u64,
    pub paused: bool,
    /// What the server did since the look before; `None` where that is not known.
    pub rates: Option<Rates>,
}

/// Messages by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Holds {
    pub ready: u64,
    pub delayed: u64,
    pub leased: u64,
    pub parked: u64,
    /// For how long the oldest ready message has been there.
    pub oldest_ready_ms: Option<u64>,
}

/// Messages a second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Rates {
    pub sent: f64,
    pub received: f64,
    pub acked: f64,
    /// Given back, or their leases ended.
    pub failed: f64,
}

/// A wait class between the looks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waited {
    pub class: String,
    /// Waits a second.
    pub waits: f64,
    /// Nanoseconds waited, on average of those who waited.
    pub mean_ns: u64,
    /// Seconds waited a second, by all who waited together.
    pub seconds: f64,
}

impl View {
    /// Compares two looks; at most so many queues are shown.
    pub fn new(before: &Snapshot, now: &Snapshot, queues_max: usize) -> View {
        let between = |from: u64, to: u64| (to.saturating_sub(from) as f64 / 1e9).max(1e-3);
        let seconds = between(before.read_ns, now.read_ns);
        let queues_seconds = between(before.queues_ns, now.queues_ns);
        let of = |queue| Row::of(queue, before.queue(&queue.name), now.at_ms, queues_seconds);
        let mut rows: Vec<Row> = now.queues.iter().map(of).collect();
        let all = rows.iter().filter_map(|row| row.rates);
        let rates = all.reduce(|one, other| Rates {
            sent: one.sent + other.sent,
            received: one.received + other.received,
            acked: one.acked + other.acked,
            failed: one.failed + other.failed,
        });
        let ready = rows.iter().filter_map(|row| row.holds).map(|holds| holds.ready).sum();
        rows.sort_by_cached_key(Row::rank);
        rows.truncate(queues_max);
        let mut findings = judge(before, now, seconds);
        findings.retain(|finding| finding.level != Level::Note);
        View {
            at_ms: now.at_ms,
            seconds,
            queues: now.queues.len(),
            all_queues: now.all_queues,
            rates,
            ready,
            busiest: rows,
            waits: waits(before, now, seconds),
            findings,
        }
    }
}

impl Row {
    fn of(queue: &SeenQueue, before: Option<&SeenQueue>, at_ms: u64, seconds: f64) -> Row {
        let stats = &queue.stats;
        let holds = Holds {
            ready: stats.ready,
            delayed: stats.delayed,
            leased: stats.leased,
            parked: stats.parked,
            oldest_ready_ms: stats
                .oldest_ready_sent_at
                .map(|sent| at_ms.saturating_sub(sent.as_millis())),
        };
        // A queue of the same name may be another one.
        let before = before.filter(|before| before.id == queue.id).and_then(|before| before.counts);
        Row {
            name: queue.name.clone(),
            holds: queue.has_figures.then_some(holds),
            waiting: queue.waiting,
            paused: queue.settings.is_paused(slipring::Timestamp::from_millis(at_ms)),
            rates: before
                .zip(queue.counts)
                .and_then(|(before, now)| Rates::of(before, now, seconds)),
        }
    }

    /// The most messages moved first, then the most ready ones, then by name.
    fn rank(&self) -> (Reverse<u64>, Reverse<u64>, String) {
        let moved = self.rates.map_or(0.0, |rates| rates.sent + rates.received + rates.acked);
        let ready = self.holds.map_or(0, |holds| holds.ready);
        (Reverse(moved.ceil() as u64), Reverse(ready), self.name.clone())
    }
}

impl Rates {
    /// `None` where the server has begun to count anew.
    fn of(before: QueueCounts, now: QueueCounts, seconds: f64) -> Option<Rates> {
        let rate = |count: fn(&QueueCounts) -> u64| {
            count(&now).checked_sub(count(&before)).map(|more| more as f64 / seconds)
        };
        Some(Rates {
            sent: rate(|counts| counts.sent)?,
            received: rate(|counts| counts.received)?,
            acked: rate(|counts| counts.acked)?,
            failed: rate(|counts| counts.nacked.saturating_add(counts.lapsed))?,
        })
    }
}

/// The classes that had waits between the looks, by the time waited, the longest first.
fn waits(before: &Snapshot, now: &Snapshot, seconds: f64) -> Vec<Waited> {
    let waited = |class: &WaitView| {
        let (times, total_ns) = before.waited_since(class).filter(|(times, _)| *times > 0)?;
        Some(Waited {
            class: class.name.clone(),
            waits: times as f64 / seconds,
            mean_ns: total_ns / times,
            seconds: total_ns as f64 / 1e9 / seconds,
        })
    };
    let mut waits: Vec<Waited> = now.waits.iter().filter_map(waited).collect();
    waits.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    waits.truncate(WAITS_MAX);
    waits
}

#[cfg(test)]
mod tests {
    use super::super::super::doctor::made::{paused, queue, snapshot, wait};
    use super::*;

    fn counted(name: &str, ready: u64, counts: [u64; 5]) -> SeenQueue {
        let [sent, received, acked, nacked, lapsed] = counts;
        let counts =
            QueueCounts { sent, received, acked, nacked, lapsed, ..QueueCounts::default() };
        SeenQueue { counts: Some(counts), ..queue(name, ready) }
    }

    fn look(at_ms: u64, queues: Vec<SeenQueue>) -> Snapshot {
        Snapshot { queues, ..snapshot(at_ms) }
    }

    #[test]
    fn the_busiest_queue_is_first_and_all_are_in_the_sum() {
        let before = [
            counted("busy", 0, [10, 10, 10, 0, 0]),
            counted("calm", 7, [5; 5]),
            counted("full", 9, [5; 5]),
        ];
        let now = [
            counted("busy", 1, [30, 20, 18, 3, 1]),
            counted("calm", 7, [5; 5]),
            counted("full", 9, [5; 5]),
        ];
        let view = View::new(&look(0, before.to_vec()), &look(2_000, now.to_vec()), 2);
        let names: Vec<_> = view.busiest.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((names, view.queues, view.ready), (vec!["busy", "full"], 3, 17));
        let rates = Rates { sent: 10.0, received: 5.0, acked: 4.0, failed: 2.0 };
        assert_eq!((view.busiest[0].rates, view.rates), (Some(rates), Some(rates)));
        let holds = view.busiest[0].holds.unwrap();
        assert_eq!((holds.ready, holds.oldest_ready_ms), (1, Some(2_000)));
    }

    #[test]
    fn what_is_not_known_has_no_rate() {
        let before =
            look(0, vec![counted("a", 0, [10; 5]), queue("b", 0), counted("c", 0, [1; 5])]);
        let other = SeenQueue { id: 2, ..counted("c", 0, [9; 5]) };
        let unseen = SeenQueue { has_figures: false, ..paused(counted("d", 0, [1; 5])) };
        let now = look(1_000, vec![counted("a", 0, [3; 5]), queue("b", 0), other, unseen]);
        let view = View::new(&before, &now, 9);
        assert!(view.busiest.iter().all(|row| row.rates.is_none()), "{view:?}");
        assert_eq!(view.rates, None);
        let last = &view.busiest[3];
        assert_eq!((last.holds, last.paused), (None, true));
    }

    #[test]
    fn waits_are_those_between_the_looks() {
        let before = Snapshot {
            waits: vec![wait("a", 10, 1_000), wait("b", 1, 1), wait("c", 9, 9_000)],
            ..snapshot(0)
        };
        let now = Snapshot {
            waits: vec![
                wait("a", 30, 1_100),
                wait("b", 1, 1),
                wait("c", 8, 8_000),
                wait("new", 2, 1_000),
            ],
            ..snapshot(2_000)
        };
        let waits = View::new(&before, &now, 9).waits;
        let waited = |class: &str, waits, mean_ms: u64, seconds| {
            let class = class.to_owned();
            Waited { class, waits, mean_ns: mean_ms * 1_000_000, seconds }
        };
        assert_eq!(waits, [waited("new", 1.0, 500, 0.5), waited("a", 10.0, 5, 0.05)]);
    }
}
