//! The families of queues: which queues have lines of their own, and what is counted of the others.
//!
//! Nothing here holds a lock over more than one queue.

use std::collections::HashMap;

use slipring::{Error, ErrorKind, Queue, QueueCounts, QueueId, QueueStats, Timestamp};

use super::QUEUES_MAX;
use super::filter::Filter;
use super::text::Text;

/// The label of what is counted of all queues without lines together; no queue has this name.
const OTHERS: &str = "";

/// A counter of [`QueueCounts`] with its family.
type Counter = (&'static str, &'static str, fn(&QueueCounts) -> u64);

const COUNTERS: [Counter; 8] = [
    ("slipring_messages_sent_total", "Messages that were stored.", |c| c.sent),
    ("slipring_messages_received_total", "Hand-outs of messages.", |c| c.received),
    ("slipring_messages_acked_total", "Messages that left by an ack.", |c| c.acked),
    ("slipring_messages_nacked_total", "Messages given back as failed.", |c| c.nacked),
    ("slipring_messages_lapsed_total", "Leases that ended at their deadline.", |c| c.lapsed),
    ("slipring_messages_parked_total", "Messages that were parked.", |c| c.parked),
    (
        "slipring_messages_dead_lettered_total",
        "Messages that left for the dead-letter queue.",
        |c| c.dead_lettered,
    ),
    ("slipring_messages_retired_total", "Messages whose retention was over.", |c| c.retired),
];

/// The queues a scrape is about.
pub(super) struct Chosen {
    /// How many there are, whatever the filter.
    pub(super) all: usize,
    /// Those with lines of their own.
    pub(super) seen: Vec<Queue>,
    /// How many have none.
    without: usize,
    /// The counters of the queues with lines, and of the others together where there is no filter.
    counts: Vec<(String, QueueCounts)>,
}

/// What was counted of queues that have no lines. It only grows, also when a queue gets lines or
/// goes: to what it was is added what each of them counted since the last look.
#[derive(Debug, Default)]
pub(super) struct Others {
    before: HashMap<QueueId, QueueCounts>,
    sum: QueueCounts,
}

impl Others {
    /// Takes in a look at all queues, of which the first have lines.
    fn look(&mut self, all: &[Queue], with_lines: usize) -> QueueCounts {
        let mut now = HashMap::with_capacity(all.len());
        for (at, queue) in all.iter().enumerate() {
            let counts = queue.counts();
            if at >= with_lines {
                let before = self.before.get(&queue.id()).copied().unwrap_or_default();
                self.sum = self.sum.and(counts.since(before));
            }
            now.insert(queue.id(), counts);
        }
        self.before = now;
        self.sum
    }
}

impl Chosen {
    /// Of all queues by name, the first that the filter takes have lines.
    pub(super) fn of(all: &[Queue], filter: Option<&Filter>, others: &mut Others) -> Chosen {
        let takes =
            |queue: &&Queue| filter.is_none_or(|filter| filter.takes(queue.info().name.as_str()));
        let mut wanted = all.iter().filter(takes);
        let seen: Vec<Queue> = wanted.by_ref().take(QUEUES_MAX).cloned().collect();
        let without = wanted.count();
        let of_one = |queue: &Queue| (queue.name().to_string(), queue.counts());
        let mut counts: Vec<_> = seen.iter().map(of_one).collect();
        if filter.is_none() {
            let sum = others.look(all, seen.len());
            if without > 0 || sum != QueueCounts::default() {
                counts.push((OTHERS.to_owned(), sum));
            }
        }
        Chosen { all: all.len(), seen, without, counts }
    }

    /// What the engine counts; asks no store.
    pub(super) fn write_counts(&self, text: &mut Text) {
        for (family, help, of) in COUNTERS {
            let mut family = text.counter(family, help);
            for (name, counts) in &self.counts {
                family.sample(&[("queue", name)], of(counts));
            }
        }
    }

    /// What the queues hold, by what the store has answered for those with lines.
    pub(super) fn write_held(
        &self,
        text: &mut Text,
        stats: &[Result<QueueStats, Error>],
        now: Timestamp,
    ) {
        text.gauge("slipring_queues", "Queues there are.").plain(self.all);
        let help = "Queues beyond the first 1000 by name, of those that were asked for.";
        text.gauge("slipring_queues_without_lines", help).plain(self.without);
        let help = "Queues whose figures the store could not give, of those with lines.";
        text.gauge("slipring_queues_without_figures", help).plain(failed(stats));
        let held: Vec<(&Queue, &str, &QueueStats)> = self
            .seen
            .iter()
            .zip(&self.counts)
            .zip(stats)
            .filter_map(|((queue, (name, _)), stats)| {
                Some((queue, name.as_str(), stats.as_ref().ok()?))
            })
            .collect();
        let mut family = text.gauge("slipring_queue_messages", "Messages of a queue by state.");
        for (_, name, stats) in &held {
            for (state, count) in by_state(stats) {
                family.sample(&[("queue", name), ("state", state)], count);
            }
        }
        let mut family = text.gauge("slipring_queue_bytes", "Bytes of a queue's messages.");
        for (_, name, stats) in &held {
            family.sample(&[("queue", name)], stats.bytes);
        }
        let help = "Rows of a queue that were not as the store writes rows, and were set aside.";
        let mut family = text.gauge("slipring_queue_rows_set_aside", help);
        for (_, name, stats) in &held {
            family.sample(&[("queue", name)], stats.set_aside);
        }
        let help = "Age of a queue's oldest ready message; 0 when none is ready.";
        let mut family = text.gauge("slipring_queue_oldest_ready_seconds", help);
        for (_, name, stats) in &held {
            let age = stats.oldest_ready_sent_at.map(|sent| sent.until(now)).unwrap_or_default();
            family.sample(&[("queue", name)], age.as_secs_f64());
        }
        let mut family = text.gauge("slipring_queue_paused", "1 while a queue hands out nothing.");
        for (queue, name, _) in &held {
            family.sample(&[("queue", name)], u8::from(queue.info().settings.is_paused(now)));
        }
        let help = "Receives that wait on a queue in this server.";
        let mut family = text.gauge("slipring_queue_waiting_receives", help);
        for (queue, name, _) in &held {
            family.sample(&[("queue", name)], queue.waiting() as u64);
        }
    }
}

/// How many statistics failed. A queue that is gone was deleted since the list was made.
fn failed(stats: &[Result<QueueStats, Error>]) -> usize {
    let errors = stats.iter().filter_map(|stats| stats.as_ref().err());
    let failed: Vec<&Error> = errors.filter(|e| e.kind() != ErrorKind::QueueNotFound).collect();
    if let Some(error) = failed.first() {
        tracing::warn!(%error, queues = failed.len(), "figures of queues are left out; the first");
    }
    failed.len()
}

fn by_state(stats: &QueueStats) -> [(&'static str, u64); 4] {
    [
        ("ready", stats.ready),
        ("delayed", stats.delayed),
        ("leased", stats.leased),
        ("parked", stats.parked),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipring::stores::MemoryStore;
    use slipring::{Engine, NewMessage, QueueSettings};

    #[tokio::test]
    async fn what_is_counted_of_others_only_grows_whichever_queues_they_are() {
        let engine = Engine::open(MemoryStore::shared(), Default::default()).await.unwrap();
        let mut queues = Vec::new();
        for name in ["a", "b", "c"] {
            let queue = engine.create_queue(name, QueueSettings::default()).await.unwrap();
            queue.send(NewMessage::new("x")).await.unwrap();
            queues.push(queue);
        }
        let [a, b, c] = <[Queue; 3]>::try_from(queues).unwrap();
        let mut others = Others::default();
        let mut sent = |all: &[Queue], with_lines| others.look(all, with_lines).sent;
        assert_eq!(sent(&[a.clone(), b.clone(), c.clone()], 2), 1);
        b.send(NewMessage::new("x")).await.unwrap();
        c.send(NewMessage::new("x")).await.unwrap();
        // Another queue comes before: of b counts what was sent since it lost its lines.
        assert_eq!(sent(&[a.clone(), b.clone(), c.clone()], 1), 3);
        // It has its lines back, and the other is gone.
        b.send(NewMessage::new("x")).await.unwrap();
        assert_eq!(sent(std::slice::from_ref(&b), 1), 3);
        assert_eq!(sent(&[a.clone(), b.clone()], 1), 3);
    }
}
