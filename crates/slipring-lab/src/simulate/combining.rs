//! Combiners: calls that wait at the same time go into one turn.

use std::collections::VecDeque;

use super::outcome::Counts;
use super::program::CombinerPlan;
use super::world::{Progress, World};

/// The calls of one combiner.
pub(super) struct Gathering {
    calls: VecDeque<Call>,
    /// Turns that have nothing to do.
    pub(super) idle: Vec<usize>,
    /// Counts turns as acquisitions and calls as requests; a call waits until its turn begins.
    pub(super) counts: Counts,
}

struct Call {
    caller: usize,
    units: u64,
    since_ns: u64,
}

impl Gathering {
    pub(super) fn new(plan: &CombinerPlan) -> Gathering {
        Gathering { calls: VecDeque::new(), idle: Vec::new(), counts: Counts::of(&plan.name) }
    }
}

impl World<'_> {
    /// Leaves a call and waits for the answer. The first call of a turn goes at once.
    pub(super) fn combine(&mut self, id: usize, combiner: usize, units: u64) -> Progress {
        let since_ns = self.now_ns;
        let state = &mut self.combiners[combiner];
        state.counts.requests += 1;
        state.calls.push_back(Call { caller: id, units, since_ns });
        if let Some(turn) = state.idle.pop() {
            match self.program.combiners[combiner].wake_ns {
                // The caller itself goes on with the turn, on its core and in its slice.
                0 => self.goes_on_as(id, turn),
                wake_ns => self.ready_after(turn, wake_ns),
            }
        }
        Progress::Waits
    }

    /// Answers the calls of a turn and gathers those of the next; answers whether there are any.
    pub(super) fn next_turn(&mut self, turn: usize, combiner: usize) -> bool {
        let plan = &self.program.combiners[combiner];
        let mut callers = std::mem::take(&mut self.entities[turn].calls);
        for caller in callers.drain(..) {
            self.ready_after(caller, plan.answer_ns);
        }
        let (mut units, state) = (0_u64, &mut self.combiners[combiner]);
        while let Some(call) = state.calls.front()
            && (callers.is_empty() || units.saturating_add(call.units) <= plan.units_max)
        {
            units = units.saturating_add(call.units);
            let waited = self.now_ns - call.since_ns;
            if waited > plan.wake_ns {
                state.counts.waited(waited);
            }
            callers.push(call.caller);
            state.calls.pop_front();
        }
        let any = !callers.is_empty();
        if any {
            state.counts.acquisitions += 1;
        } else {
            state.idle.push(turn);
        }
        let entity = &mut self.entities[turn];
        (entity.calls, entity.units) = (callers, units);
        entity.step = if any { 0 } else { usize::MAX };
        any
    }
}
