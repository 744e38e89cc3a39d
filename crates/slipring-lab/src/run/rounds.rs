//! What a row ran by turns, with its rounds, as it is kept.

use serde::{Deserialize, Serialize};

use super::held::Phase;
use super::meter::Cost;
use crate::driver::protocol::{Answer, Ready, Window};
use crate::stats::{Percentiles, Summary};
use crate::targets::Wait;
use crate::workloads::Settings;

/// What a prober saw beside a trouble; what it saw alone is told with the other latencies.
const BESIDE: &str = "beside";

/// One of the things a row ran by turns.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ContenderReport {
    /// Its name within the row.
    pub name: String,
    /// Version, way of driving, durability.
    pub ready: Ready,
    /// Why it could not be measured, or why its answers are not to be believed.
    pub trouble: Option<String>,
    /// Messages per second over the rounds.
    pub rate: Option<Summary>,
    /// The rounds.
    pub rounds: Vec<Round>,
    /// The windows of a round that did not come to its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<WindowReport>,
}

/// One measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Round {
    /// What the driver was told.
    pub settings: Settings,
    /// What it answered.
    pub answer: Answer,
    /// The target's wait table, where it has one; only that of the last round is kept.
    pub waits: Vec<Wait>,
    /// What that cost PostgreSQL, where the target is in one.
    pub cost: Option<Cost>,
    /// Windows, where the work has them.
    pub windows: Vec<WindowReport>,
}

/// A window with the tables at its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WindowReport {
    /// What went on beside it.
    pub phase: Phase,
    /// What the driver saw.
    pub window: Window,
    /// Dead rows of all tables of users, where the target is in PostgreSQL.
    pub dead_rows: Option<i64>,
    /// Size of all tables of users with their indexes, likewise.
    pub bytes: Option<i64>,
}

impl ContenderReport {
    /// One that has not run yet.
    pub fn new(name: &str) -> ContenderReport {
        ContenderReport { name: name.to_owned(), ..ContenderReport::default() }
    }

    /// Adds a measurement; its windows are those that are unfinished until now.
    pub fn add(&mut self, ready: Ready, mut round: Round) {
        round.windows.append(&mut self.unfinished);
        // Of the wait tables the last is kept; its predecessors say the same at length.
        if let Some(before) = self.rounds.last_mut() {
            before.waits.clear();
        }
        self.trouble = round.answer.wrong();
        self.ready = ready;
        self.rounds.push(round);
        let rates: Vec<f64> = self.rounds.iter().map(|round| round.answer.rate()).collect();
        self.rate = Summary::of(&rates);
    }

    /// The median over the rounds of a figure.
    pub fn median(&self, of: impl Fn(&Round) -> Option<f64>) -> f64 {
        let figures: Vec<f64> = self.rounds.iter().filter_map(of).collect();
        Summary::of(&figures).map_or(f64::NAN, |summary| summary.median)
    }

    /// The median over the rounds of one percentile of the latency that is measured: the one beside
    /// a trouble where there is such a one, else the first by name.
    pub fn latency(&self, which: fn(&Percentiles) -> f64) -> f64 {
        self.median(|round| {
            let latencies = &round.answer.latencies;
            let spread = latencies.get(BESIDE).or_else(|| latencies.values().next())?;
            Some(which(&spread.percentiles()))
        })
    }
}

impl Round {
    /// A figure of the costs divided by the messages that came to an end, or were sent where the
    /// work is only to send.
    pub fn per_message(&self, figure: f64) -> Option<f64> {
        let messages = self.answer.checks.received.max(self.answer.checks.sent);
        (messages > 0).then(|| figure / messages as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::protocol::Spread;
    use crate::ledger::Checks;
    use crate::targets::Kind;
    use crate::workloads::Work;

    #[test]
    fn the_latency_of_a_row_is_that_beside_the_trouble() {
        let of = |names: &[(&str, f64)]| {
            let mut answer = Answer::new(1, 1.0, Checks::default());
            let spreads = names.iter().map(|(name, p99_us)| {
                let percentiles = Percentiles { p99_us: *p99_us, ..Percentiles::default() };
                ((*name).to_owned(), Spread::Percentiles(percentiles))
            });
            answer.latencies.extend(spreads);
            let settings = Settings::new(Work::PurgeBeside, Kind::Store);
            let round = Round { settings, answer, waits: vec![], cost: None, windows: vec![] };
            let mut contender = ContenderReport::new("ours");
            contender.add(Ready::default(), round);
            contender.latency(|percentiles| percentiles.p99_us)
        };
        assert_eq!(of(&[("alone", 100.0), ("beginning", 200.0), ("beside", 900.0)]), 900.0);
        assert_eq!(of(&[("publish", 100.0), ("wake", 200.0)]), 100.0);
        assert!(of(&[]).is_nan());
    }
}
