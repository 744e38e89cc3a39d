//! The protocol of drivers, spoken by this program as any other driver has to speak it.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A driver, with the lines that it says.
struct Driver {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Driver {
    fn start(target: &str) -> Driver {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slipring-lab"));
        command.args(["driver", "--target", target]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Driver { child, lines }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    fn give(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends its input; answers what it says then, and whether it ended well.
    fn end(mut self) -> (Vec<Value>, bool) {
        drop(self.child.stdin.take());
        let rest = self.lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        (rest, self.child.wait().unwrap().success())
    }
}

fn work(name: &str) -> Value {
    json!({
        "work": name, "target": "memory", "callers": 2, "batch": 5, "seconds": 0.1, "warmup": 0.01,
        "windows": 2, "rate": 500.0, "messages": 100, "queues": 1, "drain": true,
    })
}

#[test]
fn a_driver_does_one_work_after_the_other_and_tells_its_waits_in_the_end() {
    let mut driver = Driver::start("memory");
    let ready = driver.next();
    assert_eq!(ready["ready"]["durability"], "none", "{ready}");
    for (name, latency) in [("cycle", "cycle"), ("paced", "end_to_end")] {
        driver.give(&work(name).to_string());
        let windows = if name == "paced" { 2 } else { 0 };
        for _ in 0..windows {
            let window = driver.next();
            assert!(window["window"]["stall_max_ms"].as_f64().unwrap() > 0.0, "{window}");
        }
        let done = driver.next();
        let answer = &done["done"];
        assert!(answer["sent"].as_u64().unwrap() > 0, "{done}");
        assert_eq!(answer["sent"], answer["received"], "{done}");
        assert_eq!(answer["missing"], 0);
        assert!(answer["latencies"][latency].is_array(), "{done}");
        assert!(answer["load"]["cpu_seconds"].is_number());
    }
    let (rest, well) = driver.end();
    assert!(well);
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(rest[0]["waits"].as_array().unwrap().iter().any(|wait| wait["name"] == "send_turn"));
}

#[test]
fn work_that_fails_is_answered_with_the_reason() {
    let mut driver = Driver::start("memory");
    driver.next();
    driver.give(&work("transactions").to_string());
    let failed = driver.next();
    assert!(failed["failed"].as_str().unwrap().contains("transaction"), "{failed}");
    driver.end();
}

#[test]
fn a_line_that_is_no_work_ends_the_driver() {
    let mut driver = Driver::start("memory");
    driver.next();
    driver.give("{\"work\":\"unheard\"}");
    let (rest, well) = driver.end();
    assert!(rest.is_empty() && !well, "{rest:?}");
}

#[test]
fn a_target_inside_a_database_needs_one() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipring-lab"));
    command.args(["workload", "cycle", "--target", "sql"]).env_remove("SLIPRING_LAB_POSTGRES");
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(errors.contains("Sql needs a database"), "{errors}");
}
