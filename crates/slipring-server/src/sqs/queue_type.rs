//! The two types of queues: which attributes a request may name about each.

use std::collections::BTreeMap;

use slipring_wire::sqs::{ErrorCode, SqsError};

/// Makes a FIFO queue; `true` is all that it can be.
const FIFO: &str = "FifoQueue";

/// Attributes that only FIFO queues have.
const FIFO_ONLY: [&str; 3] =
    ["ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"];

/// Whether queues of the type have the attribute.
pub(super) fn has(fifo: bool, name: &str) -> bool {
    fifo || (name != FIFO && !FIFO_ONLY.contains(&name))
}

/// Whether these attributes make a FIFO queue.
pub(super) fn of_new(attributes: &BTreeMap<String, String>) -> bool {
    attributes.get(FIFO).is_some_and(|value| value == "true")
}

/// Checks that a queue can be made with these attributes.
///
/// # Errors
/// `InvalidAttributeName` for a standard queue that names one of a FIFO queue, whatever its value.
pub(super) fn check_new(attributes: &BTreeMap<String, String>) -> Result<(), SqsError> {
    let fifo = of_new(attributes);
    match attributes.keys().find(|name| !has(fifo, name)) {
        None => Ok(()),
        Some(name) if name == FIFO || name == "ContentBasedDeduplication" => {
            Err(SqsError::unknown_attribute(name))
        }
        Some(name) => Err(SqsError::new(
            ErrorCode::InvalidAttributeName,
            format!("You can specify the {name} only when FifoQueue is set to true."),
        )),
    }
}

/// Checks that these attributes of a queue of the type can be set.
///
/// # Errors
/// `InvalidAttributeName` for one that the queue does not have, `InvalidAttributeValue` for another
/// type.
pub(super) fn check_set(attributes: &BTreeMap<String, String>, fifo: bool) -> Result<(), SqsError> {
    if let Some(name) = attributes.keys().find(|name| !has(fifo, name)) {
        return Err(SqsError::unknown_attribute(name));
    }
    if fifo && attributes.get(FIFO).is_some_and(|value| value != "true") {
        return Err(SqsError::new(
            ErrorCode::InvalidAttributeValue,
            format!(
                "Invalid value for the parameter {FIFO}. Reason: Modifying queue type is not \
                 supported."
            ),
        ));
    }
    Ok(())
}
