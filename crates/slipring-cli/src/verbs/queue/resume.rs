//! `slipring queue resume`: the end of a pause.

use clap::Args;
use http::Method;
use serde_json::json;

use crate::failure::Failure;
use crate::target::{TargetArgs, queue_path};

use super::show::print_queue;

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The queue
    queue: String,
    #[command(flatten)]
    target: TargetArgs,
}

impl ResumeArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let path = queue_path(&self.queue, "/resume");
        let view = target.call(Method::POST, &path, &json!({})).await?;
        target.close().await;
        print_queue(&view, self.target.json)
    }
}
