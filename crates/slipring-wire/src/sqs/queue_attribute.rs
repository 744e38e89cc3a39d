//! The attributes of queues: their names, and which values they may have.

use std::collections::BTreeMap;

use super::bounded::Map;
use super::error::SqsError;

/// How the values of an attribute are checked.
#[derive(Clone, Copy)]
enum Values {
    /// A whole number in a range.
    Number(u64, u64),
    /// `true` or `false`, in lower case or with a capital first letter.
    Flag,
    /// One of some words.
    Words(&'static [&'static str]),
    /// A JSON document, read where it matters.
    Document,
    /// Any text.
    Text,
    /// Counted or made by the server; cannot be set.
    ReadOnly,
}

/// Every attribute with its values, in the order of their names.
const ATTRIBUTES: &[(&str, Values)] = &[
    ("ApproximateNumberOfMessages", Values::ReadOnly),
    ("ApproximateNumberOfMessagesDelayed", Values::ReadOnly),
    ("ApproximateNumberOfMessagesNotVisible", Values::ReadOnly),
    ("ContentBasedDeduplication", Values::Flag),
    ("CreatedTimestamp", Values::ReadOnly),
    ("DeduplicationScope", Values::Words(&["messageGroup", "queue"])),
    ("DelaySeconds", Values::Number(0, 900)),
    ("FifoQueue", Values::Flag),
    ("FifoThroughputLimit", Values::Words(&["perQueue", "perMessageGroupId"])),
    ("KmsDataKeyReusePeriodSeconds", Values::Number(60, 86_400)),
    ("KmsMasterKeyId", Values::Text),
    ("LastModifiedTimestamp", Values::ReadOnly),
    ("MaximumMessageSize", Values::Number(1_024, 1_048_576)),
    ("MessageRetentionPeriod", Values::Number(60, 1_209_600)),
    ("Policy", Values::Document),
    ("QueueArn", Values::ReadOnly),
    ("ReceiveMessageWaitTimeSeconds", Values::Number(0, 20)),
    ("RedriveAllowPolicy", Values::Document),
    ("RedrivePolicy", Values::Document),
    ("SqsManagedSseEnabled", Values::Flag),
    ("VisibilityTimeout", Values::Number(0, 43_200)),
];

/// Whether GetQueueAttributes may ask for it.
pub fn is_known(name: &str) -> bool {
    name == "All" || values_of(name).is_some()
}

/// Checks attributes that are to be set.
///
/// # Errors
/// `InvalidAttributeName`, `InvalidAttributeValue`.
pub fn check(attributes: &BTreeMap<String, String>) -> Result<(), SqsError> {
    for (name, value) in attributes {
        let good = match values_of(name.trim()) {
            None | Some(Values::ReadOnly) => return Err(SqsError::unknown_attribute(name)),
            Some(Values::Number(least, most)) => {
                value.parse().is_ok_and(|number: u64| (least..=most).contains(&number))
            }
            Some(Values::Flag) => flag(value).is_some(),
            Some(Values::Words(words)) => words.contains(&value.as_str()),
            // An empty document takes the policy away.
            Some(Values::Document | Values::Text) => true,
        };
        if !good {
            return Err(SqsError::bad_attribute(name));
        }
    }
    Ok(())
}

/// Attributes by their names without the spaces around, which some clients send, and with `True`
/// and `False` in lower case, which is the one form of flags from here on.
pub fn by_name(attributes: Map<String>) -> BTreeMap<String, String> {
    let one_form = |(name, value): (String, String)| {
        let name = name.trim();
        let flag = matches!(values_of(name), Some(Values::Flag)).then(|| flag(&value)).flatten();
        (name.to_string(), flag.map_or(value, str::to_string))
    };
    attributes.into_map().into_iter().map(one_form).collect()
}

/// A flag in lower case.
fn flag(value: &str) -> Option<&'static str> {
    match value {
        "true" | "True" => Some("true"),
        "false" | "False" => Some("false"),
        _ => None,
    }
}

fn values_of(name: &str) -> Option<Values> {
    let at = ATTRIBUTES.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    ATTRIBUTES.get(at).map(|(_, values)| *values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqs::ErrorCode;

    fn code(name: &str, value: &str) -> Option<ErrorCode> {
        let attributes = BTreeMap::from([(name.to_string(), value.to_string())]);
        check(&attributes).err().map(|error| error.code)
    }

    #[test]
    fn every_attribute_is_found() {
        for (name, _) in ATTRIBUTES {
            assert!(is_known(name), "{name}");
        }
        assert!(is_known("All") && !is_known("") && !is_known("Visibility"));
    }

    #[test]
    fn values_outside_their_range_are_refused() {
        for (name, good, bad) in [
            ("DelaySeconds", ["0", "900"], ["-1", "901"]),
            ("MaximumMessageSize", ["1024", "1048576"], ["1023", "1048577"]),
            ("MessageRetentionPeriod", ["60", "1209600"], ["59", "1209601"]),
            ("ReceiveMessageWaitTimeSeconds", ["0", "20"], ["21", "one"]),
            ("VisibilityTimeout", ["0", "43200"], ["43201", ""]),
            ("KmsDataKeyReusePeriodSeconds", ["60", "86400"], ["59", "86401"]),
            ("FifoQueue", ["true", "false"], ["tru", "TRUE"]),
            ("FifoQueue", ["True", "False"], ["", "1"]),
            ("DeduplicationScope", ["queue", "messageGroup"], ["group", ""]),
        ] {
            for value in good {
                assert_eq!(code(name, value), None, "{name}={value}");
            }
            for value in bad {
                let refused = Some(ErrorCode::InvalidAttributeValue);
                assert_eq!(code(name, value), refused, "{name}={value}");
            }
        }
        assert_eq!(code("QueueArn", "x"), Some(ErrorCode::InvalidAttributeName));
        assert_eq!(code("Nothing", "x"), Some(ErrorCode::InvalidAttributeName));
    }

    #[test]
    fn flags_have_one_form_and_texts_keep_theirs() {
        let sent = [(" FifoQueue ", "True"), ("SqsManagedSseEnabled", "False"), ("Policy", "True")];
        let sent: Map<String> =
            sent.map(|(name, value)| (name.into(), value.into())).into_iter().collect();
        let read = by_name(sent);
        let read: Vec<(&str, &str)> = read.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let expected =
            [("FifoQueue", "true"), ("Policy", "True"), ("SqsManagedSseEnabled", "false")];
        assert_eq!(read, expected);
    }
}
