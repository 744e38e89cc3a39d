//! PgBouncer in transaction mode before a cluster: each transaction may get another connection.

use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::unistd::{User, geteuid};
use slipring_postgres::Address;

use super::server::free_port;
use super::{Cluster, OWNER};

/// What a test that needs one says where [`Pooler::start`] finds none.
pub const MISSING: &str = "this test needs PgBouncer: install the Debian package `pgbouncer` \
                           (cargo xtask test does)";

/// Ends the pooler when stdin ends, for whatever reason.
const KEEPER: &str = "\"$1\" -q \"$2\" & cat >/dev/null; kill $!; wait";

/// A running pooler; it ends with this.
pub struct Pooler {
    _process: Child,
    _folder: tempfile::TempDir,
    port: u16,
}

impl Pooler {
    /// Starts one; `None` where PgBouncer is not installed.
    pub fn start(cluster: &Cluster) -> Option<Pooler> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"]
            .map(PathBuf::from)
            .into_iter()
            .find(|path| path.exists())?;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let port = free_port();
        let users = folder.path().join("users");
        std::fs::write(&users, format!("\"{OWNER}\" \"test\"\n")).unwrap();
        let (host, server_port) = cluster.place();
        let settings = format!(
            "[databases]\n* = host={host} port={server_port}\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = 6\nmax_client_conn = 1000\n\
             server_idle_timeout = 5\n",
            users.display()
        );
        let config = folder.path().join("pgbouncer.ini");
        std::fs::write(&config, settings).unwrap();
        let mut keeper = Command::new("sh");
        keeper.arg("-c").arg(KEEPER).arg("keeper").arg(&program).arg(&config);
        keeper.stdin(Stdio::piped()).current_dir(folder.path());
        if geteuid().is_root() {
            let user = User::from_name("nobody").unwrap().expect("there is a user nobody");
            for path in [folder.path(), &users, &config] {
                chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
            }
            keeper.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        let process = keeper.spawn().expect("sh can be run");
        let pooler = Pooler { _process: process, _folder: folder, port };
        pooler.wait();
        Some(pooler)
    }

    /// The address of a database through the pooler.
    pub fn address(&self, database: &str) -> Address {
        self.address_with(database, "sslmode=disable")
    }

    /// The address of a database through the pooler, with something after the question mark.
    pub fn address_with(&self, database: &str, options: &str) -> Address {
        self.url_with(database, options).parse().unwrap()
    }

    /// As [`Pooler::address_with`], as a text.
    pub fn url_with(&self, database: &str, options: &str) -> String {
        let port = self.port;
        format!("postgres://{OWNER}:test@127.0.0.1:{port}/{database}?{options}")
    }

    fn wait(&self) {
        let clock = slipring::SystemClock::new();
        let until = slipring::Clock::now(&clock).after(Duration::from_secs(30));
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(slipring::Clock::now(&clock) < until, "PgBouncer does not listen");
            std::thread::yield_now();
        }
    }
}
