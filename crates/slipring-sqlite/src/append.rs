//! Sends: plain messages go to the log with one insert each, all others to the table `item`.

use std::sync::Arc;

use slipring::lifecycle::{self, Next};
use slipring::store::{AppendBatch, Sent};
use slipring::{Error, ErrorKind, MessageId, MessageState, NewMessage, Timestamp};

use crate::dedup::{self, Plan};
use crate::fault::Outcome;
use crate::item::{ItemHead, headers_to_sql, ms_to_sql};
use crate::picture::Picture;
use crate::position::to_sql;
use crate::statements::Query;
use crate::writer::Writer;

impl Writer<'_> {
    /// Stores messages unit by unit, each whole or not at all.
    pub(crate) fn append(&mut self, batch: &AppendBatch) -> Outcome<Vec<Result<Sent, Error>>> {
        let picture = self.live(batch.queue)?;
        let picture = &mut *picture.lock();
        self.note(picture);
        self.promise(picture.info.settings.durability);
        let mut answers = Vec::with_capacity(batch.messages.len());
        let mut rest = batch.messages.as_slice();
        for count in &batch.units {
            let (unit, later) = rest.split_at(rest.len().min(*count as usize));
            rest = later;
            self.append_unit(picture, unit, batch.now, &mut answers)?;
        }
        let outside =
            || Err(Error::new(ErrorKind::Invalid, "the message belongs to no unit of the batch"));
        answers.extend(rest.iter().map(|_| outside()));
        Ok(answers)
    }

    fn append_unit(
        &mut self,
        picture: &mut Picture,
        unit: &[NewMessage],
        now: Timestamp,
        answers: &mut Vec<Result<Sent, Error>>,
    ) -> Outcome<()> {
        let settings = &picture.info.settings;
        let limited = settings.messages_max.is_some() || settings.bytes_max.is_some();
        if !limited && unit.iter().all(|message| message.dedup_id.is_none()) {
            for message in unit {
                answers.push(Ok(self.store(picture, message, now)?));
            }
            return Ok(());
        }
        let plans = match self.plan(picture, unit, now)? {
            Ok(plans) => plans,
            Err(refusal) => {
                answers.extend(unit.iter().map(|_| Err(refusal.clone())));
                return Ok(());
            }
        };
        let mut stored = Vec::with_capacity(unit.len());
        for (message, plan) in unit.iter().zip(plans) {
            let duplicate = |id| Sent { id, duplicate: true, due: None };
            let sent = match plan {
                Plan::Seen(id) => duplicate(id),
                // The twin before it is stored by now.
                Plan::Twin(nth) => duplicate(stored.get(nth).copied().unwrap_or(MessageId(0))),
                Plan::Store => {
                    let sent = self.store(picture, message, now)?;
                    stored.push(sent.id);
                    self.remember(picture, message, sent.id, now)?;
                    sent
                }
            };
            answers.push(Ok(sent));
        }
        Ok(())
    }

    /// Decides what a unit does and checks that it fits; changes nothing.
    fn plan(
        &mut self,
        picture: &Picture,
        unit: &[NewMessage],
        now: Timestamp,
    ) -> Outcome<Result<Vec<Plan>, Error>> {
        let settings = &picture.info.settings;
        let (mut total, mut bytes) = (picture.total(), picture.bytes());
        let mut twins = dedup::Twins::default();
        let mut plans = Vec::with_capacity(unit.len());
        for (index, message) in unit.iter().enumerate() {
            let plan = match dedup::key(message, settings) {
                None => twins.stored(),
                Some(key) => match self.first_with(picture.id(), &key, now)? {
                    Some(id) => Plan::Seen(id),
                    None => twins.stored_as(key),
                },
            };
            if matches!(plan, Plan::Store) {
                total += 1;
                bytes += message.size_bytes();
                let limits = [
                    ("messages_max", settings.messages_max, total),
                    ("bytes_max", settings.bytes_max, bytes),
                ];
                let over = |&(_, limit, asked): &(_, Option<u64>, u64)| {
                    limit.is_some_and(|limit| asked > limit)
                };
                if let Some((limit, value, asked)) = limits.into_iter().find(over) {
                    let error = Error::limit(limit, value.unwrap_or(0), asked);
                    let error = error.with("index", index).with("queue", &picture.info.name);
                    return Ok(Err(error));
                }
            }
            plans.push(plan);
        }
        Ok(Ok(plans))
    }

    fn store(
        &mut self,
        picture: &mut Picture,
        message: &NewMessage,
        now: Timestamp,
    ) -> Outcome<Sent> {
        let info = Arc::clone(&picture.info);
        let next = lifecycle::arrival(message, &info.settings, now);
        let lane_priority = (!info.settings.fifo).then_some(message.priority);
        let at = self.lane_for(picture, lane_priority)?;
        let Some(lane) = picture.lanes.get_mut(at) else { return Err(lost_lane()) };
        let sent = self.stamp(now, lane.last_sent);
        let bytes = message.size_bytes();
        match next {
            Next::Delayed { until } => {
                let id = lane.number(sent);
                let delay = message.delay.unwrap_or(info.settings.delay);
                let mut head = new_item(id, picture, message, MessageState::Delayed);
                head.until_ms = until.as_millis();
                head.delay_ms = slipring::clock::millis_ceil(delay);
                self.add_item(picture, head, sent, message)?;
                Ok(Sent { id: MessageId(id), duplicate: false, due: Some(until) })
            }
            _ if lane.priority.is_some() => {
                let id = lane.append(bytes, sent);
                let bytes_sum = lane.tail_bytes;
                self.insert_into_log(id, sent, bytes_sum, message)?;
                Ok(Sent { id: MessageId(id), duplicate: false, due: None })
            }
            _ => {
                let id = lane.number(sent);
                let head = new_item(id, picture, message, MessageState::Ready);
                self.add_item(picture, head, sent, message)?;
                Ok(Sent { id: MessageId(id), duplicate: false, due: None })
            }
        }
    }

    fn insert_into_log(
        &mut self,
        id: u64,
        sent: u64,
        bytes_sum: u64,
        message: &NewMessage,
    ) -> Outcome<()> {
        let extra = message.size_bytes() - message.body.len() as u64;
        let plain = extra == 0
            && message.lease.is_none()
            && message.headers.is_none()
            && message.group.is_none()
            && message.dedup_id.is_none();
        let query = if plain { Query::AddPlain } else { Query::AddMessage };
        let mut statement = self.db.get(query)?;
        statement.raw_bind_parameter(1, to_sql(id))?;
        statement.raw_bind_parameter(2, to_sql(sent))?;
        statement.raw_bind_parameter(3, to_sql(bytes_sum))?;
        statement.raw_bind_parameter(4, message.body.as_ref())?;
        if !plain {
            statement.raw_bind_parameter(5, (extra > 0).then(|| to_sql(extra)))?;
            statement.raw_bind_parameter(6, message.lease.map(ms_to_sql))?;
            statement.raw_bind_parameter(7, message.group.as_deref())?;
            statement.raw_bind_parameter(8, message.dedup_id.as_deref())?;
            statement.raw_bind_parameter(9, headers_to_sql(message.headers.as_ref()))?;
        }
        statement.raw_execute()?;
        Ok(())
    }
}

fn new_item(id: u64, picture: &Picture, message: &NewMessage, state: MessageState) -> ItemHead {
    ItemHead {
        id,
        queue: picture.id(),
        state,
        until_ms: 0,
        priority: message.priority,
        attempts: 0,
        fence: 0,
        first_received_ms: None,
        delay_ms: 0,
        lease_ms: message.lease.map(slipring::clock::millis_ceil),
        session: false,
        bytes: message.size_bytes(),
        fifo_group: None,
        source: None,
    }
}

fn lost_lane() -> crate::fault::Fault {
    crate::fault::Fault::Damaged("a lane is missing".to_owned())
}
