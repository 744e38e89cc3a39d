//! A queue of two gigabytes is purged by the SQS protocol, after the system was told to forget its
//! file, so that it comes from the disk; the others use the other protocol of the same server.

use anyhow::{Context, Result};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::targets::Kind;
use crate::wire::sqs::{self, Connection};
use crate::workloads::forget;

/// See the file's head.
#[derive(Default)]
pub struct Purge {
    before: f64,
    left: f64,
}

const QUEUE: &str = "purged";
/// Connections that fill the queue.
const FILLERS: usize = 4;
const BODY_BYTES: usize = 1_000_000;

impl Day for Purge {
    const ABOUT: About = About {
        name: "purge",
        what: "a queue of 2,000 messages of 1 MB is purged",
        contenders: &[Kind::SlipringBeanstalkd],
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let messages = if stage.smoke { 20 } else { 2000 };
        let body = "x".repeat(BODY_BYTES);
        let fill = (0..FILLERS).map(async |_| {
            let (mut connection, url) = opened(stage).await?;
            let request = json!({"QueueUrl": url, "MessageBody": body}).to_string();
            for _ in 0..messages / FILLERS {
                connection.call("SendMessage", request.as_bytes()).await?.body()?;
            }
            Ok::<_, anyhow::Error>(())
        });
        try_join_all(fill).await?;
        self.before = held(stage).await?;
        forget(stage.folder())
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let (mut connection, url) = opened(stage).await?;
        let request = json!({"QueueUrl": url}).to_string();
        connection.call("PurgeQueue", request.as_bytes()).await?.body()?;
        self.left = held(stage).await?;
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        Ok(vec![
            Condition::at_least("held before".to_owned(), "messages", self.before, 1.0),
            Condition::at_most("held after the purge", "messages", self.left, 0.0),
        ])
    }
}

async fn opened(stage: &Stage<'_>) -> Result<(Connection, String)> {
    let mut connection = Connection::open(&stage.addresses().sqs).await?;
    let url = connection.create_queue(QUEUE, &[]).await?;
    Ok((connection, url))
}

/// How many messages the queue holds.
async fn held(stage: &Stage<'_>) -> Result<f64> {
    let (mut connection, url) = opened(stage).await?;
    let name = "ApproximateNumberOfMessages";
    let request = json!({"QueueUrl": url, "AttributeNames": [name]}).to_string();
    let answer = connection.call("GetQueueAttributes", request.as_bytes()).await?.body()?;
    let answer: Value = sqs::parse(answer)?;
    let count = answer.pointer("/Attributes/ApproximateNumberOfMessages").and_then(Value::as_str);
    count.and_then(|count| count.parse().ok()).context("no count of messages")
}
