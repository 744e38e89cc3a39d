//! Messages given back with a reason.

use std::time::Duration;

use crate::error::Error;
use crate::failures::Reason;
use crate::lease::Receipt;
use crate::lifecycle::Settlement;
use crate::store::Settled;

use super::queue::Queue;

impl Queue {
    /// As [`Queue::nack`], with the reason why it failed, which is kept with the message (S6.8).
    ///
    /// # Errors
    /// As [`Queue::nack`].
    pub async fn nack_because(
        &self,
        receipt: &Receipt,
        delay: Option<Duration>,
        reason: Reason,
    ) -> Result<Settled, Error> {
        let reason = Some(reason);
        self.settle_one(receipt, Settlement::Nack { delay, priority: None, reason }).await
    }
}
