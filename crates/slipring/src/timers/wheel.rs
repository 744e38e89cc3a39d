//! A hierarchical timing wheel: pure data, no clock, no lock, no task.
//!
//! Five levels of 64 slots; a slot of level k is as wide as all of level k−1 (Varghese and Lauck,
//! 1987). Insert and cancel are O(1); an entry moves down at most four times. A bitmap per level
//! finds the next slot in one instruction. Ticks are abstract: [`super`] decides how long one is.
//!
//! Nothing takes long, however many entries there are: advancing stops after as many steps as it
//! is allowed, and entries lie in chunks, so that room for more is made without copying.

use std::ops::{Index, IndexMut};

const LEVELS: usize = 5;
const SLOTS: usize = 64;
const SLOT_BITS: u32 = 6;
/// Entries further ahead wait in the last slot of the top level and are sorted in again from
/// there. One slot short of a whole turn: an entry never shares the slot the wheel stands in
/// with entries of this turn.
const REACH_TICKS: u64 = (SLOTS as u64 - 1) << (SLOT_BITS * (LEVELS as u32 - 1));
const NONE: u32 = u32::MAX;
/// Entries of a chunk: 1 << CHUNK_BITS.
const CHUNK_BITS: u32 = 10;

/// Names an entry for cancelling; a stale key cancels nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerKey {
    index: u32,
    generation: u32,
}

/// The wheel. `T` is what is handed back when an entry's tick has come.
#[derive(Debug)]
pub(super) struct Wheel<T> {
    entries: Chunks<T>,
    free: u32,
    elapsed: u64,
    levels: [Level; LEVELS],
    /// The slot above the lowest level that the wheel stands in while its entries are moved down.
    /// They come before all others.
    moving: Option<(usize, usize)>,
}

/// Entries by index.
#[derive(Debug)]
struct Chunks<T>(Vec<Vec<Entry<T>>>);

impl<T> Chunks<T> {
    fn get(&self, index: u32) -> Option<&Entry<T>> {
        let chunk = self.0.get((index >> CHUNK_BITS) as usize)?;
        chunk.get(index as usize % (1 << CHUNK_BITS))
    }

    /// Adds one behind all others; answers its index.
    fn push(&mut self, entry: Entry<T>) -> u32 {
        match self.0.last_mut() {
            Some(last) if last.len() < 1 << CHUNK_BITS => last.push(entry),
            _ => {
                let mut chunk = Vec::with_capacity(1 << CHUNK_BITS);
                chunk.push(entry);
                self.0.push(chunk);
            }
        }
        let last = self.0.len() - 1;
        ((last << CHUNK_BITS) + self.0[last].len() - 1) as u32
    }
}

impl<T> Index<u32> for Chunks<T> {
    type Output = Entry<T>;

    fn index(&self, index: u32) -> &Entry<T> {
        &self.0[(index >> CHUNK_BITS) as usize][index as usize % (1 << CHUNK_BITS)]
    }
}

impl<T> IndexMut<u32> for Chunks<T> {
    fn index_mut(&mut self, index: u32) -> &mut Entry<T> {
        &mut self.0[(index >> CHUNK_BITS) as usize][index as usize % (1 << CHUNK_BITS)]
    }
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
            entries: Chunks(Vec::new()),
            free: NONE,
            elapsed,
            levels: [Level { occupied: 0, heads: [NONE; SLOTS] }; LEVELS],
            moving: None,
        }
    }

    /// Adds an entry for tick `when`; one that has passed fires with the next tick.
    pub fn insert(&mut self, when: u64, payload: T) -> TimerKey {
        let when = when.max(self.elapsed + 1);
        let index = self.allocate(when, payload);
        self.link(index);
        TimerKey { index, generation: self.entries[index].generation }
    }

    /// Takes an entry out again; `None` when it has fired or was cancelled before.
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        let entry = self.entries.get(key.index)?;
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

    /// Moves on towards tick `now` and hands back what has become due, in the order of ticks. Of
    /// the entries it fires or moves down at most `steps_max`; answers whether that was enough.
    pub fn advance(&mut self, now: u64, steps_max: usize, mut fire: impl FnMut(T)) -> bool {
        let mut steps = 0;
        while let Some((level, slot, tick)) = self.next_slot().filter(|next| next.2 <= now) {
            if steps == steps_max {
                return false;
            }
            steps += 1;
            self.elapsed = self.elapsed.max(tick);
            let index = self.levels[level].heads[slot];
            self.unlink(index);
            if self.entries[index].when <= tick {
                self.release(index).map(&mut fire);
            } else {
                self.link(index);
            }
            self.moving = (level > 0).then_some((level, slot));
        }
        self.moving = None;
        self.elapsed = self.elapsed.max(now);
        true
    }

    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        if let Some((level, slot)) = self.moving
            && self.levels[level].occupied & (1 << slot) != 0
        {
            return Some((level, slot, self.elapsed));
        }
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
        let when = self.entries[index].when;
        let reachable = when.min(self.elapsed + REACH_TICKS);
        let differing = (self.elapsed ^ reachable) | (SLOTS as u64 - 1);
        let level = ((63 - differing.leading_zeros()) / SLOT_BITS).min(LEVELS as u32 - 1);
        let slot = (reachable >> (SLOT_BITS * level)) as usize % SLOTS;
        let head = self.levels[level as usize].heads[slot];
        let entry = &mut self.entries[index];
        entry.level = level as u8;
        entry.slot = slot as u8;
        entry.previous = NONE;
        entry.next = head;
        if head != NONE {
            self.entries[head].previous = index;
        }
        self.levels[level as usize].heads[slot] = index;
        self.levels[level as usize].occupied |= 1 << slot;
    }

    fn unlink(&mut self, index: u32) {
        let entry = &self.entries[index];
        let (previous, next) = (entry.previous, entry.next);
        let (level, slot) = (usize::from(entry.level), usize::from(entry.slot));
        if next != NONE {
            self.entries[next].previous = previous;
        }
        if previous != NONE {
            self.entries[previous].next = next;
            return;
        }
        self.levels[level].heads[slot] = next;
        if next == NONE {
            self.levels[level].occupied &= !(1 << slot);
        }
    }

    fn allocate(&mut self, when: u64, payload: T) -> u32 {
        if self.free == NONE {
            return self.entries.push(Entry {
                when,
                payload: Some(payload),
                generation: 0,
                previous: NONE,
                next: NONE,
                level: 0,
                slot: 0,
            });
        }
        let index = self.free;
        let entry = &mut self.entries[index];
        self.free = entry.next;
        entry.when = when;
        entry.payload = Some(payload);
        index
    }

    fn release(&mut self, index: u32) -> Option<T> {
        let entry = &mut self.entries[index];
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
        /// Only so many steps.
        Part(u64, usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let ahead = prop_oneof![0..3_u64, 0..70_u64, 0..5_000_u64, 0..(1_u64 << 33)];
        let jump = prop_oneof![0..3_u64, 0..200_u64, 0..300_000_u64, 0..(1_u64 << 32)];
        let step = prop_oneof![
            4 => ahead.prop_map(Step::Insert),
            1 => (0..1000_usize).prop_map(Step::Cancel),
            2 => jump.clone().prop_map(Step::Advance),
            2 => (jump, 0..20_usize).prop_map(|(by, steps)| Step::Part(by, steps)),
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
                        let when = (now + ahead).max(wheel.elapsed + 1);
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
                        prop_assert!(wheel.advance(now, usize::MAX, |id| fired.push(id)));
                        fired.sort_unstable();
                        let due: Vec<u64> =
                            list.iter().filter(|(_, w)| **w <= now).map(|(id, _)| *id).collect();
                        list.retain(|_, when| *when > now);
                        prop_assert_eq!(fired, due);
                    }
                    Step::Part(by, steps) => {
                        now += by;
                        let mut fired = Vec::new();
                        let done = wheel.advance(now, steps, |id| fired.push(id));
                        prop_assert!(fired.len() <= steps);
                        for id in fired {
                            let when = list.remove(&id);
                            prop_assert!(when.is_some_and(|when| when <= now));
                            let first = list.values().min();
                            prop_assert!(first.is_none_or(|first| Some(*first) >= when));
                        }
                        prop_assert!(!done || list.values().all(|when| *when > now));
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
