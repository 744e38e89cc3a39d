//! Queues over the admin API, and that its description is complete.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod admin_support;

use std::sync::Arc;

use admin_support::{TestApi, described_operations};
use http::Method;
use serde_json::{Value, json};
use slipring::stores::MemoryStore;
use slipring::{Engine, EngineOptions, Obstacle, ObstacleKind, Obstacles, QueueName};
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::admin::Api;

#[tokio::test]
async fn the_description_names_exactly_the_operations_there_are() {
    let mut there: Vec<(String, String, String)> = Api::operations()
        .into_iter()
        .map(|operation| (operation.path.into(), operation.method.into(), operation.name.into()))
        .collect();
    there.sort();
    assert_eq!(there, described_operations());
    let api = TestApi::new().await;
    let served = api.get("/openapi.json").await.ok();
    assert_eq!(&served, admin_support::description());
}

#[tokio::test]
async fn a_queue_is_made_once_and_found_again_with_equal_settings() {
    // S14.2
    let api = TestApi::new().await;
    let new = json!({ "name": "emails", "settings": { "max_attempts": 3 } });
    let made = api.post("/v1/queues", &new).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.body["settings"]["max_attempts"], 3);
    assert_eq!(made.body["settings"]["visibility_timeout_ms"], 30_000);
    let again = api.post("/v1/queues", &new).await;
    assert_eq!((again.status, &again.body["id"]), (200, &made.body["id"]));
    let other = json!({ "name": "emails", "settings": { "max_attempts": 4, "delay_ms": 1 } });
    let refused = api.post("/v1/queues", &other).await;
    assert_eq!(refused.body["context"]["settings"], "delay_ms, max_attempts");
    assert_eq!(refused.refused(), (409, "queue_exists".into()));
    // Without settings it is accepted as it is.
    let found = api.post("/v1/queues", &json!({ "name": "emails" })).await;
    assert_eq!((found.status, &found.body["settings"]), (200, &made.body["settings"]));
    let plain = json!({ "name": "emails", "settings": {} });
    assert_eq!(api.post("/v1/queues", &plain).await.refused(), (409, "queue_exists".into()));
}

#[tokio::test]
async fn a_name_that_ends_in_fifo_makes_a_fifo_queue_unless_the_settings_say_otherwise() {
    let api = TestApi::new().await;
    for (new, fifo) in [
        (json!({ "name": "a.fifo" }), true),
        (json!({ "name": "b.fifo", "settings": { "delay_ms": 1 } }), true),
        (json!({ "name": "c.fifo", "settings": { "fifo": false } }), false),
        (json!({ "name": "fifo" }), false),
    ] {
        let made = api.post("/v1/queues", &new).await.ok();
        assert_eq!(made["settings"]["fifo"], fifo, "{new}");
    }
}

#[tokio::test]
async fn a_dead_letter_queue_is_there_and_messages_get_to_it() {
    let api = TestApi::new().await;
    let make = async |settings: Value| {
        api.post("/v1/queues", &json!({ "name": "q", "settings": settings })).await
    };
    let unknown = make(json!({ "max_attempts": 3, "dead_letter": "dead" })).await;
    assert!(unknown.body["message"].as_str().unwrap().contains("create it first"), "{unknown:?}");
    assert_eq!(unknown.refused(), (400, "invalid".into()));
    assert_eq!(api.get("/v1/queues/q").await.status, 404, "nothing was made");
    api.post("/v1/queues", &json!({ "name": "dead" })).await.ok();
    let never = make(json!({ "dead_letter": "dead" })).await;
    assert!(never.body["message"].as_str().unwrap().contains("max_attempts"), "{never:?}");
    assert_eq!(never.refused(), (400, "invalid".into()));
    make(json!({ "max_attempts": 3, "dead_letter": "dead" })).await.ok();
    for change in [json!({ "max_attempts": null }), json!({ "dead_letter": "missing" })] {
        let refused = api.call(Method::PATCH, "/v1/queues/q", &change).await.refused();
        assert_eq!(refused, (400, "invalid".into()), "{change}");
    }
    let both = json!({ "max_attempts": null, "dead_letter": null });
    api.call(Method::PATCH, "/v1/queues/q", &both).await.ok();
}

#[tokio::test]
async fn a_query_is_refused_where_nothing_is_read_from_it() {
    let api = TestApi::new().await;
    api.post("/v1/queues", &json!({ "name": "q" })).await.ok();
    for operation in Api::operations() {
        let path = operation.path.replace("{queue}", "q").replace("{id}", "1");
        let method: Method = operation.method.to_uppercase().parse().unwrap();
        let answer = api.call(method, &format!("{path}?colour=1"), &Value::Null).await;
        if path.starts_with("/v1/") {
            assert!(answer.body["message"].as_str().unwrap().contains("colour"), "{answer:?}");
            assert_eq!(answer.refused(), (400, "invalid".into()), "{}", operation.name);
        } else if path == "/metrics" {
            assert_eq!(answer.refused(), (400, "invalid".into()));
        } else {
            // Probes may be configured to send a query.
            assert_eq!(answer.status, 200, "{}", operation.name);
        }
    }
    assert_eq!(api.get("/v1/queues/q?").await.status, 200);
}

#[tokio::test]
async fn settings_change_one_by_one_and_null_brings_back_the_default() {
    let api = TestApi::new().await;
    let new = json!({ "name": "q", "settings": { "max_attempts": 3, "delay_ms": 5 } });
    api.post("/v1/queues", &new).await.ok();
    let path = "/v1/queues/q";
    let change = json!({ "max_attempts": null, "durability": "relaxed" });
    let settings = api.call(Method::PATCH, path, &change).await.ok()["settings"].clone();
    assert_eq!(settings["max_attempts"], Value::Null);
    assert_eq!((&settings["durability"], &settings["delay_ms"]), (&json!("relaxed"), &json!(5)));
    for (change, kind) in [
        (json!({ "colour": 1 }), "invalid"),
        (json!({ "colour": null }), "invalid"),
        (json!({ "max_attempts": "many" }), "invalid"),
        (json!({ "max_attempts": 0 }), "invalid"),
        (json!({ "fifo": true }), "invalid"),
    ] {
        let refused = api.call(Method::PATCH, path, &change).await.refused();
        assert_eq!(refused, (400, kind.to_owned()), "{change}");
    }
    let too_long = json!({ "delay_ms": u64::MAX });
    let refused = api.call(Method::PATCH, path, &too_long).await;
    assert_eq!(refused.body["context"]["setting"], "delay");
    assert_eq!(refused.refused(), (422, "limit_exceeded".into()));
    assert_eq!(api.get(path).await.ok()["settings"], settings);
}

#[tokio::test]
async fn a_list_is_sorted_filtered_and_paged() {
    let api = TestApi::new().await;
    for name in ["b/2", "a", "b/1", "c"] {
        api.post("/v1/queues", &json!({ "name": name })).await.ok();
    }
    let names = |page: &Value| -> Vec<String> {
        let queues = page["queues"].as_array().unwrap().iter();
        queues.map(|queue| queue["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = api.get("/v1/queues").await.ok();
    assert_eq!(names(&all), ["a", "b/1", "b/2", "c"]);
    assert_eq!(all["next"], Value::Null);
    assert_eq!(names(&api.get("/v1/queues?prefix=b%2F").await.ok()), ["b/1", "b/2"]);
    let first = api.get("/v1/queues?limit=3").await.ok();
    assert_eq!((names(&first).len(), &first["next"]), (3, &json!("b/2")));
    assert_eq!(names(&api.get("/v1/queues?limit=3&after=b/2").await.ok()), ["c"]);
    assert_eq!(api.get("/v1/queues/b%2F1").await.ok()["name"], "b/1");
    for bad in ["limit=0", "limit=1001", "limit=x", "colour=1"] {
        let refused = api.get(&format!("/v1/queues?{bad}")).await.refused();
        assert_eq!(refused, (400, "invalid".into()), "{bad}");
    }
}

#[tokio::test]
async fn a_page_whose_queues_are_all_gone_is_not_the_last() {
    let store = FaultyStore::new(MemoryStore::shared());
    let engine = Engine::open(store.clone(), EngineOptions::default()).await.unwrap();
    let api = Arc::new(TestApi { api: Api::in_process(engine.clone()), engine });
    for name in ["a", "b"] {
        api.post("/v1/queues", &json!({ "name": name })).await.ok();
    }
    store.plan(Verb::Stats, 1, Fault::Hang);
    let listing = tokio::spawn({
        let api = Arc::clone(&api);
        async move { api.get("/v1/queues?limit=1").await.ok() }
    });
    store.hanging(1).await;
    let gone = api.engine.queue("a").await.unwrap();
    api.engine.delete_queue(&gone).await.unwrap();
    store.release();
    assert_eq!(listing.await.unwrap(), json!({ "queues": [], "next": "a" }));
}

#[tokio::test]
async fn a_paused_queue_hands_out_nothing_until_it_is_resumed() {
    // S14.3
    let api = TestApi::new().await;
    api.post("/v1/queues", &json!({ "name": "q" })).await.ok();
    let send = json!({ "messages": [{ "body": "x" }] });
    api.post("/v1/queues/q/messages", &send).await.ok();
    let paused = api.post("/v1/queues/q/pause", &json!({})).await.ok();
    assert_eq!(paused["settings"]["paused"], true);
    let none = api.post("/v1/queues/q/receive", &json!({})).await.ok();
    assert_eq!(none["deliveries"], json!([]));
    // One with an end does not end one that has none.
    let both = api.post("/v1/queues/q/pause", &json!({ "for_ms": 1 })).await.ok();
    assert_eq!(both["settings"]["paused"], true);
    api.post("/v1/queues/q/resume", &Value::Null).await.ok();
    let for_a_while = api.post("/v1/queues/q/pause", &json!({ "for_ms": 600_000 })).await.ok();
    assert!(for_a_while["settings"]["paused_until"].is_u64());
    assert_eq!(for_a_while["settings"]["paused"], false);
    let resumed = api.post("/v1/queues/q/resume", &Value::Null).await.ok();
    assert_eq!(resumed["settings"]["paused_until"], Value::Null);
    let one = api.post("/v1/queues/q/receive", &json!({})).await.ok();
    assert_eq!(one["deliveries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_moment_that_no_store_can_keep_is_the_last_one() {
    let api = TestApi::new().await;
    let new = json!({ "name": "q", "settings": { "paused_until": u64::MAX } });
    let made = api.post("/v1/queues", &new).await.ok();
    assert_eq!(made["settings"]["paused_until"], json!(i64::MAX));
    let changed = json!({ "paused_until": u64::MAX - 1 });
    let changed = api.call(Method::PATCH, "/v1/queues/q", &changed).await.ok();
    assert_eq!(changed["settings"]["paused_until"], json!(i64::MAX));
}

#[tokio::test]
async fn a_deleted_queue_is_unknown_to_every_operation() {
    let api = TestApi::new().await;
    api.post("/v1/queues", &json!({ "name": "q" })).await.ok();
    assert_eq!(api.call(Method::DELETE, "/v1/queues/q", &Value::Null).await.status, 204);
    for operation in Api::operations() {
        if !operation.path.contains("{queue}") {
            continue;
        }
        let path = operation.path.replace("{queue}", "q");
        let body = match operation.name {
            "send_messages" => json!({ "messages": [] }),
            _ => json!({}),
        };
        let method = operation.method.to_uppercase().parse().unwrap();
        let refused = api.call(method, &path, &body).await.refused();
        assert_eq!(refused, (404, "queue_not_found".into()), "{}", operation.name);
    }
}

#[tokio::test]
async fn an_operation_that_takes_no_fields_refuses_any_and_does_nothing() {
    let api = TestApi::new().await;
    api.post("/v1/queues", &json!({ "name": "q" })).await.ok();
    let send = json!({ "messages": [{ "body": "x", "delay_ms": 3_600_000 }] });
    let sent = api.post("/v1/queues/q/messages", &send).await.ok();
    let message = format!("/v1/messages/{}", sent["sent"][0]["id"]);
    api.post("/v1/queues/q/pause", &Value::Null).await.ok();
    let calls = [
        (Method::POST, "/v1/queues/q/purge".to_owned()),
        (Method::POST, "/v1/queues/q/resume".to_owned()),
        (Method::POST, format!("{message}/kick")),
        (Method::DELETE, message),
        (Method::DELETE, "/v1/queues/q".to_owned()),
    ];
    for (method, path) in &calls {
        for body in [json!({ "limit": 10 }), json!(7), json!([])] {
            let refused = api.call(method.clone(), path, &body).await.refused();
            assert_eq!(refused, (400, "invalid".into()), "{method} {path} {body}");
        }
    }
    let queue = api.get("/v1/queues/q").await.ok();
    assert_eq!(
        (&queue["stats"]["delayed"], &queue["settings"]["paused"]),
        (&json!(1), &json!(true))
    );
    // Clients that write a body always write one of these.
    for (body, path) in [("null", "purge"), ("{}", "purge"), ("null", "resume")] {
        let path = format!("/v1/queues/q/{path}");
        assert_eq!(api.call_raw(Method::POST, &path, body.into()).await.status, 200);
    }
}

#[tokio::test]
async fn input_that_is_no_json_is_refused_and_changes_nothing() {
    let api = TestApi::new().await;
    let deep = "[".repeat(10_000);
    for body in ["{", "[]", "null", "{\"name\":1}", "{\"nam\":\"q\"}", "\u{0}", deep.as_str()] {
        let answer = api.call_raw(Method::POST, "/v1/queues", body.to_owned().into()).await;
        assert_eq!(answer.refused(), (400, "invalid".into()), "{body:.20}");
    }
    for name in ["", "-a", "a b", "ä", &"x".repeat(201)] {
        let refused = api.post("/v1/queues", &json!({ "name": name })).await.refused();
        assert_eq!(refused, (400, "invalid".into()), "{name:?}");
    }
    assert_eq!(api.get("/v1/queues").await.ok()["queues"], json!([]));
    assert_eq!(api.get("/v1/nothing").await.refused(), (404, "not_found".into()));
    let wrong = api.call(Method::PUT, "/v1/queues", &json!({})).await.refused();
    assert_eq!(wrong, (405, "method_not_allowed".into()));
}

#[tokio::test]
async fn obstacles_have_every_kind_and_field_that_is_described() {
    let api = TestApi::new().await;
    let none = json!({ "sessions": 0, "hidden": 0, "gaps": [], "found": [] });
    assert_eq!(api.get("/v1/obstacles").await.ok(), none, "memory is nobody else's");
    let kinds = [
        ObstacleKind::QueueHeld,
        ObstacleKind::OpenWriter,
        ObstacleKind::PreparedTransaction,
        ObstacleKind::ReplicationSlot,
        ObstacleKind::UpkeepOverdue,
        ObstacleKind::LogHeldBack,
    ];
    let found = kinds.map(|kind| Obstacle {
        queue: Some(QueueName::new("q").unwrap()),
        pid: Some(1),
        for_ms: Some(1000),
        ..Obstacle::new(kind)
    });
    let all = Obstacles { sessions: 1, found: found.into(), ..Obstacles::default() };
    let all = serde_json::to_value(&all).unwrap();
    admin_support::check("GET", "/v1/obstacles", 200, "application/json", &all);
    let schema = &admin_support::description()["components"]["schemas"]["Obstacle"];
    assert_eq!(schema["properties"]["kind"]["enum"].as_array().unwrap().len(), kinds.len());
}
