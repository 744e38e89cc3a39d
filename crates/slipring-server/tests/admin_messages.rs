//! Messages over the admin API.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod admin_support;

use admin_support::TestApi;
use http::Method;
use serde_json::{Value, json};
use slipring::{Engine, EngineOptions};
use slipring_server::admin::Api;
use slipring_sqlite::{SqliteOptions, SqliteStore};

async fn api_with_queue() -> TestApi {
    let api = TestApi::new().await;
    api.post("/v1/queues", &json!({ "name": "q" })).await.ok();
    api
}

async fn send(api: &TestApi, messages: Value) -> Value {
    let body = json!({ "messages": messages });
    api.post("/v1/queues/q/messages", &body).await.ok()["sent"].clone()
}

async fn receive(api: &TestApi, up_to: u32) -> Vec<Value> {
    let answer = api.post("/v1/queues/q/receive", &json!({ "up_to": up_to })).await.ok();
    answer["deliveries"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_is_sent_is_received_with_all_its_fields_and_acked() {
    let api = api_with_queue().await;
    let full = json!({
        "body": "hello", "priority": 7, "group": "g", "dedup_id": "d", "headers": { "a": "b" },
        "lease_ms": 60_000,
    });
    let sent = send(&api, json!([full, full])).await;
    assert_eq!((&sent[0]["duplicate"], &sent[1]["duplicate"]), (&json!(false), &json!(true)));
    let deliveries = receive(&api, 10).await;
    let [one] = deliveries.as_slice() else { panic!("{deliveries:?}") };
    assert_eq!(one["id"], sent[0]["id"]);
    for (field, value) in [
        ("body", json!("hello")),
        ("priority", json!(7)),
        ("group", json!("g")),
        ("dedup_id", json!("d")),
        ("headers", json!({ "a": "b" })),
        ("attempts", json!(1)),
        ("state", json!("leased")),
        ("queue", json!("q")),
    ] {
        assert_eq!(one[field], value, "{field}");
    }
    let receipts = json!({ "receipts": [one["receipt"], "forged"] });
    let results = api.post("/v1/ack", &receipts).await.ok()["results"].clone();
    assert_eq!(results[0]["error"], Value::Null);
    assert_eq!(results[1]["error"]["kind"], "receipt_invalid");
    let again = api.post("/v1/ack", &receipts).await.ok()["results"].clone();
    assert_eq!(again[0]["error"]["kind"], "message_gone");
}

#[tokio::test]
async fn a_receipt_whose_queue_cannot_be_looked_for_is_not_said_to_be_of_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("a.db"), SqliteOptions::default()).unwrap();
    let engine = Engine::open(store, EngineOptions::default()).await.unwrap();
    let api = TestApi { api: Api::in_process(engine.clone()), engine };
    api.post("/v1/queues", &json!({ "name": "q" })).await.ok();
    send(&api, json!([{ "body": "x" }])).await;
    let receipt = receive(&api, 1).await[0]["receipt"].clone();
    api.engine.shutdown().await;
    let acked = api.post("/v1/ack", &json!({ "receipts": [receipt] })).await.ok();
    assert_eq!(acked["results"][0]["error"]["kind"], "closed", "{acked}");
}

#[tokio::test]
async fn bytes_that_are_no_text_travel_as_base64() {
    let api = api_with_queue().await;
    send(&api, json!([{ "body_base64": "/wD/" }, { "body_base64": "aGk=" }])).await;
    let deliveries = receive(&api, 2).await;
    assert_eq!(deliveries[0]["body_base64"], "/wD/");
    assert_eq!(deliveries[1]["body"], "hi");
}

#[tokio::test]
async fn a_bad_message_refuses_its_batch() {
    // S9.1
    let api = api_with_queue().await;
    for (bad, refused) in [
        (json!({}), (400, "invalid")),
        (json!({ "body": "a", "body_base64": "YQ==" }), (400, "invalid")),
        (json!({ "body_base64": "?" }), (400, "invalid")),
        (json!({ "body": "a", "colour": 1 }), (400, "invalid")),
        (json!({ "body": "a", "priority": -1 }), (400, "invalid")),
        (json!({ "body": "a", "delay_ms": u64::MAX }), (422, "limit_exceeded")),
        (json!({ "body": "x".repeat((1 << 20) + 1) }), (422, "limit_exceeded")),
    ] {
        let body = json!({ "messages": [{ "body": "good" }, bad] });
        let answer = api.post("/v1/queues/q/messages", &body).await;
        assert_eq!(answer.refused(), (refused.0, refused.1.to_owned()), "{bad:.60}");
    }
    assert_eq!(api.get("/v1/queues/q").await.ok()["stats"]["ready"], 0);
}

#[tokio::test]
async fn a_waiting_receive_gets_the_message_that_arrives() {
    // S2.4
    let api = api_with_queue().await;
    let body = json!({ "wait_ms": 60_000 });
    let waiting = api.post("/v1/queues/q/receive", &body);
    let sending = async {
        while api.engine.queue("q").await.unwrap().waiting() == 0 {
            tokio::task::yield_now().await;
        }
        send(&api, json!([{ "body": "late" }])).await;
    };
    let (received, ()) = tokio::join!(waiting, sending);
    assert_eq!(received.ok()["deliveries"][0]["body"], "late");
}

#[tokio::test]
async fn a_nacked_message_comes_back_after_its_delay() {
    let api = api_with_queue().await;
    send(&api, json!([{ "body": "a" }, { "body": "b" }])).await;
    let deliveries = receive(&api, 2).await;
    let now = json!({ "receipts": [deliveries[0]["receipt"]], "delay_ms": 0 });
    let later = json!({ "receipts": [deliveries[1]["receipt"]], "delay_ms": 600_000 });
    for body in [now, later] {
        let results = api.post("/v1/nack", &body).await.ok()["results"].clone();
        assert_eq!(results[0]["error"], Value::Null);
    }
    let again = receive(&api, 2).await;
    assert_eq!(again.len(), 1);
    assert_eq!((&again[0]["body"], &again[0]["attempts"]), (&json!("a"), &json!(2)));
    let delayed = api.get("/v1/queues/q/messages?state=delayed").await.ok();
    assert_eq!(delayed["messages"][0]["body"], "b");
    let misplaced = json!({ "receipts": [again[0]["receipt"]], "delay_ms": 1 });
    assert_eq!(api.post("/v1/ack", &misplaced).await.refused(), (400, "invalid".into()));
    let nothing = json!({ "receipts": [] });
    assert_eq!(api.post("/v1/ack", &nothing).await.refused(), (400, "invalid".into()));
}

#[tokio::test]
async fn the_reason_of_a_nack_is_kept_with_the_message() {
    // S6.8
    let api = api_with_queue().await;
    let sent = send(&api, json!([{ "body": "a" }, { "body": "b" }])).await;
    let receipts = receive(&api, 2).await;
    let receipts: Vec<&Value> = receipts.iter().map(|one| &one["receipt"]).collect();
    let long = "é".repeat(3000);
    let body = json!({ "receipts": receipts, "delay_ms": 0, "reason": long });
    api.post("/v1/nack", &body).await.ok();
    let path = format!("/v1/messages/{}", sent[1]["id"]);
    let failed = api.get(&path).await.ok()["failures"][0].clone();
    assert_eq!((&failed["attempt"], &failed["ended_by"]), (&json!(1), &json!("nack")));
    let reason = failed["reason"].as_str().unwrap();
    assert!(reason.len() <= 4096 && reason.ends_with("é…"), "{reason}");
    let page = api.get("/v1/queues/q/messages").await.ok();
    assert_eq!(page["messages"][1]["failures"][0], failed);
    let again = receive(&api, 1).await;
    assert_eq!(again[0]["failures"], Value::Null, "only a look shows them");
    let ack = json!({ "receipts": [again[0]["receipt"]], "reason": "because" });
    assert_eq!(api.post("/v1/ack", &ack).await.refused(), (400, "invalid".into()));
}

#[tokio::test]
async fn one_message_is_looked_at_kicked_and_cancelled_by_its_number() {
    let api = api_with_queue().await;
    let sent = send(&api, json!([{ "body": "a", "delay_ms": 600_000 }])).await;
    let path = format!("/v1/messages/{}", sent[0]["id"]);
    let seen = api.get(&path).await.ok();
    assert_eq!((&seen["state"], &seen["queue"]), (&json!("delayed"), &json!("q")));
    assert_eq!(api.post(&format!("{path}/kick"), &Value::Null).await.status, 204);
    let again = api.post(&format!("{path}/kick"), &Value::Null).await.refused();
    assert_eq!(again, (409, "wrong_state".into()));
    assert_eq!(api.get(&path).await.ok()["state"], "ready");
    assert_eq!(api.call(Method::DELETE, &path, &Value::Null).await.status, 204);
    assert_eq!(api.get(&path).await.refused(), (404, "message_gone".into()));
    assert_eq!(api.get("/v1/messages/x").await.refused(), (400, "invalid".into()));
}

#[tokio::test]
async fn pages_of_messages_follow_one_another_to_the_last_that_may_be_looked_at() {
    let api = api_with_queue().await;
    let hundred: Vec<Value> = (0..100).map(|_| json!({ "body": "m" })).collect();
    for _ in 0..11 {
        send(&api, json!(hundred)).await;
    }
    let (mut after, mut seen) = (json!(0), 0);
    while after != Value::Null {
        let page = api.get(&format!("/v1/queues/q/messages?limit=100&after={after}")).await.ok();
        seen += page["messages"].as_array().unwrap().len();
        after = page["next"].clone();
    }
    assert_eq!(seen, 1000);
}

#[tokio::test]
async fn messages_are_looked_for_by_group_and_text() {
    let api = api_with_queue().await;
    for group in ["a", "b", "c"] {
        let message = |n: u32| json!({ "body": format!("{group} and {n}"), "group": group });
        send(&api, json!((0..100).map(message).collect::<Vec<_>>())).await;
    }
    let bodies = async |filter: &str| {
        let (mut after, mut bodies) = (json!(0), Vec::new());
        while after != Value::Null {
            let path = format!("/v1/queues/q/messages?limit=7&after={after}{filter}");
            let page = api.get(&path).await.ok();
            let page_bodies = page["messages"].as_array().unwrap().iter();
            bodies.extend(page_bodies.map(|one| one["body"].as_str().unwrap().to_owned()));
            after = page["next"].clone();
        }
        bodies
    };
    let page = api.get("/v1/queues/q/messages?group=d").await.ok();
    assert_eq!((&page["searched"], &page["next"]), (&json!(300), &Value::Null));
    let of_group: Vec<String> = (0..100).map(|n| format!("b and {n}")).collect();
    assert_eq!(bodies("&group=b").await, of_group);
    assert_eq!(bodies("&text=d%2099").await, ["a and 99", "b and 99", "c and 99"]);
    assert_eq!(bodies("&text=99&group=c&state=ready").await, ["c and 99"]);
    assert!(
        bodies("&text=99&state=parked").await.is_empty() && bodies("&group=d").await.is_empty()
    );
}

#[tokio::test]
async fn leases_are_prolonged_receipt_by_receipt() {
    // S5.1
    let api = api_with_queue().await;
    send(&api, json!([{ "body": "a" }, { "body": "b" }])).await;
    let held = receive(&api, 2).await;
    let receipts: Vec<Value> = held.iter().map(|one| one["receipt"].clone()).collect();
    let until = async |at: usize| {
        let id = held[at]["id"].to_string();
        api.get(&format!("/v1/messages/{id}")).await.ok()["until_ms"].as_u64().unwrap()
    };
    let before = until(0).await;
    let extend = json!({ "receipts": [receipts[0], "none"], "lease_ms": 3_600_000 });
    let answer = api.post("/v1/extend", &extend).await.ok();
    assert_eq!(answer["results"][0]["error"], Value::Null);
    assert_eq!(answer["results"][1]["error"]["kind"], "receipt_invalid");
    assert!(until(0).await > before + 3_000_000, "an hour from now");
    assert!(until(1).await <= before + 30_000, "the other lease is as it was");
    let ends = json!({ "receipts": [receipts[1]], "lease_ms": 0 });
    api.post("/v1/extend", &ends).await.ok();
    let gone = api.post("/v1/extend", &json!({ "receipts": [receipts[1]] })).await.ok();
    assert_eq!(gone["results"][0]["error"]["kind"], "lease_lost");
    for bad in [json!({ "receipts": [] }), json!({ "receipts": [receipts[0]], "delay_ms": 1 })] {
        assert_eq!(api.post("/v1/extend", &bad).await.refused(), (400, "invalid".into()), "{bad}");
    }
}

#[tokio::test]
async fn a_purge_tells_how_far_it_is_and_leaves_nothing() {
    // S14.5
    let api = api_with_queue().await;
    let messages: Vec<Value> = (0..5000).map(|n| json!({ "body": n.to_string() })).collect();
    send(&api, json!(messages)).await;
    receive(&api, 10).await;
    let lines = api.post("/v1/queues/q/purge", &Value::Null).await.ok();
    let last = lines.as_array().unwrap().last().unwrap();
    assert_eq!(last, &json!({ "messages": 5000, "done": true }));
    let stats = api.get("/v1/queues/q").await.ok()["stats"].clone();
    assert_eq!((&stats["ready"], &stats["leased"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn a_redrive_sends_dead_letters_back_or_to_another_queue() {
    // S6.4
    let api = TestApi::new().await;
    let settings = json!({ "max_attempts": 1, "dead_letter": "dead" });
    api.post("/v1/queues", &json!({ "name": "dead" })).await.ok();
    api.post("/v1/queues", &json!({ "name": "other" })).await.ok();
    api.post("/v1/queues", &json!({ "name": "q", "settings": settings })).await.ok();
    send(&api, json!([{ "body": "a" }, { "body": "b" }, { "body": "c" }])).await;
    loop {
        let deliveries = receive(&api, 10).await;
        if deliveries.is_empty() {
            break;
        }
        let receipts: Vec<&Value> = deliveries.iter().map(|one| &one["receipt"]).collect();
        api.post("/v1/nack", &json!({ "receipts": receipts, "delay_ms": 0 })).await.ok();
    }
    let dead = api.get("/v1/queues/dead/messages").await.ok();
    assert_eq!(dead["messages"][0]["dead_letter_source"], "q");
    let path = "/v1/queues/dead/redrive";
    let moved = api.post(path, &json!({ "target": "other", "limit": 1 })).await.ok();
    let last = |lines: &Value| lines.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last(&moved), json!({ "messages": 1, "done": true, "left": 0 }));
    let moved = api.post(path, &Value::Null).await.ok();
    assert_eq!(last(&moved), json!({ "messages": 2, "done": true, "left": 0 }));
    for (queue, ready) in [("dead", 0), ("other", 1), ("q", 2)] {
        let view = api.get(&format!("/v1/queues/{queue}")).await.ok();
        assert_eq!(view["stats"]["ready"], ready, "{queue}");
    }
    let itself = api.post(path, &json!({ "target": "dead" })).await.refused();
    assert_eq!(itself, (400, "invalid".into()));
    let unknown = api.post(path, &json!({ "target": "nobody" })).await.refused();
    assert_eq!(unknown, (404, "queue_not_found".into()));
}

#[tokio::test]
async fn a_redrive_says_how_far_it_is_and_what_is_left() {
    // S6.4
    let api = api_with_queue().await;
    api.post("/v1/queues", &json!({ "name": "other" })).await.ok();
    let messages: Vec<Value> = (0..2500).map(|n| json!({ "body": n.to_string() })).collect();
    send(&api, json!(messages)).await;
    let request = json!({ "target": "other", "limit": 2400 });
    let lines = api.post("/v1/queues/q/redrive", &request).await.ok();
    let lines = lines.as_array().unwrap();
    assert_eq!(lines.last(), Some(&json!({ "messages": 2400, "done": true, "left": 0 })));
    for line in lines {
        let (messages, left) = (line["messages"].as_u64(), line["left"].as_u64());
        assert_eq!(messages.unwrap() + left.unwrap(), 2400, "{line}");
    }
    let back = api.post("/v1/queues/other/redrive", &Value::Null).await.ok();
    assert_eq!(back, json!([{ "messages": 0, "done": true, "left": 2400 }]));
}

#[tokio::test]
async fn a_redrive_of_chosen_messages_is_answered_one_by_one() {
    // S6.7
    let api = api_with_queue().await;
    api.post("/v1/queues", &json!({ "name": "other" })).await.ok();
    let sent = send(&api, json!([{ "body": "a" }, { "body": "b" }, { "body": "c" }])).await;
    let id = |at: usize| sent[at]["id"].as_u64().unwrap();
    receive(&api, 1).await;
    let path = "/v1/queues/q/redrive";
    let ids = json!([id(2), id(0), 999_999_999_u64, id(2)]);
    let lines = api.post(path, &json!({ "target": "other", "ids": ids })).await.ok();
    let last = lines.as_array().unwrap().last().unwrap();
    assert_eq!((&last["messages"], &last["done"]), (&json!(1), &json!(true)));
    let results = last["results"].as_array().unwrap();
    assert_eq!(results[0], json!({ "id": id(2), "queue": "other", "error": null }));
    let kinds: Vec<&Value> = results[1..].iter().map(|one| &one["error"]["kind"]).collect();
    assert_eq!(kinds, ["wrong_state", "message_gone", "message_gone"]);
    let back = api.post(path, &json!({ "ids": [id(1)] })).await.ok();
    assert_eq!(back[0]["results"][0]["error"]["kind"], "queue_not_found");
    for bad in [json!({ "ids": [] }), json!({ "ids": [1], "limit": 1 }), json!({ "ids": [-1] })] {
        assert_eq!(api.post(path, &bad).await.refused(), (400, "invalid".into()), "{bad}");
    }
    let many: Vec<u64> = (1..=1001).collect();
    let (status, kind) = api.post(path, &json!({ "ids": many })).await.refused();
    assert_eq!((status, kind.as_str()), (422, "limit_exceeded"));
}

#[tokio::test]
async fn a_kick_makes_delayed_messages_ready_when_none_is_parked() {
    let api = api_with_queue().await;
    let delayed = json!({ "body": "a", "delay_ms": 600_000 });
    send(&api, json!([delayed, delayed])).await;
    let kicked = api.post("/v1/queues/q/kick", &json!({ "limit": 1 })).await.ok();
    assert_eq!(kicked["kicked"], 1);
    assert_eq!(api.post("/v1/queues/q/kick", &Value::Null).await.ok()["kicked"], 1);
    let none = api.post("/v1/queues/q/kick", &json!({ "limit": 0 })).await.refused();
    assert_eq!(none, (400, "invalid".into()));
}
