//! No caller makes a transaction give a number twice (S10.1, decision 0037): whatever it resets or
//! sets between two sends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring_testbed::{Cluster, Database, one, refusal, run};
use tokio_postgres::Client;

/// A database with the queues `q` and `other`, a session of its owner, and one of a role that may
/// send to both and no more.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    owner: Client,
    role: String,
}

async fn ground() -> Ground {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let owner = cluster.client(&database).await;
    let role = format!("{}_sender", database.name);
    let made = "SELECT slipring.create_queue('q'), slipring.create_queue('other');
        CREATE TABLE public.work (n int); GRANT INSERT ON public.work TO PUBLIC";
    run(&owner, made).await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, &format!("CREATE ROLE {role}")).await;
    run(&owner, &format!("SELECT slipring.grant('producer', '{role}')")).await;
    Ground { cluster, database, owner, role }
}

impl Ground {
    async fn sender(&self) -> Client {
        let session = self.cluster.superuser(&self.database.name).await;
        run(&session, &format!("SET SESSION AUTHORIZATION {}", self.role)).await;
        session
    }

    /// How many messages there are, and how many numbers they have.
    async fn counted(&self) -> [i64; 2] {
        let all = "SELECT sum(coalesce(n, 1))::int8 FROM slipring.message";
        let numbers = "SELECT count(DISTINCT id - k) FROM slipring.message,
            generate_series(0, coalesce(n, 1) - 1) k";
        [one(&self.owner, all).await, one(&self.owner, numbers).await]
    }
}

async fn refused(client: &Client, sql: &str) -> String {
    let error = refusal(client, sql).await;
    format!("{}: {}", error.code().code(), error.message())
}

#[tokio::test]
async fn a_reset_between_sends_gives_no_number_twice() {
    let g = ground().await;
    let sender = g.sender().await;
    let resets = [
        "RESET ALL",
        "SET LOCAL slipring.sent = '1'",
        "SAVEPOINT s; SELECT slipring.send('q', 'gone'::text); ROLLBACK TO s",
        "CLOSE ALL; DEALLOCATE ALL",
    ];
    let mut sent = 0;
    for reset in resets {
        for queue in ["q", "other"] {
            let calls = format!(
                "BEGIN; INSERT INTO public.work VALUES (1);
                 SELECT slipring.send_batch('q', '{{a,b,c}}'::text[]); {reset};
                 SELECT slipring.send_batch('{queue}', '{{d,e,f,g,h}}'::text[]); {reset};
                 SELECT slipring.send('{queue}', 'i'::text);
                 SELECT slipring.send('q', 'j'::text, \"group\" => 'g'); COMMIT"
            );
            run(&sender, &calls).await;
            sent += 10;
            assert_eq!(g.counted().await, [sent, sent], "{reset}, {queue}");
        }
    }
}

#[tokio::test]
async fn a_transaction_that_forgets_what_it_has_sent_sends_no_more() {
    let g = ground().await;
    let sender = g.sender().await;
    for (first, queue) in [
        ("SELECT slipring.send('q', 'a'::text), slipring.send('q', 'a'::text)", "other"),
        ("SELECT slipring.send_batch('q', '{a,b}'::text[])", "q"),
        ("SELECT slipring.send('q', 'a'::text, delay => '1 hour')", "other"),
    ] {
        let forgets = format!("BEGIN; {first}; DISCARD SEQUENCES");
        run(&sender, &forgets).await;
        let says = refused(&sender, &format!("SELECT slipring.send('{queue}', 'b'::text)")).await;
        let wanted = format!("55000: queue {queue}: this transaction has sent messages and ");
        assert!(says.starts_with(&wanted), "{says}");
        run(&sender, "ROLLBACK").await;
    }
    // Between transactions it takes nothing away, and a transaction that has only written needs no
    // more than any other.
    run(&sender, "DISCARD SEQUENCES; BEGIN; INSERT INTO public.work VALUES (1)").await;
    run(&sender, "SELECT slipring.send('q', 'a'::text), slipring.send('q', 'b'::text)").await;
    run(&sender, "COMMIT").await;
    assert_eq!(g.counted().await, [2, 2]);
}

#[tokio::test]
async fn who_holds_the_lock_that_notes_sends_makes_them_fail() {
    // A savepoint that is rolled back lets go of it, and by then pg_locks has shown it.
    let ground = ground().await;
    let sender = ground.sender().await;
    run(&sender, "BEGIN; SELECT pg_current_xact_id(); SAVEPOINT s").await;
    run(&sender, "SELECT slipring.send('q', 'x'::text)").await;
    let noted = "SELECT (classid::int8 << 32) + objid::int8 FROM pg_locks
        WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid = 1";
    let key = one(&sender, noted).await;
    run(&sender, "ROLLBACK TO s").await;
    run(&ground.owner, &format!("SELECT pg_advisory_lock({key})")).await;
    run(&sender, "DISCARD SEQUENCES").await;
    let refused = refused(&sender, "SELECT slipring.send('q', 'a'::text)").await;
    assert!(refused.starts_with("55000: queue q: another session holds"), "{refused}");
    run(&sender, "ROLLBACK").await;
    run(&sender, "SELECT slipring.send('q', 'b'::text)").await;
    assert_eq!(ground.counted().await, [1, 1]);
}

#[tokio::test]
async fn a_session_sends_first_in_a_transaction_that_has_done_other_things() {
    let g = ground().await;
    for before in [
        "SELECT slipring.create_queue('new')",
        "SELECT slipring.load_append(slipring.load_begin('q'), 0, '{x}'::text[])",
        "SELECT slipring.nack(receipt) FROM slipring.receive('other')",
        "SELECT slipring.ack(receipt) FROM slipring.receive('other')",
    ] {
        run(&g.owner, "SELECT slipring.send('other', 'm'::text)").await;
        let client = g.cluster.client(&g.database).await;
        run(&client, &format!("BEGIN; {before}; SELECT slipring.send('q', 'a'::text); COMMIT"))
            .await;
    }
    let [all, numbers] = g.counted().await;
    assert_eq!(all, numbers);
}

#[tokio::test]
async fn a_sender_sets_no_sequence_of_the_store() {
    let g = ground().await;
    let sender = g.sender().await;
    run(&sender, "SELECT slipring.send('q', 'a'::text)").await;
    for call in [
        "SELECT setval(format('slipring.numbers_%s', pg_backend_pid() % 64), 1)",
        "SELECT nextval(format('slipring.numbers_%s', pg_backend_pid() % 64))",
    ] {
        assert!(refused(&sender, call).await.starts_with("42501: "), "{call}");
    }
}

/// How many records of the log a send writes as the only work of its transaction, or behind another
/// write: the fewest of some tries, for now and then a page of an index is split.
async fn records(session: &Client, before: &str) -> i64 {
    let mut fewest = i64::MAX;
    for _ in 0..5 {
        run(session, &format!("BEGIN; {before}")).await;
        let explain = "EXPLAIN (ANALYZE, WAL, FORMAT JSON) SELECT slipring.send('q', 'a'::text)";
        let plan: serde_json::Value = session.query_one(explain, &[]).await.unwrap().get(0);
        run(session, "COMMIT").await;
        fewest = fewest.min(plan[0]["Plan"]["WAL Records"].as_i64().unwrap());
    }
    fewest
}

#[tokio::test]
async fn a_number_that_is_remembered_is_not_in_the_log() {
    let g = ground().await;
    let session = g.cluster.client(&g.database).await;
    let first = records(&session, "").await;
    assert!(first > 0);
    assert_eq!(records(&session, "INSERT INTO public.work VALUES (1)").await, first);
}
