//! `slipring queue delete`: the queue and all that is in it.

use clap::Args;
use http::Method;
use serde_json::json;

use crate::confirm::ConfirmArgs;
use crate::failure::Failure;
use crate::print;
use crate::target::{TargetArgs, queue_path};

#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The queue
    queue: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl DeleteArgs {
    pub async fn run(self) -> Result<(), Failure> {
        self.confirm.ask(&format!("Delete {} and all that is in it?", self.queue))?;
        let target = self.target.open().await?;
        let () = target.call(Method::DELETE, &queue_path(&self.queue, ""), &()).await?;
        target.close().await;
        if self.target.json {
            return print::json(&json!({ "deleted": self.queue }));
        }
        print::line(&format!("{} deleted", self.queue))
    }
}
