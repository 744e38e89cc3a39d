//! One scenario of the public benchmark, at its smallest size, against the adapter as it is built.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::process::Command;

use serde_json::Value;

#[test]
fn sessions_that_are_ended_lose_no_job_and_the_run_is_kept() {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipring-lab"));
    let scenario = ["benchmark", "backends_terminated", "--smoke", "--strict"];
    command.args(scenario).args(["--system", "slipring", "--system", "slipring-sql"]);
    let ended = command.arg("--out").arg(out.path()).output().unwrap();
    let printed = String::from_utf8(ended.stdout).unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{printed}{errors}");
    for system in ["slipring", "slipring-sql"] {
        assert!(printed.contains(&format!("{system}: jobs lost ≤ 0")), "{printed}");
        let won = format!("{system}, chaos: all that is asked is met in 1 of 1");
        assert!(printed.contains(&won), "{printed}");
    }
    let kept = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
    let file = std::fs::File::open(kept.join("benchmark-backends_terminated.json.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let findings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(findings["incomplete"], Value::Null);
    let phases = &findings["tables"][0];
    assert_eq!(phases["columns"][0], "system");
    let rows = phases["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str().unwrap()).collect();
    assert_eq!(names, ["slipring", "slipring-sql"]);
    // By the ledgers: sent, lost.
    for row in rows {
        let count = |at: usize| row[at].as_str().unwrap().parse::<u64>().unwrap();
        assert!(count(13) > 0 && count(14) == 0, "{row}");
    }
    assert!(kept.join("benchmark-backends_terminated-completions.svg").exists());
}

#[test]
fn a_scenario_that_is_not_there_is_refused_with_the_names_of_those_that_are() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipring-lab"));
    let ended = command.args(["benchmark", "no_such"]).output().unwrap();
    assert!(!ended.status.success());
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(errors.contains("no_such") && errors.contains("idle_in_transaction"), "{errors}");
}
