//! A primary and a standby that follows it, for tests of a failover: the primary is killed, the
//! standby takes over, and the killed one comes back as a standby of the other.

use std::time::Duration;

use slipring_postgres::Address;
use tokio_postgres::Client;

use crate::server::free_port;
use crate::{Cluster, Database, OWNER, connect, run, standby};

/// How long a standby may take until it follows.
const FOLLOWS: Duration = Duration::from_secs(60);
/// The folders of the two servers, within that of the cluster.
const FOLDERS: [&str; 2] = ["data", "standby"];
/// The name by which a standby is known to its primary.
const NAME: &str = "standby";

/// Makes the server in a folder anew, as a standby of the other one. A package of PostgreSQL
/// without `pg_basebackup` has the other one stop for the copy.
const FOLLOW: &str = r#"
rm -rf "$dir/THIS"
# The lock file names a process that was killed, which exists until its parent has reaped it.
rm -f "$dir/.s.PGSQL.THIS_PORT" "$dir/.s.PGSQL.THIS_PORT.lock"
if [ -x "$bin/pg_basebackup" ]; then
    "$bin/pg_basebackup" -h "$dir" -p OTHER_PORT -U postgres -D "$dir/THIS" -c fast -X stream
else
    "$bin/pg_ctl" -D "$dir/OTHER" -w -m fast stop
    cp -R "$dir/OTHER" "$dir/THIS"
    "$bin/pg_ctl" -D "$dir/OTHER" -w -l "$dir/OTHER.log" start
fi
cat >>"$dir/THIS/postgresql.conf" <<SETTINGS
port = THIS_PORT
primary_conninfo = 'host=$dir port=OTHER_PORT user=postgres application_name=NAME'
SETTINGS
touch "$dir/THIS/standby.signal"
"$bin/pg_ctl" -D "$dir/THIS" -w -l "$dir/THIS.log" start
"#;

/// Kills a server with all its processes, as when its machine is gone. It is stopped first, so
/// that it makes no further process meanwhile.
const KILL: &str = r#"
pid=$(head -n 1 "$dir/THIS/postmaster.pid")
kill -STOP "$pid"
kill -9 "$pid" $(cat "/proc/$pid/task/$pid/children") || true
# It is gone when it is a zombie; whose child it is may take long to notice.
while grep -q '^State:[^Z]*$' "/proc/$pid/status" 2>/dev/null; do :; done
"#;

/// Stops a server with all its processes, as when its machine hangs: it takes connections, and
/// answers nothing.
const HANG: &str = r#"
pid=$(head -n 1 "$dir/THIS/postmaster.pid")
kill -STOP "$pid"
kill -STOP $(cat "/proc/$pid/task/$pid/children") || true
"#;

const PROMOTE: &str = r#"
"$bin/pg_ctl" -D "$dir/THIS" -w -t 60 promote
"#;

/// Whether commits of the primary wait for the standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication {
    /// They do: `synchronous_standby_names = 'ANY 1 (standby)'`.
    Synchronous,
    /// They do not.
    Asynchronous,
}

/// A throw-away primary and its standby on two ports of 127.0.0.1.
pub struct Pair {
    cluster: Cluster,
    ports: [u16; 2],
    /// Which of the two takes writes.
    primary: usize,
    replication: Replication,
}

impl Pair {
    /// Starts both.
    pub async fn start(replication: Replication) -> Pair {
        let cluster = Cluster::own();
        let port = cluster.place().1.parse().expect("a port");
        let ports = [port, free_port()];
        let mut pair = Pair { cluster, ports, primary: 0, replication };
        pair.follow().await;
        pair
    }

    /// The cluster that the primary was at the start, with the databases to be made before the
    /// first failover.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Both servers in one address, of which the one that takes writes is used.
    pub fn url(&self, database: &Database) -> String {
        let [one, two] = self.ports;
        format!(
            "postgres://{OWNER}:test@127.0.0.1:{one},127.0.0.1:{two}/{}\
             ?sslmode=disable&target_session_attrs=read-write",
            database.name
        )
    }

    /// The same for a store.
    pub fn address(&self, database: &Database) -> Address {
        self.url(database).parse().expect("the address can be read")
    }

    /// A connection to the server that takes writes, as its superuser.
    pub async fn on_primary(&self, database: &str) -> Client {
        self.on(self.primary, database).await
    }

    /// A connection to the standby, as its superuser.
    pub async fn on_standby(&self, database: &str) -> Client {
        self.on(1 - self.primary, database).await
    }

    /// Kills every process of the primary with signal 9.
    pub fn kill_primary(&self) {
        self.order("kill", KILL, self.primary);
    }

    /// Stops every process of the primary: it does not answer any more.
    pub fn hang_primary(&self) {
        self.order("hang", HANG, self.primary);
    }

    /// Kills every process of the server that is not the primary with signal 9.
    pub fn kill_other(&self) {
        self.order("kill", KILL, 1 - self.primary);
    }

    /// Makes the standby the primary; returns when it takes writes.
    pub fn promote(&mut self) {
        self.primary = 1 - self.primary;
        self.order("promote", PROMOTE, self.primary);
    }

    /// Makes the other server, which was killed or does not exist yet, a standby of the primary.
    pub async fn follow(&mut self) {
        self.order("follow", FOLLOW, 1 - self.primary);
        let primary = self.on_primary("postgres").await;
        if self.replication == Replication::Synchronous {
            standby(&primary, &format!("ANY 1 ({NAME})")).await;
        }
        let wanted = match self.replication {
            Replication::Synchronous => "quorum",
            Replication::Asynchronous => "async",
        };
        let follows = format!(
            "SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '{wanted}'"
        );
        until("the standby follows", async || {
            primary.query_opt(&follows, &[]).await.expect("the primary answers").is_some()
        })
        .await;
    }

    /// Waits until the standby has all that the primary has written, and cuts it off: what the
    /// primary writes from now on never reaches it.
    pub async fn cut_off(&self) {
        let primary = self.on_primary("postgres").await;
        let behind = self.on_standby("postgres").await;
        // What has not been flushed is not sent. A commit flushes all before it.
        run(&primary, "SELECT pg_logical_emit_message(true, 'test', '')").await;
        let written = primary.query_one("SELECT pg_current_wal_lsn()::text", &[]).await;
        let written: String = written.expect("the primary answers").get(0);
        let replayed = format!("SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn");
        until("the standby has everything", async || {
            behind.query_one(&replayed, &[]).await.expect("the standby answers").get(0)
        })
        .await;
        run(&behind, "ALTER SYSTEM SET primary_conninfo = ''").await;
        run(&behind, "SELECT pg_reload_conf()").await;
        until("the standby receives nothing", async || {
            let receives = behind.query_opt("SELECT FROM pg_stat_wal_receiver", &[]).await;
            receives.expect("the standby answers").is_none()
        })
        .await;
    }

    async fn on(&self, server: usize, database: &str) -> Client {
        let port = self.ports[server];
        let url = format!("postgres://postgres:test@127.0.0.1:{port}/{database}?sslmode=disable");
        connect(&url).await
    }

    /// Runs a script about one of the servers. Waits for its end, so a runtime needs another
    /// thread for whatever goes on meanwhile.
    fn order(&self, name: &str, script: &str, this: usize) {
        let other = 1 - this;
        let script = script
            .replace("OTHER_PORT", &self.ports[other].to_string())
            .replace("THIS_PORT", &self.ports[this].to_string())
            .replace("OTHER", FOLDERS[other])
            .replace("THIS", FOLDERS[this])
            .replace("NAME", NAME);
        tokio::task::block_in_place(|| self.cluster.run(name, &script));
    }
}

/// Asks until the answer is yes.
async fn until(what: &str, mut asked: impl AsyncFnMut() -> bool) {
    let answered = async { while !asked().await {} };
    let in_time = tokio::time::timeout(FOLLOWS, answered).await;
    in_time.unwrap_or_else(|_| panic!("{what}: not within {FOLLOWS:?}"));
}
