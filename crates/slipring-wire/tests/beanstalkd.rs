//! The beanstalkd protocol against recorded conversations, tables, and every way to cut the bytes
//! into pieces.

#![allow(clippy::unwrap_used)]

mod beanstalkd_transcript;

use std::collections::BTreeMap;

use beanstalkd_transcript::{Step, Transcript};
use bytes::{Bytes, BytesMut};
use slipring_wire::beanstalkd::stats::{JobStats, ServerStats, TubeStats, Word};
use slipring_wire::beanstalkd::{
    Command, InvalidTubeName, JOB_BYTES_DEFAULT, Parser, Put, Refusal, Reply, ReplyError,
    ReplyParser, TubeName, yaml,
};

fn parse(bytes: &[u8]) -> Vec<Result<Command, Refusal>> {
    let mut parser = Parser::new(JOB_BYTES_DEFAULT);
    parser.feed(bytes);
    parser.collect()
}

fn parse_replies(bytes: &[u8]) -> Vec<Result<Reply, ReplyError>> {
    let mut parser = ReplyParser::new(1 << 20);
    parser.feed(bytes);
    parser.collect()
}

fn write(command: &Command) -> BytesMut {
    let mut out = BytesMut::new();
    command.write(&mut out);
    out
}

fn write_reply(reply: &Reply) -> BytesMut {
    let mut out = BytesMut::new();
    reply.write(&mut out);
    out
}

fn tube(name: &str) -> TubeName {
    name.parse().unwrap()
}

/// What one connection sent, and what it received reply by reply. A reply given only in part
/// (a prefix, a YAML text by some pairs) stands as `None`.
#[derive(Default)]
struct Side {
    sent: Vec<u8>,
    received: Vec<Option<Vec<u8>>>,
}

fn sides(transcript: &Transcript) -> BTreeMap<String, Side> {
    let mut sides: BTreeMap<String, Side> = BTreeMap::new();
    for line in &transcript.lines {
        let side = sides.entry(line.connection.clone()).or_default();
        match &line.step {
            Step::Send(bytes) => side.sent.extend(bytes),
            Step::Receive(bytes) => side.received.push(Some(bytes.clone())),
            Step::ReceivePrefix(_) | Step::ReceiveYaml { .. } => side.received.push(None),
            Step::ReceiveEof | Step::Close | Step::Wait(_) => {}
        }
    }
    sides
}

/// The replies a side received; a body stands on the line behind its reply.
fn replies(received: &[Option<Vec<u8>>]) -> Vec<Option<Reply>> {
    let mut replies = Vec::new();
    let mut lines = received.iter();
    while let Some(line) = lines.next() {
        let Some(line) = line else {
            replies.push(None);
            continue;
        };
        let mut parser = ReplyParser::new(1 << 20);
        parser.feed(line);
        let reply = parser.next().unwrap_or_else(|| {
            parser.feed(lines.next().unwrap().as_ref().unwrap());
            parser.next().unwrap()
        });
        replies.push(Some(reply.unwrap()));
    }
    replies
}

#[test]
fn recorded_commands_are_refused_exactly_where_the_replies_say_so() {
    for transcript in beanstalkd_transcript::all() {
        for (connection, side) in sides(&transcript) {
            let at = format!("{} connection {connection:?}", transcript.name);
            let commands = parse(&side.sent);
            let replies = replies(&side.received);
            let answered = commands.iter().take_while(|c| **c != Ok(Command::Quit)).count();
            let closed_while_waiting = answered - replies.len();
            assert!(closed_while_waiting <= 1, "{at}: {answered} commands, {replies:?}");
            for (command, reply) in commands.iter().zip(&replies) {
                let Some(reply) = reply else { continue };
                let refused = [
                    Reply::BadFormat,
                    Reply::UnknownCommand,
                    Reply::JobTooBig,
                    Reply::ExpectedCrlf,
                ]
                .contains(reply);
                match command {
                    Ok(_) => assert!(!refused, "{at}: {command:?} gives {reply:?}"),
                    Err(refusal) => assert_eq!(&Reply::from(*refusal), reply, "{at}"),
                }
            }
        }
    }
}

#[test]
fn recorded_replies_are_written_byte_for_byte_as_they_were_received() {
    for transcript in beanstalkd_transcript::all() {
        for (connection, side) in sides(&transcript) {
            let written: Vec<u8> = replies(&side.received)
                .iter()
                .flatten()
                .flat_map(|reply| write_reply(reply).to_vec())
                .collect();
            let received: Vec<u8> = side.received.into_iter().flatten().flatten().collect();
            assert_eq!(
                written.escape_ascii().to_string(),
                received.escape_ascii().to_string(),
                "{} connection {connection:?}",
                transcript.name
            );
        }
    }
}

#[test]
fn cutting_the_bytes_anywhere_changes_nothing() {
    for transcript in beanstalkd_transcript::all() {
        for side in sides(&transcript).into_values() {
            let whole = parse(&side.sent);
            let step = 1 + side.sent.len() / 2000;
            for cut in (0..side.sent.len()).step_by(step) {
                let mut parser = Parser::new(JOB_BYTES_DEFAULT);
                let mut commands = Vec::new();
                for piece in [&side.sent[..cut], &side.sent[cut..]] {
                    parser.feed(piece);
                    commands.extend(parser.by_ref());
                }
                assert_eq!(commands, whole, "{} cut at {cut}", transcript.name);
            }
            let mut parser = Parser::new(JOB_BYTES_DEFAULT);
            let mut commands = Vec::new();
            for byte in &side.sent {
                parser.feed(std::slice::from_ref(byte));
                commands.extend(parser.by_ref());
            }
            assert_eq!(commands, whole, "{} byte by byte", transcript.name);
        }
    }
}

#[test]
fn every_command_is_read_as_it_was_written() {
    let put = Put { priority: 1, delay: 2, time_to_run: 3, body: Bytes::from_static(b"a\r\nb") };
    let commands = [
        (Command::Put(put), "put 1 2 3 4\r\na\r\nb\r\n"),
        (Command::Use(tube("t")), "use t\r\n"),
        (Command::Reserve, "reserve\r\n"),
        (
            Command::ReserveWithTimeout { seconds: 2_147_483_647 },
            "reserve-with-timeout 2147483647\r\n",
        ),
        (Command::ReserveJob { id: 7 }, "reserve-job 7\r\n"),
        (Command::Delete { id: u64::MAX }, "delete 18446744073709551615\r\n"),
        (Command::Release { id: 1, priority: 2, delay: 3 }, "release 1 2 3\r\n"),
        (Command::Bury { id: 1, priority: u32::MAX }, "bury 1 4294967295\r\n"),
        (Command::Touch { id: 1 }, "touch 1\r\n"),
        (Command::Watch(tube("t")), "watch t\r\n"),
        (Command::Ignore(tube("t")), "ignore t\r\n"),
        (Command::Peek { id: 1 }, "peek 1\r\n"),
        (Command::PeekReady, "peek-ready\r\n"),
        (Command::PeekDelayed, "peek-delayed\r\n"),
        (Command::PeekBuried, "peek-buried\r\n"),
        (Command::Kick { bound: 1 }, "kick 1\r\n"),
        (Command::KickJob { id: 1 }, "kick-job 1\r\n"),
        (Command::StatsJob { id: 1 }, "stats-job 1\r\n"),
        (Command::StatsTube(tube("t")), "stats-tube t\r\n"),
        (Command::Stats, "stats\r\n"),
        (Command::ListTubes, "list-tubes\r\n"),
        (Command::ListTubeUsed, "list-tube-used\r\n"),
        (Command::ListTubesWatched, "list-tubes-watched\r\n"),
        (Command::PauseTube { tube: tube("t"), delay: 1 }, "pause-tube t 1\r\n"),
        (Command::Quit, "quit\r\n"),
    ];
    for (command, text) in commands {
        assert_eq!(write(&command), text);
        assert_eq!(parse(text.as_bytes()), [Ok(command)]);
    }
}

#[test]
fn a_kick_of_more_jobs_than_there_can_be_is_one_of_all() {
    for bound in ["4294967295", "4294967296", "18446744073709551615"] {
        let kick = Command::Kick { bound: u32::MAX };
        assert_eq!(parse(format!("kick {bound}\r\n").as_bytes()), [Ok(kick)], "{bound}");
    }
    assert_eq!(parse(b"kick 18446744073709551616\r\n"), [Err(Refusal::BadFormat)]);
}

#[test]
fn every_reply_is_read_as_it_was_written() {
    let body = Bytes::from_static(b"x\r\ny");
    let replies = [
        (Reply::Inserted { id: 1 }, "INSERTED 1\r\n"),
        (Reply::InsertedBuried { id: 1 }, "BURIED 1\r\n"),
        (Reply::Using(tube("t")), "USING t\r\n"),
        (Reply::Reserved { id: 9, body: body.clone() }, "RESERVED 9 4\r\nx\r\ny\r\n"),
        (Reply::Found { id: 9, body: body.clone() }, "FOUND 9 4\r\nx\r\ny\r\n"),
        (Reply::Ok(body), "OK 4\r\nx\r\ny\r\n"),
        (Reply::Watching(2), "WATCHING 2\r\n"),
        (Reply::KickedCount(0), "KICKED 0\r\n"),
        (Reply::Deleted, "DELETED\r\n"),
        (Reply::Released, "RELEASED\r\n"),
        (Reply::Buried, "BURIED\r\n"),
        (Reply::Touched, "TOUCHED\r\n"),
        (Reply::Kicked, "KICKED\r\n"),
        (Reply::Paused, "PAUSED\r\n"),
        (Reply::NotFound, "NOT_FOUND\r\n"),
        (Reply::NotIgnored, "NOT_IGNORED\r\n"),
        (Reply::DeadlineSoon, "DEADLINE_SOON\r\n"),
        (Reply::TimedOut, "TIMED_OUT\r\n"),
        (Reply::ExpectedCrlf, "EXPECTED_CRLF\r\n"),
        (Reply::JobTooBig, "JOB_TOO_BIG\r\n"),
        (Reply::Draining, "DRAINING\r\n"),
        (Reply::OutOfMemory, "OUT_OF_MEMORY\r\n"),
        (Reply::InternalError, "INTERNAL_ERROR\r\n"),
        (Reply::BadFormat, "BAD_FORMAT\r\n"),
        (Reply::UnknownCommand, "UNKNOWN_COMMAND\r\n"),
    ];
    for (reply, text) in replies {
        assert_eq!(write_reply(&reply), text);
        assert_eq!(parse_replies(text.as_bytes()), [Ok(reply)]);
    }
}

#[test]
fn a_reply_that_is_none_ends_the_client_side() {
    let too_big = ReplyError::BodyTooBig { announced: 1_048_577, limit: 1 << 20 };
    let cases = [
        ("HELLO\r\n", ReplyError::NotAReply("HELLO".into())),
        ("INSERTED x\r\n", ReplyError::NotAReply("INSERTED x".into())),
        ("USING -\r\n", ReplyError::NotAReply("USING -".into())),
        ("RESERVED 1\r\n", ReplyError::NotAReply("RESERVED 1".into())),
        ("OK 1\r\nabc\r\n", ReplyError::BodyEnd),
        ("FOUND 1 1048577\r\n", too_big),
    ];
    for (text, error) in cases {
        let again = format!("{text}DELETED\r\n");
        assert_eq!(parse_replies(again.as_bytes()), [Err(error)], "{text:?}");
    }
    assert_eq!(parse_replies(&[b'x'; 300]), [Err(ReplyError::LineTooLong)]);
}

#[test]
fn a_first_line_that_is_too_long_is_refused_before_its_end() {
    let mut parser = Parser::new(JOB_BYTES_DEFAULT);
    parser.feed(&[b'x'; 223]);
    assert_eq!(parser.next(), None);
    parser.feed(b"x");
    let refused = parser.next().unwrap().unwrap_err();
    assert!(refused == Refusal::FirstLineTooLong && refused.is_final());
    assert_eq!(Reply::from(refused), Reply::BadFormat);
    // Once for the whole line.
    parser.feed(b"more\r\nlist-tubes\r\n");
    assert_eq!(parser.collect::<Vec<_>>(), [Ok(Command::ListTubes)]);
}

#[test]
fn what_begins_like_http_or_tls_is_told_apart() {
    for line in ["GET / HTTP/1.1", "PROPFIND /x HTTP/2", "Host: localhost", "\u{16}\u{3}\u{1}\0x"] {
        let refused = parse(format!("{line}\r\n").as_bytes());
        assert_eq!(refused, [Err(Refusal::Http)], "{line:?}");
    }
    for line in ["GET me", "HTTP/1.1", "hello HTTP"] {
        let refused = parse(format!("{line}\r\n").as_bytes());
        assert_eq!(refused, [Err(Refusal::UnknownCommand)], "{line:?}");
    }
}

#[test]
fn an_endless_line_or_an_unwanted_body_is_not_kept() {
    let mut parser = Parser::new(JOB_BYTES_DEFAULT);
    parser.feed(b"list-tubes\r\n");
    assert_eq!(parser.next(), Some(Ok(Command::ListTubes)));
    for _ in 0..1000 {
        parser.feed(&[b'x'; 4096]);
        assert_eq!(parser.next(), None);
        assert!(parser.buffer_mut().len() <= 1, "an overlong line is thrown away as it comes");
    }
    parser.feed(b"\r");
    assert_eq!(parser.next(), None);
    parser.feed(b"\nput 0 0 0 4294967295\r\n");
    assert_eq!(parser.next(), Some(Err(Refusal::BadFormat)));
    let mut left: u64 = 4_294_967_295 + 2;
    let piece = vec![b'\n'; 1 << 22];
    while left > piece.len() as u64 {
        assert_eq!(parser.next(), None);
        assert!(parser.buffer_mut().is_empty(), "an unwanted body is thrown away as it comes");
        parser.feed(&piece);
        left -= piece.len() as u64;
    }
    parser.feed(&piece[..left as usize]);
    parser.feed(b"reserve\r\n");
    assert_eq!(parser.next(), Some(Err(Refusal::JobTooBig)));
    assert_eq!(parser.next(), Some(Ok(Command::Reserve)));
    assert!(parser.is_idle());
}

#[test]
fn a_large_buffer_is_given_back_when_it_is_empty() {
    let mut parser = Parser::new(8 << 20);
    parser.feed(format!("put 0 0 0 {}\r\n", 8 << 20).as_bytes());
    parser.feed(&vec![b'x'; 8 << 20]);
    assert_eq!(parser.next(), None);
    parser.feed(b"\r\n");
    assert!(matches!(parser.next(), Some(Ok(Command::Put(_)))));
    assert_eq!(parser.next(), None);
    parser.shrink();
    assert!(parser.buffer_mut().capacity() < 1 << 10);
}

#[test]
fn a_body_without_room_is_skipped_and_its_put_refused() {
    let mut parser = Parser::new(JOB_BYTES_DEFAULT);
    parser.feed(b"put 0 0 0 5\r\nhe");
    assert_eq!(parser.next(), None);
    assert_eq!(parser.unfinished_body_bytes(), Some(5));
    parser.refuse_body();
    assert_eq!(parser.unfinished_body_bytes(), None);
    assert_eq!(parser.next(), None);
    assert!(parser.buffer_mut().is_empty());
    parser.feed(b"llo\r\nreserve\r\n");
    assert_eq!(parser.next(), Some(Err(Refusal::OutOfMemory)));
    assert_eq!(parser.next(), Some(Ok(Command::Reserve)));
    parser.refuse_body();
    assert!(parser.is_idle());
}

#[test]
fn names_say_which_rule_they_break() {
    let cases: [(&str, InvalidTubeName); 4] = [
        ("", InvalidTubeName::Empty),
        ("-a", InvalidTubeName::LeadingHyphen),
        ("a b", InvalidTubeName::Byte { byte: b' ', offset: 1 }),
        (&"x".repeat(201), InvalidTubeName::TooLong(201)),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<TubeName>(), Err(error));
    }
    assert_eq!(TubeName::default().as_str(), "default");
}

#[test]
fn statistics_are_written_in_the_order_and_form_of_the_original() {
    let server = ServerStats {
        version: "1.12".into(),
        rusage_stime: std::time::Duration::from_micros(1_001_953),
        os: "#1 \"SMP\"\n".into(),
        id: Word("38041dba07e98f1b".into()),
        ..ServerStats::default()
    };
    let text = String::from_utf8(server.to_yaml().to_vec()).unwrap();
    assert!(text.starts_with("---\ncurrent-jobs-urgent: 0\ncurrent-jobs-ready: 0\n"));
    assert!(text.contains("\nversion: \"1.12\"\nrusage-utime: 0.000000\nrusage-stime: 1.001953\n"));
    assert!(text.contains("\ndraining: false\nid: 38041dba07e98f1b\n"));
    assert!(text.contains("\nos: \"#1 \\\"SMP\\\" \"\n"));
    let keys: Vec<&str> = yaml::pairs(&text).map(|(key, _)| key).collect();
    assert_eq!(keys.len(), 51);
    assert_eq!(keys.last(), Some(&"platform"));

    let tube = TubeStats { name: "t".into(), pause: 3, ..TubeStats::default() };
    let text = String::from_utf8(tube.to_yaml().to_vec()).unwrap();
    assert!(text.starts_with("---\nname: \"t\"\ncurrent-jobs-urgent: 0\n"));
    assert!(text.ends_with("\npause: 3\npause-time-left: 0\n"));
    assert_eq!(yaml::pairs(&text).count(), 14);

    let job = JobStats { id: 5, state: Word("ready".into()), ..JobStats::default() };
    let text = String::from_utf8(job.to_yaml().to_vec()).unwrap();
    assert!(text.starts_with("---\nid: 5\ntube: \"\"\nstate: ready\npri: 0\n"));
    assert_eq!(yaml::pairs(&text).count(), 14);
}

#[test]
fn lists_are_written_and_read() {
    let names = [tube("default"), tube("a")];
    let text = yaml::list(&names);
    assert_eq!(text, "---\n- default\n- a\n");
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert_eq!(yaml::items(&text).collect::<Vec<_>>(), ["default", "a"]);
}
