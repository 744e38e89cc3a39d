//! Receives over several queues (S7.6): runs of the queue that has the best message, each up to the
//! best of the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use slipring::store::{ClaimAny, ClaimEnd, ClaimedAny, Demand};
use slipring::{MessageState, QueueId, Timestamp, lifecycle};

use crate::claim::{CLAIM_BYTES_MAX, Dealing};
use crate::fault::Outcome;
use crate::feed::Feed;
use crate::item::state_number;
use crate::picture::{LogHead, Picture};
use crate::position::{from_sql, to_sql};
use crate::statements::Query;
use crate::writer::{Shared, Writer};

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
        // The heads, best first, each with the place of its entrant.
        let mut heads = BinaryHeap::new();
        for (at, queue) in claim.queues.iter().enumerate() {
            let entered = self.enter(*queue, claim.now)?;
            ends[at] = entered.1;
            if let Some((head, picture, dealing)) = entered.0 {
                heads.push(Reverse((head, entrants.len())));
                entrants.push(Entrant { at, picture, feed: None, dealing });
            }
        }
        let mut list = Vec::new();
        let mut bytes = 0;
        let up_to = claim.demand.up_to.max(1);
        while let Some(Reverse((_, best))) = heads.pop() {
            let left = up_to - u32::try_from(list.len()).unwrap_or(up_to).min(up_to);
            if left == 0 || bytes >= CLAIM_BYTES_MAX {
                break;
            }
            let next = heads.peek().map(|Reverse((head, _))| *head);
            let share = u64::from(left).div_ceil(heads.len() as u64 + 1);
            let entrant = &mut entrants[best];
            entrant.dealing.before = next;
            entrant.dealing.bytes = bytes;
            let demand = Demand { up_to: left, ..claim.demand };
            let run = self.run_of(entrant, &demand, share, list.len())?;
            bytes = entrant.dealing.bytes;
            let failed = run.list.iter().any(|delivery| delivery.message.attempts > 1);
            list.extend(run.list);
            match run.end {
                ClaimEnd::More => {}
                end => ends[entrant.at] = end,
            }
            if let Some(head) = run.head {
                heads.push(Reverse((head, best)));
            }
            // A message that has failed comes with few others (S11.2).
            if failed || run.alone {
                break;
            }
        }
        for entrant in &mut entrants {
            if entrant.dealing.is_open() {
                let picture = Arc::clone(&entrant.picture);
                self.end_range(&mut picture.lock(), &mut entrant.dealing)?;
            }
        }
        Ok(ClaimedAny { deliveries: list, ends })
    }

    /// What a queue comes with: its head, or why it gives nothing.
    #[allow(clippy::type_complexity, reason = "one place makes it and one takes it apart")]
    fn enter(
        &mut self,
        queue: QueueId,
        now: Timestamp,
    ) -> Outcome<(Option<((u64, u64), Shared, Dealing)>, ClaimEnd)> {
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

    /// The turn and stamp of the message that a queue would hand out first.
    fn head(&mut self, picture: &mut Picture) -> Outcome<Option<(u64, u64)>> {
        if picture.ready() == 0 {
            return Ok(None);
        }
        let read = |row: &rusqlite::Row<'_>| Ok((from_sql(row.get(0)?), from_sql(row.get(1)?)));
        let queue = to_sql(picture.id().0);
        if picture.fifo() {
            self.write_back_groups(picture)?;
            return Ok(self.db.first(Query::FirstOfGroups, [queue], read)?);
        }
        let mut item = None;
        if picture.items.ready > 0 {
            let values = [queue, state_number(MessageState::Ready)];
            item = self.db.first(Query::FirstReadyItem, values, read)?;
        }
        Ok([item, self.log_head(picture)?].into_iter().flatten().min())
    }

    /// The turn and stamp of the first message of the log.
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
    /// expected to give, `company` how many others have given.
    fn run_of(
        &mut self,
        entrant: &mut Entrant,
        demand: &Demand,
        share: u64,
        company: usize,
    ) -> Outcome<Run> {
        let shared = Arc::clone(&entrant.picture);
        let picture = &mut *shared.lock();
        let dealing = &mut entrant.dealing;
        if picture.fifo() {
            let one = Demand { up_to: 1, ..*demand };
            let (list, more) = self.deal_groups(picture, dealing, &one)?;
            let end = end_of(more, dealing);
            let head = if end == ClaimEnd::More { self.head(picture)? } else { None };
            return Ok(Run { list, end, head, alone: false });
        }
        let feed = entrant.feed.get_or_insert_with(|| Feed::new(picture, share));
        let attempts = feed.peek(&self.db, picture)?.unwrap_or(0);
        let own = lifecycle::company(attempts, demand.up_to, &picture.info.settings);
        if attempts > 0 && company >= own as usize {
            return Ok(Run { list: Vec::new(), end: ClaimEnd::More, head: None, alone: true });
        }
        let (list, more) = self.deal(picture, feed, dealing, demand)?;
        let end = end_of(more, dealing);
        let head = if end == ClaimEnd::More { feed.place() } else { None };
        Ok(Run { list, end, head, alone: false })
    }
}

/// What a queue gave in its turn.
struct Run {
    list: Vec<slipring::Delivery>,
    end: ClaimEnd,
    /// The turn and stamp of its next message.
    head: Option<(u64, u64)>,
    /// Its next message has failed before and is not to come with those that were given.
    alone: bool,
}

fn end_of(more: bool, dealing: &Dealing) -> ClaimEnd {
    match more {
        false => ClaimEnd::Drained,
        true if dealing.room == 0 => ClaimEnd::InFlightLimit,
        true => ClaimEnd::More,
    }
}
