//! Work in the background that nobody does, or that a reader keeps from being done.

use std::collections::BTreeMap;

use slipring::ObstacleKind;

use super::super::judge::{Finding, Level, Looks, Rule};
use super::super::words::{bytes, row, said, time};

/// A smaller log is nothing to speak of.
const LOG_BYTES_MIN: u64 = 4 << 20;

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
            "Work in the background is overdue in {queues} {}: delays or leases ended up to {} ago, \
             and nobody has made those messages ready",
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
    // Whoever reads in both looks may be another reader by chance; with a log that does not get
    // shorter it is one that stays.
    let stays = looks.obstacles(ObstacleKind::LogHeldBack).filter_map(|one| {
        let same = |other: &&slipring::Obstacle| (other.kind, other.pid) == (one.kind, one.pid);
        let before = looks.before.obstacles.found.iter().find(same)?;
        let size = one.bytes.filter(|size| *size >= LOG_BYTES_MIN)?;
        (before.bytes? <= size).then_some((one, size))
    });
    let finding = |(one, size): (&slipring::Obstacle, u64)| {
        let pid = one.pid.unwrap_or_default();
        let name = one.name.as_deref().map(|name| format!(" ({})", said(name)));
        Finding {
            level: Level::Warning,
            rule: Rule::LogHeldBack,
            queue: None,
            sentence: format!(
                "Process {pid}{} reads the file in both looks, {} apart, and keeps its log of {} \
                 from beginning anew; every write makes it longer",
                name.unwrap_or_default(),
                time(looks.between_ms()),
                bytes(size),
            ),
            advice: format!("Let it end its transaction, or end it: kill {pid}"),
        }
    };
    stays.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use slipring::{Obstacle, QueueName};

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
    fn a_reader_that_stays_while_the_log_grows_is_named() {
        let reader = |pid, bytes| Obstacle {
            pid: Some(pid),
            name: Some("sqlite3".to_owned()),
            bytes: Some(bytes),
            ..Obstacle::new(ObstacleKind::LogHeldBack)
        };
        let look = |before, after| {
            let after = with_obstacles(5_000, vec![after]);
            found(log_held_back, &with_obstacles(0, vec![before]), &after)
        };
        let (small, large) = (LOG_BYTES_MIN, 8 << 20);
        let sentence = "Process 7 (sqlite3) reads the file in both looks, 5.0 s apart, and keeps \
                        its log of 8.00 MiB from beginning anew; every write makes it longer";
        let advice = "Let it end its transaction, or end it: kill 7";
        assert_eq!(texts(&look(reader(7, small), reader(7, large))), [(sentence, advice)]);
        assert_eq!(look(reader(7, small), reader(7, small)).len(), 1);
        assert_eq!(look(reader(8, small), reader(7, large)), [], "another reader");
        assert_eq!(look(reader(7, large), reader(7, small)), [], "the log got shorter");
        assert_eq!(look(reader(7, 0), reader(7, small - 1)), [], "it is short");
    }
}
