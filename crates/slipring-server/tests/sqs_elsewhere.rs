//! What other servers on the store have just done to a queue.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::sync::Arc;

use serde_json::json;
use slipring_server::sqs::Server;
use sqs_client::TestServer;
use sqs_client::running::{Serves, shared_store};

#[test]
fn a_queue_that_was_deleted_elsewhere_is_created_again() {
    // S14.2
    let (_folder, store) = shared_store();
    let server = TestServer::start_over(Arc::clone(&store) as _, <Server as Serves>::patient());
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    server.delete_elsewhere(&store, "q");
    assert_eq!(client.create("q", json!({})), url);
    client.put(&url, "a");
    assert_eq!(client.bodies(&url), ["a"]);
}

#[test]
fn a_message_to_a_queue_that_was_made_anew_elsewhere_is_stored() {
    let (_folder, store) = shared_store();
    let server = TestServer::start_over(Arc::clone(&store) as _, <Server as Serves>::patient());
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    let anew = || {
        server.delete_elsewhere(&store, "q");
        server.create_elsewhere(&store, "q");
    };
    anew();
    client.put(&url, "a");
    assert_eq!(client.bodies(&url), ["a"]);
    anew();
    let entries = json!([
        { "Id": "1", "MessageBody": "b" },
        { "Id": "2", "MessageBody": "c" },
    ]);
    let sent = client.ok("SendMessageBatch", json!({ "QueueUrl": url, "Entries": entries }));
    assert_eq!(sent["Successful"].as_array().unwrap().len(), 2, "{sent}");
    assert_eq!(client.bodies(&url), ["b", "c"]);
    server.delete_elsewhere(&store, "q");
    let send = json!({ "QueueUrl": url, "MessageBody": "d" });
    assert_eq!(client.refused("SendMessage", send), "AWS.SimpleQueueService.NonExistentQueue");
}
