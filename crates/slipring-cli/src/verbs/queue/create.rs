//! `slipring queue create`: a new queue.

use clap::Args;
use http::Method;
use slipring_server::admin::model::NewQueue;

use crate::failure::Failure;
use crate::target::TargetArgs;

use super::settings::QueueSettingsArgs;
use super::show::print_queue;

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The queue's name
    queue: String,
    /// Strict order within message groups; cannot be changed later. A name that ends in .fifo says
    /// so too
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
        if self.fifo {
            settings.insert("fifo".to_owned(), true.into());
        }
        let target = self.target.open_or_make().await?;
        // Without settings a queue that is there is accepted as it is.
        let settings = Some(settings).filter(|settings| !settings.is_empty());
        let body = NewQueue { name: self.queue, settings };
        let view = target.call(Method::POST, "/v1/queues", &body).await?;
        target.close().await;
        print_queue(&view, self.target.json)
    }
}
