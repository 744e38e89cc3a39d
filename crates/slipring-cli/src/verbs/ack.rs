//! `slipring ack`: received messages are done.

use clap::Args;
use http::Method;
use slipring_server::admin::model::{Settle, SettleAnswer};

use crate::failure::Failure;
use crate::print;
use crate::target::{Target, TargetArgs, refusal};

#[derive(Debug, Args)]
pub struct AckArgs {
    /// The receipts that `slipring receive` printed
    #[arg(required = true)]
    receipts: Vec<String>,
    #[command(flatten)]
    target: TargetArgs,
}

impl AckArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let body = Settle { receipts: self.receipts, delay_ms: None };
        let answer = settle(&target, &body).await;
        target.close().await;
        let answer = answer?;
        if self.target.json {
            return print::json(&answer);
        }
        print::line(&format!("{} messages acked", answer.results.len()))
    }
}

/// Acks; the first receipt that was refused is the failure of the whole.
pub async fn settle(target: &Target, body: &Settle) -> Result<SettleAnswer, Failure> {
    all_done(target.call(Method::POST, "/v1/ack", body).await?)
}

/// The answer, if no receipt was refused.
pub fn all_done(answer: SettleAnswer) -> Result<SettleAnswer, Failure> {
    let refused = answer.results.iter().filter_map(|result| result.error.as_ref());
    let count = refused.clone().count();
    match refused.into_iter().next() {
        None => Ok(answer),
        Some(error) => Err(Failure::failed(format!(
            "{count} of {} receipts refused, the first because: {}",
            answer.results.len(),
            refusal(error)
        ))),
    }
}
