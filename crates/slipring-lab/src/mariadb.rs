//! A MariaDB of the run's own: from the Debian package `mariadb-server`, on 127.0.0.1 and a free
//! port, as an ordinary user, durable. It is stopped and its data are removed when it is dropped,
//! and also when this process is killed.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use nix::unistd::User;

use crate::folder;
use crate::guarded::{Guarded, last_lines};
use crate::peers::install;
use crate::programs::find;

/// Debian's package, and the programs of it that are used.
const PACKAGE: &str = "mariadb-server";
const SERVER: &str = "mariadbd";
const INSTALL: &str = "mariadb-install-db";
/// The package makes this user; the server does not run as root.
const ORDINARY_USER: &str = "mysql";
/// The administrator that `mariadb-install-db` makes; without a password, only from this machine.
const ADMINISTRATOR: &str = "root";

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
    // Dropped first: it has ended before its data go.
    process: Guarded,
    port: u16,
    _folder: tempfile::TempDir,
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
        let mut server = program(SERVER, folder.path(), user.as_ref())?;
        server.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        // The path of a socket may be 107 bytes long, so it is given relative to the data.
        server.args(["--socket=mariadb.sock", "--pid-file=mariadb.pid"]);
        server.arg(format!("--port={port}"));
        server.args(SETTINGS.map(|setting| format!("--{setting}")));
        // A group of its own: Ctrl-C is for the lab, which then stops the server.
        server.process_group(0);
        let log = folder.path().join("log");
        let process = Guarded::start("MariaDB", server, &log, Some(folder.path()))?;
        let mut own = Server { process, port, _folder: folder, databases: 0 };
        let options = own.options(None);
        let look = move || {
            let options = options.clone();
            async move { Ok(Conn::new(options).await?.disconnect().await?) }
        };
        own.process.until_ready(look).await?;
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
        let (folder, options) = (server._folder.path().to_owned(), server.options(None));
        drop(server);
        assert!(!folder.exists());
        assert!(Conn::new(options).await.is_err());
    }
}
