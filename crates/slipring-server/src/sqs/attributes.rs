//! Queue attributes: how they are kept in a queue's settings, and the three actions around them.
//!
//! What means something to the engine is a setting of its own; the rest is kept as text under
//! [`KEY`], and left out where it is the default, so that equal queues have equal settings.

use std::collections::BTreeMap;
use std::time::Duration;

use slipring::{DedupScope, QueueInfo, QueueSettings, QueueStats};
use slipring_wire::sqs::{
    Answer, ErrorCode, GetQueueAttributes, GetQueueAttributesAnswer, SetQueueAttributes, SqsError,
    attributes_by_name, queue_arn,
};

use super::Settings;
use super::call::Call;
use super::queue_type;
use super::redrive::{Redrive, check_allow_policy};

/// What stands before the name of an attribute among the texts of a queue.
const KEY: &str = "sqs:";

/// Retention of queues made by CreateQueue, unless it says otherwise.
const RETENTION_DEFAULT: Duration = Duration::from_secs(345_600);

/// The longest retention that SQS knows; what a queue without retention shows.
const RETENTION_SECONDS_MAX: u64 = 1_209_600;

const MESSAGE_BYTES_DEFAULT: u64 = 1_048_576;

/// Attributes that are only kept, with what an absent one means.
const KEPT: [(&str, &str); 9] = [
    ("ContentBasedDeduplication", "false"),
    ("FifoThroughputLimit", "perQueue"),
    (KMS_PERIOD, "300"),
    (KMS_KEY, ""),
    ("MaximumMessageSize", "1048576"),
    ("Policy", ""),
    ("ReceiveMessageWaitTimeSeconds", "0"),
    ("RedriveAllowPolicy", ""),
    (MANAGED_SSE, "true"),
];

/// The key that a queue is said to be encrypted with.
const KMS_KEY: &str = "KmsMasterKeyId";

/// Encryption without such a key.
const MANAGED_SSE: &str = "SqsManagedSseEnabled";

/// Means something only beside a key.
const KMS_PERIOD: &str = "KmsDataKeyReusePeriodSeconds";

/// Those of them that are numbers.
const NUMBERS: [&str; 3] = [KMS_PERIOD, "MaximumMessageSize", "ReceiveMessageWaitTimeSeconds"];

/// Those of them that are JSON.
const DOCUMENTS: [&str; 2] = ["Policy", "RedriveAllowPolicy"];

/// A kept attribute's text, or its default.
pub(super) fn kept<'s>(settings: &'s QueueSettings, name: &str) -> &'s str {
    // Without building the key: this is on the way of every message.
    let mut found = settings
        .attributes
        .iter()
        .filter_map(|(key, value)| (key.strip_prefix(KEY) == Some(name)).then_some(value.as_str()));
    let default = || KEPT.iter().find(|(kept, _)| *kept == name).map_or("", |(_, value)| *value);
    found.next().unwrap_or_else(default)
}

/// Keeps an attribute's text in its one form; the default and an empty text are kept by being
/// absent.
pub(super) fn keep(settings: &mut QueueSettings, name: &str, value: &str) {
    let key = format!("{KEY}{name}");
    let value = one_form(name, value);
    if value.is_empty() || KEPT.contains(&(name, value.as_str())) {
        settings.attributes.remove(&key);
    } else {
        settings.attributes.insert(key, value);
    }
}

/// The one form of all texts that mean the same: a number without zeros and sign before it, a
/// document without white space and with members by name.
fn one_form(name: &str, value: &str) -> String {
    let found = if NUMBERS.contains(&name) {
        value.parse::<u64>().ok().map(|number| number.to_string())
    } else if DOCUMENTS.contains(&name) {
        serde_json::from_str::<serde_json::Value>(value).ok().map(|document| document.to_string())
    } else {
        None
    };
    found.unwrap_or_else(|| value.to_string())
}

/// Settings as their attributes show them, in the form in which [`apply`] writes them: earlier
/// versions, other protocols and other users may have written another.
pub(super) fn as_shown(mut settings: QueueSettings) -> QueueSettings {
    for (name, _) in KEPT {
        if let Some(value) = settings.attributes.get(&format!("{KEY}{name}")).cloned() {
            keep(&mut settings, name, &value);
        }
    }
    settings.visibility_timeout = Duration::from_secs(settings.visibility_timeout.as_secs());
    settings.delay = Duration::from_secs(settings.delay.as_secs());
    settings.retention = Some(Duration::from_secs(retention_seconds(&settings)));
    let size = message_bytes_max(&settings);
    keep(&mut settings, "MaximumMessageSize", &size.to_string());
    settings.message_bytes_max = engine_bytes_max(size);
    settings
}

/// Whether messages without a deduplication id are known by their body.
pub(super) fn content_based(settings: &QueueSettings) -> bool {
    kept(settings, "ContentBasedDeduplication") == "true"
}

/// The largest message SQS clients may send to the queue.
pub(super) fn message_bytes_max(settings: &QueueSettings) -> u64 {
    let size = kept(settings, "MaximumMessageSize").parse().unwrap_or(MESSAGE_BYTES_DEFAULT);
    size.min(settings.message_bytes_max)
}

/// How long the queue keeps messages, as SQS shows it.
fn retention_seconds(settings: &QueueSettings) -> u64 {
    settings.retention.map_or(RETENTION_SECONDS_MAX, |time| time.as_secs())
}

/// How long a receive waits that does not say.
pub(super) fn receive_wait(settings: &QueueSettings) -> Duration {
    Duration::from_secs(kept(settings, "ReceiveMessageWaitTimeSeconds").parse().unwrap_or(0))
}

/// The engine's limit for a queue of this `MaximumMessageSize`: message attributes are kept as
/// JSON, which can be twice as long as what SQS counts, with names around.
fn engine_bytes_max(size: u64) -> u64 {
    2 * size + 4_096
}

/// The settings of a queue that CreateQueue makes without attributes.
pub(super) fn fresh_settings() -> QueueSettings {
    QueueSettings {
        retention: Some(RETENTION_DEFAULT),
        message_bytes_max: engine_bytes_max(MESSAGE_BYTES_DEFAULT),
        ..QueueSettings::default()
    }
}

/// Takes checked attributes, which fit the type of the queue, over into settings; `redrive` is what
/// `RedrivePolicy` means.
pub(super) fn apply(
    settings: &mut QueueSettings,
    attributes: &BTreeMap<String, String>,
    redrive: Option<&Redrive>,
) -> Result<(), SqsError> {
    for (name, value) in attributes {
        let number = || value.parse::<u64>().map_err(|_| SqsError::bad_attribute(name));
        match name.as_str() {
            "VisibilityTimeout" => settings.visibility_timeout = Duration::from_secs(number()?),
            "DelaySeconds" => settings.delay = Duration::from_secs(number()?),
            "MessageRetentionPeriod" => {
                settings.retention = Some(Duration::from_secs(number()?));
            }
            "MaximumMessageSize" => {
                settings.message_bytes_max = engine_bytes_max(number()?);
                keep(settings, name, value);
            }
            "DeduplicationScope" => {
                let group = value == "messageGroup";
                settings.dedup_scope = if group { DedupScope::Group } else { DedupScope::Queue };
            }
            "FifoQueue" => {}
            "RedrivePolicy" => {
                settings.max_attempts = redrive.map(|redrive| redrive.max_receive_count);
                settings.dead_letter = redrive.map(|redrive| redrive.target.clone());
            }
            "RedriveAllowPolicy" => {
                check_allow_policy(value)?;
                keep(settings, name, value);
            }
            "Policy" => {
                check_document(name, value)?;
                keep(settings, name, value);
            }
            KMS_KEY => {
                // A key ends the encryption without one, which stays off when the key is gone.
                if !value.is_empty() && value != kept(settings, KMS_KEY) {
                    keep(settings, MANAGED_SSE, "false");
                }
                keep(settings, name, value);
            }
            // A key of the same request comes before it, by their names.
            MANAGED_SSE if value == "true" && !kept(settings, KMS_KEY).is_empty() => {
                return Err(SqsError::new(
                    ErrorCode::InvalidAttributeName,
                    "You can use one type of server-side encryption (SSE) at one time. You can \
                     either enable KMS SSE or SQS SSE.",
                ));
            }
            _ => keep(settings, name, value),
        }
    }
    Ok(())
}

/// The first of checked attributes, by their names, that these settings show another value for;
/// they are [`as_shown`].
pub(super) fn first_other<'a>(
    present: &QueueSettings,
    attributes: &'a BTreeMap<String, String>,
    redrive: Option<&Redrive>,
) -> Option<&'a str> {
    let differs = |(name, value): &(&String, &String)| {
        let one = BTreeMap::from([(String::clone(name), String::clone(value))]);
        let mut settings = present.clone();
        !queue_type::has(present.fifo, name)
            || apply(&mut settings, &one, redrive).is_err()
            || settings != *present
    };
    attributes.iter().find(differs).map(|(name, _)| name.as_str())
}

fn check_document(name: &str, value: &str) -> Result<(), SqsError> {
    let document: Result<serde_json::Map<String, serde_json::Value>, _> =
        serde_json::from_str(value);
    if value.is_empty() || document.is_ok() { Ok(()) } else { Err(SqsError::bad_attribute(name)) }
}

/// Every attribute of a queue but for the counts.
fn described(info: &QueueInfo, server: &Settings) -> BTreeMap<String, String> {
    let settings = &info.settings;
    let keyed = !kept(settings, KMS_KEY).is_empty();
    let mut all: BTreeMap<String, String> = KEPT
        .iter()
        .filter(|(name, _)| queue_type::has(settings.fifo, name))
        .filter(|(name, _)| keyed || *name != KMS_PERIOD)
        .map(|(name, _)| (name.to_string(), kept(settings, name).to_string()))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let mut put = |name: &str, value: String| all.insert(name.to_string(), value);
    put("MaximumMessageSize", message_bytes_max(settings).to_string());
    put("VisibilityTimeout", settings.visibility_timeout.as_secs().to_string());
    put("DelaySeconds", settings.delay.as_secs().to_string());
    put("MessageRetentionPeriod", retention_seconds(settings).to_string());
    put("CreatedTimestamp", info.created_at.as_secs().to_string());
    put("LastModifiedTimestamp", info.modified_at.as_secs().to_string());
    let arn = |name: &str| queue_arn(&server.region, &server.account, name);
    put("QueueArn", arn(info.name.as_str()));
    if let (Some(target), Some(count)) = (&settings.dead_letter, settings.max_attempts) {
        // An ARN needs no escaping in JSON.
        let target = arn(target.as_str());
        let policy =
            format!("{{\"deadLetterTargetArn\": \"{target}\", \"maxReceiveCount\": {count}}}");
        put("RedrivePolicy", policy);
    }
    if settings.fifo {
        put("FifoQueue", "true".to_string());
        let group = settings.dedup_scope == DedupScope::Group;
        put("DeduplicationScope", if group { "messageGroup" } else { "queue" }.to_string());
    }
    all
}

/// The attributes that are counted. Parked messages are in none of them: no receive gets them,
/// and none will by itself.
fn counts(stats: &QueueStats) -> [(&'static str, u64); 3] {
    [
        ("ApproximateNumberOfMessages", stats.ready),
        ("ApproximateNumberOfMessagesNotVisible", stats.leased),
        ("ApproximateNumberOfMessagesDelayed", stats.delayed),
    ]
}

impl Call<'_> {
    pub(super) async fn get_attributes(&self, p: GetQueueAttributes) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let names: Vec<&str> = p.attribute_names.iter().map(|name| name.trim()).collect();
        let all = names.contains(&"All");
        let asked = |name: &str| all || names.contains(&name);
        let mut attributes = described(&queue.info(), &self.shared.settings);
        if counts(&QueueStats::default()).iter().any(|(name, _)| asked(name)) {
            let stats = queue.stats().await.map_err(|error| self.refused(&error))?;
            let counted = counts(&stats);
            attributes.extend(counted.map(|(name, count)| (name.to_string(), count.to_string())));
        }
        attributes.retain(|name, _| asked(name));
        Ok(Answer::GetQueueAttributes(GetQueueAttributesAnswer { attributes }))
    }

    pub(super) async fn set_attributes(&self, p: SetQueueAttributes) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let fifo = queue.info().settings.fifo;
        let name = queue.name();
        let attributes = attributes_by_name(p.attributes);
        queue_type::check_set(&attributes, fifo)?;
        let redrive = self.redrive_in(&attributes, name.as_str(), fifo).await?;
        let set =
            move |settings: &mut QueueSettings| apply(settings, &attributes, redrive.as_ref());
        self.change(&queue, set).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(settings: &QueueSettings, name: &str, value: &str) -> QueueSettings {
        let mut settings = settings.clone();
        let attributes = BTreeMap::from([(name.to_string(), value.to_string())]);
        apply(&mut settings, &attributes, None).unwrap();
        settings
    }

    #[test]
    fn naming_a_default_changes_nothing() {
        let mut fifo = fresh_settings();
        fifo.fifo = true;
        for (name, value) in [
            ("VisibilityTimeout", "30"),
            ("MaximumMessageSize", "1048576"),
            ("MessageRetentionPeriod", "345600"),
            ("ReceiveMessageWaitTimeSeconds", "0"),
            ("FifoQueue", "true"),
            ("ContentBasedDeduplication", "false"),
            ("DeduplicationScope", "queue"),
            ("FifoThroughputLimit", "perQueue"),
            ("KmsDataKeyReusePeriodSeconds", "300"),
            ("Policy", ""),
        ] {
            assert_eq!(applied(&fifo, name, value), fifo, "{name}");
        }
    }

    #[test]
    fn texts_that_mean_the_same_are_kept_as_one() {
        let fresh = fresh_settings();
        for (name, one, other) in [
            ("VisibilityTimeout", "7", "007"),
            ("MaximumMessageSize", "2048", "+2048"),
            ("MaximumMessageSize", "1048576", "01048576"),
            ("ReceiveMessageWaitTimeSeconds", "5", "+5"),
            ("ReceiveMessageWaitTimeSeconds", "0", "00"),
            ("KmsDataKeyReusePeriodSeconds", "60", "0060"),
            ("Policy", "{\"a\":[1,{}]}", " { \"a\" : [ 1,\n{} ] } "),
            ("Policy", "{\"a\":2,\"b\":1}", "{\"b\":1,\"a\":2}"),
            (
                "RedriveAllowPolicy",
                "{\"redrivePermission\":\"denyAll\"}",
                "{\"redrivePermission\": \"denyAll\"}",
            ),
        ] {
            assert_eq!(applied(&fresh, name, one), applied(&fresh, name, other), "{name} {other}");
        }
        // As an earlier version may have kept it.
        let mut earlier = fresh.clone();
        earlier.attributes.insert(format!("{KEY}Policy"), "{\"a\": 1}".to_string());
        assert_eq!(as_shown(earlier), applied(&fresh, "Policy", "{\"a\":1}"));
        assert_eq!(kept(&applied(&fresh, "Policy", "{ }"), "Policy"), "{}");
        assert_eq!(kept(&applied(&fresh, "KmsMasterKeyId", "007"), "KmsMasterKeyId"), "007");
    }

    #[test]
    fn what_was_applied_is_described() {
        for (name, value) in [
            ("VisibilityTimeout", "7"),
            ("DelaySeconds", "8"),
            ("MaximumMessageSize", "2048"),
            ("MessageRetentionPeriod", "61"),
            ("ReceiveMessageWaitTimeSeconds", "9"),
            ("Policy", "{}"),
            ("KmsMasterKeyId", "alias/x"),
            ("SqsManagedSseEnabled", "false"),
        ] {
            let info = QueueInfo {
                id: slipring::QueueId(1),
                name: slipring::QueueName::new("q").unwrap(),
                settings: applied(&fresh_settings(), name, value),
                created_at: slipring::Timestamp::from_millis(0),
                modified_at: slipring::Timestamp::from_millis(0),
            };
            let all = described(&info, &Settings::default());
            assert_eq!(all.get(name).map(String::as_str), Some(value), "{name}");
        }
    }
}
