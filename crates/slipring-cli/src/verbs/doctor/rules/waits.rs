//! Where the time of callers goes.

use slipring_server::admin::model::WaitView;

use super::super::judge::{Finding, Level, Looks, Rule};
use super::super::words::count;

/// Less than this part of the time is not worth a word.
const SHARE_MIN: f64 = 0.1;
/// So many waits that take so long on average are bad whoever has them.
const SLOW_MS: f64 = 100.0;
const SLOW_TIMES: u64 = 5;

/// What callers wait for as a whole; the classes below are parts of it.
const CALLERS: [&str; 3] = ["send_turn", "settle_turn", "extend_turn"];

/// The classes that contain no other one, without those that nobody waits in: what each is a wait
/// for, and what to do about it.
const LEAVES: [(&str, &str, &str); 10] = [
    (
        "postgres.connection",
        "a free connection of the pool",
        "Give the server more (connections=N in its address) if the database has processors to \
         spare.",
    ),
    (
        "postgres.statement",
        "answers of the database",
        "Look at its disk, its processors, a synchronous standby, and the way there.",
    ),
    (
        "postgres.queue_lock",
        "the lock of a queue that another transaction keeps",
        "End transactions by SQL soon after a nack, an extend or a receive of a FIFO queue.",
    ),
    (
        "postgres.flush",
        "the disk of the database, which flushes commits",
        "Look at that disk and at a synchronous standby; settle in batches.",
    ),
    (
        "sqlite.writer_inbox",
        "the thread that writes the file",
        "Send and settle in batches; one file has one writer.",
    ),
    (
        "sqlite.reader_inbox",
        "the threads that read the file",
        "See who peeks or asks for statistics so often.",
    ),
    (
        "sqlite.commit",
        "transactions that are written into the log of the file",
        "Look at the disk; send and settle in batches.",
    ),
    (
        "sqlite.flush",
        "the disk, which flushes the log of the file",
        "Use a disk that flushes faster, send in batches, or give queues that may lose what came \
         last durability relaxed.",
    ),
    (
        "sqlite.checkpoint_pause",
        "the disk, to which the log of the file is copied back",
        "Use a faster disk.",
    ),
    (
        "sqlite.write_lock",
        "another process that writes the same file",
        "Let all go through one server, or end the other one.",
    ),
];
const LOCK: (&str, &str) = (
    "a lock inside Slipring",
    "Spread the work over more queues, and report it: such waits should stay near zero.",
);

/// The class in which callers waited longest.
pub fn largest(looks: &Looks<'_>) -> Vec<Finding> {
    let waited = |class: &WaitView| {
        let (times, total_ns) = looks.before.waited_since(class).unwrap_or_default();
        (times, total_ns as f64 / 1e9)
    };
    let classes = || looks.after.waits.iter();
    let leaves = || classes().filter_map(|class| Some((meaning(&class.name)?, waited(class))));
    let all: f64 = leaves().map(|(_, (_, seconds))| seconds).sum();
    let callers = classes().filter(|class| CALLERS.contains(&class.name.as_str()));
    let callers: f64 = callers.map(|class| waited(class).1).sum();
    let longest = leaves().max_by(|(_, one), (_, other)| one.1.total_cmp(&other.1));
    let Some(((what, advice), (times, seconds))) = longest.filter(|(_, (times, _))| *times > 0)
    else {
        return Vec::new();
    };
    // Receives have no class for the whole of their wait: what is beyond the callers' is theirs.
    let share = seconds / callers.max(all);
    let mean_ms = seconds * 1e3 / times as f64;
    let slow = mean_ms >= SLOW_MS && times >= SLOW_TIMES;
    if share < SHARE_MIN || seconds < SHARE_MIN * looks.seconds {
        return Vec::new();
    }
    vec![Finding {
        level: if slow { Level::Warning } else { Level::Note },
        rule: Rule::LargestWait,
        queue: None,
        sentence: format!(
            "Most of the time is waited for {what}: {} waits of {mean_ms:.1} ms on average in \
             {:.1} s, which is {:.0} % of the callers' time",
            count(times),
            looks.seconds,
            share * 100.0,
        ),
        advice: advice.to_owned(),
    }]
}

/// What a class is a wait for, and what to do; nothing for those that contain others.
fn meaning(class: &str) -> Option<(&'static str, &'static str)> {
    let known = LEAVES.iter().find(|(name, ..)| *name == class);
    let known = known.map(|(_, what, advice)| (*what, *advice));
    known.or_else(|| class.ends_with("_lock").then_some(LOCK))
}

#[cfg(test)]
mod tests {
    use super::super::super::made::{found, snapshot, texts, wait};
    use super::super::super::snapshot::Snapshot;
    use super::*;

    fn look(before: &[WaitView], after: &[WaitView]) -> Vec<Finding> {
        let look = |waits: &[WaitView]| Snapshot { waits: waits.to_vec(), ..snapshot(0) };
        found(largest, &look(before), &look(after))
    }

    #[test]
    fn the_largest_wait_of_the_interval_is_named_in_words() {
        let before = [wait("sqlite.flush", 500, 90_000), wait("sqlite.commit", 1, 1)];
        let after = [
            wait("send_turn", 9_000, 8_000),
            wait("sqlite.flush", 1_500, 92_000),
            wait("sqlite.commit", 1_001, 1_001),
            wait("receive_wait", 2, 60_000),
            wait("sqlite.checkpoint", 2, 60_000),
            wait("sqlite.poll", 2, 60_000),
            wait("turnstile", 2, 60_000),
        ];
        let sentence = "Most of the time is waited for the disk, which flushes the log of \
                        the file: 1,000 waits of 2.0 ms on average in 5.0 s, which is 25 % of the \
                        callers' time";
        let advice = "Use a disk that flushes faster, send in batches, or give queues that may \
                      lose what came last durability relaxed.";
        let named = look(&before, &after);
        assert_eq!((texts(&named), named[0].level), (vec![(sentence, advice)], Level::Note));
    }

    #[test]
    fn what_is_short_or_a_small_part_is_not_named() {
        let share = |turn, flush| look(&[], &[wait("send_turn", 1, turn), flush]);
        assert_eq!(share(20_000, wait("sqlite.flush", 100, 2_000)).len(), 1);
        assert_eq!(share(20_001, wait("sqlite.flush", 100, 1_999)), [], "a small part");
        assert_eq!(share(0, wait("sqlite.flush", 100, 499)), [], "nearly idle");
        assert_eq!(share(0, wait("sqlite.flush", 100, 500)).len(), 1);
        let slow = share(0, wait("sqlite.flush", 5, 500));
        assert_eq!(slow[0].level, Level::Warning, "slow");
        assert_eq!(share(0, wait("sqlite.flush", 4, 500))[0].level, Level::Note, "some are late");
        assert_eq!(share(0, wait("sqlite.flush", 1, 120)), [], "one that is late");
        let same = [wait("sqlite.flush", 100, 9_000)];
        assert_eq!(look(&same, &same), []);
        assert_eq!(look(&same, &[wait("sqlite.flush", 1, 1)]), [], "it was started anew");
    }

    #[test]
    fn locks_and_the_pool_have_a_meaning_and_containers_have_none() {
        let lock = look(&[], &[wait("send_combiner_lock", 100, 1_000)]);
        assert!(lock[0].sentence.contains("a lock inside Slipring"), "{lock:?}");
        let pool = look(&[], &[wait("postgres.connection", 100, 1_000)]);
        assert!(pool[0].sentence.contains("a free connection of the pool"), "{pool:?}");
        let database = look(&[], &[wait("postgres.statement", 100, 1_000)]);
        assert!(database[0].sentence.contains("answers of the database"), "{database:?}");
        for container in
            ["send_turn", "turnstile", "receive_wait", "postgres.poll", "postgres.upkeep"]
        {
            assert_eq!(look(&[], &[wait(container, 100, 1_000)]), [], "{container}");
        }
    }
}
