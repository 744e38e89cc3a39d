//! `slipring ack`: received messages are done.

use clap::Args;
use http::Method;
use serde::Serialize;
use slipring_server::admin::model::{Settle, SettleAnswer};

use crate::failure::Failure;
use crate::print;
use crate::target::{Target, TargetArgs, refusal};

const ACK: &str = "/v1/ack";

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
        let body = Settle { receipts: self.receipts, delay_ms: None, reason: None };
        of_receipts(&self.target, ACK, &body, "messages acked").await
    }
}

/// Calls an operation that is answered receipt by receipt, and prints how many were done.
///
/// # Errors
/// As [`Target::call`]; that receipts were refused.
pub async fn of_receipts(
    place: &TargetArgs,
    path: &str,
    body: &impl Serialize,
    done: &str,
) -> Result<(), Failure> {
    let target = place.open().await?;
    let answer = call(&target, path, body).await;
    target.close().await;
    let answer = answer?;
    if place.json {
        return print::json(&answer);
    }
    print::line(&format!("{} {done}", answer.results.len()))
}

/// Acks; the first receipt that was refused is the failure of the whole.
pub async fn settle(target: &Target, body: &Settle) -> Result<SettleAnswer, Failure> {
    call(target, ACK, body).await
}

async fn call(target: &Target, path: &str, body: &impl Serialize) -> Result<SettleAnswer, Failure> {
    let answer: SettleAnswer = target.call(Method::POST, path, body).await?;
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
