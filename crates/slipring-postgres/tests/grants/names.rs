//! A right belongs to a role, whatever its name was, is, or was another's.

use slipring_postgres::{PostgresOptions, migrate};
use slipring_testbed::{Cluster, one, run};
use tokio_postgres::Client;

use super::ground::{ground, refused};

/// A role's rows, and those whose role is gone.
async fn rows(owner: &Client, role: &str) -> (i64, i64) {
    let of = |condition: &str| {
        format!(
            "SELECT count(*) FROM slipring.grantee g WHERE g.queue_id > 0 AND {condition} (
                 SELECT FROM pg_roles r WHERE r.oid = g.role_id AND r.rolname = '{role}')"
        )
    };
    (one(owner, &of("EXISTS")).await, one(owner, &of("NOT EXISTS")).await)
}

#[tokio::test]
async fn a_role_has_no_rights_of_one_that_had_its_name() {
    let g = ground().await;
    let admin = g.cluster.superuser(&g.database.name).await;
    let (role, user) = g.here("leaver").await;
    run(&g.owner, &format!("SELECT slipring.grant('consumer', '{role}', 'mine')")).await;
    run(&user, "SELECT slipring.ready('mine')").await;
    drop(user);
    run(&admin, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    let (_, user) = g.here("leaver").await;
    run(&g.owner, &format!("SELECT slipring.grant('consumer', '{role}', 'other')")).await;
    run(&user, "SELECT slipring.ready('other')").await;
    let why = refused(&user, "SELECT slipring.ready('mine')").await;
    assert!(why.starts_with("42501 permission denied for queue mine"), "{why}");
    assert_eq!(rows(&g.owner, &role).await, (1, 0), "a grant deletes rows of roles that are gone");
    // Neither where nothing was granted since.
    run(&admin, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    let (_, user) = g.here("leaver").await;
    let open = format!("GRANT USAGE ON SCHEMA slipring TO {role}");
    run(&admin, &format!("{open}; GRANT EXECUTE ON FUNCTION slipring.ready TO {role}")).await;
    let why = refused(&user, "SELECT slipring.ready('other')").await;
    assert!(why.starts_with("42501 permission denied for queue other"), "{why}");
    let (other, _) = g.here("somebody").await;
    run(&g.owner, &format!("SELECT slipring.revoke('consumer', '{other}', 'mine')")).await;
    assert_eq!(rows(&g.owner, &role).await, (0, 0), "so does a revoke");
}

#[tokio::test]
async fn a_role_keeps_its_rights_under_another_name() {
    let g = ground().await;
    let admin = g.cluster.superuser(&g.database.name).await;
    let (before, user) = g.here("before").await;
    let after = format!("{}_after", g.database.name);
    run(&g.owner, &format!("SELECT slipring.grant('consumer', '{before}', 'mine')")).await;
    run(&admin, &format!("ALTER ROLE {before} RENAME TO {after}")).await;
    run(&user, "SELECT slipring.ready('mine')").await;
    // A later role of the name has none of them, and its own.
    let (_, later) = g.here("before").await;
    run(&g.owner, &format!("SELECT slipring.grant('consumer', '{before}', 'other')")).await;
    for (session, may, may_not) in [(&user, "mine", "other"), (&later, "other", "mine")] {
        run(session, &format!("SELECT slipring.ready('{may}')")).await;
        let why = refused(session, &format!("SELECT slipring.ready('{may_not}')")).await;
        assert!(why.starts_with(&format!("42501 permission denied for queue {may_not}")), "{why}");
    }
    let names = format!(
        "SELECT count(*) FROM slipring.grantee g JOIN slipring.queue q USING (queue_id)
         WHERE (g.role, q.name) IN (('{after}', 'mine'), ('{before}', 'other'))"
    );
    assert_eq!(one(&g.owner, &names).await, 2, "each row has the role's present name");
    run(&g.owner, &format!("SELECT slipring.revoke('consumer', '{after}', 'mine')")).await;
    let why = refused(&user, "SELECT slipring.ready('mine')").await;
    assert!(why.starts_with("42501 permission denied for"), "{why}");
    run(&later, "SELECT slipring.ready('other')").await;
}

#[tokio::test]
async fn a_cluster_wide_role_that_is_created_anew_gets_its_rights_at_the_next_migration() {
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, "SELECT slipring.create_queue('mine')").await;
    run(&admin, "ALTER ROLE slipring_consumer RENAME TO renamed").await;
    let migrate = async || migrate(&database.address, PostgresOptions::default(), false).await;
    let done = migrate().await.unwrap();
    assert_eq!((done.is_empty(), done.roles_missing.len()), (true, 0), "it has its rights");
    run(&admin, "ALTER ROLE renamed RENAME TO slipring_consumer").await;
    // No role that has rights somewhere can be dropped.
    let others = admin.query("SELECT datname FROM pg_database WHERE datallowconn", &[]).await;
    for row in others.unwrap() {
        let other = cluster.superuser(&row.get::<_, String>(0)).await;
        run(&other, "DROP OWNED BY slipring_consumer").await;
    }
    run(&admin, "DROP ROLE slipring_consumer; CREATE ROLE made").await;
    run(&admin, "SELECT slipring.grant('consumer', 'made', 'mine')").await;
    assert_eq!(migrate().await.unwrap().roles_missing, ["slipring_consumer"]);
    run(&admin, "CREATE ROLE slipring_consumer").await;
    assert!(!migrate().await.unwrap().is_empty());
    run(&admin, "SET ROLE slipring_consumer; SELECT slipring.ready('mine')").await;
}
