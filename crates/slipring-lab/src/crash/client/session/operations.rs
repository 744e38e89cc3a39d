//! The operations of a session: each is written down before it is asked for and after it is
//! answered.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Session;
use crate::crash::client::{Client, Failure};
use crate::crash::history::{Delivery, Entry, Kind, Operation, Sending};
use crate::crash::queues::Rules;

/// A server that does not answer at all is a finding.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

impl Session {
    pub(super) async fn send<C: Client>(
        &mut self,
        client: &mut C,
        queue: &Rules,
        mut messages: Vec<Sending>,
    ) -> Result<bool> {
        let operation = |messages: &[Sending]| Operation::Send {
            queue: queue.name.into(),
            messages: messages.into(),
        };
        self.done(Kind::Invoke, operation(&messages))?;
        let answer = tokio::time::timeout(ANSWER_WITHIN, client.send(queue, &mut messages)).await;
        if let Ok(Err(Failure::Refused(why))) = &answer {
            bail!("a send to {} was refused: {why}", queue.name);
        }
        self.outcome(answer, operation(&messages))
    }

    /// What was received, or nothing when the connection broke.
    pub(super) async fn receive<C: Client>(
        &mut self,
        client: &mut C,
        queue: &Rules,
        wait_seconds: u32,
    ) -> Result<Option<Vec<Delivery>>> {
        let operation = |deliveries| Operation::Receive { queue: queue.name.into(), deliveries };
        self.done(Kind::Invoke, operation(Vec::new()))?;
        let receive = client.receive(queue, wait_seconds);
        match tokio::time::timeout(ANSWER_WITHIN, receive).await {
            Ok(Ok(deliveries)) => {
                self.done(Kind::Ok, operation(deliveries.clone()))?;
                Ok(Some(deliveries))
            }
            Ok(Err(Failure::Refused(why))) => {
                bail!("a receive from {} was refused: {why}", queue.name)
            }
            Ok(Err(Failure::Withdrawn)) => {
                self.done(Kind::Fail, operation(Vec::new()))?;
                Ok(Some(Vec::new()))
            }
            Ok(Err(broken)) => {
                self.outcome(Ok(Err(broken)), operation(Vec::new()))?;
                Ok(None)
            }
            Err(late) => {
                self.outcome(Err(late), operation(Vec::new()))?;
                Ok(None)
            }
        }
    }

    pub(super) async fn ack<C: Client>(
        &mut self,
        client: &mut C,
        queue: &Rules,
        deliveries: &[Delivery],
    ) -> Result<bool> {
        let mut entries: Vec<Entry> = deliveries.iter().map(entry).collect();
        let operation = |entries: &[Entry]| Operation::Ack {
            queue: queue.name.into(),
            strict: C::STRICT,
            entries: entries.into(),
        };
        self.done(Kind::Invoke, operation(&entries))?;
        let answer = tokio::time::timeout(ANSWER_WITHIN, client.ack(queue, &mut entries)).await;
        self.outcome(answer, operation(&entries))
    }

    pub(super) async fn nack<C: Client>(
        &mut self,
        client: &mut C,
        queue: &Rules,
        delivery: &Delivery,
        delay_ms: u64,
    ) -> Result<bool> {
        let entry = Entry { done: true, ..entry(delivery) };
        let operation =
            Operation::Nack { queue: queue.name.into(), entry: entry.clone(), delay_ms };
        self.ask(operation, client.nack(queue, &entry, delay_ms)).await
    }

    pub(super) async fn extend<C: Client>(
        &mut self,
        client: &mut C,
        queue: &Rules,
        delivery: &Delivery,
    ) -> Result<bool> {
        let entry = Entry { done: true, ..entry(delivery) };
        let lease_ms = C::EXTENDED_MS;
        let operation =
            Operation::Extend { queue: queue.name.into(), entry: entry.clone(), lease_ms };
        self.ask(operation, client.extend(queue, &entry)).await
    }

    pub(super) async fn bury<C: Client>(
        &mut self,
        client: &mut C,
        queue: &Rules,
        delivery: &Delivery,
    ) -> Result<bool> {
        let entry = Entry { done: true, ..entry(delivery) };
        let operation = Operation::Bury { queue: queue.name.into(), entry: entry.clone() };
        self.buried.push((*queue, entry.clone()));
        self.ask(operation, client.bury(queue, &entry)).await
    }

    pub(super) async fn kick<C: Client>(
        &mut self,
        client: &mut C,
        queue: &Rules,
        entry: Option<&Entry>,
    ) -> Result<bool> {
        let body = entry.map(|entry| entry.body.clone());
        let operation = Operation::Kick { queue: queue.name.into(), body };
        self.ask(operation, client.kick(queue, entry)).await
    }

    /// Does what is answered with yes or no.
    async fn ask(
        &mut self,
        operation: Operation,
        call: impl Future<Output = Result<(), Failure>>,
    ) -> Result<bool> {
        self.done(Kind::Invoke, operation.clone())?;
        let answer = tokio::time::timeout(ANSWER_WITHIN, call).await;
        self.outcome(answer, operation)
    }

    /// Writes down how an operation ended; answers whether the connection is whole.
    fn outcome(
        &mut self,
        answer: Result<Result<(), Failure>, tokio::time::error::Elapsed>,
        operation: Operation,
    ) -> Result<bool> {
        match answer {
            Ok(Ok(())) => self.done(Kind::Ok, operation).map(|()| true),
            Ok(Err(Failure::Refused(_) | Failure::Withdrawn)) => {
                self.done(Kind::Fail, operation).map(|()| true)
            }
            Ok(Err(Failure::Away(why))) => {
                self.done(Kind::Info, operation)?;
                if !self.outages {
                    self.log.flush()?;
                    bail!("the server has lost its store: {why}");
                }
                self.process = self.log.number();
                Ok(false)
            }
            Ok(Err(Failure::Broken(error))) => {
                self.done(Kind::Info, operation)?;
                if !error.root_cause().is::<std::io::Error>() {
                    self.log.flush()?;
                    return Err(error.context("an answer that is no answer"));
                }
                self.process = self.log.number();
                Ok(false)
            }
            Err(_) => {
                self.done(Kind::Info, operation.clone())?;
                self.log.flush()?;
                bail!("no answer within {ANSWER_WITHIN:?} to {operation:?}");
            }
        }
    }

    pub(super) fn done(&self, kind: Kind, operation: Operation) -> Result<()> {
        self.log.write(self.process, kind, operation)
    }
}

fn entry(delivery: &Delivery) -> Entry {
    Entry { body: delivery.body.clone(), receipt: delivery.receipt.clone(), done: false }
}
