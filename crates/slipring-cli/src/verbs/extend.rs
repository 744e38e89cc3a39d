//! `slipring extend`: received messages are held for longer.

use std::time::Duration;

use clap::Args;
use http::Method;
use slipring_server::admin::model::{Extend, SettleAnswer};

use crate::failure::Failure;
use crate::print::{self, millis, parse_duration};
use crate::target::TargetArgs;

use super::ack::all_done;

#[derive(Debug, Args)]
pub struct ExtendArgs {
    /// The receipts that `slipring receive` printed
    #[arg(required = true)]
    receipts: Vec<String>,
    /// How long the leases last from now on [default: the message's or the queue's]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    lease: Option<Duration>,
    #[command(flatten)]
    target: TargetArgs,
}

impl ExtendArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let body = Extend { receipts: self.receipts, lease_ms: self.lease.map(millis) };
        let answer: SettleAnswer = target.call(Method::POST, "/v1/extend", &body).await?;
        target.close().await;
        let answer = all_done(answer)?;
        if self.target.json {
            return print::json(&answer);
        }
        print::line(&format!("{} leases prolonged", answer.results.len()))
    }
}
