//! The kinds of hostile connections: what each says at first, and what it says again and again.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How a connection misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Kind {
    /// It says nothing.
    Idle,
    /// A head, or a command, that comes by a few bytes and never ends.
    SlowHeader,
    /// A body that is announced and comes by a few bytes.
    SlowBody,
    /// Half of a job, and then nothing.
    StalledPut,
    /// It asks for large answers and reads none.
    Unread,
    /// It watches 999 tubes that no other client uses.
    Watch,
}

/// Where it connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Listener {
    /// The SQS protocol.
    Sqs,
    /// The beanstalkd protocol.
    Beanstalkd,
    /// The admin API.
    Admin,
}

impl Listener {
    /// All of them.
    pub const ALL: [Listener; 3] = [Listener::Sqs, Listener::Beanstalkd, Listener::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Listener::Sqs => "SQS",
            Listener::Beanstalkd => "beanstalkd",
            Listener::Admin => "admin",
        }
    }
}

/// A kind of hostile connections at a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attack {
    /// How they misbehave.
    pub kind: Kind,
    /// Where they connect.
    pub listener: Listener,
}

/// Every kind at each listener where there is such a thing.
pub const ATTACKS: [Attack; 13] = {
    use Kind::{Idle, SlowBody, SlowHeader, StalledPut, Unread, Watch};
    use Listener::{Admin, Beanstalkd, Sqs};
    const fn at(kind: Kind, listener: Listener) -> Attack {
        Attack { kind, listener }
    }
    [
        at(Idle, Sqs),
        at(Idle, Beanstalkd),
        at(Idle, Admin),
        at(SlowHeader, Sqs),
        at(SlowHeader, Beanstalkd),
        at(SlowHeader, Admin),
        at(SlowBody, Sqs),
        at(SlowBody, Admin),
        at(StalledPut, Beanstalkd),
        at(Unread, Sqs),
        at(Unread, Beanstalkd),
        at(Unread, Admin),
        at(Watch, Beanstalkd),
    ]
};

/// The queue that has the large messages.
pub const BAIT: &str = "bait";
/// The size of each of them: the largest job of the original.
pub const BAIT_BYTES: usize = 65_000;
/// How many there are: as many as SQS gives at once.
pub const BAIT_MESSAGES: usize = 10;

const TUBES: usize = 999;
const PEEKS: usize = 100;
/// Of a job of 60,000 bytes so many come.
const PUT_BYTES: usize = 30_000;

impl Attack {
    /// Its name.
    pub fn name(self) -> String {
        let kind = match self.kind {
            Kind::Idle => "idle",
            Kind::SlowHeader => "slow header",
            Kind::SlowBody => "slow body",
            Kind::StalledPut => "stalled put",
            Kind::Unread => "unread answers",
            Kind::Watch => "watch flood",
        };
        format!("{kind}, {}", self.listener.name())
    }

    /// What the connection of this number says at first, in a process of this number.
    pub fn opening(self, process: u32, connection: usize) -> Vec<u8> {
        let post = "POST / HTTP/1.1\r\nHost: localhost\r\n";
        let admin = format!("/v1/queues/{BAIT}/messages");
        let text = match (self.kind, self.listener) {
            (Kind::Idle, _) => String::new(),
            (Kind::SlowHeader, Listener::Beanstalkd) => "use a".to_owned(),
            (Kind::SlowHeader, _) => post.to_owned(),
            (Kind::SlowBody, Listener::Admin) => {
                let json = "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{";
                format!("POST {admin} HTTP/1.1\r\nHost: localhost\r\n{json}")
            }
            (Kind::SlowBody, _) => {
                let target = "X-Amz-Target: AmazonSQS.SendMessage\r\n";
                let kind = "Content-Type: application/x-amz-json-1.0\r\n";
                format!("{post}{target}{kind}Content-Length: 60000\r\n\r\n{{")
            }
            (Kind::StalledPut, _) => format!("put 0 0 60 60000\r\n{}", "x".repeat(PUT_BYTES)),
            (Kind::Unread, Listener::Sqs) => receive(post),
            (Kind::Unread, Listener::Beanstalkd) => {
                format!("use {BAIT}\r\n{}", "peek-ready\r\n".repeat(PEEKS))
            }
            (Kind::Unread, Listener::Admin) => {
                format!("GET {admin}?limit=100 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            }
            (Kind::Watch, _) => {
                let tube = |tube| format!("watch flood-{process}-{connection}-{tube}\r\n");
                (0..TUBES).map(tube).collect()
            }
        };
        text.into_bytes()
    }

    /// What it says again every now and then; nothing for one that is silent. One that does not
    /// read hears by this that it was let go.
    pub fn drip(self) -> &'static [u8] {
        match (self.kind, self.listener) {
            (Kind::Idle | Kind::StalledPut | Kind::Watch, _) => b"",
            (Kind::SlowHeader, Listener::Beanstalkd) => b"a",
            (Kind::SlowHeader, _) => b"X-A: b\r\n",
            (Kind::SlowBody, _) => b"        ",
            (Kind::Unread, _) => b"\r\n",
        }
    }

    /// Whether it reads what it is answered.
    pub fn reads(self) -> bool {
        self.kind != Kind::Unread
    }
}

/// A receive that leaves the messages where they are.
fn receive(post: &str) -> String {
    let form = format!(
        "Action=ReceiveMessage&QueueUrl={BAIT}&MaxNumberOfMessages={BAIT_MESSAGES}\
         &VisibilityTimeout=0"
    );
    let kind = "Content-Type: application/x-www-form-urlencoded";
    format!("{post}{kind}\r\nContent-Length: {}\r\n\r\n{form}", form.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attack_says_what_it_is_named_for() {
        let said = |at: usize| String::from_utf8(ATTACKS[at].opening(7, 3)).unwrap();
        assert_eq!(said(0), "");
        assert!(!said(3).contains("\r\n\r\n") && said(6).contains("\r\n\r\n"));
        assert!(said(8).len() < 60_000);
        assert_eq!(said(10).matches("peek-ready").count(), PEEKS);
        assert!(said(12).starts_with("watch flood-7-3-0\r\n"));
        assert_eq!(said(12).lines().count(), TUBES);
        let names: std::collections::HashSet<String> = ATTACKS.map(Attack::name).into();
        assert_eq!(names.len(), ATTACKS.len());
    }
}
