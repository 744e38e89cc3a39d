//! How each kind of client is started and what is told to it.
//!
//! Clients find the server through `CLIENTS_SQS` and `CLIENTS_BEANSTALKD` (HOST:PORT), or start
//! one themselves from `CLIENTS_BINARY`.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Bench;
use super::counts::{self, Count};
use crate::process::{self, Outcome};
use crate::server::Server;
use crate::setup::java;
use crate::setup::python::{self, Environment, TODAY};

/// No client takes as long; moto's suite needs the most, about a minute.
const LIMIT_SECONDS: u32 = 600;
/// How much of a failed client's output is shown; the whole stays in its log.
const SHOWN_LINES: usize = 150;

/// Runs moto's test files for SQS; its plug-in starts a fresh server for each test.
///
/// Left out whole: tests of the Lambda, CloudFormation, IAM and multi-account sides of moto, and
/// of moto's own HTTP server.
pub fn moto(bench: &Bench<'_>) -> Outcome<Count> {
    let plugins = bench.repository.clients("moto");
    let mut command = process::limited(LIMIT_SECONDS, TODAY.python(bench.repository)?);
    command.args(["-m", "pytest", "-q", "--color=no", "-rsfE", "-p", "fresh_server"]);
    command.args(["-p", "no:cacheprovider", "-W", "ignore"]);
    command.args(["tests/test_sqs/test_sqs.py", "tests/test_sqs/test_sqs_message_attributes.py"]);
    command.current_dir(python::moto_tests(bench.repository)?);
    command.env("PYTHONPATH", &plugins).env("CLIENTS_BINARY", &bench.binary);
    command.env("CLIENTS_FOLDER", &bench.folder);
    let mut deselected = plugins.join("deselected.txt").into_os_string();
    if let Some(cluster) = bench.cluster {
        command.env("CLIENTS_POSTGRES", cluster.url());
        deselected.push(":");
        deselected.push(plugins.join("deselected_postgres.txt"));
    }
    command.env("CLIENTS_DESELECTED", deselected);
    command.env("TEST_SERVER_MODE", "true").env("MOTO_CALL_RESET_API", "false");
    counted(bench, command, counts::pytest)
}

/// Runs the test files in `tests/clients/python` that `pattern` names.
pub fn pytest(bench: &Bench<'_>, environment: &Environment, pattern: &str) -> Outcome<Count> {
    let folder = bench.repository.clients("python");
    let mut command = process::limited(LIMIT_SECONDS, environment.python(bench.repository)?);
    command.args(["-m", "pytest", "-q", "--color=no", "-rsfE", "-p", "no:cacheprovider"]);
    command.args(files(&folder, pattern)?);
    command.current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("CLIENTS_SQS_PROTOCOL", environment.sqs_protocol);
    with_server(bench, command, counts::pytest)
}

/// Runs one test file in `tests/clients/node`.
pub fn node(bench: &Bench<'_>, file: &str) -> Outcome<Count> {
    let mut command = process::limited(LIMIT_SECONDS, "node");
    command.args(["--test", "--test-reporter=tap", file]);
    command.current_dir(bench.repository.clients("node"));
    with_server(bench, command, counts::tap)
}

/// Runs the tests that fivebeans ships, by mocha as their authors do, from its own folder.
pub fn fivebeans(bench: &Bench<'_>) -> Outcome<Count> {
    let folder = bench.repository.clients("node");
    let mut command = process::limited(LIMIT_SECONDS, "node");
    command.arg(folder.join("node_modules/mocha/bin/mocha.js"));
    command.args(["--no-config", "--exit", "--reporter", "tap", "--timeout", "8000", "--require"]);
    command.arg(folder.join("fivebeans_tests.cjs")).arg("test");
    command.current_dir(folder.join("node_modules/fivebeans"));
    with_server(bench, command, counts::tap)
}

/// Runs the package of a module below `tests/clients`.
pub fn go(bench: &Bench<'_>, module: &str) -> Outcome<Count> {
    let mut command = process::limited(LIMIT_SECONDS, "go");
    command.args(["test", "-v", "-vet=off", "-count=1", "./..."]);
    command.current_dir(bench.repository.clients(module));
    with_server(bench, command, counts::go)
}

/// Runs the program in `tests/clients/java`, which the JDK compiles in memory.
pub fn java(bench: &Bench<'_>) -> Outcome<Count> {
    let mut command = process::limited(LIMIT_SECONDS, "java");
    command.arg("-Dfile.encoding=UTF-8").arg("--class-path");
    command.arg(java::jars(bench.repository)?.join("*")).arg("AwsSdk.java");
    command.current_dir(bench.repository.clients("java"));
    with_server(bench, command, counts::tap)
}

/// Runs one test file in `tests/clients/php`.
pub fn php(bench: &Bench<'_>, file: &str) -> Outcome<Count> {
    let mut command = process::limited(LIMIT_SECONDS, "php");
    command.arg(file).current_dir(bench.repository.clients("php"));
    with_server(bench, command, counts::tap)
}

/// Runs `command` against a server of its own, which must end well afterwards.
fn with_server(
    bench: &Bench<'_>,
    mut command: Command,
    count: fn(&str) -> Count,
) -> Outcome<Count> {
    let server = bench.server()?;
    tell(&mut command, &server);
    command.env("CLIENTS_BINARY", &bench.binary).env("CLIENTS_FOLDER", &bench.folder);
    let counted = counted(bench, command, count)?;
    server.stop()?;
    Ok(counted)
}

/// Tells the addresses, and credentials that the SDKs insist on.
pub fn tell(command: &mut Command, server: &Server) {
    let addresses = server.addresses();
    command.env("CLIENTS_SQS", &addresses.sqs).env("CLIENTS_BEANSTALKD", &addresses.beanstalkd);
}

/// Runs a test program with its output in a log, and counts what it says.
fn counted(bench: &Bench<'_>, mut command: Command, count: fn(&str) -> Count) -> Outcome<Count> {
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
    command.env("AWS_DEFAULT_REGION", "us-east-1").env("AWS_REGION", "us-east-1");
    let path = bench.log("output");
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let log = File::create(&path).map_err(failed)?;
    let second = log.try_clone().map_err(failed)?;
    let piped = command.stdin(Stdio::null()).stdout(log).stderr(second);
    let status = piped.status().map_err(|error| format!("{}: {error}", bench.name))?;
    let bytes = std::fs::read(&path).map_err(failed)?;
    let output = String::from_utf8_lossy(&bytes);
    let counted = count(&output);
    if status.success() == counted.is_clean() {
        if !counted.is_clean() {
            println!("{}", tail(&output));
        }
        for line in counts::exclusions(&output) {
            println!("{line}");
        }
        println!("{}: {counted}", bench.name);
        return Ok(counted);
    }
    println!("{}", tail(&output));
    Err(format!("{} ended with {status} but counted {counted}", bench.name))
}

fn tail(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

/// The files of `folder` that match a pattern with at most one `*`.
fn files(folder: &Path, pattern: &str) -> Outcome<Vec<String>> {
    let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
    let listed = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<String> =
        names.filter(|name| name.starts_with(start) && name.ends_with(end)).collect();
    found.sort();
    if found.is_empty() {
        return Err(format!("no file in {} matches {pattern}", folder.display()));
    }
    Ok(found)
}
