//! A user's own SQL statement, prepared once on each connection, one connection for each thread.

mod parameters;
mod postgres;
mod sqlite;

pub use parameters::Parameter;
pub use postgres::PostgresStatement;
pub use sqlite::SqliteStatement;

/// A statement with what its parameters are made of.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The SQL text.
    pub sql: String,
    /// Values for `$1`, `$2`, … or `?1`, `?2`, ….
    pub parameters: Vec<Parameter>,
    /// Of random values.
    pub seed: u64,
}

/// What is wrong when a statement has another number of parameters.
fn wrong_number(wanted: usize, given: usize) -> String {
    format!(
        "the statement has {wanted} parameters and {given} are given; give --param once for each: \
         n, thread, random:LOW..HIGH or =TEXT"
    )
}
