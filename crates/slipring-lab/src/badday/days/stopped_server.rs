//! A second server on the same store is stopped (SIGSTOP) while it reads the answer of a large
//! receive: PostgreSQL cannot write the rest, and the receive keeps its queue's lock. That ends
//! after five seconds (`docs/decisions/0049-unread-answers.md`).

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::open::{PATIENCE, UNFELT_MS};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::targets::Kind;
use crate::targets::server::Server;
use crate::wire::sqs::{self, Connection};

/// See the file's head.
#[derive(Default)]
pub struct StoppedServer {
    stopped: Option<Server>,
    reader: Option<JoinHandle<Result<()>>>,
    /// From the stop to the first message of that queue by the other server.
    kept_s: f64,
    /// The longest send to that queue by the other server meanwhile.
    send_ms: f64,
    /// From SIGCONT to the first message that the stopped server receives.
    back_s: f64,
}

const QUEUE: &str = "stopped";
/// A receive of ten is more than the buffers of a connection hold.
const BODY_BYTES: usize = 1_000_000;
const MESSAGES: usize = 20;
/// PostgreSQL ends the connection of a stopped reader five seconds after the last byte.
const KEPT_S_MAX: f64 = 7.0;
/// A server that was cut off connects anew, and its receives may wait for a second.
const BACK_S_MAX: f64 = 5.0;
/// Between two looks: long enough to fill the buffers.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A client of one server at the queue.
struct Client {
    connection: Connection,
    url: String,
}

impl Client {
    async fn of(server: &str) -> Result<Client> {
        let mut connection = Connection::open(server).await?;
        let url = connection.create_queue(QUEUE, &[]).await?;
        Ok(Client { connection, url })
    }

    async fn send(&mut self, body: &str) -> Result<()> {
        let request = json!({"QueueUrl": self.url, "MessageBody": body}).to_string();
        self.connection.call("SendMessage", request.as_bytes()).await?.body()?;
        Ok(())
    }

    /// Receives up to ten, which are ready again at once; answers how many came.
    async fn receive(&mut self) -> Result<usize> {
        let request = json!({
            "QueueUrl": self.url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 0,
        });
        let request = request.to_string();
        let answer = self.connection.call("ReceiveMessage", request.as_bytes()).await?.body()?;
        let answer: Value = sqs::parse(answer)?;
        Ok(answer.get("Messages").and_then(Value::as_array).map_or(0, Vec::len))
    }

    /// Returns when a message came, whatever was answered before.
    async fn receives(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let received = self.receive().await;
            match received {
                Ok(0) | Err(_) if Instant::now() < deadline => {}
                received => return received.map(drop),
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Stops the server at a moment at which a session cannot write to it.
async fn stop(server: &Server, stage: &Stage<'_>) -> Result<()> {
    let (looker, deadline) = (stage.session().await?, Instant::now() + PATIENCE);
    let look = include_str!("../../../queries/stopped_writing.sql");
    while Instant::now() < deadline {
        server.pause()?;
        tokio::time::sleep(LOOK_EVERY).await;
        let writing: i64 = looker.query_one(look, &[]).await?.try_get(0)?;
        if writing > 0 {
            return Ok(());
        }
        server.go_on()?;
        tokio::time::sleep(LOOK_EVERY / 10).await;
    }
    bail!("no session was found that writes to a server that is stopped, within {PATIENCE:?}")
}

impl Day for StoppedServer {
    const ABOUT: About = About {
        name: "stopped-server",
        what: "another server of the store is stopped (SIGSTOP) while it reads a large answer",
        contenders: &[Kind::PostgresServer],
        stall_ms_max: UNFELT_MS,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let mut client = Client::of(&stage.addresses().sqs).await?;
        let body = "x".repeat(BODY_BYTES);
        for _ in 0..MESSAGES {
            client.send(&body).await?;
        }
        let log = stage.folder().join("stopped.log");
        self.stopped = Some(Server::serving(stage.url()?, &log, None)?);
        Ok(())
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let server = self.stopped.as_ref().context("no second server was started")?;
        let mut reader = Client::of(&server.addresses().sqs).await?;
        self.reader = Some(tokio::spawn(async move {
            loop {
                reader.receive().await?;
            }
        }));
        stop(server, stage).await?;
        let (mut sender, mut receiver) =
            (Client::of(&stage.addresses().sqs).await?, Client::of(&stage.addresses().sqs).await?);
        let stopped = Instant::now();
        let mut received = std::pin::pin!(receiver.receives());
        loop {
            let begun = Instant::now();
            sender.send("meanwhile").await?;
            self.send_ms = self.send_ms.max(begun.elapsed().as_secs_f64() * 1e3);
            if let Ok(received) = tokio::time::timeout(LOOK_EVERY, &mut received).await {
                received?;
                break;
            }
        }
        self.kept_s = stopped.elapsed().as_secs_f64();
        Ok(())
    }

    async fn relent(&mut self, _: &mut Stage<'_>) -> Result<()> {
        let server = self.stopped.take().context("no second server was started")?;
        server.go_on()?;
        if let Some(reader) = self.reader.take() {
            reader.abort();
        }
        let begun = Instant::now();
        Client::of(&server.addresses().sqs).await?.receives().await?;
        self.back_s = begun.elapsed().as_secs_f64();
        tokio::task::spawn_blocking(|| server.stop()).await?
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let kept = "until its queue's messages came by the other server";
        Ok(vec![
            Condition::at_most(kept, "s", self.kept_s, KEPT_S_MAX),
            Condition::at_most("longest send to its queue", "ms", self.send_ms, UNFELT_MS),
            Condition::at_most("until it received again", "s", self.back_s, BACK_S_MAX),
        ])
    }
}
