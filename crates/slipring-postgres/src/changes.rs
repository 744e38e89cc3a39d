//! Noticing what others did, without a trace in anybody's commit.
//!
//! Whoever changes something takes a transaction number first and then a value of one of the
//! sequences `slipring.activity_0` to `_15`, by its queue. Sequences are not subject to MVCC: they
//! move before the change can be seen. So after one has moved, a look at which transactions run
//! tells everything that is still to come: the change can be seen when its transaction runs no
//! more. Transactions that have nothing to do with queues move nothing. The same holds for the list
//! of queues and their settings, and the sequence `slipring.queue_changes`.

use std::time::Duration;

use parking_lot::Mutex;
use slipring::Error;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::fault::garbled;
use crate::queries::{self, Query};
use crate::rows::value;
use crate::session::{Param, Session};

/// Between two looks of a wait inside the database.
const AWAIT_STEP: Duration = Duration::from_millis(20);
/// Looks of one statement: it keeps its picture of what is visible until it ends, and tables with
/// what has become invisible since cannot be emptied.
const AWAIT_LOOKS_MAX: u128 = 25;

/// What was seen last, and how often it was something new.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Held by a caller over its two looks and until it has read what they told: a transaction that
    /// ends between the two looks of one would be none that ran, or ended, for the other.
    looking: tokio::sync::Mutex<()>,
    messages: Mutex<Seen>,
    queues: Mutex<SeenQueues>,
}

/// What is known of a sequence that moves before each change.
#[derive(Debug, Default)]
struct Seen {
    /// The sequence's value.
    value: Option<i64>,
    /// The sequence has moved, and which transactions ran then is not known yet.
    moving: bool,
    /// Transactions that ran after the sequence moved, and ran at every look since.
    running: Vec<i64>,
    times: u64,
    /// Of these, how many the one who waits for changes has been told of.
    told: u64,
}

/// What one look has told.
struct Look {
    /// The sequence of all changes.
    activity: i64,
    /// That of changes of the list of queues and of settings.
    queues: i64,
    /// Transactions from this number on may run.
    highest: i64,
    /// Below it, these do.
    running: Vec<i64>,
}

impl Look {
    fn still_runs(&self, transaction: i64) -> bool {
        transaction >= self.highest || self.running.contains(&transaction)
    }
}

impl Seen {
    /// The sequence's value, if nothing that has begun is still to be waited for.
    fn settled(&self) -> Option<i64> {
        self.value.filter(|_| !self.moving && self.running.is_empty())
    }

    /// Whether something has changed that the one who waits has not been told of.
    fn untold(&self) -> bool {
        self.times != self.told
    }

    /// Takes in what a look told of the sequence; true when another one has to tell which
    /// transactions run.
    fn look(&mut self, value: i64, look: &Look) -> bool {
        if self.value.replace(value) != Some(value) {
            self.moving = true;
        }
        let before = self.running.len();
        self.running.retain(|transaction| look.still_runs(*transaction));
        if self.moving || self.running.len() < before {
            self.times += 1;
        }
        self.moving
    }

    /// Takes in the second look after the first has seen the sequence move; it began after the
    /// first had ended and tells every transaction that runs.
    fn look_again(&mut self, value: i64, look: &Look) {
        // Has it moved meanwhile, the next look counts it; the transaction may have begun after
        // this one took its picture of what runs.
        self.moving = self.value.replace(value) != Some(value);
        self.running.clone_from(&look.running);
    }
}

#[derive(Debug, Default)]
struct SeenQueues {
    /// Of the sequence that moves before each change of the list.
    seen: Seen,
    /// How often that had told a change before the list was looked at.
    changes: Option<u64>,
    digest: Option<i64>,
    times: u64,
}

impl Changes {
    /// A number that moves after every change by anybody, this process included. Costs one
    /// statement that touches no table, and a second one after a change.
    pub(crate) async fn messages(&self, session: &Session) -> Result<u64, Error> {
        let _one = self.looking.lock().await;
        self.look(session).await?;
        Ok(self.messages.lock().times)
    }

    /// Looks, and once more where something has moved. The caller holds `looking`.
    async fn look(&self, session: &Session) -> Result<(), Error> {
        let first = look(session, &queries::ACTIVITY).await?;
        let messages_move = self.messages.lock().look(first.activity, &first);
        let queues_move = self.queues.lock().seen.look(first.queues, &first);
        if messages_move || queues_move {
            let second = look(session, &queries::RUNNING).await?;
            if messages_move {
                self.messages.lock().look_again(second.activity, &second);
            }
            if queues_move {
                self.queues.lock().seen.look_again(second.queues, &second);
            }
        }
        Ok(())
    }

    /// As [`Changes::messages`], for the one who waits with [`Changes::awaited`] afterwards.
    pub(crate) async fn told(&self, session: &Session) -> Result<u64, Error> {
        let times = self.messages(session).await?;
        self.messages.lock().told = times;
        Ok(times)
    }

    /// Waits in the database until somebody begins to change something that has not been told, at
    /// most for `within`. Answers whether it has waited or need not: false at once while
    /// transactions have to be waited for, which moves no sequence, and where the wait would take
    /// a connection that calls need.
    pub(crate) async fn awaited(&self, session: &Session, within: Duration) -> Result<bool, Error> {
        let step = AWAIT_STEP.as_secs_f64();
        let mut left = within.as_millis() / AWAIT_STEP.as_millis();
        let mut waited = false;
        while left > 0 {
            let (untold, settled) = {
                let seen = self.messages.lock();
                (seen.untold(), seen.settled())
            };
            if untold {
                return Ok(true);
            }
            let spared = settled.and_then(|activity| Some((activity, session.spare()?)));
            let Some((activity, seat)) = spared else { return Ok(waited) };
            // Below 26.
            let looks = left.min(AWAIT_LOOKS_MAX) as i32;
            let params: [Param<'_>; 3] =
                [(&activity, Type::INT8), (&looks, Type::INT4), (&step, Type::FLOAT8)];
            if session.wait(seat, &queries::AWAIT_ACTIVITY, &params).await? {
                return Ok(true);
            }
            waited = true;
            left = left.saturating_sub(AWAIT_LOOKS_MAX);
        }
        Ok(waited)
    }

    /// A number that stays as it is while nobody changes anything, as far as looks have told; none
    /// where that is not known.
    pub(crate) fn stand(&self) -> Option<i64> {
        self.messages.lock().settled()
    }

    /// A number that moves when the list of queues or the settings of one have changed. Costs what
    /// [`Changes::messages`] does, and a walk over the list when somebody has begun to change it,
    /// or a transaction that ran then has ended, since the last time.
    pub(crate) async fn queues(&self, session: &Session) -> Result<u64, Error> {
        // Taken before the list is looked at: what is committed in between moves it.
        let changes = {
            let _one = self.looking.lock().await;
            self.look(session).await?;
            let queues = self.queues.lock();
            if queues.changes == Some(queues.seen.times) {
                return Ok(queues.times);
            }
            queues.seen.times
        };
        let row = session.row(&queries::CATALOGUE, &[]).await?;
        let digest: i64 = value(&row.ok_or_else(|| garbled("no row"))?, 0)?;
        let mut seen = self.queues.lock();
        seen.changes = Some(changes);
        if seen.digest.replace(digest) != Some(digest) {
            seen.times += 1;
        }
        Ok(seen.times)
    }
}

async fn look(session: &Session, query: &Query) -> Result<Look, Error> {
    let row: Option<Row> = session.row(query, &[]).await?;
    let row = row.ok_or_else(|| garbled("no row"))?;
    Ok(Look {
        activity: value(&row, 0)?,
        queues: value(&row, 1)?,
        highest: value(&row, 2)?,
        running: value(&row, 3)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(highest: i64, running: &[i64]) -> Look {
        Look { activity: 0, queues: 0, highest, running: running.to_vec() }
    }

    fn settled() -> Seen {
        let mut seen = Seen::default();
        assert!(seen.look(1, &look(5, &[])));
        seen.look_again(1, &look(5, &[]));
        seen
    }

    #[test]
    fn what_moves_no_sequence_is_no_change() {
        let mut seen = settled();
        let before = seen.times;
        for (highest, running) in [(8, &[7][..]), (9, &[7, 8]), (10, &[])] {
            assert!(!seen.look(1, &look(highest, running)));
        }
        assert_eq!(seen.times, before);
    }

    #[test]
    fn a_change_counts_when_it_begins_and_when_its_transaction_is_over() {
        let mut seen = settled();
        let before = seen.times;
        assert!(seen.look(2, &look(7, &[5])));
        // The lock on its number shows the youngest one, which no snapshot tells.
        seen.look_again(2, &look(7, &[5, 7]));
        assert_eq!(seen.times, before + 1);
        assert!(!seen.look(2, &look(7, &[5])));
        assert!(!seen.look(2, &look(10, &[5, 7, 9])));
        assert_eq!(seen.times, before + 1, "nothing can be seen that could not be seen before");
        assert!(!seen.look(2, &look(10, &[5, 9])));
        assert_eq!(seen.times, before + 2);
        assert!(!seen.look(2, &look(10, &[5])), "a younger one is none of those that had begun");
        assert_eq!(seen.times, before + 2);
    }

    #[test]
    fn a_wait_is_over_when_somebody_else_has_seen_the_change() {
        let mut seen = settled();
        assert!(seen.untold(), "nobody was told of the first look");
        seen.told = seen.times;
        assert_eq!((seen.untold(), seen.settled()), (false, Some(1)));
        assert!(seen.look(2, &look(6, &[])));
        seen.look_again(2, &look(6, &[5]));
        assert!(seen.untold());
        seen.told = seen.times;
        assert_eq!(
            (seen.untold(), seen.settled()),
            (false, None),
            "5 moves no sequence when it ends"
        );
        assert!(!seen.look(2, &look(6, &[])));
        seen.told = seen.times;
        assert_eq!((seen.untold(), seen.settled()), (false, Some(2)));
    }

    #[test]
    fn a_change_that_begins_between_two_looks_is_not_lost() {
        let mut seen = settled();
        assert!(seen.look(2, &look(8, &[])));
        seen.look_again(3, &look(8, &[]));
        let before = seen.times;
        assert!(seen.look(3, &look(9, &[8])), "it may not have been in the last picture");
        assert_eq!(seen.times, before + 1);
    }
}
