//! `slipring queue create`: a new queue.

use clap::Args;
use http::Method;
use serde_json::json;

use crate::failure::Failure;
use crate::target::TargetArgs;

use super::settings::QueueSettingsArgs;
use super::show::print_queue;

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The queue's name
    queue: String,
    /// Strict order within message groups; cannot be changed later
    #[arg(long)]
    fifo: bool,
    #[command(flatten)]
    settings: QueueSettingsArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl CreateArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let mut settings = self.settings.changes()?;
        settings.insert("fifo".to_owned(), self.fifo.into());
        let target = self.target.open_or_make().await?;
        let body = json!({ "name": self.queue, "settings": settings });
        let view = target.call(Method::POST, "/v1/queues", &body).await?;
        target.close().await;
        print_queue(&view, self.target.json)
    }
}
