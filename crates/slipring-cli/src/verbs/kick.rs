//! `slipring kick`: parked messages are handed out again; delayed ones when none is parked.

use clap::Args;
use http::Method;
use slipring_server::admin::model::{Kick, Kicked};

use crate::failure::Failure;
use crate::print;
use crate::target::{TargetArgs, queue_path};

#[derive(Debug, Args)]
pub struct KickArgs {
    /// The queue
    queue: String,
    /// At most so many messages, 1 to 10000
    #[arg(long, value_name = "COUNT")]
    max: Option<u32>,
    #[command(flatten)]
    target: TargetArgs,
}

impl KickArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let path = queue_path(&self.queue, "/kick");
        let kicked: Kicked = target.call(Method::POST, &path, &Kick { limit: self.max }).await?;
        target.close().await;
        if self.target.json {
            return print::json(&kicked);
        }
        print::line(&format!("{} messages are ready now", kicked.kicked))
    }
}
