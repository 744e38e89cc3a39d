//! Sessions that block each other on purpose, and whether the observation names them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use tokio_postgres::Client;

use super::classes::Source;
use super::flame;
use super::observation::Observation;
use crate::drive::Stop;
use crate::targets::postgres::connect;

/// The chain that the sessions make.
const CHAIN: [&str; 3] = [
    "last: UPDATE waits_smoke SET sum = ? WHERE id …",
    "middle: UPDATE waits_smoke SET sum = ? WHERE id …",
    "first: UPDATE waits_smoke SET sum = ? WHERE id …",
];

async fn named(url: &str, name: &str) -> Result<Client> {
    let client = connect(url).await?;
    client.batch_execute(&format!("SET application_name = '{name}'")).await?;
    Ok(client)
}

fn update(id: i32) -> String {
    format!("UPDATE waits_smoke SET sum = 1 WHERE id = {id}")
}

/// Lets one session block another that blocks a third, looks at the database for a moment, and
/// checks that the chain is named and that the flame graph holds it.
///
/// # Errors
/// When they do not block each other within `patience`, or the observation does not say so.
pub async fn smoke(url: &str, patience: Duration) -> Result<()> {
    let first = named(url, "first").await?;
    let table = "CREATE TABLE IF NOT EXISTS waits_smoke (id int PRIMARY KEY, sum int); \
                 INSERT INTO waits_smoke VALUES (1, 0), (2, 0) ON CONFLICT DO NOTHING";
    first.batch_execute(table).await?;
    // Two trips: what pg_stat_activity shows is the last one.
    first.batch_execute("BEGIN").await?;
    first.batch_execute(&update(1)).await?;
    let (middle, last) = (named(url, "middle").await?, named(url, "last").await?);
    let middle = tokio::spawn(async move {
        middle.batch_execute(&format!("BEGIN; {}", update(2))).await?;
        middle.batch_execute(&update(1)).await?;
        middle.batch_execute("COMMIT").await
    });
    blocked(url, 1, patience).await?;
    let last = tokio::spawn(async move { last.batch_execute(&update(2)).await });
    blocked(url, 2, patience).await?;
    let (every, length) = (Duration::from_millis(20), Duration::from_millis(1200));
    let stop = Stop::default();
    let seen = Observation::make(
        Some(url),
        &Source::Nothing,
        (every, length),
        &stop,
        &ProgressBar::hidden(),
    )
    .await;
    first.batch_execute("COMMIT").await?;
    middle.await.context("a session panicked")??;
    last.await.context("a session panicked")??;
    check(&seen?)
}

/// Waits until so many sessions wait for locks.
async fn blocked(url: &str, wanted: usize, patience: Duration) -> Result<()> {
    let client = connect(url).await?;
    let deadline = Instant::now() + patience;
    loop {
        let locks = include_str!("../../queries/waits_locks.sql");
        if client.query(locks, &[]).await?.len() >= wanted {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("{wanted} sessions did not wait for locks within {patience:?}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn check(seen: &Observation) -> Result<()> {
    let chains = seen.seen.profile.chains();
    let [last, middle, first] = CHAIN;
    let chain = format!("{last} ← {middle} ← {first} (idle in transaction)");
    if !chains.contains(&chain) {
        bail!("the chain is not among those that were seen: {chains:?}, not {chain}");
    }
    let folded = seen.folded();
    let stack = format!(
        "Lock;transactionid;{last};blocked by {middle};\
         blocked by {first} (idle in transaction)"
    );
    if !folded.iter().any(|line| line.starts_with(&stack)) {
        bail!("the stack is not among those that were seen: {folded:#?}, not {stack}");
    }
    let svg = flame::svg(&folded, "waiting")?.context("no flame graph was drawn")?;
    if !svg.contains("blocked by first: UPDATE waits_smoke") {
        bail!("the flame graph does not hold the session that is in the way");
    }
    let findings = seen.findings()?;
    let text = findings.text();
    for wanted in ["who blocks whom", "oldest snapshots", "pid ", "counters of PostgreSQL"] {
        if !text.contains(wanted) {
            bail!("the observation says nothing of {wanted:?}: {text}");
        }
    }
    println!("  who blocks whom          {chain}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::cluster::Cluster;

    #[tokio::test(flavor = "multi_thread")]
    async fn sessions_that_block_each_other_are_named_with_all_rights_and_with_the_least() {
        let cluster = Cluster::open(None).await.unwrap();
        let admin = cluster.admin().await.unwrap();
        let database = cluster.create_database(&admin).await.unwrap();
        let url = cluster.url(&database);
        smoke(&url, Duration::from_secs(60)).await.unwrap();
        // A user without any role sees that sessions are in each other's way, and not why.
        admin.batch_execute("CREATE ROLE least LOGIN").await.unwrap();
        let least = url.replace("lab@", "least@");
        let holder = named(&url, "holder").await.unwrap();
        holder.batch_execute(&format!("BEGIN; {}", update(1))).await.unwrap();
        let waiter = named(&url, "waiter").await.unwrap();
        let waiting = tokio::spawn(async move { waiter.batch_execute(&update(1)).await });
        blocked(&url, 1, Duration::from_secs(60)).await.unwrap();
        let times = (Duration::from_millis(20), Duration::from_millis(200));
        let stop = Stop::default();
        let seen =
            Observation::make(Some(&least), &Source::Nothing, times, &stop, &ProgressBar::hidden())
                .await
                .unwrap();
        holder.batch_execute("COMMIT").await.unwrap();
        waiting.await.unwrap().unwrap();
        assert_eq!(seen.seen.profile.chains(), ["waiter ← holder (not visible)"]);
        let blocked = "Lock;transactionid;waiter;blocked by holder (not visible)";
        let folded = seen.folded();
        assert!(folded.iter().any(|line| line.starts_with(blocked)), "{folded:?}");
        let text = seen.findings().unwrap().text();
        assert!(text.contains("GRANT pg_read_all_stats") && text.contains("not visible"), "{text}");
    }
}
