//! Settlements: acks of the log delete ranges; whatever comes back becomes a row.

use std::sync::Arc;

use slipring::lifecycle::{self, Held, Next, Settlement};
use slipring::store::{SettleBatch, Settled};
use slipring::{Error, Fence, MessageState, Receipt, Timestamp};

use crate::claim::no_lane;
use crate::failures::failure_of;
use crate::fault::{Outcome, foreign, gone};
use crate::item::ItemHead;
use crate::lease::Lease;
use crate::picture::Picture;
use crate::position::{from_sql, lane_of, seq_of, to_sql};
use crate::rows::Leaving;
use crate::statements::Query;
use crate::writer::{Shared, Writer};

impl Writer<'_> {
    /// Ends leases, entry by entry.
    pub(crate) fn settle(&mut self, batch: &SettleBatch) -> Outcome<Vec<Result<Settled, Error>>> {
        let Some(picture) = self.picture(batch.queue)? else {
            let gone = |(receipt, _): &(Receipt, _)| Err(gone(receipt.message));
            return Ok(batch.entries.iter().map(gone).collect());
        };
        let picture = &mut *picture.lock();
        self.note(picture);
        self.promise(picture.info.settings.durability);
        let mut answers = Vec::with_capacity(batch.entries.len());
        let mut acked = Vec::new();
        for (receipt, settlement) in &batch.entries {
            if receipt.queue != batch.queue {
                answers.push(Err(foreign(receipt.message)));
                continue;
            }
            let position = receipt.message.0;
            let answer = match self.lease_over(picture, position)? {
                Some(first) => {
                    let lease = (first, position);
                    self.settle_in_log(picture, lease, receipt, settlement, batch.now, &mut acked)?
                }
                None => {
                    // What was acked above must be gone for who looks at the log.
                    self.delete_acked(&mut acked)?;
                    self.settle_item(picture, receipt, settlement, batch.now)?
                }
            };
            answers.push(answer.map_err(|error| error.with("message", receipt.message)));
        }
        self.delete_acked(&mut acked)?;
        Ok(answers)
    }

    /// The first position of the lease that covers a message of the log; `None` when it is in
    /// nobody's first lease.
    pub(crate) fn lease_over(
        &mut self,
        picture: &mut Picture,
        position: u64,
    ) -> Outcome<Option<u64>> {
        if let Some((first, lease)) = picture.leases.range(..=position).next_back()
            && position <= lease.last
        {
            return Ok(lease.bytes_at(position).map(|_| *first));
        }
        let Some(lane) = picture.lane(lane_of(position)) else { return Ok(None) };
        if seq_of(position) > lane.cursor_seq || lane.leased == 0 {
            return Ok(None);
        }
        let Some(lease) = self.read_lease(position)? else { return Ok(None) };
        let first = lease.first;
        let covers = lease.bytes_at(position).is_some();
        picture.leases.insert(first, lease);
        Ok(covers.then_some(first))
    }

    /// Reads the lease over a position with what is left of it.
    fn read_lease(&mut self, position: u64) -> Outcome<Option<Lease>> {
        let lease = self.db.first(Query::LeaseAt, [to_sql(position)], |row| {
            let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
            let terms = crate::lease::Terms {
                leased_ms: number(2)?,
                deadline_ms: number(3)?,
                session: row.get(4)?,
            };
            Ok((Lease::begin(number(0)?, terms), number(1)?))
        })?;
        let Some((mut lease, last)) = lease.filter(|(_, last)| position <= *last) else {
            return Ok(None);
        };
        let left = self.db.all(Query::LogSizes, [to_sql(lease.first), to_sql(last)], |row| {
            Ok((from_sql(row.get(0)?), from_sql(row.get(1)?)))
        })?;
        left.into_iter().for_each(|(position, bytes)| lease.add(position, bytes));
        lease.last = last;
        Ok(Some(lease))
    }

    fn settle_in_log(
        &mut self,
        picture: &mut Picture,
        (first, position): (u64, u64),
        receipt: &Receipt,
        settlement: &Settlement,
        now: Timestamp,
        acked: &mut Vec<u64>,
    ) -> Outcome<Result<Settled, Error>> {
        let info = Arc::clone(&picture.info);
        let Some(lease) = picture.leases.get(&first) else { return Err(no_lane(position)) };
        let held = Held {
            state: MessageState::Leased,
            fence: Fence(lease.fence()),
            deadline: Timestamp::from_millis(lease.deadline_ms),
            attempts: 1,
        };
        let leased_ms = lease.leased_ms;
        let jitter = self.jitter(settlement);
        let next = match lifecycle::settle(
            &held,
            receipt.fence,
            settlement,
            &info.settings,
            now,
            jitter,
        ) {
            Ok(next) => next,
            Err(error) => return Ok(Err(error)),
        };
        let bytes = self.end_lease_of(picture, first, position)?;
        if next == Next::Done {
            acked.push(position);
            return Ok(Ok(Settled::Done));
        }
        let lane = picture.lane(lane_of(position)).ok_or_else(|| no_lane(position))?;
        let mut leaving = Leaving::ready(lane.priority.unwrap_or_default(), 1, leased_ms);
        let failed = failure_of(settlement, false, 1, now);
        let one = position..position + 1;
        if next == Next::DeadLetter
            && let Some(target) = self.dead_letter_queue(picture)?
        {
            leaving = dead_letter(leaving, picture);
            let target = &mut *target.lock();
            self.log_to_items(target, one, bytes, &leaving)?;
            self.keep_failure(position, failed)?;
            return Ok(Ok(Settled::DeadLettered(target.id())));
        }
        let settled = enter(&mut leaving, next, now);
        if let Some(priority) = new_priority(settlement, next) {
            leaving.priority = priority;
        }
        self.log_to_items(picture, one, bytes, &leaving)?;
        self.keep_failure(position, failed)?;
        Ok(Ok(settled))
    }

    /// Takes a message out of its lease and its lane; answers its bytes.
    pub(crate) fn end_lease_of(
        &mut self,
        picture: &mut Picture,
        first: u64,
        position: u64,
    ) -> Outcome<u64> {
        let lease = picture.leases.get_mut(&first);
        let taken = lease.and_then(|lease| Some((lease.take(position)?, lease.left())));
        let (bytes, left) = taken.ok_or_else(|| no_lane(position))?;
        let lane = picture.lane(lane_of(position)).ok_or_else(|| no_lane(position))?;
        lane.end_lease(bytes);
        if left == 0 {
            picture.leases.remove(&first);
            self.db.execute(Query::DeleteLease, [to_sql(first)])?;
        }
        Ok(bytes)
    }

    /// Deletes messages that have left their leases, neighbours together.
    pub(crate) fn delete_acked(&mut self, acked: &mut Vec<u64>) -> Outcome<()> {
        acked.sort_unstable();
        for range in acked.chunk_by(|a, b| a + 1 == *b) {
            if let (Some(first), Some(last)) = (range.first(), range.last()) {
                self.delete_from_log(*first, *last, range.len() as u64)?;
            }
        }
        acked.clear();
        Ok(())
    }

    fn settle_item(
        &mut self,
        picture: &mut Picture,
        receipt: &Receipt,
        settlement: &Settlement,
        now: Timestamp,
    ) -> Outcome<Result<Settled, Error>> {
        let id = receipt.message;
        let Some(mut head) = self.item_head(id.0)?.filter(|head| head.queue == picture.id()) else {
            return Ok(Err(self.unheld(picture, receipt)?));
        };
        let info = Arc::clone(&picture.info);
        let jitter = self.jitter(settlement);
        let held = head.held();
        let next = match lifecycle::settle(
            &held,
            receipt.fence,
            settlement,
            &info.settings,
            now,
            jitter,
        ) {
            Ok(next) => next,
            Err(error) => return Ok(Err(error)),
        };
        self.keep_failure(id.0, failure_of(settlement, head.failed, head.attempts, now))?;
        Ok(Ok(match next {
            Next::Done => {
                self.delete_item(picture, &head)?;
                Settled::Done
            }
            Next::DeadLetter => self.give_up(picture, &mut head)?,
            _ => {
                let mut settled = Settled::Parked;
                self.change_item(picture, &mut head, |head| {
                    settled = enter_item(head, next, now);
                    if let Some(priority) = new_priority(settlement, next) {
                        head.priority = priority;
                    }
                    let nacked = matches!(settlement, Settlement::Nack { .. });
                    if nacked && settled == Settled::Ready {
                        head.delay_ms = 0;
                    }
                })?;
                settled
            }
        }))
    }

    /// The error for a receipt whose message is not leased: it was never handed out, or is gone.
    pub(crate) fn unheld(&mut self, picture: &mut Picture, receipt: &Receipt) -> Outcome<Error> {
        let position = receipt.message.0;
        let ours = picture.lane(lane_of(position)).is_some();
        if !ours || self.log_bytes(position)?.is_none() {
            return Ok(gone(receipt.message));
        }
        let never = Held {
            state: MessageState::Ready,
            fence: Fence(0),
            deadline: Timestamp::default(),
            attempts: 0,
        };
        let refused = lifecycle::check_valid(&never, receipt.fence, Timestamp::default());
        Ok(refused.err().unwrap_or_else(|| gone(receipt.message)))
    }

    /// Sends a row to the dead-letter queue, or parks it where there is none (S6.2).
    pub(crate) fn give_up(
        &mut self,
        picture: &mut Picture,
        head: &mut ItemHead,
    ) -> Outcome<Settled> {
        let Some(target) = self.dead_letter_queue(picture)? else {
            self.change_item(picture, head, |head| head.state = MessageState::Parked)?;
            return Ok(Settled::Parked);
        };
        let source = picture.info.name.clone();
        let target = &mut *target.lock();
        self.move_item(picture, target, head, |head| {
            let earlier_attempts = head.earlier_attempts.saturating_add(head.attempts);
            as_new(head);
            head.earlier_attempts = earlier_attempts;
            head.source = Some(source);
        })?;
        Ok(Settled::DeadLettered(target.id()))
    }

    /// The dead-letter queue of a queue, if it has one that is there and is not itself.
    pub(crate) fn dead_letter_queue(&mut self, picture: &Picture) -> Outcome<Option<Shared>> {
        let Some(name) = &picture.info.settings.dead_letter else { return Ok(None) };
        let id = self.queue_named(name)?.filter(|id| *id != picture.id());
        id.map_or(Ok(None), |id| self.picture(id))
    }

    /// A random number for a settlement that needs one.
    fn jitter(&self, settlement: &Settlement) -> f64 {
        match settlement {
            Settlement::Nack { delay: None, .. } => self.memory.randomness.unit(),
            _ => 0.0,
        }
    }
}

/// What moved messages have in their new queue: ready, never tried, their fence kept (S6.4).
pub(crate) fn as_new(head: &mut ItemHead) {
    head.state = MessageState::Ready;
    head.attempts = 0;
    head.earlier_attempts = 0;
    head.first_received_ms = None;
    head.source = None;
}

/// The same for a message that comes from the log of a queue.
pub(crate) fn dead_letter(leaving: Leaving, from: &Picture) -> Leaving {
    let source = Some(from.info.name.clone());
    let earlier_attempts = leaving.attempts;
    Leaving { attempts: 0, earlier_attempts, first_received_ms: None, source, ..leaving }
}

fn new_priority(settlement: &Settlement, next: Next) -> Option<slipring::Priority> {
    match settlement {
        Settlement::Nack { priority, .. } | Settlement::Park { priority }
            if next != Next::DeadLetter =>
        {
            *priority
        }
        _ => None,
    }
}

/// Brings a message of the log into its next state; a dead letter without a queue is parked.
pub(crate) fn enter(leaving: &mut Leaving, next: Next, now: Timestamp) -> Settled {
    match next {
        Next::Ready { attempts } => {
            leaving.state = MessageState::Ready;
            leaving.attempts = attempts;
            Settled::Ready
        }
        Next::Delayed { until } => {
            leaving.state = MessageState::Delayed;
            leaving.until_ms = until.as_millis();
            leaving.delay_ms = slipring::clock::millis_ceil(now.until(until));
            Settled::Delayed(until)
        }
        Next::Done | Next::Parked | Next::DeadLetter => {
            leaving.state = MessageState::Parked;
            Settled::Parked
        }
    }
}

/// The same for a row.
pub(crate) fn enter_item(head: &mut ItemHead, next: Next, now: Timestamp) -> Settled {
    match next {
        Next::Ready { attempts } => {
            head.state = MessageState::Ready;
            head.attempts = attempts;
            Settled::Ready
        }
        Next::Delayed { until } => {
            head.state = MessageState::Delayed;
            head.until_ms = until.as_millis();
            head.delay_ms = slipring::clock::millis_ceil(now.until(until));
            Settled::Delayed(until)
        }
        Next::Done | Next::Parked | Next::DeadLetter => {
            head.state = MessageState::Parked;
            Settled::Parked
        }
    }
}
