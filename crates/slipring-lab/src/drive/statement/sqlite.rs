//! A statement on an SQLite file, by rusqlite. The settings of the file stay as they are.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};

use super::parameters::{Parameters, Value};
use super::{Statement, wrong_number};
use crate::drive::operation::{Failure, Interrupt, Maker, Operation, Turn};

/// How long a statement waits for another that writes; a longer wait is a failure.
const BUSY: Duration = Duration::from_secs(5);

/// Makes the operations of one run.
#[derive(Debug)]
pub struct SqliteStatement {
    /// The file, which must be there.
    pub file: PathBuf,
    /// What is executed.
    pub statement: Statement,
}

impl Maker for SqliteStatement {
    type Operation = SqliteOperation;

    async fn make(&self, thread: usize) -> Result<SqliteOperation> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&self.file, flags);
        let connection = opened.with_context(|| format!("opening {}", self.file.display()))?;
        connection.busy_timeout(BUSY)?;
        let sql = self.statement.sql.clone();
        let wanted = {
            let prepared = connection.prepare_cached(&sql);
            prepared.map_err(|error| anyhow::anyhow!(told(&error)))?.parameter_count()
        };
        let given = self.statement.parameters.len();
        if wanted != given {
            bail!(wrong_number(wanted, given));
        }
        let parameters = Parameters::new(&self.statement.parameters, thread, self.statement.seed);
        Ok(SqliteOperation { connection, sql, parameters })
    }
}

/// A connection, which keeps the prepared statement.
#[derive(Debug)]
pub struct SqliteOperation {
    connection: Connection,
    sql: String,
    parameters: Parameters,
}

impl SqliteOperation {
    /// Executes it; answers the rows it returned or changed.
    fn execute(&self, values: &[Value]) -> rusqlite::Result<u64> {
        let mut statement = self.connection.prepare_cached(&self.sql)?;
        let returns = statement.column_count() > 0;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut returned = 0;
        while rows.next()?.is_some() {
            returned += 1;
        }
        drop(rows);
        Ok(if returns { returned } else { self.connection.changes() })
    }
}

impl Operation for SqliteOperation {
    async fn once(&mut self, turn: Turn) -> Result<u64, Failure> {
        let values = self.parameters.values(turn.number);
        self.execute(&values).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Failure::Gone(anyhow::anyhow!(told(&error)))
            }
            _ => Failure::Refused(told(&error)),
        })
    }

    fn interrupt(&self) -> Option<Interrupt> {
        let handle = self.connection.get_interrupt_handle();
        Some(Box::new(move || handle.interrupt()))
    }
}

/// What SQLite said, with its extended result code.
fn told(error: &rusqlite::Error) -> String {
    match error.sqlite_error() {
        Some(code) => format!("SQLite code {}: {error}", code.extended_code),
        None => error.to_string(),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Number(number) => ToSqlOutput::from(*number),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}
