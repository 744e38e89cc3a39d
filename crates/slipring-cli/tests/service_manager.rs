//! What a service manager hears of a server, on a socket as systemd gives one.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use binary::Folder;

/// Nothing that works takes so long.
const PATIENCE: Duration = Duration::from_secs(20);

struct Manager(UnixDatagram);

impl Manager {
    /// The next word of the server's.
    fn hears(&self) -> String {
        let mut word = [0; 4096];
        let length = self.0.recv(&mut word).unwrap();
        String::from_utf8(word[..length].to_vec()).unwrap()
    }
}

#[test]
fn it_hears_that_a_server_is_ready_alive_and_stopping() {
    let folder = Folder::new();
    let socket = folder.path().join("notify");
    let manager = Manager(UnixDatagram::bind(&socket).unwrap());
    manager.0.set_read_timeout(Some(PATIENCE)).unwrap();
    let off = ["serve", "--sqs", "off", "--admin", "off", "--beanstalkd", "127.0.0.1:0"];
    let mut command = folder.command(&off);
    command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "20000");
    let server = folder.start_command(command);
    let ready = manager.hears();
    assert!(ready.contains("READY=1\n"), "{ready}");
    let status = server.first_line.trim_end();
    assert!(ready.contains(&format!("STATUS={status}\n")), "{ready}");
    for _ in 0..3 {
        assert_eq!(manager.hears().trim_end(), "WATCHDOG=1");
    }
    server.stop();
    let last = std::iter::repeat_with(|| manager.hears()).find(|word| !word.contains("WATCHDOG"));
    assert_eq!(last.unwrap().trim_end(), "STOPPING=1");
}

#[test]
fn without_one_a_server_serves_all_the_same() {
    let folder = Folder::new();
    let mut command = folder.command(&["serve", "--sqs", "off", "--admin", "off", "--beanstalkd"]);
    command.arg("127.0.0.1:0").env("NOTIFY_SOCKET", folder.path().join("no-manager"));
    command.env("WATCHDOG_USEC", "20000");
    let server = folder.start_command(command);
    assert!(server.client().ask("put 0 0 60 1\r\nx\r\n").starts_with("INSERTED"));
    server.stop();
}

#[test]
fn completions_and_manual_pages_name_every_verb() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = folder.run(&["completions", shell]).ok();
        for verb in ["serve", "redrive", "connections"] {
            assert!(text.contains(verb), "{shell}: {verb}");
        }
    }
    assert_eq!(folder.run(&["completions", "no-shell"]).code(), 2);
    let page = folder.run(&["man"]).ok();
    assert!(page.contains(".TH slipring 1") && page.contains("slipring\\-serve(1)"), "{page}");
    std::fs::create_dir(folder.path().join("pages")).unwrap();
    assert_eq!(folder.run(&["man", "--out", "pages"]).ok(), "");
    let serve = std::fs::read_to_string(folder.path().join("pages/slipring-serve.1")).unwrap();
    assert!(serve.contains("\\-\\-beanstalkd"), "{serve}");
    let missing = folder.run(&["man", "--out", "nowhere"]);
    assert_eq!(missing.code(), 1);
    assert!(missing.stderr().contains("manual pages in nowhere: "), "{}", missing.stderr());
}
