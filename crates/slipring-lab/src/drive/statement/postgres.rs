//! A statement on PostgreSQL, by tokio-postgres.

use std::error::Error as StdError;

use anyhow::{Context, Result, bail};
use bytes::BytesMut;
use futures::TryStreamExt;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Error};

use super::parameters::{Parameters, Value};
use super::{Statement, wrong_number};
use crate::drive::operation::{Failure, Maker, Operation, Turn};
use crate::targets::postgres::connect_as;

/// SQLSTATEs of a server that ends the session or goes down.
const ENDING: [&str; 4] = ["57P01", "57P02", "57P03", "57P05"];

/// Makes the operations of one run.
#[derive(Debug)]
pub struct PostgresStatement {
    /// The address of the database.
    pub url: String,
    /// What is executed.
    pub statement: Statement,
}

impl Maker for PostgresStatement {
    type Operation = PostgresOperation;

    async fn make(&self, thread: usize) -> Result<PostgresOperation> {
        let client = connect_as(&self.url, "slipring-lab drive").await?;
        let prepared = client.prepare(&self.statement.sql).await;
        let prepared = prepared.map_err(|error| anyhow::anyhow!(told(&error)));
        let prepared = prepared.context("preparing the statement")?;
        let (wanted, given) = (prepared.params().len(), self.statement.parameters.len());
        if wanted != given {
            bail!(wrong_number(wanted, given));
        }
        let parameters = Parameters::new(&self.statement.parameters, thread, self.statement.seed);
        Ok(PostgresOperation { client, prepared, parameters })
    }
}

/// A connection with its prepared statement.
#[derive(Debug)]
pub struct PostgresOperation {
    client: Client,
    prepared: tokio_postgres::Statement,
    parameters: Parameters,
}

impl PostgresOperation {
    /// Executes it; answers the rows it returned or changed.
    async fn execute(&self, values: &[Value]) -> Result<u64, Error> {
        let rows = self.client.query_raw(&self.prepared, values).await?;
        let mut rows = std::pin::pin!(rows);
        let mut returned = 0;
        while rows.try_next().await?.is_some() {
            returned += 1;
        }
        Ok(rows.rows_affected().unwrap_or(returned))
    }
}

impl Operation for PostgresOperation {
    async fn once(&mut self, turn: Turn) -> Result<u64, Failure> {
        let values = self.parameters.values(turn.number);
        self.execute(&values).await.map_err(|error| {
            let ending = error.code().is_some_and(|code| ENDING.contains(&code.code()));
            let told = told(&error);
            match error.is_closed()
                || ending
                || error.as_db_error().is_none() && self.client.is_closed()
            {
                true => Failure::Gone(anyhow::anyhow!(told)),
                false => Failure::Refused(told),
            }
        })
    }
}

/// What PostgreSQL said, with its SQLSTATE.
pub fn told(error: &Error) -> String {
    match error.as_db_error() {
        Some(database) => {
            let detail = database.detail().map_or(String::new(), |detail| format!(" ({detail})"));
            format!("SQLSTATE {}: {}{detail}", database.code().code(), database.message())
        }
        None => match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

/// Values go as text, which PostgreSQL reads as whatever type the parameter has.
impl ToSql for Value {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}
