//! The rules, each a function of two looks. A number in a sentence is one that was measured.

mod queues;
mod sight;
mod transactions;
mod upkeep;
mod waits;

use slipring::{Obstacle, ObstacleKind};

use super::judge::{Finding, Looks};

/// All of them.
pub const ALL: [fn(&Looks<'_>) -> Vec<Finding>; 15] = [
    transactions::queue_held,
    transactions::prepared,
    transactions::open_writer,
    transactions::replication_slot,
    upkeep::log_held_back,
    upkeep::overdue,
    queues::in_flight_max,
    queues::growing,
    queues::nobody_receives,
    queues::paused,
    queues::set_aside,
    queues::without_figures,
    queues::dead_letter_missing,
    waits::largest,
    sight::blind,
];

impl<'a> Looks<'a> {
    /// Obstacles of a kind in the second look.
    fn obstacles(&self, kind: ObstacleKind) -> impl Iterator<Item = &'a Obstacle> {
        self.after.obstacles.found.iter().filter(move |one| one.kind == kind)
    }

    /// Whether the first look saw the same.
    fn was_before(&self, one: &Obstacle) -> bool {
        let same = |other: &Obstacle| {
            (other.kind, &other.queue, &other.transaction)
                == (one.kind, &one.queue, &one.transaction)
        };
        self.before.obstacles.found.iter().any(same)
    }

    /// Milliseconds between the two.
    fn between_ms(&self) -> u64 {
        (self.seconds * 1000.0) as u64
    }
}
