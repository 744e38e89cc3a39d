//! What a call reads does not grow with what was written since the tables were emptied: neither the
//! buffers it touches nor the functions it runs. Every verb is walked, in each of the states in
//! which a plan or a mark might have gone wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]
#![allow(clippy::print_stdout, reason = "a test that fails shows all counts")]

use std::collections::BTreeMap;

use slipring_testbed::{Cluster, Database, database_now, one, rotate, run, soon};
use tokio_postgres::Client;

/// Queues, and the messages that stay in them all the time.
const SETUP: &str = include_str!("plans/setup.sql");
/// Rounds of everything that happens to messages, which leave as much as there was.
const CHURN: &str = include_str!("plans/churn.sql");
/// The verbs, a line each: its name, or `-` for what is not counted, and the statement. One that
/// has SET CONSTRAINTS in a comment notes no hand-out when it commits (see churn.sql): else one in
/// eight would, and what the next verb finds to do would be a matter of chance.
const VERBS: &str = include_str!("plans/verbs.txt");

const STATES: [&str; 6] =
    ["plain", "plans discarded", "analyzed", "snapshot held", "writer held", "rotated"];
/// Rounds before the first count, and before the second: in the plainest state a hundred times as
/// many, and in the others as many as `SLIPRING_PLANS_ROUNDS` says.
const FEW: u32 = 10;
const MANY: u32 = 120;
const MANY_PLAIN: u32 = 1000;
const ROUNDS: &str = "SLIPRING_PLANS_ROUNDS";
/// Steps more in indexes that got a level more, or two at a hundred times as many rounds; in a
/// FIFO queue also past what was served since its marks were moved, which depends on whose turn it
/// is. The heads are looked up in seven queues.
const DEEPER: i64 = 20;
const DEEPER_FIFO: i64 = 64;
const DEEPER_HEADS: i64 = 7 * DEEPER;
/// How often the verbs are walked for a count.
const WALKS: i64 = 3;

/// Buffers, and calls of functions.
type Counts = BTreeMap<&'static str, (i64, i64)>;

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    worker: Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let database = cluster.database().await;
        let worker = cluster.superuser(&database.name).await;
        // An inner function is called with the path of the outer ones.
        run(&worker, "SET search_path = pg_catalog, slipring").await;
        for statement in SETUP.split(";\n") {
            run(&worker, statement).await;
        }
        Ground { cluster, database, worker }
    }

    async fn churn(&self, rounds: u32) {
        run(&self.worker, &CHURN.replace("{rounds}", &rounds.to_string())).await;
    }

    /// Empties all tables, whatever is left being copied.
    async fn rotate(&self) {
        let now = database_now(&self.worker).await;
        for part in ["journal", "shelf"] {
            let of = async |name: String| {
                let sql = format!("SELECT pg_sequence_last_value('slipring.{name}')");
                one(&self.worker, &sql).await
            };
            let wanted = of(part.to_owned()).await + 1;
            run(&self.worker, "SELECT setval('slipring.shelf_kept', 0)").await;
            let rotated = async {
                while of(format!("{part}_low")).await < wanted {
                    rotate(&self.worker, part, now, "COMMIT").await;
                }
            };
            soon(&format!("a rotation of {part}"), rotated).await;
        }
        for _ in 0..8 {
            rotate(&self.worker, "queues", now, "COMMIT").await;
        }
    }

    /// A session that has made its plans.
    async fn session(&self) -> Client {
        let client = self.cluster.superuser(&self.database.name).await;
        run(&client, "SET track_functions = 'all'").await;
        run(&client, "CREATE TEMP TABLE got (receipt text, id bigint)").await;
        walk(&client).await;
        client
    }

    async fn counts(&self, client: &Client) -> Counts {
        run(&self.worker, "SELECT slipring.tally_fold(q, 1) FROM slipring.queue q").await;
        walk(client).await;
        let mut counts = Counts::new();
        for _ in 0..WALKS {
            for (name, (buffers, calls)) in walk(client).await {
                let sum = counts.entry(name).or_default();
                *sum = (sum.0 + buffers, sum.1 + calls);
            }
        }
        counts.into_iter().map(|(name, sum)| (name, (sum.0 / WALKS, sum.1 / WALKS))).collect()
    }
}

/// Runs each verb once.
async fn walk(client: &Client) -> Counts {
    let calls = "SELECT coalesce(sum(calls), 0)::int8 FROM pg_stat_xact_user_functions";
    let mut counts = Counts::new();
    for line in VERBS.lines().filter(|line| !line.is_empty()) {
        let (name, sql) = line.split_once(": ").unwrap();
        if name == "-" {
            run(client, sql).await;
            continue;
        }
        run(client, "BEGIN").await;
        let before = one(client, calls).await;
        let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}");
        let row = client.query_one(&explain, &[]).await;
        let row = row.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let after = one(client, calls).await;
        run(client, "COMMIT").await;
        let plan: serde_json::Value = row.get(0);
        let of = |field| plan[0]["Plan"][field].as_i64().unwrap();
        let buffers = of("Shared Hit Blocks") + of("Shared Read Blocks");
        let sum = counts.entry(name).or_insert((0, 0));
        *sum = (sum.0 + buffers, sum.1 + after - before);
    }
    counts
}

/// What is more than a fifth more.
fn grown(state: &str, levels: i64, few: &Counts, many: &Counts) -> Vec<String> {
    let mut grown = Vec::new();
    for (name, (few, few_calls)) in few {
        let (many, many_calls) = many[name];
        let line = format!("{state:22} {name:22} {few:6} {many:6}   {few_calls:4} {many_calls:4}");
        let deeper = match *name {
            "heads" => DEEPER_HEADS,
            name if name.contains("fifo") => DEEPER_FIFO,
            _ => DEEPER,
        };
        let much = many > few + few / 5 + levels * deeper || many_calls * 5 > few_calls * 6;
        println!("{line}{}", if much { "  grown" } else { "" });
        if much {
            grown.push(line);
        }
    }
    grown
}

#[tokio::test]
async fn no_verb_reads_more_the_more_was_written() {
    let g = Ground::new().await;
    let mut all = Vec::new();
    let rounds = std::env::var(ROUNDS).ok().and_then(|text| text.parse().ok()).unwrap_or(MANY);
    for state in STATES {
        g.rotate().await;
        let other = g.cluster.client(&g.database).await;
        match state {
            "snapshot held" => {
                run(&other, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class").await;
            }
            "writer held" => {
                let sends = "SELECT slipring.send('retry', 'open'::text, delay => '1 hour'),
                    slipring.send('log', 'open'::text) FROM generate_series(1, 10)";
                run(&other, &format!("BEGIN; {sends}")).await;
            }
            _ => {}
        }
        let client = g.session().await;
        g.churn(FEW).await;
        let few = g.counts(&client).await;
        let many_rounds = if state == "plain" { MANY_PLAIN } else { rounds };
        g.churn(many_rounds).await;
        match state {
            "plans discarded" => run(&client, "DISCARD PLANS").await,
            "analyzed" => run(&g.worker, "ANALYZE").await,
            "rotated" => {
                for _ in 0..10 {
                    g.rotate().await;
                    g.churn(FEW).await;
                }
            }
            _ => {}
        }
        let many = g.counts(&client).await;
        let levels = if many_rounds >= MANY_PLAIN { 2 } else { 1 };
        all.extend(grown(state, levels, &few, &many));
        let held = "SELECT count(*) FROM unnest(ARRAY['log', 'retry']) q
            CROSS JOIN LATERAL slipring.peek(q, 'leased', 100) p
            WHERE p.until > now() + interval '3 hours'";
        assert_eq!(one(&g.worker, held).await, 10, "{state}: what was held is held");
        run(&other, "ROLLBACK").await;
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
