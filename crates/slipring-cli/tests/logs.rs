//! The log of the real binary: refused calls, requests, libraries, and errors at the start.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use binary::{Done, Folder, Running, until};
use serde_json::Value;

fn serve(folder: &Folder, level: &str) -> Running {
    folder.serve(&["--store", "memory:", "--log", level, "--log-format", "json"])
}

/// The lines with this message.
fn lines(folder: &Folder, message: &str) -> Vec<Value> {
    let log = folder.log();
    // The last line may be on its way.
    let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["message"] == message).collect()
}

fn refused(folder: &Folder) -> Vec<(String, String, String)> {
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let lines = lines(folder, "a call was refused");
    assert!(lines.iter().all(|line| line["level"] == "DEBUG"));
    let short = |line| (text(line, "protocol"), text(line, "code"), text(line, "peer"));
    lines.iter().map(short).collect()
}

fn http(address: &str, line: &str) {
    http_with(address, line, "");
}

/// A request with further headers, each with its line end.
fn http_with(address: &str, line: &str, headers: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
}

#[test]
fn a_refused_call_is_told_at_debug_with_its_code_and_peer() {
    let folder = Folder::new();
    let server = serve(&folder, "debug");
    server.client().ask("nonsense\r\n");
    http(&server.address("SQS on "), "GET /?Action=GetQueueUrl&QueueName=none");
    http(&server.admin(), "GET /v1/queues/none");
    http(&server.admin(), "GET /nowhere");
    let expected = [
        ("beanstalkd", "UNKNOWN_COMMAND"),
        ("sqs", "AWS.SimpleQueueService.NonExistentQueue"),
        ("admin", "queue_not_found"),
        ("admin", "not_found"),
    ];
    let expected = expected.map(|(p, c)| (p.to_owned(), c.to_owned(), "127.0.0.1".to_owned()));
    assert_eq!(refused(&folder), expected);
    assert!(lines(&folder, "a request").is_empty());
    server.stop();
    let quiet = serve(&folder, "info");
    quiet.client().ask("nonsense\r\n");
    assert!(refused(&folder).is_empty());
    quiet.stop();
}

#[test]
fn many_refused_calls_are_some_lines_and_a_count_of_the_rest() {
    let folder = Folder::new();
    let server = serve(&folder, "debug");
    let mut client = server.client();
    client.send(&"nonsense\r\n".repeat(500));
    for _ in 0..500 {
        assert_eq!(client.line(), "UNKNOWN_COMMAND");
    }
    let left_out = || -> u64 {
        let lines = lines(&folder, "more calls were refused");
        lines.iter().map(|line| line["left_out"].as_u64().unwrap()).sum()
    };
    until("the rest is counted", || refused(&folder).len() as u64 + left_out() == 500);
    assert!(refused(&folder).len() <= 100, "{}", refused(&folder).len());
    assert!(!folder.log().contains("\"left_out\":0"), "{}", folder.log());
    server.stop();
}

#[test]
fn requests_are_told_at_trace_and_no_library_is_heard() {
    let folder = Folder::new();
    let server = serve(&folder, "trace");
    let mut client = server.client();
    assert!(client.ask("put 0 0 60 6\r\nsecret\r\n").starts_with("INSERTED"));
    assert!(client.ask("reserve\r\n").starts_with("RESERVED"));
    server.sqs("Action=CreateQueue&QueueName=q");
    http(&server.admin(), "GET /v1/queues");
    let requests = lines(&folder, "a request");
    let named = |key: &str| -> Vec<&str> {
        requests.iter().filter_map(|line| line[key].as_str()).collect()
    };
    assert_eq!(named("command"), ["put", "reserve"]);
    assert_eq!((named("action"), named("path")), (vec!["CreateQueue"], vec!["/v1/queues"]));
    assert!(requests.iter().all(|line| line["level"] == "TRACE" && line["peer"] == "127.0.0.1"));
    let log = folder.log();
    assert!(!log.contains("secret"), "{log}");
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["target"].as_str().unwrap().starts_with("slipring"), "{line}");
    }
    server.stop();
}

#[test]
fn a_wrong_token_by_way_of_a_named_proxy_has_the_address_of_its_client() {
    // S16.3 S16.4
    let folder = Folder::new();
    let token = ["--admin-token", "a-token-of-many-characters"];
    for (proxy, address) in [("127.0.0.1", "203.0.113.9"), ("10.0.0.1", "127.0.0.1")] {
        let further = ["--store", "memory:", "--log-format", "json", "--trusted-proxy", proxy];
        let server = folder.serve(&[&further[..], &token].concat());
        let forwarded = "authorization: Bearer wrong\r\nx-forwarded-for: 203.0.113.9\r\n";
        http_with(&server.admin(), "GET /v1/queues", forwarded);
        let told = lines(&folder, "a wrong admin token");
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["address"], address);
        server.stop();
    }
}

/// The only line of a start that failed, as JSON.
fn error(done: &Done, code: i32) -> String {
    assert_eq!((done.code(), done.stdout().as_str()), (code, ""), "{}", done.stderr());
    let text = done.stderr();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1, "{text}");
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["level"], "ERROR", "{line}");
    assert!(line["timestamp"].is_string(), "{line}");
    line["message"].as_str().unwrap().to_owned()
}

#[test]
fn errors_at_the_start_have_the_format_of_the_log() {
    let folder = Folder::new();
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    folder.write("no.db", &"no database, but long enough to be looked at as one. ".repeat(100));
    folder.write("wrong.toml", "log_format = \"json\"\nsqs = \"nowhere\"\n");
    let off = ["--beanstalkd", "off", "--admin", "off"];
    for (arguments, code, why) in [
        (&["--sqs", &address][..], 1, "address in use"),
        (&["--sqs", "127.0.0.1:0", "--store", "sqlite:no.db", "--log", "off"], 1, "no.db"),
        (&["--sqs", "off"], 2, "every listener is off"),
        (&["--sqs", "nowhere"], 2, "nowhere"),
        (&["--config", "missing.toml"], 2, "missing.toml"),
    ] {
        let json = ["serve", "--log-format", "json"];
        let told = error(&folder.run(&[&json, &off[..], arguments].concat()), code);
        assert!(told.contains(why) && !told.starts_with("error: "), "{told}");
        let human = folder.run(&[&["serve"], &off[..], arguments].concat());
        assert_eq!(human.code(), code);
        assert!(human.stderr().starts_with("error: "), "{}", human.stderr());
    }
    let by_file = folder.run(&["serve", "--config", "wrong.toml"]);
    assert!(error(&by_file, 2).contains("wrong.toml: line 2"), "{}", by_file.stderr());
    let mut by_variable = folder.command(&["serve", "--no-such-flag"]);
    let output = by_variable.env("SLIPRING_LOG_FORMAT", "json").output().unwrap();
    let line: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert!(line["message"].as_str().unwrap().contains("--no-such-flag"), "{line}");
}

#[test]
fn a_stderr_that_cannot_be_written_stops_neither_a_server_nor_the_exit_code_of_an_error() {
    let folder = Folder::new();
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let listen = ["--sqs", "off", "--beanstalkd", "127.0.0.1:0", "--admin", "off"];
    for format in ["human", "json"] {
        let serve = [&["serve", "--store", "memory:", "--log-format", format][..], &listen];
        let mut command = folder.command(&serve.concat());
        command.stderr(full());
        let server = folder.start_command_with(command);
        assert!(server.client().ask("put 0 0 60 1\r\nx\r\n").starts_with("INSERTED"));
        server.stop();
        let off = ["--sqs", "off", "--beanstalkd", "off", "--admin", "off"];
        let refused = [&["serve", "--log-format", format][..], &off].concat();
        let unknown = ["serve", "--log-format", format, "--no-such-flag"];
        let hidden = ["serve", "--log-format", format, "postgres://me:SECRET@db/q"];
        for arguments in [&refused[..], &unknown, &hidden] {
            let status = folder.command(arguments).stderr(full()).status().unwrap();
            assert_eq!(status.code(), Some(2), "{arguments:?}");
        }
    }
    let failed =
        folder.command(&["queue", "ls", "--store", "sqlite:none.db"]).stderr(full()).status();
    assert_eq!(failed.unwrap().code(), Some(1));
}
