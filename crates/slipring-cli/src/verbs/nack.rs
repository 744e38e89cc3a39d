//! `slipring nack`: received messages failed and come back.

use std::time::Duration;

use clap::Args;
use slipring_server::admin::model::Settle;

use crate::failure::Failure;
use crate::print::{millis, parse_duration};
use crate::target::TargetArgs;

use super::ack::of_receipts;

#[derive(Debug, Args)]
pub struct NackArgs {
    /// The receipts that `slipring receive` printed
    #[arg(required = true)]
    receipts: Vec<String>,
    /// How long the messages wait before they come again [default: the queue's backoff]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    delay: Option<Duration>,
    /// Why they failed; kept with the messages, and shown by `peek` and `show`
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    target: TargetArgs,
}

impl NackArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let delay_ms = self.delay.map(millis);
        let body = Settle { receipts: self.receipts, delay_ms, reason: self.reason };
        of_receipts(&self.target, "/v1/nack", &body, "messages given back").await
    }
}
