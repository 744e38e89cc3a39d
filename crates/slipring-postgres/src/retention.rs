//! Removing what queues may forget, each queue in a transaction of its own.
//!
//! Most queues forget after days, and there may be thousands. So a pass looks only at those that
//! may have something too old: whose oldest message was seen to be that old by now, or, for what
//! came from other queues at whatever age, those that one statement over all queues names.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::store::Pass;
use slipring::{Error, ErrorKind, QueueId, Timestamp};
use tokio_postgres::types::Type;

use crate::aside;
use crate::queries;
use crate::rows::{maybe_moment, number, queue, queue_to_sql, to_sql, value};
use crate::session::{Param, Session};

/// One pass removes at most so many messages.
const MESSAGES_MAX: u64 = 10_000;
/// One pass looks at so many queues at most: other duties wait for it.
const QUEUES_MAX: usize = 100;
/// A queue is looked at this often in the time that it keeps messages, or once a minute: its
/// messages may have been sent by a clock that goes behind, or in a transaction that was open for
/// long, and so be older than what was seen before.
const LOOKS_IN_A_RETENTION: u32 = 24;
const LOOK_EVERY_MIN: Duration = Duration::from_secs(60);
/// A queue whose look failed keeps the others waiting no longer than this.
const AGAIN_AFTER_FAILURE: Duration = Duration::from_secs(15);

/// What is known of the queues that forget messages.
#[derive(Debug, Default)]
pub(crate) struct Retention {
    looks: Mutex<HashMap<QueueId, Look>>,
}

/// What a look at a queue has shown.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// How long the queue kept messages then.
    keeps: Duration,
    /// When to look again.
    again: Timestamp,
    /// When the oldest message's time comes.
    next: Option<Timestamp>,
}

/// A queue that forgets messages.
struct Forgetful {
    queue: QueueId,
    keeps: Duration,
    /// The shelf may have something too old.
    shelved: bool,
}

impl Retention {
    /// Removes messages that are too old; answers when to come again.
    pub(crate) async fn prune(&self, session: &Session, now: Timestamp) -> Result<Pass, Error> {
        let (forgetful, window) = forgetful(session, now).await?;
        let due = self.due(&forgetful, now);
        let mut pass = Pass::default();
        let mut looked = 0;
        let mut failed = None;
        for wanted in &due {
            if looked == QUEUES_MAX || pass.removed >= MESSAGES_MAX {
                break;
            }
            looked += 1;
            let limit = MESSAGES_MAX - pass.removed;
            let mut removed = self.look(session, wanted, limit, now).await;
            if let Err(error) = &removed
                && aside::clears(session, wanted.queue, now, error).await
            {
                removed = self.look(session, wanted, limit, now).await;
            }
            match removed {
                Ok(0) => {}
                Ok(removed) => {
                    pass.removed += removed;
                    pass.ready.push((wanted.queue, removed));
                }
                Err(error) if error.kind() == ErrorKind::QueueNotFound => {}
                // A row that is in the way of one queue keeps no other from its turn.
                Err(error) if aside::may_be_a_row(&error) => {
                    tracing::error!(queue = %wanted.queue, %error, "retention is not applied");
                }
                // It may be this queue's alone. A second one is no matter of a queue.
                Err(error) if failed.is_some() => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            // What was removed elsewhere has to be told.
            Some(error) if pass.removed > 0 => {
                tracing::error!(%error, "retention is not applied to a queue, and is tried again");
            }
            Some(error) => return Err(error),
            None => {}
        }
        let next = self.looks.lock().values().filter_map(|look| look.next).min();
        let more = (looked < due.len()).then_some(now);
        pass.next = [next, window, more].into_iter().flatten().min();
        Ok(pass)
    }

    /// The queues to look at, those that have waited the longest first; the others are forgotten
    /// here when they forget no more.
    fn due<'a>(&self, forgetful: &'a [Forgetful], now: Timestamp) -> Vec<&'a Forgetful> {
        let mut looks = self.looks.lock();
        let mut known = std::mem::take(&mut *looks);
        let mut due = Vec::new();
        for wanted in forgetful {
            let look = known.remove(&wanted.queue).filter(|look| look.keeps == wanted.keeps);
            let again =
                look.map(|look| if wanted.shelved { look.again.min(now) } else { look.again });
            if let Some(look) = look {
                looks.insert(wanted.queue, look);
            }
            if again.is_none_or(|again| again <= now) {
                due.push((again, wanted));
            }
        }
        due.sort_by_key(|(again, wanted)| (*again, wanted.queue));
        due.into_iter().map(|(_, wanted)| wanted).collect()
    }

    /// Looks at one queue; answers how many messages it has removed.
    async fn look(
        &self,
        session: &Session,
        wanted: &Forgetful,
        limit: u64,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let (id, at) = (queue_to_sql(wanted.queue), to_sql(now.as_millis()));
        let limit = to_sql(limit);
        let params: [Param<'_>; 3] = [(&id, Type::INT4), (&at, Type::INT8), (&limit, Type::INT8)];
        let keeps = wanted.keeps;
        let failed = Look { keeps, again: now.after(AGAIN_AFTER_FAILURE), next: None };
        self.looks.lock().insert(wanted.queue, failed);
        let Some(row) = session.row(&queries::PRUNE, &params).await? else { return Ok(0) };
        let next = maybe_moment(&row, 1)?;
        let every = (keeps / LOOKS_IN_A_RETENTION).max(LOOK_EVERY_MIN);
        let again = now.after(every).min(next.unwrap_or(Timestamp::MAX));
        self.looks.lock().insert(wanted.queue, Look { keeps, again, next });
        number(&row, 0)
    }
}

/// The queues that forget messages, and when the next window of a deduplication id is over.
async fn forgetful(
    session: &Session,
    now: Timestamp,
) -> Result<(Vec<Forgetful>, Option<Timestamp>), Error> {
    let at = to_sql(now.as_millis());
    let rows = session.rows(&queries::RETENTIONS, &[(&at, Type::INT8)]).await?;
    let (mut queues, mut window) = (Vec::with_capacity(rows.len()), None);
    for row in &rows {
        let time = Duration::from_millis(number(row, 1)?);
        if value::<Option<i64>>(row, 0)?.is_none() {
            window = Some(now.after(time.max(Duration::from_secs(1))));
        } else {
            queues.push(Forgetful { queue: queue(row, 0)?, keeps: time, shelved: value(row, 2)? });
        }
    }
    Ok((queues, window))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    #[test]
    fn those_whose_time_has_come_are_looked_at_the_longest_waiting_first() {
        let look = |again| Look { keeps: HOUR, again: at(again), next: None };
        let seen = [(1, 30), (2, 10), (3, 50), (4, 50), (5, 50), (9, 10)];
        let looks = seen.map(|(queue, again)| (QueueId(queue), look(again)));
        let retention = Retention { looks: Mutex::new(HashMap::from(looks)) };
        let known = |queue| Forgetful { queue: QueueId(queue), keeps: HOUR, shelved: false };
        let forgetful = [
            known(1),
            known(2),
            known(3),
            Forgetful { shelved: true, ..known(4) },
            Forgetful { keeps: HOUR / 2, ..known(5) },
            known(6),
        ];
        let due = retention.due(&forgetful, at(40));
        let due: Vec<u64> = due.iter().map(|wanted| wanted.queue.0).collect();
        assert_eq!(due, [5, 6, 2, 1, 4], "new settings and new queues first");
        assert!(!retention.looks.lock().contains_key(&QueueId(9)), "it forgets no more");
    }
}
