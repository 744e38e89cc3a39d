//! The crash test's operations by the SQS protocol.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Client, Failure, Places};
use crate::crash::history::{Delivery, Entry, Sending};
use crate::crash::payload;
use crate::crash::queues::{self, LEASE_MAX_MS, LEASE_MS, Rules};
use crate::wire::sqs::{BatchAnswer, Connection, Received, ReceivedMessage, md5};

/// The attribute with the name of a body that has no room for it.
const NAME: &str = "name";

/// A connection, and the URLs of all queues.
pub struct SqsClient {
    connection: Connection,
    urls: BTreeMap<&'static str, String>,
}

impl SqsClient {
    /// The body of an answer with status 200. Other answers of the 400s say that nothing was
    /// done; those of the 500s leave it open.
    async fn call(&mut self, action: &str, request: Value) -> Result<&[u8], Failure> {
        let answer = self.connection.call(action, request.to_string().as_bytes()).await?;
        let text = || format!("{}: {}", answer.status, String::from_utf8_lossy(answer.body));
        match answer.status {
            200 => Ok(answer.body),
            400..500 => Err(Failure::Refused(text())),
            503 => Err(Failure::Away(text())),
            _ => Err(Failure::Broken(anyhow::anyhow!(text()))),
        }
    }

    async fn change_visibility(
        &mut self,
        queue: &Rules,
        entry: &Entry,
        timeout_ms: u64,
    ) -> Result<(), Failure> {
        let request = json!({
            "QueueUrl": self.url(queue)?,
            "ReceiptHandle": entry.receipt,
            "VisibilityTimeout": timeout_ms / 1000,
        });
        self.call("ChangeMessageVisibility", request).await.map(|_| ())
    }

    fn url(&self, queue: &Rules) -> Result<String, Failure> {
        let url = self.urls.get(queue.name).cloned();
        Ok(url.with_context(|| format!("no queue {}", queue.name))?)
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, Failure> {
    let text = || format!("an unexpected answer: {}", String::from_utf8_lossy(body));
    Ok(serde_json::from_slice(body).with_context(text)?)
}

fn delivery(queue: &Rules, message: &ReceivedMessage<'_>) -> Result<Delivery> {
    let beside = message.message_attributes.get(NAME).map(|name| &*name.string_value);
    Ok(Delivery {
        body: payload::read(message.body.as_bytes(), beside)?,
        receipt: message.receipt_handle.clone().into_owned(),
        count: count_in(queue, message.attributes.get("ApproximateReceiveCount")),
        lease_ms: LEASE_MS,
        session: false,
        answered_ns: None,
    })
}

/// Nobody knows of an entry for which the server's store was away whether it took effect.
fn away(answer: &BatchAnswer<'_>) -> Result<(), Failure> {
    match answer.failed.iter().find(|failed| failed.code == "ServiceUnavailable") {
        Some(failed) => Err(Failure::Away(format!("entry {}: {}", failed.id, failed.code))),
        None => Ok(()),
    }
}

/// Marks the entries of a batch that were done; their ids are their places.
fn places(answer: &BatchAnswer<'_>) -> impl Iterator<Item = usize> {
    answer.successful.iter().filter_map(|done| done.id.parse().ok())
}

impl Client for SqsClient {
    const STRICT: bool = false;
    const SESSION: bool = false;
    const EXTENDED_MS: u64 = LEASE_MAX_MS;

    async fn open(places: &Places) -> Result<SqsClient> {
        let connection = Connection::open(&places.sqs).await?;
        let mut client = SqsClient { connection, urls: BTreeMap::new() };
        for queue in queues::ALL {
            let request = json!({"QueueName": queue.name}).to_string();
            let answer = client.connection.call("GetQueueUrl", request.as_bytes()).await?;
            let answer: Value = serde_json::from_slice(answer.body()?)?;
            let url = answer.get("QueueUrl").and_then(Value::as_str).context("no QueueUrl")?;
            client.urls.insert(queue.name, url.to_owned());
        }
        Ok(client)
    }

    fn queues() -> Vec<&'static Rules> {
        queues::ALL.iter().collect()
    }

    async fn send(&mut self, queue: &Rules, messages: &mut [Sending]) -> Result<(), Failure> {
        let entries: Vec<Value> = messages
            .iter()
            .enumerate()
            .map(|(place, message)| {
                let body = payload::written(&message.body);
                let mut entry = json!({"Id": place.to_string(), "MessageBody": body});
                if payload::is_tiny(&message.body) {
                    let name = json!({"DataType": "String", "StringValue": message.body});
                    entry["MessageAttributes"] = json!({NAME: name});
                }
                if let Some(group) = &message.group {
                    entry["MessageGroupId"] = json!(group);
                }
                if let Some(dedup) = &message.dedup {
                    entry["MessageDeduplicationId"] = json!(dedup);
                }
                if message.delay_ms > 0 {
                    entry["DelaySeconds"] = json!(message.delay_ms / 1000);
                }
                entry
            })
            .collect();
        let request = json!({"QueueUrl": self.url(queue)?, "Entries": entries});
        let answer: BatchAnswer<'_> = parse(self.call("SendMessageBatch", request).await?)?;
        away(&answer)?;
        if let Some(failed) = answer.failed.first() {
            return Err(Failure::Refused(format!("entry {}: {}", failed.id, failed.code)));
        }
        for done in &answer.successful {
            let place = done.id.parse().unwrap_or(usize::MAX);
            let Some(message) = messages.get_mut(place) else { continue };
            let body = payload::written(&message.body);
            if done.md5_of_message_body.as_deref() != Some(&*md5(body.as_bytes())) {
                return Err(Failure::Refused(format!("a wrong digest for {}", message.body)));
            }
            message.id = done.message_id.as_deref().map(str::to_owned);
        }
        Ok(())
    }

    async fn receive(
        &mut self,
        queue: &Rules,
        wait_seconds: u32,
    ) -> Result<Vec<Delivery>, Failure> {
        let request = json!({
            "QueueUrl": self.url(queue)?,
            "MaxNumberOfMessages": 10,
            "WaitTimeSeconds": wait_seconds,
            "MessageSystemAttributeNames": ["ApproximateReceiveCount"],
            "MessageAttributeNames": [NAME],
        });
        let answer: Received<'_> = parse(self.call("ReceiveMessage", request).await?)?;
        Ok(answer.messages.iter().map(|m| delivery(queue, m)).collect::<anyhow::Result<_>>()?)
    }

    async fn ack(&mut self, queue: &Rules, entries: &mut [Entry]) -> Result<(), Failure> {
        let list: Vec<Value> = entries
            .iter()
            .enumerate()
            .map(|(place, entry)| json!({"Id": place.to_string(), "ReceiptHandle": entry.receipt}))
            .collect();
        let request = json!({"QueueUrl": self.url(queue)?, "Entries": list});
        let answer: BatchAnswer<'_> = parse(self.call("DeleteMessageBatch", request).await?)?;
        away(&answer)?;
        for place in places(&answer) {
            if let Some(entry) = entries.get_mut(place) {
                entry.done = true;
            }
        }
        Ok(())
    }

    async fn nack(&mut self, queue: &Rules, entry: &Entry, delay_ms: u64) -> Result<(), Failure> {
        self.change_visibility(queue, entry, delay_ms).await
    }

    async fn extend(&mut self, queue: &Rules, entry: &Entry) -> Result<(), Failure> {
        self.change_visibility(queue, entry, Self::EXTENDED_MS).await
    }
}

/// The receive count in this queue: in a dead-letter queue it goes on from those before.
fn count_in(queue: &Rules, shown: Option<impl AsRef<str>>) -> Option<u32> {
    let shown: u32 = shown?.as_ref().parse().ok()?;
    Some(shown.saturating_sub(queues::receives_before(queue.name)))
}
