//! What verbs say of messages that are gone, or may be: a failure half way, an ack after printing.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use binary::Folder;

/// A server that answers its first call with this text and closes; its address.
fn answering(text: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line).unwrap() > 2 {
            if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap();
            }
            line.clear();
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        reader.into_inner().write_all(text.as_bytes()).unwrap();
    });
    address
}

fn with_body(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn failure(retry: &str) -> String {
    format!(
        "{{\"kind\":\"storage_unavailable\",\"message\":\"away\",\"operation\":\"send\",\
         \"context\":{{}},\"retry\":\"{retry}\"}}"
    )
}

#[test]
fn lines_whose_fate_is_not_known_are_named() {
    let folder = Folder::new();
    let unknown = "0 messages were sent before it; whether lines 1 to 3 were sent is not known: \
                   look into the queue, and go on with line 1 or 4";
    let known = "0 messages were sent before it; go on with line 1";
    let cut = with_body("200 OK", "{\"sent\":[]}").replace("length: 11", "length: 99");
    for (answer, told) in [
        (String::new(), unknown),
        (cut, unknown),
        (with_body("503 Service Unavailable", &failure("unknown")), unknown),
        (with_body("502 Bad Gateway", "no"), unknown),
        (with_body("503 Service Unavailable", &failure("later")), known),
        (with_body("404 Not Found", "no"), known),
    ] {
        let address = answering(answer.clone());
        let send = ["send", "q", "--lines", "--admin", &address];
        let done = folder.run_with(&send, b"a\nb\nc\n");
        assert_eq!(done.code(), 1, "{answer}");
        assert!(done.stderr().trim_end().ends_with(told), "{answer}: {}", done.stderr());
    }
    // Nobody was asked.
    let done = folder.run_with(&["send", "q", "--lines", "--admin", "127.0.0.1:1"], b"a\n");
    assert!(done.stderr().trim_end().ends_with(known), "{}", done.stderr());
}

#[test]
fn what_is_acked_is_printed_whole() {
    let folder = Folder::new();
    let store = ["--store", "sqlite:s.db"];
    folder.run(&[&["queue", "create", "q"][..], &store].concat()).ok();
    let text = "x".repeat(600);
    let header = format!("{}={text}", "n".repeat(70));
    let send = ["send", "q", "body", "--header", &header];
    folder.run(&[&send[..], &store].concat()).ok();
    let shown = format!("{}: {text}\n", "n".repeat(70));
    let looked_at = folder.run(&[&["receive", "q", "--lease", "0s"][..], &store].concat()).ok();
    assert!(!looked_at.contains(&shown), "{looked_at}");
    let acked = folder.run(&[&["receive", "q", "--wait", "5s", "--ack"][..], &store].concat()).ok();
    assert!(acked.contains(&shown), "{acked}");
}

#[test]
fn a_purge_or_redrive_that_fails_half_way_says_how_much_is_done() {
    let folder = Folder::new();
    let step = "{\"messages\":1000,\"done\":false}\n";
    let error = failure("later");
    let failed = format!("{step}{{\"messages\":2000,\"done\":false,\"error\":{error}}}\n");
    let uncounted = format!("{step}{{\"messages\":0,\"done\":false,\"error\":{error}}}\n");
    for (lines, told) in [
        (uncounted, "away; 1000 messages were done before it"),
        (format!("{step}{{}}\n"), "column 2; 1000 messages were done before it"),
        (failed, "away; 2000 messages were done before it"),
        (step.to_owned(), "the operation was done; 1000 messages were done before it"),
    ] {
        for verb in [&["queue", "purge", "q", "--yes"][..], &["redrive", "q"]] {
            let address = answering(with_body("200 OK", &lines));
            let done = folder.run(&[verb, &["--admin", &address]].concat());
            assert_eq!((done.code(), done.stdout().as_str()), (1, ""), "{lines}");
            assert!(done.stderr().trim_end().ends_with(told), "{lines}: {}", done.stderr());
        }
    }
}
