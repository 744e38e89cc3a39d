//! A running SQS server over the memory store, with a clock set by hand, and a client that speaks
//! HTTP over a plain socket.

// Each test program uses a part.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub mod both;
#[path = "../running/mod.rs"]
pub mod running;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use slipring::Engine;
use slipring_server::deadlines::Deadlines;
use slipring_server::sqs::{Server, Settings};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use running::{PATIENCE, until};
use running::{Running, Serves};

/// A running server.
pub type TestServer = Running<Server>;

impl Serves for Server {
    type Settings = Settings;
    type Listener = TcpListener;

    fn patient() -> Settings {
        let idle = Duration::from_secs(1 << 32);
        let deadlines = Deadlines { idle, ..Deadlines::default() };
        Settings { deadlines, ..Settings::default() }
    }

    async fn listen() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    fn make(engine: Engine, settings: Settings) -> Server {
        Server::new(engine, settings)
    }

    async fn run(self, listener: TcpListener, stop: CancellationToken) {
        self.serve(listener, stop).await;
    }
}

impl TestServer {
    pub fn connect(&self) -> Client {
        Client::new(self.address)
    }

    /// Waits until so many receives wait on the queue.
    pub fn wait_for_waiting(&self, queue: &str, count: usize) {
        let queue = self.runtime.block_on(self.engine.queue(queue)).unwrap();
        until(|| queue.waiting() == count);
    }
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    /// The code that SDKs go by.
    pub fn code(&self) -> String {
        let header = self.header("x-amzn-query-error").unwrap_or_else(|| panic!("{self:?}"));
        header.split(';').next().unwrap().to_string()
    }
}

/// The ARN of a queue.
pub fn arn(name: &str) -> String {
    format!("arn:aws:sqs:us-east-1:000000000000:{name}")
}

/// A queue with a dead-letter queue after so many receives.
pub fn with_dead_letters(client: &mut Client, receives: u32) -> (String, String) {
    let dead = client.create("dead", json!({}));
    let policy = json!({ "deadLetterTargetArn": arn("dead"), "maxReceiveCount": receives });
    let attributes = json!({ "RedrivePolicy": policy.to_string(), "VisibilityTimeout": "1" });
    (client.create("live", attributes), dead)
}

/// A connection.
pub struct Client {
    pub stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream: BufReader::new(stream), address }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Sends a request without reading its reply.
    pub fn ask(&mut self, method: &str, target: &str, headers: &str, body: &[u8]) {
        let host = self.address;
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        self.send(request);
    }

    pub fn reply(&mut self) -> Reply {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("got {line:?}"));
        let status = status.parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_string()));
        }
        let mut reply = Reply { status, headers, body: Vec::new() };
        let length = reply.header("content-length").unwrap().parse().unwrap();
        reply.body.resize(length, 0);
        self.stream.read_exact(&mut reply.body).unwrap();
        reply
    }

    /// Sends an action in JSON without reading its reply.
    pub fn start(&mut self, action: &str, parameters: &Value) {
        let headers = format!(
            "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.{action}\r\n"
        );
        self.ask("POST", "/", &headers, parameters.to_string().as_bytes());
    }

    /// An action in JSON.
    pub fn call(&mut self, action: &str, parameters: Value) -> Reply {
        self.start(action, &parameters);
        self.reply()
    }

    /// An action in JSON that succeeds.
    pub fn ok(&mut self, action: &str, parameters: Value) -> Value {
        let reply = self.call(action, parameters);
        assert_eq!(reply.status, 200, "{action}: {}", reply.text());
        reply.json()
    }

    /// The code of an action in JSON that is refused.
    pub fn refused(&mut self, action: &str, parameters: Value) -> String {
        let reply = self.call(action, parameters);
        assert_ne!(reply.status, 200, "{action}: {}", reply.text());
        reply.code()
    }

    /// An action in the query protocol.
    pub fn query(&mut self, path: &str, form: &str) -> Reply {
        let headers = "Content-Type: application/x-www-form-urlencoded\r\n";
        self.ask("POST", path, headers, form.as_bytes());
        self.reply()
    }

    /// A new queue's URL.
    pub fn create(&mut self, name: &str, attributes: Value) -> String {
        let made = self.ok("CreateQueue", json!({ "QueueName": name, "Attributes": attributes }));
        made["QueueUrl"].as_str().unwrap().to_string()
    }

    /// Sends a message; answers what SendMessage says.
    pub fn put(&mut self, url: &str, body: &str) -> Value {
        self.ok("SendMessage", json!({ "QueueUrl": url, "MessageBody": body }))
    }

    /// Up to ten messages, with all that can be asked for.
    pub fn receive(&mut self, url: &str) -> Vec<Value> {
        let asked = json!({
            "QueueUrl": url,
            "MaxNumberOfMessages": 10,
            "MessageSystemAttributeNames": ["All"],
            "MessageAttributeNames": ["All"],
        });
        let received = self.ok("ReceiveMessage", asked);
        received["Messages"].as_array().cloned().unwrap_or_default()
    }

    /// The bodies of up to ten messages.
    pub fn bodies(&mut self, url: &str) -> Vec<String> {
        let messages = self.receive(url);
        messages.iter().map(|message| message["Body"].as_str().unwrap().to_string()).collect()
    }

    /// An attribute of a queue.
    pub fn attribute(&mut self, url: &str, name: &str) -> Option<String> {
        let asked = json!({ "QueueUrl": url, "AttributeNames": [name] });
        let got = self.ok("GetQueueAttributes", asked);
        got["Attributes"][name].as_str().map(str::to_string)
    }

    /// The newest move task of the dead-letter queue.
    pub fn newest_task(&mut self) -> Value {
        let tasks = self.ok("ListMessageMoveTasks", json!({ "SourceArn": arn("dead") }));
        tasks["Results"][0].clone()
    }
}
