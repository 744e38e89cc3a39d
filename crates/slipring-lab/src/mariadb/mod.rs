//! A MariaDB of the run's own: from the Debian package `mariadb-server`, on 127.0.0.1 and a free
//! port, as an ordinary user, durable. It is stopped and its data are removed when it is dropped,
//! and also when this process is killed.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User};

use crate::folder;
use crate::guard::Guard;
use crate::peers::install;

/// Debian's package, and the programs of it that are used.
const PACKAGE: &str = "mariadb-server";
const SERVER: &str = "mariadbd";
const INSTALL: &str = "mariadb-install-db";
/// The package makes this user; the server does not run as root.
const ORDINARY_USER: &str = "mysql";
/// The administrator that `mariadb-install-db` makes; without a password, only from this machine.
const ADMINISTRATOR: &str = "root";
/// Where Debian keeps what only root looks for, besides the folders of PATH.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/local/bin"];
/// For starting and for stopping.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks whether the server takes connections, or has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What differs from the server's own defaults. A commit is on the disk when it is answered, and a
/// torn page is repaired. There is no binary log, so that `sync_binlog` decides nothing. Changed
/// pages are written in the background at the speed of an SSD, not at the default for a disk.
const SETTINGS: [&str; 10] = [
    "bind-address=127.0.0.1",
    "skip-log-bin",
    "innodb-flush-log-at-trx-commit=1",
    "innodb-doublewrite=ON",
    "innodb-buffer-pool-size=1G",
    "innodb-log-file-size=2G",
    "innodb-io-capacity=20000",
    "max-connections=300",
    "character-set-server=utf8mb4",
    "performance-schema=OFF",
];

/// The variables that decide on speed and durability, for the report.
const TOLD: [&str; 10] = [
    "version",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_io_capacity",
    "log_bin",
    "transaction_isolation",
    "max_connections",
];

/// A MariaDB that was started here. Dropping it stops it and removes its data.
pub struct Server {
    port: u16,
    folder: tempfile::TempDir,
    server: Child,
    // Dropped after the server has been waited for, so that it never signals another process.
    guard: Option<Guard>,
    databases: u32,
}

impl Server {
    /// Starts one; installs the package first where it is missing and this is root on Debian.
    ///
    /// # Errors
    /// When it cannot be installed, or takes no connections within a minute. The error says what
    /// to install.
    pub async fn start() -> Result<Server> {
        if find(SERVER).is_none() || find(INSTALL).is_none() {
            install::apt(PACKAGE).context("MariaDB is not installed")?;
        }
        let user = folder::ordinary_user(ORDINARY_USER)?;
        let folder = folder::of_user("mariadb-", user.as_ref())?;
        let data = folder.path().join("data");
        let mut make = program(INSTALL, folder.path(), user.as_ref())?;
        make.args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"]);
        let made = make.arg(format!("--datadir={}", data.display())).output();
        let made = made.with_context(|| format!("starting {INSTALL}"))?;
        if !made.status.success() {
            bail!("{INSTALL} failed: {}", last_lines(&String::from_utf8_lossy(&made.stderr)));
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = std::fs::File::create(folder.path().join("log")).context("making a log")?;
        let mut server = program(SERVER, folder.path(), user.as_ref())?;
        server.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        // The path of a socket may be 107 bytes long, so it is given relative to the data.
        server.args(["--socket=mariadb.sock", "--pid-file=mariadb.pid"]);
        server.arg(format!("--port={port}"));
        server.args(SETTINGS.map(|setting| format!("--{setting}")));
        // A group of its own: Ctrl-C is for the lab, which then stops the server.
        server.process_group(0).stdout(log.try_clone()?).stderr(log);
        let server = server.spawn().with_context(|| format!("starting {SERVER}"))?;
        let mut own = Server { port, folder, server, guard: None, databases: 0 };
        own.guard = Some(Guard::over(own.server.id(), Some(own.folder.path()))?);
        own.wait_until_ready().await?;
        Ok(own)
    }

    /// A connection to a database, or to none.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn connect(&self, database: Option<&str>) -> Result<Conn> {
        let connection = Conn::new(self.options(database)).await;
        connection.with_context(|| format!("connecting to MariaDB on port {}", self.port))
    }

    /// Where the server is, for a client of one's own.
    pub fn options(&self, database: Option<&str>) -> Opts {
        OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(self.port)
            .user(Some(ADMINISTRATOR))
            .prefer_socket(false)
            .db_name(database)
            .into()
    }

    /// Makes a database; answers its name.
    ///
    /// # Errors
    /// When the server fails.
    pub async fn create_database(&mut self) -> Result<String> {
        let name = format!("slipring_lab_{}", self.databases);
        self.databases += 1;
        let mut admin = self.connect(None).await?;
        admin.query_drop(format!("CREATE DATABASE {name}")).await?;
        admin.disconnect().await?;
        Ok(name)
    }

    /// Removes a database with everything in it.
    ///
    /// # Errors
    /// When the server fails.
    pub async fn drop_database(&self, name: &str) -> Result<()> {
        let mut admin = self.connect(None).await?;
        admin.query_drop(format!("DROP DATABASE {name}")).await?;
        Ok(admin.disconnect().await?)
    }

    /// The settings that decide on speed and durability, as the server tells them, in one line.
    ///
    /// # Errors
    /// When the server fails.
    pub async fn settings(&self) -> Result<String> {
        let mut admin = self.connect(None).await?;
        let mut told = Vec::with_capacity(TOLD.len());
        for name in TOLD {
            let statement = format!("SHOW GLOBAL VARIABLES LIKE '{name}'");
            if let Some((name, value)) = admin.query_first::<(String, String), _>(statement).await?
            {
                told.push(format!("{name}={value}"));
            }
        }
        admin.disconnect().await?;
        Ok(told.join(" "))
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let refused = match self.connect(None).await {
                Ok(connection) => return Ok(connection.disconnect().await?),
                Err(error) => error,
            };
            if let Some(status) = self.server.try_wait()? {
                bail!("MariaDB ended ({status}): {}", self.log());
            }
            if Instant::now() > deadline {
                bail!("MariaDB takes no connections ({refused:#}): {}", self.log());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The end of the server's log.
    fn log(&self) -> String {
        let path = self.folder.path().join("log");
        last_lines(&std::fs::read_to_string(path).unwrap_or_default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The guard goes first: from here on only this function stops the server.
        drop(self.guard.take());
        if matches!(self.server.try_wait(), Ok(Some(_))) {
            return;
        }
        let Ok(pid) = i32::try_from(self.server.id()) else { return };
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.server.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The last lines of a text, joined.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().filter(|line| !line.is_empty()).take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("; ")
}

/// Where a program of the package is.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn program(name: &str, folder: &Path, user: Option<&User>) -> Result<Command> {
    let path = find(name).with_context(|| format!("no {name}; it is in the package {PACKAGE}"))?;
    let mut command = Command::new(path);
    if let Some(user) = user {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command.current_dir(folder).stdin(Stdio::null());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_starts_durable_and_is_gone_when_it_is_dropped() {
        let mut server = Server::start().await.unwrap();
        let name = server.create_database().await.unwrap();
        let mut connection = server.connect(Some(&name)).await.unwrap();
        connection.query_drop("CREATE TABLE t (a bigint) ENGINE=InnoDB").await.unwrap();
        connection.exec_drop("INSERT INTO t VALUES (?)", (7,)).await.unwrap();
        let seen: Option<i64> = connection.query_first("SELECT a FROM t").await.unwrap();
        assert_eq!(seen, Some(7));
        connection.disconnect().await.unwrap();
        let settings = server.settings().await.unwrap();
        assert!(settings.contains("innodb_flush_log_at_trx_commit=1"), "{settings}");
        assert!(settings.contains("log_bin=OFF"), "{settings}");
        server.drop_database(&name).await.unwrap();
        let (folder, options) = (server.folder.path().to_owned(), server.options(None));
        drop(server);
        assert!(!folder.exists());
        assert!(Conn::new(options).await.is_err());
    }

    #[test]
    fn the_last_lines_are_those_that_say_something() {
        assert_eq!(last_lines("a\nb\n\nc\nd\ne\nf\n"), "b; c; d; e; f");
        assert_eq!(last_lines(""), "");
    }
}
