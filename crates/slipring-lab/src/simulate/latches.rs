//! Latches: who has one, who waits, and who is next.

use std::collections::VecDeque;

use super::model::{Order, Pick};
use super::outcome::Counts;
use super::program::LatchPlan;
use super::world::{Progress, Role, Waiting, World};

/// A latch with its parts.
pub(super) struct LatchState {
    shards: Vec<Shard>,
    pub(super) counts: Counts,
}

#[derive(Default)]
struct Shard {
    owner: Option<usize>,
    waiters: VecDeque<usize>,
}

impl LatchState {
    pub(super) fn new(plan: &LatchPlan) -> LatchState {
        let shards = std::iter::repeat_with(Shard::default).take(plan.shards).collect();
        LatchState { shards, counts: Counts::of(&plan.name) }
    }
}

impl World<'_> {
    fn pick(&self, id: usize, plan: &LatchPlan) -> usize {
        match plan.pick {
            _ if plan.shards == 1 => 0,
            Pick::Random => (self.unit() * plan.shards as f64) as usize,
            Pick::Worker => id % plan.shards,
            Pick::Last => plan.shards - 1,
        }
    }

    /// Takes a latch, or waits for it.
    pub(super) fn acquire(&mut self, id: usize, latch: usize) -> Progress {
        let plan = &self.program.latches[latch];
        // Who was woken tries the part again for which it waits.
        let again = self.entities[id].woken;
        let shard = match self.entities[id].holds.last() {
            Some(&(held, shard)) if again && held == latch => shard,
            _ => self.pick(id, plan),
        };
        let state = &mut self.latches[latch];
        let entity = &mut self.entities[id];
        if !again {
            state.counts.requests += 1;
            entity.counts.acquisitions += u64::from(entity.role == Role::Worker);
            entity.holds.push((latch, shard));
        }
        let part = &mut state.shards[shard];
        if part.owner.is_none() && (plan.order == Order::Barging || part.waiters.is_empty()) {
            part.owner = Some(id);
            state.counts.acquisitions += 1;
            if again {
                let waited = self.now_ns - entity.since_ns;
                state.counts.waited(waited);
                entity.counts.contended += u64::from(entity.role == Role::Worker);
                (entity.woken, entity.waiting) = (false, Waiting::Nothing);
            }
            return Progress::Next;
        }
        if again {
            part.waiters.push_front(id);
            return Progress::Tries;
        }
        part.waiters.push_back(id);
        (entity.since_ns, entity.waiting) = (self.now_ns, Waiting::Latch(latch));
        match plan.order {
            Order::Fifo => Progress::Waits,
            Order::Barging => {
                entity.woken = true;
                Progress::Tries
            }
        }
    }

    /// Gives a latch back; who waits first is woken, and has it already where it is handed on.
    pub(super) fn release(&mut self, id: usize, latch: usize) {
        let holds = &mut self.entities[id].holds;
        let Some(at) = holds.iter().position(|(held, _)| *held == latch) else { return };
        let (_, shard) = holds.remove(at);
        let plan = &self.program.latches[latch];
        let state = &mut self.latches[latch];
        let part = &mut state.shards[shard];
        part.owner = None;
        let Some(next) = part.waiters.pop_front() else { return };
        if plan.order == Order::Fifo {
            part.owner = Some(next);
            state.counts.acquisitions += 1;
        }
        let longer = plan.wake_ns_per_waiter * part.waiters.len() as f64;
        self.ready_after(next, plan.wake_ns + longer.round() as u64);
    }

    /// One that waited runs again.
    pub(super) fn wait_is_over(&mut self, id: usize) {
        let entity = &mut self.entities[id];
        let waited = self.now_ns - entity.since_ns;
        let counts = match entity.waiting {
            Waiting::Latch(_) if entity.woken => return,
            Waiting::Latch(latch) => {
                entity.counts.contended += u64::from(entity.role == Role::Worker);
                &mut self.latches[latch].counts
            }
            Waiting::Log(log) => &mut self.logs[log].counts,
            Waiting::Nothing => return,
        };
        counts.waited(waited);
        entity.waiting = Waiting::Nothing;
    }
}
