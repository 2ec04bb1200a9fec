//! Each scenario in small, within a watchdog.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use stress::{Scale, Scenario};

/// Far more than any of these takes.
const WATCHDOG: Duration = Duration::from_secs(120);

fn holds(scenario: Scenario) {
    let (tell, done) = channel();
    thread::spawn(move || drop(tell.send(scenario.run(Scale::HUNDREDTH))));
    let findings = done.recv_timeout(WATCHDOG).unwrap().unwrap();
    assert!(findings.broken().is_empty(), "{findings}");
}

#[test]
fn a_steady_stream_finds_free_workers() {
    holds(Scenario::Steady);
}

#[test]
fn a_burst_is_answered_by_capacity_and_policy_and_no_task_is_lost() {
    holds(Scenario::Burst);
}

#[test]
fn retries_of_calls_that_failed_together_are_spread_out() {
    holds(Scenario::Faults);
}

#[test]
fn a_task_that_never_ends_is_shown_and_holds_up_nothing() {
    holds(Scenario::Stuck);
}

#[test]
fn the_program_prints_its_figures_and_ends_with_success() {
    let program = env!("CARGO_BIN_EXE_stress");
    let ran = Command::new(program).args(["stuck", "--scale", "100"]).output().unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{printed}");
    assert!(printed.contains("| named by the shutdown report"), "{printed}");
}

#[test]
fn a_scenario_that_is_not_there_is_told_which_there_are() {
    let ran = Command::new(env!("CARGO_BIN_EXE_stress")).arg("nonsense").output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(said.contains("steady, burst, faults, stuck, all"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn figures_that_cannot_be_written_are_an_error_and_no_panic() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_stress"));
    let ran = program.args(["stuck", "--scale", "1000"]).stdout(full).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left") && said.lines().count() == 1, "{said}");
}
