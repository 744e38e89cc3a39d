//! Sends: one statement for a batch, its messages as arrays.

use std::borrow::Cow;

use slipring::clock::millis_ceil;
use slipring::store::{AppendBatch, Sent};
use slipring::{Error, MessageId, NewMessage};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::escape;
use crate::fault::garbled;
use crate::queries;
use crate::rows::{maybe_moment, number, queue_to_sql, refusal, to_sql, value};
use crate::session::Session;

/// PostgreSQL takes and gives no value of 1 GiB or more; half of it leaves room for all else.
const CALL_BYTES_MAX: u64 = 1 << 29;

/// The columns of a batch.
#[derive(Default)]
struct Columns<'m> {
    units: Vec<i32>,
    bodies: Vec<&'m [u8]>,
    priorities: Vec<i64>,
    delays_ms: Vec<Option<i64>>,
    leases_ms: Vec<Option<i64>>,
    groups: Vec<Option<Cow<'m, str>>>,
    dedup_ids: Vec<Option<Cow<'m, str>>>,
    headers: Vec<Option<String>>,
}

impl<'m> Columns<'m> {
    fn of(batch: &'m AppendBatch) -> Result<Columns<'m>, Error> {
        let mut columns = Columns::default();
        let mut left = batch.messages.iter();
        for (unit, count) in (0_i32..).zip(&batch.units) {
            for message in left.by_ref().take(*count as usize) {
                columns.add(unit, message)?;
            }
        }
        Ok(columns)
    }

    fn add(&mut self, unit: i32, message: &'m NewMessage) -> Result<(), Error> {
        let headers = match &message.headers {
            Some(headers) => Some(serde_json::to_string(headers.as_ref()).map_err(garbled)?),
            None => None,
        };
        self.units.push(unit);
        self.bodies.push(&message.body);
        self.priorities.push(i64::from(message.priority.0));
        self.delays_ms.push(message.delay.map(|delay| to_sql(millis_ceil(delay))));
        self.leases_ms.push(message.lease.map(|lease| to_sql(millis_ceil(lease))));
        self.groups.push(message.group.as_deref().map(escape::to_sql));
        self.dedup_ids.push(message.dedup_id.as_deref().map(escape::to_sql));
        self.headers.push(headers);
        Ok(())
    }
}

/// Stores messages; answers message by message.
pub(crate) async fn append(
    session: &Session,
    batch: &AppendBatch,
) -> Result<Vec<Result<Sent, Error>>, Error> {
    let bytes = batch.messages.iter().map(NewMessage::size_bytes).sum();
    if bytes > CALL_BYTES_MAX {
        return Err(Error::limit("postgres_call_bytes_max", CALL_BYTES_MAX, bytes));
    }
    let columns = Columns::of(batch)?;
    let (queue, now) = (queue_to_sql(batch.queue), to_sql(batch.now.as_millis()));
    let rows = session
        .rows(
            &queries::APPEND,
            &[
                (&queue, Type::INT4),
                (&now, Type::INT8),
                (&columns.units, Type::INT4_ARRAY),
                (&columns.bodies, Type::BYTEA_ARRAY),
                (&columns.priorities, Type::INT8_ARRAY),
                (&columns.delays_ms, Type::INT8_ARRAY),
                (&columns.leases_ms, Type::INT8_ARRAY),
                (&columns.groups, Type::TEXT_ARRAY),
                (&columns.dedup_ids, Type::TEXT_ARRAY),
                (&columns.headers, Type::TEXT_ARRAY),
            ],
        )
        .await?;
    if rows.len() != batch.messages.len() {
        let (answers, asked) = (rows.len(), batch.messages.len());
        return Err(garbled(format!("{answers} answers to {asked} messages")));
    }
    rows.iter().map(sent).collect()
}

fn sent(row: &Row) -> Result<Result<Sent, Error>, Error> {
    if let Some(error) = refusal(row, 3)? {
        return Ok(Err(error));
    }
    Ok(Ok(Sent {
        id: MessageId(number(row, 0)?),
        duplicate: value(row, 1)?,
        due: maybe_moment(row, 2)?,
    }))
}
