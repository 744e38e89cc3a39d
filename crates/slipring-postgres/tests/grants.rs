//! Rights that `slipring.grant` gives: in this database and no other, in all queues or in one, for
//! every function that users may call.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring_postgres::{PostgresOptions, migrate};
use slipring_testbed::{Cluster, Database, one, refusal, run};
use tokio_postgres::Client;

/// A database with the queues `mine` and `other`, a session of its owner, and roles of its own.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    owner: Client,
}

async fn ground() -> Ground {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let owner = cluster.client(&database).await;
    run(&owner, "SELECT slipring.create_queue('mine'), slipring.create_queue('other')").await;
    Ground { cluster, database, owner }
}

impl Ground {
    /// A role of this test's, and a session of it in a database.
    async fn user(&self, name: &str, database: &str) -> (String, Client) {
        let role = format!("{}_{name}", self.database.name);
        let session = self.cluster.superuser(database).await;
        let make = format!(
            "DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
             SET SESSION AUTHORIZATION {role}"
        );
        run(&session, &make).await;
        (role, session)
    }

    async fn here(&self, name: &str) -> (String, Client) {
        self.user(name, &self.database.name).await
    }

    /// A call with the queue's name, a receipt of its own, a load of its own.
    async fn call(&self, text: &str, queue: &str) -> String {
        let mut text = text.replace("{q}", queue);
        if text.contains("{receipt}") {
            let receive = format!(
                "SELECT slipring.send('{queue}', 'x'::text);
                 SELECT slipring.purge('{queue}'); SELECT slipring.send('{queue}', 'y'::text)"
            );
            run(&self.owner, &receive).await;
            let sql = format!("SELECT receipt FROM slipring.receive('{queue}')");
            let receipt: String = self.owner.query_one(&sql, &[]).await.unwrap().get(0);
            text = text.replace("{receipt}", &receipt);
        }
        if text.contains("{load}") {
            let load = one(&self.owner, &format!("SELECT slipring.load_begin('{queue}')")).await;
            text = text.replace("{load}", &load.to_string());
        }
        text
    }
}

/// SQLSTATE and message of what a call fails with.
async fn refused(client: &Client, call: &str) -> String {
    let error = refusal(client, call).await;
    format!("{} {}", error.code().code(), error.message())
}

const PRODUCER: [&str; 11] = [
    "SELECT slipring.send('{q}', 'a'::text)",
    "SELECT slipring.send('{q}', '\\x00'::bytea)",
    "SELECT slipring.send('{q}', '1'::jsonb, delay => '1 s')",
    "SELECT slipring.send_batch('{q}', ARRAY['a', 'b'])",
    "SELECT slipring.send_batch('{q}', ARRAY['\\x00']::bytea[])",
    "SELECT slipring.send_batch('{q}', ARRAY['1']::jsonb[])",
    "SELECT slipring.load_begin('{q}')",
    "SELECT slipring.load_append({load}, 0, ARRAY['a'])",
    "SELECT slipring.load_reserve({load}, 1024)",
    "SELECT slipring.load_publish({load}, 0)",
    "SELECT slipring.load_abandon({load})",
];
const CONSUMER: [&str; 9] = [
    "SELECT * FROM slipring.receive('{q}')",
    "SELECT slipring.ack('{receipt}')",
    "SELECT slipring.ack(ARRAY['{receipt}'])",
    "SELECT slipring.nack('{receipt}')",
    "SELECT slipring.nack(ARRAY['{receipt}'])",
    "SELECT slipring.extend('{receipt}')",
    "SELECT slipring.extend(ARRAY['{receipt}'])",
    "SELECT slipring.ready('{q}')",
    "CALL slipring.await('{q}', '1 ms')",
];
const ADMIN: [&str; 8] = [
    "SELECT slipring.configure('{q}', '{\"max_attempts\": 9}')",
    "SELECT slipring.pause('{q}')",
    "SELECT slipring.resume('{q}')",
    "SELECT slipring.purge('{q}')",
    "SELECT slipring.redrive('{q}')",
    "SELECT * FROM slipring.peek('{q}')",
    "SELECT * FROM slipring.stats('{q}')",
    "SELECT slipring.set_aside('{q}')",
];
/// About no queue, for those who have rights in all.
const WHOLE: [&str; 5] = [
    "SELECT slipring.create_queue('new')",
    "SELECT * FROM slipring.maintenance()",
    "CALL slipring.maintain()",
    "SELECT slipring.grant('admin', 'slipring_consumer')",
    "SELECT slipring.revoke('admin', 'slipring_consumer')",
];

/// Which of the lists a kind of right is for.
fn may(kind: &str) -> Vec<(&'static [&'static str], bool)> {
    let has = |kinds: &[&str]| kinds.contains(&kind);
    vec![
        (&PRODUCER[..], has(&["producer", "admin"])),
        (&CONSUMER[..], has(&["consumer", "admin"])),
        (&ADMIN[..], has(&["admin"])),
    ]
}

#[tokio::test]
async fn a_right_in_one_queue_is_a_right_in_no_other() {
    for kind in ["producer", "consumer", "admin"] {
        let g = ground().await;
        let (role, user) = g.here(kind).await;
        run(&g.owner, &format!("SELECT slipring.grant('{kind}', '{role}', 'mine')")).await;
        for (calls, allowed) in may(kind) {
            for text in calls {
                for queue in ["mine", "other"] {
                    let call = g.call(text, queue).await;
                    if allowed && queue == "mine" {
                        run(&user, &call).await;
                    } else {
                        let why = refused(&user, &call).await;
                        let of = if allowed { "queue other" } else { "function" };
                        let wanted = format!("42501 permission denied for {of}");
                        let wanted = wanted.replace("function", "");
                        assert!(why.starts_with(&wanted), "{kind}: {call}: {why}");
                    }
                }
            }
        }
        for call in WHOLE {
            let why = refused(&user, call).await;
            assert!(why.starts_with("42501 permission denied for "), "{kind}: {call}: {why}");
        }
    }
}

#[tokio::test]
async fn a_right_in_all_queues_is_one_in_this_database() {
    for kind in ["producer", "consumer", "admin"] {
        let g = ground().await;
        let (role, user) = g.here(kind).await;
        let give = format!("SELECT slipring.grant('{kind}', '{role}')");
        run(&g.owner, &give).await;
        let elsewhere = ground().await;
        let (_, there) = g.user(kind, &elsewhere.database.name).await;
        // Also where others have rights in one queue only.
        let (other, _) = g.here("other").await;
        for limited in [false, true] {
            if limited {
                let give = format!("SELECT slipring.grant('consumer', '{other}', 'mine')");
                run(&g.owner, &give).await;
            }
            for (calls, allowed) in may(kind) {
                for text in calls {
                    let call = g.call(text, "other").await;
                    if allowed {
                        run(&user, &call).await;
                    } else {
                        let why = refused(&user, &call).await;
                        assert!(why.starts_with("42501"), "{kind}: {call}: {why}");
                    }
                    let why = refused(&there, &elsewhere.call(text, "other").await).await;
                    assert_eq!(why, "42501 permission denied for schema slipring", "{call}");
                }
            }
        }
        if kind == "admin" {
            for call in WHOLE {
                run(&user, call).await;
            }
        }
        run(&g.owner, &give.replace("grant", "revoke")).await;
        let why = refused(&user, "SELECT slipring.ready('mine')").await;
        assert_eq!(why, "42501 permission denied for schema slipring");
    }
}

#[tokio::test]
async fn nobody_lends_a_right_in_one_queue_to_reach_others() {
    let g = ground().await;
    let (role, user) = g.here("limited").await;
    let (stranger, lent) = g.here("stranger").await;
    run(&g.owner, &format!("SELECT slipring.grant('producer', '{role}', 'mine')")).await;
    let admin = g.cluster.superuser(&g.database.name).await;
    run(&admin, &format!("CREATE SCHEMA lent AUTHORIZATION {role}")).await;
    let lend = format!(
        "CREATE FUNCTION lent.send(queue text) RETURNS bigint LANGUAGE sql SECURITY DEFINER
             AS $$ SELECT slipring.send(queue, 'lent'::text) $$;
         GRANT USAGE ON SCHEMA lent TO {stranger}"
    );
    run(&user, &lend).await;
    run(&user, "SELECT lent.send('mine')").await;
    for (session, queue) in [(&user, "other"), (&lent, "mine"), (&lent, "other")] {
        let why = refused(session, &format!("SELECT lent.send('{queue}')")).await;
        assert!(why.starts_with(&format!("42501 permission denied for queue {queue}")), "{why}");
    }
    // A member of the role, which it has been set to or not.
    run(&admin, &format!("GRANT {role} TO {stranger}")).await;
    run(&lent, "SELECT slipring.send('mine', 'a'::text)").await;
    run(&lent, &format!("SET ROLE {role}; SELECT slipring.send('mine', 'a'::text)")).await;
    let why = refused(&lent, "SELECT slipring.send('other', 'a'::text)").await;
    assert!(why.starts_with("42501 permission denied for queue other"), "{why}");
    // What fails in a queue goes to none that its admin may not send to.
    run(&g.owner, &format!("SELECT slipring.grant('admin', '{role}', 'mine')")).await;
    let configure = "SELECT slipring.configure('mine', '{\"dead_letter\": \"other\"}')";
    assert!(refused(&user, configure).await.starts_with("42501"), "dead letters");
    run(&user, &configure.replace("other", "mine")).await;
    assert_eq!(one(&user, "SELECT count(*) FROM slipring.findings()").await, 0);
    assert_eq!(one(&user, "SELECT count(*) FROM slipring.findings('mine')").await, 0);
    let why = refused(&user, "SELECT slipring.findings('other')").await;
    assert!(why.starts_with("42501 permission denied for queue other"), "{why}");
}

#[tokio::test]
async fn a_redrive_needs_to_send_to_its_target_and_no_more() {
    // S6.7
    let g = ground().await;
    let (role, user) = g.here("mover").await;
    run(&g.owner, &format!("SELECT slipring.grant('admin', '{role}', 'mine')")).await;
    let send = "SELECT slipring.send('mine', 'a'::text)";
    let ids = [one(&g.owner, send).await, one(&g.owner, send).await];
    let calls = [
        format!("SELECT slipring.redrive('mine', ARRAY[{}], 'other')", ids[0]),
        "SELECT slipring.redrive('mine', 'other', 1)".to_owned(),
    ];
    for call in &calls {
        let why = refused(&user, call).await;
        assert!(why.ends_with("is no producer of it"), "{call}: {why}");
    }
    run(&g.owner, &format!("SELECT slipring.grant('producer', '{role}', 'other')")).await;
    for call in &calls {
        run(&user, call).await;
    }
    let moved = "SELECT count(*) FROM slipring.peek('other')";
    assert_eq!(one(&g.owner, moved).await, 2);
}

#[tokio::test]
async fn the_cluster_wide_roles_can_be_kept_out_of_a_database_for_good() {
    let g = ground().await;
    let consumer = g.cluster.superuser(&g.database.name).await;
    run(&consumer, "SET SESSION AUTHORIZATION slipring_consumer").await;
    run(&consumer, "SELECT slipring.ready('mine')").await;
    run(&g.owner, "SELECT slipring.revoke('consumer', 'slipring_consumer')").await;
    run(&g.owner, "UPDATE slipring.migration SET name = 'another build' WHERE version = 0").await;
    for again in [false, true] {
        let migrated = migrate(&g.database.address, PostgresOptions::default(), false).await;
        assert_eq!(migrated.unwrap().is_empty(), again);
        let why = refused(&consumer, "SELECT slipring.ready('mine')").await;
        assert_eq!(why, "42501 permission denied for schema slipring");
    }
    run(&g.owner, "SELECT slipring.grant('consumer', 'slipring_consumer')").await;
    run(&consumer, "SELECT slipring.ready('mine')").await;
}

#[tokio::test]
async fn a_grant_that_cannot_be_is_refused_with_what_is_wrong() {
    let g = ground().await;
    for (arguments, wanted) in [
        ("'reader', 'slipring_consumer'", "SR007 reader is no kind of right; take producer,"),
        ("NULL, 'slipring_consumer'", "SR007 null is no kind of right"),
        ("'consumer', 'nobody at all'", "SR007 there is no role 'nobody at all'"),
        ("'consumer', 'public'", "SR007 there is no role public"),
        ("'consumer', NULL", "SR007 there is no role null"),
        ("'consumer', 'slipring_consumer', 'nowhere'", "SR001 queue nowhere does not exist"),
    ] {
        for verb in ["grant", "revoke"] {
            let call = format!("SELECT slipring.{verb}({arguments})");
            let why = refused(&g.owner, &call).await;
            assert!(why.starts_with(wanted), "{call}: {why}");
        }
    }
    // The owner keeps what he has.
    run(&g.owner, "SELECT slipring.grant('consumer', session_user), slipring.stats('mine')").await;
}

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
