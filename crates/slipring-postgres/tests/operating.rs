//! The statements of the page for those who look after a database.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring::QueueSettings;
use slipring_conformance::verbs::{queue, send};
use slipring_testbed::{Cluster, one, run};

const PAGE: &str = include_str!("../../../docs/operating/postgres.md");

/// The blocks in SQL of a section.
fn blocks(section: &str) -> Vec<&'static str> {
    let (_, section) = PAGE.split_once(&format!("## {section}\n")).expect("the section");
    let section = section.split("\n## ").next().unwrap();
    section.split("```sql\n").skip(1).map(|block| block.split("```").next().unwrap()).collect()
}

/// The rows that each statement of a block answers, as text.
async fn answers(client: &tokio_postgres::Client, block: &str) -> Vec<String> {
    let mut all = Vec::new();
    for statement in block.split(';').filter(|statement| !statement.trim().is_empty()) {
        let rows = format!("SELECT r::text FROM ({statement}) r");
        let rows = client.query(&rows, &[]).await.unwrap_or_else(|e| panic!("{statement}: {e}"));
        all.push(rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n"));
    }
    all
}

#[tokio::test]
async fn the_page_tells_sizes_and_holders_and_how_to_remove_it() {
    let cluster = Cluster::shared();
    let (database, store, owner) = cluster.opened().await;
    let q = queue(&store, "orders", &QueueSettings::default()).await;
    send(&store, q, &["a"]).await;
    let admin = cluster.superuser(&database.name).await;
    let [sizes, holders, locks, remove] = blocks("Looking after it")[..] else {
        panic!("the page has four blocks")
    };
    let sizes = answers(&admin, sizes).await;
    assert!(sizes[0].contains("kB") || sizes[0].contains("MB"), "{sizes:?}");
    assert!(sizes[1].contains("orders"), "{sizes:?}");

    let writer = cluster.holder(&database, q).await;
    run(&writer, "SELECT slipring.send('orders', 'b'::text)").await;
    let pid = one(&writer, "SELECT pg_backend_pid()::int8").await;
    let held = answers(&admin, holders).await;
    assert!(held[0].contains(&format!("({pid},")), "{held:?}");
    let locked = answers(&admin, locks).await;
    assert!(locked[0].contains(&format!("(orders,{pid},t,")), "{locked:?}");
    run(&writer, "ROLLBACK").await;

    drop(store);
    run(&owner, remove).await;
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'slipring%'";
    assert_eq!(one(&owner, left).await, 0);
}
