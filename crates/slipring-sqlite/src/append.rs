//! Sends: plain messages go to the log with one insert each, all others to the table `item`.

use std::sync::Arc;

use slipring::lifecycle::{self, Next};
use slipring::store::{AppendBatch, Appended, ClaimBatch, Sent};
use slipring::{Error, ErrorKind, MessageId, MessageState, NewMessage, Timestamp};

use crate::dedup::{self, Plan};
use crate::fault::{Fault, Outcome};
use crate::item::{ItemHead, headers_to_sql, ms_to_sql};
use crate::picture::Picture;
use crate::position::to_sql;
use crate::room::no_room;
use crate::slots;
use crate::statements::Query;
use crate::writer::Writer;

/// Most bytes that what was sent may take up in a row. SQLite's limit is 10⁹ for a whole row,
/// and a message that fails gets more columns and the name of a queue.
pub(crate) const ROW_BYTES_MAX: u64 = 1_000_000_000 - 1_000;

impl Writer<'_> {
    /// Stores messages unit by unit, each whole or not at all.
    pub(crate) fn append(&mut self, batch: &AppendBatch) -> Outcome<Vec<Result<Sent, Error>>> {
        let picture = self.live(batch.queue)?;
        if self.memory.disk.is_known_short()
            && batch.messages.iter().all(|message| message.dedup_id.is_none())
        {
            // Before it is stored: undoing it would undo what others do in the same transaction.
            return Err(Fault::Refused(no_room().into_error()));
        }
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
        let stored = answers.iter().flatten().any(|sent| !sent.duplicate);
        if stored {
            let bytes = batch.messages.iter().map(NewMessage::size_bytes).sum();
            if !self.leaves_room(bytes)? {
                return Err(no_room());
            }
        }
        let outside =
            || Err(Error::new(ErrorKind::Invalid, "the message belongs to no unit of the batch"));
        answers.extend(rest.iter().map(|_| outside()));
        Ok(answers)
    }

    /// Stores messages, and hands out ready ones of the same queue. A claim that is refused takes
    /// nothing back of what was stored.
    pub(crate) fn append_and_claim(
        &mut self,
        batch: &AppendBatch,
        claim: &ClaimBatch,
    ) -> Outcome<Appended> {
        let sent = self.append(batch)?;
        let claimed = match self.claim(claim) {
            Err(Fault::Refused(error)) => Err(error),
            claimed => Ok(claimed?),
        };
        Ok(Appended { sent, claimed })
    }

    fn append_unit(
        &mut self,
        picture: &mut Picture,
        unit: &[NewMessage],
        now: Timestamp,
        answers: &mut Vec<Result<Sent, Error>>,
    ) -> Outcome<()> {
        if let Some(refusal) = too_large(unit, ROW_BYTES_MAX) {
            let refusal = refusal.with("queue", &picture.info.name);
            answers.extend(unit.iter().map(|_| Err(refusal.clone())));
            return Ok(());
        }
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
                Some(key) => match self.first_with(picture, &key, now)? {
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
                let slot = self.slot_for(picture, bytes, until, now)?;
                self.add_item(picture, head, sent, message, slot)?;
                let due = slot.map_or(until, slots::opens_at);
                Ok(Sent { id: MessageId(id), duplicate: false, due: Some(due) })
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
                self.add_item(picture, head, sent, message, None)?;
                Ok(Sent { id: MessageId(id), duplicate: false, due: None })
            }
        }
    }

    /// Writes a message to the log.
    pub(crate) fn insert_into_log(
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
        earlier_attempts: 0,
        fence: 0,
        first_received_ms: None,
        delay_ms: 0,
        lease_ms: message.lease.map(slipring::clock::millis_ceil),
        session: false,
        bytes: message.size_bytes(),
        fifo_group: None,
        source: None,
        failed: false,
    }
}

/// Why a unit cannot be stored: one of its messages would have a row that is larger than `max`.
pub(crate) fn too_large(unit: &[NewMessage], max: u64) -> Option<Error> {
    // In JSON a byte of headers becomes fewer than 16.
    let large = unit.iter().enumerate().filter(|(_, message)| message.size_bytes() > max / 16);
    large
        .map(|(index, message)| (index, row_bytes(message)))
        .find(|(_, bytes)| *bytes > max)
        .map(|(index, bytes)| Error::limit("message_bytes_max", max, bytes).with("index", index))
}

/// Bytes of a message in its row.
fn row_bytes(message: &NewMessage) -> u64 {
    let name = |name: &Option<Arc<str>>| name.as_ref().map_or(0, |name| name.len());
    let headers = headers_to_sql(message.headers.as_ref()).map_or(0, |text| text.len());
    (message.body.len() + name(&message.group) + name(&message.dedup_id) + headers) as u64
}

fn lost_lane() -> crate::fault::Fault {
    crate::fault::Fault::Damaged("a lane is missing".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_sqlite_holds_in_a_row_is_more_than_any_message_may_have() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let holds = |bytes: u64| {
            let sql = format!("SELECT length(zeroblob({bytes}))");
            connection.query_row(&sql, (), |row| row.get::<_, i64>(0)).is_ok()
        };
        assert_eq!((holds(ROW_BYTES_MAX + 1_000), holds(ROW_BYTES_MAX + 1_001)), (true, false));
        assert!(slipring::Limits::default().message_bytes_max < ROW_BYTES_MAX);
    }

    #[test]
    fn a_message_that_would_not_fit_its_row_is_refused_with_its_unit() {
        let headers = |text: &str| {
            let mut message = NewMessage::new("x".repeat(100));
            message.headers = Some(Arc::new(BTreeMap::from([("k".to_owned(), text.to_owned())])));
            message
        };
        // Quotes, colon and braces come with the texts, and control characters grow to six.
        for (message, bytes) in [
            (NewMessage::new("x".repeat(400)).group("g").dedup_id("d"), 402),
            (headers("v"), 100 + r#"{"k":"v"}"#.len() as u64),
            (headers(&"\u{1}".repeat(50)), 100 + r#"{"k":""}"#.len() as u64 + 300),
        ] {
            let unit = [NewMessage::new(""), message];
            assert!(too_large(&unit, bytes).is_none());
            let refusal = too_large(&unit, bytes - 1).unwrap();
            assert_eq!(refusal.kind(), ErrorKind::LimitExceeded);
        }
    }
}
