//! A server that speaks the SQS protocol, ours or another: JSON, batches of up to ten.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::server::Server;
use super::{Caller, Kind, Look, Target, Wait, elasticmq, moto};
use crate::body::Body;
use crate::process::Usage;
use crate::waits::classes::Source;
use crate::wire::sqs::{BatchAnswer, Connection, Received, md5};
use crate::workloads::Settings;

/// Most entries of an SQS batch.
const BATCH_MAX: usize = 10;
/// Longest wait of an SQS receive.
const WAIT_SECONDS_MAX: u64 = 20;
/// One batch in so many has its digests recomputed; all are checked for count and content.
const DIGESTS_EVERY: u64 = 16;

/// A running server: one that was started for the run, or one at an address.
pub struct SqsServer {
    own: Option<Server>,
    address: String,
    /// Whether it is one of many services behind the address.
    one_of_many: bool,
}

impl SqsServer {
    /// The server that listens on `address` (host:port) and asks for no signature; it goes on
    /// after the run.
    pub fn at(address: &str) -> SqsServer {
        SqsServer { own: None, address: address.to_owned(), one_of_many: false }
    }
}

impl Target for SqsServer {
    type Caller = SqsCaller;

    async fn start(settings: &Settings, folder: &Path) -> Result<SqsServer> {
        let server = match settings.target {
            Kind::SlipringSqs => Server::slipring(&folder.join("slipring.db"), None)?,
            Kind::SlipringSqsMemory => {
                Server::serving("memory:", &folder.join("slipring.log"), None)?
            }
            Kind::Moto => moto::start(folder).await?,
            Kind::Elasticmq => elasticmq::start(folder, false).await?,
            Kind::ElasticmqFile => elasticmq::start(folder, true).await?,
            kind => bail!("{kind:?} does not speak the SQS protocol"),
        };
        let address = server.addresses().sqs.clone();
        let one_of_many = settings.target == Kind::Moto;
        Ok(SqsServer { own: Some(server), address, one_of_many })
    }

    async fn caller(&self, queue: &str) -> Result<SqsCaller> {
        let mut connection = Connection::open(&self.address).await?;
        if self.one_of_many {
            connection.name_service();
        }
        let url = connection.create_queue(queue, &[("VisibilityTimeout", "300")]).await?;
        let url = serde_json::to_string(&url)?;
        Ok(SqsCaller { connection, url, json: Vec::new(), held: Vec::new(), batches: 0 })
    }

    fn usage(&self) -> Result<Option<Usage>> {
        self.own.as_ref().map(|server| Usage::of(server.pid())).transpose()
    }

    fn waits(&self) -> Result<Source> {
        self.own.as_ref().map_or(Ok(Source::Nothing), Server::wait_source)
    }

    async fn stop(self) -> Result<Vec<Wait>> {
        let Some(server) = self.own else { return Ok(Vec::new()) };
        let waits = server.waits()?;
        server.stop()?;
        Ok(waits)
    }
}

/// A connection with the URL of one queue.
pub struct SqsCaller {
    connection: Connection,
    /// As JSON writes it.
    url: String,
    json: Vec<u8>,
    held: Vec<String>,
    batches: u64,
}

impl SqsCaller {
    async fn send_ten(&mut self, bodies: &[Body]) -> Result<()> {
        self.json.clear();
        write!(self.json, r#"{{"QueueUrl":{},"Entries":["#, self.url)?;
        for (index, body) in bodies.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(self.json, r#"{comma}{{"Id":"{index}","MessageBody":""#)?;
            self.json.extend_from_slice(body);
            self.json.extend_from_slice(b"\"}");
        }
        self.json.extend_from_slice(b"]}");
        let answer = self.connection.call("SendMessageBatch", &self.json).await?.body()?;
        let answer: BatchAnswer<'_> = serde_json::from_slice(answer)?;
        if answer.successful.len() != bodies.len() || !answer.failed.is_empty() {
            bail!("of {} sends {answer:?}", bodies.len());
        }
        self.batches += 1;
        for done in &answer.successful {
            let body = done.id.parse().ok().and_then(|at: usize| bodies.get(at));
            let body = body.with_context(|| format!("no entry is called {}", done.id))?;
            let wrong = done.md5_of_message_body.as_deref().is_none_or(str::is_empty);
            let check = self.batches.is_multiple_of(DIGESTS_EVERY);
            if wrong || check && done.md5_of_message_body.as_deref() != Some(&*md5(body)) {
                bail!("a wrong digest for entry {}", done.id);
            }
        }
        Ok(())
    }

    async fn receive_ten(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        self.json.clear();
        write!(
            self.json,
            r#"{{"QueueUrl":{},"MaxNumberOfMessages":{up_to},"WaitTimeSeconds":{}}}"#,
            self.url,
            wait.as_secs().min(WAIT_SECONDS_MAX)
        )?;
        let answer = self.connection.call("ReceiveMessage", &self.json).await?.body()?;
        let answer: Received<'_> = serde_json::from_slice(answer)?;
        self.batches += 1;
        for message in &answer.messages {
            let check = self.batches.is_multiple_of(DIGESTS_EVERY);
            if check && message.md5_of_body != md5(message.body.as_bytes()) {
                bail!("a wrong digest for message {}", message.message_id);
            }
            look(message.body.as_bytes())?;
            self.held.push(message.receipt_handle.clone().into_owned());
        }
        Ok(answer.messages.len())
    }

    async fn delete_ten(&mut self) -> Result<()> {
        let count = self.held.len().min(BATCH_MAX);
        let ten: Vec<_> = self.held.drain(..count).collect();
        self.settle_ten("DeleteMessageBatch", &ten, "").await
    }

    /// Sends a batch of receipts, each with `more` after it.
    async fn settle_ten(&mut self, action: &str, handles: &[String], more: &str) -> Result<()> {
        self.json.clear();
        write!(self.json, r#"{{"QueueUrl":{},"Entries":["#, self.url)?;
        for (index, handle) in handles.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(self.json, r#"{comma}{{"Id":"{index}","ReceiptHandle":"#)?;
            serde_json::to_writer(&mut self.json, handle)?;
            write!(self.json, "{more}}}")?;
        }
        self.json.extend_from_slice(b"]}");
        let answer = self.connection.call(action, &self.json).await?.body()?;
        let answer: BatchAnswer<'_> = serde_json::from_slice(answer)?;
        if answer.successful.len() != handles.len() || !answer.failed.is_empty() {
            bail!("of {} entries of {action} {answer:?}", handles.len());
        }
        Ok(())
    }
}

impl Caller for SqsCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        for ten in bodies.chunks(BATCH_MAX) {
            self.send_ten(ten).await?;
        }
        Ok(())
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let mut total = 0;
        while total < up_to {
            let asked = (up_to - total).min(BATCH_MAX);
            let count = self.receive_ten(asked, wait, look).await?;
            total += count;
            if count < asked {
                break;
            }
        }
        Ok(total)
    }

    async fn ack(&mut self) -> Result<()> {
        while !self.held.is_empty() {
            self.delete_ten().await?;
        }
        Ok(())
    }

    async fn ack_but(&mut self, failed: &[usize]) -> Result<()> {
        let mut back = Vec::with_capacity(failed.len());
        let mut good = Vec::with_capacity(self.held.len());
        for (at, handle) in self.held.drain(..).enumerate() {
            if failed.contains(&at) { &mut back } else { &mut good }.push(handle);
        }
        self.held = good;
        for ten in back.chunks(BATCH_MAX) {
            let at_once = r#","VisibilityTimeout":0"#;
            self.settle_ten("ChangeMessageVisibilityBatch", ten, at_once).await?;
        }
        self.ack().await
    }
}
