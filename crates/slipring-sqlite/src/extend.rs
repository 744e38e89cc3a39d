//! Prolonging leases: a lease of the log changes as a whole, or is split where only some of its
//! messages are prolonged; no message is moved or rewritten.

use slipring::lifecycle::{self, Held};
use slipring::store::{ExtendBatch, Prolong};
use slipring::{Error, Fence, MessageState, Receipt, Timestamp};

use crate::claim::no_lane;
use crate::fault::{Outcome, foreign, gone};
use crate::lease::{Lease, Terms};
use crate::picture::Picture;
use crate::position::to_sql;
use crate::statements::Query;
use crate::writer::Writer;

/// A message of the log that is prolonged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Extension {
    lease: u64,
    position: u64,
    deadline_ms: u64,
}

impl Writer<'_> {
    /// Prolongs leases, entry by entry.
    pub(crate) fn extend(&mut self, batch: &ExtendBatch) -> Outcome<Vec<Result<Timestamp, Error>>> {
        let Some(picture) = self.picture(batch.queue)? else {
            let gone = |(receipt, _): &(Receipt, _)| Err(gone(receipt.message));
            return Ok(batch.entries.iter().map(gone).collect());
        };
        let picture = &mut *picture.lock();
        self.note(picture);
        let mut in_log = Vec::new();
        let mut answers = Vec::with_capacity(batch.entries.len());
        for (receipt, prolong) in &batch.entries {
            let answer = if receipt.queue != batch.queue {
                Err(foreign(receipt.message))
            } else {
                let answer = match self.lease_over(picture, receipt.message.0)? {
                    Some(lease) => {
                        let prolong = (*prolong, batch.now);
                        self.extend_in_log(picture, lease, receipt, prolong, &mut in_log)?
                    }
                    None => self.extend_item(picture, receipt, *prolong, batch.now)?,
                };
                answer.map_err(|error| error.with("message", receipt.message))
            };
            answers.push(answer);
        }
        self.apply_extensions(picture, in_log)?;
        Ok(answers)
    }

    fn extend_in_log(
        &mut self,
        picture: &mut Picture,
        first: u64,
        receipt: &Receipt,
        (prolong, now): (Prolong, Timestamp),
        in_log: &mut Vec<Extension>,
    ) -> Outcome<Result<Timestamp, Error>> {
        let position = receipt.message.0;
        let Some(lease) = picture.leases.get(&first) else { return Err(no_lane(position)) };
        let held = Held {
            state: MessageState::Leased,
            fence: Fence(lease.fence()),
            deadline: Timestamp::from_millis(lease.deadline_ms),
            attempts: 1,
        };
        let (asked, settings) = (prolong.lease, &picture.info.settings);
        let check = lifecycle::check_prolong(&held, receipt.fence, prolong.take_up, settings, now);
        if let Err(error) = check {
            return Ok(Err(error));
        }
        let own = match asked {
            Some(_) => None,
            None => self.own_lease(position)?,
        };
        let lasts = lifecycle::lease_duration(asked, own, &picture.info.settings);
        let deadline = now.after(lasts);
        let deadline_ms = deadline.as_millis();
        in_log.push(Extension { lease: first, position, deadline_ms });
        Ok(Ok(deadline))
    }

    /// The visibility timeout that a message of the log was sent with.
    fn own_lease(&mut self, position: u64) -> Outcome<Option<std::time::Duration>> {
        let own = self
            .db
            .first(Query::OwnLease, [to_sql(position)], |row| row.get::<_, Option<i64>>(0))?;
        Ok(own.flatten().map(|ms| std::time::Duration::from_millis(crate::position::from_sql(ms))))
    }

    fn extend_item(
        &mut self,
        picture: &mut Picture,
        receipt: &Receipt,
        prolong: Prolong,
        now: Timestamp,
    ) -> Outcome<Result<Timestamp, Error>> {
        let found = self.item_head(receipt.message.0)?;
        let Some(mut head) = found.filter(|head| head.queue == picture.id()) else {
            return Ok(Err(self.unheld(picture, receipt)?));
        };
        let (held, settings) = (head.held(), &picture.info.settings);
        let check = lifecycle::check_prolong(&held, receipt.fence, prolong.take_up, settings, now);
        if let Err(error) = check {
            return Ok(Err(error));
        }
        let lasts = lifecycle::lease_duration(prolong.lease, head.lease(), settings);
        let deadline = now.after(lasts);
        self.change_item(picture, &mut head, |head| {
            head.state = MessageState::Leased;
            head.until_ms = deadline.as_millis();
        })?;
        Ok(Ok(deadline))
    }

    fn apply_extensions(
        &mut self,
        picture: &mut Picture,
        mut extensions: Vec<Extension>,
    ) -> Outcome<()> {
        // Stable: of two entries for one message the later counts.
        extensions.sort_by_key(|extension| (extension.lease, extension.position));
        extensions.reverse();
        extensions.dedup_by_key(|extension| extension.position);
        extensions.reverse();
        for of_lease in extensions.chunk_by(|a, b| a.lease == b.lease) {
            let Some(first) = of_lease.first() else { continue };
            let Some(lease) = picture.leases.remove(&first.lease) else { continue };
            self.db.execute(Query::DeleteLease, [to_sql(first.lease)])?;
            for part in split(&lease, of_lease) {
                self.add_lease(picture, part)?;
            }
        }
        Ok(())
    }
}

/// The leases that a lease becomes when some of its messages get other deadlines. The extensions
/// are in the order of their positions.
fn split(lease: &Lease, extensions: &[Extension]) -> Vec<Lease> {
    let mut parts: Vec<Lease> = Vec::new();
    let mut extensions = extensions.iter().peekable();
    for (position, bytes) in lease.messages() {
        let mut terms = lease.terms();
        if let Some(extension) = extensions.next_if(|extension| extension.position == position) {
            terms = Terms { deadline_ms: extension.deadline_ms, ..terms };
        }
        match parts.last_mut().filter(|part| part.terms() == terms) {
            Some(part) => part.add(position, bytes),
            None => {
                let mut part = Lease::begin(position, terms);
                part.add(position, bytes);
                parts.push(part);
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deadlines(extended: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
        let terms = Terms { leased_ms: 1, deadline_ms: 100, session: true };
        let mut lease = Lease::begin(1, terms);
        (1..=6).for_each(|position| lease.add(position, 1));
        lease.take(4);
        let extensions: Vec<_> = extended
            .iter()
            .map(|(position, deadline_ms)| Extension {
                lease: 1,
                position: *position,
                deadline_ms: *deadline_ms,
            })
            .collect();
        let parts = split(&lease, &extensions);
        assert_eq!(parts.iter().map(Lease::left).sum::<usize>(), 5);
        parts.iter().map(|part| (part.first, part.last, part.deadline_ms)).collect()
    }

    #[test]
    fn a_lease_that_is_prolonged_as_a_whole_stays_one() {
        let all = [1, 2, 3, 5, 6].map(|position| (position, 200));
        assert_eq!(deadlines(&all), [(1, 6, 200)]);
    }

    #[test]
    fn a_lease_is_split_where_deadlines_differ() {
        assert_eq!(deadlines(&[(3, 200)]), [(1, 2, 100), (3, 3, 200), (5, 6, 100)]);
        assert_eq!(deadlines(&[(1, 50), (6, 60)]), [(1, 1, 50), (2, 5, 100), (6, 6, 60)]);
    }
}
