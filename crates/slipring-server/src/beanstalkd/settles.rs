//! `delete`, `release`, `bury`: runs of them as one settlement; and `touch`.
//!
//! A job that this connection holds is settled by the first command of a run that names it; for
//! later ones it is a job that nobody holds, and those are looked at after the settlement. Of
//! those, a run deletes each at most once. So the order inside a run makes no difference.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use slipring::lifecycle::Settlement;
use slipring::store::Settled;
use slipring::{Error, ErrorKind, MessageId, Priority, QueueId, Receipt, Timestamp};
use slipring_wire::beanstalkd::{Command, Reply};

use super::failure::is_no_such_job;
use super::reservations::Reservation;
use super::server::Shared;
use super::session::{RUN_MAX, Session};

/// Most jobs of others that one run deletes; each is a store call of its own.
const FREE_DELETES_MAX: usize = 64;

/// How one command of a run is answered.
enum Plan {
    /// The job is held by this connection and is settled.
    Settle {
        id: u64,
        reservation: Reservation,
        settlement: Settlement,
    },
    /// A delete of a job that this connection does not hold.
    DeleteFree {
        id: u64,
    },
    NotFound,
}

/// Entries grouped by the queue they belong to.
pub(super) type ByQueue<T> = Vec<(QueueId, Vec<T>)>;

/// What became of one planned settlement.
struct Outcome {
    place: usize,
    result: Result<Settled, Error>,
}

impl Session {
    /// Whether a command belongs in a run of settlements.
    pub(super) fn settles(command: &Command) -> bool {
        matches!(command, Command::Delete { .. } | Command::Release { .. } | Command::Bury { .. })
    }

    pub(super) async fn settle_run(&mut self, first: Command) -> ControlFlow<()> {
        self.take_lapsed();
        let mut free: Vec<u64> = Vec::new();
        let mut plans = Vec::new();
        let mut next = Some(first);
        while let Some(command) = next {
            let plan = self.plan(&command);
            if let Plan::DeleteFree { id } = plan {
                free.push(id);
            }
            plans.push(plan);
            if plans.len() >= RUN_MAX || free.len() >= FREE_DELETES_MAX {
                break;
            }
            next = self.next_if(|command| {
                let again = matches!(command, Command::Delete { id } if free.contains(&id));
                let fits = Session::settles(&command) && !again;
                if fits { Ok(command) } else { Err(command) }
            });
        }
        let outcomes = settle_all(&self.shared, &plans).await;
        let mut replies = vec![Reply::NotFound; plans.len()];
        for outcome in outcomes {
            if let (Some(plan), Some(reply)) =
                (plans.get(outcome.place), replies.get_mut(outcome.place))
            {
                *reply = self.settled(plan, outcome.result);
            }
        }
        delete_free(&self.shared, &plans, &mut replies).await;
        for reply in &replies {
            self.say(reply)?;
        }
        ControlFlow::Continue(())
    }

    fn plan(&mut self, command: &Command) -> Plan {
        let counters = &self.shared.counters;
        let (id, settlement) = match *command {
            Command::Release { id, priority, delay } => {
                counters.release.add(1);
                let delay = Some(Duration::from_secs(u64::from(delay)));
                (id, Settlement::Nack { delay, priority: Some(Priority(priority)), reason: None })
            }
            Command::Bury { id, priority } => {
                counters.bury.add(1);
                (id, Settlement::Park { priority: Some(Priority(priority)) })
            }
            Command::Delete { id } => {
                counters.delete.add(1);
                (id, Settlement::Ack)
            }
            _ => return Plan::NotFound,
        };
        match self.held.remove(id) {
            Some(reservation) => Plan::Settle { id, reservation, settlement },
            None if settlement == Settlement::Ack => Plan::DeleteFree { id },
            None => Plan::NotFound,
        }
    }

    /// Notes what became of a job and says it.
    fn settled(&mut self, plan: &Plan, result: Result<Settled, Error>) -> Reply {
        let Plan::Settle { id, reservation, settlement } = plan else { return Reply::NotFound };
        let tube = &reservation.tube;
        match (result, settlement) {
            (Ok(_), Settlement::Ack) => {
                tube.deletes.add(1);
                tube.forget(*id);
                Reply::Deleted
            }
            (Ok(Settled::Parked), Settlement::Nack { .. }) => {
                // Its attempts were used up.
                tube.note(*id, |history| history.buries += 1);
                Reply::Buried
            }
            (Ok(_), Settlement::Nack { .. }) => {
                tube.note(*id, |history| history.releases += 1);
                Reply::Released
            }
            (Ok(_), _) => {
                tube.note(*id, |history| history.buries += 1);
                Reply::Buried
            }
            (Err(error), _) if is_no_such_job(&error) => Reply::NotFound,
            (Err(error), _) => {
                // Nothing was settled: the client still holds the job and may try again.
                self.held.insert(*id, reservation.clone());
                self.shared.reply_to(&error)
            }
        }
    }

    /// A run of touches.
    pub(super) async fn touches(&mut self, first: u64) -> ControlFlow<()> {
        self.take_lapsed();
        let mut ids = vec![first];
        while ids.len() < RUN_MAX {
            let Some(id) = self.next_if(|command| match command {
                Command::Touch { id } => Ok(id),
                other => Err(other),
            }) else {
                break;
            };
            ids.push(id);
        }
        self.shared.counters.touch.add(ids.len());
        let mut by_queue: ByQueue<(u64, Receipt)> = Vec::new();
        for &id in &ids {
            if let Some(held) = self.held.get(id) {
                group(&mut by_queue, held.receipt.queue, (id, held.receipt));
            }
        }
        let mut replies: HashMap<u64, Reply> = HashMap::new();
        for (queue, jobs) in by_queue {
            let Some(queue) = self.shared.engine.queue_by_id(queue) else { continue };
            let entries = jobs.iter().map(|(_, receipt)| (*receipt, None)).collect();
            let extended = queue.extend(entries).await;
            let extended = extended.unwrap_or_else(|error| vec![Err(error); jobs.len()]);
            let closed = |error: &Error| error.kind() == ErrorKind::Closed;
            if extended.iter().any(|answer| answer.as_ref().is_err_and(closed)) {
                return ControlFlow::Break(());
            }
            for ((id, _), deadline) in jobs.into_iter().zip(extended) {
                replies.insert(id, self.touched(id, deadline));
            }
        }
        for id in ids {
            self.say(replies.get(&id).unwrap_or(&Reply::NotFound))?;
        }
        ControlFlow::Continue(())
    }

    /// Notes what became of a touch and says it.
    fn touched(&mut self, id: u64, deadline: Result<Timestamp, Error>) -> Reply {
        match (deadline, self.held.get(id).cloned()) {
            (Ok(deadline), Some(held)) => {
                self.held.insert(id, Reservation { deadline, ..held });
                Reply::Touched
            }
            (Err(error), _) if !is_no_such_job(&error) => self.shared.reply_to(&error),
            _ => Reply::NotFound,
        }
    }
}

pub(super) fn group<T>(groups: &mut ByQueue<T>, queue: QueueId, entry: T) {
    match groups.iter_mut().find(|(id, _)| *id == queue) {
        Some((_, entries)) => entries.push(entry),
        None => groups.push((queue, vec![entry])),
    }
}

/// Settles all held jobs of a run, one engine call for each queue, all at the same time.
async fn settle_all(shared: &Arc<Shared>, plans: &[Plan]) -> Vec<Outcome> {
    let mut by_queue: ByQueue<(usize, Receipt, Settlement)> = Vec::new();
    for (place, plan) in plans.iter().enumerate() {
        if let Plan::Settle { reservation, settlement, .. } = plan {
            let receipt = reservation.receipt;
            group(&mut by_queue, receipt.queue, (place, receipt, settlement.clone()));
        }
    }
    let calls = by_queue.into_iter().map(|(queue, jobs)| settle_in(shared, queue, jobs));
    join_all(calls).await.into_iter().flatten().collect()
}

async fn settle_in(
    shared: &Shared,
    queue: QueueId,
    jobs: Vec<(usize, Receipt, Settlement)>,
) -> Vec<Outcome> {
    let entries = jobs.iter().map(|(_, receipt, how)| (*receipt, how.clone())).collect();
    // The queue was deleted, and its jobs with it.
    let Some(queue) = shared.engine.queue_by_id(queue) else { return Vec::new() };
    let settled = queue.settle(entries).await;
    let settled = settled.unwrap_or_else(|error| vec![Err(error); jobs.len()]);
    let answered = jobs.iter().zip(settled);
    answered.map(|(&(place, ..), result)| Outcome { place, result }).collect()
}

/// Deletes jobs that the connection does not hold, and those it lost a moment ago.
async fn delete_free(shared: &Shared, plans: &[Plan], replies: &mut [Reply]) {
    let mut places = Vec::new();
    let mut calls = Vec::new();
    for (place, (plan, reply)) in plans.iter().zip(replies.iter()).enumerate() {
        let lost = *reply == Reply::NotFound;
        let id = match plan {
            Plan::DeleteFree { id } => *id,
            Plan::Settle { id, settlement: Settlement::Ack, .. } if lost => *id,
            _ => continue,
        };
        places.push(place);
        calls.push(delete_free_job(shared, id));
    }
    if calls.is_empty() {
        return;
    }
    for (place, answer) in places.into_iter().zip(join_all(calls).await) {
        if let Some(reply) = replies.get_mut(place) {
            *reply = answer.unwrap_or_else(|error| shared.reply_to(&error));
        }
    }
}

/// Deletes a job that nobody holds.
async fn delete_free_job(shared: &Shared, id: u64) -> Result<Reply, Error> {
    match shared.engine.cancel(MessageId(id)).await {
        Ok(queue) => {
            let queue = shared.engine.queue_by_id(queue);
            if let Some(tube) = queue.and_then(|queue| shared.tubes.for_queue(&queue)) {
                tube.deletes.add(1);
                tube.forget(id);
            }
            Ok(Reply::Deleted)
        }
        Err(error) if is_no_such_job(&error) => Ok(Reply::NotFound),
        Err(error) => Err(error),
    }
}
