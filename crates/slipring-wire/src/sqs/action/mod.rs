//! The 23 actions: a file for each, with its parameters and its answer.

use serde::de::DeserializeOwned;

use super::bounded::{List, Map};
use super::element::Element;
use super::error::{ErrorCode, SqsError, shortened};
use super::form::Members;
use super::limits::Limits;
use super::xml::Xml;

/// The parameters of an action.
pub(super) trait Parameters: DeserializeOwned {
    /// Takes the parameters out of a request in the query protocol.
    fn from_query(members: &Members<'_>) -> Result<Self, SqsError>;

    /// The queue URL, for those that have one. A request to a queue's own path may leave it out.
    fn queue_url(&mut self) -> Option<&mut String> {
        None
    }

    /// Checks what can be checked without knowing the queue.
    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        Ok(())
    }
}

/// Declares the actions: module, parameters, and the answer where there is one.
macro_rules! actions {
    ($($module:ident $action:ident $($answer:ident)?;)*) => {
        $(mod $module;)*
        $(pub use $module::{$action $(, $answer)?};)*

        /// What a client asks for.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Action {
            $(#[doc = concat!("The action ", stringify!($action), ".")] $action($action),)*
        }

        impl Action {
            /// The names of all actions.
            pub const NAMES: &[&str] = &[$(stringify!($action)),*];

            /// The name of the action, as clients send it.
            pub fn name(&self) -> &'static str {
                match self { $(Action::$action(_) => stringify!($action),)* }
            }

            /// Its place in [`Action::NAMES`].
            pub fn number(&self) -> usize {
                enum Place { $($action),* }
                match self { $(Action::$action(_) => Place::$action as usize,)* }
            }

            /// Checks what can be checked without knowing the queue: sizes, ranges, names,
            /// characters. The size of single messages depends on the queue.
            ///
            /// # Errors
            /// The protocol's error for the first parameter that is wrong.
            pub fn check(&self, limits: &Limits) -> Result<(), SqsError> {
                match self { $(Action::$action(parameters) => parameters.check(limits),)* }
            }

            pub(super) fn queue_url(&mut self) -> Option<&mut String> {
                match self { $(Action::$action(parameters) => parameters.queue_url(),)* }
            }

            pub(super) fn from_json(name: &str, body: &[u8]) -> Result<Action, SqsError> {
                match name {
                    $(stringify!($action) => parse(body).map(Action::$action),)*
                    other => Err(unknown(other)),
                }
            }

            pub(super) fn from_query(
                name: &str,
                members: &Members<'_>,
            ) -> Result<Action, SqsError> {
                match name {
                    $(stringify!($action) => {
                        $action::from_query(members).map(Action::$action)
                    })*
                    other => Err(unknown(other)),
                }
            }
        }

        /// What an action answers.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Answer {
            /// Success, with nothing to say.
            Nothing,
            $($(#[doc = concat!("Of ", stringify!($action), ".")] $action($answer),)?)*
        }

        impl Answer {
            pub(super) fn write_json(&self, into: &mut Vec<u8>) -> Result<(), serde_json::Error> {
                match self {
                    Answer::Nothing => into.extend_from_slice(b"{}"),
                    $($(Answer::$action(answer) => {
                        let _: &$answer = answer;
                        serde_json::to_writer(into, answer)?;
                    })?)*
                }
                Ok(())
            }

            pub(super) fn write_xml(&self, xml: &mut Xml) {
                match self {
                    Answer::Nothing => {}
                    $($(Answer::$action(answer) => {
                        let answer: &$answer = answer;
                        xml.element(concat!(stringify!($action), "Result"), |xml| {
                            answer.write_xml(xml);
                        });
                    })?)*
                }
            }
        }
    };
}

actions! {
    add_permission AddPermission;
    cancel_message_move_task CancelMessageMoveTask CancelMessageMoveTaskAnswer;
    change_message_visibility ChangeMessageVisibility;
    change_message_visibility_batch
        ChangeMessageVisibilityBatch ChangeMessageVisibilityBatchAnswer;
    create_queue CreateQueue CreateQueueAnswer;
    delete_message DeleteMessage;
    delete_message_batch DeleteMessageBatch DeleteMessageBatchAnswer;
    delete_queue DeleteQueue;
    get_queue_attributes GetQueueAttributes GetQueueAttributesAnswer;
    get_queue_url GetQueueUrl GetQueueUrlAnswer;
    list_dead_letter_source_queues ListDeadLetterSourceQueues ListDeadLetterSourceQueuesAnswer;
    list_message_move_tasks ListMessageMoveTasks ListMessageMoveTasksAnswer;
    list_queue_tags ListQueueTags ListQueueTagsAnswer;
    list_queues ListQueues ListQueuesAnswer;
    purge_queue PurgeQueue;
    receive_message ReceiveMessage ReceiveMessageAnswer;
    remove_permission RemovePermission;
    send_message SendMessage SendMessageAnswer;
    send_message_batch SendMessageBatch SendMessageBatchAnswer;
    set_queue_attributes SetQueueAttributes;
    start_message_move_task StartMessageMoveTask StartMessageMoveTaskAnswer;
    tag_queue TagQueue;
    untag_queue UntagQueue;
}

pub use change_message_visibility_batch::ChangeMessageVisibilityEntry;
pub use delete_message_batch::DeleteMessageEntry;
pub use list_message_move_tasks::MoveTask;
pub use receive_message::ReceivedMessage;
pub use send_message_batch::{SendMessageEntry, SentEntry};

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, SqsError> {
    let body = if body.is_empty() { b"{}".as_slice() } else { body };
    let parsed = serde_json::from_slice(body).map(|Element(parameters)| parameters);
    parsed.map_err(|error| {
        // The message may repeat a whole text of the body.
        let error = error.to_string();
        let message = format!("The request body is refused: {}", shortened(&error));
        SqsError::new(ErrorCode::Serialization, message)
    })
}

fn unknown(name: &str) -> SqsError {
    let shown = shortened(name);
    let message = if name.is_empty() {
        "The request names no action.".to_string()
    } else {
        format!("The action {shown} is not valid for this web service.")
    };
    SqsError::new(ErrorCode::InvalidAction, message)
}

/// Checks that a parameter is there.
fn require(parameter: &str, value: &str) -> Result<(), SqsError> {
    if value.is_empty() { Err(SqsError::missing(parameter)) } else { Ok(()) }
}

/// Checks a number that may be left out.
fn check_range(
    parameter: &str,
    value: Option<i64>,
    range: std::ops::RangeInclusive<i64>,
) -> Result<(), SqsError> {
    match value {
        Some(value) if !range.contains(&value) => {
            let reason =
                format!("Must be between {} and {}, if provided.", range.start(), range.end());
            Err(SqsError::bad_value(value, parameter, &reason))
        }
        _ => Ok(()),
    }
}

/// Checks a list's texts: present, and none of them empty.
fn require_list(parameter: &str, list: &List<String>) -> Result<(), SqsError> {
    if list.sent == 0 { Err(SqsError::missing(parameter)) } else { Ok(()) }
}

/// Checks a visibility timeout that may be left out.
fn check_visibility(seconds: Option<i64>, limits: &Limits) -> Result<(), SqsError> {
    match seconds {
        Some(seconds) if seconds > limits.visibility_seconds_max => {
            let reason =
                format!("Maximum visibility timeout is {}.", limits.visibility_seconds_max);
            Err(SqsError::bad_value(seconds, "VisibilityTimeout", &reason))
        }
        Some(seconds) if seconds < 0 => {
            Err(SqsError::bad_value(seconds, "VisibilityTimeout", "Must be >= 0."))
        }
        _ => Ok(()),
    }
}

/// Checks names and values of tags; how many a queue may have depends on those it has.
fn check_tags(tags: &Map<String>) -> Result<(), SqsError> {
    const KEY_CHARS_MAX: usize = 128;
    const VALUE_CHARS_MAX: usize = 256;
    for (key, value) in tags.iter() {
        if key.is_empty() || key.chars().nth(KEY_CHARS_MAX).is_some() {
            return Err(SqsError::invalid(
                "Tag keys must be between 1 and 128 characters in length.",
            ));
        }
        if value.chars().nth(VALUE_CHARS_MAX).is_some() {
            return Err(SqsError::invalid("Tag values must be at most 256 characters in length."));
        }
    }
    Ok(())
}
