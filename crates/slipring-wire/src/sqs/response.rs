//! From an answer or an error to an HTTP response's status, headers and body.

use super::action::Answer;
use super::error::{ErrorCode, SqsError};
use super::request::Protocol;
use super::xml::Xml;

/// What AWS says in the query protocol of a queue that does not exist.
const NO_QUEUE_IN_QUERY: &str = "The specified queue does not exist for this wsdl version.";

/// A response, to be sent with the request id in `x-amzn-RequestId`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The header `Content-Type`.
    pub content_type: &'static str,
    /// The header `x-amzn-query-error`: the older code, which SDKs go by.
    pub query_error: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// About what a message has in an answer beside its body.
const MESSAGE_BYTES: usize = 1024;

impl Answer {
    /// The bytes of the bodies in it.
    pub fn body_bytes(&self) -> usize {
        match self {
            Answer::ReceiveMessage(answer) => {
                answer.messages.iter().map(|message| message.body.len()).sum()
            }
            _ => 0,
        }
    }

    /// About what it has when it is written. A buffer that grows is twice as large as what is in
    /// it, and leaves smaller ones behind.
    fn written_bytes(&self) -> usize {
        match self {
            Answer::ReceiveMessage(answer) => {
                self.body_bytes() + (answer.messages.len() + 1) * MESSAGE_BYTES
            }
            _ => MESSAGE_BYTES,
        }
    }
}

impl Response {
    /// The response for an answer; `action` is the action's name.
    pub fn of_answer(
        protocol: Protocol,
        action: &str,
        answer: &Answer,
        request_id: &str,
    ) -> Response {
        match protocol {
            Protocol::Json => {
                let mut body = Vec::with_capacity(answer.written_bytes());
                match answer.write_json(&mut body) {
                    Ok(()) => Response::json(200, body),
                    Err(error) => {
                        let error = SqsError::new(ErrorCode::InternalFailure, error.to_string());
                        Response::of_error(protocol, &error, request_id)
                    }
                }
            }
            Protocol::Query => {
                let mut xml = Xml::with_capacity(answer.written_bytes());
                xml.root(&format!("{action}Response"), |xml| {
                    answer.write_xml(xml);
                    xml.element("ResponseMetadata", |xml| xml.text("RequestId", request_id));
                });
                Response::xml(200, xml)
            }
        }
    }

    /// The response for an error.
    pub fn of_error(protocol: Protocol, error: &SqsError, request_id: &str) -> Response {
        let (code, status) = (error.code, error.code.status());
        match protocol {
            Protocol::Json => {
                let body = serde_json::json!({
                    "__type": format!("{}#{}", code.namespace(), code.shape()),
                    "message": error.message,
                });
                let mut response = Response::json(status, body.to_string().into_bytes());
                response.query_error = Some(format!("{};{}", code.code(), code.fault()));
                response
            }
            Protocol::Query if code == ErrorCode::UnknownOperation => Response {
                body: b"<UnknownOperationException/>".to_vec(),
                ..Response::xml(status, Xml::new())
            },
            Protocol::Query => {
                let message = match code {
                    ErrorCode::QueueDoesNotExist => NO_QUEUE_IN_QUERY,
                    _ => error.message.as_str(),
                };
                let mut xml = Xml::new();
                xml.root("ErrorResponse", |xml| {
                    xml.element("Error", |xml| {
                        xml.text("Type", code.fault());
                        xml.text("Code", code.code());
                        xml.text("Message", message);
                        xml.text("Detail", "");
                    });
                    xml.text("RequestId", request_id);
                });
                Response::xml(status, xml)
            }
        }
    }

    fn json(status: u16, body: Vec<u8>) -> Response {
        let content_type = "application/x-amz-json-1.0";
        Response { status, content_type, query_error: None, body }
    }

    fn xml(status: u16, xml: Xml) -> Response {
        Response { status, content_type: "text/xml", query_error: None, body: xml.into_bytes() }
    }
}
