//! The adapter as the harness of the public benchmark runs it: a process with an environment,
//! orders on stdin and telemetry on stdout, over a throw-away PostgreSQL.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use slipring_testbed::{Cluster, Database, one};

const SYSTEMS: [&str; 2] = ["slipring", "slipring-sql"];
const PATIENCE: Duration = Duration::from_secs(60);
/// The contract's time for the end.
const END_MAX: Duration = Duration::from_secs(5);

/// A running adapter with what it says.
struct Adapter {
    child: Child,
    lines: Receiver<Value>,
}

impl Adapter {
    fn start(system: &str, database: &Database, variables: &[(&str, &str)]) -> Adapter {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slipring-lab"));
        command.args(["adapter", "--system", system]).env_clear();
        command.env("DATABASE_URL", url(database)).env("SAMPLE_EVERY_S", "1");
        command.env("WORKER_COUNT", "4").envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (given, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = given.send(serde_json::from_str(&line).unwrap());
            }
        });
        Adapter { child, lines }
    }

    fn order(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// Reads metrics until so many jobs were completed, within what the ticks' lateness adds to a
    /// rate.
    fn completes(&self, jobs: f64) {
        let (mut completed, deadline) = (0.0, Instant::now() + PATIENCE);
        while completed < jobs * 0.8 {
            assert!(Instant::now() < deadline, "{completed} of {jobs} jobs were completed");
            let line = self.next();
            if line["metric"] == "completion_rate" {
                completed += line["value"].as_f64().unwrap();
            }
        }
        assert!(completed < jobs * 1.3, "{completed} of {jobs} jobs were completed");
    }

    /// Reads until a metric has a value.
    fn shows(&self, metric: &str, wanted: impl Fn(f64) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut last = None;
        loop {
            assert!(Instant::now() < deadline, "{metric} was last {last:?}");
            let line = self.next();
            if line["metric"] == metric {
                last = line["value"].as_f64();
                if last.is_some_and(&wanted) {
                    return;
                }
            }
        }
    }

    /// Tells it to end; answers how, and how long that took.
    fn end(mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        (status, start.elapsed())
    }

    fn ends_well(self) {
        let (status, took) = self.end();
        assert!(status.success(), "{status}");
        assert!(took < END_MAX, "the end took {took:?}");
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn url(database: &Database) -> String {
    let (host, port) = Cluster::shared().place();
    let owner = slipring_testbed::OWNER;
    format!("postgres://{owner}:test@{host}:{port}/{}?sslmode=disable", database.name)
}

#[tokio::test]
async fn jobs_that_are_ordered_are_completed_also_after_the_backends_were_ended() {
    for system in SYSTEMS {
        let database = Cluster::shared().database().await;
        let mut adapter = Adapter::start(system, &database, &[]);
        let descriptor = adapter.next();
        assert_eq!(descriptor["kind"], "descriptor", "{descriptor}");
        assert_eq!(descriptor["system"], system);
        assert_eq!(descriptor["db_name"], database.name.as_str());
        names_what_is_there(system, &descriptor, &database).await;
        adapter.order("ENQUEUE 1");
        adapter.shows("completion_rate", |rate| rate > 0.0);
        adapter.order("ENQUEUE 300");
        adapter.completes(300.0);
        adapter.shows("claim_p99_ms", |ms| ms > 0.0);
        adapter.shows("total_backlog", |jobs| jobs == 0.0);
        Cluster::shared().disconnect(&database).await;
        adapter.order("ENQUEUE 200");
        adapter.completes(200.0);
        adapter.shows("total_backlog", |jobs| jobs == 0.0);
        let client = Cluster::shared().client(&database).await;
        let left = "SELECT ready + leased + delayed + parked FROM slipring.stats('bench')";
        assert_eq!(one(&client, left).await, 0, "{system}");
        let tick = adapter.next()["t"].as_str().unwrap().to_owned();
        assert!(tick.ends_with(".000Z"), "{tick}");
        adapter.ends_well();
    }
}

/// The tables of `adapter.json` are in the descriptor and in the database.
async fn names_what_is_there(system: &str, descriptor: &Value, database: &Database) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/adapter");
    let text = std::fs::read_to_string(format!("{folder}/{system}/adapter.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let client = Cluster::shared().client(database).await;
    let told = descriptor["event_tables"].as_array().unwrap();
    for table in manifest["event_tables"].as_array().unwrap() {
        assert!(told.contains(table), "{table} is not in {descriptor}");
    }
    for key in ["event_tables", "event_indexes"] {
        for name in manifest[key].as_array().unwrap() {
            let sql = "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1::text)";
            let row = client.query_one(sql, &[&name.as_str().unwrap()]).await.unwrap();
            assert_eq!(row.get::<_, i64>(0), 1, "{system}: {name} is not in the database");
        }
    }
}

#[tokio::test]
async fn it_ends_in_time_in_the_middle_of_the_load() {
    for system in SYSTEMS {
        let database = Cluster::shared().database().await;
        let depth = [("PRODUCER_MODE", "depth-target"), ("TARGET_DEPTH", "2000")];
        let more = [("WORKER_COUNT", "64"), ("BENCH_QUEUE_COUNT", "2")];
        let adapter = Adapter::start(system, &database, &[depth, more].concat());
        adapter.shows("completion_rate", |rate| rate > 0.0);
        adapter.shows("queue_depth", |jobs| jobs > 1000.0);
        adapter.ends_well();
    }
}

#[tokio::test]
async fn jobs_that_always_fail_become_dead_letters_and_a_first_failure_comes_again() {
    for system in SYSTEMS {
        let database = Cluster::shared().database().await;
        let client = Cluster::shared().client(&database).await;
        let always = [("WORKER_FAIL_MODE", "terminal-always"), ("BENCH_DLQ_ENABLED", "1")];
        let mut adapter = Adapter::start(system, &database, &always);
        adapter.order("ENQUEUE 20");
        adapter.shows("retryable_failure_rate", |rate| rate > 0.0);
        adapter.shows("total_backlog", |jobs| jobs == 0.0);
        let dead = "SELECT ready FROM slipring.stats('bench-dead')";
        assert_eq!(one(&client, dead).await, 20, "{system}");
        adapter.ends_well();
        let first = [("JOB_FAIL_FIRST_MOD", "2"), ("JOB_PRIORITY_PATTERN", "1,4")];
        let mut adapter = Adapter::start(system, &database, &first);
        adapter.order("ENQUEUE 20");
        adapter.shows("retryable_failure_rate", |rate| rate > 0.0);
        adapter.shows("total_backlog", |jobs| jobs == 0.0);
        assert_eq!(one(&client, dead).await, 20, "{system}");
        adapter.ends_well();
    }
}

#[tokio::test]
async fn its_own_pace_follows_the_control_file() {
    let database = Cluster::shared().database().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rate");
    std::fs::write(&file, "50").unwrap();
    let own = [("PRODUCER_PACING", "own"), ("PRODUCER_RATE", "1")];
    let control = [("PRODUCER_RATE_CONTROL_FILE", file.to_str().unwrap())];
    let variables = [&own[..], &control[..]].concat();
    let adapter = Adapter::start("slipring", &database, &variables);
    adapter.shows("producer_target_rate", |rate| rate == 50.0);
    adapter.shows("enqueue_rate", |rate| (40.0..60.0).contains(&rate));
    std::fs::write(&file, "0").unwrap();
    adapter.shows("producer_target_rate", |rate| rate == 0.0);
    adapter.shows("enqueue_rate", |rate| rate == 0.0);
    adapter.ends_well();
}

#[test]
fn a_bad_variable_ends_it_with_one_clear_line() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipring-lab"));
    command.arg("adapter").env("DATABASE_URL", "postgres://h/db").env("WORKER_COUNT", "0");
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    let clear = "slipring-lab: WORKER_COUNT is \"0\"; give a number from 1 to 10000\n";
    assert_eq!(text, clear);
    assert!(output.stdout.is_empty());
}
