//! A lane: the messages of one queue and priority in the order of sending, and how far they have
//! been handed out. Pure arithmetic; the table `lane` is its image.

use slipring::Priority;

use crate::position::{SEQ_MAX, position};

/// One lane. Places after `cursor_seq` up to `tail_seq` are ready, except `holes` of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) id: u64,
    /// `None` for the lane that only numbers messages whose priority has no lane.
    pub(crate) priority: Option<Priority>,
    /// The last place that was given away.
    pub(crate) tail_seq: u64,
    /// The bytes of all messages of the log up to the tail.
    pub(crate) tail_bytes: u64,
    /// The last place that was handed out.
    pub(crate) cursor_seq: u64,
    /// The bytes of all messages of the log up to the cursor.
    pub(crate) cursor_bytes: u64,
    /// Places after the cursor whose message is not in the log.
    pub(crate) holes: u64,
    /// Bytes after the cursor that belong to messages no longer in the log.
    pub(crate) hole_bytes: u64,
    /// Messages of the log under lease.
    pub(crate) leased: u64,
    /// Their bytes.
    pub(crate) leased_bytes: u64,
    /// When the last message was sent, as far as known.
    pub(crate) last_sent: u64,
    /// Whether the table is behind in a way that the messages themselves do not show.
    pub(crate) dirty: bool,
}

impl Lane {
    pub(crate) fn new(id: u64, priority: Option<Priority>) -> Lane {
        Lane {
            id,
            priority,
            tail_seq: 0,
            tail_bytes: 0,
            cursor_seq: 0,
            cursor_bytes: 0,
            holes: 0,
            hole_bytes: 0,
            leased: 0,
            leased_bytes: 0,
            last_sent: 0,
            dirty: false,
        }
    }

    /// Messages of the log that are ready.
    pub(crate) fn ready(&self) -> u64 {
        (self.tail_seq - self.cursor_seq).saturating_sub(self.holes)
    }

    /// Their bytes.
    pub(crate) fn ready_bytes(&self) -> u64 {
        (self.tail_bytes - self.cursor_bytes).saturating_sub(self.hole_bytes)
    }

    /// Whether the log has no message of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.ready() == 0 && self.leased == 0
    }

    /// Whether one more message has a place.
    pub(crate) fn has_room(&self) -> bool {
        self.tail_seq < SEQ_MAX
    }

    /// The position of the cursor.
    pub(crate) fn cursor(&self) -> u64 {
        position(self.id, self.cursor_seq)
    }

    /// The position of the tail.
    pub(crate) fn tail(&self) -> u64 {
        position(self.id, self.tail_seq)
    }

    /// The next position, for a message of the log of so many bytes. The table needs no update:
    /// the row of the message shows the new tail.
    pub(crate) fn append(&mut self, bytes: u64, sent: u64) -> u64 {
        self.tail_seq += 1;
        self.tail_bytes += bytes;
        self.last_sent = sent;
        self.tail()
    }

    /// The next position, for a message that is not in the log.
    pub(crate) fn number(&mut self, sent: u64) -> u64 {
        self.tail_seq += 1;
        self.holes += 1;
        self.last_sent = sent;
        self.dirty = true;
        self.close_up();
        self.tail()
    }

    /// Moves the cursor to the next message of the log, which is at `seq`, has `bytes` and
    /// `bytes_sum` with all before it.
    pub(crate) fn pass(&mut self, seq: u64, bytes: u64, bytes_sum: u64) {
        self.holes = self.holes.saturating_sub(seq.saturating_sub(self.cursor_seq + 1));
        let skipped = bytes_sum.saturating_sub(self.cursor_bytes + bytes);
        self.hole_bytes = self.hole_bytes.saturating_sub(skipped);
        self.cursor_seq = seq;
        self.cursor_bytes = bytes_sum;
        self.dirty = true;
        self.close_up();
    }

    /// As [`Lane::pass`], and the message is now leased.
    pub(crate) fn hand_out(&mut self, seq: u64, bytes: u64, bytes_sum: u64) {
        self.pass(seq, bytes, bytes_sum);
        self.leased += 1;
        self.leased_bytes += bytes;
    }

    /// A leased message of so many bytes leaves the log.
    pub(crate) fn end_lease(&mut self, bytes: u64) {
        self.leased = self.leased.saturating_sub(1);
        self.leased_bytes = self.leased_bytes.saturating_sub(bytes);
        self.dirty = true;
    }

    /// A ready message of so many bytes leaves the log from the middle.
    pub(crate) fn cut_out(&mut self, bytes: u64) {
        self.holes += 1;
        self.hole_bytes += bytes;
        self.dirty = true;
        self.close_up();
    }

    /// With nothing ready the cursor stands at the tail.
    fn close_up(&mut self) {
        if self.ready() == 0 {
            self.cursor_seq = self.tail_seq;
            self.cursor_bytes = self.tail_bytes;
            self.holes = 0;
            self.hole_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_messages_and_bytes_are_what_lies_between_cursor_and_tail() {
        let mut lane = Lane::new(3, Some(Priority(0)));
        for bytes in [10, 20, 30, 40] {
            lane.append(bytes, 1);
        }
        assert!(!lane.dirty, "an append needs no update");
        assert_eq!((lane.ready(), lane.ready_bytes()), (4, 100));
        lane.cut_out(20);
        assert_eq!((lane.ready(), lane.ready_bytes()), (3, 80));
        lane.hand_out(1, 10, 10);
        lane.hand_out(3, 30, 60);
        assert_eq!((lane.ready(), lane.ready_bytes(), lane.holes), (1, 40, 0));
        assert_eq!((lane.leased, lane.leased_bytes), (2, 40));
        lane.end_lease(30);
        assert_eq!((lane.leased, lane.leased_bytes), (1, 10));
    }

    #[test]
    fn a_drained_lane_has_no_holes() {
        let mut lane = Lane::new(0, None);
        assert_eq!(lane.number(5), 1);
        assert_eq!((lane.ready(), lane.cursor_seq, lane.holes), (0, 1, 0));
        lane.append(7, 6);
        lane.number(6);
        assert_eq!((lane.ready(), lane.holes), (1, 1));
        lane.cut_out(7);
        assert_eq!((lane.ready(), lane.ready_bytes()), (0, 0));
        assert_eq!((lane.cursor_seq, lane.holes, lane.hole_bytes), (3, 0, 0));
    }
}
