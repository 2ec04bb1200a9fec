//! Where and when it was measured.

use std::process::Command;
use std::time::SystemTime;
use std::{env, fs, thread};

/// Processor, cores, system, compiler.
pub(super) fn description() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let (processor, compiler) = (processor(), compiler());
    format!("{processor}, {cores} cores, {} {}, {compiler}", env::consts::OS, env::consts::ARCH)
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    model.unwrap_or_else(|| "unknown processor".to_owned())
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    version.map_or_else(|| "unknown compiler".to_owned(), |version| version.trim().to_owned())
}

/// Year, month, day.
pub(super) fn date() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string().chars().take(10).collect()
}
