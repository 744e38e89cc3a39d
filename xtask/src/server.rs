//! A server started from the release binary for the length of a test.
//!
//! It listens on free ports of the loopback interface, is ended by its own process id, and ends
//! by itself should nobody do so.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::process::{self, Outcome};

/// Ends a forgotten server; no test takes as long.
const LIFE_SECONDS: u32 = 900;
const READY_WITHIN: Duration = Duration::from_secs(20);
/// The promise on SIGTERM is five seconds; `timeout` gets one more to tell us.
const STOPPED_WITHIN: Duration = Duration::from_secs(6);

/// Where a server listens, as its first line told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    pub sqs: String,
    pub beanstalkd: String,
    pub admin: String,
}

/// A running server.
pub struct Server {
    pid: u32,
    exit: Receiver<Option<i32>>,
    addresses: Addresses,
}

impl Server {
    /// Starts `binary serve` on free ports over a store; its log goes to `log`.
    pub fn start(binary: &Path, store: &str, log: &Path) -> Outcome<Server> {
        let mut command = process::limited_alone(LIFE_SECONDS, binary);
        command.args(["serve", "--sqs", "127.0.0.1:0", "--beanstalkd", "127.0.0.1:0"]);
        command.args(["--admin", "127.0.0.1:0", "--account", "123456789012"]);
        command.args(["--region", "us-east-1", "--store", store]);
        Server::of(command, log)
    }

    /// Starts a command that tells on its first line where it listens.
    pub fn of(mut command: Command, log: &Path) -> Outcome<Server> {
        let failed = |error| format!("{}: {error}", log.display());
        let log_file = File::create(log).map_err(failed)?;
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log_file);
        let mut child = piped.spawn().map_err(|error| format!("no server: {error}"))?;
        let pid = child.id();
        let first_line = first_line(&mut child)?;
        let exit = watch(child);
        let line = first_line.recv_timeout(READY_WITHIN).ok();
        let Some(line) = line.filter(|line| !line.trim().is_empty()) else {
            signal(pid, "TERM");
            return Err(format!("the server said nothing on stdout: see {}", log.display()));
        };
        Ok(Server { pid, exit, addresses: addresses(&line) })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Ends the server with SIGTERM; fails unless it ends by itself with status 0.
    pub fn stop(self) -> Outcome {
        signal(self.pid, "TERM");
        match self.exit.recv_timeout(STOPPED_WITHIN) {
            Ok(Some(0)) => Ok(()),
            Ok(status) => Err(format!("the server ended with {status:?} on SIGTERM, not with 0")),
            Err(_) => Err(format!("the server runs {STOPPED_WITHIN:?} after SIGTERM")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing to do after `stop`: the thread that watched the child is gone with it.
        if self.exit.try_recv() == Err(mpsc::TryRecvError::Empty) {
            signal(self.pid, "TERM");
        }
    }
}

/// Sends the first line of the child's stdout, and reads the rest so that the child never blocks.
fn first_line(child: &mut Child) -> Outcome<Receiver<String>> {
    let stdout = child.stdout.take().ok_or("the server has no stdout")?;
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Only the first is waited for; later ones find no receiver.
            let _ = send.send(line);
        }
    });
    Ok(receive)
}

/// Waits for the child in a thread of its own and sends its status.
fn watch(mut child: Child) -> Receiver<Option<i32>> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let status = child.wait().ok().and_then(|status| status.code());
        // The receiver is gone when nobody cares any more.
        let _ = send.send(status);
    });
    receive
}

fn signal(pid: u32, name: &str) {
    // A process that is gone already needs no signal.
    process::succeeds(Command::new("sh").arg("-c").arg(format!("kill -{name} {pid}")));
}

/// Reads `127.0.0.1:PORT` after each protocol's name in the first line.
fn addresses(line: &str) -> Addresses {
    let mut addresses = Addresses::default();
    let mut rest = line;
    while let Some(at) = rest.find("127.0.0.1:") {
        let (before, from) = rest.split_at(at);
        let digits = from["127.0.0.1:".len()..].bytes().take_while(u8::is_ascii_digit).count();
        let (address, after) = from.split_at("127.0.0.1:".len() + digits);
        let before = before.to_lowercase();
        let place = if before.contains("beanstalkd") {
            &mut addresses.beanstalkd
        } else if before.contains("sqs") {
            &mut addresses.sqs
        } else {
            &mut addresses.admin
        };
        *place = address.to_owned();
        rest = after;
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_gives_the_address_of_each_protocol() {
        let line = "slipring: SQS on http://127.0.0.1:41, beanstalkd on 127.0.0.1:42, \
                    admin on http://127.0.0.1:43, store sqlite:slipring.db";
        let found = addresses(line);
        assert_eq!(found.sqs, "127.0.0.1:41");
        assert_eq!(found.beanstalkd, "127.0.0.1:42");
        assert_eq!(found.admin, "127.0.0.1:43");
    }

    #[test]
    fn a_server_is_ended_by_its_own_process_id() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        // Ends well when a signal comes, whatever it is doing; a shell may die of it all the same.
        let mut command = process::limited_alone(60, "perl");
        let script = "$SIG{TERM} = sub { exit 0 }; $| = 1; print qq(SQS on 127.0.0.1:9\\n); \
                      sleep 1 while 1";
        command.args(["-e", script]);
        let server = Server::of(command, &log).unwrap();
        assert_eq!(server.addresses().sqs, "127.0.0.1:9");
        server.stop().unwrap();
    }

    #[test]
    fn a_server_that_ends_at_once_is_an_error_that_names_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command = process::limited_alone(60, "sh");
        command.args(["-c", "echo the port is busy >&2; exit 1"]);
        let error = Server::of(command, &log).err().unwrap();
        assert!(error.contains(&log.display().to_string()), "{error}");
        assert_eq!(std::fs::read_to_string(&log).unwrap().trim(), "the port is busy");
    }
}
