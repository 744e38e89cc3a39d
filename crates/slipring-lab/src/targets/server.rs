//! Server processes: the real `slipring` binary and the original beanstalkd, started for a run
//! and ended by their own process ids.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Wait;
use crate::guard::Guard;
use crate::waits::classes::{Metrics, Source};

const READY_WITHIN: Duration = Duration::from_secs(20);
/// The promise on SIGTERM is five seconds.
const STOPPED_WITHIN: Duration = Duration::from_secs(6);
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Names the binary to test instead of the one in the target folder.
pub const BINARY_VARIABLE: &str = "SLIPRING_BINARY";

/// Variables of an environment, and their values.
pub type Variables = [(&'static str, String)];

/// Where a server listens, as host:port; empty where it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// The SQS protocol.
    pub sqs: String,
    /// The beanstalkd protocol.
    pub beanstalkd: String,
    /// The admin API.
    pub admin: String,
}

/// A running server process; dropping it kills it.
pub struct Server {
    child: Child,
    addresses: Addresses,
    /// Of one from elsewhere. Dropped after the process has ended, so that it never ends another.
    _guard: Option<Guard>,
}

impl Server {
    /// Starts `slipring serve` with its store in the file `store`, on the addresses `at` or else
    /// on free ports.
    ///
    /// # Errors
    /// When the binary is missing or does not say within 20 s where it listens.
    pub fn slipring(store: &Path, at: Option<&Addresses>) -> Result<Server> {
        let log = store.with_extension("log");
        Server::serving(&format!("sqlite:{}", store.display()), &log, at)
    }

    /// Starts `slipring serve` with a store by its address, on the addresses `at` or else on free
    /// ports; what it logs is added to the file `log`.
    ///
    /// # Errors
    /// When the binary is missing or does not say within 20 s where it listens.
    pub fn serving(store: &str, log: &Path, at: Option<&Addresses>) -> Result<Server> {
        Server::serving_in(&[], store, log, at)
    }

    /// As [`Server::serving`], with these variables in its environment.
    ///
    /// # Errors
    /// As [`Server::serving`].
    pub fn serving_in(
        environment: &Variables,
        store: &str,
        log: &Path,
        at: Option<&Addresses>,
    ) -> Result<Server> {
        let any = || "127.0.0.1:0".to_owned();
        let free = Addresses { sqs: any(), beanstalkd: any(), admin: any() };
        let at = at.unwrap_or(&free);
        let or_off = |address: &'_ str| if address.is_empty() { "off" } else { address }.to_owned();
        let mut command = Command::new(binary()?);
        command.envs(environment.iter().map(|(name, value)| (*name, value)));
        command.args(["serve", "--sqs", &or_off(&at.sqs)]);
        command.args(["--beanstalkd", &or_off(&at.beanstalkd)]);
        command.args(["--admin", &or_off(&at.admin), "--store", store]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(appended(log)?);
        let mut child = command.spawn().context("starting slipring")?;
        let line = match first_line(&mut child) {
            Ok(line) => line,
            Err(error) => {
                end(&mut child);
                return Err(error);
            }
        };
        Ok(Server { child, addresses: addresses(&line), _guard: None })
    }

    /// Starts the original beanstalkd on a free port, without a log or with one in a folder, which
    /// is flushed at most every so many milliseconds (0: at each write), or as often as it does by
    /// itself.
    ///
    /// # Errors
    /// When it is not installed or does not listen within 20 s.
    pub async fn beanstalkd(log: Option<(&Path, Option<u32>)>) -> Result<Server> {
        Server::beanstalkd_in(&[], None, log).await
    }

    /// As [`Server::beanstalkd`], with these variables in its environment, at an address where one
    /// was before.
    ///
    /// # Errors
    /// As [`Server::beanstalkd`].
    pub async fn beanstalkd_in(
        environment: &Variables,
        at: Option<&str>,
        log: Option<(&Path, Option<u32>)>,
    ) -> Result<Server> {
        let address = at.map_or_else(free_address, |at| Ok(at.to_owned()))?;
        let port = address.rsplit(':').next().unwrap_or_default();
        let mut command = Command::new("beanstalkd");
        command.envs(environment.iter().map(|(name, value)| (*name, value)));
        command.args(["-l", "127.0.0.1", "-p", port]);
        if let Some((folder, flush_ms)) = log {
            command.arg("-b").arg(folder);
            if let Some(flush_ms) = flush_ms {
                command.arg("-f").arg(flush_ms.to_string());
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => anyhow::anyhow!(
                "beanstalkd is not installed; on Debian: apt-get install beanstalkd"
            ),
            _ => error.into(),
        })?;
        let addresses = Addresses { beanstalkd: address, ..Addresses::default() };
        let server = Server { child, addresses, _guard: None };
        let deadline = Instant::now() + READY_WITHIN;
        while TcpStream::connect(&server.addresses.beanstalkd).is_err() {
            if Instant::now() > deadline {
                bail!("beanstalkd does not listen on {}", server.addresses.beanstalkd);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(server)
    }

    /// A server that was started elsewhere in the lab and listens on these addresses.
    pub(super) fn started(child: Child, addresses: Addresses, guard: Guard) -> Server {
        Server { child, addresses, _guard: Some(guard) }
    }

    /// Where it listens.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Its wait table; empty for a server that has no admin API.
    ///
    /// # Errors
    /// When the admin API does not answer with one.
    pub fn waits(&self) -> Result<Vec<Wait>> {
        let address = &self.addresses.admin;
        if address.is_empty() {
            return Ok(Vec::new());
        }
        let mut stream = TcpStream::connect(address).context("connecting to the admin API")?;
        stream.set_read_timeout(Some(STOPPED_WITHIN)).context("setting a time-out")?;
        let get = format!("GET /v1/waits HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(get.as_bytes()).context("asking the admin API")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).context("reading from the admin API")?;
        let json = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let table: WaitTable =
            serde_json::from_str(json).with_context(|| format!("no wait table: {answer:?}"))?;
        Ok(table.waits)
    }

    /// Where its wait classes are read; nothing for a server that has no admin API.
    ///
    /// # Errors
    /// None in practice; the address is checked.
    pub fn wait_source(&self) -> Result<Source> {
        match self.addresses.admin.as_str() {
            "" => Ok(Source::Nothing),
            admin => Metrics::new(admin, None).map(Source::Metrics),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it with SIGKILL, and waits until it is gone.
    ///
    /// # Errors
    /// When it had ended by itself before: a crash of its own is a finding.
    pub fn kill(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait().context("looking after the server")? {
            bail!("the server ended by itself: {status}");
        }
        self.child.kill().context("killing the server")?;
        self.child.wait().context("waiting for the killed server")?;
        Ok(())
    }

    /// Lets it stand still until [`Server::go_on`].
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::SIGSTOP)
    }

    /// Lets it go on after [`Server::pause`].
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn go_on(&self) -> Result<()> {
        self.signal(Signal::SIGCONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).context("a process id beyond 2^31")?;
        kill(Pid::from_raw(pid), signal).with_context(|| format!("sending {signal}"))
    }

    /// SIGTERM, and SIGKILL when `until` returns; it may have ended between the two.
    ///
    /// # Errors
    /// When it had ended by itself before.
    pub fn kill_ending(mut self, until: impl FnOnce()) -> Result<()> {
        if let Some(status) = self.child.try_wait().context("looking after the server")? {
            bail!("the server ended by itself: {status}");
        }
        self.signal(Signal::SIGTERM)?;
        until();
        end(&mut self.child);
        Ok(())
    }

    /// Ends it with SIGTERM.
    ///
    /// # Errors
    /// When it does not end within 6 s, or had ended before.
    pub fn stop(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait().context("looking after the server")? {
            bail!("the server ended by itself: {status}");
        }
        self.signal(Signal::SIGTERM)?;
        let deadline = Instant::now() + STOPPED_WITHIN;
        while self.child.try_wait().context("waiting for the server")?.is_none() {
            if Instant::now() > deadline {
                bail!("the server runs {STOPPED_WITHIN:?} after SIGTERM");
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

/// The admin API's wait table.
#[derive(serde::Deserialize)]
struct WaitTable {
    waits: Vec<Wait>,
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Kills a process and waits until it is gone.
pub(super) fn end(child: &mut Child) {
    // A process that is gone already needs no signal.
    let _ = child.kill();
    let _ = child.wait();
}

/// A server's log goes on over restarts.
fn appended(path: &Path) -> Result<std::fs::File> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.with_context(|| format!("opening {}", path.display()))
}

fn first_line(child: &mut Child) -> Result<String> {
    let stdout = child.stdout.take().context("the server has no stdout")?;
    let (send, receive) = mpsc::channel();
    // The thread reads on, so that the server never blocks on its stdout.
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Only the first line is waited for; later ones find no receiver.
            let _ = send.send(line);
        }
    });
    let line = receive.recv_timeout(READY_WITHIN).ok().filter(|line| !line.trim().is_empty());
    line.context("the server did not say where it listens; see its log")
}

/// Reads the address after each protocol's name in the first line.
fn addresses(line: &str) -> Addresses {
    let mut addresses = Addresses::default();
    let mut rest = line;
    while let Some(at) = rest.find("127.0.0.1:") {
        let (before, from) = rest.split_at(at);
        let end = from.bytes().position(|b| !(b.is_ascii_digit() || b == b'.' || b == b':'));
        let (address, after) = from.split_at(end.unwrap_or(from.len()));
        let before = before.to_lowercase();
        if before.contains("beanstalkd") {
            addresses.beanstalkd = address.trim_end_matches(['.', ':']).to_owned();
        } else if before.contains("sqs") {
            addresses.sqs = address.trim_end_matches(['.', ':']).to_owned();
        } else if before.contains("admin") {
            addresses.admin = address.trim_end_matches(['.', ':']).to_owned();
        }
        rest = after;
    }
    addresses
}

/// A loopback address nobody listens on at the moment.
///
/// # Errors
/// When the machine has no free port.
pub fn free_address() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    Ok(listener.local_addr().context("reading the port")?.to_string())
}

/// The `slipring` binary: the one named by the environment, else the one beside this program.
///
/// # Errors
/// When there is none.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(BINARY_VARIABLE) {
        return Ok(path.into());
    }
    let own = std::env::current_exe().context("finding this program")?;
    let path = own.with_file_name("slipring");
    if !path.exists() {
        bail!(
            "there is no {}; build it: cargo build --release -p slipring-cli, or name it in {}",
            path.display(),
            BINARY_VARIABLE
        );
    }
    Ok(path)
}

/// Builds the `slipring` binary and the library of the slow disk beside this program, so that what
/// is measured is what is written.
/// Does nothing where a binary is named by the environment, or without cargo.
///
/// # Errors
/// When the build fails.
pub fn build() -> Result<()> {
    let Some(cargo) = std::env::var_os("CARGO") else { return Ok(()) };
    if std::env::var_os(BINARY_VARIABLE).is_some() {
        return Ok(());
    }
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "slipring-cli"]);
    command.args(["--package", "slipring-slowdisk"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let status = command.status().context("running cargo")?;
    if !status.success() {
        bail!("cargo could not build slipring-cli and slipring-slowdisk");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_gives_the_address_of_each_protocol() {
        let line = "slipring: SQS on http://127.0.0.1:41, beanstalkd on 127.0.0.1:42, \
                    admin on http://127.0.0.1:43. Storing in x";
        let found = addresses(line);
        assert_eq!(found.sqs, "127.0.0.1:41");
        assert_eq!(found.beanstalkd, "127.0.0.1:42");
        assert_eq!(found.admin, "127.0.0.1:43");
    }
}
