//! Receives over several queues: the best priority first, then the oldest send (S7.6).

use std::sync::Arc;

use tokio::sync::Notify;

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::message::Delivery;
use crate::queue::QueueId;
use crate::store::Head;

use super::queue::{Queue, ReceiveRequest};
use super::receives::{Ticket, is_in_flight_limit};

const LOOKS_MAX: usize = 1000;

/// One receive over `queues`; empty when the wait is over. See [`super::Engine::receive_any`].
pub(super) async fn receive(
    queues: &[Queue],
    request: ReceiveRequest,
) -> Result<Vec<Delivery>, Error> {
    let Some(first) = queues.first() else {
        return Err(Error::new(ErrorKind::Invalid, "a receive needs at least one queue"));
    };
    if queues.len() == 1 {
        return first.receive(request).await;
    }
    let until = first.check_receive(&request)?;
    let clock = Arc::clone(&first.engine.services.clock);
    let schedule = &first.engine.services.schedule;
    let mut caught_up = false;
    let bell = Arc::new(Notify::new());
    // Kept until the look that it was woken for is over: then the wake-up is passed on if that
    // left something.
    let mut woken: Option<Watch<'_>> = None;
    loop {
        // The generations are taken before looking: whoever sends after this moment moves one of
        // them, and so does whoever deletes a queue.
        let seen: Vec<u64> = queues.iter().map(|q| q.core.receives.generation()).collect();
        if let Some((ending, refusal)) = queues.iter().find_map(|q| q.core.receives.closed()) {
            return if woken.is_some() { ending } else { Err(refusal) };
        }
        let now = clock.now();
        let list = look(queues, &seen, request).await?;
        drop(woken.take());
        if !list.is_empty() {
            return Ok(list);
        }
        let Some(until) = until.filter(|until| clock.now() < *until) else {
            let mut moved =
                queues.iter().zip(&seen).map(|(q, s)| q.core.receives.generation() != *s);
            if caught_up || !(schedule.overdue(now) || moved.any(|moved| moved)) {
                return Ok(Vec::new());
            }
            caught_up = true;
            schedule.caught_up(now).await;
            continue;
        };
        let watch = Watch::enter(queues, &bell);
        if watch.moved_since(&seen) {
            woken = Some(watch);
            continue;
        }
        let over = async {
            match until {
                Timestamp::MAX => std::future::pending().await,
                until => clock.sleep_until(until).await,
            }
        };
        tokio::select! {
            () = bell.notified() => {}
            () = over => {}
        }
        woken = Some(watch);
    }
}

/// Claims from the best queue until a claim gives something or all are empty. `seen` are the
/// generations before.
async fn look(
    queues: &[Queue],
    seen: &[u64],
    request: ReceiveRequest,
) -> Result<Vec<Delivery>, Error> {
    let Some(first) = queues.first() else { return Ok(Vec::new()) };
    let services = &first.engine.services;
    let ids: Vec<QueueId> = queues.iter().map(Queue::id).collect();
    let now_request = ReceiveRequest { wait: std::time::Duration::ZERO, ..request };
    // Those that have as many messages in flight as they may.
    let mut full: Vec<QueueId> = Vec::new();
    // Each round that finds a head and claims nothing means somebody else got on; the bound is
    // for a store at fault.
    for _ in 0..LOOKS_MAX {
        let heads = services.store.heads(&ids, services.clock.now()).await?;
        for ((head, queue), seen) in heads.iter().zip(queues).zip(seen) {
            if head.is_none() {
                queue.core.receives.found_empty(*seen);
            }
        }
        let best = heads.iter().zip(queues).filter_map(|(head, queue)| head.map(|h| (h, queue)));
        let open: Vec<_> = best.filter(|(_, queue)| !full.contains(&queue.id())).collect();
        let Some(queue) = choose(&open) else { return Ok(Vec::new()) };
        match queue.receive(now_request).await {
            // Somebody else was faster, so there was progress; look again.
            Ok(list) if list.is_empty() => {}
            Err(error) if is_in_flight_limit(&error) => full.push(queue.id()),
            answer => return answer,
        }
    }
    Ok(Vec::new())
}

/// The queue to claim from: that with the best head. One with failing messages alone comes after
/// the others, but for its share (S7.6, S11.1).
fn choose<'q>(open: &[(Head, &'q Queue)]) -> Option<&'q Queue> {
    let (best, queue) = open.iter().min_by_key(|(head, _)| *head)?;
    let failing = open.iter().filter(|(head, _)| head.failing && head.priority <= best.priority);
    match failing.min_by_key(|(head, _)| *head).filter(|_| !best.failing) {
        Some((_, waits)) if waits.core.receives.due_after_pass() => Some(waits),
        _ => Some(queue),
    }
}

/// The registrations of one receive with all its queues; undone when dropped.
struct Watch<'a> {
    queues: &'a [Queue],
    tickets: Vec<(Ticket, u64)>,
}

impl<'a> Watch<'a> {
    fn enter(queues: &'a [Queue], bell: &Arc<Notify>) -> Watch<'a> {
        let tickets = queues.iter().map(|queue| queue.core.receives.watch(bell)).collect();
        Watch { queues, tickets }
    }

    fn moved_since(&self, seen: &[u64]) -> bool {
        self.tickets.iter().zip(seen).any(|((_, generation), seen)| generation != seen)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        for (queue, (ticket, _)) in self.queues.iter().zip(&self.tickets) {
            queue.core.receives.unwatch(*ticket);
        }
    }
}
