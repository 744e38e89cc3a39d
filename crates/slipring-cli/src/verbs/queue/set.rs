//! `slipring queue set`: changed settings.

use clap::Args;
use http::Method;

use crate::failure::Failure;
use crate::target::{TargetArgs, queue_path};

use super::settings::QueueSettingsArgs;
use super::show::print_queue;

#[derive(Debug, Args)]
pub struct SetArgs {
    /// The queue
    queue: String,
    #[command(flatten)]
    settings: QueueSettingsArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl SetArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let changes = self.settings.changes()?;
        if changes.is_empty() {
            return Err(Failure::usage("nothing to set; see slipring queue set --help"));
        }
        let target = self.target.open().await?;
        let view = target.call(Method::PATCH, &queue_path(&self.queue, ""), &changes).await?;
        target.close().await;
        print_queue(&view, self.target.json)
    }
}
