//! Looking without changing: each call sees one state of the file, on a connection that never
//! writes and so waits for no lock.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use slipring::deal::Standing;
use slipring::store::Head;
use slipring::{MessageId, MessageState, QueueId, QueueInfo, QueueStats, Timestamp};

use crate::fault::{Fault, Outcome};
use crate::image::{self, QueueRow};
use crate::inbox::Inbox;
use crate::item::{standing_turns, state_number};
use crate::lane::Lane;
use crate::position::{from_sql, stamp_ms, to_sql};
use crate::statements::{Query, Statements, keep_statements};
use crate::task::{Classes, Task};

/// A call for a reader.
pub(crate) type ReaderTask = Box<dyn for<'c> Task<Reader<'c>>>;

/// At most so many priorities of rows are looked at to find the oldest ready message.
const PRIORITIES_MAX: usize = 1000;

/// A reader's state within its thread.
pub(crate) struct Reader<'c> {
    pub(crate) db: Statements<'c>,
}

/// What decides whether a queue hands out messages.
struct Gate {
    fifo: bool,
    paused: bool,
    paused_until_ms: Option<u64>,
}

/// Starts a thread that serves reading calls until the inbox is closed and empty.
pub(crate) fn start_reading(
    connection: Connection,
    inbox: Arc<Inbox<ReaderTask>>,
    classes: Classes,
) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name("slipring-read".to_owned()).spawn(move || {
        keep_statements(&connection);
        let mut reader = Reader { db: Statements::new(&connection) };
        while let Some(mut task) = inbox.wait_for_one() {
            task.taken(&classes.reader_inbox);
            // A look that panics has changed nothing; the others still want their answers. Its own
            // caller is answered by the task's being dropped.
            let served = panic::catch_unwind(AssertUnwindSafe(|| reader.serve(task)));
            if served.is_err() {
                reader.end();
            }
        }
    })
}

impl Reader<'_> {
    /// Runs a call on one state of the file.
    fn serve(&mut self, mut task: ReaderTask) {
        let begun = self.db.execute(Query::BeginRead, ()).map_err(Fault::Storage);
        let result = begun.and_then(|_| task.run(self));
        self.end();
        match result {
            Ok(()) => task.answer(),
            Err(fault) => task.fail(fault.into_error()),
        }
    }

    /// Lets the state of the file go.
    fn end(&self) {
        // Nothing was written; a transaction that could not begin needs no end.
        let _ = self.db.execute(Query::Rollback, ());
    }

    /// A number that moves when the list of queues or the settings of one change.
    pub(crate) fn queue_changes(&mut self) -> Outcome<u64> {
        let number = self.db.first(Query::QueueChanges, (), |row| row.get::<_, i64>(0))?;
        Ok(number.map_or(0, from_sql))
    }

    /// All queues, by name.
    pub(crate) fn queues(&mut self) -> Outcome<Vec<Arc<QueueInfo>>> {
        let rows = self.db.all(Query::Queues, (), QueueRow::read)?;
        rows.iter().map(|row| row.info().map(Arc::new)).collect()
    }

    fn gate(&mut self, queue: QueueId) -> Outcome<Option<Gate>> {
        let gate = self.db.first(Query::Gate, [to_sql(queue.0)], |row| {
            let until: Option<i64> = row.get(2)?;
            let paused_until_ms = until.map(from_sql);
            Ok(Gate { fifo: row.get(0)?, paused: row.get(1)?, paused_until_ms })
        })?;
        Ok(gate)
    }

    /// Whether a queue is FIFO.
    pub(crate) fn is_fifo(&mut self, queue: QueueId) -> Outcome<bool> {
        let gate = self.gate(queue)?;
        let gate = gate.ok_or_else(|| Fault::Refused(slipring::Error::queue_not_found(queue)))?;
        Ok(gate.fifo)
    }

    /// What several queues hold, one by one.
    pub(crate) fn stats_of(
        &mut self,
        queues: &[QueueId],
    ) -> Outcome<Vec<Result<QueueStats, slipring::Error>>> {
        let one = |queue: &QueueId| match self.stats(*queue) {
            Ok(stats) => Ok(Ok(stats)),
            Err(Fault::Refused(error)) => Ok(Err(error)),
            Err(fault) => Err(fault),
        };
        queues.iter().map(one).collect()
    }

    /// What a queue holds.
    pub(crate) fn stats(&mut self, queue: QueueId) -> Outcome<QueueStats> {
        self.is_fifo(queue)?;
        self.held(queue)
    }

    /// What a queue holds that is there.
    fn held(&mut self, queue: QueueId) -> Outcome<QueueStats> {
        let items = image::item_count(&self.db, queue)?;
        let lanes = image::lanes(&self.db, queue)?;
        let sum = |of: fn(&Lane) -> u64| lanes.iter().map(of).sum::<u64>();
        let urgent =
            |lane: &&Lane| lane.priority.is_some_and(|p| p < slipring::Priority::URGENT_BELOW);
        let oldest = self.oldest_ready(queue, &lanes)?;
        Ok(QueueStats {
            ready: items.ready + sum(Lane::ready),
            urgent: items.urgent + lanes.iter().filter(urgent).map(Lane::ready).sum::<u64>(),
            delayed: items.delayed,
            leased: items.leased + sum(|lane| lane.leased),
            parked: items.parked,
            bytes: items.bytes + sum(|lane| lane.ready_bytes() + lane.leased_bytes),
            oldest_ready_sent_at: oldest.map(|sent| Timestamp::from_millis(stamp_ms(sent))),
            set_aside: 0,
        })
    }

    fn oldest_ready(&mut self, queue: QueueId, lanes: &[Lane]) -> Outcome<Option<u64>> {
        let mut oldest = None;
        for lane in lanes.iter().filter(|lane| lane.ready() > 0) {
            let sent = self.first_sent(lane)?.map(|(_, sent)| sent);
            oldest = [oldest, sent].into_iter().flatten().min();
        }
        let mut turn = -1;
        for _ in 0..PRIORITIES_MAX {
            let values = [to_sql(queue.0), turn];
            let first = self.db.first(Query::FirstOfNextTurn, values, |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })?;
            let Some((next_turn, sent)) = first else { break };
            turn = next_turn;
            oldest = [oldest, Some(from_sql(sent))].into_iter().flatten().min();
        }
        Ok(oldest)
    }

    /// The first ready message of a lane: its number and stamp.
    fn first_sent(&mut self, lane: &Lane) -> Outcome<Option<(u64, u64)>> {
        let bounds = [to_sql(lane.cursor()), to_sql(lane.tail())];
        Ok(self.db.first(Query::FirstSent, bounds, |row| {
            Ok((from_sql(row.get(0)?), from_sql(row.get(1)?)))
        })?)
    }

    /// The first message that each queue would hand out.
    pub(crate) fn heads(
        &mut self,
        queues: &[QueueId],
        now: Timestamp,
    ) -> Outcome<Vec<Option<Head>>> {
        queues.iter().map(|queue| self.head(*queue, now)).collect()
    }

    fn head(&mut self, queue: QueueId, now: Timestamp) -> Outcome<Option<Head>> {
        let Some(gate) = self.gate(queue)? else { return Ok(None) };
        if gate.paused || gate.paused_until_ms.is_some_and(|until| now.as_millis() < until) {
            return Ok(None);
        }
        let read = |row: &rusqlite::Row<'_>| {
            let priority = slipring::Priority(row.get(0)?);
            Ok((priority, from_sql(row.get(1)?), from_sql(row.get(2)?)))
        };
        let best;
        let mut failing = None;
        if gate.fifo {
            best = self.db.first(Query::FirstOfGroups, [to_sql(queue.0)], read)?;
        } else {
            let ready = state_number(MessageState::Ready);
            let [untried, retried, share] = Standing::ALL.map(|standing| {
                let (first, last) = standing_turns(standing);
                let values = [to_sql(queue.0), ready, first, last];
                self.db.first(Query::FirstReadyItem, values, read)
            });
            let lanes = image::lanes(&self.db, queue)?;
            let mut log = None;
            if let Some(lane) = lanes.iter().find(|lane| lane.ready() > 0)
                && let Some((id, sent)) = self.first_sent(lane)?
            {
                log = Some((lane.priority.unwrap_or_default(), sent, id));
            }
            best = [untried?, retried?, log].into_iter().flatten().min();
            failing = share?.filter(|_| best.is_none());
        }
        Ok(best.or(failing).map(|(priority, sent, id)| Head {
            failing: failing.is_some(),
            priority,
            sent_at: Timestamp::from_millis(stamp_ms(sent)),
            id: MessageId(id),
        }))
    }
}
