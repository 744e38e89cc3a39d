//! What two looks say when they are compared: the rules one after another, the worst first.

use serde::Serialize;

use super::rules;
use super::snapshot::Snapshot;

/// How bad it is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It holds calls up now.
    Wrong,
    /// It will, or messages do not get where they are to go.
    Warning,
    /// It may be as it is meant to be.
    Note,
}

impl Level {
    /// The level for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Level::Wrong => "wrong",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// Which rule has found something; of one level in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    QueueHeld,
    PreparedTransaction,
    OpenWriter,
    LogHeldBack,
    UpkeepOverdue,
    InFlightMax,
    Growing,
    NobodyReceives,
    LargestWait,
    Paused,
    SetAside,
    WithoutFigures,
    DeadLetterMissing,
    ReplicationSlot,
    Blind,
}

/// What a rule has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// Which rule says so.
    pub rule: Rule,
    /// The queue it is about, where it is one.
    pub queue: Option<String>,
    /// What is measured, and who is the cause.
    pub sentence: String,
    /// What to do.
    pub advice: String,
}

impl Finding {
    /// For people: the sentence, and what to do in a line of its own.
    pub fn in_words(&self) -> String {
        format!("{}: {}\n    {}", self.level.in_words(), self.sentence, self.advice)
    }
}

/// Compares two looks that are so many seconds apart.
pub fn judge(before: &Snapshot, after: &Snapshot, seconds: f64) -> Vec<Finding> {
    let looks = Looks { before, after, seconds };
    let mut findings: Vec<Finding> = rules::ALL.iter().flat_map(|rule| rule(&looks)).collect();
    // Those of one rule stay in its order.
    findings.sort_by_key(|finding| (finding.level, finding.rule));
    findings
}

/// What a rule looks at.
pub struct Looks<'a> {
    pub before: &'a Snapshot,
    pub after: &'a Snapshot,
    /// Between the two.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use slipring::ObstacleKind;

    use super::super::made::{obstacle, paused, queue, snapshot};
    use super::*;

    #[test]
    fn the_worst_comes_first() {
        let mut after = snapshot(5_000);
        assert_eq!(judge(&snapshot(0), &after, 5.0), []);
        after.queues = vec![paused(queue("a", 0)), paused(queue("b", 1))];
        after.obstacles.found = vec![obstacle(ObstacleKind::QueueHeld, 7)];
        let found = judge(&snapshot(0), &after, 5.0);
        let levels: Vec<_> = found.iter().map(|one| (one.level, one.rule)).collect();
        let (wrong, warning, note) = (Level::Wrong, Level::Warning, Level::Note);
        let worst = [(wrong, Rule::QueueHeld), (warning, Rule::Paused), (note, Rule::Paused)];
        assert_eq!(levels, worst);
    }
}
