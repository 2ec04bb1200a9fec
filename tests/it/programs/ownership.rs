//! Where a pool lives: in a field, made by a function that names its type, and in a `static`.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::{BoxError, BuildError, Closures, ProcessorFn, TaskSubmitter, WorkerPool, processor_fn};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

struct Mail {
    to: String,
}

/// A service that owns its pool. Dropping it delivers what is left.
struct Mailer {
    pool: WorkerPool<ProcessorFn<Mail>>,
}

impl Mailer {
    fn start(outbox: Arc<Mutex<Vec<String>>>) -> Result<Self, BuildError> {
        let pool = WorkerPool::builder(processor_fn(move |mail: &mut Mail, _cx| {
            outbox.lock().unwrap().push(mail.to.clone());
            Ok(())
        }))
        .name("mailer")
        .workers(1)
        .drop_timeout(PATIENCE)
        .build()?;
        Ok(Mailer { pool })
    }

    fn send(&self, to: &str) -> Result<(), Mail> {
        match self.pool.submit(Mail { to: to.to_string() }).into_payload() {
            Some(unsent) => Err(unsent),
            None => Ok(()),
        }
    }

    /// For those who only send, and may outlive the service.
    fn submitter(&self) -> TaskSubmitter<ProcessorFn<Mail>> {
        self.pool.submitter()
    }
}

#[test]
fn a_pool_in_a_field_drains_when_its_owner_is_dropped() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let outbox = Arc::new(Mutex::new(Vec::new()));
    let mailer = Mailer::start(outbox.clone())?;
    let submitter = mailer.submitter();
    for to in ["ann", "bob", "eve"] {
        mailer.send(to).map_err(|unsent| format!("no room for {}", unsent.to))?;
    }
    drop(mailer);
    assert_eq!(*outbox.lock().unwrap(), ["ann", "bob", "eve"]);
    let unsent = submitter.submit(Mail { to: "late".into() }).into_payload();
    assert_eq!(unsent.map(|mail| mail.to), Some("late".to_string()));
    Ok(())
}

static BACKGROUND: LazyLock<WorkerPool<Closures>> = LazyLock::new(|| {
    let pool = WorkerPool::builder(Closures).name("background").workers(1).build();
    pool.expect("a pool of one worker can be built")
});

#[test]
fn a_lazy_static_pool_is_there_for_every_thread() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let (answer, answers) = channel();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let answer = answer.clone();
            scope.spawn(move || BACKGROUND.execute(move || answer.send(n).unwrap()).into_result().is_ok());
        }
    });
    let mut got = [0; 4].map(|_: i32| answers.recv_timeout(PATIENCE).unwrap());
    got.sort_unstable();
    assert_eq!(got, [0, 1, 2, 3]);
    Ok(())
}

/// Set up in `main`, with what only `main` knows.
static LOGGER: OnceLock<WorkerPool<ProcessorFn<String>>> = OnceLock::new();

fn log_line(line: &str) -> bool {
    LOGGER.get().is_some_and(|pool| pool.submit(line.to_string()).into_result().is_ok())
}

#[test]
fn a_static_pool_that_main_sets_up_can_be_shut_down_by_main() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    assert!(!log_line("too early"));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let file = lines.clone();
    let append = processor_fn(move |line: &mut String, _cx| {
        file.lock().unwrap().push(std::mem::take(line));
        Ok(())
    });
    let pool = WorkerPool::builder(append).workers(1).build()?;
    LOGGER.set(pool).map_err(|_| "set twice")?;

    assert!(log_line("one") && log_line("two"));
    // A static is never dropped: `main` ends it.
    let pool = LOGGER.get().ok_or("it was set")?;
    assert!(pool.shutdown(PATIENCE).is_clean());
    assert!(!log_line("too late"));
    assert_eq!(*lines.lock().unwrap(), ["one", "two"]);
    Ok(())
}
