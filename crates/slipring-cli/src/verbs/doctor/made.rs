//! Looks that are made up, for tests of rules.

use slipring::{
    Obstacle, ObstacleKind, Obstacles, QueueName, QueueSettings, QueueStats, Timestamp,
};
use slipring_server::admin::model::WaitView;

use super::judge::{Finding, Looks};
use super::snapshot::{SeenQueue, Snapshot};

/// A look at nothing.
pub fn snapshot(at_ms: u64) -> Snapshot {
    let obstacles = Obstacles { sessions: 3, ..Obstacles::default() };
    Snapshot {
        at_ms,
        read_ns: at_ms * 1_000_000,
        queues_ns: at_ms * 1_000_000,
        queues: Vec::new(),
        all_queues: true,
        waits: Vec::new(),
        obstacles,
    }
}

/// What a rule finds in two looks, five seconds apart.
pub fn found(
    rule: fn(&Looks<'_>) -> Vec<Finding>,
    before: &Snapshot,
    after: &Snapshot,
) -> Vec<Finding> {
    rule(&Looks { before, after, seconds: 5.0 })
}

/// Their sentences and advice.
pub fn texts(findings: &[Finding]) -> Vec<(&str, &str)> {
    findings.iter().map(|one| (one.sentence.as_str(), one.advice.as_str())).collect()
}

/// A queue with ready messages, of which the oldest was sent at 0.
pub fn queue(name: &str, ready: u64) -> SeenQueue {
    let oldest_ready_sent_at = (ready > 0).then(|| Timestamp::from_millis(0));
    SeenQueue {
        name: name.to_owned(),
        id: 1,
        waiting: 0,
        settings: QueueSettings::default(),
        stats: QueueStats { ready, oldest_ready_sent_at, ..QueueStats::default() },
        has_figures: true,
        counts: None,
    }
}

/// The same, paused.
pub fn paused(mut queue: SeenQueue) -> SeenQueue {
    queue.settings.paused = true;
    queue
}

/// A look at one queue.
pub fn with_queue(at_ms: u64, queue: SeenQueue) -> Snapshot {
    Snapshot { queues: vec![queue], ..snapshot(at_ms) }
}

/// What a process of the role `app` does since 42 s, to the queue `emails` where it is about one.
pub fn obstacle(kind: ObstacleKind, pid: u32) -> Obstacle {
    let of_queue = [ObstacleKind::QueueHeld, ObstacleKind::UpkeepOverdue].contains(&kind);
    Obstacle {
        queue: of_queue.then(|| QueueName::new("emails").unwrap()),
        pid: Some(pid),
        role: Some("app".to_owned()),
        application: Some("report".to_owned()),
        state: Some("idle in transaction".to_owned()),
        for_ms: Some(42_000),
        statement: Some("SELECT 1".to_owned()),
        transaction: Some("3/7".to_owned()),
        ..Obstacle::new(kind)
    }
}

/// A look at these obstacles.
pub fn with_obstacles(at_ms: u64, found: Vec<Obstacle>) -> Snapshot {
    let mut snapshot = snapshot(at_ms);
    snapshot.obstacles.found = found;
    snapshot
}

/// A class in which was waited so often, for so many milliseconds in all.
pub fn wait(name: &str, contended: u64, total_ms: u64) -> WaitView {
    WaitView {
        name: name.to_owned(),
        acquisitions: contended,
        contended,
        total_ns: total_ms * 1_000_000,
        max_ns: 0,
        p50_ns: 0,
        p95_ns: 0,
        p99_ns: 0,
    }
}
