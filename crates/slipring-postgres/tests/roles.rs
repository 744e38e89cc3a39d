//! The rights of users: what the roles of users, and everybody, may do with each thing in the
//! schema is what `roles/rights.txt` says and no more. What they do with them is in `sql`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::collections::{BTreeMap, BTreeSet};

use slipring_testbed::{Cluster, Database, run};
use tokio_postgres::Client;

/// A line for each thing that somebody may do something with: the thing, and who.
const EXPECTED: &str = include_str!("roles/rights.txt");

/// A schema with a queue in it, which has tables and sequences of its own.
async fn setup() -> (Database, Client) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(&client, "SELECT slipring.create_queue('q'), slipring.send('q', 'a'::text)").await;
    (database, client)
}

/// Everything in the schema, and who may do something with it.
async fn rights(client: &Client) -> BTreeMap<String, Vec<String>> {
    let rows = client.query(include_str!("roles/rights.sql"), &[]).await.unwrap();
    let mut rights: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        let roles = rights.entry(row.get("thing")).or_default();
        if row.get("may") {
            roles.push(row.get("role"));
        }
    }
    rights
}

/// What is otherwise than expected, a line for each thing.
async fn unexpected(client: &Client) -> Vec<String> {
    let lines = |rights: BTreeMap<String, Vec<String>>| -> BTreeSet<String> {
        let open = rights.into_iter().filter(|(_, roles)| !roles.is_empty());
        open.map(|(thing, roles)| format!("{thing}: {}", roles.join(", "))).collect()
    };
    let made = lines(rights(client).await);
    let told = EXPECTED.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let told: BTreeSet<String> = told.map(str::to_owned).collect();
    let more = made.difference(&told).map(|line| format!("+ {line}"));
    more.chain(told.difference(&made).map(|line| format!("- {line}"))).collect()
}

#[tokio::test]
async fn users_may_do_what_the_committed_list_says_and_nothing_else() {
    let (_database, client) = setup().await;
    let found = unexpected(&client).await;
    assert!(found.is_empty(), "roles/rights.txt\n{}", found.join("\n"));
    let things = rights(&client).await;
    for (kind, least) in [("function ", 200), ("table ", 30), ("sequence ", 10)] {
        let seen = things.keys().filter(|thing| thing.starts_with(kind)).count();
        assert!(seen >= least, "{seen} of {kind}");
    }
}

#[tokio::test]
async fn what_is_open_by_accident_is_noticed() {
    let (_database, client) = setup().await;
    // Everybody may call a new function of PostgreSQL, unless somebody forbids it.
    let open = "CREATE FUNCTION slipring.more(int) RETURNS int LANGUAGE sql AS 'SELECT 1'";
    let all = "public, slipring_admin, slipring_consumer, slipring_producer";
    for (change, line) in [
        (open, format!("+ function more(integer): {all}")),
        (
            "GRANT EXECUTE ON FUNCTION slipring.now_ms TO slipring_consumer",
            "+ function now_ms(): slipring_consumer".into(),
        ),
        ("GRANT SELECT ON slipring.store TO PUBLIC", format!("+ table store: {all}")),
        (
            "GRANT UPDATE (name) ON slipring.queue TO slipring_producer",
            "+ table queue: slipring_producer".into(),
        ),
        (
            "GRANT USAGE ON SEQUENCE slipring.journal TO slipring_admin",
            "+ sequence journal: slipring_admin".into(),
        ),
        (
            "GRANT CREATE ON SCHEMA slipring TO slipring_admin",
            "+ schema slipring CREATE: slipring_admin".into(),
        ),
    ] {
        run(&client, &format!("BEGIN; {change}")).await;
        assert_eq!(unexpected(&client).await, [line], "{change}");
        run(&client, "ROLLBACK").await;
    }
    run(&client, "REVOKE EXECUTE ON FUNCTION slipring.purge FROM slipring_admin").await;
    assert_eq!(unexpected(&client).await, ["- function purge(text): slipring_admin"]);
}
