//! A run that is told to end keeps what it has measured. The signal is for a whole process, so the
//! program runs in one of its own.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Whether a process has a handler for SIGINT by now.
fn listens(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & (1 << (Signal::SIGINT as u32 - 1)) != 0)
}

#[test]
fn a_case_that_is_interrupted_is_kept_and_called_incomplete() {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipring-lab"));
    command.args(["case", "5", "--smoke", "--seconds", "20", "--out"]).arg(out.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !listens(pid) {
        assert!(Instant::now() < deadline, "it listens to no signal");
        std::thread::yield_now();
    }
    kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let printed = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{printed}");
    let reason = printed.lines().find_map(|line| line.strip_prefix("INCOMPLETE: "));
    assert!(reason.is_some_and(|reason| reason.contains("interrupted")), "{printed}");
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(errors.contains("case-5 is incomplete"), "{errors}");
    let kept = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
    assert!(kept.join("case-5.json.gz").exists());
}
