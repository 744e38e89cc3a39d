//! `slipring show`: one message, wherever it is.

use clap::Args;
use slipring::FailedAttempt;
use slipring_server::admin::model::{Content, MessageView};

use crate::failure::Failure;
use crate::print;
use crate::target::TargetArgs;

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The message's number
    id: u64,
    #[command(flatten)]
    target: TargetArgs,
}

impl ShowArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let message: MessageView = target.get(&format!("/v1/messages/{}", self.id)).await?;
        target.close().await;
        if self.target.json {
            return print::json(&message);
        }
        print::line(&table(&message))
    }
}

fn table(message: &MessageView) -> String {
    let mut table = print::table(&["MESSAGE", &message.id.to_string()], 0..0);
    let moment = |at: Option<u64>| at.map_or("none".to_owned(), print::moment);
    let text = |text: &Option<String>| {
        text.as_deref().map_or("none".to_owned(), |text| print::short(text, 200))
    };
    let (kind, body) = match &message.content {
        Content::Text(text) => ("body", text),
        Content::Base64(text) => ("body base64", text),
    };
    for (name, value) in [
        ("queue", message.queue.clone()),
        ("state", message.state.name().to_owned()),
        ("until", moment(message.until_ms)),
        ("attempts", message.attempts.to_string()),
        ("priority", message.priority.to_string()),
        ("sent at", print::moment(message.sent_at_ms)),
        ("first received at", moment(message.first_received_at_ms)),
        ("group", text(&message.group)),
        ("deduplication id", text(&message.dedup_id)),
        ("dead-lettered from", text(&message.dead_letter_source)),
    ] {
        table.add_row([name.to_owned(), value]);
    }
    for (name, value) in &message.headers {
        let name = format!("header {}", print::short(name, 60));
        table.add_row([name, print::short(value, 500)]);
    }
    for failed in &message.failures {
        let name = format!("failed attempt {}", failed.attempt);
        table.add_row([name, failure(failed)]);
    }
    table.add_row([kind.to_owned(), print::short(body, usize::MAX)]);
    table.to_string()
}

/// When, by what and why a delivery failed.
fn failure(failed: &FailedAttempt) -> String {
    let (at, by) = (print::moment(failed.at.as_millis()), failed.ended_by.name());
    match &failed.reason {
        Some(reason) => format!("{at} {by}: {}", print::short(reason.as_str(), usize::MAX)),
        None => format!("{at} {by}"),
    }
}
