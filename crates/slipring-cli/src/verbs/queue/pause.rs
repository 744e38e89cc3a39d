//! `slipring queue pause`: hand out nothing.

use std::time::Duration;

use clap::Args;
use http::Method;
use slipring_server::admin::model::Pause;

use crate::failure::Failure;
use crate::print::{millis, parse_duration};
use crate::target::{TargetArgs, queue_path};

use super::show::print_queue;

#[derive(Debug, Args)]
pub struct PauseArgs {
    /// The queue
    queue: String,
    /// End the pause by itself after this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    time: Option<Duration>,
    #[command(flatten)]
    target: TargetArgs,
}

impl PauseArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let body = Pause { for_ms: self.time.map(millis) };
        let view = target.call(Method::POST, &queue_path(&self.queue, "/pause"), &body).await?;
        target.close().await;
        print_queue(&view, self.target.json)
    }
}
