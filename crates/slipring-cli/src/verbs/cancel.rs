//! `slipring cancel`: one message that nobody holds is removed.

use clap::Args;
use http::Method;
use serde_json::json;

use crate::failure::Failure;
use crate::print;
use crate::target::TargetArgs;

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// The message's number
    id: u64,
    #[command(flatten)]
    target: TargetArgs,
}

impl CancelArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let path = format!("/v1/messages/{}", self.id);
        let () = target.call(Method::DELETE, &path, &()).await?;
        target.close().await;
        if self.target.json {
            return print::json(&json!({ "cancelled": self.id }));
        }
        print::line(&format!("message {} cancelled", self.id))
    }
}
