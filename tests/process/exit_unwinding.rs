//! The pool is dropped while a panic unwinds. A second panic that left its `Drop` would abort the process.

use crate::child::Start;
use crate::exit::{Token, run_with};
use crate::support::{Gate, eventually, ms};
use dockhand::letter::LetterFate;
use dockhand::{Closures, Lane, Processor, RetryPolicy, TaskContext, TaskOptions, WorkerPool};
use std::fmt;
use std::time::Duration;

/// What the harness exits with after a panic.
const PANICKED: i32 = 101;

#[test]
fn a_panic_in_main_drains_the_pool() {
    let Some(ended) = Start::default().run(panic_with_work_queued) else { return };
    ended.assert_code(PANICKED);
    let mut told = ended.told();
    assert_eq!(told.pop(), Some("dropped: main's"), "{ended}");
    assert_eq!(told, ["ran: queued", "dropped: queued"].repeat(3), "{ended}");
}

fn panic_with_work_queued(_: &str) {
    let _outer = Token("main's");
    let pool = WorkerPool::builder(Closures).workers(1).build().unwrap();
    let plug = Gate::new();
    let (at, open) = (plug.clone(), plug.clone());
    pool.execute(move || at.pass()).into_result().unwrap();
    plug.wait_arrived(1);
    for _ in 0..3 {
        pool.execute(run_with(Token("queued"))).into_result().unwrap();
    }
    // Dropped before the pool.
    let _opener = Defer(move || open.open());
    panic!("main has no more to say");
}

struct Defer<F: FnMut()>(F);

impl<F: FnMut()> Drop for Defer<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Payloads, errors, outputs, panic values, hooks and the processor itself.
#[test]
fn what_panics_when_it_is_dropped_aborts_nothing_while_a_panic_unwinds() {
    for hooks in ["none", "listen and panic"] {
        let Some(ended) = Start::given(hooks).run(panic_with_bombs_everywhere) else { return };
        ended.assert_code(PANICKED);
        assert_eq!(ended.told(), ["dropped: main's"], "{ended}");
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb goes off");
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("a bomb has no text");
    }
}

struct Bombs {
    gate: Gate,
    _own: Bomb,
}

impl Processor for Bombs {
    type Payload = (u8, Bomb);
    type Output = Bomb;
    type Error = Bomb;

    fn process(&self, (kind, _): &mut (u8, Bomb), cx: &TaskContext<'_, (u8, Bomb)>) -> Result<Bomb, Bomb> {
        match kind {
            0 => Ok(Bomb),
            1 => Err(Bomb),
            2 => std::panic::panic_any(Bomb),
            // Comes back when the pool is dropped, or not at all.
            3 => {
                self.gate.pass();
                while cx.checkpoint().is_ok() {
                    std::thread::yield_now();
                }
                Ok(Bomb)
            }
            _ => loop {
                self.gate.pass();
                std::thread::park();
            },
        }
    }
}

fn panic_with_bombs_everywhere(hooks: &str) {
    let _outer = Token("main's");
    let gate = Gate::new();
    let pool = armed(&gate, hooks == "listen and panic");
    gate.open();
    for kind in [3, 4] {
        pool.submit((kind, Bomb)).into_result().unwrap();
    }
    gate.wait_arrived(2);
    // What ends well, and letters, two of them too many.
    for kind in [0, 0, 1, 1, 2, 2] {
        pool.submit((kind, Bomb)).into_result().unwrap();
    }
    let _handle = pool.submitter().submit_tracked((0, Bomb)).unwrap();
    pool.submitter_for("retried").unwrap().submit((1, Bomb)).into_result().unwrap();
    let waits = || pool.metrics().counts.queued;
    eventually("the third worker has run them", || waits() == 0 && pool.metrics().busy_workers == 2);
    let later = TaskOptions::new().delay(Duration::MAX);
    pool.submitter().submit_with((0, Bomb), later).into_result().unwrap();
    assert_eq!((pool.dead_letters().len(), pool.metrics().counts.delayed), (2, 2));
    panic!("main has no more to say");
}

fn armed(gate: &Gate, listens: bool) -> WorkerPool<Bombs> {
    let retry = RetryPolicy::fixed(Duration::MAX).max_delay(Duration::MAX);
    let builder = WorkerPool::builder(Bombs { gate: gate.clone(), _own: Bomb })
        .workers(3)
        .drop_timeout(ms(50))
        .dead_letter_capacity(2)
        .lane(Lane::new("retried").retry(retry));
    if !listens {
        return builder.build().unwrap();
    }
    let own = Bomb;
    let builder = builder
        .on_event(move |_| {
            let _ = &own;
            panic!("a listener");
        })
        .on_shed(drop)
        .dead_letter_sink(|_| -> LetterFate { panic!("a sink") })
        .on_worker_stop(|_| panic!("a stop hook"));
    builder.build().unwrap()
}
