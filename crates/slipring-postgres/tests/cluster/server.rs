//! The server itself: found by its address, or made from the programs on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use nix::unistd::{User, geteuid};
use parking_lot::Mutex;

const GUARDIAN: &str = include_str!("guardian.sh");
const MISSING: &str = "these tests need PostgreSQL 14 or newer: install the package `postgresql` \
                       (cargo xtask test does), name the folder of its programs in \
                       SLIPRING_POSTGRES_BIN, or name a server in SLIPRING_TEST_POSTGRES";

/// A PostgreSQL server.
pub struct Server {
    /// `host:port`.
    pub place: String,
    /// User and password of a superuser.
    superuser: (String, String),
    guardian: Option<Mutex<Guardian>>,
}

/// The process that keeps the throw-away cluster, and hears when this one ends.
struct Guardian {
    _process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Server {
    pub fn start() -> Server {
        match std::env::var("SLIPRING_TEST_POSTGRES") {
            Ok(url) => Server::named(&url),
            Err(_) => Server::made(),
        }
    }

    fn named(url: &str) -> Server {
        let config: tokio_postgres::Config = url.parse().expect("SLIPRING_TEST_POSTGRES is a URL");
        let host = match config.get_hosts() {
            [tokio_postgres::config::Host::Tcp(host), ..] => host.clone(),
            _ => panic!("SLIPRING_TEST_POSTGRES names no host"),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let password = config.get_password().unwrap_or_default();
        let password = String::from_utf8(password.to_vec()).expect("the password is a text");
        let user = config.get_user().expect("SLIPRING_TEST_POSTGRES names a user").to_owned();
        Server { place: format!("{host}:{port}"), superuser: (user, password), guardian: None }
    }

    fn made() -> Server {
        let programs = programs();
        let folder = tempfile::Builder::new().prefix("slipring-postgres-").tempdir();
        // The guardian removes it.
        let folder = folder.expect("a temporary folder can be made").keep();
        let port = free_port();
        let mut guardian = Command::new("sh");
        guardian.arg("-c").arg(GUARDIAN).arg("guardian").arg(&folder).arg(&programs);
        guardian.arg(port.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        guardian.current_dir(&folder);
        // The server refuses to run as root.
        if geteuid().is_root() {
            let named = |name| User::from_name(name).ok().flatten();
            let user = named("postgres").or_else(|| named("nobody")).expect(MISSING);
            chown(&folder, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
            guardian.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        let mut process = guardian.spawn().expect("sh can be run");
        let mut guardian = Guardian {
            orders: process.stdin.take().unwrap(),
            answers: BufReader::new(process.stdout.take().unwrap()),
            _process: process,
        };
        guardian.order("start");
        Server {
            place: format!("127.0.0.1:{port}"),
            superuser: ("postgres".to_owned(), "test".to_owned()),
            guardian: Some(Mutex::new(guardian)),
        }
    }

    /// Kills the server with signal 9 and starts it again.
    pub fn crash(&self) {
        let guardian = self.guardian.as_ref();
        let mut guardian = guardian.expect("only a server of our own can be killed").lock();
        guardian.order("crash");
        guardian.order("start");
    }

    pub fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@{}/{database}?sslmode=disable", self.place)
    }

    pub fn superuser_url(&self, database: &str) -> String {
        self.url(&self.superuser.0, &self.superuser.1, database)
    }
}

impl Guardian {
    fn order(&mut self, what: &str) {
        writeln!(self.orders, "{what}").expect("the guardian listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the guardian answers");
        assert_eq!(answer.trim(), "ok", "PostgreSQL does not {what}");
    }
}

/// The folder with the server's programs, the newest version's.
fn programs() -> PathBuf {
    if let Some(folder) = std::env::var_os("SLIPRING_POSTGRES_BIN") {
        return PathBuf::from(folder);
    }
    let version = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.parse::<u32>().ok()
    };
    let installed = std::fs::read_dir("/usr/lib/postgresql").ok();
    let folders = installed.into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = folders
        .filter(|path| path.join("bin/initdb").exists() && version(path).is_some())
        .max_by_key(|path| version(path));
    newest.map(|path| path.join("bin")).expect(MISSING)
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().unwrap().port()
}
