//! An SQS connection: HTTP/1.1 kept alive by hand where the server does, the JSON protocol, one
//! request at a time.

use std::borrow::Cow;

use anyhow::{Context, Result, bail};
use bytes::{Buf, BytesMut};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Larger answers are taken for a fault of the server.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// A signature that nobody checks. Its scope names the service.
const SCOPED: &str = "Authorization: AWS4-HMAC-SHA256 \
     Credential=lab/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0\r\n";

/// A connection to an SQS endpoint.
pub struct Connection {
    stream: TcpStream,
    host: String,
    out: Vec<u8>,
    input: BytesMut,
    /// Length of the answer given last; it is dropped when the next one is read.
    answered: usize,
    /// Whether the server ends the connection after the answer given last.
    ends: bool,
    /// A line of the head, or nothing.
    authorization: &'static str,
}

/// An answer: status and body.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The body, JSON.
    pub body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// The body of an answer with status 200.
    ///
    /// # Errors
    /// For another status, with the text of the answer.
    pub fn body(self) -> Result<&'a [u8]> {
        if self.status != 200 {
            bail!("SQS answered {}: {}", self.status, String::from_utf8_lossy(self.body));
        }
        Ok(self.body)
    }
}

impl Connection {
    /// Connects to `address` (host:port).
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn open(address: &str) -> Result<Connection> {
        let (stream, host) = (connect(address).await?, address.to_owned());
        let (out, input) = (Vec::with_capacity(8192), BytesMut::with_capacity(16_384));
        let (ends, authorization) = (false, "");
        Ok(Connection { stream, host, out, input, answered: 0, ends, authorization })
    }

    /// From now on requests name the service that they are for, as a server of many services needs
    /// it.
    pub fn name_service(&mut self) {
        self.authorization = SCOPED;
    }

    /// Sends one request and reads its answer; connects anew where the server ended the connection
    /// after the answer before.
    ///
    /// # Errors
    /// When the connection is broken, or the answer is not HTTP with a length.
    pub async fn call(&mut self, action: &str, json: &[u8]) -> Result<Answer<'_>> {
        self.out.clear();
        let head = format!(
            "POST / HTTP/1.1\r\nHost: {}\r\n{}X-Amz-Target: AmazonSQS.{action}\r\n\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n",
            self.host,
            self.authorization,
            json.len()
        );
        self.out.extend_from_slice(head.as_bytes());
        self.out.extend_from_slice(json);
        if self.ends {
            self.stream = connect(&self.host).await?;
        }
        self.stream.write_all(&self.out).await.context("writing to SQS")?;
        self.input.advance(self.answered);
        self.answered = 0;
        let head_end = loop {
            if let Some(at) = memchr::memmem::find(&self.input, b"\r\n\r\n") {
                break at + 4;
            }
            self.read().await?;
        };
        let head = self.input.get(..head_end).unwrap_or_default();
        let Head { status, length, ends } = parse_head(head)?;
        while self.input.len() < head_end + length {
            self.read().await?;
        }
        self.answered = head_end + length;
        self.ends = ends;
        let body = self.input.get(head_end..self.answered).unwrap_or_default();
        Ok(Answer { status, body })
    }

    /// Makes a queue and answers its URL.
    ///
    /// # Errors
    /// As [`Connection::call`], and when the queue is refused.
    pub async fn create_queue(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
    ) -> Result<String> {
        let attributes: serde_json::Map<String, serde_json::Value> =
            attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        let request = serde_json::json!({"QueueName": name, "Attributes": attributes});
        let answer = self.call("CreateQueue", request.to_string().as_bytes()).await?;
        let created: QueueUrl<'_> = serde_json::from_slice(answer.body()?)?;
        Ok(created.url.into_owned())
    }

    async fn read(&mut self) -> Result<()> {
        if self.input.len() > ANSWER_BYTES_MAX {
            bail!("SQS sent more than {ANSWER_BYTES_MAX} bytes in one answer");
        }
        if self.stream.read_buf(&mut self.input).await.context("reading from SQS")? == 0 {
            let closed = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
            return Err(closed).context("the SQS server closed the connection");
        }
        Ok(())
    }
}

async fn connect(address: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).await;
    let stream = stream.with_context(|| format!("connecting to SQS at {address}"))?;
    stream.set_nodelay(true).context("setting TCP_NODELAY")?;
    Ok(stream)
}

/// What of an answer's head matters.
#[derive(Debug, PartialEq)]
struct Head {
    status: u16,
    /// Of the body.
    length: usize,
    /// Whether the connection ends behind the body.
    ends: bool,
}

fn parse_head(head: &[u8]) -> Result<Head> {
    let text = std::str::from_utf8(head).context("an HTTP head that is no text")?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let (mut length, mut ends) = (None, false);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok();
        } else if name.eq_ignore_ascii_case("connection") {
            ends = value.eq_ignore_ascii_case("close");
        }
    }
    match (status, length) {
        (Some(status), Some(length)) if length <= ANSWER_BYTES_MAX => {
            Ok(Head { status, length, ends })
        }
        _ => bail!("not an HTTP answer with a length: {text:?}"),
    }
}

/// Reads a JSON answer whole.
///
/// # Errors
/// When it is not what was expected.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body)
        .with_context(|| format!("an unexpected answer: {}", String::from_utf8_lossy(body)))
}

#[derive(Deserialize)]
struct QueueUrl<'a> {
    #[serde(rename = "QueueUrl", borrow)]
    url: Cow<'a, str>,
}

/// The answer of `ReceiveMessage`.
#[derive(Debug, Deserialize)]
pub struct Received<'a> {
    /// What was handed out; left out when there is nothing.
    #[serde(rename = "Messages", borrow, default)]
    pub messages: Vec<ReceivedMessage<'a>>,
}

/// One message of [`Received`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReceivedMessage<'a> {
    /// What the message is called.
    #[serde(borrow)]
    pub message_id: Cow<'a, str>,
    /// What deletes it.
    #[serde(borrow)]
    pub receipt_handle: Cow<'a, str>,
    /// Its content.
    #[serde(borrow)]
    pub body: Cow<'a, str>,
    /// The digest the server says the body has.
    #[serde(rename = "MD5OfBody", borrow)]
    pub md5_of_body: Cow<'a, str>,
    /// System attributes that were asked for.
    #[serde(borrow, default)]
    pub attributes: std::collections::BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    /// The sender's attributes that were asked for.
    #[serde(borrow, default)]
    pub message_attributes: std::collections::BTreeMap<Cow<'a, str>, TextAttribute<'a>>,
}

/// An attribute of a sender that is a text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TextAttribute<'a> {
    /// The text.
    #[serde(borrow)]
    pub string_value: Cow<'a, str>,
}

/// The answer of a batch of sends or deletes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchAnswer<'a> {
    /// The entries that were done.
    #[serde(borrow, default)]
    pub successful: Vec<BatchDone<'a>>,
    /// The entries that were refused.
    #[serde(borrow, default)]
    pub failed: Vec<BatchFailed<'a>>,
}

/// An entry that was done.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchDone<'a> {
    /// The entry's name within its batch.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The message's name, for sends.
    #[serde(borrow)]
    pub message_id: Option<Cow<'a, str>>,
    /// The digest the server says the body has, for sends.
    #[serde(rename = "MD5OfMessageBody", borrow)]
    pub md5_of_message_body: Option<Cow<'a, str>>,
}

/// An entry that was refused.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchFailed<'a> {
    /// The entry's name within its batch.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Why.
    #[serde(borrow)]
    pub code: Cow<'a, str>,
}

/// The MD5 digest of a body, in hexadecimal, as SQS answers it.
pub fn md5(body: &[u8]) -> String {
    use std::fmt::Write;

    use md5::Digest;

    let mut text = String::with_capacity(32);
    for byte in md5::Md5::digest(body) {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_gives_status_and_length_in_any_case() {
        let head = b"HTTP/1.1 200 OK\r\nx: y\r\nCONTENT-length: 17\r\n\r\n";
        assert_eq!(parse_head(head).unwrap(), Head { status: 200, length: 17, ends: false });
        let head = b"HTTP/1.1 400 Bad\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(parse_head(head).unwrap(), Head { status: 400, length: 0, ends: true });
        assert!(parse_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(parse_head(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n").is_err());
    }

    #[tokio::test]
    async fn a_server_that_ends_each_connection_is_called_on_a_new_one() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move {
            let mut heads = Vec::new();
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = BytesMut::new();
                while !request.ends_with(b"{}") {
                    stream.read_buf(&mut request).await.unwrap();
                }
                heads.push(String::from_utf8_lossy(&request).into_owned());
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
                stream.write_all(answer).await.unwrap();
            }
            heads
        });
        let mut connection = Connection::open(&address).await.unwrap();
        assert_eq!(connection.call("ListQueues", b"{}").await.unwrap().body().unwrap(), b"{}");
        connection.name_service();
        assert_eq!(connection.call("ListQueues", b"{}").await.unwrap().body().unwrap(), b"{}");
        let heads = server.await.unwrap();
        assert!(!heads[0].contains("Authorization"), "{heads:?}");
        assert!(heads[1].contains("/us-east-1/sqs/aws4_request,"), "{heads:?}");
    }

    #[test]
    fn digests_and_answers_read_as_the_protocol_writes_them() {
        assert_eq!(md5(b"hello"), "5d41402abc4b2a76b9719d911017c592");
        let json = br#"{"Messages":[{"MessageId":"a","ReceiptHandle":"r","Body":"x\"y",
            "MD5OfBody":"d","Attributes":{"ApproximateReceiveCount":"2"}}]}"#;
        let received: Received<'_> = serde_json::from_slice(json).unwrap();
        let message = received.messages.first().unwrap();
        assert_eq!(message.body, "x\"y");
        assert_eq!(message.attributes.get("ApproximateReceiveCount").unwrap(), "2");
        let none: Received<'_> = serde_json::from_slice(b"{}").unwrap();
        assert!(none.messages.is_empty());
    }
}
