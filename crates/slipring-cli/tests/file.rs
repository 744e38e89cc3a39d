//! What becomes of the file under a running server: removed, limited in size, compacted; with the
//! real binary.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use binary::{Client, Folder, Running, until};
use slipring::clock::monotonic_ns;

/// What the admin API answers: the status, and the body.
fn get(server: &Running, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.admin()).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn put(client: &mut Client, body: &str) -> String {
    client.ask(&format!("put 0 0 60 {}\r\n{body}\r\n", body.len()))
}

#[test]
fn a_server_whose_file_was_removed_is_not_ready_and_takes_no_messages() {
    // S1.6
    let folder = Folder::new();
    let server = folder.serve(&[]);
    let mut client = server.client();
    assert_eq!(put(&mut client, "a"), "INSERTED 1");
    assert_eq!(get(&server, "/readyz").0, 200);
    let (file, away) = (folder.path().join("slipring.db"), folder.path().join("away.db"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::rename(&file, &away).unwrap();
    let since_ns = monotonic_ns();
    until("it is not ready", || get(&server, "/readyz").0 == 503);
    let took = Duration::from_nanos(monotonic_ns() - since_ns);
    assert!(took < Duration::from_secs(2), "{took:?}");
    let (_, told) = get(&server, "/readyz");
    assert!(told.contains("was removed or replaced"), "{told}");
    let refused = put(&mut client, "b");
    assert!(!refused.starts_with("INSERTED"), "{refused}");
    std::fs::rename(&away, &file).unwrap();
    until("it is ready again", || get(&server, "/readyz").0 == 200);
    assert!(put(&mut client, "c").starts_with("INSERTED"));
    server.stop();
}

#[test]
fn a_limit_on_the_size_of_files_is_a_full_store_and_no_death() {
    const LIMIT_BYTES: u64 = 4 << 20;
    let folder = Folder::new();
    // A shell sets the limit and becomes the server.
    let listen = "--sqs off --beanstalkd 127.0.0.1:0 --admin 127.0.0.1:0";
    let text = format!("ulimit -f {} && exec \"$0\" serve {listen}", LIMIT_BYTES / 512);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &text, env!("CARGO_BIN_EXE_slipring")]);
    command.current_dir(folder.path()).stdin(Stdio::null());
    let server = folder.start_command(command);
    let mut client = server.client();
    let body = "x".repeat(50_000);
    let mut taken = 0;
    let refused = loop {
        let answer = put(&mut client, &body);
        if !answer.starts_with("INSERTED") {
            break answer;
        }
        taken += 1;
    };
    assert_eq!(refused, "OUT_OF_MEMORY");
    assert!(taken > 20, "{taken}");
    let (status, told) = get(&server, "/readyz");
    assert!(status == 200 || told.contains("storage_full"), "{told}");
    // What is there is handed out and acked, which makes room.
    for _ in 0..taken {
        let job = client.ask("reserve-with-timeout 5\r\n");
        let id = job.strip_prefix("RESERVED ").unwrap_or_else(|| panic!("{job}"));
        let id = id.split(' ').next().unwrap().to_owned();
        assert_eq!(client.line().len(), body.len());
        assert_eq!(client.ask(&format!("delete {id}\r\n")), "DELETED");
    }
    until("there is room again", || put(&mut client, &body).starts_with("INSERTED"));
    server.stop();
}

#[test]
fn compact_makes_a_file_small_that_no_server_has_open() {
    let folder = Folder::new();
    let compact = ["compact", "--store", "sqlite:slipring.db"];
    let missing = folder.run(&compact);
    assert_eq!(missing.code(), 1);
    let server = folder.serve(&[]);
    let mut client = server.client();
    let body = "x".repeat(50_000);
    for _ in 0..100 {
        assert!(put(&mut client, &body).starts_with("INSERTED"));
    }
    assert!(put(&mut client, "kept").starts_with("INSERTED"));
    for id in 1..=100 {
        assert_eq!(client.ask(&format!("delete {id}\r\n")), "DELETED");
    }
    let refused = folder.run(&compact);
    assert_eq!((refused.code(), refused.stdout().as_str()), (1, ""));
    assert!(refused.stderr().contains("has the file open"), "{}", refused.stderr());
    server.stop();
    let done = folder.run(&[&compact[..], &["--json"]].concat()).json();
    let bytes = |key: &str| done[key].as_u64().unwrap();
    assert!(bytes("before_bytes") > 4_000_000 && bytes("after_bytes") < 500_000, "{done}");
    let server = folder.serve(&[]);
    assert_eq!(server.client().ask("reserve\r\n"), "RESERVED 101 4");
    server.stop();
    let postgres = folder.run(&["compact", "--store", "postgres://a@b/c"]);
    assert!(postgres.ok().contains("nothing to compact"));
}

#[test]
fn a_full_disk_makes_the_server_not_ready() {
    // A limit that is set while the server runs stands for the disk: nothing was bounded by it
    // when the file was opened.
    let folder = Folder::new();
    let server = folder.serve(&[]);
    let mut client = server.client();
    assert!(put(&mut client, "a").starts_with("INSERTED"));
    assert_eq!(get(&server, "/readyz").0, 200);
    server.limit_files(1 << 16);
    until("it is not ready", || get(&server, "/readyz").0 == 503);
    let (_, told) = get(&server, "/readyz");
    assert!(told.contains("storage_full") && told.contains("ulimit"), "{told}");
    assert_eq!(put(&mut client, "b"), "OUT_OF_MEMORY");
    // The figures are there all the same.
    let (_, figures) = get(&server, "/metrics");
    assert!(figures.contains("\nslipring_store_up 1\n"), "{figures}");
    assert!(figures.contains("\nslipring_store_disk_free_bytes "), "{figures}");
    let ready = "\nslipring_queue_messages{queue=\"default\",state=\"ready\"} 1\n";
    assert!(figures.contains(ready), "{figures}");
    server.limit_files(1 << 30);
    until("it is ready again", || get(&server, "/readyz").0 == 200);
    assert!(put(&mut client, "c").starts_with("INSERTED"));
    server.stop();
}
