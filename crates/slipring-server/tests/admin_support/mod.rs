//! An admin API over a store in memory. Every answer is compared with `openapi.json`.

// Each test program uses its part of this module.
#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::panic)]

mod description;

use axum::body::{Bytes, to_bytes};
use http::{Method, Request};
use serde_json::Value;
use slipring::stores::MemoryStore;
use slipring::{Engine, EngineOptions};
use slipring_server::admin::Api;

pub use description::{check, described_operations, description};

/// The API, and the engine under it.
pub struct TestApi {
    pub api: Api,
    pub engine: Engine,
}

/// An answer: its status, and its body as JSON (an array for lines, null for none).
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    /// The body of an answer that has to be a success.
    pub fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        self.body
    }

    /// Status and kind of an answer that has to be an error.
    pub fn refused(self) -> (u16, String) {
        assert!(self.status >= 400, "{self:?}");
        (self.status, self.body["kind"].as_str().unwrap().to_owned())
    }
}

impl TestApi {
    pub async fn new() -> TestApi {
        let engine = memory_engine().await;
        TestApi { api: Api::in_process(engine.clone()), engine }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, &Value::Null).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, body).await
    }

    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.call_raw(method, path, body.into()).await
    }

    pub async fn call_raw(&self, method: Method, path: &str, body: Bytes) -> Answer {
        let request = Request::builder().method(method.clone()).uri(path);
        let request = request.header("content-type", "application/json").body(body).unwrap();
        let response = self.api.call(request).await;
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap());
        let kind = kind.unwrap_or_default().to_owned();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = match kind.as_str() {
            "" => Value::Null,
            "application/json" => serde_json::from_slice(&bytes).unwrap(),
            "application/x-ndjson" => {
                let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()).collect()
            }
            _ => Value::String(String::from_utf8(bytes.to_vec()).unwrap()),
        };
        description::check(method.as_str(), path, status, &kind, &body);
        Answer { status, body }
    }
}

/// An engine over a store in memory.
pub async fn memory_engine() -> Engine {
    Engine::open(MemoryStore::shared(), EngineOptions::default()).await.unwrap()
}
