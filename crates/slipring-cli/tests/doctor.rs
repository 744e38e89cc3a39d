//! `slipring doctor`, against a server and straight on a store: its sentences and exit codes.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use binary::Folder;
use serde_json::json;
use slipring::QueueId;
use slipring_testbed::{Cluster, OWNER, one, run};

#[test]
fn where_nothing_is_wrong_it_says_what_it_looked_at() {
    let folder = Folder::new();
    let server = folder.serve(&["--store", "sqlite:slipring.db"]);
    let admin = server.admin();
    folder.run(&["queue", "create", "emails", "--admin", &admin]).ok();
    let well = folder.run(&["doctor", "--for", "10ms", "--admin", &admin]).ok();
    let (looked, said) = well.trim_end().rsplit_once(": ").unwrap();
    assert!(looked.starts_with("1 queues, ") && looked.contains(" wait classes, "), "{well}");
    assert_eq!(said, "nothing is wrong");
    let file = ["--store", "sqlite:slipring.db"];
    let well = folder.run(&[&["doctor", "--for", "10ms"][..], &file].concat()).ok();
    assert_eq!(well, "1 queues, 0.0 s: nothing is wrong\n");
    server.stop();
    let nobody = folder.run(&["doctor", "--admin", &admin]);
    assert_eq!((nobody.code(), nobody.stdout().as_str()), (1, ""), "it could not look");
    assert_eq!(folder.run(&["doctor", "--for", "soon"]).code(), 2);
}

#[test]
fn what_is_wrong_is_said_with_what_to_do_and_a_code_of_its_own() {
    let folder = Folder::new();
    let store = ["--store", "sqlite:slipring.db"];
    let verb = |words: &[&str]| folder.run(&[words, &store].concat());
    verb(&["queue", "create", "emails"]).ok();
    verb(&["send", "emails", "hello"]).ok();
    verb(&["queue", "pause", "emails"]).ok();
    let found = verb(&["doctor", "--for", "10ms"]);
    let said = "warning: Queue emails is paused; 1 messages are ready in it\n    Let it go on: \
                slipring queue resume emails\n";
    assert_eq!((found.code(), found.stdout().as_str()), (3, said), "{}", found.stderr());
    let found = verb(&["doctor", "--for", "10ms", "--json"]);
    assert_eq!(found.code(), 3);
    let report: serde_json::Value = serde_json::from_str(&found.stdout()).unwrap();
    let finding = &report["findings"][0];
    assert_eq!((&finding["rule"], &finding["queue"]), (&json!("paused"), &json!("emails")));
    assert_eq!((&report["queues"], &finding["level"]), (&json!(1), &json!("warning")));
}

#[tokio::test]
async fn who_holds_a_queue_of_a_database_is_named() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let url = cluster.url(OWNER, "test", &database.name);
    let folder = Folder::new();
    folder.run(&["queue", "create", "emails", "--store", &url]).ok();
    let client = cluster.client(&database).await;
    let id = "SELECT queue_id::int8 FROM slipring.queue WHERE name = 'emails'";
    let id = QueueId(u64::try_from(one(&client, id).await).unwrap());
    let holder = cluster.holder(&database, id).await;
    let pid = one(&holder, "SELECT pg_backend_pid()::int8").await;
    let server = folder.serve(&["--store", &url]);
    let admin = server.admin();
    // The second look comes when the transaction is old enough.
    for target in [["--store", &url], ["--admin", &admin]] {
        let found = folder.run(&[&["doctor", "--for", "1200ms"][..], &target].concat());
        assert_eq!(found.code(), 3, "{found:?}");
        let said = found.stdout();
        let first = said.lines().next().unwrap();
        let begin =
            format!("wrong: Queue emails is held: its lock belongs to process {pid} (role ");
        assert!(first.starts_with(&begin), "{said}");
        assert!(first.contains(" and is idle in transaction; "), "{said}");
        let end = format!("end it: SELECT pg_terminate_backend({pid});");
        assert!(said.lines().nth(1).unwrap().ends_with(&end), "{said}");
        assert!(!said.contains("nothing is wrong"), "{said}");
    }
    run(&holder, "COMMIT").await;
    for target in [["--store", &url], ["--admin", &admin]] {
        let well = folder.run(&[&["doctor", "--for", "10ms"][..], &target].concat()).ok();
        assert!(well.ends_with(" s: nothing is wrong\n"), "{well}");
    }
    server.stop();
}

#[tokio::test]
async fn work_that_nobody_does_in_the_background_is_told_of_although_the_look_does_it() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let url = cluster.url(OWNER, "test", &database.name);
    let folder = Folder::new();
    folder.run(&["queue", "create", "emails", "--store", &url]).ok();
    folder.run(&["send", "emails", "hello", "--store", &url]).ok();
    // Its lease ended an hour ago.
    folder.run(&["receive", "emails", "--lease", "1h", "--store", &url]).ok();
    let late = "UPDATE slipring.state SET lapse_ms = lapse_ms - 7200000 WHERE lapse_ms IS NOT NULL";
    run(&cluster.client(&database).await, late).await;
    let found = folder.run(&["doctor", "--for", "10ms", "--store", &url]);
    let said = found.stdout();
    let begin = "wrong: Work in the background is overdue in queue emails: delays or leases ended \
                 up to 1h";
    assert!(found.code() == 3 && said.starts_with(begin), "{found:?}");
}
