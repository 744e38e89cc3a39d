//! Turns of queues over deadlines, each of them a transaction of its own, which queues need one,
//! and the end of this holder's sessions.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use slipring::clock::monotonic_ns;
use slipring::store::{Deadline, Deadlines, Pass};
use slipring::{Error, QueueId, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::aside;
use crate::constants;
use crate::fault::garbled;
use crate::patience::Patience;
use crate::queries;
use crate::rows::{maybe_moment, maybe_number, queue, queue_to_sql, to_sql, value};
use crate::session::{Param, Session};

/// One pass goes so many times over the queues for each part of the rotation.
const ROUNDS_MAX: u32 = 8;

/// The steps of the rotation of one part take at most so long in a pass.
const ROTATION_NS_MAX: u64 = 1_000_000_000;

/// While nobody changes anything, a rotation that found nothing to do is not repeated for so long.
const REST_MS_MAX: i64 = 50_000;

/// What rotates for itself, so that much to do for one keeps no other waiting.
const ROTATING: [&str; 7] = ["queues", "shared", "moves", "journal", "shelf", "dedup", "places"];

/// A part of the deadlines looks at so many queues.
const DEADLINES_PART: i32 = constants::DEADLINES_STEP as i32;

/// A pass over all queues handles about so many messages.
const MESSAGES_MAX: u64 = 10_000;

/// For the lock of a queue that was not found taken before, a turn is tried for so long: another
/// call of the queue has it for some milliseconds.
const PATIENCE: Patience = Patience::of(Duration::from_millis(250));

/// A queue whose lock somebody holds gets its next turn so much later.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What a turn is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Messages that are due, and the end of a pause.
    Due,
    /// Leases that lapse.
    Lapse,
}

/// Of the turns of [`Stuck`] queues one in four seconds waits for one second: a lock for which
/// other transactions queue all the time is never free when it is only tried.
const LONG: Patience = Patience { whole: Duration::ZERO, first: Duration::from_secs(1) };
const LONG_EVERY_NS: u64 = 4_000_000_000;

/// Queues whose lock another transaction held for longer than a turn waits. Until the lock is free
/// their turns try it once, so that turns of other queues do not wait behind them.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    queues: Mutex<HashSet<QueueId>>,
    /// When the last long turn began.
    long_at_ns: AtomicU64,
}

impl Stuck {
    /// For how long a turn of a queue is tried.
    fn patience(&self, queue: QueueId) -> Patience {
        if !self.queues.lock().contains(&queue) {
            return PATIENCE;
        }
        let (now, last) = (monotonic_ns(), self.long_at_ns.load(Ordering::Relaxed));
        let due = last == 0 || now.saturating_sub(last) >= LONG_EVERY_NS;
        let relaxed = Ordering::Relaxed;
        match due && self.long_at_ns.compare_exchange(last, now, relaxed, relaxed).is_ok() {
            true => LONG,
            false => Patience::of(Duration::ZERO),
        }
    }
}

/// A turn of one queue.
pub(crate) async fn turn(
    session: &Session,
    stuck: &Stuck,
    moment: Moment,
    queue: QueueId,
    now: Timestamp,
) -> Result<Pass, Error> {
    let query = match moment {
        Moment::Due => &queries::DUE_IN,
        Moment::Lapse => &queries::EXPIRE_IN,
    };
    let (id, at) = (queue_to_sql(queue), to_sql(now.as_millis()));
    let params: [Param<'_>; 2] = [(&id, Type::INT4), (&at, Type::INT8)];
    let patience = stuck.patience(queue);
    let answer = match session.turn(query, &params, patience).await {
        Err(error) if aside::clears(session, queue, now, &error).await => {
            session.turn(query, &params, patience).await
        }
        answer => answer,
    };
    let Some(rows) = answer? else {
        stuck.queues.lock().insert(queue);
        return Ok(Pass { next: Some(now.after(AGAIN_AFTER)), ..Pass::default() });
    };
    stuck.queues.lock().remove(&queue);
    let mut pass = Pass::default();
    for row in &rows {
        add(&mut pass, row)?;
    }
    Ok(pass)
}

/// Turns of all queues that have something to do by now, as far as one pass goes.
pub(crate) async fn over_all(
    session: &Session,
    stuck: &Stuck,
    moment: Moment,
    now: Timestamp,
) -> Result<Pass, Error> {
    let mut whole = Pass::default();
    let mut handled = 0;
    let mut from = Some(0);
    while let Some(begin) = from {
        let part = deadlines(session, begin).await?;
        from = part.next;
        for deadline in part.queues {
            let mut next = match moment {
                Moment::Due => deadline.due,
                Moment::Lapse => deadline.lapse,
            };
            while handled < MESSAGES_MAX && next.is_some_and(|at| at <= now) {
                let pass = turn(session, stuck, moment, deadline.queue, now).await?;
                handled += pass.removed + pass.ready.iter().map(|(_, count)| count).sum::<u64>();
                for (queue, count) in pass.ready {
                    match whole.ready.iter_mut().find(|(known, _)| *known == queue) {
                        Some((_, sum)) => *sum += count,
                        None => whole.ready.push((queue, count)),
                    }
                }
                whole.removed += pass.removed;
                next = pass.next;
            }
            whole.next = [whole.next, next].into_iter().flatten().min();
        }
    }
    Ok(whole)
}

/// A part of the deadlines of all queues.
pub(crate) async fn deadlines(session: &Session, from: u64) -> Result<Deadlines, Error> {
    let after = queue_to_sql(QueueId(from));
    let params: [Param<'_>; 2] = [(&after, Type::INT4), (&DEADLINES_PART, Type::INT4)];
    let mut part = Deadlines::default();
    for row in session.rows(&queries::DEADLINES, &params).await? {
        let (queue, due, lapse) = (queue(&row, 0)?, maybe_moment(&row, 1)?, maybe_moment(&row, 2)?);
        if due.is_some() || lapse.is_some() {
            part.queues.push(Deadline { queue, due, lapse });
        } else {
            part.next = Some(queue.0);
        }
    }
    Ok(part)
}

/// Ends the leases that belong to connections of `holder`. Those of a queue whose lock somebody
/// holds lapse at their deadline.
pub(crate) async fn end_sessions(
    session: &Session,
    holder: i64,
    now: Timestamp,
) -> Result<(), Error> {
    let at = to_sql(now.as_millis());
    let mut failed = None;
    for row in session.rows(&queries::HOLDERS, &[(&holder, Type::INT8)]).await? {
        let queue = queue(&row, 0)?;
        let id = queue_to_sql(queue);
        let params: [Param<'_>; 3] = [(&id, Type::INT4), (&holder, Type::INT8), (&at, Type::INT8)];
        // Bounded turns, until there is nothing left that can be ended.
        loop {
            match session.turn(&queries::END_SESSIONS, &params, PATIENCE).await {
                Ok(Some(rows)) if !rows.is_empty() => {}
                Ok(_) => break,
                Err(error) if aside::clears(session, queue, now, &error).await => {}
                // The leases of other queues end all the same. A second one is no matter of a
                // queue.
                Err(error) if failed.is_some() => return Err(error),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// When a table of messages is closed, so that it can be retired when its messages are done.
#[derive(Debug)]
pub(crate) struct Rotation {
    /// It holds so many bytes.
    pub(crate) bytes: i64,
    /// Or it has been written for so long, in milliseconds.
    pub(crate) age_ms: i64,
    /// The last rotation found nothing to do.
    pub(crate) rest: Mutex<Option<Rest>>,
    /// After which queue a part goes on that had no time for all of them.
    pub(crate) after: Mutex<HashMap<&'static str, i32>>,
}

/// Where the store stood when a rotation found nothing to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest {
    stand: i64,
    since_ms: i64,
}

impl Rotation {
    /// Whether there is nothing to do still: tables that nobody writes to do not grow. But they
    /// get older, and transactions end that stood in the way, so that does not hold for long.
    fn rests(&self, stand: Option<i64>, now_ms: i64) -> bool {
        self.rest.lock().is_some_and(|rest| {
            Some(rest.stand) == stand
                && (rest.since_ms..rest.since_ms.saturating_add(REST_MS_MAX)).contains(&now_ms)
        })
    }
}

/// Retires tables; a part that fails keeps no other from its turn. `stand` is where the store
/// stands, if known: see [`Changes::stand`](crate::changes::Changes::stand).
pub(crate) async fn rotate(
    session: &Session,
    rotation: &Rotation,
    stand: Option<i64>,
    now: Timestamp,
) -> Result<(), Error> {
    let now = to_sql(now.as_millis());
    if rotation.rests(stand, now) {
        return Ok(());
    }
    let mut idle = true;
    let mut failed = None;
    for part in ROTATING {
        match rotate_part(session, rotation, part, now).await {
            Ok(did) => idle &= !did,
            // A second one is no matter of the part.
            Err(error) if failed.is_some() => return Err(error),
            Err(error) => failed = Some(error),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let rest = stand.filter(|_| idle).map(|stand| Rest { stand, since_ms: now });
    *rotation.rest.lock() = rest;
    Ok(())
}

/// Takes steps of the rotation of a part while there are any, and for as long as one part may take;
/// answers whether there was one. Each step is a transaction of its own.
async fn rotate_part(
    session: &Session,
    rotation: &Rotation,
    part: &'static str,
    now: i64,
) -> Result<bool, Error> {
    let began = monotonic_ns();
    let mut after = rotation.after.lock().remove(part).unwrap_or(0);
    let (mut did, mut did_in_round) = (after > 0, after > 0);
    let mut rounds = 0;
    // The shelf is copied, and messages are counted, in parts: a queue may need any number of
    // rounds.
    while (matches!(part, "shelf" | "queues") || rounds < ROUNDS_MAX)
        && monotonic_ns().saturating_sub(began) < ROTATION_NS_MAX
    {
        let params: [Param<'_>; 5] = [
            (&part, Type::TEXT),
            (&now, Type::INT8),
            (&rotation.bytes, Type::INT8),
            (&rotation.age_ms, Type::INT8),
            (&after, Type::INT4),
        ];
        let row = session.row(&queries::ROTATE, &params).await?;
        let row = row.ok_or_else(|| garbled("no answer to a step of the rotation"))?;
        let done: bool = value(&row, 0)?;
        did |= done;
        did_in_round |= done;
        match maybe_number(&row, 1)? {
            Some(queue) => after = queue_to_sql(QueueId(queue)),
            // The round is over; what was passed over, or follows, is met by the next one.
            None if did_in_round => {
                (after, did_in_round) = (0, false);
                rounds += 1;
            }
            None => return Ok(did),
        }
    }
    rotation.after.lock().insert(part, after);
    Ok(true)
}

fn add(pass: &mut Pass, row: &Row) -> Result<(), Error> {
    let ready = maybe_number(row, 1)?.unwrap_or(0);
    if maybe_number(row, 0)?.is_some() && ready > 0 {
        pass.ready.push((queue(row, 0)?, ready));
    }
    pass.removed += maybe_number(row, 2)?.unwrap_or(0);
    pass.next = match (pass.next, maybe_moment(row, 3)?) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_rests_for_a_while_when_nothing_moves() {
        let rest = Mutex::new(Some(Rest { stand: 7, since_ms: 1000 }));
        let rotation = Rotation { bytes: 0, age_ms: 0, rest, after: Mutex::default() };
        assert!(rotation.rests(Some(7), 1000) && rotation.rests(Some(7), 50_999));
        assert!(!rotation.rests(Some(7), 51_000), "tables get older");
        assert!(!rotation.rests(Some(7), 999), "the clock went back");
        assert!(!rotation.rests(Some(8), 2000), "something was written");
        assert!(!rotation.rests(None, 2000), "nobody knows");
        *rotation.rest.lock() = None;
        assert!(!rotation.rests(Some(7), 2000) && !rotation.rests(None, 2000));
    }
}
