//! Asks a candidate in a process of its own: memory and processor time are those of a process.

use crate::gate::Plug;
use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::peers::default_and_peers;
use crate::tally;
use anyhow::Context;
use clap::ValueEnum;
use cpu_time::ProcessTime;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// What memory and idle time are measured with.
pub(crate) const SETUP: Setup = Setup { workers: 4, capacity: 1024 };
/// Until the workers have nothing left to spin for.
const SETTLE: Duration = Duration::from_millis(100);

/// What a child measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Question {
    /// Microseconds of processor time in a while without work.
    Idle,
    /// Kibibytes of resident memory that the candidate adds.
    Resident,
}

/// A child that measures.
#[derive(Debug)]
pub struct Asked(Child);

/// Starts this program again, to measure one candidate.
pub fn ask(question: Question, candidate: &str, millis: u64) -> Asked {
    let name = question.to_possible_value().expect("no question is hidden");
    let program = std::env::current_exe().expect("a program knows where it is");
    let child = Command::new(program)
        .args(["--ask", name.get_name(), "--of", candidate, "--millis", &millis.to_string()])
        .stdout(Stdio::piped())
        .spawn();
    Asked(child.expect("a process can be started"))
}

impl Asked {
    /// Waits for the number.
    pub fn answer(self) -> f64 {
        let output = self.0.wait_with_output().expect("the child can be waited for");
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().expect("a child answers with a number")
    }
}

/// Measures, in the child.
pub fn measure(question: Question, name: &str, millis: u64) -> anyhow::Result<f64> {
    let candidates = default_and_peers();
    let candidate = candidates.iter().find(|candidate| candidate.name == name);
    let candidate = candidate.with_context(|| format!("there is no candidate {name}"))?;
    match question {
        Question::Idle => Ok(idle(candidate, Duration::from_millis(millis))),
        Question::Resident => resident(candidate),
    }
}

fn idle(candidate: &Candidate, time: Duration) -> f64 {
    let peer = candidate.start(SETUP);
    // Every worker has had something to do.
    drop(Plug::all(&*peer, SETUP.workers));
    thread::sleep(SETTLE);
    let began = ProcessTime::now();
    thread::sleep(time);
    let used = began.elapsed();
    peer.stop();
    used.as_nanos() as f64 / 1e3
}

fn resident(candidate: &Candidate) -> anyhow::Result<f64> {
    let resident = || memory_stats::memory_stats().map(|stats| stats.physical_mem);
    // The harness's own memory is there before.
    tally::expect(0).wait();
    let before = resident().context("this platform does not tell the resident memory")?;
    let peer = candidate.start(SETUP);
    let jobs = SETUP.capacity as u64;
    let expected = tally::expect(jobs);
    let plug = Plug::all(&*peer, SETUP.workers);
    peer.submit_row(Job::TINY, jobs);
    drop(plug);
    expected.wait();
    thread::sleep(SETTLE);
    let after = resident().context("this platform does not tell the resident memory")?;
    peer.stop();
    Ok((after as f64 - before as f64) / 1024.0)
}
