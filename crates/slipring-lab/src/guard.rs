//! A process that ends a server, and may remove its data, when the lab has ended without doing so:
//! killed, or by Ctrl-C. It notices because the lab's end of a pipe is closed then.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// What the guard does: it waits until the pipe is closed, and unless it was told that all is well
/// ends the process `$1`, waits at most a minute for it, and removes the folder `$2` if there is one.
const SCRIPT: &str = r#"
read -r word
test "$word" = done && exit 0
kill -TERM "$1"
tries=600
while kill -0 "$1" && test "$tries" -gt 0; do
    sleep 0.1
    tries=$((tries - 1))
done
kill -KILL "$1"
test -n "$2" && rm -rf -- "$2"
"#;

/// A guard over one server. Dropping it sends it away without harm to the server.
pub struct Guard(Child);

impl Guard {
    /// Watches over the process `pid`, and over its data where they go with it.
    ///
    /// # Errors
    /// When there is no shell.
    pub fn over(pid: u32, data: Option<&Path>) -> Result<Guard> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "guard"]).arg(pid.to_string());
        shell.arg(data.unwrap_or(Path::new(""))).current_dir("/");
        // A group of its own: a Ctrl-C that ends the lab must not end the guard.
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        shell.spawn().context("starting the guard of a server").map(Guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(pipe) = self.0.stdin.as_mut() {
            // A guard that is gone already needs no word.
            let _ = pipe.write_all(b"done\n");
        }
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    #[test]
    fn a_guard_whose_lab_is_gone_ends_the_server_and_removes_its_data() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("data");
        std::fs::create_dir(&folder).unwrap();
        let mut server = sleeper();
        let mut guard = Guard::over(server.id(), Some(&folder)).unwrap();
        drop(guard.0.stdin.take());
        assert!(!server.wait().unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(30);
        while folder.exists() {
            assert!(Instant::now() < deadline, "the data are still there");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_guard_that_is_dropped_leaves_the_server_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut server = sleeper();
        drop(Guard::over(server.id(), Some(folder.path())).unwrap());
        assert!(server.try_wait().unwrap().is_none());
        assert!(folder.path().exists());
        server.kill().unwrap();
        server.wait().unwrap();
    }
}
