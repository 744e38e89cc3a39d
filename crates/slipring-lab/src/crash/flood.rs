//! Sends without a pause into a queue that nobody receives from, so that the file grows with each
//! copy of the log: only then does a copy that is killed leave a header that names missing pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use super::payload;
use crate::wire::sqs::{self, BatchAnswer, Connection};

const QUEUE: &str = "flood";
/// The number of its sender as a session.
const SESSION: u64 = 3;
const BATCH: u64 = 8;
const BODY_BYTES: usize = 100_000;

/// What was sent over all floods.
#[derive(Debug, Default)]
pub struct Flood {
    begun: Arc<AtomicU64>,
    answered: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Flood {
    /// Begins to send; the end of the server ends it.
    pub fn begin(&mut self, address: &str, seed: u64) {
        let (begun, answered) = (Arc::clone(&self.begun), Arc::clone(&self.answered));
        let address = address.to_owned();
        let send = async move |address: String| -> Result<()> {
            let mut connection = Connection::open(&address).await?;
            let url = connection.create_queue(QUEUE, &[]).await?;
            loop {
                let first = begun.fetch_add(BATCH, Ordering::Relaxed);
                let entry = |place: u64| {
                    let name = payload::name(seed, SESSION, first + place, BODY_BYTES);
                    json!({"Id": place.to_string(), "MessageBody": payload::written(&name)})
                };
                let entries: Vec<Value> = (0..BATCH).map(entry).collect();
                let request = json!({"QueueUrl": url, "Entries": entries}).to_string();
                let answer = connection.call("SendMessageBatch", request.as_bytes()).await?;
                let answer: BatchAnswer<'_> = serde_json::from_slice(answer.body()?)?;
                answered.fetch_add(answer.successful.len() as u64, Ordering::Relaxed);
            }
        };
        self.thread = Some(std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(send(address))
        }));
    }

    /// Waits until a flood has noticed that its server is gone.
    ///
    /// # Errors
    /// When it ended for another reason.
    pub fn end(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        match thread.join().map_err(|_| anyhow!("the flood panicked"))? {
            Err(error) if !error.root_cause().is::<std::io::Error>() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether all that was answered is there, and no more than was sent.
    ///
    /// # Errors
    /// When it is not.
    pub async fn check(&self, address: &str) -> Result<()> {
        let [begun, answered] = [&self.begun, &self.answered].map(|n| n.load(Ordering::Relaxed));
        let mut connection = Connection::open(address).await?;
        let url = connection.create_queue(QUEUE, &[]).await?;
        let name = "ApproximateNumberOfMessages";
        let request = json!({"QueueUrl": url, "AttributeNames": [name]}).to_string();
        let answer = connection.call("GetQueueAttributes", request.as_bytes()).await?.body()?;
        let answer: Value = sqs::parse(answer)?;
        let there = answer.pointer("/Attributes/ApproximateNumberOfMessages");
        let there = there.and_then(Value::as_str).and_then(|count| count.parse::<u64>().ok());
        let there = there.context("no count of messages")?;
        if !(answered..=begun).contains(&there) {
            bail!("{there} messages in {QUEUE}: {begun} were sent, and {answered} answered (S1.1)");
        }
        Ok(())
    }
}
