//! Runs a sequence on the store and on the model, and compares what they say.

use proptest::prelude::{TestCaseError, prop_assert, prop_assert_eq};
use slipring::lifecycle::Settlement;
use slipring::store::{ClaimEnd, Demand, Prolong, Settled};
use slipring::{Error, ErrorKind, MessageId, MessageState as State, QueueSettings, Receipt};

use crate::bench::{Bench, QueueBench, s};

use super::DEAD;
use super::naive::{Arrival, Model, Outcome};
use super::operation::{Operation, Spec};

pub(super) type Compared = Result<(), TestCaseError>;

/// Runs a sequence on a fresh store.
pub(super) async fn run(
    bench: &Bench,
    queue: &QueueSettings,
    operations: &[Operation],
) -> Compared {
    let bench = bench.another().await;
    let main = bench.named("main", queue.clone()).await;
    let dead = bench.named(DEAD, QueueSettings::default()).await;
    let settings = [queue.clone(), QueueSettings::default()];
    let model = Model::new(settings, bench.now());
    let mut replay =
        Replay { bench, queues: [main, dead], model, sent: Vec::new(), receipts: Vec::new() };
    for operation in operations {
        replay.step(operation).await?;
        replay.model.forget_places();
        replay.compare_stats().await?;
    }
    replay.look().await?;
    replay.drain().await
}

pub(super) struct Replay {
    pub(super) bench: Bench,
    pub(super) queues: [QueueBench; 2],
    pub(super) model: Model,
    /// Every number ever given, oldest first.
    pub(super) sent: Vec<MessageId>,
    /// Every receipt ever given, oldest first.
    pub(super) receipts: Vec<Receipt>,
}

impl Replay {
    async fn step(&mut self, operation: &Operation) -> Compared {
        match operation {
            Operation::Append { queue, units } => self.append(*queue, units).await,
            Operation::Claim { queue, demands } => self.claim(*queue, demands).await,
            Operation::ClaimMessage { message } => self.claim_message(*message).await,
            Operation::Settle { entries } => self.settle(entries).await,
            Operation::Extend { entries } => self.extend(entries).await,
            Operation::Advance { seconds } => {
                self.bench.advance(s(*seconds));
                self.model.now = self.bench.now();
                Ok(())
            }
            Operation::Due => self.due().await,
            Operation::Expire => self.expire().await,
            Operation::Prune => {
                let pass = self.bench.prune().await;
                prop_assert_eq!(pass.removed, self.model.prune());
                Ok(())
            }
            Operation::Cancel { message } => self.cancel(*message).await,
            Operation::KickMessage { message } => self.kick_message(*message).await,
            Operation::Kick { queue, limit } => self.kick(*queue, *limit).await,
            Operation::Purge { queue } => {
                let purged = self.queues[*queue].purge(7).await;
                prop_assert_eq!(purged, self.model.purge(*queue));
                Ok(())
            }
            Operation::Redrive => self.redrive().await,
            Operation::MoveChosen { messages, back } => self.move_chosen(messages, *back).await,
            Operation::Pause { paused } => {
                self.model.settings[0].paused = *paused;
                let settings = &self.model.settings[0];
                prop_assert!(self.queues[0].configure(settings).await.is_ok());
                Ok(())
            }
            Operation::Reopen => {
                if self.bench.store().capabilities().durable {
                    self.bench.reopen().await;
                }
                Ok(())
            }
            Operation::Look => self.look().await,
        }
    }

    async fn append(&mut self, queue: usize, units: &[Vec<Spec>]) -> Compared {
        let mut number = self.sent.len();
        let mut message = |spec: &Spec| {
            number += 1;
            spec.message(number)
        };
        let units: Vec<Vec<_>> =
            units.iter().map(|unit| unit.iter().map(&mut message).collect()).collect();
        let mut answers = self.queues[queue].append(units.clone()).await.into_iter();
        for unit in units {
            let answers: Vec<_> = answers.by_ref().take(unit.len()).collect();
            let mut numbers =
                |index: usize| answers[index].as_ref().map_or(MessageId(0), |sent| sent.id);
            let expected = self.model.append(queue, &unit, &mut numbers);
            for (answer, expected) in answers.iter().zip(expected) {
                match expected {
                    Arrival::Refused => {
                        prop_assert_eq!(kind(answer), Some(ErrorKind::LimitExceeded));
                    }
                    Arrival::Duplicate(first) => {
                        let seen = answer.as_ref().map(|sent| (sent.id, sent.duplicate)).ok();
                        prop_assert_eq!(seen, Some((first, true)));
                    }
                    Arrival::Stored => {
                        let Ok(sent) = answer else {
                            return Err(TestCaseError::fail(format!("{answer:?} is stored")));
                        };
                        prop_assert!(!sent.duplicate, "the model knows no message like it");
                        prop_assert!(!self.sent.contains(&sent.id), "no number comes twice");
                        let seen = self.model.find(sent.id).map(|m| (m.state, m.until));
                        let due = sent.due.map_or(State::Ready, |_| State::Delayed);
                        prop_assert_eq!(seen.map(|(state, _)| state), Some(due));
                        if let Some(due) = sent.due {
                            prop_assert_eq!(seen.map(|(_, until)| until), Some(due));
                        }
                        self.sent.push(sent.id);
                    }
                }
            }
        }
        Ok(())
    }

    async fn claim(&mut self, queue: usize, demands: &[(u32, Option<u64>)]) -> Compared {
        let demand = |(up_to, lease): &(u32, Option<u64>)| Demand {
            up_to: *up_to,
            lease: lease.map(s),
            session: false,
        };
        let claimed = self.queues[queue].claim_demands(demands.iter().map(demand).collect()).await;
        let mut unserved = false;
        for ((up_to, lease), got) in demands.iter().zip(&claimed.deliveries) {
            let expected = self.model.choose(queue, *up_to);
            let ids: Vec<_> = got.iter().map(|delivery| delivery.message.id).collect();
            prop_assert_eq!(&ids, &expected, "numbers handed out by a receive of {}", up_to);
            unserved |= ids.is_empty();
            for delivery in got {
                self.compare_delivery(delivery, *lease)?;
            }
            self.model.serve(queue, &ids);
        }
        let left = self.model.claimable(queue).len();
        let paused = self.model.settings[queue].paused;
        let right = match claimed.end {
            ClaimEnd::Paused => paused,
            _ if paused => false,
            ClaimEnd::Drained => left == 0,
            ClaimEnd::InFlightLimit => self.model.room(queue) == 0,
            ClaimEnd::More => !unserved || left > 0,
            // No other client uses the store.
            ClaimEnd::Held => false,
        };
        prop_assert!(right, "{:?} with {} left, paused {}", claimed.end, left, paused);
        Ok(())
    }

    /// The message so many back from the newest.
    pub(super) fn back(&self, back: usize) -> Option<MessageId> {
        let at = self.sent.len().checked_sub(1 + back.checked_rem(self.sent.len())?)?;
        self.sent.get(at).copied()
    }

    async fn claim_message(&mut self, back: usize) -> Compared {
        let Some(id) = self.back(back) else { return Ok(()) };
        let seen = self.model.find(id).map(|message| (message.queue, message.state));
        let queue = seen.map_or(0, |(queue, _)| queue);
        let answer = self.queues[queue].claim_message(id).await;
        match (seen, answer) {
            (None, answer) => prop_assert_eq!(kind(&answer), Some(ErrorKind::MessageGone)),
            (Some((_, State::Leased)), answer) => {
                prop_assert_eq!(kind(&answer), Some(ErrorKind::WrongState));
            }
            (Some(_), Ok(delivery)) => self.compare_delivery(&delivery, None)?,
            (Some(_), Err(error)) => return Err(TestCaseError::fail(error.to_string())),
        }
        Ok(())
    }

    /// The receipt so many back from the newest, with its queue.
    fn receipt(&self, back: usize) -> Option<(usize, Receipt)> {
        let at = self.receipts.len().checked_sub(1 + back.checked_rem(self.receipts.len())?)?;
        let receipt = *self.receipts.get(at)?;
        Some((usize::from(receipt.queue == self.queues[1].id), receipt))
    }

    async fn settle(&mut self, entries: &[(usize, Settlement)]) -> Compared {
        for queue in 0..2 {
            let entries = entries.iter().filter_map(|(back, how)| {
                let (of, receipt) = self.receipt(*back)?;
                let mut how = how.clone();
                if let Settlement::Nack { priority, .. } = &mut how
                    && self.model.on_last_try(receipt.message)
                {
                    // What priority a message has that is given up is not promised.
                    *priority = None;
                }
                (of == queue).then_some((receipt, how))
            });
            let entries: Vec<_> = entries.collect();
            let answers = self.queues[queue].settle_all(entries.clone()).await;
            for ((receipt, how), answer) in entries.into_iter().zip(answers) {
                let expected = self.model.settle(queue, receipt.message, receipt.fence, &how);
                prop_assert_eq!(self.outcome(answer)?, expected, "{:?} of {:?}", how, receipt);
            }
        }
        Ok(())
    }

    fn outcome(&self, answer: Result<Settled, Error>) -> Result<Outcome, TestCaseError> {
        Ok(match answer {
            Ok(Settled::Done) => Outcome::Done,
            Ok(Settled::Ready) => Outcome::Ready,
            Ok(Settled::Delayed(until)) => Outcome::Delayed(until),
            Ok(Settled::Parked) => Outcome::Parked,
            Ok(Settled::DeadLettered(id)) if id == self.queues[1].id => Outcome::DeadLettered(1),
            Err(error) => refusal(&error)?,
            other => return Err(TestCaseError::fail(format!("unexpected {other:?}"))),
        })
    }

    async fn extend(&mut self, entries: &[(usize, Option<u64>, bool)]) -> Compared {
        for (back, seconds, take_up) in entries {
            let Some((queue, receipt)) = self.receipt(*back) else { continue };
            let lease = Prolong { lease: seconds.map(s), take_up: *take_up };
            let answer = self.queues[queue].extend_all(vec![(receipt, lease)]).await.remove(0);
            let expected = self.model.extend(queue, receipt.message, receipt.fence, lease);
            let seen = match answer {
                Ok(until) => Ok(until),
                Err(error) => Err(refusal(&error)?),
            };
            prop_assert_eq!(seen, expected, "extending {:?}", receipt);
        }
        Ok(())
    }

    async fn due(&mut self) -> Compared {
        let pass = self.bench.due().await;
        let ready = self.model.due();
        self.compare_pass(&pass, ready, State::Delayed)
    }

    async fn expire(&mut self) -> Compared {
        let pass = self.bench.expire().await;
        let (ready, parked) = self.model.expire();
        prop_assert_eq!(pass.removed, parked);
        self.compare_pass(&pass, ready, State::Leased)
    }

    async fn cancel(&mut self, back: usize) -> Compared {
        let Some(id) = self.back(back) else { return Ok(()) };
        let answer = self.bench.cancel(id).await;
        match self.model.find(id).map(|message| message.state) {
            None => prop_assert_eq!(kind(&answer), Some(ErrorKind::MessageGone)),
            Some(State::Leased) => prop_assert_eq!(kind(&answer), Some(ErrorKind::WrongState)),
            Some(_) => {
                prop_assert!(answer.is_ok(), "{:?}", answer);
                self.model.remove(id);
            }
        }
        Ok(())
    }

    async fn kick_message(&mut self, back: usize) -> Compared {
        let Some(id) = self.back(back) else { return Ok(()) };
        let answer = self.bench.kick_message(id).await;
        match self.model.find(id).map(|message| (message.state, message.queue)) {
            None => prop_assert_eq!(kind(&answer), Some(ErrorKind::MessageGone)),
            Some((State::Parked | State::Delayed, queue)) => {
                prop_assert_eq!(answer.ok(), Some(self.queues[queue].id));
                self.model.kick_message(id);
            }
            Some(_) => prop_assert_eq!(kind(&answer), Some(ErrorKind::WrongState)),
        }
        Ok(())
    }

    async fn kick(&mut self, queue: usize, limit: u32) -> Compared {
        // Which of several messages due at the same moment is kicked first is not promised, so
        // all of them are.
        let parked = self.model.in_state(queue, State::Parked).len();
        let limit = if parked == 0 { 10_000 } else { limit };
        let kicked = self.queues[queue].kick(limit).await;
        prop_assert_eq!(kicked, self.model.kick(queue, limit).len() as u64);
        Ok(())
    }

    /// In the end everything that is left can be received and acked, in order.
    async fn drain(&mut self) -> Compared {
        self.step(&Operation::Pause { paused: false }).await?;
        self.step(&Operation::Advance { seconds: 10_000 }).await?;
        for _ in 0..10_000 {
            self.expire().await?;
            self.model.forget_places();
            self.due().await?;
            self.kick(0, 1000).await?;
            self.kick(1, 1000).await?;
            if self.model.messages.is_empty() {
                return self.compare_stats().await;
            }
            for queue in 0..2 {
                let before = self.receipts.len();
                self.claim(queue, &[(10, None)]).await?;
                let acks = (0..self.receipts.len() - before).map(|back| (back, Settlement::Ack));
                let acks: Vec<_> = acks.collect();
                self.settle(&acks).await?;
                self.model.forget_places();
            }
        }
        Err(TestCaseError::fail("the queues never become empty"))
    }
}

pub(super) fn kind<T>(answer: &Result<T, Error>) -> Option<ErrorKind> {
    answer.as_ref().err().map(Error::kind)
}

fn refusal(error: &Error) -> Result<Outcome, TestCaseError> {
    match error.kind() {
        ErrorKind::MessageGone => Ok(Outcome::Gone),
        ErrorKind::LeaseLost => Ok(Outcome::LeaseLost),
        _ => Err(TestCaseError::fail(error.to_string())),
    }
}
