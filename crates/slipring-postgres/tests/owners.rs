//! What is made belongs to the owner of the store, whoever of its members or superusers has made
//! it: SQL users act with the owner's rights.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use slipring::QueueSettings;
use slipring_conformance::verbs::{at, bodies, claim, queue, send};
use slipring_postgres::{Address, PostgresOptions, PostgresStore, migrate};
use slipring_testbed::{Cluster, Database, OWNER, one, run};

/// Relations and functions of others than the owner of the schema.
const OF_OTHERS: &str = "SELECT (SELECT count(*) FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname LIKE 'slipring%' AND c.relowner <> n.nspowner)
    + (SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'slipring' AND p.proowner <> n.nspowner)";

/// A member of the owner and a superuser, and their addresses.
async fn others(cluster: &Cluster, database: &Database) -> [(String, Address); 2] {
    let admin = cluster.superuser(&database.name).await;
    let name = &database.name;
    let make = format!(
        "CREATE ROLE {name}_member LOGIN PASSWORD 'hidden' IN ROLE {OWNER};
         CREATE ROLE {name}_super LOGIN SUPERUSER PASSWORD 'hidden'"
    );
    run(&admin, &make).await;
    ["member", "super"].map(|role| {
        let role = format!("{name}_{role}");
        let address = cluster.url(&role, "hidden", name).parse().expect("an address");
        (role, address)
    })
}

#[tokio::test]
async fn sql_users_use_queues_that_a_member_of_the_owner_or_a_superuser_has_made() {
    let cluster = Cluster::shared();
    let (database, owners, owner) = cluster.opened().await;
    for (n, (_, address)) in others(cluster, &database).await.iter().enumerate() {
        let store = PostgresStore::open(address, PostgresOptions::default()).await.unwrap();
        for own_tables_max in [1000, 0] {
            let set = format!("UPDATE slipring.store SET own_tables_max = {own_tables_max}");
            run(&owner, &set).await;
            let name = format!("q{n}-{own_tables_max}");
            let q = queue(&store, &name, &QueueSettings::default()).await;
            run(&owner, &format!("SELECT slipring.send('{name}', 'by SQL'::text)")).await;
            let receive = format!("SELECT count(*) FROM slipring.receive('{name}', 1, '1 hour')");
            assert_eq!(one(&owner, &receive).await, 1, "{name}");
            send(&owners, q, &["by the owner's server"]).await;
            assert_eq!(bodies(&claim(&owners, q, 1, at(0)).await), ["by the owner's server"]);
            assert_eq!(one(&owner, OF_OTHERS).await, 0, "{name}");
        }
    }
}

#[tokio::test]
async fn a_migration_by_others_leaves_everything_with_the_owner() {
    let cluster = Cluster::shared();
    let (database, store, owner) = cluster.opened().await;
    queue(&store, "orders", &QueueSettings::default()).await;
    let admin = cluster.superuser(&database.name).await;
    for (role, address) in others(cluster, &database).await {
        // As before an update.
        let behind = "UPDATE slipring.migration SET name = 'of another build' WHERE version = 0;
            DROP FUNCTION slipring.ready(text); DROP FUNCTION slipring.queue_head";
        run(&owner, behind).await;
        // What earlier builds have left with the role that had migrated, or made a queue.
        let theirs = format!(
            "ALTER FUNCTION slipring.findings(text) OWNER TO {role};
             ALTER TABLE slipring.aside OWNER TO {role};
             ALTER SEQUENCE slipring.generation_1 OWNER TO {role};
             ALTER VIEW slipring.lock_1 OWNER TO {role}"
        );
        run(&admin, &theirs).await;
        migrate(&address, PostgresOptions::default(), false).await.unwrap();
        assert_eq!(one(&owner, OF_OTHERS).await, 0);
    }
}
