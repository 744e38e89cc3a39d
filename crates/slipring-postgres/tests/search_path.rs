//! What others put into schemas that a session searches has no say in what the store does: its
//! programs connect as the owner of everything.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::path::Path;
use std::time::Duration;

use slipring::admin::{AdminStore, MoveRequest};
use slipring::store::Store;
use slipring::{NewMessage, PeekFilter, QueueName, QueueSettings};
use slipring_conformance::verbs::{ack_all, at, claim, extend, plain, send, stats, try_send};
use slipring_postgres::PostgresOptions;
use slipring_testbed::{Cluster, one, run};

/// Functions and operators whose arguments fit better than those of PostgreSQL's own.
const TRAPS: &str = "
    GRANT CREATE ON SCHEMA public TO PUBLIC;
    CREATE FUNCTION public.caught() RETURNS int LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION $$a function of somebody else$$; END';
    DO $trap$
    DECLARE
        v_type text;
        v_call text;
    BEGIN
        FOREACH v_type IN ARRAY '{int, bigint, smallint, text, bytea, jsonb, boolean}'::text[] LOOP
            FOREACH v_call IN ARRAY ARRAY['cardinality(%s[]) RETURNS int',
                'unnest(%s[]) RETURNS SETOF %s', 'array_length(%s[], int) RETURNS int',
                'array_position(%s[], %s) RETURNS int', 'array_remove(%s[], %s) RETURNS %s[]',
                'array_fill(%s, int[]) RETURNS %s[]', 'array_append(%s[], %s) RETURNS %s[]',
                'array_lower(%s[], int) RETURNS int', 'format(text, %s) RETURNS text',
                'format(text, text, %s) RETURNS text', 'jsonb_build_object(text, %s) RETURNS jsonb'
                ] LOOP
                EXECUTE pg_catalog.format('CREATE FUNCTION public.' || replace(v_call, '%s',
                    v_type) || ' LANGUAGE plpgsql AS $$BEGIN PERFORM public.caught(); END$$');
            END LOOP;
            EXECUTE pg_catalog.format('CREATE AGGREGATE public.array_agg(%1$s)
                (sfunc = array_append, stype = %1$s[])', v_type);
        END LOOP;
    END $trap$;
    CREATE FUNCTION public.format(text, regprocedure) RETURNS text LANGUAGE plpgsql AS
        'BEGIN PERFORM public.caught(); END';
    CREATE FUNCTION public.hashint8extended(int, bigint) RETURNS bigint LANGUAGE plpgsql AS
        'BEGIN PERFORM public.caught(); END';
    CREATE FUNCTION public.modulo(bigint, int) RETURNS bigint LANGUAGE plpgsql AS
        'BEGIN PERFORM public.caught(); END';
    CREATE OPERATOR public.% (FUNCTION = public.modulo, LEFTARG = bigint, RIGHTARG = int)";

#[tokio::test]
async fn a_server_never_calls_what_somebody_else_has_made() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, TRAPS).await;
    let client = cluster.client(&database).await;
    let trapped = client.batch_execute("SELECT cardinality('{1}'::int[])").await;
    assert!(trapped.is_err(), "the traps are set");

    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    send(&store, q, &["a", "b", "c"]).await;
    let odd = NewMessage::new("d").dedup_id("d").priority(9).delay(Duration::from_secs(1));
    try_send(&store, q, vec![odd], at(0)).await.unwrap();
    store.due(at(2)).await.unwrap();
    let got = claim(&store, q, 2, at(2)).await;
    assert!(extend(&store, q, &[got[0].receipt], 50, at(2)).await[0].is_ok());
    ack_all(&store, q, &got[..1], at(2)).await;
    store.expire(at(60)).await.unwrap();
    store.prune(at(60)).await.unwrap();
    store.peek(q, PeekFilter { state: None, limit: 10 }, at(60)).await.unwrap();
    assert_eq!(stats(&store, q).await.ready, 3);
    let name = QueueName::new("other").unwrap();
    let (other, _) = store.create_queue(&name, &QueueSettings::default(), at(60)).await.unwrap();
    store.configure(other.id, &QueueSettings::default(), at(60)).await.unwrap();
    let moved = MoveRequest { source: q, target: Some(other.id), limit: 1 };
    store.move_messages(moved, at(60)).await.unwrap();
    store.heads(&[q, other.id], at(60)).await.unwrap();
    store.queue_changes().await.unwrap();
    store.foreign_changes().await.unwrap();
    store.purge(q, 100, at(60)).await.unwrap();
    store.delete_queue(q).await.unwrap();
    slipring_postgres::import(&database.address, PostgresOptions::default()).await.unwrap();
    // As if another build had made the functions.
    run(&client, "UPDATE slipring.migration SET name = 'other' WHERE version = 0").await;
    let migrated = slipring_postgres::migrate(&database.address, PostgresOptions::default(), false);
    assert!(!migrated.await.unwrap().is_empty());
}

/// One statement that is inlined into the caller's: all its functions with their schema, and no
/// operator, which would be looked for.
const PLACED: &str = "p.prolang = (SELECT l.oid FROM pg_language l WHERE l.lanname = 'sql')
    AND p.prosrc !~ '[^.a-z0-9_][a-z0-9_]+\\s*[(]' AND p.prosrc !~ '[-+*/<>=~!@#%^&|?]'";

#[tokio::test]
async fn every_function_that_a_program_calls_names_where_it_looks() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let mut called = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("--"));
        for call in lines.flat_map(|line| line.split("slipring.").skip(1)) {
            let Some((name, _)) = call.split_once('(') else { continue };
            if !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                continue;
            }
            let sql = format!(
                "SELECT count(*) FILTER (WHERE p.prosecdef OR p.proconfig::text LIKE
                     '%search_path=pg_catalog, slipring, pg_temp%' OR {PLACED}) - count(*) + 1
                 FROM pg_proc p WHERE p.pronamespace = 'slipring'::regnamespace
                     AND p.proname = '{name}'"
            );
            assert_eq!(one(&client, &sql).await, 1, "{name}");
            called += 1;
        }
    }
    assert!(called > 25, "{called} calls were found");
}

#[tokio::test]
async fn a_wait_calls_no_operator_that_somebody_else_has_made() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(&client, "SELECT slipring.create_queue('q')").await;
    // Exact for types for which pg_catalog has none.
    let mut trap = String::from("CREATE TABLE public.called (operator text)");
    for (left, right) in [("float8", "int4"), ("numeric", "float8"), ("float8", "numeric")] {
        for (name, operator, result, value) in [
            ("gt", ">", "bool", "false"),
            ("div", "/", "float8", "0"),
            ("mul", "*", "float8", "0"),
            ("add", "+", "float8", "0"),
            ("sub", "-", "float8", "0"),
        ] {
            trap.push_str(&format!(
                "; CREATE FUNCTION public.{name}({left}, {right}) RETURNS {result}
                    LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.called VALUES ($${operator}$$);
                        RETURN {value}; END';
                CREATE OPERATOR public.{operator} (FUNCTION = public.{name},
                    LEFTARG = {left}, RIGHTARG = {right})"
            ));
        }
    }
    run(&client, &trap).await;
    run(&client, "CALL slipring.await('q', '50 ms')").await;
    assert_eq!(one(&client, "SELECT count(*) FROM public.called").await, 0);
}

/// A custom plan holds the values of the call as constants, and `debug_print_plan` shows it to the
/// caller. The row of a queue holds a secret (decision 0034). A generic plan holds no values.
#[tokio::test]
async fn what_a_producer_calls_plans_nothing_for_the_values_of_a_queue() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    let open = "FROM pg_proc p WHERE p.pronamespace = 'slipring'::regnamespace AND p.prosecdef
        AND has_function_privilege('slipring_producer', p.oid, 'EXECUTE')";
    assert!(one(&client, &format!("SELECT count(*) {open}")).await >= 7);
    let names = format!(
        "SELECT coalesce(string_agg(p.oid::regprocedure::text, ', '), '') {open}
         AND p.proconfig::text NOT LIKE '%plan_cache_mode=force_generic_plan%'"
    );
    let names: String = client.query_one(&names, &[]).await.unwrap().get(0);
    assert_eq!(names, "");
}
