//! Looking without changing anything: heads, statistics, messages.

use slipring::store::Head;
use slipring::{
    Error, MessageId, MessageState, PeekFilter, Peeked, Priority, QueueId, QueueStats, Timestamp,
};
use tokio_postgres::types::Type;

use crate::fault::garbled;
use crate::message::peeked;
use crate::queries;
use crate::rows::{count_to_sql, maybe_moment, moment, number, queue_to_sql, to_sql, value};
use crate::seats::Seat;
use crate::session::Session;

/// The first ready message of each queue, in the order asked.
pub(crate) async fn heads(
    session: &Session,
    queues: &[QueueId],
    now: Timestamp,
) -> Result<Vec<Option<Head>>, Error> {
    let mut heads = vec![None; queues.len()];
    if queues.is_empty() {
        return Ok(heads);
    }
    let ids: Vec<i32> = queues.iter().map(|queue| queue_to_sql(*queue)).collect();
    let now = to_sql(now.as_millis());
    let params = [(&ids as _, Type::INT4_ARRAY), (&now as _, Type::INT8)];
    for row in session.rows(&queries::HEADS, &params).await? {
        let at = usize::try_from(number(&row, 0)?).ok().and_then(|ord| ord.checked_sub(1));
        let place = at.and_then(|at| heads.get_mut(at));
        *place.ok_or_else(|| garbled("the head of a queue nobody asked for"))? = Some(Head {
            failing: value(&row, 1)?,
            priority: Priority(u32::try_from(number(&row, 2)?).unwrap_or(u32::MAX)),
            sent_at: moment(&row, 3)?,
            id: MessageId(number(&row, 4)?),
        });
    }
    Ok(heads)
}

/// What a queue holds.
pub(crate) async fn stats(
    session: &Session,
    queue: QueueId,
    now: Timestamp,
) -> Result<QueueStats, Error> {
    let (id, now) = (queue_to_sql(queue), to_sql(now.as_millis()));
    let params = [(&id as _, Type::INT4), (&now as _, Type::INT8)];
    let row = session.row_of(Seat::Queue(queue), &queries::STATS, &params).await?;
    let row = row.ok_or_else(|| Error::queue_not_found(queue))?;
    Ok(QueueStats {
        ready: number(&row, 0)?,
        urgent: number(&row, 1)?,
        delayed: number(&row, 2)?,
        leased: number(&row, 3)?,
        parked: number(&row, 4)?,
        bytes: number(&row, 5)?,
        oldest_ready_sent_at: maybe_moment(&row, 6)?,
        set_aside: number(&row, 7)?,
    })
}

/// Looks at messages in the order in which they would be handed out.
pub(crate) async fn peek(
    session: &Session,
    queue: QueueId,
    filter: PeekFilter,
    now: Timestamp,
) -> Result<Vec<Peeked>, Error> {
    let (id, now) = (queue_to_sql(queue), to_sql(now.as_millis()));
    let state = filter.state.map(MessageState::name);
    let limit = count_to_sql(filter.limit);
    let params = [
        (&id as _, Type::INT4),
        (&state as _, Type::TEXT),
        (&limit as _, Type::INT4),
        (&now as _, Type::INT8),
    ];
    session.rows_of(Seat::Queue(queue), &queries::PEEK, &params).await?.iter().map(peeked).collect()
}

/// Looks at one message, wherever it is.
pub(crate) async fn lookup(
    session: &Session,
    message: MessageId,
    now: Timestamp,
) -> Result<Option<Peeked>, Error> {
    let (id, now) = (to_sql(message.0), to_sql(now.as_millis()));
    let params = [(&id as _, Type::INT8), (&now as _, Type::INT8)];
    session.row(&queries::LOOKUP, &params).await?.as_ref().map(peeked).transpose()
}

/// The state with a name.
pub(crate) fn state_named(name: &str) -> Result<MessageState, Error> {
    let states =
        [MessageState::Delayed, MessageState::Ready, MessageState::Leased, MessageState::Parked];
    let state = states.into_iter().find(|state| state.name() == name);
    state.ok_or_else(|| garbled(format!("a state {name:?}")))
}
