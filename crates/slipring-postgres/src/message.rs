//! Messages in rows. Claims and looks answer the same columns from `id` on.

use std::sync::Arc;
use std::time::Duration;

use slipring::{
    Delivery, Error, Fence, Headers, Message, MessageId, Peeked, Priority, QueueId, QueueName,
    Receipt,
};
use tokio_postgres::Row;

use crate::escape::from_sql;
use crate::fault::garbled;
use crate::inspect::state_named;
use crate::rows::{bytes, maybe_moment, maybe_number, moment, number, queue, value};

/// A message that was handed out: a row of `claim` or `claim_message`.
pub(crate) fn delivery(row: &Row, queue: QueueId) -> Result<Delivery, Error> {
    let message = message(row)?;
    let fence = Fence(number(row, 3)?);
    let receipt = Receipt { queue, message: message.id, fence };
    Ok(Delivery { message, receipt, deadline: moment(row, 4)? })
}

/// A message that was looked at: a row of `peek` or `lookup`.
pub(crate) fn peeked(row: &Row) -> Result<Peeked, Error> {
    Ok(Peeked {
        queue: queue(row, 0)?,
        message: message(row)?,
        state: state_named(value(row, 1)?)?,
        until: maybe_moment(row, 3)?,
    })
}

fn message(row: &Row) -> Result<Message, Error> {
    let priority = number(row, 6)?;
    let attempts = number(row, 7)?;
    let too_large = |_| garbled("a priority or a count of attempts above 2^32");
    Ok(Message {
        id: MessageId(number(row, 2)?),
        sent_at: moment(row, 5)?,
        priority: Priority(u32::try_from(priority).map_err(too_large)?),
        attempts: u32::try_from(attempts).map_err(too_large)?,
        first_received_at: maybe_moment(row, 8)?,
        delay: Duration::from_millis(maybe_number(row, 9)?.unwrap_or(0)),
        lease: maybe_number(row, 10)?.map(Duration::from_millis),
        group: text(row, 11)?,
        dedup_id: text(row, 12)?,
        headers: headers(value(row, 13)?)?,
        dead_letter_source: source(value(row, 14)?)?,
        body: bytes(row, 15)?,
    })
}

fn text(row: &Row, at: usize) -> Result<Option<Arc<str>>, Error> {
    Ok(value::<Option<&str>>(row, at)?.map(|text| from_sql(text).into()))
}

fn headers(text: Option<&str>) -> Result<Option<Arc<Headers>>, Error> {
    let Some(text) = text else { return Ok(None) };
    let headers: Headers = serde_json::from_str(text)
        .map_err(|error| garbled(format!("headers that are no map of texts: {error}")))?;
    Ok(Some(Arc::new(headers)))
}

fn source(name: Option<&str>) -> Result<Option<QueueName>, Error> {
    name.map(QueueName::new).transpose()
}
