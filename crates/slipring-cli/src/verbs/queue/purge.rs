//! `slipring queue purge`: every message goes.

use clap::Args;
use serde_json::json;

use crate::confirm::ConfirmArgs;
use crate::failure::Failure;
use crate::print;
use crate::target::{TargetArgs, queue_path};

#[derive(Debug, Args)]
pub struct PurgeArgs {
    /// The queue
    queue: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl PurgeArgs {
    pub async fn run(self) -> Result<(), Failure> {
        self.confirm.ask(&format!("Remove every message of {}?", self.queue))?;
        let target = self.target.open().await?;
        let bar = print::progress("purged", "messages");
        let path = queue_path(&self.queue, "/purge");
        let purged = target.follow(&path, &json!({}), |line| bar.set_position(line.messages)).await;
        drop(bar);
        let purged = purged?.messages;
        target.close().await;
        if self.target.json {
            return print::json(&json!({ "purged": purged }));
        }
        print::line(&format!("{purged} messages purged from {}", self.queue))
    }
}
