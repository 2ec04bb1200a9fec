//! A program in a process of its own: the test that starts it is run once more, by the same binary, and is the program
//! there.

use std::fmt::{self, Display};
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Set in a child: what its program is given.
const GIVEN: &str = "DOCKHAND_TEST_GIVEN";
/// How a line begins that a program tells its parent.
const MARK: &str = "@told ";
/// The first thing that it tells.
const BEGAN: &str = "the program began";
/// A child that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a child is started with.
#[derive(Default)]
pub(crate) struct Start {
    given: String,
    /// The most address space it may have, in bytes.
    memory: Option<u64>,
    /// The stack of each thread that does not ask for a size.
    stack: Option<u64>,
    stderr: Option<Stdio>,
}

impl Start {
    pub(crate) fn given(what: impl Display) -> Self {
        Start { given: what.to_string(), ..Start::default() }
    }

    pub(crate) fn memory(self, bytes: u64) -> Self {
        Start { memory: Some(bytes), ..self }
    }

    pub(crate) fn stack(self, bytes: u64) -> Self {
        Start { stack: Some(bytes), ..self }
    }

    pub(crate) fn stderr(self, stderr: impl Into<Stdio>) -> Self {
        Start { stderr: Some(stderr.into()), ..self }
    }

    /// Runs `program` in a child, for the test on whose thread this is called. In the child that is the program itself:
    /// the answer is `None`, the test returns, and so does `main`.
    #[must_use = "in the child the test has to return"]
    #[track_caller]
    pub(crate) fn run(self, program: fn(&str)) -> Option<Ended> {
        if let Ok(given) = std::env::var(GIVEN) {
            tell(BEGAN);
            program(&given);
            return None;
        }
        let began = Instant::now();
        let mut child = self.command().spawn().unwrap();
        let output = output_of(&mut child);
        let status = child.wait().unwrap();
        let ended = Ended { status, took: began.elapsed(), output };
        assert!(ended.output.contains(&format!("{MARK}{BEGAN}")), "it ran nothing: {ended}");
        Some(ended)
    }

    fn command(self) -> Command {
        let binary = std::env::current_exe().unwrap();
        let mut command = match self.memory {
            Some(bytes) => {
                let mut shell = Command::new("sh");
                shell
                    .args(["-c", "ulimit -v \"$0\" && exec \"$@\"", &(bytes / 1024).to_string()])
                    .arg(binary);
                shell
            }
            None => Command::new(binary),
        };
        let test = thread::current();
        command.args([test.name().unwrap(), "--exact", "--nocapture"]);
        // One heap for all threads: each one more would reserve address space.
        command.env(GIVEN, self.given).env("MALLOC_ARENA_MAX", "1").env("RUST_BACKTRACE", "0");
        if let Some(bytes) = self.stack {
            command.env("RUST_MIN_STACK", bytes.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.stderr.unwrap_or_else(Stdio::piped));
        command
    }
}

/// What the child writes until it has ended. One that hangs is killed.
#[track_caller]
fn output_of(child: &mut Child) -> String {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (send, output) = channel();
    thread::spawn(move || {
        let errors = thread::spawn(move || text(stderr));
        let _ = send.send(text(stdout) + &errors.join().unwrap());
    });
    output.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        child.kill().unwrap();
        panic!("the child hangs\n{}", output.recv().unwrap());
    })
}

fn text(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).unwrap();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How a child ended.
pub(crate) struct Ended {
    status: ExitStatus,
    pub(crate) took: Duration,
    output: String,
}

impl Ended {
    /// What the program told, in order.
    pub(crate) fn told(&self) -> Vec<&str> {
        let told = self.output.lines().filter_map(|line| line.strip_prefix(MARK));
        told.skip_while(|line| *line == BEGAN).collect()
    }

    /// It exited with that code, so no signal ended it.
    #[track_caller]
    pub(crate) fn assert_code(&self, code: i32) {
        assert_eq!(self.status.code(), Some(code), "{self}");
    }
}

impl Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {:?}, and wrote:\n{}", self.status, self.took, self.output)
    }
}

/// Tells the parent something. The harness may have begun a line.
pub(crate) fn tell(what: impl Display) {
    // One write, so that lines of several threads stay whole. A parent that is gone needs no answer.
    let _ = io::stdout().write_all(format!("\n{MARK}{what}\n").as_bytes());
}
