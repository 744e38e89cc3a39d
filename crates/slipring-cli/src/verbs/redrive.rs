//! `slipring redrive`: dead-lettered messages go back, or to another queue.

use clap::Args;
use serde_json::json;
use slipring_server::admin::model::Redrive;

use crate::failure::Failure;
use crate::print;
use crate::target::{TargetArgs, queue_path};

#[derive(Debug, Args)]
pub struct RedriveArgs {
    /// The queue that holds the messages now, such as a dead-letter queue
    queue: String,
    /// Where they go [default: each to the queue it was dead-lettered from]
    #[arg(long, value_name = "QUEUE")]
    to: Option<String>,
    /// At most so many [default: all that are there now]
    #[arg(long, value_name = "COUNT")]
    max: Option<u64>,
    #[command(flatten)]
    target: TargetArgs,
}

impl RedriveArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let bar = print::progress("moved", "messages");
        let body = Redrive { target: self.to, limit: self.max };
        let path = queue_path(&self.queue, "/redrive");
        let moved = target.follow(&path, &body, |count| bar.set_position(count)).await;
        drop(bar);
        let moved = moved?;
        target.close().await;
        if self.target.json {
            return print::json(&json!({ "moved": moved }));
        }
        print::line(&format!("{moved} messages moved from {}", self.queue))
    }
}
