//! RabbitMQ: a quorum queue, persistent messages with publisher confirms, consumers with a
//! prefetch.

mod server;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::{FutureExt, StreamExt};
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer};

use super::{Caller, Look, Target, Wait};
use crate::body::Body;
use crate::process::Usage;
use crate::workloads::Settings;
use server::Server;

pub use server::{PACKAGE, program, version};

/// The delivery mode of messages that outlive the server.
const PERSISTENT: u8 = 2;
/// The longest wait for a connection.
const PATIENCE: Duration = Duration::from_secs(20);
/// A consumer is sent messages one by one. When the next of a batch is not there after so long, it
/// is not on its way.
const BATCH_GAP: Duration = Duration::from_millis(5);

/// A running server with the two connections that its documentation recommends: one that publishes
/// is held back when the server is busy, and must not hold back acks.
pub struct RabbitMq {
    server: Server,
    publishing: Connection,
    consuming: Arc<Connection>,
}

impl Target for RabbitMq {
    type Caller = RabbitMqCaller;

    async fn start(_: &Settings, folder: &Path) -> Result<RabbitMq> {
        let server = Server::start(folder).await?;
        let publishing = connect(server.address()).await?;
        let consuming = Arc::new(connect(server.address()).await?);
        Ok(RabbitMq { server, publishing, consuming })
    }

    async fn caller(&self, queue: &str) -> Result<RabbitMqCaller> {
        let channel = self.publishing.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let name = ShortString::from(queue);
        declare(&channel, &name).await.context("making a queue")?;
        let consuming = Arc::clone(&self.consuming);
        Ok(RabbitMqCaller { channel, queue: name, consuming, source: None, held: None })
    }

    fn usage(&self) -> Result<Option<Usage>> {
        Usage::of(self.server.pid()).map(Some)
    }

    async fn stop(self) -> Result<Vec<Wait>> {
        for connection in [&self.publishing, &*self.consuming] {
            // A courtesy that fails while the channels of the last callers are being closed; the
            // server ends next.
            let _ = tokio::time::timeout(PATIENCE, connection.close(200, "done".into())).await;
        }
        self.server.stop()?;
        Ok(Vec::new())
    }
}

async fn connect(address: &str) -> Result<Connection> {
    let url = format!("amqp://guest:guest@{address}/%2f");
    let connection = Connection::connect(&url, ConnectionProperties::default());
    let connection = tokio::time::timeout(PATIENCE, connection).await;
    connection.context("RabbitMQ does not answer")?.context("connecting to RabbitMQ")
}

/// Makes a queue; answers how many messages are ready in it.
async fn declare(channel: &Channel, queue: &ShortString) -> Result<u32> {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    let options = QueueDeclareOptions::durable();
    Ok(channel.queue_declare(queue.clone(), options, arguments).await?.message_count())
}

/// A channel to publish on, and one with a consumer from the first receive on.
pub struct RabbitMqCaller {
    channel: Channel,
    queue: ShortString,
    consuming: Arc<Connection>,
    source: Option<Source>,
    /// The last message that is held; an ack is of all up to it.
    held: Option<u64>,
}

/// A consumer on a channel of its own.
struct Source {
    channel: Channel,
    consumer: Consumer,
    /// The server sends so many before it is given an ack.
    prefetch: u16,
}

impl Source {
    async fn open(connection: &Connection, queue: &ShortString, up_to: usize) -> Result<Source> {
        let prefetch = u16::try_from(up_to).unwrap_or(u16::MAX);
        let channel = connection.create_channel().await?;
        channel.basic_qos(prefetch, BasicQosOptions::default()).await?;
        let (queue, tag) = (queue.clone(), ShortString::default());
        let options = BasicConsumeOptions::default();
        let consumer = channel.basic_consume(queue, tag, options, FieldTable::default()).await?;
        Ok(Source { channel, consumer, prefetch })
    }

    /// The next message; nothing when none comes for so long.
    async fn next(&mut self, wait: Duration) -> Result<Option<Delivery>> {
        let next = match self.consumer.next().now_or_never() {
            Some(next) => next,
            None => match tokio::time::timeout(wait, self.consumer.next()).await {
                Ok(next) => next,
                Err(_) => return Ok(None),
            },
        };
        Ok(Some(next.context("the server has ended a consumer")??))
    }
}

impl Caller for RabbitMqCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        let mut confirms = Vec::with_capacity(bodies.len());
        for body in bodies {
            let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
            let (exchange, queue) = (ShortString::default(), self.queue.clone());
            let options = BasicPublishOptions::default();
            let publish = self.channel.basic_publish(exchange, queue, options, body, properties);
            confirms.push(publish.await?);
        }
        for confirm in confirms {
            match confirm.await? {
                Confirmation::Ack(None) => {}
                other => bail!("a message was answered {other:?}"),
            }
        }
        Ok(())
    }

    /// At most as many as the first receive asked for: the server sends no more without an ack.
    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let source = match &mut self.source {
            Some(source) => source,
            none => none.insert(Source::open(&self.consuming, &self.queue, up_to).await?),
        };
        let up_to = up_to.min(usize::from(source.prefetch));
        let (mut count, mut patience) = (0, wait);
        while count < up_to {
            let Some(delivery) = source.next(patience).await? else { break };
            look(&delivery.data)?;
            self.held = Some(delivery.delivery_tag);
            (count, patience) = (count + 1, BATCH_GAP);
        }
        Ok(count)
    }

    async fn ack(&mut self) -> Result<()> {
        let (Some(source), Some(last)) = (&self.source, self.held.take()) else { return Ok(()) };
        Ok(source.channel.basic_ack(last, BasicAckOptions { multiple: true }).await?)
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        declare(&self.channel, &self.queue).await.map(|count| Some(u64::from(count)))
    }
}
