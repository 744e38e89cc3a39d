//! Hostile bytes: recorded conversations with random damage, in random pieces, to both parsers.
//!
//! Runs for two seconds, or for `SLIPRING_FUZZ_SECONDS`. A failure prints its seed;
//! `SLIPRING_FUZZ_SEED` plays it again.

mod beanstalkd_transcript;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use beanstalkd_transcript::Step;
use bytes::BytesMut;
use slipring_wire::beanstalkd::{Command, LINE_BYTES_MAX, Parser, Refusal, Reply, ReplyParser};

/// The largest body in these runs. Small, so that damage often passes it.
const JOB_BYTES_MAX: u32 = 3000;

/// Splitmix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }
}

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

fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..random.below(8) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] = random.next() as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let token = TOKENS[random.below(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
            4 => {
                let end = (at + random.below(200)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let junk: Vec<u8> = (0..random.below(300)).map(|_| random.next() as u8).collect();
                bytes.splice(at..at, junk);
            }
        }
    }
}

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

/// One run: a piece of a conversation, damaged, to both parsers.
fn run(seeds: &[Vec<u8>], seed: u64) {
    let mut random = Random(seed);
    // Whole conversations are cut down: many short runs find more than few long ones.
    let source = &seeds[random.below(seeds.len())];
    let start = random.below(source.len());
    let stop = (start + 1 + random.below(2000)).min(source.len());
    let mut bytes = source[start..stop].to_vec();
    damage(&mut random, &mut bytes);
    let outcome = std::panic::catch_unwind(|| {
        check_commands(&mut Random(seed), &bytes);
        check_replies(&mut Random(seed), &bytes);
    });
    if let Err(panic) = outcome {
        eprintln!("SLIPRING_FUZZ_SEED={seed} bytes {:?}", bytes.escape_ascii().to_string());
        std::panic::resume_unwind(panic);
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
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let seeds = seeds();
    if let Some(seed) = number("SLIPRING_FUZZ_SEED") {
        return run(&seeds, seed);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (failed, failure) = mpsc::channel::<()>();
    let worker = std::thread::spawn({
        let stop = stop.clone();
        move || {
            // Dropped by a panic too, which ends the wait below.
            let _failed = failed;
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) {
                run(&seeds, rounds);
                rounds += 1;
            }
            rounds
        }
    });
    let seconds = number("SLIPRING_FUZZ_SECONDS").unwrap_or(2);
    let _ = failure.recv_timeout(Duration::from_secs(seconds));
    stop.store(true, Ordering::Relaxed);
    match worker.join() {
        Ok(rounds) => println!("{rounds} rounds"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
