//! Passes over deadlines, and the end of this holder's sessions.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use slipring::store::Pass;
use slipring::{Error, QueueId, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::queries::{self, Query};
use crate::rows::{maybe_moment, maybe_number, queue, to_sql, value};
use crate::session::{Param, Session};

/// So often the leases are looked through from the beginning: another process, whose clock goes
/// behind, may have given one a deadline below what this one has passed over.
const AGAIN_AFTER_MS: i64 = 60_000;

/// One pass takes at most so many steps of the rotation of each part.
const ROTATIONS_MAX: u32 = 8;

/// While nobody changes anything, a rotation that found nothing to do is not repeated for so long.
const REST_MS_MAX: i64 = 50_000;

/// What rotates for itself, so that much to do for one keeps no other waiting.
const ROTATING: [&str; 5] = ["queues", "journal", "shelf", "dedup", "places"];

/// How far the deadlines of leases have been passed over.
#[derive(Debug, Default)]
pub(crate) struct Watermark {
    /// No lease with a deadline at or below is open.
    deadline_ms: AtomicI64,
    /// When it was last 0.
    began_ms: AtomicI64,
}

impl Watermark {
    fn before(&self, now_ms: i64) -> i64 {
        if now_ms.saturating_sub(self.began_ms.load(Ordering::Relaxed)) >= AGAIN_AFTER_MS {
            self.began_ms.store(now_ms, Ordering::Relaxed);
            return 0;
        }
        self.deadline_ms.load(Ordering::Relaxed)
    }

    fn after(&self, reached: Option<i64>) {
        // A pass that ran beside this one may have reached another place; the lower one is safe,
        // but either is right, for each has looked at what lies below.
        if let Some(reached) = reached {
            self.deadline_ms.store(reached, Ordering::Relaxed);
        }
    }
}

/// Makes ready what is due.
pub(crate) async fn due(session: &Session, now: Timestamp) -> Result<Pass, Error> {
    let every: Option<Vec<i32>> = None;
    let now = to_sql(now.as_millis());
    let params: [Param<'_>; 2] = [(&now, Type::INT8), (&every, Type::INT4_ARRAY)];
    pass(session, &queries::DUE, &params).await.map(|(pass, _)| pass)
}

/// Ends the leases whose deadline has passed.
pub(crate) async fn expire(
    session: &Session,
    watermark: &Watermark,
    now: Timestamp,
) -> Result<Pass, Error> {
    let now = to_sql(now.as_millis());
    let above = watermark.before(now);
    let params: [Param<'_>; 2] = [(&now, Type::INT8), (&above, Type::INT8)];
    let (pass, reached) = pass(session, &queries::EXPIRE, &params).await?;
    watermark.after(reached);
    Ok(pass)
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

/// Retires tables. `stand` is where the store stands, if known: see
/// [`Changes::stand`](crate::changes::Changes::stand).
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
    for part in ROTATING {
        let params: [Param<'_>; 4] = [
            (&part, Type::TEXT),
            (&now, Type::INT8),
            (&rotation.bytes, Type::INT8),
            (&rotation.age_ms, Type::INT8),
        ];
        for _ in 0..ROTATIONS_MAX {
            let row = session.row(&queries::ROTATE, &params).await?;
            if !row.map_or(Ok(false), |row| value::<bool>(&row, 0))? {
                break;
            }
            idle = false;
        }
    }
    let rest = stand.filter(|_| idle).map(|stand| Rest { stand, since_ms: now });
    *rotation.rest.lock() = rest;
    Ok(())
}

/// Ends the leases that belong to connections of `holder`; answers where messages became ready.
pub(crate) async fn end_sessions(
    session: &Session,
    holder: i64,
    now: Timestamp,
) -> Result<Vec<QueueId>, Error> {
    let now = to_sql(now.as_millis());
    let params: [Param<'_>; 2] = [(&holder, Type::INT8), (&now, Type::INT8)];
    let rows = session.rows(&queries::END_SESSIONS, &params).await?;
    rows.iter().map(|row| queue(row, 0)).collect()
}

async fn pass(
    session: &Session,
    query: &Query,
    params: &[Param<'_>],
) -> Result<(Pass, Option<i64>), Error> {
    let rows = session.rows(query, params).await?;
    let mut pass = Pass::default();
    let mut reached = None;
    for row in &rows {
        add(&mut pass, row)?;
        reached = value::<Option<i64>>(row, 4)?.or(reached);
    }
    Ok((pass, reached))
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
        let rotation = Rotation { bytes: 0, age_ms: 0, rest };
        assert!(rotation.rests(Some(7), 1000) && rotation.rests(Some(7), 50_999));
        assert!(!rotation.rests(Some(7), 51_000), "tables get older");
        assert!(!rotation.rests(Some(7), 999), "the clock went back");
        assert!(!rotation.rests(Some(8), 2000), "something was written");
        assert!(!rotation.rests(None, 2000), "nobody knows");
        *rotation.rest.lock() = None;
        assert!(!rotation.rests(Some(7), 2000) && !rotation.rests(None, 2000));
    }
}
