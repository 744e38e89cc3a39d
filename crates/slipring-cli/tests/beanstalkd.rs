//! `slipring beanstalkd` with the command line of the original.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use binary::{Client, Folder};
use nix::sys::signal::Signal;

#[test]
fn without_a_folder_the_first_job_is_1_and_nothing_is_kept() {
    // S1.5
    let folder = Folder::new();
    for _ in 0..2 {
        let server = folder.start(&["beanstalkd", "-p", "0"]);
        assert!(server.first_line.contains("storing in memory"), "{}", server.first_line);
        assert_eq!(server.client().ask("put 0 0 60 1\r\nx\r\n"), "INSERTED 1");
        server.stop();
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the log is there");
}

#[test]
fn with_a_folder_jobs_survive_kill_9() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("jobs")).unwrap();
    let arguments = ["beanstalkd", "-l", "127.0.0.1", "-p", "0", "-b", "jobs", "-f", "0"];
    let server = folder.start(&arguments);
    assert_eq!(server.client().ask("put 0 0 60 1\r\nx\r\n"), "INSERTED 1");
    server.signal(Signal::SIGKILL);
    server.ended(Duration::from_secs(5));
    let server = folder.start(&arguments);
    assert!(folder.path().join("jobs/slipring.db").exists());
    assert_eq!(server.client().ask("reserve\r\n"), "RESERVED 1 1");
    server.stop();
}

#[test]
fn the_flags_of_the_original_are_understood() {
    let folder = Folder::new();
    let server = folder.start(&[
        "beanstalkd",
        "-l",
        "127.0.0.1",
        "-p",
        "0",
        "-b",
        ".",
        "-f",
        "50",
        "-F",
        "-s",
        "10485760",
        "-c",
        "-n",
        "-z",
        "100",
        "-V",
        "-V",
        "-V",
    ]);
    assert!(server.first_line.contains("(durability relaxed)"), "{}", server.first_line);
    let mut client = server.client();
    assert_eq!(client.stat("max-job-size"), "100");
    let large = format!("put 0 0 60 101\r\n{}\r\n", "x".repeat(101));
    assert_eq!(client.ask(&large), "JOB_TOO_BIG");
    assert_eq!(client.ask("put 0 0 60 1\r\nx\r\n"), "INSERTED 1");
    server.stop();
    let shown = folder.run(&["queue", "show", "default", "--store", "sqlite:slipring.db"]);
    assert!(shown.ok().contains("relaxed"));
    let version = folder.run(&["beanstalkd", "-v"]).ok();
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    assert!(folder.run(&["beanstalkd", "-h"]).ok().contains("-z <BYTES>"));
}

#[test]
fn a_unix_socket_serves_like_a_port() {
    let folder = Folder::new();
    let path = folder.path().join("socket");
    let address = format!("unix:{}", path.display());
    for _ in 0..2 {
        // A socket left over from a kill does not disturb the next start.
        let server = folder.start(&["beanstalkd", "-l", &address]);
        assert!(server.first_line.contains(&address), "{}", server.first_line);
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"put 0 0 60 1\r\nx\r\nquit\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "INSERTED 1\r\n");
        server.signal(Signal::SIGKILL);
        server.ended(Duration::from_secs(5));
    }
}

#[test]
fn a_busy_port_and_a_wide_address_are_errors_that_name_them() {
    let folder = Folder::new();
    let server = folder.start(&["beanstalkd", "-p", "0"]);
    let address = server.address("beanstalkd on ");
    let port = address.rsplit(':').next().unwrap();
    let second = folder.run(&["beanstalkd", "-p", port]);
    assert_eq!((second.code(), second.stdout().as_str()), (1, ""));
    assert!(second.stderr().contains(&address), "{}", second.stderr());
    assert!(second.stderr().contains("another port with -p PORT"), "{}", second.stderr());
    server.stop();
    let wide = folder.run(&["beanstalkd", "-l", "0.0.0.0", "-p", "0"]);
    assert_eq!(wide.code(), 2);
    assert!(wide.stderr().contains("--insecure"), "{}", wide.stderr());
    let consent = folder.start(&["beanstalkd", "-l", "0.0.0.0", "-p", "0", "--insecure"]);
    let port = consent.address("beanstalkd on 0.0.0.0:");
    let mut client = Client::connect(&format!("127.0.0.1:{port}"));
    assert_eq!(client.ask("list-tube-used\r\n"), "USING default");
    consent.stop();
}

#[test]
fn drain_mode_refuses_new_jobs_and_hands_out_the_old() {
    let folder = Folder::new();
    let server = folder.start(&["beanstalkd", "-p", "0"]);
    let mut client = server.client();
    assert_eq!(client.ask("put 0 0 60 1\r\nx\r\n"), "INSERTED 1");
    server.signal(Signal::SIGUSR1);
    binary::until("it drains", || client.stat("draining") == "true");
    assert_eq!(client.ask("put 0 0 60 1\r\nx\r\n"), "DRAINING");
    assert_eq!(client.ask("reserve\r\n"), "RESERVED 1 1");
    server.stop();
}

#[test]
fn the_user_of_the_original_is_taken_on() {
    let folder = Folder::new();
    let unknown = folder.run(&["beanstalkd", "-p", "0", "-u", "no such user"]);
    assert_eq!(unknown.code(), 1);
    assert!(unknown.stderr().contains("no such user"), "{}", unknown.stderr());
    let me = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().unwrap();
    folder.start(&["beanstalkd", "-p", "0", "-u", &me.name]).stop();
}
