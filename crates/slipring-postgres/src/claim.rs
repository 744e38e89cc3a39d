//! Receives: one statement for the demands that wait.

use std::collections::BTreeMap;
use std::time::Duration;

use slipring::clock::{millis_ceil, monotonic_ns};
use slipring::store::{ClaimBatch, ClaimEnd, Claimed, Demand};
use slipring::{Delivery, Error, MessageId, QueueId, Retry, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::fault::{garbled, gone};
use crate::held::{Held, Wait};
use crate::message::{Read, deliveries, delivery};
use crate::pace::Pace;
use crate::queries;
use crate::rows::{count_to_sql, maybe_number, queue_to_sql, to_sql, value};
use crate::seats::Seat;
use crate::session::{Param, Session};

/// Hands out ready messages to demands in order. `holder` is this store's number. Messages that
/// cannot be read are left out, for they have been handed out as well as the others: what is wrong
/// with the first one is told beside.
pub(crate) async fn claim(
    session: &Session,
    (held, pace): (&Held, &Pace),
    holder: i64,
    batch: &ClaimBatch,
    wait: Wait,
) -> Result<(Claimed, Option<Error>), Error> {
    let (queue, now) = (queue_to_sql(batch.queue), to_sql(batch.now.as_millis()));
    let demands = pace.share(&batch.demands);
    let up_to: Vec<i32> = demands.iter().map(|d| count_to_sql(d.up_to)).collect();
    let mut leases: Vec<Option<i64>> = demands.iter().map(|d| lease_ms(d.lease)).collect();
    let mut sessions: Vec<bool> = demands.iter().map(|d| d.session).collect();
    let terms = |d: &Demand| (d.lease, d.session);
    if let Some(first) = demands.first()
        && demands.iter().all(|demand| terms(demand) == terms(first))
    {
        leases.truncate(1);
        sessions.truncate(1);
    }
    let params: [Param<'_>; 6] = [
        (&queue, Type::INT4),
        (&now, Type::INT8),
        (&up_to, Type::INT4_ARRAY),
        (&leases, Type::INT8_ARRAY),
        (&sessions, Type::BOOL_ARRAY),
        (&holder, Type::INT8),
    ];
    let patience = held.patience(batch.queue, wait);
    let began = monotonic_ns();
    let seat = Seat::Queue(batch.queue);
    let answer = session.timed_turn(seat, &queries::CLAIM, &params, patience).await;
    match &answer {
        Ok(Some(_)) => held.note(batch.queue, None),
        Ok(None) => held.note(batch.queue, Some(patience)),
        Err(error) if error.retry() == Retry::Unknown => {
            pace.failed(Duration::from_nanos(monotonic_ns().saturating_sub(began)));
        }
        Err(_) => {}
    }
    let Some((rows, took)) = answer? else {
        let deliveries = batch.demands.iter().map(|_| Vec::new()).collect();
        return Ok((Claimed { deliveries, end: ClaimEnd::Held }, None));
    };
    // It has been committed: who makes the call again is handed others.
    let told = dealt(batch.queue, &demands, &rows);
    let (mut claimed, unread) = told.map_err(|error| error.with_retry(Retry::Unknown))?;
    let given = || claimed.deliveries.iter().flatten();
    pace.given(given().count(), given().map(|d| d.message.body.len() as u64).sum(), took);
    claimed.deliveries.resize_with(batch.demands.len(), Vec::new);
    Ok((claimed, unread))
}

/// The answer of a claim, by its rows, and why a message is not in it.
fn dealt(
    queue: QueueId,
    demands: &[Demand],
    rows: &[Row],
) -> Result<(Claimed, Option<Error>), Error> {
    let read = |row| delivery(row, queue).map_err(Some);
    let mut deal = Deal::new(demands);
    let mut others = Vec::with_capacity(rows.len());
    for row in rows {
        match maybe_number(row, 25)? {
            Some(place) => drop(deal.placed.insert(place, read(row))),
            None => others.push(row),
        }
    }
    let mut end = None;
    for row in others {
        if let Some(kind) = value::<Option<&str>>(row, 1)? {
            end = Some(end_named(kind)?);
        } else if let Some(demand) = value::<Option<i64>>(row, 0)? {
            deal.give(demand, read(row))?;
        } else {
            for delivery in deliveries(row, queue)? {
                deal.give_next(delivery)?;
            }
        }
    }
    deal.give_placed()?;
    if !deal.placed.is_empty() {
        return Err(garbled("a place behind all messages"));
    }
    let end = end.ok_or_else(|| garbled("a claim without its end"))?;
    Ok((Claimed { deliveries: deal.deliveries, end }, deal.unread))
}

/// What each demand gets.
struct Deal<'d> {
    demands: &'d [Demand],
    deliveries: Vec<Vec<Delivery>>,
    /// The demand that is served now.
    at: usize,
    /// How many were given by places.
    given: u64,
    /// Messages that are given when so many have been.
    placed: BTreeMap<u64, Read>,
    /// What is wrong with the first message that could not be read.
    unread: Option<Error>,
}

impl Deal<'_> {
    fn new(demands: &[Demand]) -> Deal<'_> {
        let deliveries = demands.iter().map(|_| Vec::new()).collect();
        Deal { demands, deliveries, at: 0, given: 0, placed: BTreeMap::new(), unread: None }
    }

    fn give(&mut self, demand: i64, delivery: Read) -> Result<(), Error> {
        let Some(delivery) = self.read(delivery) else { return Ok(()) };
        let demand = usize::try_from(demand).ok();
        let list = demand.and_then(|demand| self.deliveries.get_mut(demand));
        list.ok_or_else(|| garbled("a demand nobody made"))?.push(delivery);
        Ok(())
    }

    /// The message, where it could be read; else that is noted.
    fn read(&mut self, delivery: Read) -> Option<Delivery> {
        delivery.map_err(|wrong| self.unread = self.unread.take().or(wrong)).ok()
    }

    /// Gives those whose place is next, and then this one.
    fn give_next(&mut self, delivery: Read) -> Result<(), Error> {
        self.give_placed()?;
        self.give_one(delivery)
    }

    /// Gives those whose place is next.
    fn give_placed(&mut self) -> Result<(), Error> {
        while let Some(delivery) = self.placed.remove(&self.given) {
            self.give_one(delivery)?;
        }
        Ok(())
    }

    /// Gives it to the first demand that is not served in full.
    fn give_one(&mut self, delivery: Read) -> Result<(), Error> {
        self.given += 1;
        let Some(delivery) = self.read(delivery) else { return Ok(()) };
        while let (Some(demand), Some(list)) =
            (self.demands.get(self.at), self.deliveries.get_mut(self.at))
        {
            if list.len() < demand.up_to.max(1) as usize {
                list.push(delivery);
                return Ok(());
            }
            self.at += 1;
        }
        Err(garbled("more messages than were asked for"))
    }
}

fn end_named(name: &str) -> Result<ClaimEnd, Error> {
    Ok(match name {
        "more" => ClaimEnd::More,
        "drained" => ClaimEnd::Drained,
        "in_flight_limit" => ClaimEnd::InFlightLimit,
        "paused" => ClaimEnd::Paused,
        other => return Err(garbled(format!("a claim's end {other:?}"))),
    })
}

/// Hands out one given message that nobody holds.
pub(crate) async fn claim_message(
    session: &Session,
    holder: i64,
    queue: QueueId,
    message: MessageId,
    demand: Demand,
    now: Timestamp,
) -> Result<Delivery, Error> {
    let (number, id) = (queue_to_sql(queue), to_sql(message.0));
    let (lease, now) = (lease_ms(demand.lease), to_sql(now.as_millis()));
    let row = session
        .row_of(
            Seat::Queue(queue),
            &queries::CLAIM_MESSAGE,
            &[
                (&number, Type::INT4),
                (&id, Type::INT8),
                (&lease, Type::INT8),
                (&demand.session, Type::BOOL),
                (&holder, Type::INT8),
                (&now, Type::INT8),
            ],
        )
        .await?;
    delivery(&row.ok_or_else(|| gone(message))?, queue)
}

fn lease_ms(lease: Option<Duration>) -> Option<i64> {
    lease.map(|lease| to_sql(millis_ceil(lease)))
}
