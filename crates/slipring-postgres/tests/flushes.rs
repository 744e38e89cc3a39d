//! What a server answers as done is flushed where it has to be, whatever `synchronous_commit` is
//! for its role and its database (S1, S4.2).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::admin::{AdminStore, ChosenMove, MoveRequest};
use slipring::{Durability, LoadStore, NewMessage, QueueId, QueueSettings};
use slipring_conformance::verbs::{at, claim, plain, queue, send, try_send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, run};
use tokio_postgres::Client;

/// Notes the setting that each commit of a writing transaction finds.
const NOTE_COMMITS: &str = "
    CREATE TABLE public.commits (mode text);
    CREATE FUNCTION public.note_commit() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN
             INSERT INTO public.commits
             VALUES (pg_catalog.current_setting($$synchronous_commit$$));
             RETURN NULL;
         END';
    DO $note$
    DECLARE
        v_table text;
    BEGIN
        FOR v_table IN SELECT c.oid::regclass::text FROM pg_class c
                WHERE c.relkind = 'r' AND c.relnamespace = 'slipring'::regnamespace LOOP
            EXECUTE format('CREATE CONSTRAINT TRIGGER note_commit AFTER INSERT OR UPDATE OR DELETE
                ON %s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
                EXECUTE FUNCTION public.note_commit()', v_table);
        END LOOP;
    END $note$";

struct Ground {
    _database: Database,
    store: Arc<PostgresStore>,
    client: Client,
    q: QueueId,
    relaxed: QueueId,
    other: QueueId,
}

/// A store in whose sessions `synchronous_commit` has a value unless it sets another.
async fn ground(mode: &str) -> Ground {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    let name = &database.name;
    run(&client, &format!("ALTER DATABASE {name} SET synchronous_commit = {mode}")).await;
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    let settings = QueueSettings { durability: Durability::Relaxed, ..QueueSettings::default() };
    let relaxed = queue(&store, "relaxed", &settings).await;
    let other = queue(&store, "other", &QueueSettings::default()).await;
    run(&client, NOTE_COMMITS).await;
    Ground { _database: database, store, client, q, relaxed, other }
}

impl Ground {
    /// The settings that commits have found since it was asked last, each once.
    async fn modes(&self) -> String {
        let sql = "WITH gone AS (DELETE FROM public.commits RETURNING mode)
            SELECT coalesce(string_agg(DISTINCT mode, ' '), 'nothing was written') FROM gone";
        self.client.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Does every administrative act, and says after each how its commit was made.
    async fn administer(&self) -> Vec<(&'static str, String)> {
        let Ground { store, q, other, .. } = self;
        let (q, other) = (*q, *other);
        let late = NewMessage::new("late").delay(Duration::from_secs(100));
        let late = try_send(store, q, vec![late.clone(), late], at(0)).await.unwrap();
        let ids = send(store, q, &["a", "b"]).await;
        self.modes().await;
        let mut seen = Vec::new();
        store.cancel(ids[0], at(0)).await.unwrap();
        seen.push(("cancel", self.modes().await));
        let all = MoveRequest { source: q, target: Some(other), limit: 9 };
        store.move_messages(all, at(0)).await.unwrap();
        seen.push(("move", self.modes().await));
        let chosen = ChosenMove { source: other, target: Some(q), messages: vec![ids[1]] };
        assert!(store.move_chosen(&chosen, at(0)).await.unwrap()[0].is_ok());
        seen.push(("move chosen", self.modes().await));
        store.kick_message(late[0].id, at(0)).await.unwrap();
        seen.push(("kick a message", self.modes().await));
        assert_eq!(store.kick(q, 1, at(0)).await.unwrap(), 1);
        seen.push(("kick", self.modes().await));
        assert_eq!(store.purge(q, 100, at(0)).await.unwrap(), 3);
        seen.push(("purge", self.modes().await));
        let paused = QueueSettings { paused: true, ..QueueSettings::default() };
        store.configure(q, &paused, at(0)).await.unwrap();
        seen.push(("configure", self.modes().await));
        let load = store.begin_load(q, at(0)).await.unwrap().id;
        seen.push(("begin a load", self.modes().await));
        store.abandon_load(load).await.unwrap();
        seen.push(("abandon a load", self.modes().await));
        queue(store, "new", &QueueSettings::default()).await;
        seen.push(("create a queue", self.modes().await));
        store.delete_queue(other).await.unwrap();
        seen.push(("delete a queue", self.modes().await));
        seen
    }
}

#[tokio::test]
async fn every_administrative_act_is_flushed_also_where_commits_are_not() {
    // S1.3, S4.2
    let g = ground("off").await;
    for (act, modes) in g.administer().await {
        assert_eq!(modes, "on", "{act}");
    }
}

#[tokio::test]
async fn what_an_operator_has_chosen_stays_where_it_flushes() {
    let g = ground("local").await;
    for (act, modes) in g.administer().await {
        assert_eq!(modes, "local", "{act}");
    }
}

#[tokio::test]
async fn sends_are_flushed_as_their_queues_say_and_hand_outs_are_not() {
    // S1.1, S1.2, S1.4
    for mode in ["off", "on"] {
        let g = ground(mode).await;
        for (queue, sent) in [(g.q, "on"), (g.relaxed, "off")] {
            send(&g.store, queue, &["a"]).await;
            assert_eq!(g.modes().await, sent, "a send with {mode}");
            claim(&g.store, queue, 1, at(0)).await;
            assert_eq!(g.modes().await, "off", "a hand-out with {mode}");
        }
    }
}
