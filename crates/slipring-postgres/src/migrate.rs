//! Bringing the schema up to date, in one transaction under a lock, and taking a restored
//! database into use.

use std::time::Duration;

use deadpool_postgres::Object;
use slipring::{Error, ErrorKind};
use tokio_postgres::error::SqlState;
use tokio_postgres::{IsolationLevel, Transaction};

use crate::address::Address;
use crate::barrier::{self, BARRIER};
use crate::fault::{garbled, storage_error};
use crate::options::PostgresOptions;
use crate::queries;
use crate::rows::{number, value};
use crate::schema::{self, State};
use crate::session::Session;

const MIGRATION_LOCK: &str = include_str!("../queries/migration_lock.sql");
const SEARCH_PATH: &str = include_str!("../queries/search_path.sql");
const IDLE_LIMIT: &str = include_str!("../queries/idle_limit.sql");
const CREATE_SCHEMA: &str = include_str!("../queries/create_schema.sql");
const CREATE_MIGRATION: &str = include_str!("../queries/create_migration.sql");
const DROP_FUNCTIONS: &str = include_str!("../queries/drop_functions.sql");
const ACT_AS_OWNER: &str = include_str!("../queries/act_as_owner.sql");
const ACT_AS_ITSELF: &str = include_str!("../queries/act_as_itself.sql");

/// The longest that a statement may be given.
const DAY: Duration = Duration::from_secs(86_400);

/// What was done to a schema, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The schema's version before; `None` where there was no schema.
    pub from: Option<u64>,
    /// Its version afterwards.
    pub to: u64,
    /// The statements, in order and with their reasons, as they could be given to `psql`; empty
    /// when the schema is up to date.
    pub sql: String,
    /// Roles of users of the SQL interface that are not there and that the user may not create.
    /// Once somebody has, the next migration gives them their rights.
    pub roles_missing: Vec<String>,
}

impl Migration {
    /// Whether the schema was up to date.
    pub fn is_empty(&self) -> bool {
        self.sql.is_empty()
    }
}

/// One file of SQL, with a name for errors.
struct Step {
    name: String,
    sql: String,
}

/// Brings the schema of a database up to date, or with `dry_run` only tells how. All of it or
/// nothing; a second program that tries at the same time waits and finds it done. Transactions that
/// have used the store are waited for, at most for the statement timeout; other calls wait
/// meanwhile, two seconds at a time, and from then on until the migration ends.
///
/// # Errors
/// `StorageTooNew` for a schema that a newer program has made; `StorageUnavailable` when the
/// database cannot be reached or used, or rights are missing.
pub async fn migrate(
    address: &Address,
    options: PostgresOptions,
    dry_run: bool,
) -> Result<Migration, Error> {
    let session = Session::new(address, &address.overrides(options))?;
    let migrated = up(&session, dry_run).await;
    session.close();
    migrated.map_err(|error| session.located(error).during("migrate"))
}

/// What [`import`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// What is now added to the cluster's transaction numbers to make message numbers.
    pub xid_base: u64,
    /// How many queues there are.
    pub queues: u64,
}

/// Takes a database into use that was restored from a dump, where transactions may be
/// numbered anew: from now on messages get higher numbers than any in it. No server may use the
/// database meanwhile; transactions that have used it, prepared ones too, are waited for as by
/// [`migrate`]. Harmless where it is not needed.
///
/// # Errors
/// `StorageTooNew` and `StorageUnavailable` for a schema that is not as this program has it, with
/// nothing done; storage errors.
pub async fn import(address: &Address, options: PostgresOptions) -> Result<Imported, Error> {
    // Everything that is open is written anew: however long that takes.
    let options = address.overrides(options);
    let limit = options.statement_timeout;
    let session = Session::new(address, &PostgresOptions { statement_timeout: DAY, ..options })?;
    let imported = take_in(&session, limit).await;
    session.close();
    imported.map_err(|error| session.located(error).during("import"))
}

async fn take_in(session: &Session, limit: Duration) -> Result<Imported, Error> {
    let mut connection = session.connection().await?;
    schema::state(&**connection).await?.check()?;
    let transaction = read_committed(&mut connection).await?;
    barrier::hold(&transaction, limit).await?;
    let rows = transaction.query_typed(queries::IMPORT.text, &[]).await.map_err(storage_error)?;
    let row = rows.first().ok_or_else(|| garbled("no row"))?;
    let imported = Imported { xid_base: number(row, 0)?, queues: number(row, 1)? };
    transaction.commit().await.map_err(storage_error)?;
    Ok(imported)
}

async fn read_committed(
    connection: &mut Object,
) -> Result<deadpool_postgres::Transaction<'_>, Error> {
    let transaction = connection.build_transaction();
    let transaction = transaction.isolation_level(IsolationLevel::ReadCommitted).start().await;
    let transaction = transaction.map_err(storage_error)?;
    transaction.batch_execute(IDLE_LIMIT).await.map_err(storage_error)?;
    Ok(transaction)
}

/// The same over a session that is there.
pub(crate) async fn up(session: &Session, dry_run: bool) -> Result<Migration, Error> {
    let mut connection: Object = session.connection().await?;
    let transaction = read_committed(&mut connection).await?;
    // Whoever gets the lock second finds what the first has done.
    run(&transaction, "the lock", MIGRATION_LOCK).await?;
    run(&transaction, "the search path", SEARCH_PATH).await?;
    let state = schema::state(&*transaction).await?;
    let mut steps = plan(&state);
    let mut roles = Roles::default();
    if state == State::Current {
        roles = Roles::of(&transaction).await?;
        if roles.lack_rights {
            steps.extend(schema::functions().iter().filter_map(grants));
        }
    }
    let mut migration = Migration {
        from: match state {
            State::Empty { .. } => None,
            State::Behind { version } => Some(version.unsigned_abs()),
            State::Current => Some(schema::version().unsigned_abs()),
        },
        to: schema::version().unsigned_abs(),
        sql: script(&steps),
        roles_missing: roles.missing,
    };
    if !dry_run {
        if matches!(state, State::Behind { .. }) {
            barrier::hold(&transaction, session.statement_timeout()).await?;
        }
        for step in &steps {
            run(&transaction, &step.name, &step.sql).await?;
        }
        migration.roles_missing = Roles::of(&transaction).await?.missing;
        transaction.commit().await.map_err(storage_error)?;
    }
    Ok(migration)
}

/// The roles of users of the SQL interface.
#[derive(Debug, Default)]
struct Roles {
    /// One of those that are there may not do its part.
    lack_rights: bool,
    missing: Vec<String>,
}

impl Roles {
    async fn of(transaction: &Transaction<'_>) -> Result<Roles, Error> {
        let rows = transaction.query_typed(queries::ROLES.text, &[]).await;
        let rows = rows.map_err(storage_error)?;
        let row = rows.first().ok_or_else(|| garbled("no row"))?;
        Ok(Roles { lack_rights: value(row, 0)?, missing: value(row, 1)? })
    }
}

/// The step that gives the roles their rights, if a file of the functions is it.
fn grants((name, sql): &(&str, &str)) -> Option<Step> {
    (*name == "roles").then(|| Step { name: (*name).to_owned(), sql: (*sql).to_owned() })
}

async fn run(transaction: &Transaction<'_>, name: &str, sql: &str) -> Result<(), Error> {
    let done = transaction.batch_execute(sql).await;
    done.map_err(|error| {
        if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            let text = "the user may not make the schema slipring or change what is in it: GRANT \
                        CREATE ON DATABASE to it, or migrate as the schema's owner";
            let error = Error::new(ErrorKind::StorageUnavailable, text).caused_by(error);
            return error.with("step", name);
        }
        storage_error(error).with("step", name)
    })
}

/// What has to be done, in order.
fn plan(state: &State) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut step = |name: &str, sql: String| steps.push(Step { name: name.to_owned(), sql });
    let done = match state {
        State::Current => return steps,
        State::Behind { version } => {
            step("the barrier", BARRIER.to_owned());
            step("the owner", ACT_AS_OWNER.to_owned());
            step("functions of another build", DROP_FUNCTIONS.to_owned());
            *version
        }
        State::Empty { schema } => {
            if !schema {
                step("schema", CREATE_SCHEMA.to_owned());
            }
            step("the owner", ACT_AS_OWNER.to_owned());
            step("list of migrations", CREATE_MIGRATION.to_owned());
            0
        }
    };
    for (version, (name, sql)) in (1_i64..).zip(schema::migrations()) {
        if version > done {
            step(name, (*sql).to_owned());
            step(
                name,
                format!(
                    "INSERT INTO slipring.migration (version, name) VALUES ({version}, '{name}')"
                ),
            );
        }
    }
    for (name, sql) in schema::functions() {
        if *name == "roles" {
            step("who migrates", ACT_AS_ITSELF.to_owned());
        }
        step(name, (*sql).to_owned());
    }
    let digest = schema::digest();
    step(
        "digest of the functions",
        format!(
            "INSERT INTO slipring.migration (version, name) VALUES (0, '{digest}')\n\
         ON CONFLICT (version) DO UPDATE SET name = excluded.name, applied_at = now()"
        ),
    );
    steps
}

/// The steps as a script for `psql`; empty when there is none.
fn script(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let mut script = String::from("BEGIN;\n\n");
    let before = [MIGRATION_LOCK, SEARCH_PATH].into_iter();
    for sql in before.chain(steps.iter().map(|step| step.sql.as_str())) {
        script.push_str(sql.trim_end());
        if !sql.trim_end().ends_with(';') {
            script.push(';');
        }
        script.push_str("\n\n");
    }
    script.push_str("COMMIT;\n");
    script
}
