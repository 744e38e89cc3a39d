//! From an HTTP request's head and body to an action.

use super::action::Action;
use super::error::{ErrorCode, SqsError};
use super::form::Form;

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
    /// `InvalidAction` for an unknown action or none, `NotFound` for another method,
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
                Action::from_query(members.text("Action").unwrap_or_default(), &members)
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
        Ok(Request { protocol, action })
    }
}
