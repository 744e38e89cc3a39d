//! `slipring nack`: received messages failed and come back.

use std::time::Duration;

use clap::Args;
use http::Method;
use slipring_server::admin::model::{Settle, SettleAnswer};

use crate::failure::Failure;
use crate::print::{self, millis, parse_duration};
use crate::target::TargetArgs;

use super::ack::all_done;

#[derive(Debug, Args)]
pub struct NackArgs {
    /// The receipts that `slipring receive` printed
    #[arg(required = true)]
    receipts: Vec<String>,
    /// How long the messages wait before they come again [default: the queue's backoff]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    delay: Option<Duration>,
    #[command(flatten)]
    target: TargetArgs,
}

impl NackArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let body = Settle { receipts: self.receipts, delay_ms: self.delay.map(millis) };
        let answer: SettleAnswer = target.call(Method::POST, "/v1/nack", &body).await?;
        target.close().await;
        let answer = all_done(answer)?;
        if self.target.json {
            return print::json(&answer);
        }
        print::line(&format!("{} messages given back", answer.results.len()))
    }
}
