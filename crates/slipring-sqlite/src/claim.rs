//! Receives: messages of the log are handed out as ranges, by moving the cursor of their lane and
//! adding one row for each range; rows of the table `item` one by one.

use std::sync::Arc;

use rusqlite::params;
use slipring::deal::{self, Standing};
use slipring::lifecycle;
use slipring::store::{ClaimBatch, ClaimEnd, Claimed, Demand};
use slipring::{
    Delivery, Fence, Message, MessageId, MessageState, QueueId, QueueSettings, Receipt, Timestamp,
};

use crate::fault::{Fault, Outcome, gone, held};
use crate::feed::{Feed, Next};
use crate::fifo::GroupMessage;
use crate::item::{LogMessage, read_message, read_sent};
use crate::lease::{Lease, Terms, first_fence, next_fence};
use crate::picture::Picture;
use crate::position::{lane_of, seq_of, to_sql};
use crate::rows::Leaving;
use crate::statements::Query;
use crate::writer::Writer;

/// A range may span so many places without a message.
const GAP_MAX: u64 = 16;
/// A claim gives no more messages once it has given so many bytes.
pub(crate) const CLAIM_BYTES_MAX: u64 = 4 << 20;

/// What a claim has done so far.
pub(crate) struct Dealing {
    now: Timestamp,
    /// How many more messages may be leased.
    pub(crate) room: u64,
    pub(crate) bytes: u64,
    /// Only messages in their place before this priority and stamp.
    pub(crate) before: Option<(u64, u64)>,
    /// What the receive has of other queues.
    pub(crate) others: u64,
    /// Most messages of one [`Writer::deal`]; `None` as many as are asked for.
    pub(crate) most: Option<u64>,
    /// The range that the next message of the log may continue.
    range: Option<Lease>,
}

impl Dealing {
    pub(crate) fn new(now: Timestamp, room: u64) -> Dealing {
        Dealing { now, room, bytes: 0, before: None, others: 0, most: None, range: None }
    }

    /// Whether a range is to be ended.
    pub(crate) fn is_open(&self) -> bool {
        self.range.is_some()
    }
}

impl Writer<'_> {
    /// Hands out ready messages to demands in order.
    pub(crate) fn claim(&mut self, batch: &ClaimBatch) -> Outcome<Claimed> {
        let picture = self.live(batch.queue)?;
        let picture = &mut *picture.lock();
        self.write_back_groups(picture)?;
        let settings = &picture.info.settings;
        let mut end = match settings.is_paused(batch.now) {
            true => ClaimEnd::Paused,
            false => ClaimEnd::More,
        };
        let room = settings.in_flight_max.saturating_sub(picture.leased());
        let mut dealing = Dealing::new(batch.now, room);
        let wanted = batch.demands.iter().map(|demand| u64::from(demand.up_to.max(1))).sum();
        let mut feed = Feed::new(picture, wanted);
        let mut deliveries = Vec::with_capacity(batch.demands.len());
        for demand in &batch.demands {
            if end != ClaimEnd::More || dealing.bytes >= CLAIM_BYTES_MAX {
                deliveries.push(Vec::new());
                continue;
            }
            let room_before = dealing.room;
            let (list, more) = match picture.fifo() {
                true => self.deal_groups(picture, &mut dealing, demand)?,
                false => self.deal(picture, &mut feed, &mut dealing, demand)?,
            };
            if (list.len() as u64) < u64::from(demand.up_to.max(1)) {
                if !more {
                    end = ClaimEnd::Drained;
                } else if list.len() as u64 == room_before {
                    end = ClaimEnd::InFlightLimit;
                }
            }
            deliveries.push(list);
        }
        if end == ClaimEnd::More && !picture.fifo() && picture.ready() == 0 {
            // The last was given: who comes next need not look.
            end = ClaimEnd::Drained;
        }
        self.end_range(picture, &mut dealing)?;
        Ok(Claimed { deliveries, end })
    }

    /// Serves one demand of a standard queue; also answers whether more is ready.
    pub(crate) fn deal(
        &mut self,
        picture: &mut Picture,
        feed: &mut Feed,
        dealing: &mut Dealing,
        demand: &Demand,
    ) -> Outcome<(Vec<Delivery>, bool)> {
        let info = Arc::clone(&picture.info);
        let receive = deal::Receive::new(demand.up_to, dealing.room, &info.settings);
        let mut receive = receive.joining(dealing.others);
        let mut list = Vec::with_capacity(receive.at_most().min(picture.ready()) as usize);
        loop {
            let heads = feed.heads(&self.db, picture)?;
            if heads.iter().all(Option::is_none) {
                return Ok((list, false));
            }
            let enough = dealing.most.is_some_and(|most| list.len() as u64 >= most);
            if enough || dealing.bytes >= CLAIM_BYTES_MAX {
                return Ok((list, true));
            }
            let in_place = receive.in_place(&heads);
            let in_place = in_place.map(|(_, first)| (u64::from(first.priority.0), first.place));
            if dealing.before.is_some_and(|before| in_place.is_none_or(|at| at > before)) {
                return Ok((list, true));
            }
            let Some(standing) = self.next_standing(picture, &mut receive, &heads) else {
                return Ok((list, true));
            };
            let delivery = match feed.take(standing) {
                Some(Next::Log(message)) => {
                    self.hand_out_log(picture, dealing, demand, message, &info.settings)?
                }
                Some(Next::Item(place)) => {
                    self.hand_out_item(picture, place.id, demand, dealing.now)?
                }
                None => return Ok((list, false)),
            };
            dealing.room -= 1;
            dealing.bytes += delivery.message.body.len() as u64;
            list.push(delivery);
        }
    }

    /// From which standing a receive gets its next message; keeps the count that this moves.
    fn next_standing(
        &mut self,
        picture: &mut Picture,
        receive: &mut deal::Receive<'_>,
        heads: &deal::Heads<u64>,
    ) -> Option<Standing> {
        let mut passed_over = picture.items.passed_over;
        let standing = receive.next(heads, &mut passed_over);
        if passed_over != picture.items.passed_over {
            self.note(picture);
            picture.items.passed_over = passed_over;
            picture.items_dirty = true;
        }
        standing
    }

    fn hand_out_log(
        &mut self,
        picture: &mut Picture,
        dealing: &mut Dealing,
        demand: &Demand,
        from_log: LogMessage,
        settings: &QueueSettings,
    ) -> Outcome<Delivery> {
        let LogMessage { mut message, bytes, bytes_sum, sent } = from_log;
        self.hands_out(settings.durability, sent);
        let position = message.id.0;
        let now = dealing.now;
        let lasts = lifecycle::lease_duration(demand.lease, message.lease, settings);
        let deadline = now.after(lasts);
        let terms = Terms {
            leased_ms: now.as_millis(),
            deadline_ms: deadline.as_millis(),
            session: demand.session,
        };
        let continues = dealing.range.as_ref().is_some_and(|range| {
            range.terms() == terms
                && lane_of(range.last) == lane_of(position)
                && position.saturating_sub(range.last) <= GAP_MAX
        });
        if !continues {
            self.end_range(picture, dealing)?;
        }
        let range = dealing.range.get_or_insert_with(|| Lease::begin(position, terms));
        range.add(position, bytes);
        let lane = picture.lane(lane_of(position)).ok_or_else(|| no_lane(position))?;
        lane.hand_out(seq_of(position), bytes, bytes_sum);
        message.attempts = 1;
        message.first_received_at = Some(now);
        Ok(delivery(picture.id(), message, first_fence(terms.leased_ms), deadline))
    }

    pub(crate) fn end_range(
        &mut self,
        picture: &mut Picture,
        dealing: &mut Dealing,
    ) -> Outcome<()> {
        if let Some(range) = dealing.range.take() {
            self.note(picture);
            self.add_lease(picture, range)?;
        }
        Ok(())
    }

    /// Adds a lease to file and picture.
    pub(crate) fn add_lease(&mut self, picture: &mut Picture, lease: Lease) -> Outcome<()> {
        let values = params![
            to_sql(lease.first),
            to_sql(lease.last),
            to_sql(lease.leased_ms),
            to_sql(lease.deadline_ms),
            lease.session,
        ];
        self.db.execute(Query::AddLease, values)?;
        picture.leases.insert(lease.first, lease);
        Ok(())
    }

    /// Leases a row whatever its state.
    fn hand_out_item(
        &mut self,
        picture: &mut Picture,
        id: u64,
        demand: &Demand,
        now: Timestamp,
    ) -> Outcome<Delivery> {
        let read = |row: &rusqlite::Row<'_>| Ok((read_message(row)?, read_sent(row)?));
        let found = self.db.first(Query::ItemMessage, [to_sql(id)], read)?;
        let ((mut head, mut message), sent) =
            found.ok_or_else(|| Fault::Damaged(format!("item {id} is missing")))?;
        let settings = &picture.info.settings;
        self.hands_out(settings.durability, sent);
        let lasts = lifecycle::lease_duration(demand.lease, head.lease(), settings);
        let deadline = now.after(lasts);
        self.change_item(picture, &mut head, |head| {
            head.state = MessageState::Leased;
            head.until_ms = deadline.as_millis();
            head.fence = next_fence(head.fence, now.as_millis());
            head.attempts = head.attempts.saturating_add(1);
            head.first_received_ms.get_or_insert(now.as_millis());
            head.session = demand.session;
        })?;
        message.attempts = head.attempts;
        message.first_received_at = head.first_received_ms.map(Timestamp::from_millis);
        Ok(delivery(picture.id(), message, head.fence, deadline))
    }

    /// Serves one demand of a FIFO queue, group by group in the order of the line (S7.7), the last
    /// try of a message alone (S11.3); also answers whether more may be handed out.
    pub(crate) fn deal_groups(
        &mut self,
        picture: &mut Picture,
        dealing: &mut Dealing,
        demand: &Demand,
    ) -> Outcome<(Vec<Delivery>, bool)> {
        let info = Arc::clone(&picture.info);
        let up_to = u64::from(demand.up_to.max(1));
        let at_most = up_to.min(dealing.room);
        let mut list = Vec::new();
        let mut alone = false;
        for group in self.open_groups(picture.id(), up_to)? {
            let left = at_most - list.len() as u64;
            if left == 0 || alone || dealing.bytes >= CLAIM_BYTES_MAX {
                break;
            }
            let given_before = list.len();
            let mut others = dealing.others > 0 || given_before > 0;
            let admits = |message: &GroupMessage| {
                let last_try = lifecycle::is_last_try(message.attempts, &info.settings);
                let admitted = !(alone || last_try && others);
                (alone, others) = (alone || (admitted && last_try), true);
                admitted
            };
            for message in self.open_messages(group, left, admits)? {
                if dealing.bytes >= CLAIM_BYTES_MAX {
                    break;
                }
                let delivery = self.hand_out_item(picture, message.id, demand, dealing.now)?;
                dealing.room -= 1;
                dealing.bytes += delivery.message.body.len() as u64;
                list.push(delivery);
            }
            if list.len() > given_before {
                let served = self.stamp(dealing.now, picture.last_sent());
                picture.touched_groups.insert(group, served);
            }
        }
        self.write_back_groups(picture)?;
        let more = !self.open_groups(picture.id(), 1)?.is_empty();
        Ok((list, more))
    }

    /// Hands out one given message that is not leased.
    pub(crate) fn claim_message(
        &mut self,
        queue: QueueId,
        message: MessageId,
        demand: &Demand,
        now: Timestamp,
    ) -> Outcome<Delivery> {
        let picture = self.live(queue)?;
        let picture = &mut *picture.lock();
        match self.item_head(message.0)? {
            Some(head) if head.queue != queue => return Err(gone(message).into()),
            Some(head) if !lifecycle::free_to_take(head.state) => return Err(held(message).into()),
            Some(_) => {}
            None => {
                self.cut_from_log(picture, message)?;
            }
        }
        self.hand_out_item(picture, message.0, demand, now)
    }

    /// Moves a ready message of the log to a row of its own.
    fn cut_from_log(&mut self, picture: &mut Picture, message: MessageId) -> Outcome<()> {
        let bytes = self.free_in_log(picture, message)?;
        let lane = picture.lane(lane_of(message.0)).ok_or_else(|| no_lane(message.0))?;
        lane.cut_out(bytes);
        let leaving = Leaving::fresh(lane.priority.unwrap_or_default());
        self.log_to_items(picture, message.0..message.0 + 1, bytes, &leaving)?;
        Ok(())
    }

    /// The bytes of a ready message of the log.
    pub(crate) fn free_in_log(
        &mut self,
        picture: &mut Picture,
        message: MessageId,
    ) -> Outcome<u64> {
        let cursor = picture.lane(lane_of(message.0)).map(|lane| lane.cursor());
        let cursor = cursor.ok_or_else(|| Fault::Refused(gone(message)))?;
        let bytes = self.log_bytes(message.0)?.ok_or_else(|| Fault::Refused(gone(message)))?;
        match message.0 <= cursor {
            true => Err(held(message).into()),
            false => Ok(bytes),
        }
    }

    /// The bytes of a message of the log, if it is there.
    pub(crate) fn log_bytes(&mut self, position: u64) -> Outcome<Option<u64>> {
        let bytes = self.db.first(Query::LogBytes, [to_sql(position)], |row| row.get(0))?;
        Ok(bytes.map(crate::position::from_sql))
    }
}

fn delivery(queue: QueueId, message: Message, fence: u64, deadline: Timestamp) -> Delivery {
    let receipt = Receipt { queue, message: message.id, fence: Fence(fence) };
    Delivery { message, receipt, deadline }
}

/// The fault of a message whose lane is not one of its queue.
pub(crate) fn no_lane(position: u64) -> Fault {
    Fault::Damaged(format!("the lane of message {position} is missing"))
}
