//! Runs the program as a user would.
#![allow(dead_code, reason = "each test program uses its part")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Far more than any of these runs takes.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(60);

pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
    /// What it said on standard error.
    pub(crate) errors: String,
}

impl Finished {
    pub(crate) fn totals(&self) -> Value {
        let last = self.text.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error} in {last:?}"))
    }

    pub(crate) fn letters(&self) -> Vec<&str> {
        self.text.lines().skip_while(|line| !line.starts_with("dead letters:")).collect()
    }
}

pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// An empty folder for the test of this name.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("writable");
    folder
}

pub(crate) fn ingest() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ingest"))
}

pub(crate) fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts")
}

pub(crate) fn start(input: &Path, out: &Path, options: &[&str]) -> Child {
    let mut command = ingest();
    command.arg(input).arg("--json").arg("--out").arg(out).args(options);
    spawn(&mut command)
}

/// Waits for the end, and ends what does not end by itself.
pub(crate) fn finish(mut child: Child) -> Finished {
    let text = read(child.stdout.take().expect("piped"));
    let errors = read(child.stderr.take().expect("piped"));
    let code = wait(&mut child);
    Finished { code, text: text.join().expect("read"), errors: errors.join().expect("read") }
}

fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).expect("text");
        text
    })
}

/// The exit code, which comes before the watchdog does.
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + WATCHDOG;
    loop {
        match child.try_wait().expect("a child") {
            Some(status) => return status.code(),
            None if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
            None => {
                child.kill().expect("a child");
                panic!("still running after {WATCHDOG:?}");
            }
        }
    }
}

#[cfg(unix)]
pub(crate) fn signal(child: &Child, name: &str) {
    let kill = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status();
    assert!(kill.expect("sh").success());
}

/// The two equations that hold when nothing is under way any more.
pub(crate) fn assert_conserved(totals: &Value) {
    let sum = |names: &[&str]| -> u64 {
        names
            .iter()
            .map(|name| totals["pool"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {totals}")))
            .sum()
    };
    assert_eq!(sum(&["submitted"]), sum(&["accepted", "rejected", "caller_run", "dropped"]), "{totals}");
    let outcomes = ["succeeded", "dead_lettered", "cancelled", "expired", "evicted", "abandoned"];
    assert_eq!(sum(&["accepted", "caller_run"]), sum(&outcomes), "{totals}");
    assert_eq!(sum(&["queued", "delayed", "running"]), 0, "{totals}");
}

pub(crate) fn thumbnails(out: &Path) -> Vec<PathBuf> {
    fs::read_dir(out).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}
