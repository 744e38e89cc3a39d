//! Peek and look-up: messages in order of their state, read without taking them.

use std::collections::VecDeque;

use rusqlite::params;
use slipring::deal::Standing;
use slipring::{
    FailedAttempt, Message, MessageId, MessageState, PeekFilter, Peeked, Priority, QueueId,
    Timestamp,
};

use crate::fault::Outcome;
use crate::feed::read_log;
use crate::image;
use crate::item::{
    ItemHead, LogMessage, read_failures, read_log_message, read_message, standing_turns,
    state_number,
};
use crate::lane::Lane;
use crate::lease::Terms;
use crate::position::{SEQ_MAX, from_sql, lane_of, position, seq_of, to_sql};
use crate::reader::Reader;
use crate::slots::{SLOTS, next_slot, slot_turn};
use crate::statements::Query;

/// A peek shows no more messages once it has shown so many bytes of each kind.
const PEEK_BYTES_MAX: u64 = 16 << 20;

/// A message with what orders it among those of its state.
struct Shown {
    order: (u64, u64),
    peeked: Peeked,
}

impl Reader<'_> {
    /// Messages in hand-out order, then the delayed by due time, the leased by deadline, the
    /// parked by priority.
    pub(crate) fn peek(&mut self, queue: QueueId, filter: PeekFilter) -> Outcome<Vec<Peeked>> {
        self.is_fifo(queue)?;
        let limit = filter.limit as usize;
        let lanes = image::lanes(&self.db, queue)?;
        let mut all = Vec::new();
        for state in
            [MessageState::Ready, MessageState::Delayed, MessageState::Leased, MessageState::Parked]
        {
            let left = limit.saturating_sub(all.len());
            if left == 0 || filter.state.is_some_and(|only| only != state) {
                continue;
            }
            let mut shown = Vec::new();
            match state {
                // In one order, whatever their standing.
                MessageState::Ready => {
                    for standing in Standing::ALL {
                        let turns = standing_turns(standing);
                        self.rows_of(queue, state, turns, left, &mut shown)?;
                    }
                }
                MessageState::Delayed => self.delayed(queue, left, &mut shown)?,
                _ => {
                    self.rows_of(queue, state, (0, i64::MAX), left, &mut shown)?;
                }
            }
            match state {
                MessageState::Ready => self.ready_of_log(queue, &lanes, left, &mut shown)?,
                MessageState::Leased => self.leased_of_log(queue, &lanes, left, &mut shown)?,
                MessageState::Delayed | MessageState::Parked => {}
            }
            shown.sort_by_key(|shown| (shown.order, shown.peeked.message.id));
            all.extend(shown.into_iter().take(left).map(|shown| shown.peeked));
        }
        Ok(all)
    }

    fn rows_of(
        &mut self,
        queue: QueueId,
        state: MessageState,
        (first, last): (i64, i64),
        limit: usize,
        shown: &mut Vec<Shown>,
    ) -> Outcome<u64> {
        let limit = to_sql(limit as u64);
        let values = params![to_sql(queue.0), state_number(state), first, last, limit];
        self.show_rows(Query::ItemsOfState, values, first, shown)
    }

    /// Delayed messages: those whose turn is exact, and of the slots those that begin before the
    /// last one that is shown.
    fn delayed(&mut self, queue: QueueId, limit: usize, shown: &mut Vec<Shown>) -> Outcome<()> {
        let exact = (0, to_sql(SLOTS) - 1);
        let mut bytes = self.rows_of(queue, MessageState::Delayed, exact, limit, shown)?;
        let mut from = 0;
        while let Some(start) = next_slot(&self.db, queue, from)? {
            let last = shown.get(limit.saturating_sub(1));
            if bytes >= PEEK_BYTES_MAX || last.is_some_and(|last| last.order.0 < start) {
                break;
            }
            let values = params![to_sql(queue.0), slot_turn(start), to_sql(limit as u64)];
            bytes += self.show_rows(Query::ItemsOfSlot, values, 0, shown)?;
            shown.sort_by_key(|shown| (shown.order, shown.peeked.message.id));
            shown.truncate(limit);
            from = start.saturating_add(1);
        }
        Ok(())
    }

    /// Adds what a query finds; answers the bytes of it.
    fn show_rows(
        &mut self,
        query: Query,
        values: impl rusqlite::Params,
        first: i64,
        shown: &mut Vec<Shown>,
    ) -> Outcome<u64> {
        let mut statement = self.db.get(query)?;
        let mut rows = statement.query(values)?;
        let mut bytes = 0;
        while let Some(row) = rows.next()?
            && bytes < PEEK_BYTES_MAX
        {
            let (head, message) = read_message(row)?;
            let turn: i64 = row.get(3)?;
            let order = (from_sql(turn - first), from_sql(row.get(14)?));
            let failures = read_failures(row)?;
            bytes += head.bytes + text_bytes(&failures);
            shown.push(Shown { order, peeked: peeked(&head, message, failures) });
        }
        Ok(bytes)
    }

    fn ready_of_log(
        &mut self,
        queue: QueueId,
        lanes: &[Lane],
        limit: usize,
        shown: &mut Vec<Shown>,
    ) -> Outcome<()> {
        let mut left = limit as u64;
        for lane in lanes.iter().filter(|lane| lane.ready() > 0) {
            if left == 0 {
                break;
            }
            let priority = lane.priority.unwrap_or_default();
            let mut log = VecDeque::new();
            let bounds = [lane.cursor(), lane.tail(), left];
            read_log(&self.db, bounds, priority, PEEK_BYTES_MAX, &mut log)?;
            left -= (log.len() as u64).min(left);
            shown.extend(log.into_iter().map(|log| Shown {
                order: (u64::from(priority.0), log.sent),
                peeked: free(queue, log),
            }));
        }
        Ok(())
    }

    fn leased_of_log(
        &mut self,
        queue: QueueId,
        lanes: &[Lane],
        limit: usize,
        shown: &mut Vec<Shown>,
    ) -> Outcome<()> {
        let mut leases = Vec::new();
        for lane in lanes.iter().filter(|lane| lane.leased > 0) {
            let values = [position(lane.id, 0), position(lane.id, SEQ_MAX), limit as u64];
            let of_lane = self.db.all(Query::LeasesInOrder, values.map(to_sql), |row| {
                let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
                Ok((number(3)?, number(0)?, number(1)?, number(2)?, row.get::<_, bool>(4)?))
            })?;
            let priority = lane.priority.unwrap_or_default();
            leases.extend(of_lane.into_iter().map(|lease| (lease, priority)));
        }
        leases.sort_unstable();
        let mut left = limit as u64;
        for ((deadline_ms, first, last, leased_ms, session), priority) in leases {
            if left == 0 {
                break;
            }
            let terms = Terms { leased_ms, deadline_ms, session };
            let mut log = VecDeque::new();
            let bounds = [first.saturating_sub(1), last, left];
            read_log(&self.db, bounds, priority, PEEK_BYTES_MAX, &mut log)?;
            left -= (log.len() as u64).min(left);
            shown.extend(log.into_iter().map(|log| Shown {
                order: (deadline_ms, log.sent),
                peeked: leased(queue, log, terms),
            }));
        }
        Ok(())
    }

    /// One message, wherever it is.
    pub(crate) fn lookup(&mut self, id: MessageId) -> Outcome<Option<Peeked>> {
        let read = |row: &rusqlite::Row<'_>| Ok((read_message(row)?, read_failures(row)?));
        if let Some(((head, message), failures)) =
            self.db.first(Query::ItemMessage, [to_sql(id.0)], read)?
        {
            return Ok(self.gate_is_there(head.queue)?.then(|| peeked(&head, message, failures)));
        }
        let lane = self.db.first(Query::LaneById, [to_sql(lane_of(id.0))], |row| {
            let priority: Option<u32> = row.get(1)?;
            Ok((QueueId(from_sql(row.get(0)?)), priority, from_sql(row.get(2)?)))
        })?;
        let Some((queue, priority, cursor_seq)) = lane else { return Ok(None) };
        if !self.gate_is_there(queue)? {
            return Ok(None);
        }
        let priority = Priority(priority.unwrap_or(0));
        let bounds = [id.0.saturating_sub(1), id.0, 1].map(to_sql);
        let read = |row: &rusqlite::Row<'_>| read_log_message(row, priority);
        let Some(log) = self.db.first(Query::LogAfter, bounds, read)? else { return Ok(None) };
        if seq_of(id.0) > cursor_seq {
            return Ok(Some(free(queue, log)));
        }
        let terms = self.db.first(Query::LeaseAt, [to_sql(id.0)], |row| {
            let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
            let (leased_ms, deadline_ms) = (number(2)?, number(3)?);
            Ok(Terms { leased_ms, deadline_ms, session: row.get(4)? })
        })?;
        Ok(terms.map(|terms| leased(queue, log, terms)))
    }

    fn gate_is_there(&mut self, queue: QueueId) -> Outcome<bool> {
        match self.is_fifo(queue) {
            Ok(_) => Ok(true),
            Err(crate::fault::Fault::Refused(_)) => Ok(false),
            Err(fault) => Err(fault),
        }
    }
}

/// What the reasons of failures have together.
fn text_bytes(failures: &[FailedAttempt]) -> u64 {
    let reasons = failures.iter().filter_map(|failed| failed.reason.as_ref());
    reasons.map(|reason| reason.as_str().len() as u64).sum()
}

fn peeked(head: &ItemHead, message: Message, failures: Vec<FailedAttempt>) -> Peeked {
    let timed = matches!(head.state, MessageState::Delayed | MessageState::Leased);
    let until = timed.then(|| Timestamp::from_millis(head.until_ms));
    Peeked { queue: head.queue, message, state: head.state, until, failures }
}

fn free(queue: QueueId, log: LogMessage) -> Peeked {
    let (message, state) = (log.message, MessageState::Ready);
    Peeked { queue, message, state, until: None, failures: Vec::new() }
}

fn leased(queue: QueueId, log: LogMessage, terms: Terms) -> Peeked {
    let mut message = log.message;
    message.attempts = 1;
    message.first_received_at = Some(Timestamp::from_millis(terms.leased_ms));
    let until = Some(Timestamp::from_millis(terms.deadline_ms));
    Peeked { queue, message, state: MessageState::Leased, until, failures: Vec::new() }
}
