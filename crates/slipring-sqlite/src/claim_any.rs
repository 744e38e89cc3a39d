//! Receives over several queues (S7.6): runs of the queue that has the best message, each up to the
//! best of the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use slipring::deal::{First, PassedOver, Receive, Standing};
use slipring::store::{ClaimAny, ClaimEnd, ClaimedAny, Demand};
use slipring::{MessageState, QueueId, Timestamp};

use crate::claim::{CLAIM_BYTES_MAX, Dealing};
use crate::fault::Outcome;
use crate::feed::Feed;
use crate::item::{standing_turns, state_number};
use crate::picture::{LogHead, Picture};
use crate::position::{from_sql, to_sql};
use crate::statements::Query;
use crate::writer::{Shared, Writer};

/// The first message of a queue, as it stands among those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    /// The queue has only failing messages, and it is not their turn: it comes after the others
    /// (S11.1).
    waits: bool,
    priority: u64,
    /// The stamp; 0 when it is the turn of failing messages.
    sent: u64,
    failing: bool,
}

impl Head {
    fn in_place((priority, sent): (u64, u64)) -> Head {
        Head { waits: false, priority, sent, failing: false }
    }

    fn failing((priority, sent): (u64, u64), passed_over: PassedOver) -> Head {
        let due = passed_over.failing_is_due();
        Head { waits: !due, priority, sent: if due { 0 } else { sent }, failing: true }
    }
}

/// A queue with a ready message.
struct Entrant {
    /// Its number in the claim.
    at: usize,
    picture: Shared,
    /// What its messages are read from; only once it has its turn.
    feed: Option<Feed>,
    dealing: Dealing,
    /// The priority of its failing messages, while the claim goes past them.
    passed: Option<u64>,
}

impl Writer<'_> {
    /// Hands out ready messages of several queues.
    pub(crate) fn claim_any(&mut self, claim: &ClaimAny) -> Outcome<ClaimedAny> {
        let mut ends = vec![ClaimEnd::Drained; claim.queues.len()];
        let mut entrants = Vec::new();
        // The heads, best first, each with the place of its entrant.
        let mut heads = BinaryHeap::new();
        for (at, queue) in claim.queues.iter().enumerate() {
            let entered = self.enter(*queue, claim.now)?;
            ends[at] = entered.1;
            if let Some((head, picture, dealing)) = entered.0 {
                let passed = Some(head.priority).filter(|_| head.waits);
                heads.push(Reverse((head, entrants.len())));
                entrants.push(Entrant { at, picture, feed: None, dealing, passed });
            }
        }
        let mut list = Vec::new();
        let mut bytes = 0;
        let up_to = claim.demand.up_to.max(1);
        while let Some(Reverse((head, best))) = heads.pop() {
            let left = up_to - u32::try_from(list.len()).unwrap_or(up_to).min(up_to);
            if left == 0 || bytes >= CLAIM_BYTES_MAX {
                break;
            }
            let next = heads.peek().map(|Reverse((head, _))| *head).filter(|next| !next.waits);
            let share = u64::from(left).div_ceil(heads.len() as u64 + 1);
            let entrant = &mut entrants[best];
            entrant.passed = None;
            entrant.dealing.bytes = bytes;
            entrant.dealing.others = list.len() as u64;
            // Those whose turn has come give one and go behind the others again.
            let turn = head.failing && next.is_some();
            entrant.dealing.before = next.filter(|_| !turn).map(|next| (next.priority, next.sent));
            let most = if turn { up_to - left + 1 } else { up_to };
            let demand = Demand { up_to: most, ..claim.demand };
            let run = self.run_of(entrant, &demand, share)?;
            bytes = entrant.dealing.bytes;
            list.extend(run.list);
            match run.end {
                ClaimEnd::More => {}
                end => ends[entrant.at] = end,
            }
            if let Some(head) = run.head {
                heads.push(Reverse((head, best)));
            }
            // A message whose tries run out comes with few others (S11.2).
            if run.failed {
                break;
            }
        }
        self.pass_over(&entrants, &list);
        for entrant in &mut entrants {
            if entrant.dealing.is_open() {
                let picture = Arc::clone(&entrant.picture);
                self.end_range(&mut picture.lock(), &mut entrant.dealing)?;
            }
        }
        Ok(ClaimedAny { deliveries: list, ends })
    }

    /// Counts the deliveries that went past queues with failing messages alone (S11.1).
    fn pass_over(&mut self, entrants: &[Entrant], list: &[slipring::Delivery]) {
        let worst = list.iter().map(|delivery| u64::from(delivery.message.priority.0)).max();
        let Some(worst) = worst else { return };
        let given = u32::try_from(list.len()).unwrap_or(u32::MAX);
        for entrant in entrants.iter().filter(|e| e.passed.is_some_and(|own| own <= worst)) {
            let picture = &mut *entrant.picture.lock();
            self.note(picture);
            picture.items.passed_over.past_failing(given);
            picture.items_dirty = true;
        }
    }

    /// What a queue comes with: its head, or why it gives nothing.
    #[allow(clippy::type_complexity, reason = "one place makes it and one takes it apart")]
    fn enter(
        &mut self,
        queue: QueueId,
        now: Timestamp,
    ) -> Outcome<(Option<(Head, Shared, Dealing)>, ClaimEnd)> {
        let Some(shared) = self.picture(queue)? else { return Ok((None, ClaimEnd::Drained)) };
        let entered = {
            let picture = &mut *shared.lock();
            let settings = &picture.info.settings;
            let room = settings.in_flight_max.saturating_sub(picture.leased());
            match () {
                () if settings.is_paused(now) => Err(ClaimEnd::Paused),
                () => match self.head(picture)? {
                    None => Err(ClaimEnd::Drained),
                    Some(_) if room == 0 => Err(ClaimEnd::InFlightLimit),
                    Some(head) => Ok((head, Dealing::new(now, room))),
                },
            }
        };
        Ok(match entered {
            Ok((head, dealing)) => (Some((head, shared, dealing)), ClaimEnd::More),
            Err(end) => (None, end),
        })
    }

    /// The message that a queue would hand out first.
    fn head(&mut self, picture: &mut Picture) -> Outcome<Option<Head>> {
        if picture.ready() == 0 {
            return Ok(None);
        }
        let read = |row: &rusqlite::Row<'_>| Ok((from_sql(row.get(0)?), from_sql(row.get(1)?)));
        let queue = to_sql(picture.id().0);
        if picture.fifo() {
            self.write_back_groups(picture)?;
            let first = self.db.first(Query::FirstOfGroups, [queue], read)?;
            return Ok(first.map(Head::in_place));
        }
        let mut firsts = [None; 3];
        if picture.items.ready > 0 {
            for (first, standing) in firsts.iter_mut().zip(Standing::ALL) {
                let (from, to) = standing_turns(standing);
                let values = [queue, state_number(MessageState::Ready), from, to];
                *first = self.db.first(Query::FirstReadyItem, values, read)?;
            }
        }
        let [untried, retried, failing] = firsts;
        let in_place = [untried, retried, self.log_head(picture)?].into_iter().flatten().min();
        let passed_over = picture.items.passed_over;
        let failing = failing.map(|first| Head::failing(first, passed_over));
        Ok(in_place.map(Head::in_place).or(failing))
    }

    /// The priority and stamp of the first message of the log.
    fn log_head(&mut self, picture: &mut Picture) -> Outcome<Option<(u64, u64)>> {
        let Some(lane) = picture.first_ready() else { return Ok(None) };
        let turn = u64::from(lane.priority.unwrap_or_default().0);
        let stands = (lane.cursor(), lane.holes);
        if let Some(known) = picture.log_head.filter(|known| known.stands == stands) {
            return Ok(Some((turn, known.sent)));
        }
        let bounds = [to_sql(lane.cursor()), to_sql(lane.tail())];
        let sent = self.db.first(Query::FirstSent, bounds, |row| Ok(from_sql(row.get(1)?)))?;
        picture.log_head = sent.map(|sent| LogHead { stands, sent });
        Ok(sent.map(|sent| (turn, sent)))
    }

    /// Hands out of one queue up to the best message of the others. `share` is how many it is
    /// expected to give.
    fn run_of(&mut self, entrant: &mut Entrant, demand: &Demand, share: u64) -> Outcome<Run> {
        let shared = Arc::clone(&entrant.picture);
        let picture = &mut *shared.lock();
        let dealing = &mut entrant.dealing;
        if picture.fifo() {
            let one = Demand { up_to: 1, ..*demand };
            let (list, more) = self.deal_groups(picture, dealing, &one)?;
            let end = end_of(more, dealing);
            let more = end == ClaimEnd::More && !list.is_empty();
            let head = if more { self.head(picture)? } else { None };
            return Ok(Run { failed: has_failed(&list, picture), list, end, head });
        }
        let feed = entrant.feed.get_or_insert_with(|| Feed::new(picture, share));
        let (list, more) = self.deal(picture, feed, dealing, demand)?;
        let end = end_of(more, dealing);
        let mut head = None;
        // What gave nothing has only messages that are not to come with those that were given.
        if end == ClaimEnd::More && !list.is_empty() {
            let heads = feed.heads(&self.db, picture)?;
            let settings = &picture.info.settings;
            let receive = Receive::new(demand.up_to, dealing.room, settings);
            let receive = receive.joining(dealing.others + list.len() as u64);
            let rank = |first: &First<u64>| (u64::from(first.priority.0), first.place);
            let in_place = receive.in_place(&heads).map(|(_, first)| Head::in_place(rank(first)));
            let [_, _, failing] = &heads;
            let passed_over = picture.items.passed_over;
            let failing = failing.as_ref().map(|first| Head::failing(rank(first), passed_over));
            head = in_place.or(failing);
        }
        Ok(Run { failed: has_failed(&list, picture), list, end, head })
    }
}

/// What a queue gave in its turn.
struct Run {
    list: Vec<slipring::Delivery>,
    end: ClaimEnd,
    /// Its next message.
    head: Option<Head>,
    /// One of them has failed before, and the queue's messages run out of tries.
    failed: bool,
}

fn has_failed(list: &[slipring::Delivery], picture: &Picture) -> bool {
    picture.info.settings.max_attempts.is_some()
        && list.iter().any(|delivery| delivery.message.attempts > 1)
}

fn end_of(more: bool, dealing: &Dealing) -> ClaimEnd {
    match more {
        false => ClaimEnd::Drained,
        true if dealing.room == 0 => ClaimEnd::InFlightLimit,
        true => ClaimEnd::More,
    }
}
