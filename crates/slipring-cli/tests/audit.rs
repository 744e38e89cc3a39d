//! Administrative acts over every protocol, as the log and the audit file have them.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use binary::{Folder, Running, until};
use serde_json::Value;

const FILE: &str = "acts";
const TOKEN: &str = "a-token-of-many-characters";
const SIGNED: &str = "authorization: AWS4-HMAC-SHA256 \
                      Credential=AKIDEXAMPLE/20260101/us-east-1/sqs/aws4_request, \
                      SignedHeaders=host, Signature=5ecre7\r\n\
                      x-forwarded-for: 203.0.113.9\r\n";

/// The lines of the audit file.
fn acts(folder: &Folder) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What matters of a line: act, outcome, queue, messages.
fn short(line: &Value) -> String {
    let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
    format!("{} {} {} {}", text("act"), text("outcome"), text("queue"), line["messages"])
}

fn shorts(folder: &Folder) -> Vec<String> {
    acts(folder).iter().map(short).collect()
}

/// An SQS action of a signed client behind a proxy; what comes back.
fn sqs(server: &Running, action: &str) -> String {
    let mut stream = TcpStream::connect(server.address("SQS on ")).unwrap();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                content-type: application/x-www-form-urlencoded\r\ncontent-length:";
    write!(stream, "{head} {}\r\n{SIGNED}\r\n{action}", action.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn serve(folder: &Folder, further: &[&str]) -> Running {
    let arguments = ["--store", "memory:", "--audit-file", FILE];
    folder.serve(&[&arguments[..], further].concat())
}

fn of_dead_letters(what: &str) -> String {
    let arn = "arn:aws:sqs:us-east-1:000000000000:dead";
    let policy = format!("{{\"deadLetterTargetArn\":\"{arn}\",\"maxReceiveCount\":1}}");
    match what {
        "policy" => format!("Attribute.1.Name=RedrivePolicy&Attribute.1.Value={policy}"),
        _ => arn.to_owned(),
    }
}

#[test]
fn acts_by_sqs_say_who_from_where_and_how_many() {
    // S16.5
    let folder = Folder::new();
    let server = serve(&folder, &["--trusted-proxy", "127.0.0.1"]);
    let url = |name: &str| format!("QueueUrl=http://localhost/000000000000/{name}");
    let policy = of_dead_letters("policy");
    for action in [
        "Action=CreateQueue&QueueName=dead".to_owned(),
        "Action=CreateQueue&QueueName=q".to_owned(),
        "Action=CreateQueue&QueueName=q".to_owned(),
        format!("Action=SetQueueAttributes&{}&{policy}", url("q")),
        format!("Action=TagQueue&{}&Tag.1.Key=k&Tag.1.Value=v", url("q")),
        format!("Action=SendMessage&{}&MessageBody=one", url("q")),
        format!("Action=SendMessage&{}&MessageBody=two", url("q")),
        format!("Action=PurgeQueue&{}", url("q")),
        format!("Action=SendMessage&{}&MessageBody=three", url("q")),
        format!("Action=DeleteQueue&{}", url("q")),
    ] {
        let answer = sqs(&server, &action);
        assert!(answer.starts_with("HTTP/1.1 200"), "{action}: {answer}");
    }
    let expected = [
        "create done dead null",
        "create done q null",
        "configure done q null",
        "configure done q null",
        "purge started q null",
        "purge done q 2",
        "delete done q 1",
    ];
    assert_eq!(shorts(&folder), expected);
    for act in acts(&folder) {
        assert_eq!(act["protocol"], "sqs");
        assert_eq!(act["peer"], "203.0.113.9");
        assert_eq!(act["access_key"], "AKIDEXAMPLE");
        assert!(act["timestamp"].as_str().unwrap().ends_with('Z'), "{act}");
    }
    let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let log = folder.log();
    assert!(log.contains("act=\"purge\" outcome=\"done\" queue=\"q\" messages=2"), "{log}");
    assert!(!log.contains("5ecre7"), "{log}");
    server.stop();
}

#[test]
fn a_move_task_has_a_line_for_its_start_and_one_for_its_end() {
    // S16.5
    let folder = Folder::new();
    let server = serve(&folder, &[]);
    let policy = of_dead_letters("policy");
    server.sqs("Action=CreateQueue&QueueName=dead");
    server.sqs(&format!("Action=CreateQueue&QueueName=q&{policy}"));
    let arn = of_dead_letters("arn");
    server.sqs(&format!("Action=StartMessageMoveTask&SourceArn={arn}"));
    until("the task has ended", || shorts(&folder).len() == 4);
    assert_eq!(shorts(&folder)[2..], ["redrive started dead null", "redrive done dead 0"]);
    assert_eq!(acts(&folder)[3]["peer"], "127.0.0.1");
    server.stop();
}

#[test]
fn acts_by_beanstalkd_are_pauses_and_kicks_of_many() {
    // S16.5
    let folder = Folder::new();
    let server = serve(&folder, &[]);
    let mut client = server.client();
    for _ in 0..3 {
        assert!(client.ask("put 0 3600 60 1\r\nx\r\n").starts_with("INSERTED"));
    }
    assert_eq!(client.ask("kick 1\r\n"), "KICKED 1");
    assert_eq!(client.ask("kick 10\r\n"), "KICKED 2");
    assert_eq!(client.ask("pause-tube default 60\r\n"), "PAUSED");
    assert_eq!(client.ask("pause-tube default 0\r\n"), "PAUSED");
    let expected = ["kick done default 2", "pause done default null", "resume done default null"];
    assert_eq!(shorts(&folder), expected);
    for act in acts(&folder) {
        assert_eq!(act["protocol"], "beanstalkd");
        assert_eq!(act["peer"], "127.0.0.1");
    }
    server.stop();
}

#[test]
fn acts_by_the_admin_api_name_the_token_and_not_its_text() {
    // S16.3 S16.5
    let folder = Folder::new();
    let server = serve(&folder, &["--admin-token", TOKEN]);
    let (admin, q) = (server.admin(), "q");
    let ask = |verb: &[&str]| {
        let target = ["--admin", &admin, "--admin-token", TOKEN];
        folder.run(&[verb, &target].concat()).ok();
    };
    ask(&["queue", "create", q]);
    ask(&["queue", "create", q]);
    ask(&["queue", "set", q, "--max-attempts", "3"]);
    ask(&["queue", "pause", q]);
    ask(&["queue", "resume", q]);
    ask(&["send", q, "--delay", "1h", "one"]);
    ask(&["send", q, "--delay", "1h", "two"]);
    ask(&["kick", q]);
    ask(&["redrive", q]);
    ask(&["queue", "purge", q, "--yes"]);
    ask(&["queue", "delete", q, "--yes"]);
    until("the last line is there", || shorts(&folder).last().unwrap().starts_with("delete"));
    let expected = [
        "create done q null",
        "configure done q null",
        "pause done q null",
        "resume done q null",
        "kick done q 2",
        "redrive started q null",
        "redrive done q 0",
        "purge started q null",
        "purge done q 2",
        "delete done q 0",
    ];
    assert_eq!(shorts(&folder), expected);
    for act in acts(&folder) {
        assert_eq!(act["protocol"], "admin");
        assert_eq!(act["principal"], "admin_token");
        assert_eq!(act["peer"], "127.0.0.1");
    }
    let said = format!("{}{}", folder.log(), Value::from(acts(&folder)));
    assert!(!said.contains(TOKEN), "{said}");
    server.stop();
}

#[test]
fn verbs_on_a_file_name_the_user_who_runs_them() {
    // S16.5
    let folder = Folder::new();
    let store = ["--store", "sqlite:a.db", "--audit-file", FILE];
    for verb in [&["queue", "create", "q"][..], &["queue", "purge", "q", "--yes"], &["compact"]] {
        folder.run(&[verb, &store].concat()).ok();
    }
    // There is nothing to compact: that it was tried is known all the same.
    let none = ["compact", "--store", "sqlite:none.db", "--audit-file", FILE];
    assert_eq!(folder.run(&none).code(), 1);
    let expected = [
        "create done q null",
        "purge started q null",
        "purge done q 0",
        "compact started - null",
        "compact done - null",
        "compact started - null",
        "compact broken_off - null",
    ];
    assert_eq!(shorts(&folder), expected);
    let me = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap().unwrap().name;
    for act in acts(&folder) {
        assert_eq!(act["protocol"], "command line");
        assert_eq!(act["peer"], Value::Null);
        assert_eq!(act["principal"].as_str(), Some(me.as_str()));
    }
    assert_eq!(acts(&folder)[4]["store"], "sqlite:a.db");
}

#[test]
fn a_full_disk_under_the_audit_file_stops_neither_the_act_nor_the_server() {
    // S16.5
    let folder = Folder::new();
    let server = folder.serve(&["--store", "memory:", "--audit-file", "/dev/full"]);
    server.sqs("Action=CreateQueue&QueueName=q");
    assert!(server.sqs("Action=ListQueues").contains("/q</QueueUrl>"));
    let log = folder.log();
    let error = log.lines().find(|line| line.contains("not in the audit file")).unwrap();
    assert!(error.contains("ERROR") && error.contains("failures=1"), "{error}");
    assert!(log.contains("act=\"create\""), "{log}");
    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut scrape = binary::Client::connect(&server.admin());
    scrape.send(request);
    assert!(scrape.rest().contains("\nslipring_audit_failures_total 1\n"));
    server.stop();
}

#[test]
fn what_the_configuration_file_makes_is_in_the_audit_file() {
    let folder = Folder::new();
    folder.write("slipring.toml", "[queues.mail]\ndelay_ms = 1\n");
    let flags = ["--store", "sqlite:kept.db", "--audit-file", "acts"];
    folder.serve(&flags).stop();
    folder.write("slipring.toml", "[queues.mail]\ndelay_ms = 2\n");
    folder.serve(&flags).stop();
    // Nothing is left to be done.
    folder.serve(&flags).stop();
    let acts = std::fs::read_to_string(folder.path().join("acts")).unwrap();
    let lines: Vec<serde_json::Value> =
        acts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<_> = lines.iter().map(|line| line["act"].as_str().unwrap()).collect();
    assert_eq!(seen, ["create", "configure"], "{acts}");
    assert!(lines.iter().all(|line| line["queue"] == "mail"), "{acts}");
    assert!(lines.iter().all(|line| line["protocol"] == "configuration"), "{acts}");
}

#[test]
fn an_audit_file_that_cannot_be_opened_ends_the_start_before_the_store_is_touched() {
    let folder = Folder::new();
    let listen = ["--sqs", "off", "--beanstalkd", "127.0.0.1:0", "--admin", "off"];
    let arguments = [&["serve", "--audit-file", "no/such/folder/acts"][..], &listen].concat();
    let done = folder.run(&arguments);
    assert_eq!((done.code(), done.stdout().as_str()), (1, ""));
    let error = done.stderr();
    assert!(error.contains("--audit-file no/such/folder/acts") && error.contains("name a file"));
    assert!(!folder.path().join("slipring.db").exists());
}
