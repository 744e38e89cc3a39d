//! Small histories written by hand, for the tests of the passes.

use std::collections::{HashMap, HashSet};

use super::check;
use crate::crash::history::{Delivery, Entry, Event, Kind, Operation, Sending};
use crate::crash::queues::LEASE_MS;

/// A history in the making. Each operation takes a millisecond.
pub struct Scenario {
    events: Vec<Event>,
    now: u64,
    process: u64,
    receipts: HashMap<String, String>,
    /// Those of reserves: an ack with one of them says whether it had an effect.
    reserved: HashSet<String>,
    last_receipt: String,
    /// Receipts of what was buried.
    aside: HashSet<String>,
}

/// Processes from here on ack what is left in the end.
const DRAINS: u64 = 1 << 32;

impl Scenario {
    pub fn new() -> Scenario {
        Scenario {
            events: Vec::new(),
            now: 1_000_000_000,
            process: 1,
            receipts: HashMap::new(),
            reserved: HashSet::new(),
            last_receipt: String::new(),
            aside: HashSet::new(),
        }
    }

    /// The properties that do not hold, in the order of the passes, when what was handed out last
    /// and not set aside may have been acked in the end.
    pub fn properties(&self) -> Vec<&'static str> {
        let mut drained = self.events.clone();
        let (mut time, mut process) = (self.now + 10_000_000_000, DRAINS);
        for (body, receipt) in &self.receipts {
            if self.aside.contains(receipt) {
                continue;
            }
            for kind in [Kind::Invoke, Kind::Info] {
                let (index, operation) = (drained.len() as u64, self.ack("", body, receipt));
                drained.push(Event { index, time, process, kind, operation });
                time += 1;
            }
            process += 1;
        }
        found(&drained)
    }

    /// As [`Scenario::properties`], for a history that ends as it stands.
    pub fn properties_undrained(&self) -> Vec<&'static str> {
        found(&self.events)
    }

    /// How often a property does not hold.
    pub fn count(&self, property: &str) -> usize {
        self.properties().iter().filter(|found| **found == property).count()
    }

    pub fn receipt(&self) -> String {
        self.last_receipt.clone()
    }

    pub fn pass(&mut self, milliseconds: u64) -> &mut Scenario {
        self.now += milliseconds * 1_000_000;
        self
    }

    pub fn sent(&mut self, queue: &str, body: &str) -> &mut Scenario {
        self.send(Kind::Ok, queue, Sending { body: body.into(), ..Sending::default() })
    }

    pub fn refused(&mut self, queue: &str, body: &str) -> &mut Scenario {
        self.send(Kind::Fail, queue, Sending { body: body.into(), ..Sending::default() })
    }

    pub fn cut_send(&mut self, queue: &str, body: &str) -> &mut Scenario {
        self.send(Kind::Info, queue, Sending { body: body.into(), ..Sending::default() })
    }

    pub fn sent_in(&mut self, queue: &str, group: &str, body: &str) -> &mut Scenario {
        let (body, group) = (body.into(), Some(group.into()));
        self.send(Kind::Ok, queue, Sending { body, group, ..Sending::default() })
    }

    pub fn sent_delayed(&mut self, queue: &str, body: &str, delay_ms: u64) -> &mut Scenario {
        let body = body.into();
        self.send(Kind::Ok, queue, Sending { body, delay_ms, ..Sending::default() })
    }

    pub fn sent_once(&mut self, queue: &str, dedup: &str, body: &str, id: &str) -> &mut Scenario {
        let (dedup, id) = (Some(dedup.into()), Some(id.into()));
        self.send(Kind::Ok, queue, Sending { body: body.into(), dedup, id, ..Sending::default() })
    }

    fn send(&mut self, kind: Kind, queue: &str, mut sending: Sending) -> &mut Scenario {
        sending.id = sending.id.or_else(|| (kind == Kind::Ok).then(|| sending.body.clone()));
        self.done(kind, Operation::Send { queue: queue.into(), messages: vec![sending] })
    }

    pub fn received(&mut self, queue: &str, body: &str, count: u32) -> &mut Scenario {
        let delivery = self.delivery(body, Some(count));
        self.done(Kind::Ok, receive(queue, vec![delivery]))
    }

    /// A receive by another client that began so long ago and is answered now.
    pub fn received_since(
        &mut self,
        milliseconds: u64,
        queue: &str,
        body: &str,
        count: u32,
    ) -> &mut Scenario {
        let delivery = self.delivery(body, Some(count));
        self.done_by_another(milliseconds, receive(queue, vec![delivery]))
    }

    pub fn received_together(&mut self, queue: &str, bodies: &[&str]) -> &mut Scenario {
        let deliveries = bodies.iter().map(|body| self.delivery(body, Some(1))).collect();
        self.done(Kind::Ok, receive(queue, deliveries))
    }

    pub fn reserved(&mut self, queue: &str, body: &str) -> &mut Scenario {
        let delivery = self.delivery(body, None);
        self.done(Kind::Ok, receive(queue, vec![delivery]))
    }

    /// A reserve that was begun so long ago, and answered so long ago, in one operation with others
    /// that were answered now.
    pub fn reserved_among(&mut self, begun_ms: u64, answered_ms: u64, body: &str) -> &mut Scenario {
        let mut delivery = self.delivery(body, None);
        delivery.answered_ns = Some(self.now - answered_ms * 1_000_000);
        self.done_by_another(begun_ms, receive("standard", vec![delivery]))
    }

    pub fn cut_receive(&mut self, queue: &str) -> &mut Scenario {
        self.done(Kind::Info, receive(queue, Vec::new()))
    }

    fn delivery(&mut self, body: &str, count: Option<u32>) -> Delivery {
        self.last_receipt = format!("receipt {}", self.receipts.len() + self.events.len());
        self.receipts.insert(body.into(), self.last_receipt.clone());
        let (body, receipt) = (body.into(), self.last_receipt.clone());
        let session = count.is_none();
        if session {
            self.reserved.insert(receipt.clone());
        }
        Delivery { body, receipt, count, lease_ms: LEASE_MS, session, answered_ns: None }
    }

    fn ack(&self, queue: &str, body: &str, receipt: &str) -> Operation {
        let strict = self.reserved.contains(receipt);
        Operation::Ack { queue: queue.into(), strict, entries: vec![entry(body, receipt)] }
    }

    pub fn acked(&mut self, queue: &str, body: &str) -> &mut Scenario {
        let receipt = self.receipts[body].clone();
        self.acked_by(queue, body, &receipt)
    }

    pub fn acked_by(&mut self, queue: &str, body: &str, receipt: &str) -> &mut Scenario {
        let ack = self.ack(queue, body, receipt);
        self.done(Kind::Ok, ack)
    }

    pub fn cut_ack(&mut self, queue: &str, body: &str) -> &mut Scenario {
        let receipt = self.receipts[body].clone();
        let ack = self.ack(queue, body, &receipt);
        self.done(Kind::Info, ack)
    }

    /// An ack of another client without an end event.
    pub fn open_ack(&mut self, queue: &str, body: &str) -> &mut Scenario {
        let receipt = self.receipts[body].clone();
        let (index, operation) = (self.events.len() as u64, self.ack(queue, body, &receipt));
        let (time, process, kind) = (self.now, DRAINS - 1, Kind::Invoke);
        self.events.push(Event { index, time, process, kind, operation });
        self
    }

    pub fn nacked_by(&mut self, queue: &str, body: &str, receipt: &str) -> &mut Scenario {
        let entry = entry(body, receipt);
        self.done(Kind::Ok, Operation::Nack { queue: queue.into(), entry, delay_ms: 0 })
    }

    pub fn nacked(&mut self, queue: &str, body: &str, delay_ms: u64) -> &mut Scenario {
        let entry = entry(body, &self.receipts[body]);
        self.done(Kind::Ok, Operation::Nack { queue: queue.into(), entry, delay_ms })
    }

    pub fn extended(&mut self, queue: &str, body: &str, lease_ms: u64) -> &mut Scenario {
        let entry = entry(body, &self.receipts[body]);
        self.done(Kind::Ok, Operation::Extend { queue: queue.into(), entry, lease_ms })
    }

    pub fn buried(&mut self, queue: &str, body: &str) -> &mut Scenario {
        let entry = entry(body, &self.receipts[body]);
        self.aside.insert(entry.receipt.clone());
        self.done(Kind::Ok, Operation::Bury { queue: queue.into(), entry })
    }

    pub fn kicked(&mut self, queue: &str, body: Option<&str>) -> &mut Scenario {
        let body = body.map(str::to_owned);
        self.done(Kind::Ok, Operation::Kick { queue: queue.into(), body })
    }

    pub fn killed(&mut self) -> &mut Scenario {
        self.done(Kind::Ok, Operation::Kill)
    }

    pub fn killed_database(&mut self) -> &mut Scenario {
        self.done(Kind::Ok, Operation::KillDatabase)
    }

    /// An operation of another client that began so long ago and is answered now.
    fn done_by_another(&mut self, begun_ms: u64, operation: Operation) -> &mut Scenario {
        for (kind, ago) in [(Kind::Invoke, begun_ms * 1_000_000), (Kind::Ok, 0)] {
            let (index, time) = (self.events.len() as u64, self.now - ago);
            let at = self.events.partition_point(|event| event.time <= time);
            let operation = operation.clone();
            self.events.insert(at, Event { index, time, process: u64::MAX, kind, operation });
        }
        self
    }

    fn done(&mut self, kind: Kind, operation: Operation) -> &mut Scenario {
        for kind in [Kind::Invoke, kind] {
            self.now += 500_000;
            let (index, operation) = (self.events.len() as u64, operation.clone());
            let (time, process) = (self.now, self.process);
            self.events.push(Event { index, time, process, kind, operation });
        }
        self.process += u64::from(kind == Kind::Info);
        self
    }
}

fn found(events: &[Event]) -> Vec<&'static str> {
    check(events).violations.into_iter().map(|v| v.property).collect()
}

fn receive(queue: &str, deliveries: Vec<Delivery>) -> Operation {
    Operation::Receive { queue: queue.into(), deliveries }
}

fn entry(body: &str, receipt: &str) -> Entry {
    Entry { body: body.into(), receipt: receipt.into(), done: true }
}
