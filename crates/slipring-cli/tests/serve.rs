//! `slipring serve` from the first line to the exit, with the real binary.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::net::TcpListener;
use std::time::Duration;

use binary::{Client, Folder, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn the_first_line_tells_what_listens_where_and_what_is_stored() {
    let folder = Folder::new();
    let server = folder.serve(&["--store", "sqlite:kept.db"]);
    let line = &server.first_line;
    assert!(line.starts_with("slipring is ready: SQS on http://127.0.0.1:"), "{line}");
    assert!(line.ends_with("storing in kept.db (durability full)\n"), "{line}");
    assert!(!line.contains(":0,"), "{line}");
    assert!(server.client().ask("put 0 0 60 1\r\nx\r\n").starts_with("INSERTED"));
    assert!(folder.path().join("kept.db").exists());
    server.stop();
    let memory = folder.serve(&["--store", "memory:"]);
    assert!(memory.first_line.contains("storing in memory"), "{}", memory.first_line);
    memory.stop();
}

#[test]
fn a_busy_port_is_an_error_that_names_port_and_flag() {
    let folder = Folder::new();
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    for flag in ["--sqs", "--beanstalkd", "--admin"] {
        let mut arguments = vec!["serve"];
        for other in ["--sqs", "--beanstalkd", "--admin"] {
            arguments.extend([other, if other == flag { &address } else { "off" }]);
        }
        let done = folder.run(&arguments);
        assert_eq!((done.code(), done.stdout().as_str()), (1, ""));
        let text = format!("{flag} {address}: address in use; stop the other program or choose");
        assert!(done.stderr().contains(&text), "{}", done.stderr());
        // Nothing was touched before the ports were had.
        assert!(!folder.path().join("slipring.db").exists());
    }
}

#[test]
fn an_address_others_can_reach_needs_a_word_of_consent() {
    let folder = Folder::new();
    for (flag, remedy) in
        [("--sqs", "--insecure"), ("--beanstalkd", "--insecure"), ("--admin", "--admin-token")]
    {
        let mut arguments = vec!["serve", "--store", "memory:"];
        for other in ["--sqs", "--beanstalkd", "--admin"] {
            arguments.extend([other, if other == flag { "0.0.0.0:0" } else { "off" }]);
        }
        let done = folder.run(&arguments);
        assert_eq!(done.code(), 2);
        assert!(done.stderr().contains(remedy), "{}", done.stderr());
        let insecure = [&arguments[..], &["--insecure"]].concat();
        folder.start(&insecure).stop();
    }
    let mut token = vec!["serve", "--store", "memory:", "--sqs", "off", "--beanstalkd", "off"];
    token.extend(["--admin", "0.0.0.0:0", "--admin-token", "secret-of-16-characters"]);
    folder.start(&token).stop();
}

#[test]
fn sigterm_sigint_and_sighup_end_waiting_receives_and_exit_with_0() {
    let folder = Folder::new();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let server = folder.serve(&[]);
        let mut waiting: Vec<Client> = (0..20).map(|_| server.client()).collect();
        for client in &mut waiting {
            client.send("reserve\r\n");
        }
        let mut asking = server.client();
        until("all wait", || asking.stat("current-waiting") == "20");
        server.signal(signal);
        let (status, _) = server.ended(Duration::from_secs(5));
        assert_eq!(status.code(), Some(0), "{}", folder.log());
        assert!(folder.log().contains("stopped; the store is closed"), "{}", folder.log());
    }
}

#[test]
fn a_hang_up_that_is_ignored_at_the_start_stays_so() {
    let folder = Folder::new();
    let listen = "--sqs off --beanstalkd 127.0.0.1:0 --admin off";
    let text = format!("trap '' HUP && exec \"$0\" serve --store memory: {listen}");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &text, env!("CARGO_BIN_EXE_slipring")]).current_dir(folder.path());
    let server = folder.start_command(command);
    server.signal(Signal::SIGHUP);
    server.stop();
    assert!(!folder.log().contains("SIGHUP"), "{}", folder.log());
}

#[test]
fn a_server_that_waits_for_its_store_ends_with_0_when_it_is_told_to() {
    let folder = Folder::new();
    // A database that takes connections and says nothing.
    let database = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("postgres://me@{}/q?sslmode=disable", database.local_addr().unwrap());
    let listen = ["--sqs", "off", "--beanstalkd", "127.0.0.1:0", "--admin", "off"];
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let mut command = folder.command(&[&["serve", "--store", &store][..], &listen].concat());
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        let (_connection, _) = database.accept().unwrap();
        let pid = Pid::from_raw(child.id().try_into().unwrap());
        kill(pid, Signal::SIGUSR1).unwrap();
        kill(pid, signal).unwrap();
        until("it has ended", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn clients_in_the_middle_of_a_request_do_not_hold_up_the_exit() {
    let folder = Folder::new();
    let server = folder.serve(&[]);
    let mut put = server.client();
    put.send("put 0 0 60 100\r\nhalf of the jo");
    let mut http = Client::connect(&server.admin());
    http.send("POST /v1/queues HTTP/1.1\r\nhost: localhost\r\n");
    http.send("content-type: application/json\r\ncontent-length: 100\r\n\r\n{\"na");
    let mut asking = server.client();
    until("they are here", || asking.stat("current-connections") == "2");
    server.stop();
    let server = folder.serve(&[]);
    assert_eq!(server.client().stat("current-jobs-ready"), "0");
    server.stop();
}

#[test]
fn messages_survive_kill_9_and_a_restart() {
    // S1.1
    let folder = Folder::new();
    let server = folder.serve(&[]);
    let mut client = server.client();
    for id in 1..=100 {
        assert_eq!(client.ask("put 0 0 60 1\r\nx\r\n"), format!("INSERTED {id}"));
    }
    server.signal(Signal::SIGKILL);
    let (status, _) = server.ended(Duration::from_secs(5));
    assert_eq!(status.code(), None);
    let server = folder.serve(&[]);
    let mut client = server.client();
    assert_eq!(client.stat("current-jobs-ready"), "100");
    assert_eq!(client.ask("reserve\r\n"), "RESERVED 1 1");
    server.stop();
}

#[test]
fn sigusr1_starts_drain_mode() {
    let folder = Folder::new();
    let server = folder.serve(&["--store", "memory:"]);
    let mut client = server.client();
    assert_eq!(client.ask("put 0 0 60 1\r\nx\r\n"), "INSERTED 1");
    server.signal(Signal::SIGUSR1);
    until("it drains", || client.stat("draining") == "true");
    assert_eq!(client.ask("put 0 0 60 1\r\nx\r\n"), "DRAINING");
    assert_eq!(client.ask("reserve\r\n"), "RESERVED 1 1");
    server.stop();
}

#[test]
fn a_log_in_json_is_one_object_per_line() {
    let folder = Folder::new();
    folder.serve(&["--store", "memory:", "--log-format", "json"]).stop();
    let log = folder.log();
    assert!(log.lines().count() >= 3, "{log}");
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = Folder::new();
    let junk = "no database, but quite long enough to be looked at as one. ".repeat(100);
    folder.write("slipring.db", &junk);
    let listen = ["--sqs", "off", "--beanstalkd", "127.0.0.1:0", "--admin", "off"];
    let done = folder.run(&[&["serve"][..], &listen[..]].concat());
    assert_eq!((done.code(), done.stdout().as_str()), (1, ""));
    assert!(done.stderr().contains("slipring.db"), "{}", done.stderr());
    assert_eq!(std::fs::read_to_string(folder.path().join("slipring.db")).unwrap(), junk);
}
