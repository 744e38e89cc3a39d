//! The queue verbs, against a server and straight on a file.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::io::Write;
use std::process::Stdio;

use binary::{Done, Folder};
use serde_json::{Value, json};
use slipring_testbed::{Cluster, OWNER};

/// Runs verbs with the same target.
struct Target<'a> {
    folder: &'a Folder,
    flags: Vec<String>,
}

impl Target<'_> {
    fn run(&self, arguments: &[&str]) -> Done {
        self.folder.run(&self.with_flags(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).json()
    }

    fn with_flags<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        arguments.iter().copied().chain(self.flags.iter().map(String::as_str)).collect()
    }
}

/// A day of work with every verb.
fn every_verb_works(target: &Target<'_>) {
    queues_are_made_and_changed(target);
    messages_go_through(target);
    long_work_says_how_much_it_did(target);
    let refused = target.run(&["queue", "show", "nobody"]);
    assert_eq!((refused.code(), refused.stdout().as_str()), (1, ""));
    assert!(refused.stderr().contains("queue nobody does not exist"), "{}", refused.stderr());
}

fn queues_are_made_and_changed(target: &Target<'_>) {
    assert_eq!(target.run(&["queue", "create", "dead"]).code(), 0);
    let made = target.json(&[
        "queue",
        "create",
        "emails",
        "--max-attempts=1",
        "--dead-letter=dead",
        "--visibility-timeout=1m 30s",
        "--backoff=exponential:1s:1h",
        "--retention=4d",
    ]);
    let settings = &made["settings"];
    assert_eq!((&settings["max_attempts"], &settings["dead_letter"]), (&json!(1), &json!("dead")));
    assert_eq!(settings["visibility_timeout_ms"], 90_000);
    assert_eq!(settings["retention_ms"], 4 * 86_400_000_u64);
    assert_eq!(settings["backoff"]["max_ms"], 3_600_000);
    let again = target.json(&["queue", "create", "emails"]);
    assert_eq!(again["settings"], *settings, "it is accepted as it is");
    let other = target.run(&["queue", "create", "emails", "--max-attempts=2"]);
    assert_eq!(other.code(), 1);
    assert!(other.stderr().contains("max_attempts, retention_ms"), "{}", other.stderr());
    assert_eq!(target.json(&["queue", "create", "orders.fifo"])["settings"]["fifo"], true);
    assert_eq!(target.run(&["queue", "delete", "orders.fifo"]).ok(), "orders.fifo deleted\n");
    let set = target.json(&["queue", "set", "emails", "--retention=none", "--backoff=none"]);
    assert_eq!(set["settings"]["retention_ms"], Value::Null);
    assert_eq!(set["settings"]["max_attempts"], 1);
    let paused = target.json(&["queue", "pause", "emails"]);
    assert_eq!(paused["settings"]["paused"], true);
    assert!(target.run(&["queue", "ls"]).ok().contains("paused"));
    target.run(&["queue", "resume", "emails"]).ok();
    target.run(&["queue", "pause", "emails", "--for", "1h"]).ok();
    assert!(target.run(&["queue", "ls"]).ok().contains("paused until 20"));
    let resumed = target.json(&["queue", "resume", "emails"]);
    assert_eq!(resumed["settings"]["paused"], false);
    let shown = target.run(&["queue", "show", "emails"]).ok();
    assert!(shown.contains("visibility timeout") && shown.contains("1m 30s"), "{shown}");
    let listed = target.json(&["queue", "ls", "em"]);
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["name"]), (1, &json!("emails")));
}

/// What a look by group or text says that found none, beside one message.
const NONE: &str = "no messages among the first 1\n";

fn messages_go_through(target: &Target<'_>) {
    let sent = target.json(&["send", "emails", "hello", "--header", "to=a=b", "--priority", "5"]);
    let id = sent["sent"][0]["id"].clone();
    let peeked = target.json(&["peek", "emails", "--state", "ready"]);
    assert_eq!(peeked["messages"][0]["id"], id);
    assert!(target.run(&["peek", "emails"]).ok().contains("hello"));
    assert!(target.run(&["peek", "emails", "--text", "ell"]).ok().contains("hello"));
    assert_eq!(target.run(&["peek", "emails", "--text", "a & b"]).ok(), NONE);
    assert_eq!(target.run(&["peek", "emails", "--group", "g"]).ok(), NONE);
    let received = target.json(&["receive", "emails", "--wait", "1s", "--lease", "10m"]);
    let one = &received["deliveries"][0];
    assert_eq!((&one["body"], &one["priority"]), (&json!("hello"), &json!(5)));
    assert_eq!(one["headers"], json!({ "to": "a=b" }));
    let receipt = one["receipt"].as_str().unwrap();
    assert_eq!(target.run(&["ack", receipt]).ok(), "1 messages acked\n");
    let again = target.run(&["ack", receipt]);
    assert_eq!(again.code(), 1);
    messages_are_given_back_and_held(target);
    assert!(again.stderr().contains("not in the queue any more"), "{}", again.stderr());
    assert_eq!(target.run(&["receive", "emails"]).ok(), "no messages\n");
    let binary = target.folder.run_with(&target.with_flags(&["send", "emails"]), &[0, 159, 255]);
    binary.ok();
    let received = target.json(&["receive", "emails", "--ack"]);
    assert_eq!(received["deliveries"][0]["body_base64"], "AJ//");
    let later = target.json(&["send", "emails", "later", "--delay", "1h"]);
    let later = later["sent"][0]["id"].to_string();
    assert_eq!(target.run(&["kick", "emails"]).ok(), "1 messages are ready now\n");
    assert_eq!(target.run(&["cancel", &later]).ok(), format!("message {later} cancelled\n"));
    assert_eq!(target.run(&["cancel", &later]).code(), 1);
}

fn messages_are_given_back_and_held(target: &Target<'_>) {
    let from_stdin = target.with_flags(&["send", "emails", "-"]);
    let id = target.folder.run_with(&from_stdin, b"from stdin").ok().trim().to_owned();
    let receive = || {
        let received = target.json(&["receive", "emails"]);
        received["deliveries"][0]["receipt"].as_str().unwrap().to_owned()
    };
    let receipt = receive();
    let shown = target.run(&["show", &id]).ok();
    assert!(shown.contains("from stdin") && shown.contains("leased"), "{shown}");
    let extended = target.run(&["extend", &receipt, "--lease", "2h"]);
    assert_eq!(extended.ok(), "1 leases prolonged\n");
    let back = target.run(&["nack", &receipt, "--delay", "1h", "--reason", "no such host"]);
    assert_eq!(back.ok(), "1 messages given back\n");
    let failed = target.json(&["show", &id])["failures"][0].clone();
    assert_eq!((&failed["attempt"], &failed["ended_by"]), (&json!(1), &json!("nack")));
    let shown = target.run(&["show", &id]).ok();
    assert!(shown.contains("failed attempt 1") && shown.contains("nack: no such host"), "{shown}");
    assert!(target.run(&["peek", "dead"]).ok().contains("no such host"));
    assert_eq!(target.run(&["nack", &receipt]).code(), 1);
    assert_eq!(target.json(&["show", &id])["queue"], "dead", "its only attempt failed");
    assert_eq!(target.run(&["cancel", &id]).ok(), format!("message {id} cancelled\n"));
    let none = target.run(&["show", &id]);
    assert_eq!((none.code(), none.stdout().as_str()), (1, ""));
}

fn long_work_says_how_much_it_did(target: &Target<'_>) {
    let lines: String = (0..2500).map(|n| format!("message {n}\n")).collect();
    let send = target.with_flags(&["send", "emails", "--lines"]);
    assert_eq!(target.folder.run_with(&send, lines.as_bytes()).ok(), "2500 messages sent\n");
    chosen_messages_are_redriven(target);
    let moved = target.run(&["redrive", "emails", "--to", "dead", "--max", "2000"]).ok();
    assert_eq!(moved, "2000 messages moved from emails\n");
    assert_eq!(target.json(&["queue", "purge", "dead"])["purged"], 2000);
    assert_eq!(target.json(&["queue", "show", "emails"])["stats"]["ready"], 500);
    assert_eq!(target.run(&["queue", "delete", "emails"]).ok(), "emails deleted\n");
    assert_eq!(target.json(&["queue", "ls"])[0]["name"], "dead");
    let waits = target.json(&["waits"]);
    let names = waits["waits"].as_array().unwrap().iter().map(|wait| wait["name"].clone());
    assert!(names.into_iter().any(|name| name == "send_turn"), "{waits}");
}

/// Messages are chosen on the command line and by stdin; all of them end where they were.
fn chosen_messages_are_redriven(target: &Target<'_>) {
    let listed = target.json(&["peek", "emails", "--max", "3"]);
    let ids = listed["messages"].as_array().unwrap().iter().map(|one| one["id"].to_string());
    let ids: Vec<String> = ids.collect();
    let moved = target.run(&["redrive", "emails", "--to", "dead", "--id", &ids[2]]);
    assert_eq!(moved.ok(), "1 messages moved from emails\n");
    let both = format!("{},{}", ids[0], ids[2]);
    let part = target.run(&["redrive", "emails", "--to", "dead", "--id", &both]);
    assert_eq!((part.code(), part.stdout()), (1, "1 messages moved from emails\n".to_owned()));
    assert!(part.stderr().contains("1 of 2 messages were not moved"), "{}", part.stderr());
    let back = target.with_flags(&["redrive", "dead", "--to", "emails", "--id", "-", "--json"]);
    let lines = format!("{}\n\n {}\n", ids[0], ids[2]);
    let back = target.folder.run_with(&back, lines.as_bytes()).json();
    assert_eq!((&back["moved"], &back["results"][1]["queue"]), (&json!(2), &json!("emails")));
    let homeless = target.json(&["redrive", "emails", "--max", "5"]);
    assert_eq!(homeless, json!({ "moved": 0, "left": 5 }), "none was dead-lettered");
    for bad in ["1x", ""] {
        assert_eq!(target.run(&["redrive", "dead", "--id", bad]).code(), 2, "{bad}");
    }
}

#[test]
fn every_verb_works_against_a_server() {
    let folder = Folder::new();
    let server = folder.serve(&[]);
    let flags = vec!["--admin".to_owned(), server.admin()];
    every_verb_works(&Target { folder: &folder, flags });
    server.stop();
}

#[test]
fn every_verb_works_straight_on_a_file() {
    let folder = Folder::new();
    let flags = vec!["--store".to_owned(), "sqlite:kept.db".to_owned()];
    every_verb_works(&Target { folder: &folder, flags });
}

#[tokio::test]
async fn every_verb_works_straight_on_postgres() {
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let folder = Folder::new();
    let flags = vec!["--store".to_owned(), cluster.url(OWNER, "test", &database.name)];
    folder.run(&["migrate", "--store", &flags[1]]).ok();
    every_verb_works(&Target { folder: &folder, flags });
}

#[test]
fn a_server_and_a_file_that_are_not_there_are_named() {
    let folder = Folder::new();
    let server = folder.run(&["queue", "ls", "--admin", "127.0.0.1:1"]);
    assert_eq!(server.code(), 1);
    assert!(server.stderr().contains("127.0.0.1:1"), "{}", server.stderr());
    assert!(server.stderr().contains("slipring serve"), "{}", server.stderr());
    let file = folder.run(&["queue", "ls", "--store", "sqlite:none.db"]);
    assert_eq!(file.code(), 1);
    assert!(file.stderr().contains("none.db"), "{}", file.stderr());
    assert!(!folder.path().join("none.db").exists());
}

/// Long enough to be taken.
const TOKEN: &str = "secret-of-16-characters";

#[test]
fn the_admin_token_is_needed_and_comes_from_flag_environment_or_file() {
    let folder = Folder::new();
    let server = folder.serve(&["--store", "memory:", "--admin-token", TOKEN]);
    let admin = server.admin();
    let without = folder.run(&["queue", "ls", "--admin", &admin]);
    assert_eq!(without.code(), 1);
    assert!(without.stderr().contains("token"), "{}", without.stderr());
    folder.run(&["queue", "ls", "--admin", &admin, "--admin-token", TOKEN]).ok();
    let mut command = folder.command(&["queue", "ls", "--admin", &admin]);
    assert!(command.env("SLIPRING_ADMIN_TOKEN", TOKEN).output().unwrap().status.success());
    folder.write("slipring.toml", &format!("admin = \"{admin}\"\nadmin_token = \"{TOKEN}\"\n"));
    folder.run(&["queue", "ls"]).ok();
    server.stop();
}

#[test]
fn a_flag_for_a_store_beats_the_server_of_the_environment() {
    let folder = Folder::new();
    let with_env = |admin: &str, arguments: &[&str]| {
        let mut command = folder.command(arguments);
        let output = command.env("SLIPRING_ADMIN", admin).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let create = ["queue", "create", "q", "--store", "sqlite:kept.db"];
    assert_eq!(with_env("127.0.0.1:1", &create), (0, String::new()));
    assert_eq!(with_env("off", &["queue", "ls", "--store", "sqlite:kept.db"]), (0, String::new()));
    let (code, text) = with_env("127.0.0.1:1", &["queue", "ls"]);
    assert!(code == 1 && text.contains("no server answers at 127.0.0.1:1 "), "{text}");
    let (code, text) = with_env("127.0.0.1:1", &["queue", "ls", "--admin", "127.0.0.1:2"]);
    assert!(code == 1 && text.contains("no server answers at 127.0.0.1:2 "), "{text}");
    let both = ["queue", "ls", "--store", "sqlite:kept.db", "--admin", "127.0.0.1:1"];
    let (code, text) = with_env("127.0.0.1:1", &both);
    assert!(code == 2 && text.contains("cannot be used with"), "{text}");
}

#[test]
fn a_server_without_an_admin_listener_is_named_as_such() {
    let folder = Folder::new();
    let told = "the configured server has no admin listener; use --store";
    let output = folder.command(&["queue", "ls"]).env("SLIPRING_ADMIN", "off").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("SLIPRING_ADMIN is off") && text.contains(told), "{text}");
    assert_eq!(output.status.code(), Some(2));
    folder.write("slipring.toml", "admin = \"off\"\n");
    let done = folder.run(&["queue", "ls"]);
    assert!(done.stderr().contains("slipring.toml: admin is off"), "{}", done.stderr());
    assert!(done.stderr().contains(told), "{}", done.stderr());
    assert_eq!(done.code(), 2);
}

#[test]
fn lines_that_stop_half_way_say_where_to_go_on() {
    let folder = Folder::new();
    let flags = vec!["--store".to_owned(), "sqlite:kept.db".to_owned()];
    let target = Target { folder: &folder, flags };
    target.run(&["queue", "create", "q", "--message-bytes-max=100"]).ok();
    let lines: String =
        (0..2500).map(|n| "x".repeat(if n == 1700 { 101 } else { 10 }) + "\n").collect();
    let send = target.with_flags(&["send", "q", "--lines"]);
    let done = target.folder.run_with(&send, lines.as_bytes());
    assert_eq!((done.code(), done.stdout().as_str()), (1, ""));
    let told = "1000 messages were sent before it; go on with line 1001";
    assert!(done.stderr().contains(told), "{}", done.stderr());
    assert_eq!(target.json(&["queue", "show", "q"])["stats"]["ready"], 1000);
}

#[test]
fn one_queue_is_one_queue_for_both_protocols_the_verbs_and_the_metrics() {
    let folder = Folder::new();
    let server = folder.serve(&["--account", "123456789012"]);
    let made = server.sqs("Action=CreateQueue&QueueName=emails");
    assert!(made.contains("/123456789012/emails"), "{made}");
    let url = "http%3A%2F%2Flocalhost%2F123456789012%2Femails";
    server.sqs(&format!("Action=SendMessage&QueueUrl={url}&MessageBody=first"));
    let mut client = server.client();
    assert_eq!(client.ask("use emails\r\n"), "USING emails");
    assert!(client.ask("put 2000 0 60 6\r\nsecond\r\n").starts_with("INSERTED "));
    let target = Target { folder: &folder, flags: vec!["--admin".into(), server.admin()] };
    let peeked = target.json(&["peek", "emails"]);
    assert_eq!(peeked["messages"][0]["body"], "first");
    assert_eq!(peeked["messages"][1]["body"], "second");
    assert_eq!(peeked["messages"][1]["priority"], 2000);
    assert_eq!(client.ask("watch emails\r\n"), "WATCHING 2");
    assert!(client.ask("reserve\r\n").ends_with(" 5"));
    assert_eq!(client.line(), "first");
    let received = server.sqs(&format!("Action=ReceiveMessage&QueueUrl={url}"));
    assert!(received.contains("<Body>second</Body>"), "{received}");
    let mut admin = binary::Client::connect(&server.admin());
    admin.send("GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let metrics = admin.rest();
    for line in [
        "slipring_queue_messages{queue=\"emails\",state=\"leased\"} 2",
        "slipring_commands_total{protocol=\"sqs\",command=\"SendMessage\"} 1",
        "slipring_commands_total{protocol=\"beanstalkd\",command=\"put\"} 1",
        "slipring_connections{protocol=\"beanstalkd\"} 1",
        "slipring_connections{protocol=\"admin\"} 1",
    ] {
        assert!(metrics.lines().any(|given| given == line), "{line} is not in\n{metrics}");
    }
    server.stop();
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = Folder::new();
    folder.run(&["queue", "create", "q", "--store", "sqlite:kept.db"]).ok();
    let mut command = folder.command(&["queue", "show", "q", "--store", "sqlite:kept.db"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn messages_that_nobody_got_to_see_are_not_acked() {
    let folder = Folder::new();
    let flags = vec!["--store".to_owned(), "sqlite:kept.db".to_owned()];
    let target = Target { folder: &folder, flags };
    for (queue, further) in [("table", &["--ack"][..]), ("json", &["--ack", "--json"])] {
        target.run(&["queue", "create", queue]).ok();
        let send = target.with_flags(&["send", queue, "--lines"]);
        folder.run_with(&send, b"one\ntwo\nthree\n").ok();
        let receive = [&["receive", queue, "--max=10"][..], further].concat();
        let mut command = folder.command(&target.with_flags(&receive));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        let told = "the output could not be written; nothing was acked";
        assert!(text.contains(told), "{text}");
        assert_eq!(target.json(&["queue", "show", queue])["stats"]["leased"], 3);
    }
}

/// Runs a verb on a terminal of its own, at which a person types a line.
fn at_a_terminal(folder: &Folder, arguments: &[&str], typed: &str) -> (bool, String) {
    let binary = folder.command(&[]).get_program().to_str().unwrap().to_owned();
    let line = [&[binary.as_str()], arguments].concat().join(" ");
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    script.current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    (ended.status.success(), String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn on_a_terminal_a_purge_and_a_deletion_ask_first() {
    let folder = Folder::new();
    let file = ["--store", "sqlite:queues.db"];
    let run = |verb: &[&str]| folder.run(&[verb, &file].concat()).ok();
    run(&["queue", "create", "q"]);
    run(&["send", "q", "kept"]);
    for (verb, question) in [
        ("purge", "Remove every message of q? [y/N]"),
        ("delete", "Delete q and all that is in it? [y/N]"),
    ] {
        for no in ["\n", "n\n", "yo\n"] {
            let (went, shown) =
                at_a_terminal(&folder, &[&["queue", verb, "q"], &file[..]].concat(), no);
            assert!(!went && shown.contains(question), "{verb} {no:?}: {shown}");
            assert!(shown.contains("nothing was done"), "{shown}");
        }
    }
    assert!(run(&["peek", "q"]).contains("kept"));
    let purge = [&["queue", "purge", "q"], &file[..]].concat();
    let (went, shown) = at_a_terminal(&folder, &purge, "y\n");
    assert!(went && shown.contains("1 messages purged"), "{shown}");
    let delete = [&["queue", "delete", "q", "--yes"], &file[..]].concat();
    let (went, shown) = at_a_terminal(&folder, &delete, "");
    assert!(went && shown.contains("q deleted") && !shown.contains("[y/N]"), "{shown}");
}
