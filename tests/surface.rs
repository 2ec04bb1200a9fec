//! What holds of the public types for every payload and every processor: they can be sent, shared and caught across an
//! unwinding, and `Debug` asks nothing of what is the user's.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use dockhand::letter::{DeadLetterReason, DeadLetters, LetterFate, LetterInfo};
use dockhand::metrics::{Counts, LaneMetrics, Phase, PoolMetrics, PoolStatus, WorkerStatus};
use dockhand::*;
use std::cell::Cell;
use std::fmt::{self, Debug, Display};
use std::hash::Hash;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A payload that can be sent and nothing else.
struct Payload(Cell<u8>);

/// An error that can be shown, and has no `Debug`.
struct Failed(Box<dyn Display + Send + Sync>);

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A processor without `Debug` and, because of what it holds, without any promise for unwinding.
struct Work(Box<dyn Fn(u8) -> bool + Send + Sync>);

impl Processor for Work {
    type Payload = Payload;
    type Output = Cell<u8>;
    type Error = Failed;

    fn process(&self, payload: &mut Payload, _cx: &TaskContext<'_, Payload>) -> Result<Cell<u8>, Failed> {
        if (self.0)(payload.0.get()) { Ok(payload.0.clone()) } else { Err(Failed(Box::new("no"))) }
    }
}

type ErasedWork = dyn Processor<Payload = Payload, Output = Cell<u8>, Error = Failed>;
type Function = ProcessorFn<Payload, Cell<u8>, Failed>;

fn send<T: ?Sized + Send>() {}
fn sync<T: ?Sized + Sync>() {}
fn unpin<T: Unpin>() {}
fn unwind_safe<T: ?Sized + UnwindSafe>() {}
fn ref_unwind_safe<T: ?Sized + RefUnwindSafe>() {}
fn debug<T: ?Sized + Debug>() {}
fn error<T: std::error::Error + Send + Sync + 'static>() {}
fn processor<P: Processor>() {}

/// What is passed on, kept in fields and in statics, and used after a panic.
fn handle<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Debug>() {}

/// What is looked at, compared and kept.
fn value<T: Clone + PartialEq + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}

/// A small value, which is a key of a map as well.
fn key<T: Copy + Eq + Hash + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}

#[test]
fn handles_are_shared_and_used_after_a_panic_whatever_the_processor_holds() {
    handle::<WorkerPool<Work>>();
    handle::<WorkerPool<Function>>();
    handle::<WorkerPool<std::sync::Arc<ErasedWork>>>();
    handle::<WorkerPool<Closures>>();
    handle::<TaskSubmitter<Work>>();
    handle::<TaskSubmitter<Function>>();
    handle::<TaskSubmitter<Closures>>();
    handle::<DeadLetters<'static, Work>>();
    handle::<TaskHandle<Work>>();
    handle::<TaskHandle<Function>>();
    handle::<TaskHandle<Closures>>();
    handle::<TaskHandle<std::sync::Arc<ErasedWork>>>();
}

#[test]
fn a_handle_is_a_future_that_can_be_spawned() {
    fn spawned<F: Future + Send + 'static>() {}
    fn gives<P: Processor, F: Future<Output = Result<P::Output, TaskError<P::Error>>>>() {}
    spawned::<TaskHandle<Function>>();
    spawned::<TaskHandle<Closures>>();
    gives::<Work, TaskHandle<Work>>();
    gives::<std::sync::Arc<ErasedWork>, TaskHandle<std::sync::Arc<ErasedWork>>>();
}

#[test]
fn a_submitter_is_cloned_without_a_clone_of_its_processor() {
    fn is_clone<T: Clone>() {}
    is_clone::<TaskSubmitter<Work>>();
}

#[test]
fn refusals_are_errors_that_can_be_shared_for_every_payload_that_can_be_sent() {
    error::<Rejection<Payload>>();
    error::<Rejection<Closure>>();
    error::<Rejection<Box<dyn FnOnce() + Send>>>();
    error::<RejectReason>();
    error::<BuildError>();
    error::<WaitError>();
    error::<Interrupted>();
    // The failure of a letter has the user's error inside.
    error::<Failure<Failed>>();
    error::<TaskError<Failed>>();
    error::<TaskError<std::convert::Infallible>>();
    unwind_safe::<Rejection<Payload>>();
    ref_unwind_safe::<Rejection<Payload>>();
}

#[test]
fn what_carries_a_payload_is_sent_and_shown_without_asking_anything_of_it() {
    fn carrier<T: Send + Debug + Unpin>() {}
    carrier::<SubmitResult<Payload>>();
    carrier::<BatchResult<Payload>>();
    carrier::<Rejection<Payload>>();
    carrier::<Shed<Payload>>();
    carrier::<DeadLetter<Payload, Failed>>();
    carrier::<Failure<Failed>>();
    carrier::<ShutdownReport<Payload>>();
    carrier::<CancelOutcome<Payload>>();
    carrier::<CancelOutcome<Closure>>();
    carrier::<Closure>();
    carrier::<ProcessorFn<Payload, Cell<u8>, Failed>>();
    carrier::<PoolBuilder<Work>>();
    debug::<Cause<'_, Failed>>();
    debug::<Cause<'_, dyn Display>>();
    debug::<Event<'_>>();
    send::<TaskOptions>();
}

#[test]
fn a_context_is_shared_with_scoped_threads_whatever_the_payload() {
    sync::<TaskContext<'_, Payload>>();
    send::<TaskContext<'_, Payload>>();
    debug::<TaskContext<'_, Payload>>();
    unpin::<TaskContext<'_, Payload>>();
}

#[test]
fn what_is_known_of_tasks_is_plain_values() {
    key::<TaskId>();
    key::<Outcome>();
    key::<OverloadPolicy>();
    key::<DeadLetterReason>();
    value::<TaskInfo>();
    value::<TaskStatus>();
    value::<TaskOptions>();
    value::<Progress>();
    value::<Timing>();
    value::<CallerRun>();
    value::<RejectReason>();
    value::<RetryDecision>();
    value::<RetryPolicy>();
    value::<IdleStrategy>();
    value::<WaitError>();
    value::<Interrupted>();
    value::<LetterFate>();
    value::<Counts>();
    value::<Phase>();
}

#[test]
fn snapshots_are_cloned_and_passed_on() {
    fn snapshot<T: Clone + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
    snapshot::<PoolMetrics>();
    snapshot::<LaneMetrics>();
    snapshot::<PoolStatus>();
    snapshot::<WorkerStatus>();
    snapshot::<LetterInfo>();
    snapshot::<Lane>();
}

#[test]
fn processors_are_boxed_shared_and_erased() {
    processor::<Work>();
    processor::<Function>();
    processor::<Closures>();
    processor::<std::sync::Arc<Work>>();
    processor::<std::sync::Arc<ErasedWork>>();
    processor::<std::sync::Arc<std::sync::Arc<ErasedWork>>>();
    send::<ErasedWork>();
    sync::<ErasedWork>();
}

/// What `{:?}` prints of each type that holds something of the user's.
#[test]
fn debug_shows_what_is_known_and_never_the_payload() {
    let pool = WorkerPool::builder(Work(Box::new(|n| n > 0))).workers(1).queue_capacity(4);
    assert!(format!("{pool:?}").starts_with("PoolBuilder { config:"));
    let pool = pool.build().unwrap();
    assert!(format!("{pool:?}").starts_with("WorkerPool { workers: 1, lanes: 1"));
    let submitter = pool.submitter();
    assert_eq!(format!("{submitter:?}"), r#"TaskSubmitter { lane: "default", overload: Reject, .. }"#);
    let later = TaskOptions::new().delay(std::time::Duration::MAX);
    let handle = submitter.submit_tracked_with(Payload(Cell::new(0)), later).unwrap();
    assert_eq!(format!("{handle:?}"), format!("TaskHandle {{ id: {:?}, stage: Delayed, .. }}", handle.id()));
    assert_eq!(format!("{:?}", handle.cancel()), "Cancelled(..)");
    assert_eq!(format!("{:?}", handle.cancel()), "TooLate");
    assert_eq!(format!("{:?}", handle.wait().map(|_| ())), "Err(Cancelled)");
    let id = submitter.submit(Payload(Cell::new(0))).into_result().unwrap();
    let report = pool.shutdown(std::time::Duration::from_secs(30));
    assert!(format!("{report:?}").starts_with("ShutdownReport { abandoned: [], still_running: []"));
    let letters = pool.dead_letters();
    assert_eq!(format!("{letters:?}"), "DeadLetters { len: 1 }");
    let letter = letters.take(id).unwrap();
    assert!(format!("{letter:?}").ends_with("failure: Failure(Error(..)), .. }"));
    let refused = submitter.submit(Payload(Cell::new(0)));
    assert_eq!(format!("{refused:?}"), "Rejected(Rejection { reason: Closed, .. })");
    let cx = TaskContext::<Payload>::detached();
    assert!(format!("{cx:?}").contains(r#"lane: "default", attempt: 1"#));
    assert_eq!(format!("{:?}", Closure::new(|| ())), "Closure(..)");
}

/// The lines of a program, from its first `use` on, without their indentation.
fn program<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let from_use = lines.map(str::trim).skip_while(|line| !line.starts_with("use dockhand"));
    from_use.take_while(|line| !line.starts_with("```")).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_quickstart_is_the_same_in_the_readme_at_the_crate_root_and_among_the_examples() {
    let read =
        |file: &str| std::fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (example, readme, root) = (read("examples/quickstart.rs"), read("README.md"), read("src/lib.rs"));
    let example = program(example.lines());
    assert!(example.len() > 10);
    assert_eq!(program(readme.lines()), example);
    assert_eq!(program(root.lines().filter_map(|line| line.strip_prefix("//!"))), example);
}
