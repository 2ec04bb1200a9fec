//! Runs the program for a moment, as `.ci/run` does for longer.

use std::process::Command;

use serde_json::Value;

fn run(arguments: &[&str]) -> Value {
    // A hang is the program's own watchdog's.
    let output = Command::new(env!("CARGO_BIN_EXE_chaos")).args(arguments).output().expect("starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stderr}", output.status);
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error} in {stdout}"))
}

#[test]
fn a_short_soak_finds_nothing() {
    let report = run(&["--seconds", "2", "--seed", "1"]);
    assert_eq!(report["seed"], 1);
    assert_eq!((&report["conserved"], &report["told_once"]), (&true.into(), &true.into()), "{report}");
    for none in ["payloads_alive", "threads_alive", "findings"] {
        assert_eq!(report[none], 0, "{report}");
    }
    for some in ["operations", "pools_built", "tasks_per_second"] {
        assert!(report[some].as_u64() > Some(0), "{report}");
    }
    for end in ["succeeded", "dead-lettered", "cancelled", "expired", "evicted", "abandoned"] {
        assert!(report["outcomes"][end].as_u64() > Some(0), "{report}");
    }
}

#[test]
fn a_soak_runs_with_one_worker_and_one_thread() {
    let report = run(&["--seconds", "1", "--seed", "2", "--workers", "1", "--threads", "1"]);
    assert_eq!(report["threads"], 1);
}

#[test]
fn a_soak_that_no_machine_can_play_is_refused() {
    for (option, value) in [
        ("--seconds", "0"),
        ("--seconds", "18446744073709551615"),
        ("--workers", "0"),
        ("--workers", "100000"),
        ("--threads", "100000"),
    ] {
        let ran = Command::new(env!("CARGO_BIN_EXE_chaos")).args([option, value]).output().expect("starts");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{option} {value}: {said}");
        assert!(said.contains(option) && said.contains("is not in 1..="), "{said}");
    }
}
