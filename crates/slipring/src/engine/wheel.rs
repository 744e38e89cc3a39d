//! A hierarchical timing wheel: pure data, no clock, no lock, no task.
//!
//! Five levels of 64 slots; a slot of level k is as wide as all of level k−1 (Varghese and Lauck,
//! 1987). Insert and cancel are O(1); an entry moves down at most four times. A bitmap per level
//! finds the next slot in one instruction. Ticks are abstract: [`super::timers`] decides how long
//! one is.

const LEVELS: usize = 5;
const SLOTS: usize = 64;
const SLOT_BITS: u32 = 6;
/// Entries further ahead wait in the last slot of the top level and are sorted in again from
/// there. One slot short of a whole turn: an entry never shares the slot the wheel stands in
/// with entries of this turn.
const REACH_TICKS: u64 = (SLOTS as u64 - 1) << (SLOT_BITS * (LEVELS as u32 - 1));
const NONE: u32 = u32::MAX;

/// Names an entry for cancelling; a stale key cancels nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerKey {
    index: u32,
    generation: u32,
}

/// The wheel. `T` is what is handed back when an entry's tick has come.
#[derive(Debug)]
pub struct Wheel<T> {
    entries: Vec<Entry<T>>,
    free: u32,
    elapsed: u64,
    levels: [Level; LEVELS],
}

#[derive(Debug)]
struct Entry<T> {
    when: u64,
    payload: Option<T>,
    generation: u32,
    previous: u32,
    next: u32,
    level: u8,
    slot: u8,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    occupied: u64,
    heads: [u32; SLOTS],
}

impl<T> Wheel<T> {
    /// An empty wheel that stands at `elapsed`.
    pub fn new(elapsed: u64) -> Wheel<T> {
        Wheel {
            entries: Vec::new(),
            free: NONE,
            elapsed,
            levels: [Level { occupied: 0, heads: [NONE; SLOTS] }; LEVELS],
        }
    }

    /// Adds an entry for tick `when`; one that has passed fires with the next tick.
    pub fn insert(&mut self, when: u64, payload: T) -> TimerKey {
        let when = when.max(self.elapsed + 1);
        let index = self.allocate(when, payload);
        self.link(index);
        TimerKey { index, generation: self.entries[index as usize].generation }
    }

    /// Takes an entry out again; `None` when it has fired or was cancelled before.
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        let entry = self.entries.get(key.index as usize)?;
        if entry.generation != key.generation || entry.payload.is_none() {
            return None;
        }
        self.unlink(key.index);
        self.release(key.index)
    }

    /// The tick at which the wheel wants to be advanced next; it may be before the first entry's
    /// own tick, when entries have to move down a level.
    pub fn next_tick(&self) -> Option<u64> {
        self.next_slot().map(|(_, _, tick)| tick)
    }

    /// Moves on to tick `now` and hands back what has become due, in the order of ticks.
    pub fn advance(&mut self, now: u64, mut fire: impl FnMut(T)) {
        while let Some((level, slot, tick)) = self.next_slot() {
            if tick > now {
                break;
            }
            self.elapsed = self.elapsed.max(tick);
            let mut index = std::mem::replace(&mut self.levels[level].heads[slot], NONE);
            self.levels[level].occupied &= !(1 << slot);
            while index != NONE {
                let next = self.entries[index as usize].next;
                if self.entries[index as usize].when <= tick {
                    if let Some(payload) = self.release(index) {
                        fire(payload);
                    }
                } else {
                    self.link(index);
                }
                index = next;
            }
        }
        self.elapsed = self.elapsed.max(now);
    }

    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        // A lower level's slots all lie before the next slot of a higher level, for an entry sits
        // on the lowest level whose slots tell it apart from the present tick.
        for (number, level) in self.levels.iter().enumerate() {
            if level.occupied == 0 {
                continue;
            }
            let slot_shift = SLOT_BITS * number as u32;
            let range = 1_u64 << (slot_shift + SLOT_BITS);
            let present = (self.elapsed >> slot_shift) as u32 & (SLOTS as u32 - 1);
            let ahead = level.occupied.rotate_right(present).trailing_zeros();
            let slot = (present + ahead) as usize % SLOTS;
            let mut tick = (self.elapsed & !(range - 1)) + ((slot as u64) << slot_shift);
            if tick < self.elapsed && slot != present as usize {
                // Only the top level wraps around.
                tick += range;
            }
            return Some((number, slot, tick.max(self.elapsed)));
        }
        None
    }

    fn link(&mut self, index: u32) {
        let when = self.entries[index as usize].when;
        let reachable = when.min(self.elapsed + REACH_TICKS);
        let differing = (self.elapsed ^ reachable) | (SLOTS as u64 - 1);
        let level = ((63 - differing.leading_zeros()) / SLOT_BITS).min(LEVELS as u32 - 1);
        let slot = (reachable >> (SLOT_BITS * level)) as usize % SLOTS;
        let head = self.levels[level as usize].heads[slot];
        let entry = &mut self.entries[index as usize];
        entry.level = level as u8;
        entry.slot = slot as u8;
        entry.previous = NONE;
        entry.next = head;
        if head != NONE {
            self.entries[head as usize].previous = index;
        }
        self.levels[level as usize].heads[slot] = index;
        self.levels[level as usize].occupied |= 1 << slot;
    }

    fn unlink(&mut self, index: u32) {
        let entry = &self.entries[index as usize];
        let (previous, next) = (entry.previous, entry.next);
        let (level, slot) = (usize::from(entry.level), usize::from(entry.slot));
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if previous != NONE {
            self.entries[previous as usize].next = next;
            return;
        }
        self.levels[level].heads[slot] = next;
        if next == NONE {
            self.levels[level].occupied &= !(1 << slot);
        }
    }

    fn allocate(&mut self, when: u64, payload: T) -> u32 {
        if self.free == NONE {
            self.entries.push(Entry {
                when,
                payload: Some(payload),
                generation: 0,
                previous: NONE,
                next: NONE,
                level: 0,
                slot: 0,
            });
            return (self.entries.len() - 1) as u32;
        }
        let index = self.free;
        let entry = &mut self.entries[index as usize];
        self.free = entry.next;
        entry.when = when;
        entry.payload = Some(payload);
        index
    }

    fn release(&mut self, index: u32) -> Option<T> {
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.next = self.free;
        self.free = index;
        entry.payload.take()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u64),
        Cancel(usize),
        Advance(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let ahead = prop_oneof![0..3_u64, 0..70_u64, 0..5_000_u64, 0..(1_u64 << 33)];
        let jump = prop_oneof![0..3_u64, 0..200_u64, 0..300_000_u64, 0..(1_u64 << 32)];
        let step = prop_oneof![
            4 => ahead.prop_map(Step::Insert),
            1 => (0..1000_usize).prop_map(Step::Cancel),
            2 => jump.prop_map(Step::Advance),
        ];
        proptest::collection::vec(step, 1..200)
    }

    proptest! {
        #[test]
        fn a_wheel_fires_what_a_sorted_list_would(start in 0..(1_u64 << 40), steps in steps()) {
            let mut wheel = Wheel::new(start);
            let mut list: BTreeMap<u64, u64> = BTreeMap::new();
            let mut keys = Vec::new();
            let mut now = start;
            for step in steps {
                match step {
                    Step::Insert(ahead) => {
                        let when = (now + ahead).max(now + 1);
                        keys.push(wheel.insert(now + ahead, keys.len() as u64));
                        list.insert(keys.len() as u64 - 1, when);
                    }
                    Step::Cancel(at) if !keys.is_empty() => {
                        let at = at % keys.len();
                        let expected = list.remove(&(at as u64)).map(|_| at as u64);
                        prop_assert_eq!(wheel.cancel(keys[at]), expected);
                    }
                    Step::Cancel(_) => {}
                    Step::Advance(by) => {
                        now += by;
                        let mut fired = Vec::new();
                        wheel.advance(now, |id| fired.push(id));
                        fired.sort_unstable();
                        let due: Vec<u64> =
                            list.iter().filter(|(_, w)| **w <= now).map(|(id, _)| *id).collect();
                        list.retain(|_, when| *when > now);
                        prop_assert_eq!(fired, due);
                    }
                }
                let first = list.values().min().copied();
                let next = wheel.next_tick();
                prop_assert_eq!(next.is_none(), first.is_none());
                if let (Some(next), Some(first)) = (next, first) {
                    prop_assert!(next <= first, "next {} after first {}", next, first);
                }
            }
        }
    }
}
