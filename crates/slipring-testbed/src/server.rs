//! The server itself: found by its address, or made from the programs on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use nix::sys::statvfs::statvfs;
use nix::unistd::{User, geteuid};
use parking_lot::Mutex;

const GUARDIAN: &str = include_str!("guardian.sh");
const MISSING: &str = "these tests need PostgreSQL 15 or newer: install the package `postgresql` \
                       (cargo xtask test does), name the folder of its programs in \
                       SLIPRING_POSTGRES_BIN, or name a server in SLIPRING_TEST_POSTGRES";

/// What has to be free before clusters are put into memory: each of several takes up to 1 GiB.
const IN_MEMORY_BYTES_MIN: u64 = 8 << 30;

/// A PostgreSQL server.
pub struct Server {
    /// `host:port`.
    pub place: String,
    /// User and password of a superuser.
    superuser: (String, String),
    /// Where a server of our own keeps everything.
    folder: Option<PathBuf>,
    guardian: Option<Mutex<Guardian>>,
}

/// The process that keeps the throw-away cluster, and hears when this one ends.
struct Guardian {
    _process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// The server that `SLIPRING_TEST_POSTGRES` names, or a throw-away cluster.
    pub fn start() -> Server {
        match std::env::var("SLIPRING_TEST_POSTGRES") {
            Ok(url) => Server::named(&url),
            Err(_) => Server::own(),
        }
    }

    /// A throw-away cluster, whatever server the environment names.
    pub fn own() -> Server {
        Server::made(Command::new("sh"), "")
    }

    /// A throw-away cluster beside a file system of so many megabytes, its folder `disk`. It is
    /// mounted in a name space of the cluster's own; `None` where the system does not let users
    /// make one.
    pub fn with_disk(megabytes: u32) -> Option<Server> {
        let space = || {
            let mut space = Command::new("unshare");
            space.args(["--user", "--map-current-user", "--keep-caps", "--mount"]);
            space
        };
        let mut trial = space();
        trial.args(["mount", "-t", "tmpfs", "slipring", "/mnt"]).stderr(Stdio::null());
        as_ordinary_user(&mut trial);
        if !trial.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let mut shell = space();
        shell.arg("sh");
        Some(Server::made(shell, &megabytes.to_string()))
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
        let place = format!("{host}:{port}");
        Server { place, superuser: (user, password), folder: None, guardian: None }
    }

    /// `shell` runs the guardian; `disk` is its last argument.
    fn made(mut guardian: Command, disk: &str) -> Server {
        let programs = programs();
        let mut folder = tempfile::Builder::new();
        folder.prefix("slipring-postgres-");
        let folder = match in_memory() {
            Some(place) => folder.tempdir_in(place),
            None => folder.tempdir(),
        };
        // The guardian removes it.
        let folder = folder.expect("a temporary folder can be made").keep();
        let port = free_port();
        guardian.arg("-c").arg(GUARDIAN).arg("guardian").arg(&folder).arg(&programs);
        guardian.args([&port.to_string(), disk]).stdin(Stdio::piped()).stdout(Stdio::piped());
        guardian.current_dir(&folder);
        if let Some(user) = as_ordinary_user(&mut guardian) {
            chown(&folder, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
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
            folder: Some(folder),
            guardian: Some(Mutex::new(guardian)),
        }
    }

    /// Kills the server with signal 9 and starts it again.
    pub fn crash(&self) {
        let mut guardian = self.guardian().lock();
        guardian.order("crash");
        guardian.order("start");
    }

    /// Runs a shell script as the server's user. It finds the server's folder as `$dir`, its
    /// programs as `$bin` and its port as `$port`, and its data in `$dir/data`.
    pub fn run(&self, name: &str, script: &str) {
        std::fs::write(self.folder().join(name), script).expect("the folder can be written to");
        self.guardian().lock().order(&format!("run\n{name}"));
    }

    /// Where a server of our own keeps everything.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().expect("a server of our own has a folder")
    }

    fn guardian(&self) -> &Mutex<Guardian> {
        self.guardian.as_ref().expect("only a server of our own does what it is told")
    }

    /// The address of a database as any user.
    pub fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@{}/{database}?sslmode=disable", self.place)
    }

    /// The address of a database as the superuser.
    pub fn superuser_url(&self, database: &str) -> String {
        self.url(&self.superuser.0, &self.superuser.1, database)
    }
}

/// A folder in memory, where the machine has plenty of it. A file system on a disk takes a quarter
/// of both processors for the seven hundred files of each database, and no test here is about a
/// loss of power, after which files in memory would be gone.
fn in_memory() -> Option<&'static Path> {
    const PLACE: &str = "/dev/shm";
    let room = statvfs(PLACE).ok()?;
    let free_bytes = room.blocks_available() * room.fragment_size();
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available_kib: u64 = available.trim().strip_suffix(" kB")?.parse().ok()?;
    (free_bytes >= IN_MEMORY_BYTES_MIN && available_kib * 1024 >= IN_MEMORY_BYTES_MIN)
        .then_some(Path::new(PLACE))
}

impl Guardian {
    fn order(&mut self, what: &str) {
        writeln!(self.orders, "{what}").expect("the guardian listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the guardian answers");
        assert_eq!(answer.trim(), "ok", "PostgreSQL does not {what}");
    }
}

/// The server refuses to run as root: lets a command run as somebody else then, and answers who.
fn as_ordinary_user(command: &mut Command) -> Option<User> {
    if !geteuid().is_root() {
        return None;
    }
    let named = |name| User::from_name(name).ok().flatten();
    let user = named("postgres").or_else(|| named("nobody")).expect(MISSING);
    command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    Some(user)
}

/// The folder with the server's programs, the newest version's.
pub fn programs() -> PathBuf {
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
