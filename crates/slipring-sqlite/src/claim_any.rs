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
    priority: u64,
    /// The stamp; 0 when it is the turn of failing messages.
    sent: u64,
    /// The queue has only failing messages.
    failing: bool,
}

impl Head {
    fn in_place((priority, sent): (u64, u64)) -> Head {
        Head { priority, sent, failing: false }
    }

    fn failing((priority, sent): (u64, u64)) -> Head {
        Head { priority, sent, failing: true }
    }
}

/// The queues of a claim that have a ready message, each by the place of its entrant.
#[derive(Default)]
struct Heads {
    /// Those that give in the order of their heads.
    in_turn: BinaryHeap<Reverse<(Head, usize)>>,
    /// Those with failing messages alone whose turn has not come: they come after the others.
    passed: Vec<Passed>,
}

/// A queue with failing messages alone that deliveries of others go past (S11.1).
struct Passed {
    head: Head,
    entrant: usize,
    /// How many have gone past it, those of earlier claims among them.
    passed_over: PassedOver,
}

impl Passed {
    fn left(&self) -> u32 {
        self.passed_over.until_failing()
    }
}

impl Heads {
    /// Adds a queue past whose failing messages so many deliveries have gone. These messages come
    /// first of their priority when it is their turn.
    fn add(&mut self, head: Head, entrant: usize, passed_over: PassedOver) {
        let queue = Passed { head, entrant, passed_over };
        match head.failing {
            false => self.in_turn.push(Reverse((head, entrant))),
            true if queue.left() > 0 => self.passed.push(queue),
            true => self.in_turn.push(Reverse((Head { sent: 0, ..head }, entrant))),
        }
    }

    /// The queue that gives next; where deliveries went past it, how many.
    fn pop(&mut self) -> Option<(Head, usize, Option<PassedOver>)> {
        if let Some(Reverse((head, entrant))) = self.in_turn.pop() {
            return Some((head, entrant, None));
        }
        let best = self.passed.iter().enumerate().min_by_key(|(_, queue)| queue.head)?.0;
        let Passed { head, entrant, passed_over } = self.passed.swap_remove(best);
        Some((head, entrant, Some(passed_over)))
    }

    /// After so many deliveries at most it may be the turn of one that is passed.
    fn left(&self) -> Option<u64> {
        self.passed.iter().map(|queue| u64::from(queue.left())).min()
    }

    /// Counts deliveries; answers the queues whose turn has come by them, which are in order now.
    fn go_past(&mut self, list: &[slipring::Delivery]) -> Vec<(usize, PassedOver)> {
        for queue in &mut self.passed {
            let own = queue.head.priority;
            let past = list.iter().filter(|one| own <= u64::from(one.message.priority.0)).count();
            let past = u32::try_from(past).unwrap_or(u32::MAX);
            queue.passed_over.past_failing(past);
        }
        let come: Vec<Passed> = self.passed.extract_if(.., |queue| queue.left() == 0).collect();
        let counts = come.iter().map(|queue| (queue.entrant, queue.passed_over)).collect();
        come.into_iter().for_each(|queue| self.add(queue.head, queue.entrant, queue.passed_over));
        counts
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
}

impl Writer<'_> {
    /// Hands out ready messages of several queues.
    pub(crate) fn claim_any(&mut self, claim: &ClaimAny) -> Outcome<ClaimedAny> {
        let mut ends = vec![ClaimEnd::Drained; claim.queues.len()];
        let mut entrants = Vec::new();
        let mut heads = Heads::default();
        for (at, queue) in claim.queues.iter().enumerate() {
            let entered = self.enter(*queue, claim.now)?;
            ends[at] = entered.1;
            if let Some((head, picture, dealing)) = entered.0 {
                let passed_over = picture.lock().items.passed_over;
                heads.add(head, entrants.len(), passed_over);
                entrants.push(Entrant { at, picture, feed: None, dealing });
            }
        }
        let mut list = Vec::new();
        let mut bytes = 0;
        let up_to = claim.demand.up_to.max(1);
        while let Some((head, best, passed_over)) = heads.pop() {
            if let Some(passed_over) = passed_over {
                self.set_passed_over(&entrants[best], passed_over);
            }
            let left = up_to - u32::try_from(list.len()).unwrap_or(up_to).min(up_to);
            if left == 0 || bytes >= CLAIM_BYTES_MAX {
                break;
            }
            let next = heads.in_turn.peek().map(|Reverse((head, _))| *head);
            let share = u64::from(left).div_ceil(heads.in_turn.len() as u64 + 1);
            let entrant = &mut entrants[best];
            entrant.dealing.bytes = bytes;
            entrant.dealing.others = list.len() as u64;
            entrant.dealing.most = heads.left();
            // Those whose turn has come give one and go behind the others again.
            let turn = head.failing && next.is_some();
            entrant.dealing.before = next.filter(|_| !turn).map(|next| (next.priority, next.sent));
            let most = if turn { up_to - left + 1 } else { up_to };
            let demand = Demand { up_to: most, ..claim.demand };
            let run = self.run_of(entrant, &demand, share)?;
            bytes = entrant.dealing.bytes;
            match run.end {
                ClaimEnd::More => {}
                end => ends[entrant.at] = end,
            }
            for (come, passed_over) in heads.go_past(&run.list) {
                self.set_passed_over(&entrants[come], passed_over);
            }
            list.extend(run.list);
            if let Some((head, passed_over)) = run.head {
                heads.add(head, best, passed_over);
            }
            // A message whose tries run out comes with few others (S11.2).
            if run.failed {
                break;
            }
        }
        for Passed { entrant, passed_over, .. } in heads.passed {
            self.set_passed_over(&entrants[entrant], passed_over);
        }
        for entrant in &mut entrants {
            if entrant.dealing.is_open() {
                let picture = Arc::clone(&entrant.picture);
                self.end_range(&mut picture.lock(), &mut entrant.dealing)?;
            }
        }
        Ok(ClaimedAny { deliveries: list, ends })
    }

    /// Keeps how many deliveries have gone past a queue with failing messages alone (S11.1).
    fn set_passed_over(&mut self, entrant: &Entrant, passed_over: PassedOver) {
        let picture = &mut *entrant.picture.lock();
        if picture.items.passed_over != passed_over {
            self.note(picture);
            picture.items.passed_over = passed_over;
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
        Ok(in_place.map(Head::in_place).or(failing.map(Head::failing)))
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
            let head = head.map(|head| (head, picture.items.passed_over));
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
            head = in_place.or(failing.as_ref().map(|first| Head::failing(rank(first))));
        }
        let head = head.map(|head| (head, picture.items.passed_over));
        Ok(Run { failed: has_failed(&list, picture), list, end, head })
    }
}

/// What a queue gave in its turn.
struct Run {
    list: Vec<slipring::Delivery>,
    end: ClaimEnd,
    /// Its next message, and how many deliveries have gone past its failing ones.
    head: Option<(Head, PassedOver)>,
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
