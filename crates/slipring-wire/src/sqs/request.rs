//! From an HTTP request's head and body to an action.

use super::action::Action;
use super::address::queue_name;
use super::error::{ErrorCode, SqsError, shortened};
use super::form::Form;
use super::message::trace_of;

/// The two protocols of the one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// JSON bodies, the action in the header `X-Amz-Target`.
    Json,
    /// Forms with the parameter `Action`, answered in XML.
    Query,
}

/// What of a request's head matters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Head<'a> {
    /// The method.
    pub method: &'a str,
    /// The path of the URL, as sent.
    pub path: &'a str,
    /// The query of the URL, without `?`.
    pub query: Option<&'a str>,
    /// The header `Content-Type`.
    pub content_type: Option<&'a str>,
    /// The header `X-Amz-Target`.
    pub target: Option<&'a str>,
    /// The header `X-Amzn-Trace-Id`.
    pub trace: Option<&'a str>,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What to answer in.
    pub protocol: Protocol,
    /// What is asked for, not checked yet.
    pub action: Action,
}

/// What stands before the action in `X-Amz-Target`.
const TARGET_PREFIX: &str = "AmazonSQS.";

/// Actions that a queue's own path does not take, as they are about no queue that there is.
const NOT_ON_A_QUEUE: [&str; 2] = ["CreateQueue", "ListQueues"];

impl Head<'_> {
    /// Which protocol the client speaks; known before the body is read.
    pub fn protocol(&self) -> Protocol {
        let json = |kind: &str| kind.trim_start().starts_with("application/x-amz-json");
        if self.target.is_some() || self.content_type.is_some_and(json) {
            Protocol::Json
        } else {
            Protocol::Query
        }
    }
}

impl Request {
    /// Reads a request; its parameters are checked by [`Action::check`].
    ///
    /// # Errors
    /// `InvalidAction` for an unknown action or none, or one that the path does not take,
    /// `UnknownOperation` for a GET of a queue's path without one, `NotFound` for another method,
    /// `Serialization` and `MalformedQuery` for a body that cannot be read,
    /// `InvalidParameterValue` for a number or base64 that is none.
    pub fn parse(head: &Head<'_>, body: &[u8]) -> Result<Request, SqsError> {
        let protocol = head.protocol();
        let mut action = match (protocol, head.method) {
            (Protocol::Json, "POST") => {
                let target = head.target.unwrap_or_default();
                let name = target.strip_prefix(TARGET_PREFIX).unwrap_or_default();
                Action::from_json(name, body)
            }
            (Protocol::Query, "POST" | "GET") => {
                let query = head.query.unwrap_or_default().as_bytes();
                let body = if head.method == "POST" { body } else { &[] };
                let form = Form::read(query, body)?;
                let members = form.members();
                let name = members.text("Action").unwrap_or_default();
                check_path(head, name)?;
                Action::from_query(name, &members)
            }
            _ => Err(SqsError::new(
                ErrorCode::NotFound,
                "This server answers POST, and GET in the query protocol.",
            )),
        }?;
        if let Some(url) = action.queue_url()
            && url.is_empty()
            && head.path != "/"
        {
            url.push_str(head.path);
        }
        if let Action::SendMessage(send) = &mut action {
            send.message.trace_header = head.trace.and_then(trace_of);
        }
        Ok(Request { protocol, action })
    }
}

/// Checks in the query protocol that the path takes the action; `/` takes every one. JSON clients
/// may use any path for all of them.
fn check_path(head: &Head<'_>, action: &str) -> Result<(), SqsError> {
    if queue_name(head.path).is_none() {
        return Ok(());
    }
    if action.is_empty() && head.method == "GET" {
        let message = "A GET of a queue's path must name an action.";
        return Err(SqsError::new(ErrorCode::UnknownOperation, message));
    }
    let known = Action::NAMES.contains(&action) && !NOT_ON_A_QUEUE.contains(&action);
    if action.is_empty() || known {
        return Ok(());
    }
    let shown = shortened(action);
    let message = format!("The action {shown} is not valid for this endpoint.");
    Err(SqsError::new(ErrorCode::InvalidAction, message))
}
