//! Purges and deletions of a large queue that are killed on their way (S4.2): what an answered one
//! took must never be handed out again.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::dice::Dice;
use super::payload;
use crate::wire::sqs::{BatchAnswer, Connection, Received};

const QUEUE: &str = "cleared";
/// The number of its sender as a session.
const SESSION: u64 = 2;
const BATCHES: u64 = 40;
const BATCH: u64 = 10;
const BODY_BYTES: usize = 16 << 10;
/// A kill comes so long after the request at the latest.
const KILL_WITHIN_MICROSECONDS: u64 = 60_000;

/// What is known of the queue.
#[derive(Debug, Default)]
pub struct Clearing {
    sent: u64,
    /// Messages up to this number are gone for good.
    gone: u64,
}

impl Clearing {
    /// Fills the queue and has it purged or deleted; returns at some moment on the way.
    ///
    /// # Errors
    /// When the server answers what it must not.
    pub async fn begin(&mut self, address: &str, seed: u64, dice: &Dice) -> Result<()> {
        let mut connection = Connection::open(address).await?;
        let url = connection.create_queue(QUEUE, &[]).await?;
        for _ in 0..BATCHES {
            let entry = |place: u64| {
                let name = payload::name(seed, SESSION, self.sent + 1 + place, BODY_BYTES);
                json!({"Id": place.to_string(), "MessageBody": payload::written(&name)})
            };
            let entries: Vec<Value> = (0..BATCH).map(entry).collect();
            let request = json!({"QueueUrl": url, "Entries": entries}).to_string();
            connection.call("SendMessageBatch", request.as_bytes()).await?.body()?;
            self.sent += BATCH;
        }
        let action = if dice.chance(0.5) { "PurgeQueue" } else { "DeleteQueue" };
        let request = json!({"QueueUrl": url}).to_string();
        let wait = Duration::from_micros(dice.below(KILL_WITHIN_MICROSECONDS));
        let deadline = tokio::time::Instant::now() + wait;
        let call = connection.call(action, request.as_bytes());
        if let Ok(answer) = tokio::time::timeout_at(deadline, call).await {
            answer?.body()?;
            self.gone = self.sent;
            tokio::time::sleep_until(deadline).await;
        }
        Ok(())
    }

    /// Receives what is left after the server has come back.
    ///
    /// # Errors
    /// When something comes that was gone for good, or a body is not what was sent.
    pub async fn check(&self, address: &str) -> Result<()> {
        let mut connection = Connection::open(address).await?;
        let url = connection.create_queue(QUEUE, &[]).await?;
        let receive = json!({"QueueUrl": url, "MaxNumberOfMessages": 10}).to_string();
        loop {
            let answer = connection.call("ReceiveMessage", receive.as_bytes()).await?.body()?;
            let received: Received<'_> = serde_json::from_slice(answer)?;
            if received.messages.is_empty() {
                return Ok(());
            }
            let mut entries = Vec::new();
            for (place, message) in received.messages.iter().enumerate() {
                let name = payload::read(message.body.as_bytes(), None)?;
                let number = name.split('-').nth(2).and_then(|number| number.parse::<u64>().ok());
                if number.context("not a message of this queue")? <= self.gone {
                    bail!("gone is gone (S4.2): {name} came after the queue had been cleared");
                }
                let receipt = message.receipt_handle.clone().into_owned();
                entries.push(json!({"Id": place.to_string(), "ReceiptHandle": receipt}));
            }
            let request = json!({"QueueUrl": url, "Entries": entries}).to_string();
            let answer = connection.call("DeleteMessageBatch", request.as_bytes()).await?.body()?;
            let deleted: BatchAnswer<'_> = serde_json::from_slice(answer)?;
            if !deleted.failed.is_empty() {
                bail!("messages of {QUEUE} could not be deleted");
            }
        }
    }
}
