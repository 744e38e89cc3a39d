//! The real binary in a folder of its own.

// Each test program uses its part of this module, and helpers of tests may fail like tests.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use slipring::{Clock, SystemClock, Timestamp};
use tempfile::TempDir;

/// Nothing that works takes so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder with a configuration that no other file of this machine can disturb.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// The binary, started in this folder, with nothing of ours in its environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slipring"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SLIPRING_")) {
            command.env_remove(name);
        }
        command
    }

    /// Runs a verb to its end.
    pub fn run(&self, arguments: &[&str]) -> Done {
        self.run_with(arguments, b"")
    }

    /// Runs a verb that reads stdin.
    pub fn run_with(&self, arguments: &[&str], stdin: &[u8]) -> Done {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A verb that ends early need not read everything.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        Done(output(child, arguments))
    }

    /// Starts a server and waits for its first line.
    pub fn start(&self, arguments: &[&str]) -> Running {
        self.start_command(self.command(arguments))
    }

    /// The same for a command that becomes a server.
    pub fn start_command(&self, mut command: Command) -> Running {
        let log = std::fs::File::create(self.path().join("log")).unwrap();
        command.stderr(log);
        self.start_command_with(command)
    }

    /// The same with the stderr that the command has.
    pub fn start_command_with(&self, mut command: Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first_line = String::new();
        stdout.read_line(&mut first_line).unwrap();
        Running { child, stdout, first_line }
    }

    /// Starts `serve` on free ports with a file `slipring.db` and these further arguments.
    pub fn serve(&self, further: &[&str]) -> Running {
        let mut arguments = vec!["serve", "--sqs", "127.0.0.1:0", "--beanstalkd", "127.0.0.1:0"];
        arguments.extend(["--admin", "127.0.0.1:0"]);
        arguments.extend(further);
        self.start(&arguments)
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("log")).unwrap()
    }
}

/// What a verb printed; one that does not end in time is killed.
fn output(child: Child, arguments: &[&str]) -> Output {
    let pid = Pid::from_raw(child.id().try_into().unwrap());
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    match receive.recv_timeout(PATIENCE) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            kill(pid, Signal::SIGKILL).unwrap();
            panic!("it does not end: slipring {arguments:?}");
        }
    }
}

/// A verb that has ended.
#[derive(Debug)]
pub struct Done(Output);

impl Done {
    pub fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    /// Stdout of a verb that has to have gone well.
    pub fn ok(self) -> String {
        assert_eq!(self.code(), 0, "{self:?}");
        self.stdout()
    }

    /// Stdout as JSON.
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}

/// A server that runs until it is dropped.
pub struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub first_line: String,
}

impl Running {
    /// The address that stands after these words in the first line.
    pub fn address(&self, words: &str) -> String {
        let (_, rest) = self.first_line.split_once(words).unwrap_or_else(|| {
            panic!("{words:?} is not in {:?}", self.first_line);
        });
        rest.split([',', '\n']).next().unwrap().trim_start_matches("http://").to_owned()
    }

    pub fn admin(&self) -> String {
        self.address("admin on ")
    }

    /// Sends an SQS action by the query protocol and reads the XML.
    pub fn sqs(&self, action: &str) -> String {
        let mut stream = TcpStream::connect(self.address("SQS on ")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                    content-type: application/x-www-form-urlencoded\r\ncontent-length:";
        write!(stream, "{head} {}\r\n\r\n{action}", action.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// A beanstalkd client.
    pub fn client(&self) -> Client {
        Client::connect(&self.address("beanstalkd on "))
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Limits the size of the files of the running server (`ulimit -f`).
    pub fn limit_files(&self, bytes: u64) {
        let pid = self.child.id().to_string();
        let limit = format!("--fsize={bytes}:");
        assert!(Command::new("prlimit").args(["--pid", &pid, &limit]).status().unwrap().success());
    }

    /// Waits for the end; fails when it does not come in time.
    pub fn ended(mut self, within: Duration) -> (ExitStatus, String) {
        let until = deadline(within);
        let status = wait_for(until, "the server ends", || self.child.try_wait().unwrap());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (status, rest)
    }

    /// Ends the server with SIGTERM; it has to end well within five seconds.
    pub fn stop(self) {
        self.signal(Signal::SIGTERM);
        let (status, rest) = self.ended(Duration::from_secs(5));
        assert_eq!((status.code(), rest.as_str()), (Some(0), ""));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A raw beanstalkd connection.
pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn connect(address: &str) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client(BufReader::new(stream))
    }

    /// Sends commands without waiting for answers.
    pub fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Sends commands and reads one line of answer.
    pub fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.line()
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Everything until the server closes.
    pub fn rest(&mut self) -> String {
        let mut text = String::new();
        self.0.read_to_string(&mut text).unwrap();
        text
    }

    /// The value of a key of `stats`.
    pub fn stat(&mut self, key: &str) -> String {
        let head = self.ask("stats\r\n");
        let bytes: usize = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut text = vec![0; bytes + 2];
        self.0.read_exact(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let prefix = format!("{key}: ");
        text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap().to_owned()
    }
}

fn deadline(within: Duration) -> Timestamp {
    SystemClock::new().now().after(within)
}

fn wait_for<T>(until: Timestamp, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = SystemClock::new();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock.now() < until, "not in time: {what}");
        std::thread::yield_now();
    }
}

/// Waits until something is so.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    wait_for(deadline(PATIENCE), what, || so().then_some(()));
}
