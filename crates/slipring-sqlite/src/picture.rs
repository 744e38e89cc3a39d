//! What the writer keeps in memory of a queue: settings, lanes, open leases, counts. All of it
//! can be read from the file again, and is when the file was changed by another process.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipring::deal::PassedOver;
use slipring::{MessageState, Priority, QueueId, QueueInfo};

use crate::item::ItemHead;
use crate::lane::Lane;
use crate::lease::Lease;

/// Most priorities of a queue that have a lane of the log; messages of further priorities stand
/// in the table `item`. A priority that has none takes the place of one whose lane is empty.
pub(crate) const LANES_MAX: usize = 1024;

/// One queue.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) info: Arc<QueueInfo>,
    /// By priority, then by age.
    pub(crate) lanes: Vec<Lane>,
    /// Where the lane stood that was asked for last.
    pub(crate) last_lane: usize,
    /// Leases of the log by first position; those that were not touched yet may be missing.
    pub(crate) leases: BTreeMap<u64, Lease>,
    /// The first ready message of the log, as it was seen last.
    pub(crate) log_head: Option<LogHead>,
    pub(crate) items: ItemCount,
    pub(crate) items_dirty: bool,
    /// FIFO groups whose messages have changed, with the stamp of the receive that took from them,
    /// or 0; their rows are brought up to date before the next look.
    pub(crate) touched_groups: BTreeMap<i64, u64>,
    /// Messages that are due from this moment on may be in slots; no slot begins before it. `None`
    /// when it is not known.
    pub(crate) far_from: Option<u64>,
    /// Deduplication ids of messages with a stamp before this are forgotten.
    pub(crate) ids_from: u64,
    /// Whether the writer has noted to write back what is dirty.
    pub(crate) noted: bool,
}

/// The first ready message of a log. It is still that while the lane stands where it stood.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogHead {
    /// The position of the lane's cursor and the holes after it.
    pub(crate) stands: (u64, u64),
    /// The stamp of the message.
    pub(crate) sent: u64,
}

/// How many rows of the table `item` a queue has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ItemCount {
    pub(crate) ready: u64,
    pub(crate) urgent: u64,
    pub(crate) delayed: u64,
    pub(crate) leased: u64,
    pub(crate) parked: u64,
    pub(crate) bytes: u64,
    /// Deliveries since the last one of a failing message that went past such (S11.1).
    pub(crate) passed_over: PassedOver,
}

impl ItemCount {
    /// Rows in any state.
    pub(crate) fn total(&self) -> u64 {
        self.ready + self.delayed + self.leased + self.parked
    }

    fn of(&mut self, state: MessageState) -> &mut u64 {
        match state {
            MessageState::Delayed => &mut self.delayed,
            MessageState::Ready => &mut self.ready,
            MessageState::Leased => &mut self.leased,
            MessageState::Parked => &mut self.parked,
        }
    }

    fn add(&mut self, state: MessageState, priority: Priority, count: u64, bytes: u64) {
        *self.of(state) += count;
        self.bytes += bytes;
        if is_urgent(state, priority) {
            self.urgent += count;
        }
    }

    fn remove(&mut self, state: MessageState, priority: Priority, bytes: u64) {
        let of = self.of(state);
        *of = of.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        if is_urgent(state, priority) {
            self.urgent = self.urgent.saturating_sub(1);
        }
    }
}

fn is_urgent(state: MessageState, priority: Priority) -> bool {
    state == MessageState::Ready && priority < Priority::URGENT_BELOW
}

impl Picture {
    pub(crate) fn id(&self) -> QueueId {
        self.info.id
    }

    pub(crate) fn fifo(&self) -> bool {
        self.info.settings.fifo
    }

    /// The lane with a number, if it is one of this queue.
    pub(crate) fn lane(&mut self, id: u64) -> Option<&mut Lane> {
        // Mostly the one that was asked for last.
        if self.lanes.get(self.last_lane).is_none_or(|lane| lane.id != id) {
            self.last_lane = self.lanes.iter().position(|lane| lane.id == id)?;
        }
        self.lanes.get_mut(self.last_lane)
    }

    /// The best lane that has something ready.
    pub(crate) fn first_ready(&self) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.ready() > 0)
    }

    /// Where the youngest lane of a priority stands in [`Picture::lanes`].
    pub(crate) fn youngest(&self, priority: Option<Priority>) -> Option<usize> {
        let after = self.lanes.partition_point(|lane| lane.priority <= priority);
        let at = after.checked_sub(1)?;
        (self.lanes.get(at)?.priority == priority).then_some(at)
    }

    /// Adds a lane; answers where it stands.
    pub(crate) fn add_lane(&mut self, lane: Lane) -> usize {
        let key = |lane: &Lane| (lane.priority, lane.id);
        let at = self.lanes.partition_point(|other| key(other) < key(&lane));
        self.lanes.insert(at, lane);
        at
    }

    /// Whether one more priority may have a lane of the log.
    pub(crate) fn may_add_lane(&self) -> bool {
        if self.lanes.len() < LANES_MAX {
            return true;
        }
        let mut priorities: Vec<_> = self.lanes.iter().filter_map(|lane| lane.priority).collect();
        priorities.dedup();
        priorities.len() < LANES_MAX
    }

    /// Takes out the lane of a priority that has been without messages for longest.
    pub(crate) fn take_empty_lane(&mut self) -> Option<Lane> {
        let lanes = self.lanes.iter().enumerate();
        let empty = lanes.filter(|(_, lane)| lane.priority.is_some() && lane.is_empty());
        let (at, _) = empty.min_by_key(|(_, lane)| lane.last_sent)?;
        Some(self.lanes.remove(at))
    }

    /// Takes out lanes without messages that have a younger one of their priority, where what is
    /// sent gets its number; at most so many.
    pub(crate) fn take_outlived_lanes(&mut self, most: usize) -> Vec<Lane> {
        let priorities: Vec<_> = self.lanes.iter().map(|lane| lane.priority).collect();
        let mut next = priorities.into_iter().skip(1);
        let mut is_outlived =
            |lane: &mut Lane| next.next() == Some(lane.priority) && lane.is_empty();
        self.lanes.extract_if(.., &mut is_outlived).take(most).collect()
    }

    /// The stamp of the message that was sent last, as far as the file still shows.
    pub(crate) fn last_sent(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.last_sent).max().unwrap_or(0)
    }

    /// Messages in any state.
    pub(crate) fn total(&self) -> u64 {
        let log = self.lanes.iter().map(|lane| lane.ready() + lane.leased).sum::<u64>();
        log + self.items.total()
    }

    /// Bytes of all messages.
    pub(crate) fn bytes(&self) -> u64 {
        let log = self.lanes.iter().map(|lane| lane.ready_bytes() + lane.leased_bytes).sum::<u64>();
        log + self.items.bytes
    }

    /// Ready messages.
    pub(crate) fn ready(&self) -> u64 {
        self.lanes.iter().map(Lane::ready).sum::<u64>() + self.items.ready
    }

    /// Messages under lease.
    pub(crate) fn leased(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.leased).sum::<u64>() + self.items.leased
    }

    /// Counts a row of the table `item` that came into being or into this state.
    pub(crate) fn count_in(&mut self, item: &ItemHead) {
        self.items.add(item.state, item.priority, 1, item.bytes);
        self.touch_group(item);
        self.items_dirty = true;
    }

    /// Undoes [`Picture::count_in`]; the row must not have changed since.
    pub(crate) fn count_out(&mut self, item: &ItemHead) {
        self.items.remove(item.state, item.priority, item.bytes);
        self.touch_group(item);
        self.items_dirty = true;
    }

    /// Counts several equal rows at once, of a queue without groups.
    pub(crate) fn count_in_many(
        &mut self,
        state: MessageState,
        priority: Priority,
        count: u64,
        bytes: u64,
    ) {
        self.items.add(state, priority, count, bytes);
        self.items_dirty = true;
    }

    fn touch_group(&mut self, item: &ItemHead) {
        if let Some(group) = item.fifo_group {
            self.touched_groups.entry(group).or_default();
        }
    }
}
