//! NATS JetStream: a work-queue stream with one pull consumer, in a server that flushes before each
//! answer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{self, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context as JetStream};
use async_nats::{Client, HeaderMap, Subject, Subscriber};
use bytes::Bytes;
use futures::{Stream, StreamExt};
use serde::Deserialize;

use super::server::free_address;
use super::{Caller, Look, Target, Wait};
use crate::body::Body;
use crate::guarded::Guarded;
use crate::process::Usage;
use crate::workloads::Settings;
use crate::{folder, machine};

/// What is built; its version is in the lock file of `peers/nats`.
pub const MODULE: &str = "github.com/nats-io/nats-server/v2";

/// Longer than any run: a message that is held does not come again.
const ACK_WAIT: Duration = Duration::from_secs(300);
/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most messages of an atomic publish.
const BATCH_MAX: usize = 1000;
const CONSUMER: &str = "lab";

/// Where the server is once it is built.
///
/// # Errors
/// When the lab's folder cannot be made.
pub fn program() -> Result<PathBuf> {
    Ok(folder::data()?.join("peers/nats/nats-server"))
}

/// What the server is.
///
/// # Errors
/// When the lab's folder cannot be made.
pub fn version() -> Result<String> {
    let said = machine::version_of(&program()?.display().to_string(), "--version");
    Ok(said.replace("nats-server: v", "NATS server "))
}

/// A running server.
pub struct Nats {
    server: Guarded,
    client: Client,
    /// Atomic publishes so far, for their names.
    batches: Arc<AtomicU64>,
}

impl Target for Nats {
    type Caller = NatsCaller;

    async fn start(_: &Settings, folder: &Path) -> Result<Nats> {
        let program = program()?;
        if !program.exists() {
            bail!("the NATS server is not built; `slipring-lab run peers` does so");
        }
        let (address, config) = (free_address()?, folder.join("nats.conf"));
        let store = serde_json::to_string(folder)?;
        let text = format!(
            "listen: \"{address}\"\njetstream {{ store_dir: {store}, sync_interval: always }}\n"
        );
        std::fs::write(&config, text).context("writing the settings of NATS")?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&config);
        let mut server = Guarded::start("NATS", command, &folder.join("nats.log"), None)?;
        server.until_listening(&address).await?;
        let client = async_nats::connect(address).await.context("connecting to NATS")?;
        Ok(Nats { server, client, batches: Arc::default() })
    }

    /// All callers share a connection, as the client is meant to be used.
    async fn caller(&self, queue: &str) -> Result<NatsCaller> {
        let mut jetstream = jetstream::new(self.client.clone());
        jetstream.set_timeout(PATIENCE);
        let stream = jetstream.get_or_create_stream(stream::Config {
            name: queue.to_owned(),
            subjects: vec![queue.to_owned()],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            num_replicas: 1,
            allow_atomic_publish: true,
            ..stream::Config::default()
        });
        let stream = stream.await.context("making a stream")?;
        let consumer = pull::Config {
            durable_name: Some(CONSUMER.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            max_ack_pending: -1,
            ..pull::Config::default()
        };
        let consumer = stream.get_or_create_consumer(CONSUMER, consumer).await;
        let consumer = consumer.context("making a consumer")?;
        let inbox = Subject::from(self.client.new_inbox());
        let answers = self.client.subscribe(inbox.clone()).await?;
        Ok(NatsCaller {
            client: self.client.clone(),
            jetstream,
            stream,
            consumer,
            subject: Subject::from(queue),
            batches: Arc::clone(&self.batches),
            inbox,
            answers,
            held: Vec::new(),
        })
    }

    fn usage(&self) -> Result<Option<Usage>> {
        Usage::of(self.server.pid()).map(Some)
    }

    async fn stop(self) -> Result<Vec<Wait>> {
        self.server.stop()?;
        Ok(Vec::new())
    }
}

/// A caller of one stream.
pub struct NatsCaller {
    client: Client,
    jetstream: JetStream,
    stream: stream::Stream,
    consumer: PullConsumer,
    subject: Subject,
    batches: Arc<AtomicU64>,
    /// Where answers to acks go.
    inbox: Subject,
    answers: Subscriber,
    /// Where acks go.
    held: Vec<Subject>,
}

/// The answer to the end of an atomic publish.
#[derive(Deserialize)]
struct Published {
    error: Option<serde_json::Value>,
    count: Option<usize>,
}

impl NatsCaller {
    /// All or none of them; flushed once.
    async fn publish(&self, bodies: &[Body]) -> Result<()> {
        let Some((last, others)) = bodies.split_last() else { return Ok(()) };
        let number = self.batches.fetch_add(1, Ordering::Relaxed).to_string();
        let headers = |place: usize| {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Batch-Id", number.as_str());
            headers.insert("Nats-Batch-Sequence", place.to_string());
            headers
        };
        for (place, body) in (1..).zip(others) {
            let (subject, body) = (self.subject.clone(), Bytes::copy_from_slice(body));
            self.client.publish_with_headers(subject, headers(place), body).await?;
        }
        let mut ends = headers(bodies.len());
        ends.insert("Nats-Batch-Commit", "1");
        let (subject, body) = (self.subject.clone(), Bytes::copy_from_slice(last));
        let answer = self.client.request_with_headers(subject, ends, body).await?;
        let answer: Published =
            serde_json::from_slice(&answer.payload).context("the answer to an atomic publish")?;
        if let Some(error) = answer.error {
            bail!("an atomic publish was refused: {error}");
        }
        if answer.count != Some(bodies.len()) {
            bail!("{:?} of {} messages were taken", answer.count, bodies.len());
        }
        Ok(())
    }

    /// Takes what a pull brings until its end.
    async fn take(
        &mut self,
        mut pulled: impl Stream<Item = Result<jetstream::Message, async_nats::Error>> + Unpin,
        look: Look<'_>,
    ) -> Result<usize> {
        let before = self.held.len();
        while let Some(message) = pulled.next().await {
            let message = message.map_err(Error::from_boxed)?;
            look(&message.payload)?;
            self.held.push(message.message.reply.context("a message without a place for acks")?);
        }
        Ok(self.held.len() - before)
    }
}

impl Caller for NatsCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        if let [body] = bodies {
            let body = Bytes::copy_from_slice(body);
            self.jetstream.publish(self.subject.clone(), body).await?.await?;
            return Ok(());
        }
        for bodies in bodies.chunks(BATCH_MAX) {
            self.publish(bodies).await?;
        }
        Ok(())
    }

    /// A pull that may wait ends when it has all it asked for, so it asks for one; what else is
    /// there is had by one that does not wait.
    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        if up_to > 1 || wait.is_zero() {
            let pulled = self.consumer.fetch().max_messages(up_to).messages().await?;
            let count = self.take(pulled, look).await?;
            if count > 0 || wait.is_zero() {
                return Ok(count);
            }
        }
        let pulled = self.consumer.batch().max_messages(1).expires(wait).messages().await?;
        let count = self.take(pulled, look).await?;
        if count == 0 || count == up_to {
            return Ok(count);
        }
        let pulled = self.consumer.fetch().max_messages(up_to - count).messages().await?;
        Ok(count + self.take(pulled, look).await?)
    }

    async fn ack(&mut self) -> Result<()> {
        let count = self.held.len();
        for reply in self.held.drain(..) {
            let ack = Bytes::from_static(b"+ACK");
            self.client.publish_with_reply(reply, self.inbox.clone(), ack).await?;
        }
        for _ in 0..count {
            let answer = tokio::time::timeout(PATIENCE, self.answers.next()).await;
            let answer = answer.context("an ack is not answered")?;
            let answer = answer.context("the connection to NATS has ended")?;
            if answer.status.is_some() || !answer.payload.is_empty() {
                bail!("an ack was answered {answer:?}");
            }
        }
        Ok(())
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        Ok(Some(self.stream.get_info().await?.state.messages))
    }
}
