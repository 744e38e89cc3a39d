//! The good clients: at each listener one that stays, and one that comes anew for each send. They
//! send on a schedule that does not wait for answers, and a latency counts from the due time; one
//! that is refused, or whose connection is cut, is tried again and counts until it is answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::attack::Listener;
use crate::stats::Latencies;

/// The queue they send to.
pub const QUEUE: &str = "good";
const STAYING_EVERY: Duration = Duration::from_millis(20);
const ANEW_EVERY: Duration = Duration::from_millis(50);
/// A try that is not answered by then is given up.
const TRY_WITHIN: Duration = Duration::from_secs(5);
const AGAIN_AFTER: Duration = Duration::from_millis(5);
const BODY_BYTES: usize = 100;
/// An answer to a send is smaller.
const ANSWER_BYTES_MAX: usize = 16 << 10;

/// One client of a listener.
pub struct Good {
    listener: Listener,
    address: SocketAddr,
    stream: Option<TcpStream>,
}

/// What became of the sends of one client.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Where it sent.
    pub listener: Listener,
    /// From the due time to the answer.
    pub latencies: Latencies,
    /// How many tries were refused or cut.
    pub again: u64,
}

impl Good {
    /// One that has not connected yet.
    pub fn new(listener: Listener, address: SocketAddr) -> Good {
        Good { listener, address, stream: None }
    }

    /// Leaves.
    pub fn leave(&mut self) {
        self.stream = None;
    }

    /// Sends one message, on the connection that it has or on a new one.
    ///
    /// # Errors
    /// When it is refused, the connection is cut, or there is no answer within 5 s; the connection
    /// is given up then.
    pub async fn send(&mut self) -> Result<()> {
        let sent = tokio::time::timeout(TRY_WITHIN, self.try_to_send()).await;
        let sent = sent.unwrap_or_else(|_| bail!("no answer within {TRY_WITHIN:?}"));
        if sent.is_err() {
            self.stream = None;
        }
        sent
    }

    async fn try_to_send(&mut self) -> Result<()> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address).await.context("connecting")?;
            stream.set_nodelay(true)?;
            if self.listener == Listener::Beanstalkd {
                let mut stream = stream;
                ask(&mut stream, &format!("use {QUEUE}\r\n"), Listener::Beanstalkd).await?;
                self.stream = Some(stream);
            } else {
                self.stream = Some(stream);
            }
        }
        let stream = self.stream.as_mut().context("connected a moment ago")?;
        let answer = ask(stream, &request(self.listener), self.listener).await?;
        let well = match self.listener {
            Listener::Beanstalkd => answer.starts_with("INSERTED "),
            Listener::Sqs | Listener::Admin => answer.starts_with("HTTP/1.1 200"),
        };
        if !well {
            bail!("answered {}", answer.lines().next().unwrap_or_default());
        }
        Ok(())
    }
}

fn request(listener: Listener) -> String {
    let body = "x".repeat(BODY_BYTES);
    let post = |path: &str, kind: &str, content: &str| {
        let length = content.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\n\r\n{content}"
        )
    };
    match listener {
        Listener::Beanstalkd => format!("put 0 0 60 {BODY_BYTES}\r\n{body}\r\n"),
        Listener::Sqs => {
            let form = format!("Action=SendMessage&QueueUrl={QUEUE}&MessageBody={body}");
            post("/", "application/x-www-form-urlencoded", &form)
        }
        Listener::Admin => {
            let json = serde_json::json!({"messages": [{"body": body}]}).to_string();
            post(&format!("/v1/queues/{QUEUE}/messages"), "application/json", &json)
        }
    }
}

/// Sends a request and reads its answer.
async fn ask(stream: &mut TcpStream, request: &str, listener: Listener) -> Result<String> {
    stream.write_all(request.as_bytes()).await.context("writing")?;
    let mut answer = Vec::with_capacity(1024);
    while !is_whole(&answer, listener) {
        if answer.len() > ANSWER_BYTES_MAX {
            bail!("an answer of more than {ANSWER_BYTES_MAX} bytes");
        }
        if stream.read_buf(&mut answer).await.context("reading")? == 0 {
            bail!("closed after {:?}", String::from_utf8_lossy(&answer));
        }
    }
    String::from_utf8(answer).context("an answer that is no text")
}

fn is_whole(answer: &[u8], listener: Listener) -> bool {
    if listener == Listener::Beanstalkd {
        return answer.ends_with(b"\r\n");
    }
    let Some(end) = memchr::memmem::find(answer, b"\r\n\r\n") else { return false };
    let (head, body) = answer.split_at(end + 4);
    let head = String::from_utf8_lossy(head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.and_then(|length| length.trim().parse().ok()).is_none_or(|length| body.len() >= length)
}

/// What all good clients share.
#[derive(Debug, Clone, Default)]
pub struct Course {
    over: Arc<AtomicBool>,
    /// How many sends were answered.
    pub answered: Arc<AtomicU64>,
}

impl Course {
    /// Lets them come to an end.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// Sends every so often until it is to end.
    async fn run(&self, mut good: Good, every: Duration, anew: bool) -> Result<Tally> {
        let latencies = Latencies::new()?;
        let mut tally = Tally { listener: good.listener, latencies, again: 0 };
        let mut due = Instant::now();
        while !self.over.load(Ordering::SeqCst) {
            tokio::time::sleep_until(due).await;
            while good.send().await.is_err() {
                tally.again += 1;
                tokio::time::sleep(AGAIN_AFTER).await;
                // One that is never served counts for what it has waited by then.
                if self.over.load(Ordering::SeqCst) {
                    tally
                        .latencies
                        .add(u64::try_from(due.elapsed().as_nanos()).unwrap_or(u64::MAX));
                    return Ok(tally);
                }
            }
            self.answered.fetch_add(1, Ordering::SeqCst);
            let took = due.elapsed();
            tally.latencies.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            if anew {
                good.leave();
            }
            due += every;
        }
        Ok(tally)
    }

    /// Runs all good clients until they are to end; answers for those who stay, and for those who
    /// come anew.
    ///
    /// # Errors
    /// None in practice.
    pub async fn all(&self, at: &[(Listener, SocketAddr)]) -> Result<(Vec<Tally>, Vec<Tally>)> {
        let each = |every: Duration, anew: bool| {
            let of =
                move |&(listener, address)| self.run(Good::new(listener, address), every, anew);
            try_join_all(at.iter().map(of))
        };
        tokio::try_join!(each(STAYING_EVERY, false), each(ANEW_EVERY, true))
    }
}

/// How long it takes until a client that comes anew to each listener is served within `each` at
/// all of them, `times` in a row.
pub async fn recovery(
    at: &[(Listener, SocketAddr)],
    each: Duration,
    times: usize,
    limit: Duration,
) -> Duration {
    let began = Instant::now();
    let (mut streak, mut since) = (0, began);
    while streak < times && began.elapsed() < limit {
        let round = Instant::now();
        let mut well = true;
        for &(listener, address) in at {
            let asked = Instant::now();
            well &= Good::new(listener, address).send().await.is_ok() && asked.elapsed() <= each;
        }
        if !well {
            streak = 0;
        } else {
            if streak == 0 {
                since = round;
            }
            streak += 1;
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
    if streak < times { limit } else { since - began }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_body() {
        let whole = |text: &str| is_whole(text.as_bytes(), Listener::Sqs);
        assert!(!whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"));
        assert!(whole("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"));
        assert!(is_whole(b"INSERTED 1\r\n", Listener::Beanstalkd));
        assert!(!is_whole(b"INSERTED 1\r", Listener::Beanstalkd));
    }
}
