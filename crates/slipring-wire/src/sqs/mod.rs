//! The SQS protocols: HTTP requests to typed actions, answers to bytes, and the rules between.
//!
//! [`Request::parse`] reads either protocol, [`Action::check`] applies the rules that need no
//! queue, [`Response`] writes either protocol. No bytes make any of them panic, and memory is
//! bounded by a small multiple of the body.
//!
//! ```
//! use slipring_wire::sqs::{Action, Head, Limits, Request};
//! let head = Head {
//!     method: "POST",
//!     path: "/",
//!     target: Some("AmazonSQS.DeleteQueue"),
//!     ..Head::default()
//! };
//! let request = Request::parse(&head, br#"{"QueueUrl": "http://host/1/emails"}"#).unwrap();
//! assert!(request.action.check(&Limits::default()).is_ok());
//! assert!(matches!(request.action, Action::DeleteQueue(_)));
//! ```

mod action;
mod address;
mod attribute;
mod batch;
mod bounded;
mod digest;
mod element;
mod error;
mod form;
mod limits;
mod message;
mod queue_attribute;
mod request;
mod response;
mod text;
mod xml;

pub use action::*;
pub use address::{is_arn, queue_arn, queue_name, queue_of_arn, queue_path, queue_url};
pub use attribute::{AttributeValue, Binary, is_asked_for};
pub use batch::{BatchAnswer, FailedEntry, SucceededEntry};
pub use bounded::{List, Map};
pub use digest::{content_id, of_attributes as attributes_digest, of_body as body_digest};
pub use error::{ErrorCode, SqsError};
pub use limits::Limits;
pub use message::{OutgoingMessage, TRACE_HEADER};
pub use queue_attribute::by_name as attributes_by_name;
pub use request::{Head, Protocol, Request};
pub use response::Response;
pub use text::is_allowed as is_allowed_text;
