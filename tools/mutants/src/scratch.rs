//! A copy of the library that may be spoilt.

use crate::table::Mutant;
use std::error::Error;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) struct Scratch {
    copy: PathBuf,
    target: PathBuf,
}

/// What a model said.
pub(crate) enum Verdict {
    Passed,
    /// With the line that tells why.
    Failed(String),
    TimedOut,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Passed => f.write_str("passed"),
            Verdict::Failed(why) => f.write_str(why),
            Verdict::TimedOut => f.write_str("not done in time"),
        }
    }
}

/// The compiled models.
pub(crate) struct Program(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let source = root().canonicalize()?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| source.join("target"), PathBuf::from);
        let target = std::path::absolute(target)?.join("mutants");
        let copy = target.join("dockhand");
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        copy_tree(&source.join("src"), &copy.join("src"))?;
        for entry in fs::read_dir(&source)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if path.extension().is_some_and(|end| end == "md") || name == "Cargo.lock" {
                fs::copy(&path, copy.join(name))?;
            }
        }
        let manifest = fs::read_to_string(source.join("Cargo.toml"))?;
        fs::write(copy.join("Cargo.toml"), library_only(&manifest))?;
        Ok(Scratch { copy, target })
    }

    /// Runs `work` on the copy with one change in it, and takes the change back.
    pub(crate) fn with<R>(
        &self,
        mutant: &Mutant,
        work: impl FnOnce() -> Result<R, Box<dyn Error>>,
    ) -> Result<R, Box<dyn Error>> {
        let path = self.copy.join(mutant.file);
        let text = fs::read_to_string(&path)?;
        let found = text.matches(mutant.find).count();
        if found != 1 {
            return Err(format!("{}: its text is {found} times in {}", mutant.name, mutant.file).into());
        }
        fs::write(&path, text.replacen(mutant.find, mutant.replace, 1))?;
        let result = work();
        fs::write(&path, text)?;
        result
    }

    /// Compiles the models of the copy as it is.
    pub(crate) fn build(&self) -> Result<Program, Box<dyn Error>> {
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["test", "--profile", "loom", "--lib", "--no-run", "--message-format", "json"])
            .current_dir(&self.copy)
            .env("RUSTFLAGS", "--cfg dockhand_loom")
            .env("CARGO_TARGET_DIR", &self.target)
            // One file changes from build to build.
            .env("CARGO_PROFILE_LOOM_INCREMENTAL", "true")
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let messages = String::from_utf8(output.stdout)?;
        let mut programs = messages.lines().filter_map(|line| line.split_once(r#""executable":""#));
        let (_, rest) = programs.next_back().ok_or("cargo names no program")?;
        let (path, _) = rest.split_once('"').ok_or("cargo's message has no end")?;
        Ok(Program(path.replace(r"\\", r"\").into()))
    }
}

/// The library that this workspace is about.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Program {
    pub(crate) fn run(&self, test: &str, limit: Duration) -> Result<Verdict, Box<dyn Error>> {
        // A file instead of a pipe: nobody has to read while it runs.
        let log = self.0.with_extension("log");
        let out = fs::File::create(&log)?;
        let mut child = Command::new(&self.0)
            .args(["--exact", &format!("models::{test}"), "--nocapture", "--test-threads", "1"])
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(Verdict::TimedOut);
            }
            sleep(Duration::from_millis(20));
        };
        let log = String::from_utf8_lossy(&fs::read(log)?).into_owned();
        if !log.contains("running 1 test") {
            return Err(format!("there is no model {test}").into());
        }
        Ok(if status.success() { Verdict::Passed } else { Verdict::Failed(why(&log)) })
    }
}

/// The line after the first panic's place.
fn why(log: &str) -> String {
    let mut lines = log.lines().skip_while(|line| !line.contains("panicked at")).skip(1);
    let line = lines.next().unwrap_or("it ended without a panic");
    line.chars().take(90).collect()
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// The manifest without other members, and without the benches, examples and tests that are not copied.
fn library_only(manifest: &str) -> String {
    let mut kept = String::new();
    let mut keeps = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            keeps = !line.starts_with("[[");
        }
        let names_members = line.starts_with("members") || line.starts_with("default-members");
        if keeps && !names_members {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}
