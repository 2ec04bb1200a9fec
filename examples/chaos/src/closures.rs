//! A short life of a pool of closures.

use std::sync::Arc;
use std::time::Duration;

use dockhand::{Closure, Closures, Event, SubmitResult, TaskSubmitter, WorkerPool};
use fastrand::Rng;

use crate::book::Book;
use crate::cargo::Captured;
use crate::ledger::{Hears, check_law};
use crate::offers::any_policy;
use crate::panics::{blow, contained, discard};
use crate::{findings, totals};

/// Builds one, has it run some closures, and ends it from outside or from one of its own closures.
pub(crate) fn live_and_die(rng: &mut Rng, workers: Option<usize>) {
    let hears = Hears { events: true, shed: false };
    let book = Book::new(rng.u64(..), hears, Vec::new());
    let keeper = Arc::clone(&book);
    let built = WorkerPool::builder(Closures)
        .name(book.name.as_str())
        .workers(workers.unwrap_or_else(|| rng.usize(1..5)))
        .queue_capacity(rng.usize(1..16))
        .overload(any_policy(rng))
        .drop_timeout(Duration::from_millis(rng.u64(..20)))
        .on_event(move |event| {
            if let Event::Ended { task, outcome, .. } = event {
                keeper.ledger().told(task.id, *outcome);
            }
        })
        .build();
    match built {
        Ok(pool) => {
            totals::pool();
            use_and_end(&book, Arc::new(pool), rng);
        }
        Err(error) => findings::other(format!("{}: {error}", book.name)),
    }
}

fn use_and_end(book: &Arc<Book>, pool: Arc<WorkerPool<Closures>>, rng: &mut Rng) {
    let submitter = pool.submitter();
    for _ in 0..rng.u32(1..60) {
        totals::operation();
        let work = any_work(book, &submitter, rng);
        let answer = if rng.bool() { pool.execute(work) } else { submitter.execute(work) };
        keep_books(book, answer, true);
    }
    if rng.bool() {
        let report = pool.shutdown(Duration::from_millis(rng.u64(..50)));
        let counts = report.counts;
        report.abandoned.into_iter().for_each(|shed| discard(shed.payload));
        if let Some(finding) = check_law("closures", &counts) {
            book.note(&finding);
        }
        book.reported(&counts);
    } else {
        // Here or there, it goes with the last hold.
        keep_books(book, submitter.execute(move || drop(pool)), false);
    }
}

fn any_work(
    book: &Arc<Book>,
    submitter: &TaskSubmitter<Closures>,
    rng: &mut Rng,
) -> impl FnOnce() + Send + 'static {
    let (captured, submitter, mut rng) = (Captured::new(book), submitter.clone(), rng.fork());
    move || match rng.u32(..6) {
        0 => blow(&mut rng),
        1 => std::thread::sleep(Duration::from_micros(rng.u64(..200))),
        2 => keep_books(&captured.book, submitter.execute(|| ()), false),
        // The drop of what it has captured may panic.
        _ => drop(captured),
    }
}

fn keep_books(book: &Arc<Book>, answer: SubmitResult<Closure>, may_run: bool) {
    match answer {
        SubmitResult::Accepted(task) => book.accepted(task),
        SubmitResult::CallerRun(run) => book.caller_ran(run.id, run.outcome),
        refused => {
            let Err(refused) = refused.into_result() else { return };
            book.refused(refused.reason());
            let closure = refused.into_payload();
            if may_run {
                let _ = contained(|| closure.run());
            } else {
                discard(closure);
            }
        }
    }
}
