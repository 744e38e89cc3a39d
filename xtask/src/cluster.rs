//! A throw-away PostgreSQL for the length of a run, kept by the same script as those of the
//! PostgreSQL store's own tests: it goes away with this process however that ends.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::process::{self, Outcome};
use crate::repository::Repository;

/// A running server and the process that keeps it.
pub struct Cluster {
    port: u16,
    guardian: Child,
    /// The guardian ends when this does.
    orders: Option<ChildStdin>,
}

impl Cluster {
    /// Makes a cluster with the newest PostgreSQL that Debian installed.
    pub fn start(repository: &Repository) -> Outcome<Cluster> {
        let script = repository.root().join("crates/slipring-testbed/src/guardian.sh");
        let script = std::fs::read_to_string(&script)
            .map_err(|error| format!("{}: {error}", script.display()))?;
        let folder = tempfile::Builder::new().prefix("slipring-postgres-").tempdir();
        // The guardian removes it.
        let folder = folder.map_err(|error| format!("no temporary folder: {error}"))?.keep();
        let port = free_port()?;
        let mut command = as_ordinary_user(&folder)?;
        command.args(["sh", "-c", &script, "guardian"]).arg(&folder).arg(programs()?);
        command.args([&port.to_string(), ""]).current_dir(&folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut guardian = command.spawn().map_err(|error| format!("no PostgreSQL: {error}"))?;
        let orders = guardian.stdin.take();
        let answers = guardian.stdout.take().map(BufReader::new);
        let mut cluster = Cluster { port, guardian, orders };
        let asked = cluster.orders.as_mut().map(|orders| writeln!(orders, "start"));
        let mut answer = String::new();
        let answered = answers.map(|mut answers| answers.read_line(&mut answer));
        match (asked, answered, answer.trim()) {
            (Some(Ok(())), Some(Ok(_)), "ok") => Ok(cluster),
            _ => Err("PostgreSQL does not start: see above".to_owned()),
        }
    }

    /// The address of the server, to which `/` and the name of a database are added.
    pub fn url(&self) -> String {
        format!("postgres://postgres:test@127.0.0.1:{}", self.port)
    }

    /// Makes a database; answers its address.
    pub fn database(&self, name: &str) -> Outcome<String> {
        let mut create = Command::new("psql");
        create.args(["--quiet", "--command", &format!("CREATE DATABASE \"{name}\"")]);
        process::output(create.arg(format!("{}/postgres", self.url())))?;
        Ok(format!("{}/{name}?sslmode=disable", self.url()))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.orders = None;
        // It removes the folder; whether that went well does not matter to anybody.
        let _ = self.guardian.wait();
    }
}

/// What a command begins with that is not to run as root, where the server would refuse to run;
/// the folder is given to that user.
fn as_ordinary_user(folder: &Path) -> Outcome<Command> {
    let user = process::output(Command::new("id").arg("-u"))?;
    if user.trim() != "0" {
        return Ok(Command::new("env"));
    }
    process::output(Command::new("chown").arg("postgres").arg(folder))?;
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]);
    Ok(command)
}

/// The folder with the programs of the newest version that is installed.
fn programs() -> Outcome<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").ok().into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = installed
        .map(|entry| entry.path())
        .filter(|path| path.join("bin/initdb").exists())
        .max_by_key(|path| version(path));
    let newest = newest.map(|path| path.join("bin"));
    newest.ok_or_else(|| "PostgreSQL is missing: run `cargo xtask test --only set-up`".to_owned())
}

fn free_port() -> Outcome<u16> {
    let listener = TcpListener::bind("127.0.0.1:0");
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| format!("no port is free: {error}"))
}
