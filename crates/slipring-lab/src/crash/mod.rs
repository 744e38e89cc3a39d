//! The crash test: the real server is killed again and again under clients of all protocols,
//! started again on the same store, drained in the end, and the history is checked.

pub mod aim;
mod beside;
mod checker;
mod clearing;
pub mod client;
mod database;
pub mod dice;
pub mod disk;
pub mod flood;
mod history;
mod payload;
mod processes;
mod queues;
mod report;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::child::Group;
use crate::targets::server::{self, Addresses};
use crate::wire::sqs::{self, Connection};
use crate::{folder, time};

use beside::Beside;
use dice::Dice;
use disk::Disk;
use history::{Kind, Operation, Recorder};
use processes::{Processes, Storage, Strike};
use queues::{DELAY_MS, LEASE_MS, LEFT_BEHIND_MS, Rules};

/// How the crash test is run.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// How often something is killed.
    #[arg(long, default_value_t = 20)]
    pub rounds: u64,
    /// Repeats the choices of an earlier run; printed by each run.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Client processes, each with three sessions of each protocol, and of SQL on PostgreSQL.
    #[arg(long, default_value_t = 3)]
    pub clients: u64,
    /// Where the servers keep their messages.
    #[arg(long, value_enum, default_value = "sqlite")]
    pub store: Storage,
    /// Servers on the one store, 1 to 16; the client processes are spread over them.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=16))]
    pub servers: u64,
    /// What a round does.
    #[arg(long, value_enum, default_value = "any")]
    pub strike: Strike,
    /// The largest body; by default 256 KiB, and 2,000 bytes on PostgreSQL.
    #[arg(long)]
    pub body_bytes_max: Option<usize>,
    /// Keep the file on a disk of 96 MB that is full at each kill. Without it one round in ten of
    /// a run with `any` is so, where the system lets users mount.
    #[arg(long)]
    pub small_disk: bool,
    /// Only this protocol; with `beanstalkd`, only the queues it uses.
    #[arg(long, value_enum)]
    pub only: Option<Protocol>,
    /// Keep data and histories also when all is well.
    #[arg(long)]
    pub keep: bool,
    /// Folder for data and histories; by default target/lab/crash-SEED.
    #[arg(long)]
    pub folder: Option<PathBuf>,
}

/// How clients speak to the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// The SQS protocol.
    Sqs,
    /// The beanstalkd protocol.
    Beanstalkd,
    /// The SQL functions of the PostgreSQL store, in transactions of which some are rolled back.
    Sql,
}

/// A round lasts at least and less than so many milliseconds.
const ROUND_MS: (u64, u64) = (100, 700);
const STOP_WITHIN: Duration = Duration::from_secs(30);
const DRAIN_WITHIN: Duration = Duration::from_secs(300);
/// The history's process number of the one who kills.
const KILLER: u64 = 0;

/// Runs the crash test.
///
/// # Errors
/// When a property does not hold, a process fails, or the server ends by itself.
pub fn run(options: &Options) -> Result<()> {
    let full = options.store == Storage::Sqlite && options.strike == Strike::Any;
    if full && !options.small_disk && options.folder.is_none() && options.rounds >= 10 {
        let on_full_disk = options.rounds / 10;
        run_rounds(options, options.rounds - on_full_disk)?;
        return run_on_small_disk(options, on_full_disk);
    }
    run_rounds(options, options.rounds)
}

fn run_rounds(options: &Options, rounds: u64) -> Result<()> {
    if options.only == Some(Protocol::Sql) && options.store != Storage::Postgres {
        bail!("--only sql needs --store postgres");
    }
    server::build()?;
    let seed = options.seed.unwrap_or_else(|| time::monotonic_ns() % 1_000_000_000);
    let folder = match &options.folder {
        Some(folder) => folder.clone(),
        None => folder::data()?.join(format!("crash-{seed}")),
    };
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("removing the data of an earlier run")?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let place = || format!("seed {seed}; data, server log and histories: {}", folder.display());
    let place_kind = if options.small_disk { ", the disk full at each kill" } else { "" };
    println!("crash test: {rounds} rounds, seed {seed}{place_kind}");
    let begun = Instant::now();
    let driven = drive(options, rounds, seed, &folder).with_context(place)?;
    let events = history::read(&driven.histories).with_context(place)?;
    let verdict = checker::check(&events);
    report::print(&verdict, &driven, begun.elapsed());
    if !verdict.violations.is_empty() || !driven.failures.is_empty() {
        let (violations, failures) = (verdict.violations.len(), driven.failures.len());
        bail!("{violations} violations, {failures} failures; {}", place());
    }
    report::check_activity(&verdict.counts).with_context(place)?;
    if options.keep {
        println!("kept: {}", folder.display());
    } else {
        std::fs::remove_dir_all(&folder).context("removing the data of this run")?;
    }
    Ok(())
}

/// Rounds in a process of its own whose file is on a small disk.
fn run_on_small_disk(options: &Options, rounds: u64) -> Result<()> {
    let Some(mut space) = Disk::name_space() else {
        println!("SKIPPED {rounds} rounds on a full disk: this system lets users mount none");
        return Ok(());
    };
    space.arg(std::env::current_exe().context("finding this program")?);
    space.args(["crash", "--small-disk", "--rounds", &rounds.to_string()]);
    space.args(["--clients", &options.clients.to_string()]);
    if options.keep {
        space.arg("--keep");
    }
    if let Some(seed) = options.seed {
        space.args(["--seed", &(seed + 1).to_string()]);
    }
    let status = space.status().context("running rounds on a small disk")?;
    if !status.success() {
        bail!("the rounds on a full disk failed");
    }
    Ok(())
}

/// What came of the rounds.
pub struct Driven {
    histories: Vec<PathBuf>,
    /// Kills that met a copy or truncation of the log.
    met: u64,
    /// Second processes on the file.
    beside: u64,
    /// Rounds that failed, and why.
    failures: Vec<String>,
}

/// Kills, restarts and drains.
fn drive(options: &Options, rounds: u64, seed: u64, folder: &Path) -> Result<Driven> {
    let disk = options.small_disk.then(|| Disk::mount(&folder.join("disk"))).transpose()?;
    let outages = options.store == Storage::Postgres || options.small_disk;
    let mut processes = Processes::start(options.store, options.servers, folder, disk)?;
    let addresses = processes.addresses().to_vec();
    let first = addresses.first().context("no server")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if options.only != Some(Protocol::Beanstalkd) {
        // Tubes appear when they are mentioned.
        runtime.context("starting the runtime")?.block_on(create_queues(first))?;
    }

    let own_history = folder.join("history-killer.jsonl");
    let mut recorder = Recorder::create(&own_history)?;
    let (mut histories, mut own_histories) = (Vec::new(), vec![own_history]);
    let database = processes.database_address().map(str::to_owned);
    let mut start = |name: String, number: u64, drain: bool| -> Result<Group> {
        let history = folder.join(format!("history-{name}.jsonl"));
        let own = addresses.get(number as usize % addresses.len()).unwrap_or(first);
        let mut client = client_arguments(own, number, seed, &history, drain);
        if let Some(database) = &database {
            client.extend(["--database".to_owned(), database.clone()]);
        }
        client.extend((outages && !drain).then(|| "--outages".to_owned()));
        client.extend(["--body-bytes-max".to_owned(), body_bytes_max(options).to_string()]);
        if let Some(only) = options.only.and_then(|only| only.to_possible_value()) {
            client.extend(["--only".to_owned(), only.get_name().to_owned()]);
        }
        histories.push(history);
        Group::start(&client)
    };
    let mut clients = Vec::new();
    for number in 1..=options.clients {
        clients.push(start(format!("client-{number}"), number, false)?);
    }
    let beside = match options.store {
        // A file is opened by others too; on a full disk they fail, as they should.
        Storage::Sqlite if options.only.is_none() && !options.small_disk => {
            let history = folder.join("history-beside.jsonl");
            own_histories.push(history.clone());
            Some(Beside::start(processes.store(), seed, &history)?)
        }
        _ => None,
    };
    strike_all(options, rounds, seed, &mut processes, &mut recorder)?;
    let second = beside.map(Beside::finish).transpose()?.unwrap_or_default();
    for client in &mut clients {
        client.close_stdin();
    }
    for client in clients {
        client.finish(STOP_WITHIN).context("a client process")?;
    }
    std::thread::sleep(quiet_after(options.store));
    start("drain".to_owned(), options.clients + 1, true)?
        .finish(DRAIN_WITHIN)
        .context("the drain")?;
    histories.extend(own_histories);
    processes.check_flood()?;
    let (met, failures) = processes.findings();
    let failures = [failures, &second.failures].concat();
    processes.stop()?;
    Ok(Driven { histories, met, beside: second.started, failures })
}

/// The rounds: each aims, strikes and starts again, and is written down.
fn strike_all(
    options: &Options,
    rounds: u64,
    seed: u64,
    processes: &mut Processes,
    recorder: &mut Recorder,
) -> Result<()> {
    let dice = Dice::new(seed, KILLER);
    for round in 1..=rounds {
        let (least, end) = ROUND_MS;
        std::thread::sleep(Duration::from_millis(least + dice.below(end - least)));
        let strike = processes.choose(options.strike, &dice);
        let kill = match strike {
            Strike::Database | Strike::Backend => Operation::KillDatabase,
            Strike::Sessions => Operation::EndSessions { count: processes::SESSIONS },
            _ => Operation::Kill,
        };
        let aimed = processes.aim(strike, seed, &dice);
        aimed.with_context(|| format!("round {round}, {strike:?}"))?;
        recorder.write(KILLER, Kind::Invoke, kill.clone())?;
        let between = || {
            recorder.write(KILLER, Kind::Ok, kill)?;
            recorder.write(KILLER, Kind::Invoke, Operation::Start)
        };
        let struck = processes.strike(strike, &dice, between);
        struck.with_context(|| format!("round {round}, {strike:?}"))?;
        recorder.write(KILLER, Kind::Ok, Operation::Start)?;
    }
    recorder.flush()
}

/// How long it takes until nobody holds or takes anything more, when all clients have stopped.
fn quiet_after(store: Storage) -> Duration {
    Duration::from_millis(match store {
        Storage::Sqlite => LEASE_MS + DELAY_MS + 200,
        Storage::Postgres => LEFT_BEHIND_MS + LEASE_MS + 200,
    })
}

fn body_bytes_max(options: &Options) -> usize {
    let usual = match options.store {
        Storage::Sqlite if options.small_disk => 16 << 10,
        Storage::Sqlite => 256 << 10,
        Storage::Postgres => 2000,
    };
    options.body_bytes_max.unwrap_or(usual)
}

fn client_arguments(
    addresses: &Addresses,
    number: u64,
    seed: u64,
    history: &Path,
    drain: bool,
) -> Vec<String> {
    let mut arguments = vec!["crash-client".to_owned()];
    let values = [
        ("--sqs", addresses.sqs.clone()),
        ("--beanstalkd", addresses.beanstalkd.clone()),
        ("--client", number.to_string()),
        ("--seed", seed.to_string()),
        ("--history", history.display().to_string()),
    ];
    arguments.extend(values.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]));
    if drain {
        arguments.push("--drain".to_owned());
    }
    arguments
}

async fn create_queues(addresses: &Addresses) -> Result<()> {
    let mut connection = Connection::open(&addresses.sqs).await?;
    let lease = (LEASE_MS / 1000).to_string();
    for queue in &queues::ALL {
        let policy = match queue.dead_letter {
            Some(dead) => Some(redrive_policy(&mut connection, queue, dead).await?),
            None => None,
        };
        let mut attributes = vec![("VisibilityTimeout", lease.as_str())];
        if queue.fifo {
            attributes.push(("FifoQueue", "true"));
        }
        if let Some(policy) = &policy {
            attributes.push(("RedrivePolicy", policy));
        }
        let created = connection.create_queue(queue.name, &attributes).await;
        created.with_context(|| format!("creating {}", queue.name))?;
    }
    Ok(())
}

async fn redrive_policy(connection: &mut Connection, queue: &Rules, dead: &str) -> Result<String> {
    let request = json!({"QueueName": dead}).to_string();
    let answer = connection.call("GetQueueUrl", request.as_bytes()).await?.body()?;
    let answer: Value = sqs::parse(answer)?;
    let url = answer.get("QueueUrl").context("no QueueUrl")?;
    let request = json!({"QueueUrl": url, "AttributeNames": ["QueueArn"]}).to_string();
    let answer = connection.call("GetQueueAttributes", request.as_bytes()).await?.body()?;
    let answer: Value = sqs::parse(answer)?;
    let arn = answer.pointer("/Attributes/QueueArn").context("no QueueArn")?;
    let policy = json!({"deadLetterTargetArn": arn, "maxReceiveCount": queue.receives_max});
    Ok(policy.to_string())
}
