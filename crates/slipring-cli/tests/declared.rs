//! Queues that the configuration file declares (S14.7), with the real binary.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use binary::{Folder, Running};
use serde_json::Value;

const STORE: [&str; 2] = ["--store", "sqlite:kept.db"];

fn settings(folder: &Folder, server: &Running, queue: &str) -> Value {
    let admin = server.admin();
    let shown = folder.run(&["queue", "show", queue, "--admin", &admin, "--json"]);
    shown.json()["settings"].clone()
}

#[test]
fn declared_queues_are_made_before_the_server_is_ready_and_changed_by_a_later_file() {
    let folder = Folder::new();
    folder.write(
        "slipring.toml",
        "[queues.mail]\nmax_attempts = 5\ndead_letter = \"mail-dead\"\n\
         [queues.mail-dead]\n[queues.\"orders.fifo\"]\nvisibility_timeout_ms = 1000\n",
    );
    let server = folder.serve(&STORE);
    let mail = settings(&folder, &server, "mail");
    assert_eq!((&mail["max_attempts"], &mail["dead_letter"]), (&5.into(), &"mail-dead".into()));
    let orders = settings(&folder, &server, "orders.fifo");
    assert_eq!((&orders["fifo"], &orders["visibility_timeout_ms"]), (&true.into(), &1000.into()));
    // A setting that the file does not name keeps its value; one that it names is set again.
    let admin = server.admin();
    let set = ["queue", "set", "mail", "--max-attempts=7", "--delay=3s", "--admin", &admin];
    folder.run(&set).ok();
    server.stop();
    folder.write("slipring.toml", "[queues.mail]\nmax_attempts = 6\n");
    let server = folder.serve(&STORE);
    let mail = settings(&folder, &server, "mail");
    let seen = (&mail["max_attempts"], &mail["delay_ms"], &mail["dead_letter"]);
    assert_eq!(seen, (&6.into(), &3000.into(), &"mail-dead".into()));
    // A queue that is no longer declared stays.
    assert_eq!(settings(&folder, &server, "orders.fifo")["visibility_timeout_ms"], 1000);
    server.stop();
}

#[test]
fn the_configuration_shows_the_names_of_declared_queues() {
    let folder = Folder::new();
    folder.write("slipring.toml", "[queues.mail]\n[queues.jobs]\ndelay_ms = 1\n");
    let shown = folder.run(&["config", "--json"]).json();
    let row = (&shown["queues"]["value"], &shown["queues"]["source"]);
    assert_eq!(row, (&"jobs, mail".into(), &"file slipring.toml".into()));
}

#[test]
fn a_declaration_that_cannot_hold_is_refused_with_its_queue_and_setting() {
    let folder = Folder::new();
    for (text, names) in [
        ("[queues.mail]\nmax_attemps = 5\n", ["mail", "max_attemps"]),
        ("[queues.mail]\nmax_attempts = \"many\"\n", ["mail", "many"]),
        ("[queues.\"a b\"]\n", ["a b", "queue"]),
        ("[queues.mail]\ndead_letter = \"x\"\n", ["mail", "max_attempts"]),
        (
            "[queues.mail]\nmax_attempts = 1\nvisibility_timeout_ms = 99999999999999\n",
            ["mail", "visibility_timeout"],
        ),
        ("queues = 5\n", ["queues", "slipring.toml"]),
    ] {
        folder.write("slipring.toml", text);
        for verb in ["config", "serve"] {
            let done = folder.run(&[verb]);
            assert_eq!((done.code(), done.stdout().as_str()), (2, ""), "{text}");
            for name in names {
                assert!(done.stderr().contains(name), "{text}: {}", done.stderr());
            }
        }
    }
    assert!(!folder.path().join("slipring.db").exists());
}

#[test]
fn a_declaration_that_the_store_contradicts_ends_the_start_and_changes_nothing() {
    let folder = Folder::new();
    let serve = ["serve", "--sqs", "127.0.0.1:0", "--beanstalkd", "off", "--admin", "off"];
    let serve = [&serve[..], &STORE].concat();
    folder.run(&["queue", "create", "plain", "--store", "sqlite:kept.db"]).ok();
    for (text, names) in [
        ("[queues.a]\n[queues.plain]\nfifo = true\n", ["plain", "fifo"]),
        ("[queues.a]\nmax_attempts = 1\ndead_letter = \"gone\"\n", ["gone", "a"]),
    ] {
        folder.write("slipring.toml", text);
        let done = folder.run(&serve);
        assert_eq!((done.code(), done.stdout().as_str()), (1, ""), "{text}");
        for name in names {
            assert!(done.stderr().contains(name), "{text}: {}", done.stderr());
        }
    }
}
