//! What case 4 found, as tables, pictures and checks.

use super::audit::Audit;
use super::contenders::{
    BATCH, BEANSTALKD, Contender, ENGINE, Group, LARAVEL_ON_BEANSTALKD, LARAVEL_ON_OURS, SERVER,
    best_published, named,
};
use super::drive::Measured;
use crate::findings::{Axis, Plot, Series, Table};
use crate::run::condition::{Condition, number};
use crate::stats::Summary;

/// How many times the best published row ours must reach.
const TIMES: f64 = 100.0;

/// A contender with what its rounds found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What was run.
    pub contender: Contender,
    /// What was found, round by round.
    pub rounds: Vec<Measured>,
    /// Why there are no more.
    pub failed: Option<String>,
}

impl Outcome {
    /// Nothing is measured yet.
    pub fn new(contender: Contender) -> Outcome {
        Outcome { contender, rounds: Vec::new(), failed: None }
    }

    /// Jobs per second over the rounds.
    fn rate(&self) -> Option<Summary> {
        Summary::of(&self.rounds.iter().map(Measured::rate).collect::<Vec<_>>())
    }

    /// All rounds together.
    fn audit(&self) -> Audit {
        let mut all = Audit::default();
        self.rounds.iter().for_each(|round| all.add(&round.audit));
        all
    }

    /// The largest displacement of a round, in places: the median of the rounds.
    fn displacement(&self) -> f64 {
        let largest = self.rounds.iter().map(|round| f64::from(round.audit.displacement_max()));
        Summary::of(&largest.collect::<Vec<_>>()).map_or(f64::NAN, |summary| summary.median)
    }

    /// A sum over all rounds; nothing where one of them has no such figure.
    fn sum(&self, of: impl Fn(&Measured) -> Option<u64>) -> Option<u64> {
        if self.rounds.is_empty() {
            return None;
        }
        self.rounds.iter().map(of).sum()
    }

    /// Deadlocks that the workers were told of, or that the database counted if those are more.
    fn deadlocks(&self) -> u64 {
        let told = self.sum(|round| Some(round.counts.deadlocks)).unwrap_or(0);
        told.max(self.sum(|round| round.counted.deadlocks).unwrap_or(0))
    }
}

/// The speed and the audit of each contender.
pub fn audit_table(outcomes: &[Outcome]) -> Table {
    let columns = [
        "contender",
        "published A",
        "published B",
        "jobs/s",
        "spread %",
        "executions/job",
        "run again",
        "never run",
        "P99 displacement",
        "max",
    ];
    let mut table = Table::new("jobs/s and the audit", &columns);
    for outcome in outcomes {
        let published = |pick: fn((f64, f64)) -> f64| {
            outcome.contender.published.map_or(String::new(), |both| format!("{:.2}", pick(both)))
        };
        let head = [outcome.contender.name.clone(), published(|b| b.0), published(|b| b.1)];
        let audit = outcome.audit();
        let figures = match outcome.rate() {
            None => vec![outcome.failed.as_ref().map_or("-", |_| "failed").to_owned()],
            Some(rate) => vec![
                number(rate.median),
                format!("{:.0}", rate.spread_percent()),
                format!("{:.4}", audit.executions_per_job()),
                audit.repeated.to_string(),
                audit.missing.to_string(),
                audit.displacement_percentile(99).to_string(),
                audit.displacement_max().to_string(),
            ],
        };
        table.row(head.into_iter().chain(figures));
    }
    table
}

/// What the workers and the databases counted, over all rounds.
pub fn counts_table(outcomes: &[Outcome]) -> Table {
    let columns = [
        "contender",
        "rounds/claim",
        "deadlocks",
        "of deletes",
        "lost deletes",
        "refused",
        "by the database: deadlocks",
        "lock waits",
        "workers waiting",
    ];
    let mut table = Table::new("what was counted meanwhile, over all rounds", &columns);
    for outcome in outcomes.iter().filter(|outcome| !outcome.rounds.is_empty()) {
        let count = |of: fn(&Measured) -> u64| outcome.sum(|round| Some(of(round))).unwrap_or(0);
        let (rounds, claims) = (count(|r| r.counts.rounds), count(|r| r.counts.claims));
        let counted = |of: fn(&Measured) -> Option<u64>| {
            outcome.sum(of).map_or(String::new(), |sum| sum.to_string())
        };
        let waiting: Vec<f64> =
            outcome.rounds.iter().filter_map(|round| round.counted.waiting_mean).collect();
        let waiting = Summary::of(&waiting);
        table.row([
            outcome.contender.name.clone(),
            format!("{:.2}", rounds as f64 / claims.max(1) as f64),
            count(|r| r.counts.deadlocks).to_string(),
            count(|r| r.counts.delete_deadlocks).to_string(),
            count(|r| r.counts.lost_deletes).to_string(),
            count(|r| r.counts.refused).to_string(),
            counted(|r| r.counted.deadlocks),
            counted(|r| r.counted.lock_waits),
            waiting.map_or(String::new(), |waiting| format!("{:.1}", waiting.median)),
        ]);
    }
    table
}

/// The histogram of displacement, one picture for each group of contenders.
pub fn plots(outcomes: &[Outcome]) -> Vec<Plot> {
    let drawn = |group: Group| {
        let of = move |outcome: &&Outcome| {
            outcome.contender.group == group && !outcome.rounds.is_empty()
        };
        let series = outcomes.iter().filter(of).map(|outcome| Series {
            name: outcome.contender.name.clone(),
            points: outcome.audit().outline(),
        });
        series.collect::<Vec<Series>>()
    };
    let plots = Group::ALL.into_iter().map(|(group, name, title)| Plot {
        name: format!("displacement-{name}"),
        title: title.to_owned(),
        x: Axis::logarithmic("places displaced + 1, in steps that double"),
        y: Axis::linear("% of jobs"),
        series: drawn(group),
    });
    plots.filter(|plot| !plot.series.is_empty()).collect()
}

/// What `published-cases` ask of this one.
pub fn conditions(outcomes: &[Outcome]) -> Vec<Condition> {
    let named_outcome = |name: &str| outcomes.iter().find(|o| o.contender.name == name);
    let rate = |name: &str| named_outcome(name).and_then(Outcome::rate);
    let needed = TIMES * best_published();
    let mut conditions = Vec::new();
    for (up_to, name) in [(1, ENGINE), (BATCH, ENGINE), (1, SERVER), (BATCH, SERVER)] {
        let name = named(name, up_to);
        let figure = rate(&name).map_or(f64::NAN, |rate| rate.median);
        let target = format!("{TIMES} × the best published row: {name}");
        let ratio = Some(figure / best_published());
        let condition = Condition::at_least(target, "jobs/s", figure, needed);
        conditions.push(Condition { ratio, ..condition });
    }
    let mut pairs = Vec::new();
    for up_to in [1, BATCH] {
        pairs.push((named(ENGINE, up_to), named(BEANSTALKD, up_to)));
        pairs.push((named(SERVER, up_to), named(BEANSTALKD, up_to)));
    }
    pairs.push((LARAVEL_ON_OURS.to_owned(), LARAVEL_ON_BEANSTALKD.to_owned()));
    for (own, other) in pairs {
        let displacement = |name: &str| named_outcome(name).map_or(f64::NAN, Outcome::displacement);
        // A peer that was left out for lack of its program is nothing to be compared with.
        if named_outcome(&own).is_none() || named_outcome(&other).is_none() {
            continue;
        }
        let target = format!("largest displacement: {own} beside {other}");
        let (own, other) = (displacement(&own), displacement(&other));
        conditions.push(Condition::at_most(&target, "places", own, other));
    }
    conditions.extend(audits(outcomes));
    conditions
}

/// What must hold whatever the machine: every job executed, and by ours once.
fn audits(outcomes: &[Outcome]) -> Vec<Condition> {
    let ours = || outcomes.iter().filter(|outcome| outcome.contender.is_ours());
    let again: u64 = ours().map(|outcome| outcome.audit().repeated).sum();
    let deadlocks: u64 = ours().map(Outcome::deadlocks).sum();
    let unfinished = |outcome: &&Outcome| {
        outcome.rounds.is_empty() || !outcome.rounds.iter().all(Measured::complete)
    };
    let unfinished = outcomes.iter().filter(unfinished).count();
    vec![
        Condition::at_most("jobs that ours executed again", "jobs", again as f64, 0.0),
        Condition::at_most("deadlocks of ours", "deadlocks", deadlocks as f64, 0.0),
        Condition::at_most(
            "contenders that did not execute and delete every job",
            "contenders",
            unfinished as f64,
            0.0,
        ),
    ]
}

/// Why the answers of ours are wrong, if they are: a job that was not executed, or twice.
pub fn wrong(outcomes: &[Outcome]) -> Option<String> {
    outcomes.iter().filter(|outcome| outcome.contender.is_ours()).find_map(|outcome| {
        let audit = outcome.audit();
        let bad = audit.missing + audit.repeated > 0;
        bad.then(|| {
            format!(
                "{}: {} jobs were never executed, {} more than once",
                outcome.contender.name, audit.missing, audit.repeated
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::claims::{Counted, Counts};
    use super::super::contenders;
    use super::*;

    /// A round in which jobs were executed in this order at so many per second.
    fn round(order: &[u32], rate: f64) -> Measured {
        let jobs = order.len() as u32;
        Measured {
            seconds: f64::from(jobs) / rate,
            gone: jobs.into(),
            audit: Audit::of(jobs, order.iter().copied()).unwrap(),
            counts: Counts::default(),
            counted: Counted::default(),
        }
    }

    fn outcomes() -> Vec<Outcome> {
        let all = contenders::all(10).into_iter();
        let measured = all.map(|contender| Outcome {
            rounds: vec![round(&[1, 0, 2], 70_000.0)],
            ..Outcome::new(contender)
        });
        measured.collect()
    }

    #[test]
    fn a_run_in_which_all_is_well_meets_every_check() {
        let outcomes = outcomes();
        let conditions = conditions(&outcomes);
        assert_eq!(conditions.len(), 4 + 5 + 3);
        let missed: Vec<_> = conditions.iter().filter(|condition| !condition.pass).collect();
        assert!(missed.is_empty(), "{missed:?}");
        assert_eq!(wrong(&outcomes), None);
        assert_eq!(plots(&outcomes).len(), Group::ALL.len());
        assert_eq!(audit_table(&outcomes).rows.len(), outcomes.len());
        assert_eq!(counts_table(&outcomes).rows.len(), outcomes.len());
    }

    #[test]
    fn each_check_can_be_missed() {
        let missed = |spoil: fn(&mut Outcome)| {
            let mut outcomes = outcomes();
            let of = |outcome: &&mut Outcome| outcome.contender.name == ENGINE;
            spoil(outcomes.iter_mut().find(of).unwrap());
            conditions(&outcomes).iter().filter(|condition| !condition.pass).count()
        };
        assert_eq!(missed(|engine| engine.rounds = vec![round(&[0, 1, 2], 60_000.0)]), 1);
        assert_eq!(missed(|engine| engine.rounds = vec![round(&[2, 1, 0], 70_000.0)]), 1);
        assert_eq!(missed(|engine| engine.rounds[0].counted.deadlocks = Some(1)), 1);
        assert_eq!(missed(|engine| engine.rounds[0].gone -= 1), 2);
        assert_eq!(missed(|engine| engine.rounds[0].audit.repeated = 1), 1);
        assert_eq!(missed(|engine| engine.rounds.clear()), 3);
    }

    #[test]
    fn a_job_that_ours_executed_twice_is_a_wrong_answer() {
        let mut outcomes = outcomes();
        outcomes.iter_mut().for_each(|outcome| {
            outcome.rounds[0].audit.repeated = u64::from(!outcome.contender.is_ours());
        });
        assert_eq!(wrong(&outcomes), None);
        outcomes.iter_mut().for_each(|outcome| outcome.rounds[0].audit.missing = 1);
        assert!(wrong(&outcomes).unwrap().contains("1 jobs were never executed"));
    }
}
