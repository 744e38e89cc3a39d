//! Errors as SQS clients know them: one table of codes, and the two ways they are written.

use std::fmt;

/// Declares the codes with their shape in the JSON protocol, their code in the query protocol
/// (which JSON clients get in a header too), and their status.
macro_rules! codes {
    ($($(#[doc = $doc:literal])* $code:ident $shape:literal $query:literal $status:literal;)*) => {
        /// What went wrong, by the names of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[doc = $doc])* $code,)*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$code),*];

            /// The name of the shape in the JSON protocol.
            pub fn shape(self) -> &'static str {
                match self { $(ErrorCode::$code => $shape,)* }
            }

            /// The code of the query protocol, also in the entries of a batch's `Failed`.
            pub fn code(self) -> &'static str {
                match self { $(ErrorCode::$code => $query,)* }
            }

            /// The HTTP status.
            pub fn status(self) -> u16 {
                match self { $(ErrorCode::$code => $status,)* }
            }
        }
    };
}

codes! {
    /// There is no such queue.
    QueueDoesNotExist "QueueDoesNotExist" "AWS.SimpleQueueService.NonExistentQueue" 400;
    /// A queue of that name has other attributes.
    QueueNameExists "QueueNameExists" "QueueAlreadyExists" 400;
    /// A queue of that name was deleted less than 60 seconds ago.
    QueueDeletedRecently "QueueDeletedRecently"
        "AWS.SimpleQueueService.QueueDeletedRecently" 400;
    /// The queue was purged less than 60 seconds ago.
    PurgeQueueInProgress "PurgeQueueInProgress"
        "AWS.SimpleQueueService.PurgeQueueInProgress" 403;
    /// The request comes from where none may come from.
    AccessDenied "AccessDeniedException" "AccessDenied" 403;
    /// A limit that clears itself by use: messages in flight, actions of a permission.
    OverLimit "OverLimit" "OverLimit" 403;
    /// A batch without entries.
    EmptyBatchRequest "EmptyBatchRequest" "AWS.SimpleQueueService.EmptyBatchRequest" 400;
    /// A batch with more than ten entries.
    TooManyEntriesInBatchRequest "TooManyEntriesInBatchRequest"
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest" 400;
    /// Two entries of a batch have the same id.
    BatchEntryIdsNotDistinct "BatchEntryIdsNotDistinct"
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct" 400;
    /// An entry's id is too long or has a forbidden character.
    InvalidBatchEntryId "InvalidBatchEntryId" "AWS.SimpleQueueService.InvalidBatchEntryId" 400;
    /// The entries of a batch are too large together.
    BatchRequestTooLong "BatchRequestTooLong" "AWS.SimpleQueueService.BatchRequestTooLong" 400;
    /// The message is not leased by this receipt any more.
    MessageNotInflight "MessageNotInflight" "AWS.SimpleQueueService.MessageNotInflight" 400;
    /// The operation does not apply here.
    UnsupportedOperation "UnsupportedOperation"
        "AWS.SimpleQueueService.UnsupportedOperation" 400;
    /// The receipt handle is not one of this server.
    ReceiptHandleIsInvalid "ReceiptHandleIsInvalid" "ReceiptHandleIsInvalid" 400;
    /// The receipt handle is not one of this queue.
    InvalidIdFormat "InvalidIdFormat" "InvalidIdFormat" 400;
    /// There is no queue attribute of that name.
    InvalidAttributeName "InvalidAttributeName" "InvalidAttributeName" 400;
    /// A queue attribute cannot have that value.
    InvalidAttributeValue "InvalidAttributeValue" "InvalidAttributeValue" 400;
    /// A character that a message may not contain.
    InvalidMessageContents "InvalidMessageContents" "InvalidMessageContents" 400;
    /// A move task, or the queue it names, is not there.
    ResourceNotFound "ResourceNotFoundException" "ResourceNotFoundException" 404;
    /// A queue URL that is none.
    InvalidAddress "InvalidAddress" "InvalidAddress" 400;
    /// Too many requests at the moment.
    RequestThrottled "RequestThrottled" "RequestThrottled" 400;
    /// A parameter out of its range.
    InvalidParameterValue "InvalidParameterValueException" "InvalidParameterValue" 400;
    /// A parameter that must be there is not.
    MissingParameter "MissingRequiredParameterException" "MissingParameter" 400;
    /// No action of that name, or none at all.
    InvalidAction "InvalidAction" "InvalidAction" 400;
    /// A GET of a queue's path that names no action.
    UnknownOperation "UnknownOperationException" "UnknownOperationException" 404;
    /// A body that is not JSON, or a value of the wrong type in it.
    Serialization "SerializationException" "MalformedInput" 400;
    /// A body that is not a form, or has too many parameters.
    MalformedQuery "MalformedQueryString" "MalformedQueryString" 400;
    /// The body is larger than any request may be.
    RequestTooLarge "RequestEntityTooLarge" "RequestEntityTooLarge" 413;
    /// The request took too long to arrive.
    RequestTimeout "RequestTimeout" "RequestTimeout" 408;
    /// A method or path this server does not have.
    NotFound "NotFound" "NotFound" 404;
    /// The server cannot do it at the moment; the same request may work later.
    ServiceUnavailable "ServiceUnavailable" "ServiceUnavailable" 503;
    /// A fault of the server.
    InternalFailure "InternalFailure" "InternalFailure" 500;
}

impl ErrorCode {
    /// What stands before the shape in the JSON protocol; clients go by the shape alone.
    pub(super) fn namespace(self) -> &'static str {
        match self {
            ErrorCode::InvalidParameterValue | ErrorCode::MissingParameter => {
                "com.amazon.coral.service"
            }
            _ => "com.amazonaws.sqs",
        }
    }

    /// Whether the sender is to blame.
    pub fn is_senders(self) -> bool {
        self.status() < 500
    }

    /// `Sender` or `Receiver`, as both protocols name the one to blame.
    pub fn fault(self) -> &'static str {
        if self.is_senders() { "Sender" } else { "Receiver" }
    }
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqsError {
    /// What went wrong.
    pub code: ErrorCode,
    /// A sentence for people.
    pub message: String,
}

impl SqsError {
    /// An error with a sentence.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> SqsError {
        SqsError { code, message: message.into() }
    }

    /// `InvalidParameterValue` with a sentence.
    pub fn invalid(message: impl Into<String>) -> SqsError {
        SqsError::new(ErrorCode::InvalidParameterValue, message)
    }

    /// `InvalidParameterValue` in the words AWS uses for most parameters.
    pub fn bad_value(value: impl fmt::Display, parameter: &str, reason: &str) -> SqsError {
        let value = value.to_string();
        let value = shortened(&value);
        SqsError::invalid(format!(
            "Value {value} for parameter {parameter} is invalid. Reason: {reason}"
        ))
    }

    /// `MissingParameter` naming the parameter.
    pub fn missing(parameter: &str) -> SqsError {
        SqsError::new(
            ErrorCode::MissingParameter,
            format!("The request must contain the parameter {parameter}."),
        )
    }

    /// `QueueDoesNotExist`.
    pub fn no_queue() -> SqsError {
        SqsError::new(ErrorCode::QueueDoesNotExist, "The specified queue does not exist.")
    }

    /// `ReceiptHandleIsInvalid` without the handle, as ChangeMessageVisibility answers.
    pub fn bad_receipt() -> SqsError {
        SqsError::new(ErrorCode::ReceiptHandleIsInvalid, "The input receipt handle is invalid.")
    }

    /// `InvalidAttributeValue` naming the attribute.
    pub fn bad_attribute(name: &str) -> SqsError {
        SqsError::new(
            ErrorCode::InvalidAttributeValue,
            format!("Invalid value for the parameter {name}."),
        )
    }

    /// `InvalidAttributeName` naming the attribute.
    pub fn unknown_attribute(name: &str) -> SqsError {
        SqsError::new(
            ErrorCode::InvalidAttributeName,
            format!("Unknown Attribute {}.", shortened(name)),
        )
    }
}

impl fmt::Display for SqsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.code(), self.message)
    }
}

impl std::error::Error for SqsError {}

/// The beginning of a text of the client, so that an answer never repeats a megabyte.
pub(super) fn shortened(text: &str) -> &str {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or_default(),
        None => text,
    }
}
