//! `slipring send`: messages from the command line or from stdin.

use std::io::{BufRead, Read};
use std::time::Duration;

use clap::Args;
use http::Method;
use slipring::Headers;
use slipring_server::admin::BODY_BYTES_MAX;
use slipring_server::admin::model::{Content, Outgoing, Send, SendAnswer, SentView};

use crate::failure::Failure;
use crate::print::{self, millis, parse_duration};
use crate::target::{Target, TargetArgs, queue_path};

/// Messages of one call, and bytes of their bodies, well below the API's limit also as base64.
const BATCH_MESSAGES: usize = 1_000;
const BATCH_BYTES: usize = BODY_BYTES_MAX / 4;

/// In place of a body: stdin has it.
const STDIN: &str = "-";

#[derive(Debug, Args)]
pub struct SendArgs {
    /// The queue
    queue: String,
    /// The body; without it, or as -, stdin is the body
    body: Option<String>,
    /// Send every line of stdin as a message of its own
    #[arg(long, conflicts_with = "body")]
    lines: bool,
    /// 0 is the most urgent [default: 1024]
    #[arg(long, value_name = "NUMBER")]
    priority: Option<u32>,
    /// How long the message stays invisible
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    delay: Option<Duration>,
    /// The message's own visibility timeout
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    lease: Option<Duration>,
    /// The message group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// The deduplication id
    #[arg(long, value_name = "ID", conflicts_with = "lines")]
    dedup_id: Option<String>,
    /// A named text that travels along; may be repeated
    #[arg(long = "header", value_name = "NAME=TEXT", value_parser = header)]
    headers: Vec<(String, String)>,
    #[command(flatten)]
    target: TargetArgs,
}

impl SendArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let sent = if self.lines {
            self.send_lines(&target).await?
        } else {
            let body = match &self.body {
                Some(body) if body != STDIN => body.clone().into_bytes(),
                _ => read_stdin()?,
            };
            self.send(&target, vec![self.message(&body)]).await?
        };
        target.close().await;
        if self.target.json {
            return print::json(&SendAnswer { sent });
        }
        match sent.as_slice() {
            [one] if one.duplicate => print::line(&format!("{} (a duplicate)", one.id)),
            [one] => print::line(&one.id.to_string()),
            many => print::line(&format!("{} messages sent", many.len())),
        }
    }

    async fn send_lines(&self, target: &Target) -> Result<Vec<SentView>, Failure> {
        let (mut sent, mut tried) = (Vec::new(), 0);
        match self.send_batches(target, &mut sent, &mut tried).await {
            Ok(()) => Ok(sent),
            Err(failure) => {
                let count = sent.len();
                let next = count + 1;
                let unknown = failure.is_unknown() && tried > 0;
                let failure = failure.with(format!("{count} messages were sent before it"));
                Err(match unknown {
                    false => failure.with(format!("go on with line {next}")),
                    true => failure.with(format!(
                        "whether lines {next} to {} were sent is not known: look into the queue, \
                         and go on with line {next} or {}",
                        count + tried,
                        next + tried
                    )),
                })
            }
        }
    }

    /// Sends the lines of stdin batch by batch; each goes in whole or not at all. `sent` has those
    /// that went in also when a later one fails, `tried` how many lines that one had.
    async fn send_batches(
        &self,
        target: &Target,
        sent: &mut Vec<SentView>,
        tried: &mut usize,
    ) -> Result<(), Failure> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for line in std::io::stdin().lock().split(b'\n') {
            let line = line.map_err(Failure::failed)?;
            bytes += line.len();
            batch.push(self.message(&line));
            if batch.len() == BATCH_MESSAGES || bytes > BATCH_BYTES {
                *tried = batch.len();
                sent.extend(self.send(target, std::mem::take(&mut batch)).await?);
                (*tried, bytes) = (0, 0);
            }
        }
        if !batch.is_empty() {
            *tried = batch.len();
            sent.extend(self.send(target, batch).await?);
        }
        Ok(())
    }

    async fn send(
        &self,
        target: &Target,
        messages: Vec<Outgoing>,
    ) -> Result<Vec<SentView>, Failure> {
        let path = queue_path(&self.queue, "/messages");
        let answer: SendAnswer = target.call(Method::POST, &path, &Send { messages }).await?;
        Ok(answer.sent)
    }

    fn message(&self, body: &[u8]) -> Outgoing {
        let (body, body_base64) = match Content::of(body) {
            Content::Text(text) => (Some(text), None),
            Content::Base64(text) => (None, Some(text)),
        };
        Outgoing {
            body,
            body_base64,
            priority: self.priority,
            delay_ms: self.delay.map(millis),
            lease_ms: self.lease.map(millis),
            group: self.group.clone(),
            dedup_id: self.dedup_id.clone(),
            headers: self.headers.iter().cloned().collect::<Headers>(),
        }
    }
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let most = BODY_BYTES_MAX as u64;
    std::io::stdin().lock().take(most).read_to_end(&mut body).map_err(Failure::failed)?;
    Ok(body)
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("use NAME=TEXT")?;
    Ok((name.to_owned(), value.to_owned()))
}
