//! A receive by a statement that claims: it looks again and again until there is something.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Client, Statement};

use crate::targets::Look;

/// Between two looks that found nothing.
const POLL: Duration = Duration::from_millis(10);

/// Runs `claim` until it answers rows or `wait` is over, and answers how many. A row is what the
/// message is acked by, which is added to `held`, then its body, which is shown to `look`.
///
/// # Errors
/// When the database fails, a row is of another shape, or `look` refuses a body.
pub async fn claim<A: FromSqlOwned>(
    (client, claim): (&Client, &Statement),
    parameters: &[&(dyn ToSql + Sync)],
    wait: Duration,
    look: Look<'_>,
    held: &mut Vec<A>,
) -> Result<usize> {
    let deadline = Instant::now() + wait;
    loop {
        let rows = client.query(claim, parameters).await?;
        for row in &rows {
            held.push(row.try_get(0)?);
            look(row.try_get(1)?)?;
        }
        if !rows.is_empty() || Instant::now() >= deadline {
            return Ok(rows.len());
        }
        tokio::time::sleep(POLL).await;
    }
}
