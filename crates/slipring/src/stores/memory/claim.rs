//! Receives of one queue: what is handed out next, and to a receive over several queues.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::clock::Timestamp;
use crate::deal::{self, First, Standing};
use crate::lease::{Fence, Receipt};
use crate::lifecycle::{self, State};
use crate::message::{Delivery, MessageId};
use crate::store::{ClaimEnd, Claimed, Demand, Head};

use super::groups::Groups;
use super::queue::QueueState;
use super::stored::Stored;

impl QueueState {
    pub(super) fn claim(&mut self, demands: &[Demand], now: Timestamp) -> Claimed {
        let mut end = ClaimEnd::More;
        if self.info.settings.is_paused(now) {
            end = ClaimEnd::Paused;
        }
        let mut deliveries = Vec::with_capacity(demands.len());
        for demand in demands {
            if end != ClaimEnd::More {
                deliveries.push(Vec::new());
                continue;
            }
            let (list, ended) = self.serve(*demand, demand.up_to, 0, now);
            deliveries.push(list);
            end = ended;
        }
        Claimed { deliveries, end }
    }

    /// Serves one demand of a receive of `up_to` in all that has `others` of other queues.
    fn serve(
        &mut self,
        demand: Demand,
        up_to: u32,
        others: u64,
        now: Timestamp,
    ) -> (Vec<Delivery>, ClaimEnd) {
        let leased = self.orders.leased.len() as u64;
        let room = self.info.settings.in_flight_max.saturating_sub(leased);
        let most = demand.up_to.max(1);
        let chosen = match self.orders.groups() {
            Some(groups) => self.choose_in_line(groups, most, room, others),
            None => self.choose(up_to.max(1), others, u64::from(most).min(room)),
        };
        let found = chosen.len() as u64;
        let list = chosen.iter().filter_map(|id| self.hand_out(*id, demand, now)).collect();
        self.note_served(&chosen);
        let mut end = ClaimEnd::More;
        if found < u64::from(most) {
            if !self.orders.any_claimable() {
                end = ClaimEnd::Drained;
            } else if found == room {
                end = ClaimEnd::InFlightLimit;
            }
        }
        (list, end)
    }

    /// What a receive of a standard queue gets (S7.1, S11).
    fn choose(&mut self, up_to: u32, others: u64, most: u64) -> Vec<MessageId> {
        let info = Arc::clone(&self.info);
        let mut receive = deal::Receive::new(up_to, most, &info.settings).joining(others);
        let mut passed_over = self.passed_over;
        let mut orders = Standing::ALL.map(|standing| self.orders.ready_of(standing));
        let first = |id: MessageId| {
            self.messages.get(&id).map(|Stored { message, .. }| First {
                priority: message.priority,
                place: id,
                attempts: message.attempts,
            })
        };
        let mut heads = orders.each_mut().map(|order| order.next().and_then(first));
        let mut chosen = Vec::new();
        while (chosen.len() as u64) < most
            && let Some(standing) = receive.next(&heads, &mut passed_over)
        {
            let at = standing as usize;
            let next = orders[at].next().and_then(first);
            chosen.extend(std::mem::replace(&mut heads[at], next).map(|first| first.place));
        }
        drop(orders);
        self.passed_over = passed_over;
        chosen
    }

    /// What a receive of a FIFO queue gets: all it may of one group before the next (S7.7), the
    /// last try of a message alone (S11.3).
    fn choose_in_line(
        &self,
        groups: &Groups,
        up_to: u32,
        room: u64,
        others: u64,
    ) -> Vec<MessageId> {
        let at_most = u64::from(up_to).min(room);
        let mut chosen = Vec::new();
        for group in groups.in_line().take(up_to as usize) {
            for id in group {
                if chosen.len() as u64 >= at_most {
                    return chosen;
                }
                let attempts = self.messages.get(&id).map_or(0, |stored| stored.message.attempts);
                if lifecycle::is_last_try(attempts, &self.info.settings) {
                    if chosen.is_empty() && others == 0 {
                        return vec![id];
                    }
                    break;
                }
                chosen.push(id);
            }
        }
        chosen
    }

    /// Sends the groups of messages that were given to the back of the line, each once.
    fn note_served(&mut self, given: &[MessageId]) {
        let newest = MessageId(self.next_message.load(Ordering::Relaxed) - 1);
        let Some(groups) = self.orders.groups_mut() else { return };
        let given = given.iter().filter_map(|id| self.messages.get(id));
        let mut last: Option<&Stored> = None;
        for stored in given {
            if last.is_none_or(|last| last.message.group != stored.message.group) {
                groups.served(stored, newest);
            }
            last = Some(stored);
        }
    }

    /// Leases a message whatever its state.
    pub(super) fn hand_out(
        &mut self,
        id: MessageId,
        demand: Demand,
        now: Timestamp,
    ) -> Option<Delivery> {
        let info = Arc::clone(&self.info);
        self.change(id, |stored| {
            let own = stored.message.lease;
            let lasts = lifecycle::lease_duration(demand.lease, own, &info.settings);
            stored.state = State::Leased;
            stored.until = now.after(lasts);
            stored.fence = Fence(stored.fence.0 + 1);
            stored.message.attempts = stored.message.attempts.saturating_add(1);
            stored.message.first_received_at.get_or_insert(now);
        });
        let stored = self.messages.get(&id)?;
        let receipt = Receipt { queue: self.info.id, message: id, fence: stored.fence };
        Some(Delivery { message: stored.message.clone(), receipt, deadline: stored.until })
    }

    pub(super) fn head(&self, now: Timestamp) -> Option<Head> {
        if self.info.settings.is_paused(now) {
            return None;
        }
        let head = |id: MessageId| {
            let Stored { message, .. } = self.messages.get(&id)?;
            Some(Head {
                failing: !self.info.settings.fifo
                    && Standing::of(message.attempts) == Standing::Failing,
                priority: message.priority,
                sent_at: message.sent_at,
                id,
            })
        };
        if self.orders.groups().is_some() {
            return self.orders.first_claimable().and_then(head);
        }
        let firsts = Standing::ALL.into_iter().filter_map(|of| self.orders.ready_of(of).next());
        firsts.filter_map(head).min_by_key(|head| (head.failing, head.priority, head.id))
    }

    /// Counts deliveries of other queues that went past this one's failing messages (S11.1).
    pub(super) fn pass_over(&mut self, deliveries: u32) {
        self.passed_over.past_failing(deliveries);
    }

    /// Hands out one message to a receive of `up_to` that has `others` of other queues; none when
    /// what is ready is not to come with those (S11.2).
    pub(super) fn claim_beside(
        &mut self,
        others: u64,
        up_to: u32,
        demand: Demand,
        now: Timestamp,
    ) -> (Option<Delivery>, ClaimEnd) {
        if self.info.settings.is_paused(now) {
            return (None, ClaimEnd::Paused);
        }
        let (mut list, end) = self.serve(demand, up_to, others, now);
        (list.pop(), end)
    }
}
