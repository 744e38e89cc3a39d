//! Servers from elsewhere that find a free port by themselves and say in their log where they
//! listen.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;

use super::server::{Addresses, Server, end};
use crate::guard::Guard;
use crate::guarded::last_lines;

/// A Java or Python program on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Starts a server of the SQS protocol, with its output in the file `log`, and waits until that has
/// `mark` with the address behind it. The server ends also when this process is killed.
///
/// # Errors
/// When it does not start, ends, or does not say within a minute where it listens.
pub async fn start(mut command: Command, log: &Path, mark: &str) -> Result<Server> {
    let file = File::create(log).with_context(|| format!("making {}", log.display()))?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn().with_context(|| format!("starting {command:?}"))?;
    let found = async {
        let guard = Guard::over(child.id(), None, Signal::SIGTERM)?;
        Ok((guard, listening(&mut child, log, mark).await?))
    };
    match found.await {
        Ok((guard, sqs)) => {
            Ok(Server::started(child, Addresses { sqs, ..Addresses::default() }, guard))
        }
        Err(error) => {
            end(&mut child);
            Err(error)
        }
    }
}

async fn listening(child: &mut Child, log: &Path, mark: &str) -> Result<String> {
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        let text = std::fs::read(log).with_context(|| format!("reading {}", log.display()))?;
        let text = String::from_utf8_lossy(&text);
        if let Some(address) = address(&text, mark) {
            return Ok(address.to_owned());
        }
        if let Some(status) = child.try_wait().context("looking after a server")? {
            bail!("the server ended ({status}): {}", last_lines(&text));
        }
        if Instant::now() > deadline {
            bail!("the server does not say where it listens: {}", last_lines(&text));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The address behind a mark, once something follows it: then it is written whole.
fn address<'a>(log: &'a str, mark: &str) -> Option<&'a str> {
    let (_, behind) = log.split_once(mark)?;
    let end = behind.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':'))?;
    behind.get(..end).filter(|address| !address.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn an_address_is_read_once_it_is_written_whole() {
        assert_eq!(address(" * Running on http://127.0.0.1:41\n", "http://"), Some("127.0.0.1:41"));
        assert_eq!(address("bind address 127.0.0.1:41, visible", "address "), Some("127.0.0.1:41"));
        assert_eq!(address("bind address 127.0.0.1:4", "address "), None);
        assert_eq!(address("starting\n", "address "), None);
    }

    #[tokio::test]
    async fn a_server_is_started_when_it_says_where_and_its_last_words_are_told_when_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let server = start(shell("echo at 127.0.0.1:7 >&2; exec sleep 60"), &log, "at ").await;
        let server = server.unwrap();
        assert_eq!(server.addresses().sqs, "127.0.0.1:7");
        server.stop().unwrap();
        let ended = start(shell("echo no port; exit 3"), &log, "at ").await;
        let error = ended.err().unwrap().to_string();
        assert!(error.contains("exit status: 3") && error.ends_with("no port"), "{error}");
    }
}
