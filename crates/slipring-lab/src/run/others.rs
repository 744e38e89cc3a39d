//! Idle queues, in the database before those of a work. They are made once and copied
//! with their database, for making a hundred thousand takes minutes.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::progress;
use crate::targets::postgres::connect;
use crate::targets::{Kind, Store, Target};
use crate::workloads::{Settings, Work};

/// Queues made in one transaction: those with tables of their own take some twenty locks each.
const AT_A_TIME: usize = 100;
/// The most queues with tables of their own, which is the store's default.
const OWN_MAX: usize = 256;
/// Of few queues one in so many has tables of its own, for making those takes the longest.
const OWN_ONE_IN: usize = 40;

/// How many of so many queues have tables of their own. Those of the work always share.
fn own(others: usize) -> usize {
    (others / OWN_ONE_IN).min(OWN_MAX)
}

/// Makes our schema and so many queues in an empty database.
///
/// # Errors
/// When PostgreSQL fails.
pub async fn make(url: &str, others: usize) -> Result<()> {
    let settings = Settings {
        postgres: Some(url.to_owned()),
        ..Settings::new(Work::MakeQueues, Kind::Postgres)
    };
    // It makes the schema, and keeps nothing in a folder.
    Store::start(&settings, Path::new("")).await?.stop().await?;
    let client = connect(url).await?;
    let own_tables = i32::try_from(own(others)).unwrap_or(i32::MAX);
    client.execute(include_str!("../../queries/others_own_tables.sql"), &[&own_tables]).await?;
    let create = client.prepare(include_str!("../../queries/others_create.sql")).await?;
    for first in (0..others).step_by(AT_A_TIME) {
        progress(&format!("{first} of {others} queues are there …"));
        let end = others.min(first + AT_A_TIME);
        let made = client.query_one(&create, &[&(first as i64), &(end as i64 - 1)]).await;
        let made: i64 = made.context("making queues")?.try_get(0)?;
        if usize::try_from(made) != Ok(end - first) {
            bail!("{made} of {} queues were made", end - first);
        }
    }
    Ok(())
}

/// Checks that the queues of the work, which were made after the others, share one set of tables,
/// but for those that have got a set of their own since.
///
/// # Errors
/// When they do not, or PostgreSQL fails.
pub async fn check(url: &str) -> Result<()> {
    let shared = include_str!("../../queries/others_shared.sql");
    let row = connect(url).await?.query_one(shared, &[]).await?;
    let (all, own, sets): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if all == 0 || own > 0 || sets > 1 {
        bail!("{own} of {all} queues of the work have tables of their own, the others {sets} sets");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use slipring_testbed::{Cluster, OWNER, run};

    use super::{check, make, own};

    #[test]
    fn a_hundred_thousand_queues_have_as_many_tables_of_their_own_as_by_default() {
        assert_eq!(own(100_000), 256);
        assert_eq!(own(300), 7);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_queue_of_the_work_that_does_not_share_tables_is_noticed() {
        let cluster = Cluster::shared();
        let database = cluster.empty().await;
        let url = cluster.url(OWNER, "test", &database.name);
        make(&url, 120).await.unwrap();
        let client = cluster.client(&database).await;
        assert!(check(&url).await.is_err(), "there is no queue of a work");
        run(&client, "SELECT slipring.create_queue('busy'), slipring.create_queue('quiet')").await;
        check(&url).await.unwrap();
        run(&client, "UPDATE slipring.store SET own_tables_max = 1000").await;
        run(&client, "SELECT slipring.create_queue('alone')").await;
        let error = check(&url).await.unwrap_err().to_string();
        assert!(error.contains("1 of 3 queues of the work have tables of their own"), "{error}");
    }
}
