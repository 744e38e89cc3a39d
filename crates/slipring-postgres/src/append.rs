//! Sends: one statement for a batch, its messages as arrays.

use std::borrow::Cow;
use std::time::Duration;

use slipring::clock::millis_ceil;
use slipring::store::{AppendBatch, Sent};
use slipring::{Error, MessageId, NewMessage};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::escape;
use crate::fault::garbled;
use crate::pack::Packed;
use crate::queries;
use crate::rows::{count_to_sql, maybe_moment, number, queue_to_sql, refusal, to_sql, value};
use crate::seats::Seat;
use crate::session::Session;

/// PostgreSQL takes and gives no value of 1 GiB or more; half of it leaves room for all else.
const CALL_BYTES_MAX: u64 = 1 << 29;

/// The columns of a batch. While messages are nothing but bodies of one priority and lease and
/// without delay, neighbours are packed, the other columns have one entry and there is no more.
struct Columns<'m> {
    rows: Packed<'m>,
    priorities: Vec<i64>,
    delays_ms: Option<Vec<Option<i64>>>,
    leases_ms: Option<Vec<Option<i64>>>,
    more: Option<More<'m>>,
}

/// What few messages have.
#[derive(Default)]
struct More<'m> {
    groups: Vec<Option<Cow<'m, str>>>,
    dedup_ids: Vec<Option<Cow<'m, str>>>,
    headers: Vec<Option<String>>,
}

impl<'m> Columns<'m> {
    fn of(messages: &'m [NewMessage]) -> Result<Columns<'m>, Error> {
        let terms = |message: &NewMessage| (message.priority, message.delay, message.lease);
        let first = messages.first().map(terms);
        let plain = messages.iter().all(|m| is_plain(m) && Some(terms(m)) == first);
        let shown = if plain { messages.get(..1).unwrap_or_default() } else { messages };
        let columns = Columns {
            rows: if plain { Packed::of(messages) } else { Packed::single(messages) },
            priorities: shown.iter().map(|message| i64::from(message.priority.0)).collect(),
            delays_ms: millis(shown, |message| message.delay),
            leases_ms: millis(shown, |message| message.lease),
            more: if plain { None } else { Some(More::of(messages)?) },
        };
        Ok(columns)
    }
}

fn is_plain(message: &NewMessage) -> bool {
    message.delay.is_none_or(|delay| delay.is_zero())
        && message.group.is_none()
        && message.dedup_id.is_none()
        && message.headers.is_none()
}

/// What each of the messages has; none where none has any.
fn millis(
    messages: &[NewMessage],
    of: impl Fn(&NewMessage) -> Option<Duration>,
) -> Option<Vec<Option<i64>>> {
    let each = |message| Some(to_sql(millis_ceil(of(message)?)));
    messages
        .iter()
        .any(|message| of(message).is_some())
        .then(|| messages.iter().map(each).collect())
}

impl<'m> More<'m> {
    fn of(messages: &'m [NewMessage]) -> Result<More<'m>, Error> {
        let mut more = More::default();
        for message in messages {
            let headers = message.headers.as_deref().map(escape::headers_to_sql);
            more.groups.push(message.group.as_deref().map(escape::to_sql));
            more.dedup_ids.push(message.dedup_id.as_deref().map(escape::to_sql));
            more.headers.push(headers.transpose()?);
        }
        Ok(more)
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
    let columns = Columns::of(&batch.messages)?;
    let (rows, more) = (&columns.rows, columns.more.as_ref());
    let packs = (!rows.counts.is_empty()).then_some(rows);
    let (queue, now) = (queue_to_sql(batch.queue), to_sql(batch.now.as_millis()));
    let units: Vec<i32> = batch.units.iter().map(|count| count_to_sql(*count)).collect();
    let rows = session
        .rows_of(
            Seat::Send(batch.queue),
            &queries::APPEND,
            &[
                (&queue, Type::INT4),
                (&now, Type::INT8),
                (&units, Type::INT4_ARRAY),
                (&rows.bodies, Type::BYTEA_ARRAY),
                (&columns.priorities, Type::INT8_ARRAY),
                (&columns.delays_ms, Type::INT8_ARRAY),
                (&columns.leases_ms, Type::INT8_ARRAY),
                (&more.map(|more| &more.groups), Type::TEXT_ARRAY),
                (&more.map(|more| &more.dedup_ids), Type::TEXT_ARRAY),
                (&more.map(|more| &more.headers), Type::TEXT_ARRAY),
                (&packs.map(|packs| &packs.counts), Type::INT4_ARRAY),
                (&packs.map(|packs| &packs.each_bytes), Type::INT4_ARRAY),
            ],
        )
        .await?;
    if let [row] = &*rows
        && value::<i32>(row, 6)? == 0
    {
        let first = number(row, 0)?;
        let ids = (first..).map(MessageId).take(batch.messages.len());
        return Ok(ids.map(|id| Ok(Sent { id, duplicate: false, due: None })).collect());
    }
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
