//! One request in either protocol, and its answer in one form: what AWS does the same in both is
//! tested once.

use serde_json::{Value, json};
use slipring_wire::sqs::Protocol;

use super::{Client, Reply, TestServer};

/// Runs a test once in each protocol, each time with a server of its own.
pub fn in_both(test: impl Fn(&TestServer, &mut Speaker)) {
    for protocol in [Protocol::Json, Protocol::Query] {
        let server = TestServer::start();
        let mut speaker = Speaker { client: server.connect(), protocol };
        test(&server, &mut speaker);
    }
}

/// A connection whose requests are written in one of the protocols.
pub struct Speaker {
    pub client: Client,
    pub protocol: Protocol,
}

/// An answer.
#[derive(Debug)]
pub struct Told {
    pub status: u16,
    body: Body,
    /// The code of an error, as the query protocol has it.
    pub code: Option<String>,
}

#[derive(Debug)]
enum Body {
    Json(Value),
    Xml(String),
}

impl Speaker {
    /// Sends an action, its parameters given as in JSON.
    pub fn ask(&mut self, action: &str, parameters: Value) -> Told {
        self.ask_with("", action, parameters)
    }

    /// Sends an action with more header lines.
    pub fn ask_with(&mut self, headers: &str, action: &str, parameters: Value) -> Told {
        let (kind, body) = match self.protocol {
            Protocol::Json => (
                format!(
                    "Content-Type: application/x-amz-json-1.0\r\n\
                     X-Amz-Target: AmazonSQS.{action}\r\n"
                ),
                parameters.to_string(),
            ),
            Protocol::Query => (
                "Content-Type: application/x-www-form-urlencoded\r\n".to_string(),
                form(action, &parameters),
            ),
        };
        self.client.ask("POST", "/", &format!("{headers}{kind}"), body.as_bytes());
        Told::of(self.protocol, &self.client.reply())
    }

    /// An action that succeeds.
    pub fn ok(&mut self, action: &str, parameters: Value) -> Told {
        let told = self.ask(action, parameters);
        assert_eq!(told.status, 200, "{action}: {told:?}");
        told
    }

    /// Code and text of an action that is refused with status 400.
    pub fn refused(&mut self, action: &str, parameters: Value) -> (String, String) {
        let told = self.ask(action, parameters);
        assert_eq!(told.status, 400, "{action}: {told:?}");
        told.error()
    }

    /// A new queue's URL.
    pub fn create(&mut self, name: &str, attributes: Value) -> String {
        let made = self.ok("CreateQueue", json!({ "QueueName": name, "Attributes": attributes }));
        made.text("QueueUrl")
    }

    /// An attribute of a queue.
    pub fn attribute(&mut self, url: &str, name: &str) -> Option<String> {
        let asked = json!({ "QueueUrl": url, "AttributeNames": [name] });
        self.ok("GetQueueAttributes", asked).attribute(name)
    }

    /// Up to so many messages: their bodies, and the whole answer.
    pub fn receive(&mut self, url: &str, most: u32) -> (Vec<String>, Told) {
        let asked = json!({
            "QueueUrl": url,
            "MaxNumberOfMessages": most,
            "AttributeNames": ["All"],
            "MessageAttributeNames": ["All"],
        });
        let told = self.ok("ReceiveMessage", asked);
        (told.texts("Body"), told)
    }

    /// Sets the rest of a message's visibility timeout.
    pub fn change(&mut self, url: &str, handle: &str, seconds: u32) -> Told {
        let asked =
            json!({ "QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": seconds });
        self.ask("ChangeMessageVisibility", asked)
    }
}

impl Told {
    pub fn of(protocol: Protocol, reply: &Reply) -> Told {
        let body = match protocol {
            Protocol::Json => Body::Json(reply.json()),
            Protocol::Query => Body::Xml(reply.text()),
        };
        let mut told = Told { status: reply.status, body, code: None };
        told.code = match (told.status, protocol) {
            (200, _) => None,
            (_, Protocol::Json) => Some(reply.code()),
            (_, Protocol::Query) => told.texts("Code").into_iter().next(),
        };
        told
    }

    /// Code and text of an error.
    pub fn error(&self) -> (String, String) {
        let text = match &self.body {
            Body::Json(_) => self.text("message"),
            Body::Xml(_) => self.text("Message"),
        };
        (self.code.clone().unwrap_or_else(|| panic!("{self:?}")), text)
    }

    /// Every value of a member, in the order of the answer.
    pub fn texts(&self, member: &str) -> Vec<String> {
        match &self.body {
            Body::Json(value) => {
                let mut found = Vec::new();
                collect(value, member, &mut found);
                let text = |value: &Value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                found.iter().map(|value| text(value)).collect()
            }
            Body::Xml(text) => elements(text, member).iter().map(|text| plain(text)).collect(),
        }
    }

    /// The only value of a member.
    pub fn text(&self, member: &str) -> String {
        let mut found = self.texts(member);
        assert_eq!(found.len(), 1, "{member} in {self:?}");
        found.remove(0)
    }

    /// Names and values of `Attributes` or `Attribute`, in the order of the answer.
    pub fn attributes(&self) -> Vec<(String, String)> {
        match &self.body {
            Body::Json(value) => {
                let mut found = Vec::new();
                collect(value, "Attributes", &mut found);
                let maps = found.iter().filter_map(|value| value.as_object());
                let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
                maps.flatten().map(|(name, value)| (name.clone(), text(value))).collect()
            }
            Body::Xml(text) => {
                let first = |text: &str, name| plain(elements(text, name)[0]);
                let pair = |text: &&str| (first(text, "Name"), first(text, "Value"));
                elements(text, "Attribute").iter().map(pair).collect()
            }
        }
    }

    /// The first value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.attributes().into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }
}

/// The values of a member at any depth.
fn collect<'v>(value: &'v Value, member: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, member, found)),
        Value::Object(members) => {
            for (name, value) in members {
                if name == member {
                    found.push(value);
                } else {
                    collect(value, member, found);
                }
            }
        }
        _ => {}
    }
}

/// What stands in the elements of a name; none of them stands in another one of the name.
fn elements<'x>(xml: &'x str, name: &str) -> Vec<&'x str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let empty = format!("<{name}/>");
    let (mut found, mut rest) = (Vec::new(), xml);
    loop {
        let at = (rest.find(&open), rest.find(&empty));
        match at {
            (Some(full), none) if none.is_none_or(|none| full < none) => {
                let (inside, after) = rest[full + open.len()..].split_once(&close).unwrap();
                found.push(inside);
                rest = after;
            }
            (_, Some(none)) => {
                found.push("");
                rest = &rest[none + empty.len()..];
            }
            _ => return found,
        }
    }
}

fn plain(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

/// Parameters of JSON as a form of the query protocol.
fn form(action: &str, parameters: &Value) -> String {
    let mut pairs = vec![("Action".to_string(), action.to_string())];
    members(action, "", parameters, &mut pairs);
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// The names that lists have in the query protocol.
fn listed(action: &str, name: &str) -> String {
    match name {
        "Entries" => format!("{action}RequestEntry"),
        "Actions" => "ActionName".to_string(),
        plural => plural.trim_end_matches('s').to_string(),
    }
}

fn members(action: &str, prefix: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
    for (name, value) in value.as_object().unwrap() {
        match value {
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    let place = format!("{prefix}{}.{}", listed(action, name), at + 1);
                    match value {
                        Value::Object(_) => {
                            members(action, &format!("{place}."), value, pairs);
                        }
                        text => pairs.push((place, text.as_str().unwrap().to_string())),
                    }
                }
            }
            Value::Object(entries) => {
                for (at, (key, value)) in entries.iter().enumerate() {
                    let place = format!("{prefix}{}.{}", listed(action, name), at + 1);
                    pairs.push((format!("{place}.Name"), key.clone()));
                    match value {
                        Value::Object(_) => {
                            members(action, &format!("{place}.Value."), value, pairs);
                        }
                        text => pairs
                            .push((format!("{place}.Value"), text.as_str().unwrap().to_string())),
                    }
                }
            }
            Value::String(text) => pairs.push((format!("{prefix}{name}"), text.clone())),
            other => pairs.push((format!("{prefix}{name}"), other.to_string())),
        }
    }
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(escape).collect()
}
