//! User code exits, while `main` waits for the pool.

use crate::child::Start;
use crate::exit::CODE;
use crate::support::LONG;
use dockhand::letter::LetterFate;
use dockhand::{Event, OverloadPolicy, Processor, RetryDecision, TaskContext, WorkerPool};
use std::fmt;
use std::process::exit;
use std::thread;
use std::time::Duration;

/// Where.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Task,
    CallerRun,
    Event,
    Classify,
    Display,
    Sink,
    Shed,
    Payload,
    StartHook,
    StopHook,
}

const PLACES: [Place; 10] = [
    Place::Task,
    Place::CallerRun,
    Place::Event,
    Place::Classify,
    Place::Display,
    Place::Sink,
    Place::Shed,
    Place::Payload,
    Place::StartHook,
    Place::StopHook,
];

impl Place {
    /// All of the user's code says where it is.
    fn reach(self, here: Place) {
        if self == here {
            exit(CODE);
        }
    }
}

#[test]
fn any_code_of_the_user_may_exit() {
    for place in 0..PLACES.len() {
        for main in ["drops", "shuts down"] {
            let start = Start::given(format_args!("{place} {main}"));
            let Some(ended) = start.run(exit_while_main_waits) else { return };
            ended.assert_code(CODE);
            assert!(ended.took < LONG, "{ended}");
        }
    }
}

fn exit_while_main_waits(given: &str) {
    let (place, main) = given.split_once(' ').unwrap();
    let place = PLACES[place.parse::<usize>().unwrap()];
    let pool = pool(place);
    // One for the worker, one for the queue, and one that finds it full.
    for _ in 0..3 {
        drop(pool.submit(Load(place)));
    }
    match main {
        "drops" => drop(pool),
        _ => drop(pool.shutdown(Duration::MAX)),
    }
    unreachable!("{place:?}: the process goes on");
}

fn pool(place: Place) -> WorkerPool<Work> {
    let policy = if place == Place::Shed { OverloadPolicy::DropOldest } else { OverloadPolicy::CallerRuns };
    let builder = WorkerPool::builder(Work { place, main: thread::current().id() });
    builder
        .workers(1)
        .queue_capacity(1)
        .overload(policy)
        .drop_timeout(Duration::MAX)
        .on_event(move |event| {
            if let Event::AttemptFailed { .. } = event {
                place.reach(Place::Event);
            }
        })
        .classify(move |_| {
            place.reach(Place::Classify);
            RetryDecision::GiveUp
        })
        .dead_letter_sink(move |_| {
            place.reach(Place::Sink);
            LetterFate::Keep
        })
        .on_shed(move |_| place.reach(Place::Shed))
        .on_worker_start(move |_| place.reach(Place::StartHook))
        .on_worker_stop(move |_| place.reach(Place::StopHook))
        .build()
        .unwrap()
}

struct Work {
    place: Place,
    main: thread::ThreadId,
}

impl Processor for Work {
    type Payload = Load;
    type Output = ();
    type Error = Failed;

    fn process(&self, load: &mut Load, _cx: &TaskContext<'_, Load>) -> Result<(), Failed> {
        let is_main = thread::current().id() == self.main;
        match self.place {
            Place::CallerRun if is_main => self.place.reach(Place::CallerRun),
            // The worker is kept, so that the lane fills.
            Place::CallerRun | Place::Shed => loop {
                thread::park();
            },
            _ => self.place.reach(Place::Task),
        }
        if load.0 == Place::Payload { Ok(()) } else { Err(Failed(self.place)) }
    }
}

/// A payload.
struct Load(Place);

impl Drop for Load {
    fn drop(&mut self) {
        self.0.reach(Place::Payload);
    }
}

/// An error.
struct Failed(Place);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.reach(Place::Display);
        f.write_str("as planned")
    }
}
