//! Dead-letter queues: the policies of both sides, and who uses one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use slipring::{Queue, QueueName};
use slipring_wire::sqs::{
    Answer, ErrorCode, ListDeadLetterSourceQueues, ListDeadLetterSourceQueuesAnswer, SqsError,
    queue_arn, queue_of_arn,
};

use super::attributes::kept;
use super::call::Call;
use super::paging::page;

const RECEIVE_COUNT_MAX: u32 = 1_000;
const ALLOWED_SOURCES_MAX: usize = 10;

/// A `RedrivePolicy`, understood.
pub(super) struct Redrive {
    pub(super) target: QueueName,
    pub(super) max_receive_count: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AllowPolicy {
    redrive_permission: String,
    #[serde(default)]
    source_queue_arns: Vec<String>,
}

fn refuse(value: &str, reason: &str) -> SqsError {
    SqsError::bad_value(value, "RedrivePolicy", reason)
}

/// The target's ARN and the receive count of a `RedrivePolicy`: both are there, and nothing else.
fn read_redrive_policy(value: &str) -> Result<(String, Value), SqsError> {
    let policy: Result<Map<String, Value>, _> = serde_json::from_str(value);
    let policy = policy.map_err(|_| {
        SqsError::new(
            ErrorCode::InvalidAttributeValue,
            "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid \
             JSON map.",
        )
    })?;
    let member = |name: &str| {
        policy.get(name).cloned().ok_or_else(|| {
            let reason = format!("Redrive policy does not contain mandatory attribute: {name}.");
            refuse(value, &reason)
        })
    };
    let (count, arn) = (member("maxReceiveCount")?, member("deadLetterTargetArn")?);
    if policy.len() > 2 {
        let reason = "Only following attributes are supported: [deadLetterTargetArn, \
                      maxReceiveCount].";
        return Err(refuse(value, reason));
    }
    // A member of another type names no queue.
    Ok((arn.as_str().unwrap_or_default().to_string(), count))
}

/// Checks the text of a `RedriveAllowPolicy`; an empty one takes it away.
pub(super) fn check_allow_policy(value: &str) -> Result<(), SqsError> {
    if value.is_empty() || read_allow_policy(value).is_some() {
        return Ok(());
    }
    Err(SqsError::bad_value(
        value,
        "RedriveAllowPolicy",
        "It must name redrivePermission allowAll, denyAll or byQueue, and with byQueue 1 to 10 \
         sourceQueueArns.",
    ))
}

fn read_allow_policy(value: &str) -> Option<AllowPolicy> {
    let policy: AllowPolicy = serde_json::from_str(value).ok()?;
    let sources = policy.source_queue_arns.len();
    let good = match policy.redrive_permission.as_str() {
        "allowAll" | "denyAll" => sources == 0,
        "byQueue" => (1..=ALLOWED_SOURCES_MAX).contains(&sources),
        _ => false,
    };
    good.then_some(policy)
}

impl Call<'_> {
    /// What the `RedrivePolicy` among the attributes of queue `source` means; `None` when there
    /// is none or it is empty.
    pub(super) async fn redrive_in(
        &self,
        attributes: &BTreeMap<String, String>,
        source: &str,
        fifo: bool,
    ) -> Result<Option<Redrive>, SqsError> {
        let Some(value) = attributes.get("RedrivePolicy").filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let (arn, count) = read_redrive_policy(value)?;
        let count = match &count {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64().and_then(|count| u32::try_from(count).ok()),
        };
        let count = count.filter(|count| (1..=RECEIVE_COUNT_MAX).contains(count));
        let max_receive_count = count.ok_or_else(|| {
            refuse(value, "Invalid value for maxReceiveCount: it must be 1 to 1000.")
        })?;
        let target = self
            .queue_of(&arn)
            .await?
            .ok_or_else(|| refuse(value, "Dead letter target does not exist."))?;
        self.check_target(&target, source, fifo, value)?;
        Ok(Some(Redrive { target: target.name(), max_receive_count }))
    }

    fn check_target(
        &self,
        target: &Queue,
        source: &str,
        fifo: bool,
        value: &str,
    ) -> Result<(), SqsError> {
        let info = target.info();
        if info.settings.fifo != fifo {
            let reason = "Dead-letter queue must be same type of queue as the source.";
            return Err(refuse(value, reason));
        }
        let policy = read_allow_policy(kept(&info.settings, "RedriveAllowPolicy"));
        let allowed = policy.is_none_or(|policy| match policy.redrive_permission.as_str() {
            "denyAll" => false,
            "byQueue" => policy.source_queue_arns.contains(&self.arn_of(source)),
            _ => true,
        });
        if allowed {
            Ok(())
        } else {
            Err(refuse(value, "The dead-letter queue's RedriveAllowPolicy does not allow it."))
        }
    }

    /// The queue that an ARN of this account and region names, if there is one.
    pub(super) async fn queue_of(&self, arn: &str) -> Result<Option<Queue>, SqsError> {
        let settings = &self.shared.settings;
        match queue_of_arn(arn) {
            Some((region, account, name))
                if region == settings.region && account == settings.account =>
            {
                self.queue_named(name).await
            }
            _ => Ok(None),
        }
    }

    pub(super) fn arn_of(&self, name: &str) -> String {
        queue_arn(&self.shared.settings.region, &self.shared.settings.account, name)
    }

    pub(super) async fn list_sources(
        &self,
        p: ListDeadLetterSourceQueues,
    ) -> Result<Answer, SqsError> {
        let target = self.queue(&p.queue_url).await?.name();
        let queues = self.all_queues().await?;
        let sources = queues.iter().map(Queue::info);
        let sources = sources.filter(|info| info.settings.dead_letter.as_ref() == Some(&target));
        let names = sources.map(|info| info.name.to_string());
        let (names, next_token) =
            page(names, p.max_results, p.next_token.as_deref(), self.limits())?;
        let queue_urls = names.iter().map(|name| self.url_of(name)).collect();
        let answer = ListDeadLetterSourceQueuesAnswer { queue_urls, next_token };
        Ok(Answer::ListDeadLetterSourceQueues(answer))
    }
}
