//! What is driven inside a PostgreSQL: raw tables that show what the machine can do, a table
//! claimed with SKIP LOCKED, and the peers that are SQL functions.

mod claim;
mod pgmq;
mod pgq;
mod skip_locked;
mod sql;
mod table;

use anyhow::{Context, Result, bail};
use slipring_postgres::Address;
use tokio_postgres::{Client, NoTls};

use crate::body::Body;
use crate::workloads::Settings;

pub use pgmq::Pgmq;
pub use pgq::Pgq;
pub use skip_locked::SkipLocked;
pub use sql::Sql;
pub use table::Table;

/// The variable that names the database of `workload` and of a driver.
pub const URL_VARIABLE: &str = "SLIPRING_LAB_POSTGRES";

/// The database that the settings name.
///
/// # Errors
/// When they name none.
pub fn url(settings: &Settings) -> Result<&str> {
    let Some(url) = settings.postgres.as_deref() else {
        bail!("{:?} needs a database: give --postgres URL or {URL_VARIABLE}", settings.target);
    };
    Ok(url)
}

/// A connection of its own. It ends with the client.
///
/// # Errors
/// When PostgreSQL refuses.
pub async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .with_context(|| format!("connecting to {}", shown(url)))?;
    // What breaks it fails the calls that wait for it; they say so.
    tokio::spawn(connection);
    Ok(client)
}

/// A session in a database of a user, encrypted as its address says, which PostgreSQL shows under
/// the name of an application.
///
/// # Errors
/// When the address is none, or PostgreSQL refuses.
pub async fn connect_as(url: &str, application: &str) -> Result<Client> {
    let address: Address = url.parse().map_err(anyhow::Error::msg)?;
    let client = address.connect(application).await;
    client.with_context(|| format!("connecting to {address}"))
}

/// An address without its password.
fn shown(url: &str) -> String {
    url.parse::<Address>().map_or_else(|_| "the database".to_owned(), |address| address.to_string())
}

/// What PostgreSQL calls itself.
///
/// # Errors
/// When the database fails.
pub async fn version(client: &Client) -> Result<String> {
    let row = client.query_one("SELECT current_setting('server_version')", &[]).await?;
    Ok(format!("PostgreSQL {}", row.try_get::<_, String>(0)?))
}

/// Bodies as parameters of the type bytea[].
fn bytes(bodies: &[Body]) -> Vec<&[u8]> {
    bodies.iter().map(<[u8; _]>::as_slice).collect()
}

/// Bodies as parameters of the type text[]: they are plain ASCII.
fn texts(bodies: &[Body]) -> Result<Vec<&str>> {
    let text = |body| std::str::from_utf8(body).context("a body is no text");
    bodies.iter().map(|body| text(body.as_slice())).collect()
}

/// A count as PostgreSQL answers it.
fn count(count: i64) -> Option<u64> {
    u64::try_from(count).ok()
}
