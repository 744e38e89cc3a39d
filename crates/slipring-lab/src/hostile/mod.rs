//! `hostile`: connections by the thousand that misbehave, one kind after another, beside good
//! clients of all listeners. It asks for the server's memory, the good clients' sends, and how soon
//! all is as before.

mod attack;
pub mod crowd;
mod good;
mod phase;
mod report;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use slipring_wire::beanstalkd::{Command, Put, Reply, TubeName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use self::attack::{ATTACKS, Attack, BAIT, BAIT_BYTES, BAIT_MESSAGES, Kind, Listener};
use self::phase::Scene;
use crate::findings::Findings;
use crate::folder;
use crate::interrupt::Interrupt;
use crate::targets::server::{self, Server};
use crate::wire::beanstalkd::Connection;
use crate::workloads;

/// What is run, and what becomes of it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// How many hostile connections there are of each kind; by default 20,000.
    #[arg(long)]
    connections: Option<usize>,
    /// Seconds of each attack; by default 15, which is longer than the deadlines of heads, bodies
    /// and answers that are not read.
    #[arg(long)]
    seconds: Option<f64>,
    /// Only these kinds.
    #[arg(long, value_enum)]
    kind: Vec<Kind>,
    /// Only these listeners are attacked.
    #[arg(long, value_enum)]
    listener: Vec<Listener>,
    /// 100 connections for a second of each kind; limits on times are no checks then.
    #[arg(long)]
    smoke: bool,
    /// Keep tables and raw data in a dated folder inside this one; otherwise they go to
    /// target/lab/hostile.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Fail when a check is missed.
    #[arg(long)]
    strict: bool,
}

const CONNECTIONS: usize = 20_000;
const SECONDS: f64 = 15.0;
const SMOKE: (usize, f64) = (100, 0.5);
const LENGTH_MAX: Duration = Duration::from_secs(3600);
const CONNECTIONS_MAX: usize = 200_000;

impl Options {
    fn sizes(&self) -> Result<(usize, Duration)> {
        let (connections, seconds) = if self.smoke { SMOKE } else { (CONNECTIONS, SECONDS) };
        let connections = self.connections.unwrap_or(connections);
        if connections == 0 || connections > CONNECTIONS_MAX {
            bail!("--connections is {connections}; use 1 to {CONNECTIONS_MAX}");
        }
        let seconds = self.seconds.unwrap_or(seconds);
        let length = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        if length.is_zero() || length > LENGTH_MAX {
            bail!("--seconds is {seconds}; use more than 0 and at most {}", LENGTH_MAX.as_secs());
        }
        Ok((connections, length))
    }

    fn attacks(&self) -> Vec<Attack> {
        let mut attacks = ATTACKS.to_vec();
        attacks.retain(|attack| {
            (self.kind.is_empty() || self.kind.contains(&attack.kind))
                && (self.listener.is_empty() || self.listener.contains(&attack.listener))
        });
        attacks
    }
}

/// Runs the attacks that are asked for, one after another on one server, and prints what they did.
///
/// # Errors
/// When there is no such attack, or the run is incomplete; with `--strict`, also when a check is
/// missed. What was found until then is printed and kept.
pub fn run(options: &Options) -> Result<()> {
    let ((connections, length), attacks) = (options.sizes()?, options.attacks());
    if attacks.is_empty() {
        bail!("that kind is not at that listener; leave out --kind or --listener to see all");
    }
    server::build()?;
    let interrupt = Interrupt::listen()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let title = "connections that misbehave, one kind after another, beside good clients";
    let mut findings = Findings::new("hostile", title, &folder::data()?);
    let data = workloads::temporary_folder()?;
    let file = data.path().join("slipring.db");
    let server = Server::slipring(&file, None)?;
    let (at, pid) = (places(&server)?, server.pid());
    let scene = Scene { at: &at, pid, connections, length, interrupt: &interrupt };
    let mut phases = Vec::new();
    let ran = runtime.block_on(async {
        set_up(&server).await?;
        for attack in attacks {
            phases.push(phase::run(attack, &scene).await?);
            interrupt.check()?;
        }
        stored(&server).await
    });
    report::add(&mut findings, &scene, &phases, options.smoke);
    match ran {
        Ok(stored) => report::account(&mut findings, &phases, stored),
        Err(error) => findings.incomplete = Some(format!("{error:#}")),
    }
    if let Err(error) = server.stop() {
        findings.incomplete.get_or_insert(format!("{error:#}"));
    }
    findings.end(options.out.as_deref(), options.strict)
}

fn places(server: &Server) -> Result<Vec<(Listener, SocketAddr)>> {
    let addresses = server.addresses();
    let of = |listener: Listener| {
        let text = match listener {
            Listener::Sqs => &addresses.sqs,
            Listener::Beanstalkd => &addresses.beanstalkd,
            Listener::Admin => &addresses.admin,
        };
        let address = text.parse().with_context(|| format!("the address {text:?}"))?;
        Ok((listener, address))
    };
    Listener::ALL.into_iter().map(of).collect()
}

/// Makes the queues: the one of the good clients, and the one with the large messages.
async fn set_up(server: &Server) -> Result<()> {
    let mut connection = Connection::open(&server.addresses().beanstalkd).await?;
    for (tube, count, bytes) in [(good::QUEUE, 1, 1), (BAIT, BAIT_MESSAGES, BAIT_BYTES)] {
        connection.use_tube(&TubeName::from_bytes(tube.as_bytes())?).await?;
        for _ in 0..count {
            let body = bytes::Bytes::from(vec![b'x'; bytes]);
            let put = Put { priority: 0, delay: 0, time_to_run: 60, body };
            match connection.call(&Command::Put(put)).await? {
                Reply::Inserted { .. } => {}
                other => bail!("put was answered {other:?}"),
            }
        }
    }
    Ok(())
}

/// How many messages the queue of the good clients holds.
async fn stored(server: &Server) -> Result<u64> {
    let mut stream = tokio::net::TcpStream::connect(&server.addresses().admin).await?;
    let (path, close) = (format!("/v1/queues/{}", good::QUEUE), "Connection: close");
    let get = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n\r\n");
    stream.write_all(get.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let json = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let queue: serde_json::Value = serde_json::from_str(json).context("the queue as JSON")?;
    queue["stats"]["ready"].as_u64().with_context(|| format!("no statistics: {answer:?}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(line: &str) -> Options {
        Line::parse_from(std::iter::once("hostile").chain(line.split_whitespace())).options
    }

    #[test]
    fn sizes_and_attacks_are_those_asked_for() {
        let whole = options("");
        assert_eq!(whole.sizes().unwrap(), (20_000, Duration::from_secs(15)));
        assert_eq!(whole.attacks().len(), ATTACKS.len());
        let part = options("--smoke --connections 7 --kind idle --kind watch --listener sqs");
        assert_eq!(part.sizes().unwrap(), (7, Duration::from_millis(500)));
        assert_eq!(part.attacks(), [ATTACKS[0]]);
        assert!(options("--connections 0").sizes().is_err());
        assert!(options("--seconds 0").sizes().is_err());
        assert!(options("--kind watch --listener sqs").attacks().is_empty());
    }
}
