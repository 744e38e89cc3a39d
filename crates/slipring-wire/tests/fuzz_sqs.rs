//! Hostile bytes: recorded requests with random damage, read, checked and answered.
//!
//! How long it runs and how a failure is played again: `tests/fuzzing/mod.rs`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fuzzing;
mod sqs_transcript;

use fuzzing::Random;
use slipring_wire::sqs::{Action, Limits, Protocol, Request, Response, queue_name};
use sqs_transcript::Sent;

/// What is likely to hit a border.
const TOKENS: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"9223372036854775808",
    b"&",
    b"=",
    b"%",
    b"%00",
    b"%ff",
    b".1.",
    b".0.Name=",
    b".4294967296.Id=x",
    b"Action=SendMessageBatch",
    b"MessageAttribute.1.Value.BinaryValue=",
    b"[[[[[[[[[[[[[[[[",
    b"\"MessageBody\": \"x\"",
];

fn check(sent: &Sent) {
    let _ = queue_name(&sent.path);
    let head = sent.head();
    let protocol = head.protocol();
    match sent.parse() {
        Ok(Request { action, protocol: read }) => {
            assert_eq!(read, protocol);
            assert_eq!(Action::NAMES[action.number()], action.name());
            if let Err(error) = action.check(&Limits::default()) {
                answerable(protocol, &error);
            }
        }
        Err(error) => answerable(protocol, &error),
    }
}

/// An error can be written, and repeats little of what was sent.
fn answerable(protocol: Protocol, error: &slipring_wire::sqs::SqsError) {
    let response = Response::of_error(protocol, error, "id");
    assert!((400..600).contains(&response.status));
    assert!(response.body.len() < 10_000, "{} bytes: {error}", response.body.len());
    let text = std::str::from_utf8(&response.body).unwrap();
    match protocol {
        Protocol::Json => {
            let _: serde_json::Value = serde_json::from_str(text).unwrap();
        }
        Protocol::Query => assert!(!text.contains(|c: char| c < ' ' && c != '\n' && c != '\t')),
    }
}

#[test]
fn no_bytes_upset_the_parser() {
    let seeds: Vec<Sent> =
        sqs_transcript::all().into_iter().flat_map(|(requests, _)| requests).collect();
    fuzzing::fuzz(move |seed| {
        let mut random = Random::new(seed);
        let mut sent = seeds[random.below(seeds.len())].clone();
        random.damage(&mut sent.body, &TOKENS);
        if random.below(8) == 0 {
            let mut query = sent.query.take().unwrap_or_default().into_bytes();
            random.damage(&mut query, &TOKENS);
            sent.query = Some(String::from_utf8_lossy(&query).into_owned());
        }
        if random.below(16) == 0 {
            let mut path = sent.path.into_bytes();
            random.damage(&mut path, &TOKENS);
            sent.path = String::from_utf8_lossy(&path).into_owned();
        }
        let shown = sent.body.escape_ascii().to_string();
        (shown, move || check(&sent))
    });
}
