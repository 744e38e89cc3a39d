//! Slots: where messages with far delays wait, in the order in which they were sent.
//!
//! In its exact place a message would stand on a page of the index of its own, for neighbours in
//! time of sending are none in time of delivery; a slot takes all that end within the same part of
//! the future, so that a batch writes a few pages. A slot is opened some time before it begins:
//! its messages get their exact turns, and all else about them is as if they had always had them.
//! This is a timing wheel whose slots are wider the further away they are.
//!
//! The invariants: a message of a slot is not due before the slot begins; no slot begins before
//! [`Picture::far_from`] where that is known; a send uses no slot that is to be opened already.

use rusqlite::params;
use slipring::{QueueId, Timestamp};

use crate::fault::Outcome;
use crate::picture::Picture;
use crate::position::{from_sql, to_sql};
use crate::room::Room;
use crate::statements::{Query, Statements};
use crate::writer::Writer;

/// Turns of slots begin here, and have the first moment of the slot above. It is beyond all
/// moments that a clock shows.
pub(crate) const SLOTS: u64 = 1 << 62;

/// Delays that are shorter are exact.
const NEAR_MS: u64 = 1 << 20;
/// A slot is at most so small a part of the delay at the send wide (in powers of two).
const PART_LOG: u32 = 2;
/// A slot is opened so long before it begins. Shorter than three quarters of [`NEAR_MS`], so that
/// every slot lies ahead of its opening when a message is sent to it.
const OPEN_AHEAD_MS: u64 = 600_000;
/// While a queue has fewer delayed messages than this they are exact: their part of the index is
/// so small that a batch finds its pages together.
const EXACT_MIN: u64 = 10_000;
/// When slots are first used, so many of the messages with exact turns are due before all slots,
/// so that looks and kicks find what is due first without a slot.
const EXACT_FIRST: u64 = 100;
/// A larger message is exact: its own pages outweigh that of the index.
const BYTES_MAX: u64 = 2048;
/// One pass opens so much of a slot.
const OPEN_MESSAGES_MAX: u64 = 250;
/// A slot is opened ahead of its time in passes so far apart, so that others are served between.
const OPEN_EVERY_MS: u64 = 10;

/// What is delayed in a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delays {
    /// When the first message with an exact turn is due.
    pub(crate) exact: Option<u64>,
    /// When the first slot begins that is not empty.
    pub(crate) slot: Option<u64>,
}

impl Delays {
    pub(crate) fn of(db: &Statements<'_>, queue: QueueId) -> Outcome<Delays> {
        let values = [to_sql(queue.0), to_sql(SLOTS)];
        let exact = db.first(Query::NextDue, values, |row| row.get::<_, Option<i64>>(0))?;
        let exact = exact.flatten().map(from_sql);
        Ok(Delays { exact, slot: next_slot(db, queue, 0)? })
    }

    /// When the first slot is to be opened: some time before it begins, and at once where no exact
    /// turn is before it, so that what is due first need not be looked for in the slot for long.
    fn opens_at(&self) -> Option<u64> {
        let start = self.slot?;
        let led = self.exact.is_some_and(|exact| exact < start);
        Some(if led { start.saturating_sub(OPEN_AHEAD_MS) } else { 0 })
    }

    /// When there is something to do.
    pub(crate) fn next(&self) -> Option<u64> {
        [self.exact, self.opens_at()].into_iter().flatten().min()
    }

    /// The same after a pass at a moment that has opened so many messages.
    pub(crate) fn next_after(&self, now_ms: u64, opened: u64) -> Option<u64> {
        let late = opened > 0 && self.slot.is_some_and(|start| start <= now_ms);
        let earliest = if late { now_ms } else { now_ms.saturating_add(OPEN_EVERY_MS) };
        let opens_at = self.opens_at().map(|at| at.max(earliest));
        [self.exact, opens_at].into_iter().flatten().min()
    }
}

/// When the first slot begins that is not empty, of those that begin at a moment or later.
pub(crate) fn next_slot(db: &Statements<'_>, queue: QueueId, from: u64) -> Outcome<Option<u64>> {
    let values = [to_sql(queue.0), slot_turn(from)];
    let turn = db.first(Query::NextSlot, values, |row| row.get::<_, Option<i64>>(0))?;
    Ok(turn.flatten().map(|turn| from_sql(turn) - SLOTS))
}

/// The turn of the messages of a slot.
pub(crate) fn slot_turn(start_ms: u64) -> i64 {
    to_sql(SLOTS.saturating_add(start_ms))
}

/// When the slot begins that a message is for; `None` when its delay is short, or has no end that
/// a clock shows.
fn slot_of(due_ms: u64, now_ms: u64) -> Option<u64> {
    let delay_ms = due_ms.checked_sub(now_ms).filter(|ms| *ms >= NEAR_MS)?;
    let width_log = delay_ms.ilog2().checked_sub(PART_LOG)?;
    (due_ms < SLOTS).then_some((due_ms >> width_log) << width_log)
}

/// When a slot that begins at a moment is opened.
pub(crate) fn opens_at(start_ms: u64) -> Timestamp {
    Timestamp::from_millis(start_ms.saturating_sub(OPEN_AHEAD_MS))
}

impl Writer<'_> {
    /// When the slot begins in which a message that is sent will wait; `None` when its turn is
    /// exact.
    pub(crate) fn slot_for(
        &mut self,
        picture: &mut Picture,
        bytes: u64,
        due: Timestamp,
        now: Timestamp,
    ) -> Outcome<Option<u64>> {
        if picture.items.delayed < EXACT_MIN {
            picture.far_from = None;
            return Ok(None);
        }
        let start = slot_of(due.as_millis(), now.as_millis()).filter(|_| bytes <= BYTES_MAX);
        let Some(start) = start else { return Ok(None) };
        let from = match picture.far_from {
            Some(from) => from,
            None => self.far_from(picture.id())?,
        };
        picture.far_from = Some(from);
        Ok((due.as_millis() >= from).then_some(start.max(from)))
    }

    /// From when on the messages of a queue may be in slots.
    fn far_from(&mut self, queue: QueueId) -> Outcome<u64> {
        if let Some(start) = next_slot(&self.db, queue, 0)? {
            return Ok(start);
        }
        let values = params![to_sql(queue.0), to_sql(SLOTS), to_sql(EXACT_FIRST - 1)];
        let last = self.db.first(Query::NthDue, values, |row| row.get::<_, i64>(0))?;
        Ok(last.map_or(u64::MAX, |due| from_sql(due).saturating_add(1)))
    }

    /// Opens a part of the first slot of a queue, if it is time; answers how many of its messages,
    /// at most so many.
    pub(crate) fn open_in_time(
        &mut self,
        queue: QueueId,
        now: Timestamp,
        messages_max: u64,
    ) -> Outcome<u64> {
        let delays = Delays::of(&self.db, queue)?;
        match (delays.slot, delays.opens_at()) {
            (Some(start), Some(at)) if at <= now.as_millis() => {
                if let Some(picture) = self.picture(queue)? {
                    picture.lock().far_from = None;
                }
                let mut room = Room::new(messages_max.min(OPEN_MESSAGES_MAX));
                self.open_slot(queue, start, &mut room)
            }
            _ => Ok(0),
        }
    }

    /// Gives messages of a slot their exact turns, as far as there is room; answers how many. The
    /// caller lets [`Picture::far_from`] be found again. Counts stay as they are.
    pub(crate) fn open_slot(
        &mut self,
        queue: QueueId,
        start_ms: u64,
        room: &mut Room,
    ) -> Outcome<u64> {
        // Exact turns take more pages; lapses and hand-outs need theirs more.
        let limit = room.messages().min(self.lapses_may_grow()?);
        let values = params![to_sql(queue.0), slot_turn(start_ms), to_sql(limit)];
        let ids = self.db.all(Query::SlotIds, values, |row| row.get::<_, i64>(0))?;
        let mut opened = 0;
        for id in ids {
            if !room.is_left() {
                break;
            }
            opened += self.db.execute(Query::OpenSlotItem, [id])? as u64;
            room.take(BYTES_MAX);
        }
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_holds_what_is_due_later_and_is_opened_later_than_sent_to() {
        let now = 1_700_000_000_123;
        assert_eq!(slot_of(now + NEAR_MS - 1, now), None);
        for log in 20..43 {
            for part in 0..64 {
                let delay = (1_u64 << log) + (part << (log - 6)) + 7;
                let (due, start) = (now + delay, slot_of(now + delay, now).unwrap());
                assert!(start <= due, "delay {delay}");
                assert!(due - start <= delay / 4, "delay {delay}");
                assert!(start - OPEN_AHEAD_MS > now, "delay {delay}");
            }
        }
        assert_eq!(slot_of(SLOTS, now), None);
        assert_eq!(slot_of(u64::MAX, 0), None);
    }

    #[test]
    fn a_slot_is_opened_ahead_and_at_once_where_nothing_exact_is_before_it() {
        let delays = |exact, slot| Delays { exact, slot };
        let start = 10 * OPEN_AHEAD_MS;
        assert_eq!(delays(None, None).next(), None);
        assert_eq!(delays(Some(5), None).next(), Some(5));
        assert_eq!(delays(Some(5), Some(start)).next(), Some(5));
        let led = delays(Some(start - 1), Some(start));
        assert_eq!(led.next(), Some(start - OPEN_AHEAD_MS));
        assert_eq!(delays(Some(start), Some(start)).next(), Some(0));
        assert_eq!(delays(None, Some(start)).next(), Some(0));
        // With time in hand passes are apart; what is late goes on at once, if it goes on at all.
        let early = start - OPEN_AHEAD_MS + 1;
        assert_eq!(led.next_after(early, 250), Some(early + OPEN_EVERY_MS));
        assert_eq!(delays(None, Some(start)).next_after(start, 250), Some(start));
        let stuck = delays(None, Some(start)).next_after(start, 0);
        assert_eq!(stuck, Some(start + OPEN_EVERY_MS));
    }
}
