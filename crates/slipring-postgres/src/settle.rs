//! Settlements and prolongations: one statement for a batch, entry by entry.

use std::time::Duration;

use slipring::clock::millis_ceil;
use slipring::lifecycle::Settlement;
use slipring::store::{ExtendBatch, SettleBatch, Settled};
use slipring::{Error, Priority, QueueId, Randomness, Reason, Receipt, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::fault::{foreign, garbled};
use crate::flush::Flusher;
use crate::queries;
use crate::rows::{moment, queue, queue_to_sql, refusal, to_sql, value};
use crate::seats::Seat;
use crate::session::Session;

/// Ends leases, entry by entry.
pub(crate) async fn settle(
    session: &Session,
    flusher: &Flusher,
    randomness: &dyn Randomness,
    batch: &SettleBatch,
) -> Result<Vec<Result<Settled, Error>>, Error> {
    let runs = Runs::of(batch).unwrap_or_default();
    let all_acked = || batch.entries.iter().map(|_| Ok(Settled::Done)).collect();
    if !runs.lows.is_empty() && batch.entries.iter().all(|entry| plain_ack(batch.queue, entry)) {
        if acked(session, flusher, batch.queue, &runs).await? {
            return Ok(all_acked());
        }
    } else if !runs.lows.is_empty() {
        // Most entries of a batch in which some fail are acks.
        let others = |entry: &&(Receipt, Settlement)| !plain_ack(batch.queue, entry);
        let others: Vec<_> = batch.entries.iter().filter(others).cloned().collect();
        let rows = ended(session, flusher, randomness, batch, &others, &runs).await?;
        if !rows.is_empty() {
            let mut rest = answers(batch.queue, &others, &rows, settled)?.into_iter();
            let answer = |entry| match plain_ack(batch.queue, entry) {
                true => Some(Ok(Settled::Done)),
                false => rest.next(),
            };
            let all: Option<_> = batch.entries.iter().map(answer).collect();
            return all.ok_or_else(|| garbled("fewer answers than entries"));
        }
    }
    let none = Runs::default();
    let rows = ended(session, flusher, randomness, batch, &batch.entries, &none).await?;
    answers(batch.queue, &batch.entries, &rows, settled)
}

/// Ends the leases of some entries of a batch, and of runs of acks beside them; answers a row for
/// each entry of the queue, or none, with nothing done, where the runs cannot be acked at once.
async fn ended(
    session: &Session,
    flusher: &Flusher,
    randomness: &dyn Randomness,
    batch: &SettleBatch,
    entries: &[(Receipt, Settlement)],
    runs: &Runs,
) -> Result<Vec<Row>, Error> {
    let entries: Vec<_> = own(batch.queue, entries).collect();
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let (number, now) = (queue_to_sql(batch.queue), to_sql(batch.now.as_millis()));
    let (messages, fences) = receipts(entries.iter().map(|(receipt, _)| receipt));
    let kinds: Vec<&str> = entries.iter().map(|(_, how)| name(how)).collect();
    let delays: Vec<Option<i64>> = entries.iter().map(|(_, how)| delay_ms(how)).collect();
    let priorities: Vec<Option<i64>> = entries.iter().map(|(_, how)| priority(how)).collect();
    // Only a backoff with jitter looks at it.
    let jitter = entries.iter().map(|(_, how)| match how {
        Settlement::Nack { delay: None, .. } => randomness.unit(),
        _ => 0.0,
    });
    let jitter: Vec<f64> = jitter.collect();
    let reasons = entries.iter().map(|(_, how)| how.reason().map(Reason::as_str));
    let reasons = entries.iter().any(|(_, how)| how.reason().is_some()).then(|| reasons.collect());
    let reasons: Option<Vec<Option<&str>>> = reasons;
    let values: &[(&(dyn ToSql + Sync), Type)] = &[
        (&number, Type::INT4),
        (&now, Type::INT8),
        (&messages, Type::INT8_ARRAY),
        (&fences, Type::INT8_ARRAY),
        (&kinds, Type::TEXT_ARRAY),
        (&delays, Type::INT8_ARRAY),
        (&priorities, Type::INT8_ARRAY),
        (&jitter, Type::FLOAT8_ARRAY),
        (&runs.lows, Type::INT8_ARRAY),
        (&runs.highs, Type::INT8_ARRAY),
        (&runs.fences, Type::INT8_ARRAY),
        (&reasons, Type::TEXT_ARRAY),
    ];
    let rows = session.rows_of(Seat::Queue(batch.queue), &queries::SETTLE, values).await?;
    if let Some(row) = rows.first() {
        flushed(flusher, row, 6).await?;
    }
    Ok(rows)
}

/// Whether an entry is an ack of a message of the queue.
fn plain_ack(queue: QueueId, (receipt, how): &(Receipt, Settlement)) -> bool {
    receipt.queue == queue && *how == Settlement::Ack
}

/// Acks as runs of numbers without a gap: the messages of a batch have numbers side by side.
#[derive(Default)]
struct Runs {
    lows: Vec<i64>,
    /// One above the last.
    highs: Vec<i64>,
    fences: Vec<i64>,
}

impl Runs {
    /// The runs of the acks of a batch; none where one message has several entries, whose order
    /// counts, or where a number is beyond what PostgreSQL has.
    fn of(batch: &SettleBatch) -> Option<Runs> {
        let mut messages: Vec<u64> =
            batch.entries.iter().map(|(receipt, _)| receipt.message.0).collect();
        messages.sort_unstable();
        if messages.windows(2).any(|pair| pair.first() == pair.last()) {
            return None;
        }
        let acks = batch.entries.iter().filter(|entry| plain_ack(batch.queue, entry));
        let acks = acks.map(|(receipt, _)| (receipt.message.0, receipt.fence.0));
        let mut acks: Vec<(u64, u64)> = acks.collect();
        acks.sort_unstable();
        let mut runs = Runs::default();
        let mut last = None;
        for (message, fence) in acks {
            let (message, fence) = (to_sql(message), to_sql(fence));
            let next = message.checked_add(1)?;
            match (last, runs.highs.last_mut()) {
                (Some((_, before)), Some(high)) if *high == message && before == fence => {
                    *high = next;
                }
                _ => {
                    runs.lows.push(message);
                    runs.highs.push(next);
                    runs.fences.push(fence);
                }
            }
            last = Some((message, fence));
        }
        Some(runs)
    }
}

/// Acks all of them at once; answers false, with nothing done, where they have to be looked at
/// one by one.
async fn acked(
    session: &Session,
    flusher: &Flusher,
    queue: QueueId,
    runs: &Runs,
) -> Result<bool, Error> {
    let number = queue_to_sql(queue);
    let row = session
        .row_of(
            Seat::Queue(queue),
            &queries::ACK,
            &[
                (&number, Type::INT4),
                (&runs.lows, Type::INT8_ARRAY),
                (&runs.highs, Type::INT8_ARRAY),
                (&runs.fences, Type::INT8_ARRAY),
            ],
        )
        .await?;
    let row = row.ok_or_else(|| garbled("no answer to acks"))?;
    flushed(flusher, &row, 1).await?;
    value(&row, 0)
}

/// Waits for the flush that the row of a settlement asks for in a column, if it does (S1.3).
async fn flushed(flusher: &Flusher, row: &Row, at: usize) -> Result<(), Error> {
    match value::<Option<&str>>(row, at)? {
        Some(token) => flusher.flushed(token).await,
        None => Ok(()),
    }
}

/// Prolongs leases, entry by entry.
pub(crate) async fn extend(
    session: &Session,
    batch: &ExtendBatch,
) -> Result<Vec<Result<Timestamp, Error>>, Error> {
    let entries: Vec<_> = own(batch.queue, &batch.entries).collect();
    let (number, now) = (queue_to_sql(batch.queue), to_sql(batch.now.as_millis()));
    let (messages, fences) = receipts(entries.iter().map(|(receipt, _)| receipt));
    let leases: Vec<Option<i64>> = entries.iter().map(|(_, how)| millis(how.lease)).collect();
    let take_up: Vec<bool> = entries.iter().map(|(_, how)| how.take_up).collect();
    let rows = match entries.is_empty() {
        true => Vec::new(),
        false => {
            session
                .rows_of(
                    Seat::Queue(batch.queue),
                    &queries::EXTEND,
                    &[
                        (&number, Type::INT4),
                        (&now, Type::INT8),
                        (&messages, Type::INT8_ARRAY),
                        (&fences, Type::INT8_ARRAY),
                        (&leases, Type::INT8_ARRAY),
                        (&take_up, Type::BOOL_ARRAY),
                    ],
                )
                .await?
        }
    };
    answers(batch.queue, &batch.entries, &rows, extended)
}

/// The entries whose receipts are the queue's.
fn own<T>(queue: QueueId, entries: &[(Receipt, T)]) -> impl Iterator<Item = &(Receipt, T)> {
    entries.iter().filter(move |(receipt, _)| receipt.queue == queue)
}

fn receipts<'r>(receipts: impl Iterator<Item = &'r Receipt>) -> (Vec<i64>, Vec<i64>) {
    receipts.map(|receipt| (to_sql(receipt.message.0), to_sql(receipt.fence.0))).unzip()
}

/// The rows as answers, and the answers to receipts of other queues between them.
fn answers<E, T>(
    queue: QueueId,
    entries: &[(Receipt, E)],
    rows: &[Row],
    read: fn(&Row) -> Result<Result<T, Error>, Error>,
) -> Result<Vec<Result<T, Error>>, Error> {
    let mut rows = rows.iter();
    let mut answers = Vec::with_capacity(entries.len());
    for (receipt, _) in entries {
        if receipt.queue != queue {
            answers.push(Err(foreign(receipt.message)));
            continue;
        }
        let row = rows.next().ok_or_else(|| garbled("fewer answers than entries"))?;
        let answer = read(row)?.map_err(|error| {
            let named = error.context().iter().any(|(key, _)| *key == "message");
            if named { error } else { error.with("message", receipt.message) }
        });
        answers.push(answer);
    }
    Ok(answers)
}

fn settled(row: &Row) -> Result<Result<Settled, Error>, Error> {
    if let Some(error) = refusal(row, 3)? {
        return Ok(Err(error));
    }
    Ok(Ok(match value::<&str>(row, 0)? {
        "done" => Settled::Done,
        "ready" => Settled::Ready,
        "delayed" => Settled::Delayed(moment(row, 1)?),
        "parked" => Settled::Parked,
        "dead_lettered" => Settled::DeadLettered(queue(row, 2)?),
        other => return Err(garbled(format!("an outcome {other:?}"))),
    }))
}

fn extended(row: &Row) -> Result<Result<Timestamp, Error>, Error> {
    match refusal(row, 1)? {
        Some(error) => Ok(Err(error)),
        None => moment(row, 0).map(Ok),
    }
}

fn name(how: &Settlement) -> &'static str {
    match how {
        Settlement::Ack => "ack",
        Settlement::Nack { .. } => "nack",
        Settlement::HandBack => "hand_back",
        Settlement::Park { .. } => "park",
        Settlement::DeadLetter { .. } => "dead_letter",
    }
}

fn delay_ms(how: &Settlement) -> Option<i64> {
    match how {
        Settlement::Nack { delay, .. } => millis(*delay),
        _ => None,
    }
}

fn priority(how: &Settlement) -> Option<i64> {
    match how {
        Settlement::Nack { priority, .. } | Settlement::Park { priority } => {
            priority.map(|Priority(priority)| i64::from(priority))
        }
        _ => None,
    }
}

fn millis(duration: Option<Duration>) -> Option<i64> {
    duration.map(|duration| to_sql(millis_ceil(duration)))
}

#[cfg(test)]
mod tests {
    use slipring::{Fence, MessageId};

    use super::*;

    const ACK: Settlement = Settlement::Ack;
    const BACK: Settlement = Settlement::HandBack;

    fn batch(entries: &[(u64, u64, Settlement)]) -> SettleBatch {
        let queue = QueueId(7);
        let entry = |(message, fence, how): &(u64, u64, Settlement)| {
            (Receipt { queue, message: MessageId(*message), fence: Fence(*fence) }, how.clone())
        };
        let entries = entries.iter().map(entry).collect();
        SettleBatch { queue, now: Timestamp::from_millis(1), entries }
    }

    #[test]
    fn neighbours_of_one_fence_are_one_run_whatever_their_order() {
        let acks = [(12, 1, ACK), (10, 1, ACK), (11, 1, ACK), (13, 2, ACK), (20, 2, ACK)];
        let runs = Runs::of(&batch(&acks)).map(|runs| (runs.lows, runs.highs, runs.fences));
        assert_eq!(runs, Some((vec![10, 13, 20], vec![13, 14, 21], vec![1, 2, 2])));
    }

    #[test]
    fn what_has_to_be_looked_at_one_by_one_makes_no_runs() {
        let twice = [(10, 1, ACK), (10, 1, ACK)];
        let twice_by_another_kind = [(10, 1, ACK), (10, 1, Settlement::HandBack)];
        let beyond_what_postgres_can_number = [(u64::MAX, 1, ACK)];
        let entries = [&twice[..], &twice_by_another_kind, &beyond_what_postgres_can_number];
        for entries in entries {
            assert!(Runs::of(&batch(entries)).is_none(), "{entries:?}");
        }
    }

    #[test]
    fn acks_beside_other_settlements_make_runs() {
        let mixed = [(10, 1, ACK), (11, 1, ACK), (12, 1, BACK), (13, 1, ACK)];
        let runs = Runs::of(&batch(&mixed)).map(|runs| (runs.lows, runs.highs, runs.fences));
        assert_eq!(runs, Some((vec![10, 13], vec![12, 14], vec![1, 1])));
        let none = Runs::of(&batch(&[(12, 1, BACK)])).map(|runs| runs.lows.len());
        assert_eq!(none, Some(0));
    }
}
