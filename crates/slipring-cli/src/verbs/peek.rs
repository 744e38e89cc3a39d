//! `slipring peek`: messages looked at without taking them.

use clap::Args;
use slipring::FailedAttempt;
use slipring_server::admin::model::{Content, MessageList};

use crate::failure::Failure;
use crate::print;
use crate::target::{Target, TargetArgs, encoded, queue_path};

#[derive(Debug, Args)]
pub struct PeekArgs {
    /// The queue
    queue: String,
    /// Only messages in this state
    #[arg(long, value_parser = ["ready", "delayed", "leased", "parked"])]
    state: Option<String>,
    /// Only messages of this group, among the first 1,000 or about 32 MiB
    #[arg(long)]
    group: Option<String>,
    /// Only messages with this text in the body, among the same
    #[arg(long)]
    text: Option<String>,
    /// At most so many messages, 1 to 100
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    max: u32,
    #[command(flatten)]
    target: TargetArgs,
}

/// The reason of a failure, or what it was where none was given.
fn last_failure(failed: &FailedAttempt) -> String {
    match &failed.reason {
        Some(reason) => print::short(reason.as_str(), 60),
        None => failed.ended_by.name().to_owned(),
    }
}

impl PeekArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let list = self.look(&target).await?;
        target.close().await;
        if self.target.json {
            return print::json(&list);
        }
        if list.messages.is_empty() {
            return match list.searched {
                Some(count) => print::line(&format!("no messages among the first {count}")),
                None => print::line("no messages"),
            };
        }
        let failed = list.messages.iter().any(|message| !message.failures.is_empty());
        let head = ["ID", "STATE", "ATTEMPTS", "PRIORITY", "BODY", "LAST FAILURE"];
        let mut table = print::table(if failed { &head } else { &head[..5] }, 2..4);
        for message in &list.messages {
            let body = match &message.content {
                Content::Text(text) => print::short(text, 60),
                Content::Base64(text) => format!("base64:{}", print::short(text, 50)),
            };
            let mut row = vec![
                message.id.to_string(),
                message.state.name().to_owned(),
                message.attempts.to_string(),
                message.priority.to_string(),
                body,
            ];
            row.extend(message.failures.last().map(last_failure));
            table.add_row(row);
        }
        print::line(&table.to_string())
    }

    /// So many messages, page by page: a page of large ones ends early.
    async fn look(&self, target: &Target) -> Result<MessageList, Failure> {
        let filters = [("state", &self.state), ("group", &self.group), ("text", &self.text)];
        let filters: String = filters
            .iter()
            .filter_map(|(name, value)| Some(format!("&{name}={}", encoded(value.as_deref()?))))
            .collect();
        let page = async |limit: u32, after: u32| {
            let rest = format!("/messages?limit={limit}&after={after}{filters}");
            target.get::<MessageList>(&queue_path(&self.queue, &rest)).await
        };
        let mut list = page(self.max, 0).await?;
        while let Some(after) = list.next {
            let missing = self.max.saturating_sub(u32::try_from(list.messages.len()).unwrap_or(0));
            if missing == 0 {
                break;
            }
            let more = page(missing, after).await?;
            list.messages.extend(more.messages);
            list.next = more.next;
            list.searched = more.searched;
        }
        Ok(list)
    }
}
