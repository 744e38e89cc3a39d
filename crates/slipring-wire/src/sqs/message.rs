//! A message as both sending actions carry it.

use serde::Deserialize;

use super::attribute::{self, AttributeValue};
use super::bounded::Map;
use super::error::SqsError;
use super::form::Members;
use super::limits::Limits;
use super::text;

/// The one system attribute that may be sent.
pub const TRACE_HEADER: &str = "AWSTraceHeader";

/// Traces are much shorter.
const TRACE_HEADER_BYTES_MAX: usize = 1_024;

/// The trace in a header `X-Amzn-Trace-Id`. What a message could not have is none: the header may
/// come from a proxy that knows nothing of messages, and the send is not to fail for it.
pub(super) fn trace_of(header: &str) -> Option<String> {
    let header = header.trim();
    let good = !header.is_empty() && header.len() <= TRACE_HEADER_BYTES_MAX;
    (good && text::is_allowed(header)).then(|| header.to_string())
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingMessage {
    /// The text.
    pub body: String,
    /// How long it stays invisible, in seconds; `None` takes the queue's delay.
    pub delay_seconds: Option<i64>,
    /// What the client attached.
    pub attributes: Map<AttributeValue>,
    /// What the client's runtime attached; only [`TRACE_HEADER`] exists.
    pub system_attributes: Map<AttributeValue>,
    /// What came as the HTTP header `X-Amzn-Trace-Id`; counts as [`TRACE_HEADER`] where that is
    /// not among the system attributes. A single message may have it, an entry of a batch not.
    pub trace_header: Option<String>,
    /// The deduplication id.
    pub deduplication_id: Option<String>,
    /// The message group.
    pub group_id: Option<String>,
}

/// The members of SendMessage and of an entry of SendMessageBatch, as they are in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct MessageMembers {
    pub(super) queue_url: String,
    pub(super) id: String,
    message_body: String,
    delay_seconds: Option<i64>,
    message_attributes: Map<AttributeValue>,
    message_system_attributes: Map<AttributeValue>,
    message_deduplication_id: Option<String>,
    message_group_id: Option<String>,
}

impl MessageMembers {
    pub(super) fn into_message(self) -> OutgoingMessage {
        OutgoingMessage {
            body: self.message_body,
            delay_seconds: self.delay_seconds,
            attributes: self.message_attributes,
            system_attributes: self.message_system_attributes,
            trace_header: None,
            deduplication_id: self.message_deduplication_id,
            group_id: self.message_group_id,
        }
    }
}

impl OutgoingMessage {
    pub(super) fn from_query(members: &Members<'_>) -> Result<OutgoingMessage, SqsError> {
        Ok(OutgoingMessage {
            body: members.string("MessageBody"),
            delay_seconds: members.number("DelaySeconds")?,
            attributes: attribute::from_query(members, "MessageAttribute")?,
            system_attributes: attribute::from_query(members, "MessageSystemAttribute")?,
            trace_header: None,
            deduplication_id: members.maybe("MessageDeduplicationId"),
            group_id: members.maybe("MessageGroupId"),
        })
    }

    /// The trace that the message carries: the parameter's, or else the header's.
    pub fn trace(&self) -> Option<&str> {
        match self.system_attributes.get(TRACE_HEADER) {
            Some(value) => value.string_value.as_deref(),
            None => self.trace_header.as_deref(),
        }
    }

    /// Bytes that count against the limit of the queue: body and attributes.
    pub fn size(&self) -> u64 {
        self.body.len() as u64 + attribute::size(&self.attributes)
    }

    /// Checks everything that can be checked without knowing the queue, except the size.
    ///
    /// # Errors
    /// `MissingParameter`, `InvalidMessageContents`, `InvalidParameterValue`.
    pub fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        if self.body.is_empty() {
            return Err(SqsError::missing("MessageBody"));
        }
        text::check(&self.body)?;
        attribute::check(&self.attributes, limits)?;
        self.check_system_attributes()?;
        if let Some(delay) = self.delay_seconds
            && !(0..=limits.delay_seconds_max).contains(&delay)
        {
            let reason = format!("DelaySeconds must be >= 0 and <= {}.", limits.delay_seconds_max);
            return Err(SqsError::bad_value(delay, "DelaySeconds", &reason));
        }
        for (name, id) in
            [("MessageGroupId", &self.group_id), ("MessageDeduplicationId", &self.deduplication_id)]
        {
            if let Some(id) = id {
                check_id(name, id, limits)?;
            }
        }
        Ok(())
    }

    fn check_system_attributes(&self) -> Result<(), SqsError> {
        if self.system_attributes.sent > self.system_attributes.len() {
            return Err(SqsError::invalid("Too many message system attributes; one exists."));
        }
        for (name, value) in self.system_attributes.iter() {
            if name != TRACE_HEADER {
                return Err(SqsError::bad_value(
                    name,
                    "MessageSystemAttributes",
                    "The only message system attribute that can be sent is AWSTraceHeader.",
                ));
            }
            match &value.string_value {
                Some(text) if value.data_type == "String" && !text.is_empty() => {
                    text::check(text)?;
                    attribute::check_fields(name, value)?;
                }
                _ => {
                    return Err(SqsError::invalid(
                        "The message system attribute 'AWSTraceHeader' must be a non-empty \
                         String.",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Checks the characters of a message group or deduplication id.
///
/// # Errors
/// `InvalidParameterValue`.
pub fn check_id(parameter: &str, id: &str, limits: &Limits) -> Result<(), SqsError> {
    let allowed = |b: u8| b.is_ascii_graphic();
    if id.is_empty() || id.len() > limits.fifo_id_bytes_max || !id.bytes().all(allowed) {
        let reason = format!(
            "{parameter} can only include alphanumeric and punctuation characters. 1 to {} in \
             length.",
            limits.fifo_id_bytes_max
        );
        return Err(SqsError::bad_value(id, parameter, &reason));
    }
    Ok(())
}
