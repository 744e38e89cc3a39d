//! Rights that `slipring.grant` gives: in this database and no other, in all queues or in one, for
//! every function that users may call.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod grants {
    pub mod ground;
    mod names;
}

use grants::ground::{ground, refused};
use slipring_postgres::{PostgresOptions, migrate};
use slipring_testbed::{one, run};
use tokio_postgres::Client;

const PRODUCER: [&str; 13] = [
    "SELECT slipring.send('{q}', 'a'::text)",
    "SELECT slipring.send('{q}', '\\x00'::bytea)",
    "SELECT slipring.send('{q}', '1'::jsonb, delay => '1 s')",
    "SELECT slipring.send_batch('{q}', ARRAY['a', 'b'])",
    "SELECT slipring.send_batch('{q}', ARRAY['\\x00']::bytea[])",
    "SELECT slipring.send_batch('{q}', ARRAY['1']::jsonb[])",
    "SELECT slipring.load_begin('{q}')",
    "SELECT slipring.load_append({load}, 0, ARRAY['a'])",
    "SELECT slipring.load_append({load}, 0, ARRAY['\\x00']::bytea[])",
    "SELECT slipring.load_append({load}, 0, ARRAY['1']::jsonb[])",
    "SELECT slipring.load_reserve({load}, 1024)",
    "SELECT slipring.load_publish({load}, 0)",
    "SELECT slipring.load_abandon({load})",
];
const CONSUMER: [&str; 11] = [
    "SELECT * FROM slipring.receive('{q}')",
    "SELECT slipring.ack('{receipt}')",
    "SELECT slipring.ack(ARRAY['{receipt}'])",
    "SELECT slipring.nack('{receipt}')",
    "SELECT slipring.nack(ARRAY['{receipt}'])",
    "SELECT slipring.nack('{receipt}', '0 s', 'why')",
    "SELECT slipring.nack(ARRAY['{receipt}'], '0 s', 'why')",
    "SELECT slipring.extend('{receipt}')",
    "SELECT slipring.extend(ARRAY['{receipt}'])",
    "SELECT slipring.ready('{q}')",
    "CALL slipring.await('{q}', '1 ms')",
];
const ADMIN: [&str; 10] = [
    "SELECT slipring.configure('{q}', '{\"max_attempts\": 9}')",
    "SELECT slipring.pause('{q}')",
    "SELECT slipring.resume('{q}')",
    "SELECT slipring.purge('{q}')",
    "SELECT slipring.redrive('{q}')",
    "SELECT slipring.redrive('{q}', ARRAY[{id}])",
    "SELECT * FROM slipring.peek('{q}')",
    "SELECT * FROM slipring.stats('{q}')",
    "SELECT slipring.set_aside('{q}')",
    "SELECT * FROM slipring.findings('{q}')",
];
/// Of all queues that the caller may administer.
const ADMINISTERED: [&str; 2] =
    ["SELECT * FROM slipring.queues()", "SELECT * FROM slipring.findings()"];
/// About no queue, for those who have rights in all.
const WHOLE: [&str; 7] = [
    "SELECT slipring.create_queue('new')",
    "SELECT * FROM slipring.maintenance()",
    "CALL slipring.maintain()",
    "SELECT slipring.maintain_step('journal', 0)",
    "SELECT * FROM slipring.failures(1)",
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

/// The functions of the schema that a right is to call, each in every form, are called by the
/// tests below.
#[tokio::test]
async fn the_calls_are_of_all_functions_that_a_right_is_to_call() {
    let g = ground().await;
    let calls: Vec<&str> = [&PRODUCER[..], &CONSUMER, &ADMIN, &ADMINISTERED, &WHOLE].concat();
    let forms = "SELECT f, (SELECT count(*) FROM pg_proc p
            WHERE p.pronamespace = 'slipring'::regnamespace AND p.proname = f)
        FROM unnest(slipring.right_functions('admin', true)) f";
    for row in g.owner.query(forms, &[]).await.unwrap() {
        let (name, forms): (String, i64) = (row.get(0), row.get(1));
        let call = format!("slipring.{name}(");
        let found = calls.iter().filter(|text| text.contains(&call)).count();
        assert!(found as i64 >= forms.max(1), "{found} of {forms} forms of {name}");
    }
}

/// What is asked of all queues that the caller may administer.
async fn administered(user: &Client, kind: &str) {
    for call in ADMINISTERED {
        if kind == "admin" {
            run(user, call).await;
        } else {
            let why = refused(user, call).await;
            assert!(why.starts_with("42501 permission denied for "), "{kind}: {call}: {why}");
        }
    }
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
                        // A load is asked for by its number, and its queue is not named.
                        let of = match (allowed, text.contains("{load}")) {
                            (true, false) => "queue other",
                            (true, true) => "load ",
                            (false, _) => "",
                        };
                        let wanted = format!("42501 permission denied for {of}");
                        assert!(why.starts_with(&wanted), "{kind}: {call}: {why}");
                    }
                }
            }
        }
        administered(&user, kind).await;
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
        administered(&user, kind).await;
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
    let seen = "SELECT count(*) FROM slipring.queues() WHERE queue = 'mine'";
    assert_eq!(one(&user, seen).await, 1);
    assert_eq!(one(&user, "SELECT count(*) FROM slipring.queues()").await, 1, "its own only");
    assert!(one(&g.owner, "SELECT count(*) FROM slipring.queues()").await > 1);
    let why = refused(&user, "SELECT slipring.findings('other')").await;
    assert!(why.starts_with("42501 permission denied for queue other"), "{why}");
}

/// An analysis and a refresh run what the owner of a table has put there, in the session of who
/// asks for them.
#[tokio::test]
async fn no_table_of_a_role_acts_in_queues_of_the_session_that_analyzes_it() {
    let g = ground().await;
    let (role, user) = g.here("owns_tables").await;
    run(&g.owner, &format!("SELECT slipring.grant('admin', '{role}', 'mine')")).await;
    let admin = g.cluster.superuser(&g.database.name).await;
    run(&admin, &format!("CREATE SCHEMA own AUTHORIZATION {role}")).await;
    for (n, call) in [
        "SELECT slipring.send('other', 'a'::text)",
        "SELECT slipring.send('other', 'a'::text, dedup_id => 'a')",
        "SELECT slipring.peek('other')",
        "SELECT slipring.stats('other')",
        "SELECT slipring.receive('other')",
        "SELECT slipring.configure('other', '{}')",
        "SELECT slipring.purge('other')",
    ]
    .into_iter()
    .enumerate()
    {
        let make = format!(
            "CREATE FUNCTION own.f{n}(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
                 IF session_user <> '{role}' THEN EXECUTE $c${call}$c$; END IF;
                 RETURN a;
             END $$;
             CREATE TABLE own.t{n} AS SELECT g AS a FROM generate_series(1, 3) g;
             CREATE INDEX ON own.t{n} (own.f{n}(a));
             CREATE MATERIALIZED VIEW own.m{n} AS SELECT own.f{n}(a) FROM own.t{n};"
        );
        run(&user, &make).await;
        for table in [format!("ANALYZE own.t{n}"), format!("REFRESH MATERIALIZED VIEW own.m{n}")] {
            let why = refused(&admin, &table).await;
            assert!(why.starts_with("42501 cannot execute UNLISTEN"), "{table}, {call}: {why}");
        }
    }
    let sent = "SELECT count(*) FROM slipring.peek('other')";
    assert_eq!(one(&g.owner, sent).await, 0);
    // Reading goes on in a transaction that only reads.
    run(&user, "BEGIN READ ONLY; SELECT slipring.stats('mine'); COMMIT").await;
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
async fn a_refusal_does_not_name_the_queue_of_a_load() {
    let g = ground().await;
    let (role, user) = g.here("loader").await;
    run(&g.owner, &format!("SELECT slipring.grant('producer', '{role}', 'mine')")).await;
    let load = one(&g.owner, "SELECT slipring.load_begin('other')").await;
    let why = refused(&user, &format!("SELECT slipring.load_abandon({load})")).await;
    let wanted =
        format!("42501 permission denied for load {load}: {role} is no producer of its queue");
    assert_eq!(why, wanted);
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
