//! `slipring extend`: received messages are held for longer.

use std::time::Duration;

use clap::Args;
use slipring_server::admin::model::Extend;

use crate::failure::Failure;
use crate::print::{millis, parse_duration};
use crate::target::TargetArgs;

use super::ack::of_receipts;

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
        let body = Extend { receipts: self.receipts, lease_ms: self.lease.map(millis) };
        of_receipts(&self.target, "/v1/extend", &body, "leases prolonged").await
    }
}
