//! What stands in a database: which server it is, and which version of the schema.

use std::sync::LazyLock;

use slipring::{Error, ErrorKind};
use tokio_postgres::GenericClient;

use crate::fault::{garbled, storage_error};
use crate::queries;
use crate::rows::value;

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The oldest version of PostgreSQL that has what the functions use.
const SERVER_VERSION_MIN: i64 = 150_000;

/// The steps in order; the n-th leads to version n.
pub(crate) fn migrations() -> &'static [(&'static str, &'static str)] {
    MIGRATIONS
}

/// The functions, in the order in which they are made.
pub(crate) fn functions() -> &'static [(&'static str, &'static str)] {
    FUNCTIONS
}

/// The version that this program works with.
pub(crate) fn version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// What tells this program's functions from others.
pub(crate) fn digest() -> &'static str {
    static DIGEST: LazyLock<String> = LazyLock::new(|| {
        let mut hasher = blake3::Hasher::new();
        for (name, text) in FUNCTIONS {
            hasher.update(name.as_bytes()).update(&[0]).update(text.as_bytes()).update(&[0]);
        }
        hasher.finalize().to_hex().to_string()
    });
    &DIGEST
}

/// The state of the schema `slipring` in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none, or an empty one.
    Empty {
        /// The schema itself is there.
        schema: bool,
    },
    /// It needs steps, or other functions.
    Behind {
        /// The last step that was made.
        version: i64,
    },
    /// As this program has it.
    Current,
}

impl State {
    /// Goes on only with a schema as this program has it.
    ///
    /// # Errors
    /// `StorageUnavailable` for any other.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let text = match self {
            State::Current => return Ok(()),
            State::Empty { .. } => {
                "there is no schema slipring in the database: run `slipring migrate`".to_owned()
            }
            State::Behind { version: found } => format!(
                "the schema in the database has version {found} and this program needs version \
                 {} with its own functions: run `slipring migrate` (`--dry-run` shows the SQL)",
                version()
            ),
        };
        Err(Error::new(ErrorKind::StorageUnavailable, text))
    }
}

/// Checks that the server can be used, and reads the state of the schema.
///
/// # Errors
/// `StorageUnavailable` for a server that cannot be used, or a schema of somebody else;
/// `StorageTooNew` for one that a newer program has made.
pub(crate) async fn state(client: &impl GenericClient) -> Result<State, Error> {
    let row = one(client, queries::SERVER.text).await?;
    check_server(value(&row, 0)?, value(&row, 1)?, value(&row, 2)?, value(&row, 3)?)?;
    check_encoding(value(&row, 8)?)?;
    if !value::<bool>(&row, 4)? {
        tracing::warn!("the server runs with fsync = off: a loss of power may damage everything");
    }
    let (has_list, schema, has_tables) = (value(&row, 5)?, value(&row, 6)?, value(&row, 7)?);
    match (has_list, has_tables) {
        (true, _) => {}
        (false, false) => return Ok(State::Empty { schema }),
        (false, true) => {
            let text = "the schema slipring holds tables of another program: use another database";
            return Err(Error::new(ErrorKind::StorageUnavailable, text));
        }
    }
    let row = one(client, queries::SCHEMA_STATE.text).await?;
    let found = value::<Option<i64>>(&row, 0)?.unwrap_or(0);
    check_version(found)?;
    let same = value::<Option<&str>>(&row, 1)? == Some(digest());
    if found == version() && same {
        Ok(State::Current)
    } else {
        Ok(State::Behind { version: found })
    }
}

async fn one(client: &impl GenericClient, text: &str) -> Result<tokio_postgres::Row, Error> {
    let rows = client.query_typed(text, &[]).await.map_err(storage_error)?;
    rows.into_iter().next().ok_or_else(|| garbled("no row"))
}

fn check_server(
    version: i64,
    standby: bool,
    read_only: bool,
    isolation: &str,
) -> Result<(), Error> {
    let refuse = |text: String| Err(Error::new(ErrorKind::StorageUnavailable, text));
    if version < SERVER_VERSION_MIN {
        let (major, minor) = (version / 10_000, version % 10_000);
        return refuse(format!(
            "the server is PostgreSQL {major}.{minor}; version 15 or newer is needed"
        ));
    }
    if standby {
        return refuse("the server is a standby: connect to the primary".to_owned());
    }
    if read_only {
        return refuse(
            "transactions are read-only for this user or database: set \
             default_transaction_read_only to off for it"
                .to_owned(),
        );
    }
    if isolation != "read committed" {
        return refuse(format!(
            "transactions of this user or database are {isolation} by default, but the store needs \
             read committed: ALTER ROLE … SET default_transaction_isolation TO 'read committed'"
        ));
    }
    Ok(())
}

/// Refuses a database whose texts cannot be UTF-8: names, groups and headers are. One without an
/// encoding, `SQL_ASCII`, keeps what it is given.
fn check_encoding(encoding: &str) -> Result<(), Error> {
    if matches!(encoding, "UTF8" | "SQL_ASCII") {
        return Ok(());
    }
    let text = format!(
        "the encoding of the database is {encoding}, but the store needs UTF8: create a database \
         with ENCODING 'UTF8' TEMPLATE template0"
    );
    Err(Error::new(ErrorKind::StorageUnavailable, text))
}

/// Refuses a schema that a newer program has made.
pub(crate) fn check_version(found: i64) -> Result<(), Error> {
    if found <= version() {
        return Ok(());
    }
    let text = format!(
        "the database has schema version {found}, but this program knows versions up to {}: use a \
         newer program; nothing was changed",
        version()
    );
    let error = Error::new(ErrorKind::StorageTooNew, text);
    Err(error.with("version", found).with("version_max", version()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_be_used_is_refused_with_what_to_do() {
        let check = |version, standby, read_only, isolation| {
            check_server(version, standby, read_only, isolation).map_err(|error| error.to_string())
        };
        assert_eq!(check(150_000, false, false, "read committed"), Ok(()));
        for (refused, wanted) in [
            (check(140_023, false, false, "read committed"), "PostgreSQL 14.23; version 15"),
            (check(150_000, true, true, "read committed"), "connect to the primary"),
            (check(150_000, false, true, "read committed"), "default_transaction_read_only"),
            (check(150_000, false, false, "serializable"), "default_transaction_isolation"),
        ] {
            let text = refused.unwrap_err();
            assert!(text.contains(wanted), "{text}");
        }
    }
}
