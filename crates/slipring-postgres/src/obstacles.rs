//! What others do to the database at this moment that holds the store up.

use std::time::Duration;

use slipring::clock::{millis_ceil, monotonic_ns};
use slipring::{Error, Obstacle, ObstacleAges, ObstacleKind, Obstacles, QueueName, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::fault::garbled;
use crate::patience::within;
use crate::queries::{self, Query};
use crate::rows::{maybe_number, number, to_sql, value};
use crate::seats::Seat;
use crate::session::{Param, Session};

/// All looks together take at most so long.
const LOOK: Duration = Duration::from_millis(500);
/// The deadlines of so many queues are looked at.
const QUEUES: i32 = 500;

/// Looks at sessions, transactions, slots and deadlines, as far as there is time.
///
/// # Errors
/// Storage errors; not that there was no time.
pub(crate) async fn find(
    session: &Session,
    ages: &ObstacleAges,
    now: Timestamp,
) -> Result<Obstacles, Error> {
    let mut looks =
        Looks { session, until_ns: monotonic_ns() + LOOK.as_nanos() as u64, gaps: vec![] };
    let mut found = Vec::new();
    let (held, open, elsewhere) = (in_ms(ages.held), in_ms(ages.open), in_ms(ages.elsewhere));
    let params: [Param<'_>; 3] =
        [(&held, Type::INT8), (&open, Type::INT8), (&elsewhere, Type::INT8)];
    for row in looks.rows("transactions", &queries::OBSTACLES, &params).await? {
        found.push(obstacle(&row)?);
    }
    let by = to_sql(now.as_millis()).saturating_sub(in_ms(ages.overdue));
    let params: [Param<'_>; 2] = [(&by, Type::INT8), (&QUEUES, Type::INT4)];
    for row in looks.rows("deadlines of queues", &queries::OVERDUE, &params).await? {
        let late_ms = number(&row, 1)?.saturating_add(millis_ceil(ages.overdue));
        found.push(Obstacle {
            queue: Some(QueueName::new(value::<&str>(&row, 0)?)?),
            for_ms: Some(late_ms),
            ..Obstacle::new(ObstacleKind::UpkeepOverdue)
        });
    }
    let mut seen = Obstacles { found, ..Obstacles::default() };
    if let Some(row) = looks.rows("sessions", &queries::SIGHT, &[]).await?.first() {
        (seen.sessions, seen.hidden) = (number(row, 0)?, number(row, 1)?);
    }
    seen.gaps = looks.gaps;
    Ok(seen)
}

fn in_ms(age: Duration) -> i64 {
    to_sql(millis_ceil(age))
}

/// Looks that share their time.
struct Looks<'a> {
    session: &'a Session,
    until_ns: u64,
    gaps: Vec<String>,
}

impl Looks<'_> {
    /// The rows of a look, or none and a gap when there was no time for it.
    async fn rows(
        &mut self,
        what: &str,
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Error> {
        let left = Duration::from_nanos(self.until_ns.saturating_sub(monotonic_ns()));
        let answer = self.session.rows_of(Seat::Kept, query, params);
        match within(left, answer).await {
            Some(rows) => rows,
            None => {
                self.gaps.push(format!("{what}: no answer within {} ms", LOOK.as_millis()));
                Ok(Vec::new())
            }
        }
    }
}

fn obstacle(row: &Row) -> Result<Obstacle, Error> {
    let text = |at| Ok::<_, Error>(value::<Option<&str>>(row, at)?.map(str::to_owned));
    let kind = match value(row, 0)? {
        "queue_held" => ObstacleKind::QueueHeld,
        "open_writer" => ObstacleKind::OpenWriter,
        "prepared_transaction" => ObstacleKind::PreparedTransaction,
        "replication_slot" => ObstacleKind::ReplicationSlot,
        other => return Err(garbled(format!("an obstacle {other:?}"))),
    };
    let pid: Option<i32> = value(row, 2)?;
    Ok(Obstacle {
        kind,
        queue: value::<Option<&str>>(row, 1)?.map(QueueName::new).transpose()?,
        pid: pid.and_then(|pid| u32::try_from(pid).ok()),
        name: text(3)?,
        role: text(4)?,
        application: text(5)?,
        state: text(6)?,
        for_ms: maybe_number(row, 7)?,
        statement: text(8)?,
        transaction: text(9)?,
        behind: maybe_number(row, 10)?,
        database: text(11)?,
        bytes: None,
    })
}
