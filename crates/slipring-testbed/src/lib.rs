//! A PostgreSQL for tests: the one that `SLIPRING_TEST_POSTGRES` names, else a throw-away cluster
//! on a free port of 127.0.0.1, which goes away with the test program however that ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a failed step fails the test"
)]

mod halt;
pub mod pair;
pub mod pooler;
mod refusal;
pub mod server;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use slipring::{QueueId, Timestamp};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

pub use refusal::{refusal, refused_with};
use server::Server;

/// The role that owns the databases: no superuser.
pub const OWNER: &str = "slipring_test";

/// A server with databases for tests, each made from one that was migrated once.
pub struct Cluster {
    server: Server,
    role: OnceCell<()>,
    template: OnceCell<String>,
    /// Databases by the folder whose end is theirs.
    places: Mutex<Vec<(PathBuf, String)>>,
    count: std::sync::atomic::AtomicU32,
}

/// A database of its own, dropped with this.
pub struct Database {
    /// Where it is, as its owner.
    pub address: Address,
    /// Its name.
    pub name: String,
}

impl Cluster {
    /// Starts a cluster for the whole test program.
    pub fn shared() -> &'static Cluster {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(Cluster::start)
    }

    /// Starts a cluster.
    pub fn start() -> Cluster {
        Cluster::of(Server::start())
    }

    /// Starts a throw-away cluster, whatever server the environment names.
    pub fn own() -> Cluster {
        Cluster::of(Server::own())
    }

    /// Starts a throw-away cluster with a small disk beside it, its folder `disk`; `None` where
    /// the system lets nobody but root make one.
    pub fn with_disk(megabytes: u32) -> Option<Cluster> {
        Server::with_disk(megabytes).map(Cluster::of)
    }

    fn of(server: Server) -> Cluster {
        Cluster {
            server,
            role: OnceCell::new(),
            template: OnceCell::new(),
            places: Mutex::default(),
            count: std::sync::atomic::AtomicU32::new(0),
        }
    }

    /// Kills the server as a loss of power does, and starts it again.
    pub fn crash(&self) {
        self.server.crash();
    }

    /// Runs a shell script as the server's user, see [`Server::run`].
    pub fn run(&self, name: &str, script: &str) {
        self.server.run(name, script);
    }

    /// The folder of a throw-away cluster.
    pub fn folder(&self) -> &Path {
        self.server.folder()
    }

    /// Host and port of the server.
    pub fn place(&self) -> (&str, &str) {
        self.server.place.split_once(':').expect("a host and a port")
    }

    /// The address of a database as its owner.
    pub fn address(&self, database: &str) -> Address {
        self.server.url(OWNER, "test", database).parse().unwrap()
    }

    /// The address of a database as any user.
    pub fn url(&self, user: &str, password: &str, database: &str) -> String {
        self.server.url(user, password, database)
    }

    /// The database that belongs to a folder: made when it is first asked for, dropped some time
    /// after the folder is gone.
    pub async fn database_of(&self, place: &Path) -> String {
        let known = |places: &Vec<(PathBuf, String)>| {
            places.iter().find(|(folder, _)| folder == place).map(|(_, name)| name.clone())
        };
        let known = known(&self.places.lock());
        match known {
            Some(name) => name,
            None => {
                self.drop_gone().await;
                let name = self.make().await;
                self.places.lock().push((place.to_owned(), name.clone()));
                name
            }
        }
    }

    /// A migrated database.
    pub async fn database(&self) -> Database {
        let name = self.make().await;
        Database { address: self.address(&name), name }
    }

    /// A database without anything in it.
    pub async fn empty(&self) -> Database {
        let name = self.next_name();
        self.create(&name, "template1").await;
        Database { address: self.address(&name), name }
    }

    /// A store over a database.
    pub async fn store(&self, database: &Database) -> Arc<PostgresStore> {
        let options = PostgresOptions { connections: 6, ..PostgresOptions::default() };
        PostgresStore::open(&database.address, options).await.expect("the store opens")
    }

    /// A migrated database, a store over it, and a connection as its owner.
    pub async fn opened(&self) -> (Database, Arc<PostgresStore>, Client) {
        let database = self.database().await;
        let store = self.store(&database).await;
        let client = self.client(&database).await;
        (database, store, client)
    }

    /// A store over a database that retires tables as soon as they hold so many bytes.
    pub async fn rotating_store(&self, database: &Database, bytes: u64) -> Arc<PostgresStore> {
        let options = PostgresOptions {
            connections: 6,
            rotate_bytes: bytes,
            rotate_age: Duration::ZERO,
            ..PostgresOptions::default()
        };
        PostgresStore::open(&database.address, options).await.expect("the store opens")
    }

    /// The address of a database as the server's superuser.
    pub fn superuser_url(&self, database: &str) -> String {
        self.server.superuser_url(database)
    }

    /// A connection as the server's superuser.
    pub async fn superuser(&self, database: &str) -> Client {
        connect(&self.server.superuser_url(database)).await
    }

    /// A connection as the owner of a database.
    pub async fn client(&self, database: &Database) -> Client {
        self.owner(&database.name).await
    }

    /// A connection as the owner of a database, by its name.
    pub async fn owner(&self, database: &str) -> Client {
        connect(&self.server.url(OWNER, "test", database)).await
    }

    /// A connection as the owner of a database, in a transaction of an isolation level.
    pub async fn begin(&self, database: &Database, isolation: &str) -> Client {
        let client = self.client(database).await;
        run(&client, &format!("BEGIN ISOLATION LEVEL {isolation}")).await;
        client
    }

    /// A connection in a transaction that holds the lock of a queue.
    pub async fn holder(&self, database: &Database, queue: QueueId) -> Client {
        let client = self.begin(database, "READ COMMITTED").await;
        run(&client, &format!("SELECT slipring.queue_lock({})", queue.0)).await;
        client
    }

    /// Ends every connection to a database.
    pub async fn disconnect(&self, database: &Database) {
        let sql = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = $1";
        let admin = self.superuser("postgres").await;
        admin.query(sql, &[&database.name]).await.expect("backends can be ended");
    }

    async fn make(&self) -> String {
        let template = self.template.get_or_init(|| self.make_template()).await;
        let name = self.next_name();
        self.create(&name, template).await;
        // A copy, but a store of its own.
        let key = "UPDATE slipring.store SET receipt_key = sha256(gen_random_uuid()::text::bytea)";
        let client = connect(&self.server.url(OWNER, "test", &name)).await;
        client.batch_execute(key).await.expect("the key can be changed");
        name
    }

    async fn make_template(&self) -> String {
        let name = self.next_name();
        self.create(&name, "template1").await;
        let address = self.address(&name);
        let migrated = slipring_postgres::migrate(&address, PostgresOptions::default(), false);
        migrated.await.expect("the schema can be made");
        name
    }

    async fn make_role(&self) {
        let role = format!(
            "DO $$ BEGIN CREATE ROLE {OWNER} LOGIN CREATEROLE PASSWORD 'test'; EXCEPTION WHEN \
             duplicate_object OR unique_violation THEN NULL; END $$"
        );
        let admin = self.superuser("postgres").await;
        admin.batch_execute(&role).await.expect("the role can be made");
    }

    async fn create(&self, name: &str, template: &str) {
        self.role.get_or_init(|| self.make_role()).await;
        let sql = format!("CREATE DATABASE {name} OWNER {OWNER} TEMPLATE {template}");
        let admin = self.superuser("postgres").await;
        // The connection that made the template may take a moment to go.
        let made = async {
            while let Err(error) = admin.batch_execute(&sql).await {
                let busy = error.code().is_some_and(|code| code.code() == "55006");
                assert!(busy, "{sql}: {error:?}");
            }
        };
        let limit = Duration::from_secs(30);
        tokio::time::timeout(limit, made).await.expect("nobody uses the template");
    }

    async fn drop_gone(&self) {
        let gone: Vec<String> = {
            let mut places = self.places.lock();
            let (left, gone) = places.drain(..).partition(|(folder, _)| folder.exists());
            *places = left;
            gone.into_iter().map(|(_, name): (PathBuf, String)| name).collect()
        };
        if gone.is_empty() {
            return;
        }
        let admin = self.superuser("postgres").await;
        for name in gone {
            let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            admin.batch_execute(&sql).await.expect("a database can be dropped");
        }
    }

    fn next_name(&self) -> String {
        let count = self.count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("slipring_test_{}_{count}", std::process::id())
    }
}

/// Runs statements that must succeed.
pub async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// One step of the rotation of a part, whose time has come however little it holds; answers
/// whether there was something to do.
pub async fn rotation_step(client: &Client, part: &str, now: Timestamp) -> bool {
    rotation_step_after(client, part, now, 0).await.0
}

/// The same of queues with a higher number than `after`; answers also which queue to go on after.
pub async fn rotation_step_after(
    client: &Client,
    part: &str,
    now: Timestamp,
    after: i32,
) -> (bool, Option<i32>) {
    let now = i64::try_from(now.as_millis()).unwrap();
    let step = "SELECT done, after FROM slipring.store_rotate($1, $2, 1, 0, $3)";
    let row = client.query_one(step, &[&part, &now, &after]).await.expect("a step succeeds");
    (row.get(0), row.get(1))
}

/// A step in a transaction that ends with `end`: of the first queue that has one.
pub async fn rotate(client: &Client, part: &str, now: Timestamp, end: &str) -> bool {
    let mut from = Some(0);
    while let Some(after) = from {
        run(client, "BEGIN").await;
        let (done, next) = rotation_step_after(client, part, now, after).await;
        run(client, end).await;
        if done {
            return true;
        }
        from = next;
    }
    false
}

/// Steps of a part until a condition holds: transactions of other tests may have to end before.
pub async fn rotate_until(
    client: &Client,
    part: &str,
    now: Timestamp,
    done: impl AsyncFn() -> bool,
) {
    let steps = async {
        while !done().await {
            rotate(client, part, now, "COMMIT").await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), steps).await;
    in_time.unwrap_or_else(|_| panic!("the rotation of {part} gets there"));
}

/// How many tables, indexes, sequences and views the schema has.
pub async fn relations(client: &Client) -> i64 {
    let sql = "SELECT count(*) FROM pg_class WHERE relnamespace = 'slipring'::regnamespace";
    one(client, sql).await
}

/// The one number that a query answers.
pub async fn one(client: &Client, sql: &str) -> i64 {
    let row = client.query_one(sql, &[]).await;
    row.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}

/// The moment it is for the database.
pub async fn database_now(client: &Client) -> Timestamp {
    let ms = one(client, "SELECT slipring.now_ms()").await;
    Timestamp::from_millis(u64::try_from(ms).expect("it is after 1970"))
}

/// How long [`soon()`] waits.
pub const SOON: Duration = Duration::from_secs(15);

/// What must be over soon: long for what waits for nobody, and shorter than a statement may take.
pub async fn soon<T>(what: &str, done: impl Future<Output = T>) -> T {
    let in_time = tokio::time::timeout(SOON, done).await;
    in_time.unwrap_or_else(|_| panic!("{what} waits for another session"))
}

/// Returns when so many other backends of the client's database wait for an event, as
/// `pg_stat_activity` names it.
pub async fn waiting(client: &Client, event: &str, backends: i64) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event = '{event}'"
    );
    let waiting = async { while one(client, &sql).await != backends {} };
    let limit = Duration::from_secs(60);
    let in_time = tokio::time::timeout(limit, waiting).await;
    in_time.unwrap_or_else(|_| panic!("{backends} backends wait for {event}"));
}

/// Returns when at least so many other backends of the client's database wait for a lock of any
/// kind. The client's role has to see what others wait for.
pub async fn locked(client: &Client, backends: i64) {
    let sql = "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    soon("a lock", async { while one(client, sql).await < backends {} }).await;
}

/// What stands in the schema, a line for each thing.
pub async fn catalogue(client: &Client) -> Vec<String> {
    let rows = client.query(include_str!("catalog.sql"), &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Lets commits of a cluster wait for a standby of that name, or with an empty one no more, from
/// the moment on at which the server takes it in.
pub async fn standby(admin: &Client, name: &str) {
    run(admin, &format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'")).await;
    run(admin, "SELECT pg_reload_conf()").await;
}

/// A plain connection, which lasts as long as the client.
pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("it connects");
    tokio::spawn(connection);
    client
}
