//! The PostgreSQL server that is looked at: a session for looking, its version, and what the user
//! may see.

use anyhow::{Context, Result, bail};
use tokio_postgres::{Client, Error};

use crate::targets::postgres::connect_as;

/// The oldest version whose views the statements know.
const OLDEST: u32 = 14;

/// A version of PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Such as 15.
    pub major: u32,
}

/// What the user may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Whether sessions of other users show what they do.
    pub all_sessions: bool,
}

/// A session that only looks.
#[derive(Debug)]
pub struct Server {
    /// The session.
    pub client: Client,
    /// Of the server.
    pub version: Version,
    /// Of the user.
    pub rights: Rights,
    /// What the server calls itself, and the database of the session.
    pub name: String,
}

impl Server {
    /// Connects. The session changes nothing, waits for no lock longer than 100 ms and lets no
    /// statement run longer than 5 s.
    ///
    /// # Errors
    /// When the server refuses or is older than PostgreSQL 14.
    pub async fn open(url: &str) -> Result<Server> {
        let client = connect_as(url, "slipring-lab waits").await?;
        let session = include_str!("../../queries/waits_session.sql");
        client.batch_execute(session).await.context("preparing the session")?;
        let about = client.query_one(include_str!("../../queries/waits_server.sql"), &[]).await?;
        let number: i32 = about.try_get(0)?;
        let version = Version { major: number.unsigned_abs() / 10_000 };
        let (number, database): (String, String) = (about.try_get(1)?, about.try_get(3)?);
        let name = format!("PostgreSQL {number}, database {database},");
        if version.major < OLDEST {
            bail!("{name} is too old; the lab reads the statistics of version {OLDEST} and newer");
        }
        let rights = Rights { all_sessions: about.try_get(2)? };
        Ok(Server { client, version, rights, name })
    }
}

impl Rights {
    /// What PostgreSQL said, with its SQLSTATE.
    pub fn told(error: &Error) -> String {
        match error.as_db_error() {
            Some(said) => format!("SQLSTATE {}: {}", said.code().code(), said.message()),
            None => error.to_string(),
        }
    }

    /// What the user cannot see, as notes for the reader.
    pub fn unseen(self) -> Vec<String> {
        if self.all_sessions {
            return Vec::new();
        }
        vec![
            "this user sees only its own sessions in full: of others there are the process, the \
             application and who blocks whom, but no statement, no state and no wait; what they do \
             is counted as `not visible`. GRANT pg_read_all_stats (or pg_monitor) shows it"
                .to_owned(),
        ]
    }
}
