//! A doubly linked list of timers, as both baselines have it: entries in an arena, so that one is
//! taken out by its key without a walk. The baselines' authors had objects on a heap with two
//! pointers each; the arena is smaller and in their favour.

use super::contender::Alarm;

const NONE: u32 = u32::MAX;

/// Names an entry; a stale key names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    index: u32,
    generation: u32,
}

struct Entry {
    due_ns: u64,
    alarm: Option<Alarm>,
    generation: u32,
    previous: u32,
    next: u32,
}

/// The list.
pub struct List {
    entries: Vec<Entry>,
    free: u32,
    head: u32,
    tail: u32,
}

impl List {
    /// An empty list.
    pub fn new() -> List {
        List { entries: Vec::new(), free: NONE, head: NONE, tail: NONE }
    }

    /// Adds an entry before all others.
    pub fn push_front(&mut self, due_ns: u64, alarm: Alarm) -> Key {
        self.insert_behind(NONE, due_ns, alarm)
    }

    /// Adds an entry behind the last one that is not due later, which is looked for from the end.
    pub fn insert_in_order(&mut self, due_ns: u64, alarm: Alarm) -> Key {
        let mut before = self.tail;
        while before != NONE && self.entries[before as usize].due_ns > due_ns {
            before = self.entries[before as usize].previous;
        }
        self.insert_behind(before, due_ns, alarm)
    }

    /// Takes an entry out, unless it is gone.
    pub fn remove(&mut self, key: Key) -> Option<Alarm> {
        let entry = self.entries.get(key.index as usize)?;
        if entry.generation != key.generation || entry.alarm.is_none() {
            return None;
        }
        self.take(key.index)
    }

    /// When the first entry is due.
    pub fn first_due(&self) -> Option<u64> {
        self.entries.get(self.head as usize).map(|entry| entry.due_ns)
    }

    /// Takes the first entry out.
    pub fn pop_front(&mut self) -> Option<Alarm> {
        if self.head == NONE { None } else { self.take(self.head) }
    }

    /// Walks the whole list and takes out all that is due at `now_ns`. Answers when the first of
    /// the others is.
    pub fn sweep(&mut self, now_ns: u64, fired: &mut Vec<Alarm>) -> Option<u64> {
        let (mut index, mut first) = (self.head, None);
        while index != NONE {
            let entry = &self.entries[index as usize];
            let (due_ns, next) = (entry.due_ns, entry.next);
            if due_ns <= now_ns {
                fired.extend(self.take(index));
            } else if first.is_none_or(|first| due_ns < first) {
                first = Some(due_ns);
            }
            index = next;
        }
        first
    }

    fn insert_behind(&mut self, before: u32, due_ns: u64, alarm: Alarm) -> Key {
        let index = self.allocate(due_ns, alarm);
        let after = match self.entries.get(before as usize) {
            Some(entry) => entry.next,
            None => self.head,
        };
        let entry = &mut self.entries[index as usize];
        (entry.previous, entry.next) = (before, after);
        let generation = entry.generation;
        self.join(before, index);
        self.join(index, after);
        Key { index, generation }
    }

    /// Makes `after` follow `before`; either may be the end of the list.
    fn join(&mut self, before: u32, after: u32) {
        match self.entries.get_mut(before as usize) {
            Some(entry) => entry.next = after,
            None => self.head = after,
        }
        match self.entries.get_mut(after as usize) {
            Some(entry) => entry.previous = before,
            None => self.tail = before,
        }
    }

    fn allocate(&mut self, due_ns: u64, alarm: Alarm) -> u32 {
        let alarm = Some(alarm);
        if self.free == NONE {
            let (generation, previous, next) = (0, NONE, NONE);
            self.entries.push(Entry { due_ns, alarm, generation, previous, next });
            return (self.entries.len() - 1) as u32;
        }
        let index = self.free;
        let entry = &mut self.entries[index as usize];
        self.free = entry.next;
        (entry.due_ns, entry.alarm) = (due_ns, alarm);
        index
    }

    fn take(&mut self, index: u32) -> Option<Alarm> {
        let entry = &self.entries[index as usize];
        self.join(entry.previous, entry.next);
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.next = self.free;
        self.free = index;
        entry.alarm.take()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::contender::Sink;
    use super::*;

    fn alarm(sink: &Arc<Sink>) -> Alarm {
        Alarm::of(sink, 0)
    }

    #[test]
    fn an_ordered_list_gives_the_first_first_whatever_the_order_of_insertion() {
        let (sink, mut list) = (Sink::new().unwrap(), List::new());
        let keys: Vec<Key> =
            [30, 10, 20, 10].map(|due| list.insert_in_order(due, alarm(&sink))).to_vec();
        assert!(list.remove(keys[2]).is_some() && list.remove(keys[2]).is_none());
        let mut order = Vec::new();
        while let Some(due) = list.first_due() {
            order.push(due);
            assert!(list.pop_front().is_some());
        }
        assert_eq!(order, [10, 10, 30]);
        assert!(list.remove(keys[0]).is_none() && list.pop_front().is_none());
        // A place is used again, under another key.
        let again = list.push_front(5, alarm(&sink));
        assert!(!keys.contains(&again) && list.first_due() == Some(5));
    }

    #[test]
    fn a_sweep_takes_all_that_is_due_and_finds_the_next() {
        let (sink, mut list) = (Sink::new().unwrap(), List::new());
        for due in [50, 10, 40, 20, 30] {
            list.push_front(due, alarm(&sink));
        }
        let mut fired = Vec::new();
        assert_eq!(list.sweep(25, &mut fired), Some(30));
        assert_eq!((fired.len(), list.first_due()), (2, Some(30)));
        assert_eq!(list.sweep(99, &mut fired), None);
        assert_eq!((fired.len(), list.first_due()), (5, None));
    }
}
