//! Hostile bytes: recorded conversations with random damage, in random pieces, to both parsers.
//!
//! How long it runs and how a failure is played again: `tests/fuzzing/mod.rs`.

mod beanstalkd_transcript;
mod fuzzing;

use beanstalkd_transcript::Step;
use bytes::BytesMut;
use fuzzing::Random;
use slipring_wire::beanstalkd::{Command, LINE_BYTES_MAX, Parser, Refusal, Reply, ReplyParser};

/// The largest body in these runs. Small, so that damage often passes it.
const JOB_BYTES_MAX: u32 = 3000;

/// What is likely to hit a border.
const TOKENS: [&[u8]; 24] = [
    b"\r\n",
    b"\r",
    b"\n",
    b"\0",
    b" ",
    b"put ",
    b"put 0 0 1 3000\r\n",
    b"put 0 0 1 3001\r\n",
    b"put 1 2 3 5\r\nhello\r\n",
    b"put 0 0 0 0\r\n\r\n",
    b"reserve-with-timeout ",
    b"reserve",
    b"4294967295",
    b"4294967296",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-",
    b"use ",
    b"stats-tube ",
    b"release 1 2 3",
    b"RESERVED 1 3\r\nabc\r\n",
    b"OK 5\r\n",
    b"INSERTED ",
    b"USING default\r\n",
];

fn pieces<'a>(random: &mut Random, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let longest = 1 + random.below(400);
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at((1 + random.below(longest)).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

fn commands_in_pieces(pieces: &[&[u8]]) -> Vec<Result<Command, Refusal>> {
    let mut parser = Parser::new(JOB_BYTES_MAX);
    let mut commands = Vec::new();
    for piece in pieces {
        parser.feed(piece);
        commands.extend(parser.by_ref());
        let held = parser.buffer_mut().len();
        assert!(held < LINE_BYTES_MAX.max(JOB_BYTES_MAX as usize + 2), "holds {held} bytes");
    }
    commands
}

fn check_commands(random: &mut Random, bytes: &[u8]) {
    let pieces = pieces(random, bytes);
    let commands = commands_in_pieces(&pieces);
    assert_eq!(commands, commands_in_pieces(&[bytes]), "pieces make no difference");
    for command in commands.into_iter().flatten() {
        let mut out = BytesMut::new();
        command.write(&mut out);
        assert!(out.len() <= LINE_BYTES_MAX + JOB_BYTES_MAX as usize + 2);
        assert_eq!(commands_in_pieces(&[&out]), [Ok(command)], "written and read again");
    }
}

fn check_replies(random: &mut Random, bytes: &[u8]) {
    let mut parser = ReplyParser::new(JOB_BYTES_MAX);
    let mut replies = Vec::new();
    for piece in pieces(random, bytes) {
        parser.feed(piece);
        replies.extend(parser.by_ref());
    }
    let mut whole = ReplyParser::new(JOB_BYTES_MAX);
    whole.feed(bytes);
    assert_eq!(replies, whole.collect::<Vec<_>>(), "pieces make no difference");
    for reply in replies.into_iter().flatten() {
        let mut again = ReplyParser::new(JOB_BYTES_MAX);
        reply.write(again.buffer_mut());
        assert_eq!(again.collect::<Vec<Result<Reply, _>>>(), [Ok(reply)]);
    }
}

/// Both sides of every recorded conversation.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for transcript in beanstalkd_transcript::all() {
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for line in transcript.lines {
            match line.step {
                Step::Send(bytes) => sent.extend(bytes),
                Step::Receive(bytes) => received.extend(bytes),
                _ => {}
            }
        }
        seeds.extend([sent, received]);
    }
    seeds
}

#[test]
fn no_bytes_upset_the_parsers() {
    let seeds = seeds();
    fuzzing::fuzz(move |seed| {
        let mut random = Random::new(seed);
        // Whole conversations are cut down: many short runs find more than few long ones.
        let source = &seeds[random.below(seeds.len())];
        let start = random.below(source.len());
        let stop = (start + 1 + random.below(2000)).min(source.len());
        let mut bytes = source[start..stop].to_vec();
        random.damage(&mut bytes, &TOKENS);
        (bytes.escape_ascii().to_string(), move || {
            check_commands(&mut Random::new(seed), &bytes);
            check_replies(&mut Random::new(seed), &bytes);
        })
    });
}
