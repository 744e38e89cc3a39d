//! Tasks that send, receive, settle and extend at random.

use std::sync::Arc;

use slipring::lifecycle::Settlement;
use slipring::{Delivery, ErrorKind, Randomness, SeededRandomness};

use crate::bench::{Bench, NACK, QueueBench, bodies, m, ms, s};

use super::ledger::Ledger;

/// Messages of one unit.
const UNIT: u64 = 3;
/// Receives in a row that found nothing, after which a worker stops.
const IDLE_MAX: u32 = 40;

/// One task.
pub(super) struct Worker {
    pub(super) bench: Bench,
    pub(super) queue: QueueBench,
    pub(super) ledger: Arc<Ledger>,
    pub(super) random: SeededRandomness,
}

impl Worker {
    /// Sends units; the body of a message is `sender/number`, its group the sender.
    pub(super) async fn send(self, sender: u64, units: u64) {
        for unit in 0..units {
            let bodies: Vec<_> =
                (unit * UNIT..(unit + 1) * UNIT).map(|n| format!("{sender}/{n}")).collect();
            bodies.iter().for_each(|body| self.ledger.sending(body));
            let message = |body: &String| m(body).group(sender.to_string());
            self.queue.send_all(bodies.iter().map(message)).await;
            bodies.iter().for_each(|body| self.ledger.accepted(body));
            tokio::task::yield_now().await;
        }
    }

    /// Receives until the queue seems empty. A `clumsy` worker forgets some of its messages.
    pub(super) async fn receive(self, clumsy: u64) {
        let mut idle = 0;
        while idle < IDLE_MAX {
            let taken = self.queue.claim_for(1 + self.below(5) as u32, s(10)).await;
            if taken.is_empty() {
                idle += 1;
                self.bench.pass(s(1)).await;
                tokio::task::yield_now().await;
                continue;
            }
            idle = 0;
            for (nth, delivery) in taken.iter().enumerate() {
                let body = &bodies(&taken)[nth];
                let (fence, until) = (delivery.receipt.fence, delivery.deadline);
                self.ledger.received(body, fence, until, &self.bench.clock);
                if self.queue.info.settings.fifo {
                    self.check_turn(body, &bodies(&taken[..nth]));
                }
            }
            for (nth, delivery) in taken.iter().enumerate() {
                let goes_on = self.work(delivery, clumsy).await;
                if !goes_on && self.queue.info.settings.fifo {
                    // What comes after a failure in its group must not be done before it.
                    for rest in &taken[nth + 1..] {
                        self.settle(rest, Settlement::HandBack).await;
                    }
                    break;
                }
            }
            self.bench.advance(ms(self.below(400)));
        }
    }

    fn check_turn(&self, body: &str, together: &[String]) {
        let (sender, number) = body.split_once('/').expect("sender/number");
        let earlier = (0..number.parse::<u64>().unwrap()).map(|n| format!("{sender}/{n}"));
        self.ledger.in_turn(earlier.filter(|other| !together.contains(other)), body);
    }

    /// Does something with a message; answers whether it was acked.
    async fn work(&self, delivery: &Delivery, clumsy: u64) -> bool {
        match self.below(10) {
            0 => self.settle(delivery, NACK).await,
            1 => self.settle(delivery, Settlement::HandBack).await,
            2 => {
                let later = Settlement::Nack {
                    delay: Some(s(self.below(3))),
                    priority: None,
                    reason: None,
                };
                self.settle(delivery, later).await
            }
            3 if clumsy > 0 => false,
            4 => {
                let body = &bodies(std::slice::from_ref(delivery))[0];
                if let Ok(until) = self.queue.extend(delivery, s(20)).await {
                    self.ledger.extended(body, delivery.receipt.fence, until);
                }
                self.settle(delivery, Settlement::Ack).await
            }
            _ => self.settle(delivery, Settlement::Ack).await,
        }
    }

    async fn settle(&self, delivery: &Delivery, how: Settlement) -> bool {
        let body = &bodies(std::slice::from_ref(delivery))[0];
        let (fence, ack) = (delivery.receipt.fence, how == Settlement::Ack);
        self.ledger.settling(body, fence, ack);
        match self.queue.settle(delivery, how).await {
            Ok(_) if ack => self.ledger.acked(body, fence),
            Ok(_) => return false,
            Err(error) => {
                let lost = matches!(error.kind(), ErrorKind::LeaseLost | ErrorKind::MessageGone);
                assert!(lost, "unexpected {error}");
                return false;
            }
        }
        true
    }

    fn below(&self, limit: u64) -> u64 {
        (self.random.unit() * limit as f64) as u64
    }
}
