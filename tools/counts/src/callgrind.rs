//! Runs this command under callgrind and reads how many instructions it took.

use crate::scenario::Scenario;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The instructions of one operation of each scenario, in their order. Runs as many at a time as there are cores:
/// counts do not disturb each other as times would.
pub(crate) fn count_all(
    scenarios: &'static [Scenario],
    operations: u64,
) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let todo = Mutex::new(scenarios.iter());
    let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let counted = std::iter::from_fn(next).map(|scenario| per_operation(scenario.name, operations));
        counted.collect::<anyhow::Result<Vec<_>>>()
    };
    let mut found = BTreeMap::new();
    thread::scope(|scope| {
        let at_a_time = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..at_a_time).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            found.extend(thread.join().expect("a counting thread does not panic")?);
        }
        anyhow::Ok(())
    })?;
    Ok(scenarios.iter().map(|scenario| (scenario.name, scenario.own(&found))).collect())
}

fn per_operation(name: &'static str, operations: u64) -> anyhow::Result<(&'static str, f64)> {
    let (once, twice) = (instructions(name, operations)?, instructions(name, 2 * operations)?);
    Ok((name, (twice as f64 - once as f64) / operations as f64))
}

fn instructions(name: &str, operations: u64) -> anyhow::Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(std::env::current_exe()?).args(["--run", name, &operations.to_string()]);
    let output = match valgrind.output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("valgrind is not installed: apt-get install -y valgrind")
        }
        Err(error) => return Err(error).context("valgrind"),
    };
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{name:?} ends with {}: {told}", output.status);
    }
    collected(&told).with_context(|| format!("callgrind tells no count of {name:?}: {told}"))
}

/// From the line `==123== Collected : 456`.
fn collected(told: &str) -> Option<u64> {
    let count = told.lines().find_map(|line| line.split_once("Collected : "))?.1;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_what_callgrind_tells() {
        let told = "==7== Events    : Ir\n==7== Collected : 4567\n==7== \n";
        assert_eq!(collected(told), Some(4567));
        assert_eq!(collected("==7== Command: x"), None);
    }
}
