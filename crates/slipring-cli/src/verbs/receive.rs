//! `slipring receive`: messages under a lease, to be acked with `slipring ack`.

use std::time::Duration;

use clap::Args;
use http::Method;
use slipring_server::admin::model::{Content, Receive, ReceiveAnswer, Settle};

use crate::failure::Failure;
use crate::print::{self, millis, parse_duration};
use crate::target::{TargetArgs, queue_path};

use super::ack::settle;

#[derive(Debug, Args)]
pub struct ReceiveArgs {
    /// The queue
    queue: String,
    /// At most so many messages, 1 to 100
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    max: u32,
    /// Wait so long for a first message
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    wait: Option<Duration>,
    /// How long the lease lasts [default: the message's or the queue's]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    lease: Option<Duration>,
    /// Ack the messages at once
    #[arg(long)]
    ack: bool,
    #[command(flatten)]
    target: TargetArgs,
}

impl ReceiveArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let body = Receive {
            up_to: Some(self.max),
            wait_ms: self.wait.map(millis),
            lease_ms: self.lease.map(millis),
        };
        let path = queue_path(&self.queue, "/receive");
        let answer: ReceiveAnswer = target.call(Method::POST, &path, &body).await?;
        let text = self.text(&answer)?;
        if self.ack && !answer.deliveries.is_empty() {
            // Acked messages are gone: first they have to be with whoever reads.
            print::line_to_reader(&text).map_err(unseen)?;
            let receipts = answer.deliveries.into_iter().map(|delivery| delivery.receipt);
            let receipts = receipts.collect();
            settle(&target, &Settle { receipts, delay_ms: None, reason: None }).await?;
        } else {
            print::line(&text)?;
        }
        target.close().await;
        Ok(())
    }

    /// What is printed, without the last end of line.
    fn text(&self, answer: &ReceiveAnswer) -> Result<String, Failure> {
        if self.target.json {
            return print::json_text(answer);
        }
        if answer.deliveries.is_empty() {
            return Ok("no messages".to_owned());
        }
        let mut lines = Vec::new();
        for delivery in &answer.deliveries {
            let message = &delivery.message;
            let (id, attempts) = (message.id, message.attempts);
            lines.push(format!("message {id}, attempt {attempts}"));
            if !self.ack {
                lines.push(format!("  receipt  {}", delivery.receipt));
            }
            // What is acked is to be seen nowhere else.
            let (name_max, text_max) = if self.ack { (usize::MAX, usize::MAX) } else { (60, 500) };
            for (name, text) in &message.headers {
                let (name, text) = (print::short(name, name_max), print::short(text, text_max));
                lines.push(format!("  header   {name}: {text}"));
            }
            let (kind, text) = match &message.content {
                Content::Text(text) => ("body  ", text),
                Content::Base64(text) => ("base64", text),
            };
            lines.push(format!("  {kind}   {}", print::short(text, usize::MAX)));
        }
        Ok(lines.join("\n"))
    }
}

/// The failure of a receive whose messages nobody got to see.
fn unseen(error: std::io::Error) -> Failure {
    Failure::failed(format!(
        "the output could not be written; nothing was acked ({error}); the messages come again \
         when their leases end"
    ))
}
