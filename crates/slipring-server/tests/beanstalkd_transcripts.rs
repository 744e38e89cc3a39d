//! The recorded beanstalkd conversations, played against our server on a clock that stands still,
//! and, where the original is installed, against the original.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;
#[path = "../../slipring-wire/tests/beanstalkd_transcript/mod.rs"]
mod beanstalkd_transcript;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::AssertUnwindSafe;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use beanstalkd_client::{Client, TestServer, connect};
use beanstalkd_transcript::{Step, Transcript};
use slipring_wire::beanstalkd::yaml;

/// Plays one conversation; `pass` lets time pass.
fn play(transcript: &Transcript, address: SocketAddr, mut pass: impl FnMut(Duration)) {
    let mut clients: BTreeMap<String, Client<TcpStream>> = BTreeMap::new();
    for line in &transcript.lines {
        let at = format!("{}:{} {:?}", transcript.name, line.number, line.step);
        let step = AssertUnwindSafe(|| {
            if let Step::Wait(millis) = line.step {
                return pass(Duration::from_millis(millis));
            }
            let client = clients
                .entry(line.connection.clone())
                .or_insert_with(|| Client::new(connect(address)));
            match &line.step {
                Step::Send(bytes) => client.send(bytes),
                Step::Receive(bytes) => client.expect(bytes),
                Step::ReceivePrefix(bytes) => {
                    let line = client.line();
                    assert!(line.starts_with(bytes), "got {}", line.escape_ascii());
                }
                Step::ReceiveYaml { pairs, items } => check_yaml(&client.text(), pairs, items),
                Step::ReceiveEof => client.expect_end(),
                Step::Close => drop(clients.remove(&line.connection)),
                Step::Wait(_) => {}
            }
        });
        if let Err(panic) = std::panic::catch_unwind(step) {
            eprintln!("at {at}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn check_yaml(text: &str, pairs: &[(String, String)], items: &[String]) {
    let found: BTreeMap<&str, &str> = yaml::pairs(text).collect();
    for (key, value) in pairs {
        let shown = found.get(key.as_str()).unwrap_or_else(|| panic!("no {key} in {text}"));
        assert!(value.split('|').any(|value| value == *shown), "{key} is {shown}, not {value}");
    }
    for item in items {
        assert!(yaml::items(text).any(|found| found == item), "no {item} in {text}");
    }
}

#[test]
fn our_server_answers_every_conversation_as_recorded() {
    for transcript in beanstalkd_transcript::all() {
        let server = TestServer::start();
        play(&transcript, server.address, |passed| server.clock.advance(passed));
    }
}

/// The original program, ended when dropped.
struct Original {
    child: Child,
    address: SocketAddr,
}

impl Original {
    /// `None` where it is not installed.
    fn start() -> Option<Original> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("beanstalkd")
            .args(["-l", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let original = Original { child, address };
        // It listens a moment after its start.
        (0..1000).any(|_| {
            let up = TcpStream::connect(address).is_ok();
            if !up {
                real_time(Duration::from_millis(5));
            }
            up
        });
        Some(original)
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The original goes by the clock of the machine; there is no other way than to let it run.
fn real_time(passed: Duration) {
    let (_never, wait) = mpsc::channel::<()>();
    let _ = wait.recv_timeout(passed);
}

#[test]
fn the_original_answers_every_conversation_as_recorded() {
    for transcript in beanstalkd_transcript::all() {
        // What the probing connection at the start counts, and what version 1.12 does otherwise
        // than the version that we follow; it also notices now and then only late that a
        // reservation lapsed.
        if ["stats_fresh", "lapse"].contains(&transcript.name.as_str()) {
            continue;
        }
        let Some(original) = Original::start() else { return };
        play(&transcript, original.address, real_time);
    }
}
