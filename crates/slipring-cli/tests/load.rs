//! `slipring load` with the real binary, over a file and over PostgreSQL: all or nothing, bad
//! lines, going on with what was broken off, kill -9 at any moment.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Child, Output, Stdio};

use binary::{Folder, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use slipring::clock::monotonic_ns;
use slipring_testbed::{Cluster, Database, OWNER, locked, run};

/// A place with a queue `q`.
struct Place<'a> {
    folder: &'a Folder,
    store: String,
}

impl Place<'_> {
    fn of<'a>(folder: &'a Folder, store: &str) -> Place<'a> {
        let place = Place { folder, store: format!("--store={store}") };
        place.folder.run(&["queue", "create", "q", &place.store]).ok();
        place
    }

    fn with<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["load", "q", &self.store], arguments].concat()
    }

    fn load(&self, arguments: &[&str]) -> binary::Done {
        self.folder.run(&self.with(arguments))
    }

    fn ready(&self) -> u64 {
        let shown = self.folder.run(&["queue", "show", "q", &self.store, "--json"]).json();
        shown["stats"]["ready"].as_u64().unwrap_or_else(|| panic!("{shown}"))
    }

    fn loads(&self) -> Vec<Value> {
        self.load(&["--list", "--json"]).json().as_array().unwrap().clone()
    }

    fn bodies(&self, most: usize) -> Vec<String> {
        let most = format!("--max={most}");
        let got = self.folder.run(&["receive", "q", &self.store, &most, "--ack", "--json"]).json();
        let messages = got["deliveries"].as_array().unwrap_or_else(|| panic!("{got}")).iter();
        messages.map(|message| message["body"].as_str().unwrap().to_owned()).collect()
    }
}

fn lines(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        writeln!(text, "{{\"body\":\"message {n:06}\"}}").unwrap();
        text
    })
}

/// What the stores have in common.
fn a_file_is_loaded_whole_or_not_at_all(place: &Place<'_>) {
    const COUNT: usize = 12_000;
    // S15.1
    place.folder.write("good.ndjson", &lines(COUNT));
    let done = place.load(&["good.ndjson", "--connections=3", "--json"]).json();
    assert_eq!((&done["messages"], &done["state"]), (&json!(COUNT), &json!("published")));
    assert_eq!(place.ready(), COUNT as u64);
    // A bad line: its number is told, and nothing is loaded.
    let mut text = lines(COUNT);
    text.push_str("{\"body\":\"ok\"}\n\n{\"body\":17}\n{\"body\":\"behind\"}\n{\"bodi\":1}\n");
    place.folder.write("bad.ndjson", &text);
    let refused = place.load(&["bad.ndjson", "--connections=3"]);
    assert_eq!((refused.code(), refused.stdout().as_str()), (1, ""));
    let wanted = format!("error: line {}: invalid type: integer `17`", COUNT + 3);
    assert!(refused.stderr().contains(&wanted), "{}", refused.stderr());
    assert!(refused.stderr().contains("nothing was loaded"), "{}", refused.stderr());
    assert_eq!(place.ready(), COUNT as u64);
    assert!(place.loads().iter().all(|load| load["state"] == "published"), "{:?}", place.loads());
    // So with what the store refuses.
    place.folder.write("delay.ndjson", "{\"body\":\"a\"}\n{\"body\":\"b\",\"delay_ms\":5}\n");
    let refused = place.load(&["delay.ndjson"]);
    assert!(refused.stderr().contains("line 2: a message of a load has no delay"), "{refused:?}");
    // With --keep it can be gone on with when the line is mended.
    let kept = place.load(&["bad.ndjson", "--keep", "--connections=2"]);
    assert!(kept.stderr().contains("--resume"), "{}", kept.stderr());
    let open = place.loads().into_iter().find(|load| load["state"] == "open").unwrap();
    assert!(open["messages"].as_u64().unwrap() > 0, "{open}");
    let id = open["id"].to_string();
    place.folder.write("bad.ndjson", &lines(COUNT));
    let done = place.load(&["bad.ndjson", "--resume", &id, "--json"]).json();
    assert_eq!((&done["messages"], &done["load"]), (&json!(COUNT), &open["id"]));
    assert_eq!(place.ready(), 2 * COUNT as u64);
    // Another file is not taken for the one that was begun, and what is published stays so.
    let again = place.load(&["bad.ndjson", "--resume", &id, "--json"]).json();
    assert_eq!(again["messages"], json!(COUNT));
    assert_eq!(place.ready(), 2 * COUNT as u64);
    other_files_are_refused(place);
}

fn other_files_are_refused(place: &Place<'_>) {
    place.folder.write("one.ndjson", &format!("{}oops\n", lines(9_000)));
    assert_eq!(place.load(&["one.ndjson", "--keep"]).code(), 1);
    let open = place.loads().into_iter().find(|load| load["state"] == "open").unwrap();
    let id = open["id"].to_string();
    place.folder.write("one.ndjson", &lines(9_000).replace("000001", "00000x"));
    let refused = place.load(&["one.ndjson", "--resume", &id]);
    assert!(refused.stderr().contains("the file has changed"), "{}", refused.stderr());
    place.load(&["--abandon", &id]).ok();
    let gone = place.load(&["one.ndjson", "--resume", &id]);
    assert!(gone.stderr().contains(&format!("load {id} is not there")), "{}", gone.stderr());
}

#[test]
fn a_file_is_loaded_whole_or_not_at_all_into_a_file() {
    let folder = Folder::new();
    let place = Place::of(&folder, "sqlite:s.db");
    a_file_is_loaded_whole_or_not_at_all(&place);
}

#[tokio::test]
async fn a_file_is_loaded_whole_or_not_at_all_into_a_database() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let folder = Folder::new();
    let url = cluster.url(OWNER, "test", &database.name);
    a_file_is_loaded_whole_or_not_at_all(&Place::of(&folder, &url));
}

#[test]
fn csv_and_lines_are_loaded_too_and_so_is_stdin() {
    let folder = Folder::new();
    let place = Place::of(&folder, "sqlite:s.db");
    let csv = "body,priority,header.kind\nlast,9,x\n\"first, with\nits second line\",1,\n";
    folder.write("m.csv", csv);
    place.load(&["m.csv"]).ok();
    assert_eq!(place.bodies(9), ["first, with\nits second line", "last"]);
    folder.write("m.csv", "body,priority\na,1\n\"b\nb\",2\nc,x\n");
    let refused = place.load(&["m.csv"]);
    assert!(refused.stderr().contains("line 5: priority is \"x\""), "{}", refused.stderr());
    folder.write("m.csv", "body,priority\na,1\nb\n");
    let refused = place.load(&["m.csv"]);
    assert!(refused.stderr().contains("line 3: it has 1 fields"), "{}", refused.stderr());
    folder.write("m.csv", "text\na\n");
    let refused = place.load(&["m.csv"]);
    assert!(refused.stderr().contains("line 1: \"text\" is no column"), "{}", refused.stderr());
    let arguments = place.with(&["-", "--format=lines", "--connections=1"]);
    let text = folder.run_with(&arguments, b"one\n\nthree").ok();
    assert!(text.starts_with("3 messages loaded into q in "), "{text}");
    assert_eq!(place.bodies(9), ["one", "", "three"]);
}

#[test]
fn what_cannot_be_loaded_is_said_in_one_line() {
    let folder = Folder::new();
    let place = Place::of(&folder, "sqlite:s.db");
    folder.run(&["queue", "create", "f", "--fifo", &place.store]).ok();
    folder.write("m.ndjson", "{\"body\":\"a\"}\n");
    for (arguments, code, why) in [
        (&["load", "f", "m.ndjson", &place.store][..], 1, "a load is for standard queues"),
        (&["load", "nobody", "m.ndjson", &place.store], 1, "queue nobody does not exist"),
        (&["load", "q", "none.ndjson", &place.store], 1, "none.ndjson: No such file"),
        (&["load", "q", ".", &place.store], 1, "is a folder"),
        (&["load", "q", "m.ndjson"], 2, "name the store with --store"),
        (&["load", "q", "m.ndjson", "--store=memory:"], 2, "holds nothing after this call"),
        (&["load", "q", "m.ndjson", "--store=sqlite:none.db"], 1, "no such file"),
        (&["load", "q", "m.ndjson", &place.store, "--resume=99"], 1, "load 99 is not there"),
        (&["load", "q", "m.ndjson", &place.store, "--connections=0"], 2, "--connections"),
    ] {
        let refused = folder.run(arguments);
        assert_eq!((refused.code(), refused.stdout().as_str()), (code, ""), "{arguments:?}");
        assert!(refused.stderr().contains(why), "{arguments:?}: {}", refused.stderr());
    }
    assert!(place.loads().is_empty());
    assert_eq!(place.ready(), 0);
}

#[test]
fn a_bad_line_ends_a_load_with_one_connection_though_much_of_the_file_is_left() {
    let folder = Folder::new();
    let place = Place::of(&folder, "sqlite:s.db");
    let text = lines(10_000).replace("{\"body\":\"message 001499\"}", "{\"body\":17}");
    // Later ones are not told of.
    folder.write("m.ndjson", &text.replace("{\"body\":\"message 007000\"}", "oops"));
    for connections in ["--connections=1", "--connections=4"] {
        let refused = place.load(&["m.ndjson", connections]);
        assert_eq!(refused.code(), 1);
        let error = refused.stderr();
        assert!(error.contains("error: line 1500: invalid type: integer `17`"), "{error}");
        assert!(error.contains("nothing was loaded"), "{error}");
        assert!(place.loads().is_empty());
    }
    // So with a file that has changed before its end.
    let kept = place.load(&["m.ndjson", "--keep", "--connections=1"]);
    assert_eq!(kept.code(), 1, "{kept:?}");
    let id = place.loads()[0]["id"].to_string();
    folder.write("m.ndjson", &lines(10_000).replace("message 000000", "message 00000x"));
    let refused = place.load(&["m.ndjson", "--resume", &id, "--connections=1"]);
    assert!(refused.stderr().contains("the file has changed"), "{}", refused.stderr());
}

#[test]
fn a_bad_line_of_a_stdin_that_stays_open_is_told_at_once() {
    let folder = Folder::new();
    let place = Place::of(&folder, "sqlite:s.db");
    let mut command = folder.command(&place.with(&["-", "--connections=2"]));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // Less than a pipe holds: who has found the first line reads no further.
    pipe.write_all(format!("oops\n{}", lines(2_000)).as_bytes()).unwrap();
    until("it has ended", || child.try_wait().unwrap().is_some());
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.starts_with("error: line 1: "), "{error}");
}

/// A load of this text that stands still where it is published or ended; its number, and the
/// session for which it does: as one who appends a part.
async fn stuck(
    place: &Place<'_>,
    database: &Database,
    text: &str,
) -> (Child, String, impl Sized + use<>) {
    let cluster = Cluster::shared();
    let mut command = place.folder.command(&place.with(&["-"]));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    until("it has begun", || !place.loads().is_empty());
    let load = place.loads()[0]["id"].to_string();
    let holder = cluster.begin(database, "READ COMMITTED").await;
    run(&holder, &format!("SELECT slipring.load_lock({load}, false)")).await;
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    locked(&cluster.client(database).await, 1).await;
    (child, load, holder)
}

/// What a process leaves that is interrupted. The first signal ends its wait, the second the wait
/// for the call that still runs.
fn interrupted(mut child: Child) -> Output {
    let pid = Pid::from_raw(child.id().try_into().unwrap());
    until("it has ended", || {
        kill(pid, Signal::SIGINT).unwrap();
        child.try_wait().unwrap().is_some()
    });
    child.wait_with_output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_waits_for_its_publication_can_be_interrupted_and_gone_on_with() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let folder = Folder::new();
    let place = Place::of(&folder, &cluster.url(OWNER, "test", &database.name));
    folder.write("m.ndjson", &lines(3));
    let (child, load, holder) = stuck(&place, &database, &lines(3)).await;
    // Its part is there: what waits is its publication.
    assert_eq!(place.loads()[0]["messages"], 3);
    let output = interrupted(child);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("interrupted; it is not known whether load "), "{error}");
    drop(holder);
    assert!(error.contains(&format!("--resume {load}")), "{error}");
    place.load(&["m.ndjson", "--resume", &load]).ok();
    assert_eq!(place.ready(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_interrupted_while_it_is_ended_is_not_said_to_be_open() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let folder = Folder::new();
    let place = Place::of(&folder, &cluster.url(OWNER, "test", &database.name));
    let (child, load, holder) = stuck(&place, &database, "oops\n").await;
    let error = String::from_utf8(interrupted(child).stderr).unwrap();
    drop(holder);
    let told = format!("nothing was loaded; it is not known whether load {load} was ended");
    assert!(error.contains("error: line 1: ") && error.contains(&told), "{error}");
}

const COUNT: u64 = 40_000;

/// A load that is killed half way can be gone on with.
fn killed_half_way(place: &Place<'_>) {
    // S15.1
    let text = lines(usize::try_from(COUNT).unwrap());
    place.folder.write("m.ndjson", &text);
    let mut command = place.folder.command(&place.with(&["-", "--connections=2"]));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // The rest never comes.
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&text.as_bytes()[..text.len() * 2 / 3]).unwrap();
    let half = || place.loads().first().is_some_and(|load| load["messages"].as_u64() > Some(0));
    until("some of it is there", half);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(pipe);
    assert_eq!(place.ready(), 0);
    let id = place.loads()[0]["id"].to_string();
    let done = place.load(&["m.ndjson", "--resume", &id, "--json"]).json();
    assert_eq!((&done["messages"], &done["state"]), (&json!(COUNT), &json!("published")));
    assert_eq!(place.ready(), COUNT);
}

/// Loads of which each is killed a little later than the one before, until one comes through: the
/// queue has all of it or nothing.
fn killed_at_any_moment(place: &Place<'_>) {
    // S15.1
    killed_half_way(place);
    let mut wait_ns = 50_000_000;
    let mut before = COUNT;
    let mut left = 0;
    for _ in 0..100 {
        let mut command = place.folder.command(&place.with(&["m.ndjson", "--connections=2"]));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let since_ns = monotonic_ns();
        let mut ended = false;
        until("it is time to kill it, or it is done", || {
            ended = child.try_wait().unwrap().is_some();
            ended || monotonic_ns() - since_ns > wait_ns
        });
        // SIGKILL; one that has ended has nothing to be killed.
        let _ = child.kill();
        child.wait().unwrap();
        let ready = place.ready();
        assert!(ready == before || ready == before + COUNT, "{ready} of {before} + {COUNT}");
        before = ready;
        for load in place.loads().iter().filter(|load| load["state"] == "open") {
            place.load(&["--abandon", &load["id"].to_string()]).ok();
            left += 1;
        }
        assert_eq!(place.ready(), before);
        if ended {
            break;
        }
        wait_ns += wait_ns / 8;
    }
    assert!(before > COUNT, "one came through: {before}");
    assert!(left > 0, "one was broken off");
}

#[test]
fn kill_9_leaves_a_load_into_a_file_whole_or_not_there() {
    let folder = Folder::new();
    killed_at_any_moment(&Place::of(&folder, "sqlite:s.db"));
}

#[tokio::test]
async fn kill_9_leaves_a_load_into_a_database_whole_or_not_there() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let folder = Folder::new();
    killed_at_any_moment(&Place::of(&folder, &cluster.url(OWNER, "test", &database.name)));
}
