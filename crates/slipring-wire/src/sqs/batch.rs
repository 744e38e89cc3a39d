//! The rules that the three batch actions share, and the entries of their answers.

use serde::Serialize;

use super::bounded::List;
use super::error::{ErrorCode, SqsError};
use super::limits::Limits;
use super::xml::Xml;

/// An entry of a batch, known by its id.
pub(super) trait Entry {
    /// The id the client gave it.
    fn id(&self) -> &str;
}

/// Checks count and ids of a batch; `kind` is the name of its action without `Batch`.
///
/// # Errors
/// `EmptyBatchRequest`, `TooManyEntriesInBatchRequest`, `InvalidBatchEntryId`,
/// `BatchEntryIdsNotDistinct`.
pub(super) fn check<T: Entry>(
    entries: &List<T>,
    kind: &str,
    limits: &Limits,
) -> Result<(), SqsError> {
    if entries.sent == 0 {
        return Err(SqsError::new(
            ErrorCode::EmptyBatchRequest,
            format!("There should be at least one {kind}BatchRequestEntry in the request."),
        ));
    }
    if entries.sent > limits.batch_entries_max {
        return Err(SqsError::new(
            ErrorCode::TooManyEntriesInBatchRequest,
            format!(
                "Maximum number of entries per request are {}. You have sent {}.",
                limits.batch_entries_max, entries.sent
            ),
        ));
    }
    for (at, entry) in entries.iter().enumerate() {
        let id = entry.id();
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if id.is_empty() || id.len() > limits.entry_id_bytes_max || !id.bytes().all(allowed) {
            return Err(SqsError::new(
                ErrorCode::InvalidBatchEntryId,
                "A batch entry id can only contain alphanumeric characters, hyphens and \
                 underscores. It can be at most 80 letters long.",
            ));
        }
        if entries.iter().take(at).any(|earlier| earlier.id() == id) {
            let message = format!("Id {id} repeated.");
            return Err(SqsError::new(ErrorCode::BatchEntryIdsNotDistinct, message));
        }
    }
    Ok(())
}

/// An entry that was refused while its neighbours may have succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct FailedEntry {
    /// The id the client gave it.
    pub id: String,
    /// The code, as in an error of the query protocol.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Whether the sender is to blame.
    pub sender_fault: bool,
}

impl FailedEntry {
    /// A refused entry.
    pub fn new(id: impl Into<String>, error: SqsError) -> FailedEntry {
        FailedEntry {
            id: id.into(),
            code: error.code.code().to_string(),
            message: error.message,
            sender_fault: error.code.is_senders(),
        }
    }

    pub(super) fn write_xml(&self, xml: &mut Xml) {
        xml.element("BatchResultErrorEntry", |xml| {
            xml.text("Id", &self.id);
            xml.text("Code", &self.code);
            xml.text("Message", &self.message);
            xml.text("SenderFault", if self.sender_fault { "true" } else { "false" });
        });
    }
}

/// The answer of a batch whose entries say nothing but their id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchAnswer {
    /// The entries that succeeded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successful: Vec<SucceededEntry>,
    /// The entries that were refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedEntry>,
}

/// The id of an entry that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SucceededEntry {
    /// The id the client gave it.
    pub id: String,
}

impl BatchAnswer {
    /// Adds what became of an entry.
    pub fn add(&mut self, id: String, outcome: Result<(), SqsError>) {
        match outcome {
            Ok(()) => self.successful.push(SucceededEntry { id }),
            Err(error) => self.failed.push(FailedEntry::new(id, error)),
        }
    }

    pub(super) fn write_xml(&self, xml: &mut Xml, entry: &str) {
        for succeeded in &self.successful {
            xml.element(entry, |xml| xml.text("Id", &succeeded.id));
        }
        for failed in &self.failed {
            failed.write_xml(xml);
        }
    }
}
