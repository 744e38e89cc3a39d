//! `slipring top`, against a server and straight on a store.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use binary::Folder;
use serde_json::{Value, json};

#[test]
fn what_goes_through_a_server_is_shown_as_rates_until_nobody_reads() {
    let folder = Folder::new();
    let server = folder.serve(&["--store", "sqlite:slipring.db"]);
    let admin = server.admin();
    folder.run(&["queue", "create", "emails", "--admin", &admin]).ok();
    let mut command = folder.command(&["top", "--json", "--every", "20ms", "--admin", &admin]);
    let mut top = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines();
    let mut busy = || {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!((&line["queues"], &line["all_queues"]), (&json!(1), &json!(true)));
        folder.run(&["send", "emails", "hello", "--admin", &admin]).ok();
        let queue = line["busiest"][0].clone();
        assert_eq!(queue["name"], "emails");
        let classes = line["waits"].as_array().unwrap().iter().map(|wait| wait["class"].clone());
        (queue["rates"]["sent"].as_f64().unwrap() > 0.0
            && queue["holds"]["ready"].as_u64().unwrap() > 0
            && classes.collect::<Vec<_>>().contains(&json!("sqlite.commit")))
        .then_some(line["rates"].clone())
    };
    let rates = (0..500).find_map(|_| busy()).unwrap();
    assert_eq!((&rates["received"], &rates["acked"]), (&json!(0.0), &json!(0.0)));
    drop(lines);
    assert!(top.wait().unwrap().success(), "a reader that has seen enough is no failure");
    server.stop();
    let refused = folder.run(&["top", "--admin", &admin]);
    assert_eq!((refused.code(), refused.stdout().as_str()), (1, ""), "no server answers");
}

#[test]
fn straight_on_a_store_there_are_no_rates_and_it_ends_after_its_screens() {
    let folder = Folder::new();
    let store = ["--store", "sqlite:slipring.db"];
    let verb = |words: &[&str]| folder.run(&[words, &store].concat());
    verb(&["queue", "create", "emails"]).ok();
    verb(&["send", "emails", "hello"]).ok();
    verb(&["queue", "pause", "emails"]).ok();
    let shown = verb(&["top", "--every", "10ms", "--screens", "2", "--queues", "1"]).ok();
    let lines: Vec<&str> = shown.lines().map(str::trim).collect();
    assert_eq!(lines.len(), 10, "{shown}");
    let (first, second) = lines.split_at(5);
    for screen in [first, second] {
        assert!(screen[0].ends_with("s  1 queues  1 ready"), "{shown}");
        assert!(screen[2].starts_with("emails (paused)"), "{shown}");
        // Behind the name in two words, six figures, and the unit of the age.
        let rates: Vec<&str> = screen[2].split_whitespace().skip(9).collect();
        assert_eq!(rates, ["?"; 4], "{shown}");
        assert!(screen[3].starts_with("warning: Queue emails is paused"), "{shown}");
    }
}
