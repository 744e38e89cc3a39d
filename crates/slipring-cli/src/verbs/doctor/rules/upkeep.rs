//! Work in the background that nobody does, or that a reader keeps from being done.

use std::collections::BTreeMap;

use slipring::{Obstacle, ObstacleKind};

use super::super::judge::{Finding, Level, Looks, Rule};
use super::super::words::{bytes, row, said, time};

/// A log that is held back for a shorter time is nothing to speak of.
const HELD_MS_MIN: u64 = 10_000;
/// A smaller log may be one that is about to begin anew.
const LOG_BYTES_MIN: u64 = 64 << 20;

/// Delays and leases have ended long ago.
pub fn overdue(looks: &Looks<'_>) -> Vec<Finding> {
    let both = || [looks.before, looks.after].into_iter().flat_map(|look| &look.obstacles.found);
    // Of a queue that somebody holds it is no wonder.
    let held = |queue| {
        both().any(|one| one.kind == ObstacleKind::QueueHeld && one.queue.as_ref() == Some(queue))
    };
    let mut late: BTreeMap<&str, u64> = BTreeMap::new();
    for one in both().filter(|one| one.kind == ObstacleKind::UpkeepOverdue) {
        let Some(queue) = one.queue.as_ref().filter(|queue| !held(queue)) else { continue };
        let ms = late.entry(queue.as_str()).or_default();
        *ms = one.for_ms.unwrap_or_default().max(*ms);
    }
    let Some(longest) = late.values().max() else { return Vec::new() };
    let names: Vec<&str> = late.keys().copied().collect();
    let queues = if names.len() == 1 { "queue" } else { "queues" };
    vec![Finding {
        level: Level::Wrong,
        rule: Rule::UpkeepOverdue,
        queue: names.first().map(|&name| name.to_owned()),
        sentence: format!(
            "Work in the background is overdue in {queues} {}: delays or leases ended up to {} \
             ago, and nobody has made those messages ready",
            row(&names),
            time(*longest),
        ),
        advice: "Run a server on this store (slipring serve), or on PostgreSQL CALL \
                 slipring.maintain() every few seconds."
            .to_owned(),
    }]
}

/// A process reads an old state of the file.
pub fn log_held_back(looks: &Looks<'_>) -> Vec<Finding> {
    looks
        .obstacles(ObstacleKind::LogHeldBack)
        .filter_map(|one| {
            let size = one.bytes?;
            let held = match one.for_ms.filter(|ms| *ms >= HELD_MS_MIN) {
                Some(ms) => format!("has been held back for {}", time(ms)),
                // Only who copies the log knows for how long. Otherwise: whoever reads in both
                // looks may do so by chance, but a log that grows beyond measure is held back.
                None => {
                    let same = |other: &&Obstacle| (other.kind, other.pid) == (one.kind, one.pid);
                    let before = looks.before.obstacles.found.iter().find(same)?.bytes?;
                    let between = time(looks.between_ms());
                    (size >= LOG_BYTES_MIN && size > before)
                        .then(|| format!("grew by {} in {between}", bytes(size - before)))?
                }
            };
            Some(finding(one, &held, size))
        })
        .collect()
}

fn finding(one: &Obstacle, held: &str, size: u64) -> Finding {
    let name = one.name.as_deref().map(|name| format!(" ({})", said(name))).unwrap_or_default();
    let (who, advice) = match one.pid {
        Some(pid) => (
            format!("Process {pid}{name} reads the file and"),
            format!("Let it end its transaction, or end it: kill {pid}"),
        ),
        None => (
            "A process that the system does not name reads the file and".to_owned(),
            "See who has the file open, in other containers too, and end it.".to_owned(),
        ),
    };
    Finding {
        level: Level::Warning,
        rule: Rule::LogHeldBack,
        queue: None,
        sentence: format!(
            "{who} keeps its log from beginning anew: the log {held} and has {}",
            bytes(size),
        ),
        advice,
    }
}

#[cfg(test)]
mod tests {
    use slipring::QueueName;

    use super::super::super::made::{found, obstacle, snapshot, texts, with_obstacles};
    use super::*;

    #[test]
    fn overdue_work_is_told_of_once_for_all_queues() {
        let late = obstacle(ObstacleKind::UpkeepOverdue, 0);
        let name = Some(QueueName::new("b").unwrap());
        let later = Obstacle { queue: name, for_ms: Some(12_000), ..late.clone() };
        assert_eq!(found(overdue, &snapshot(0), &snapshot(5_000)), []);
        let before = with_obstacles(0, vec![late.clone(), later]);
        let both = found(overdue, &before, &snapshot(5_000));
        let sentence = "Work in the background is overdue in queues b and emails: delays or \
                        leases ended up to 42s ago, and nobody has made those messages ready";
        assert_eq!(both.len(), 1);
        assert_eq!((both[0].sentence.as_str(), both[0].level), (sentence, Level::Wrong));
        assert!(both[0].advice.contains("CALL slipring.maintain()"));
        let held = vec![late, obstacle(ObstacleKind::QueueHeld, 7)];
        assert_eq!(found(overdue, &snapshot(0), &with_obstacles(5_000, held)), []);
    }

    #[test]
    fn who_holds_the_log_back_is_named() {
        let reader = |pid, for_ms, bytes| Obstacle {
            pid,
            name: pid.map(|_| "sqlite3".to_owned()),
            for_ms,
            bytes: Some(bytes),
            ..Obstacle::new(ObstacleKind::LogHeldBack)
        };
        let look = |before, after| {
            let after = with_obstacles(5_000, vec![after]);
            found(log_held_back, &with_obstacles(0, vec![before]), &after)
        };
        let (one, large) = (Some(7), 96 << 20);
        let held = look(reader(Some(8), None, 0), reader(one, Some(42_000), 8 << 20));
        let sentence = "Process 7 (sqlite3) reads the file and keeps its log from beginning anew: \
                        the log has been held back for 42s and has 8.00 MiB";
        let advice = "Let it end its transaction, or end it: kill 7";
        assert_eq!(texts(&held), [(sentence, advice)]);
        assert_eq!(look(reader(one, None, 0), reader(one, Some(9_999), 8 << 20)), []);
        let unknown = look(reader(None, None, 0), reader(None, Some(42_000), 8 << 20));
        assert!(unknown[0].sentence.starts_with("A process that the system does not name"));
        let grown = look(reader(one, None, LOG_BYTES_MIN), reader(one, None, large));
        assert!(grown[0].sentence.contains("the log grew by 32.00 MiB in 5.0 s and has 96.00 MiB"));
        assert_eq!(look(reader(one, None, large), reader(one, None, large)), [], "it did not grow");
        assert_eq!(look(reader(Some(8), None, 0), reader(one, None, large)), [], "another reader");
        assert_eq!(look(reader(one, None, 0), reader(one, None, LOG_BYTES_MIN - 1)), [], "short");
    }
}
