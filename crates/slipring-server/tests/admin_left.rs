//! Acts that do not come to their answer: their caller leaves, or the store fails. What is done is
//! written down and told.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod admin_support;

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use admin_support::{TestApi, memory_engine};
use bytes::Bytes;
use http::{Method, Request};
use serde_json::{Value, json};
use slipring::stores::MemoryStore;
use slipring::{Engine, EngineOptions, NewMessage, QueueSettings};
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::admin::Api;
use slipring_server::audit::{AuditFile, Who};

/// More than any call here takes of a runtime with one thread.
const TURNS: usize = 200;

/// A call, and how to see that it took effect.
struct Act {
    name: &'static str,
    method: Method,
    path: &'static str,
    body: Value,
    done: fn(&State) -> bool,
}

/// What there is after a call.
struct State {
    engine: Engine,
    ready: u64,
}

impl State {
    fn settings(&self) -> QueueSettings {
        self.engine.known_queue("q").unwrap().info().settings.clone()
    }
}

fn acts() -> Vec<Act> {
    let act = |name, method, path, body, done| Act { name, method, path, body, done };
    vec![
        act("create", Method::POST, "/v1/queues", json!({ "name": "new" }), |state| {
            state.engine.known_queue("new").is_some()
        }),
        act("configure", Method::PATCH, "/v1/queues/q", json!({ "max_attempts": 7 }), |state| {
            state.settings().max_attempts == Some(7)
        }),
        act("pause", Method::POST, "/v1/queues/q/pause", json!({}), |state| {
            state.settings().paused
        }),
        act("resume", Method::POST, "/v1/queues/paused/resume", json!({}), |state| {
            !state.engine.known_queue("paused").unwrap().info().settings.paused
        }),
        act("delete", Method::DELETE, "/v1/queues/q", json!({}), |state| {
            state.engine.known_queue("q").is_none()
        }),
        act("kick", Method::POST, "/v1/queues/q/kick", json!({}), |state| state.ready == 3),
    ]
}

fn request(method: &Method, path: &str, body: &Value) -> Request<Bytes> {
    let request = Request::builder().method(method.clone()).uri(path);
    let request = request.header("content-type", "application/json");
    request.body(Bytes::from(body.to_string())).unwrap()
}

/// Makes the call, leaves it after it has been looked at so many times, and answers whether it was
/// over before that.
async fn left_after(looks: usize, act: &Act, file: &Path) -> bool {
    let engine = memory_engine().await;
    let api = Api::audited(engine.clone(), Some(AuditFile::open(file).unwrap()), Who::default());
    let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let paused = QueueSettings { paused: true, ..QueueSettings::default() };
    engine.create_queue("paused", paused).await.unwrap();
    queue.send(NewMessage::new("ready")).await.unwrap();
    for body in ["a", "b"] {
        let delay = Some(Duration::from_secs(3600));
        queue.send(NewMessage { delay, ..NewMessage::new(body) }).await.unwrap();
    }
    let request = request(&act.method, act.path, &act.body);
    let over = {
        let mut call = pin!(api.call(request));
        let mut over = false;
        for _ in 0..looks {
            over = futures::poll!(call.as_mut()).is_ready();
            if over {
                break;
            }
            tokio::task::yield_now().await;
        }
        over
    };
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
    let ready = queue.stats().await.map_or(0, |stats| stats.ready);
    let done = (act.done)(&State { engine, ready });
    let text = std::fs::read_to_string(file).unwrap();
    let end = format!("\"act\":\"{}\",\"outcome\":\"done\"", act.name);
    assert_eq!(text.contains(&end), done, "{} left after {looks} looks: {text}", act.name);
    over
}

#[tokio::test]
async fn an_act_whose_caller_leaves_is_written_down_if_it_is_done() {
    // S16.5
    let folder = tempfile::tempdir().unwrap();
    for act in acts() {
        let mut looks = 0;
        while !left_after(looks, &act, &folder.path().join(format!("{}{looks}", act.name))).await {
            looks += 1;
            assert!(looks < TURNS, "{} does not end", act.name);
        }
        assert!(looks > 1, "{} was left in the middle", act.name);
    }
}

#[tokio::test]
async fn a_deletion_whose_caller_leaves_before_it_begins_is_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("acts");
    let store = FaultyStore::new(MemoryStore::shared());
    let engine = Engine::open(store.clone(), EngineOptions::default()).await.unwrap();
    let api = Api::audited(engine.clone(), Some(AuditFile::open(&file).unwrap()), Who::default());
    engine.create_queue("q", QueueSettings::default()).await.unwrap();
    // It counts the messages first.
    store.plan(Verb::Stats, 1, Fault::Hang);
    {
        let mut call = pin!(api.call(request(&Method::DELETE, "/v1/queues/q", &json!({}))));
        tokio::select! {
            answer = call.as_mut() => panic!("{answer:?}"),
            () = store.hanging(1) => {}
        }
    }
    store.release();
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
    assert!(engine.known_queue("q").is_some());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
}

#[tokio::test]
async fn a_redrive_of_chosen_messages_whose_caller_leaves_has_their_number_in_the_audit() {
    // S16.5
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("acts");
    let store = FaultyStore::new(MemoryStore::shared());
    let engine = Engine::open(store.clone(), EngineOptions::default()).await.unwrap();
    let api = Api::audited(engine.clone(), Some(AuditFile::open(&file).unwrap()), Who::default());
    let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    engine.create_queue("target", QueueSettings::default()).await.unwrap();
    let one = queue.send(NewMessage::new("x")).await.unwrap();
    store.plan(Verb::MoveChosen, 1, Fault::HangAfter);
    let body = json!({ "target": "target", "ids": [one.id.0] });
    let answer = api.call(request(&Method::POST, "/v1/queues/q/redrive", &body)).await;
    store.hanging(1).await;
    drop(answer);
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
    store.release();
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
    let text = std::fs::read_to_string(&file).unwrap();
    let last = "\"act\":\"redrive\",\"outcome\":\"done\",\"queue\":\"q\",\"messages\":1";
    assert!(text.lines().last().unwrap().contains(last), "{text}");
}

#[tokio::test]
async fn an_operation_that_fails_half_way_says_how_much_is_done() {
    let store = FaultyStore::new(MemoryStore::shared());
    let engine = Engine::open(store.clone(), EngineOptions::default()).await.unwrap();
    let api = TestApi { api: Api::in_process(engine.clone()), engine };
    let queue = api.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    api.engine.create_queue("target", QueueSettings::default()).await.unwrap();
    let batch: Vec<NewMessage> = (0..1_500).map(|_| NewMessage::new("x")).collect();
    queue.send_batch(batch).await.unwrap();
    store.plan(Verb::MoveMessages, 2, Fault::Before);
    let moved = api.post("/v1/queues/q/redrive", &json!({ "target": "target" })).await.ok();
    let last = moved.as_array().unwrap().last().unwrap();
    assert_eq!((&last["messages"], &last["done"]), (&json!(1_000), &json!(false)), "{moved}");
    assert!(last["error"].is_object(), "{moved}");
    // The second step is the look that finds nothing any more.
    store.plan(Verb::Purge, 2, Fault::Before);
    let purged = api.post("/v1/queues/q/purge", &Value::Null).await.ok();
    let last = purged.as_array().unwrap().last().unwrap();
    assert_eq!((&last["messages"], &last["done"]), (&json!(500), &json!(false)), "{purged}");
}
