//! The scenarios of the public benchmark: the load, the trouble, and what is asked.

use super::phase::Full;
use super::stress::Stress;

/// What is offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Offer {
    /// So many jobs per second from each replica.
    Rate(f64),
    /// As many as keep this number waiting.
    Depth(u64),
}

/// One size of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Handlers of each replica.
    pub workers: u64,
    /// Queues.
    pub queues: u64,
    /// Milliseconds of work.
    pub work_ms: u64,
}

impl Point {
    /// The most completions per second that so many handlers can reach.
    pub fn limit(self) -> f64 {
        if self.work_ms == 0 {
            return f64::INFINITY;
        }
        self.workers as f64 * 1000.0 / self.work_ms as f64
    }
}

/// What is asked of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// Completions beside those of awa.
    Throughput,
    /// Four queues beside one.
    Queues,
    /// The rate, the latency and the end under a trouble.
    Pressure,
    /// To come back, and to lose nothing.
    Chaos,
    /// All that fails for good is a dead letter.
    DeadLetters,
    /// What failed once is completed.
    FirstAttempts,
    /// The best priority first.
    Priorities,
}

/// A scenario.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What happens, in one line.
    pub what: &'static str,
    /// What is asked.
    pub judge: Judge,
    /// The load.
    pub offer: Offer,
    /// Sizes, each with turns of its own.
    pub points: &'static [Point],
    /// Processes of the adapter.
    pub replicas: usize,
    /// The trouble.
    pub stress: Option<Stress>,
    /// Seconds of its phases in the public benchmark.
    pub full: Full,
    /// Variables of the contract besides.
    pub variables: &'static [(&'static str, &'static str)],
    /// It is one of a smoke run.
    pub smoke: bool,
}

/// So many messages wait in the sweep of the public benchmark.
const DEPTH: Offer = Offer::Depth(4000);
const fn point(workers: u64, queues: u64) -> Point {
    Point { workers, queues, work_ms: 1 }
}

const PLAIN: Scenario = Scenario {
    name: "",
    what: "",
    judge: Judge::Pressure,
    offer: Offer::Rate(800.0),
    points: &[point(32, 1)],
    replicas: 1,
    stress: None,
    full: Full { clean: 60, stress: 240, recovery: 60 },
    variables: &[],
    smoke: false,
};

const CHAOS: Scenario = Scenario {
    judge: Judge::Chaos,
    offer: Offer::Rate(600.0),
    full: Full { clean: 60, stress: 60, recovery: 60 },
    ..PLAIN
};

/// The load of a scenario without trouble.
const ALONE: Full = Full { clean: 180, stress: 0, recovery: 0 };

/// All scenarios, in the order in which `all` runs them.
pub const ALL: &[Scenario] = &[
    Scenario {
        name: "throughput",
        what: "completions by the number of workers, with 4,000 jobs waiting and 1 ms of work",
        judge: Judge::Throughput,
        offer: DEPTH,
        points: &[point(4, 1), point(16, 1), point(64, 1), point(128, 1), point(256, 1)],
        full: ALONE,
        smoke: true,
        ..PLAIN
    },
    Scenario {
        name: "four_queues",
        what: "the same load over four queues and over one",
        judge: Judge::Queues,
        offer: DEPTH,
        points: &[point(64, 1), point(64, 4)],
        full: ALONE,
        ..PLAIN
    },
    Scenario {
        name: "idle_in_transaction",
        what: "a session holds a transaction that has an id",
        stress: Some(Stress::IdleInTransaction),
        smoke: true,
        ..PLAIN
    },
    Scenario {
        name: "active_readers",
        what: "four sessions at REPEATABLE READ scan the declared tables again and again",
        stress: Some(Stress::ActiveReaders),
        ..PLAIN
    },
    Scenario {
        name: "high_load",
        what: "1.5 times the load",
        stress: Some(Stress::MoreLoad),
        ..PLAIN
    },
    Scenario {
        name: "burst",
        what: "1.5 times a larger load, and the way back",
        offer: Offer::Rate(1200.0),
        points: &[point(64, 1)],
        stress: Some(Stress::MoreLoad),
        full: Full { clean: 60, stress: 300, recovery: 240 },
        ..PLAIN
    },
    Scenario {
        name: "database_restart",
        what: "PostgreSQL is stopped for half of the phase and started again",
        stress: Some(Stress::DatabaseRestart),
        ..CHAOS
    },
    Scenario {
        name: "backends_terminated",
        what: "twice a second all sessions that do something are ended",
        stress: Some(Stress::BackendsTerminated),
        smoke: true,
        ..CHAOS
    },
    Scenario {
        name: "idle_connections",
        what: "300 of 400 connections are held by others",
        stress: Some(Stress::IdleConnections),
        ..CHAOS
    },
    Scenario {
        name: "replica_killed",
        what: "one of two replicas is killed, and started again after the phase",
        stress: Some(Stress::ReplicaKilled),
        offer: Offer::Rate(300.0),
        replicas: 2,
        ..CHAOS
    },
    Scenario {
        name: "replica_killed_again",
        what: "one of two replicas is killed and started again and again",
        stress: Some(Stress::ReplicaKilledAgain),
        offer: Offer::Rate(300.0),
        replicas: 2,
        full: Full { clean: 60, stress: 120, recovery: 60 },
        ..CHAOS
    },
    Scenario {
        name: "dead_letters",
        what: "every job fails for good",
        judge: Judge::DeadLetters,
        full: ALONE,
        variables: &[("WORKER_FAIL_MODE", "terminal-always"), ("BENCH_DLQ_ENABLED", "1")],
        smoke: true,
        ..PLAIN
    },
    Scenario {
        name: "first_attempts_fail",
        what: "every second job fails at its first attempt",
        judge: Judge::FirstAttempts,
        full: ALONE,
        variables: &[("WORKER_FAIL_MODE", "retryable-first"), ("JOB_FAIL_FIRST_MOD", "2")],
        ..PLAIN
    },
    Scenario {
        name: "priorities",
        what: "four priorities, and twice as many jobs as the workers can do",
        judge: Judge::Priorities,
        points: &[Point { workers: 4, queues: 1, work_ms: 10 }],
        full: ALONE,
        variables: &[("JOB_PRIORITY_PATTERN", "1,2,3,4")],
        ..PLAIN
    },
];

impl Scenario {
    /// Jobs per second that are offered by all replicas together; not a number for a depth.
    pub fn offered(&self) -> f64 {
        match self.offer {
            Offer::Rate(rate) => rate * self.replicas as f64,
            Offer::Depth(_) => f64::NAN,
        }
    }

    /// The same under its stress.
    pub fn offered_in_stress(&self) -> f64 {
        self.offered() * self.stress.map_or(1.0, Stress::load)
    }

    /// Whether its processes note which jobs they send and work on.
    pub fn has_ledger(&self) -> bool {
        matches!(self.judge, Judge::Chaos | Judge::DeadLetters | Judge::FirstAttempts)
    }

    /// Whether an adapter is told to end, and started again, in the middle of the trouble.
    pub fn ends_in_stress(&self) -> bool {
        self.judge == Judge::Pressure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_a_limit_of_their_own() {
        assert_eq!(point(4, 1).limit(), 4000.0);
        assert_eq!(Point { workers: 4, queues: 1, work_ms: 10 }.limit(), 400.0);
        assert!(Point { workers: 4, queues: 1, work_ms: 0 }.limit().is_infinite());
    }

    #[test]
    fn names_differ_and_each_trouble_has_a_phase() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), ALL.len());
        for one in ALL {
            assert_eq!(one.stress.is_some(), one.full.stress > 0, "{}", one.name);
            assert!(!one.points.is_empty(), "{}", one.name);
        }
    }
}
