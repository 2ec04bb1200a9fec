//! What a script, and user code inside a pool, can do to a pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use dockhand::metrics::Phase;
use dockhand::{RejectReason, TaskSubmitter};
use fastrand::Rng;

use crate::book::Book;
use crate::cargo::Cargo;
use crate::crew::Crew;
use crate::findings;
use crate::hands::Hands;
use crate::panics::discard;
use crate::pool::{Pool, Stepping};
use crate::{closing, handles, letters, offers, totals};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Submit,
    SubmitWith,
    SubmitTimeout,
    SubmitBatch,
    SubmitTracked,
    /// A task that lets go of a hold on the pool, perhaps the last one.
    SubmitBallast,
    UseHandle,
    KeepSubmitter,
    UseSubmitter,
    Look,
    SetLimit,
    WaitIdle,
    Letters,
    BeginShutdown,
    Shutdown,
    Step,
    Park,
}

/// How often each is drawn: by a thread's script, and by user code.
const WEIGHTS: [(Act, u32, u32); 17] = [
    (Act::Submit, 2600, 3000),
    (Act::SubmitWith, 1500, 1200),
    (Act::SubmitTimeout, 700, 600),
    (Act::SubmitBatch, 400, 200),
    (Act::SubmitTracked, 2000, 1200),
    (Act::SubmitBallast, 60, 60),
    (Act::UseHandle, 1400, 0),
    (Act::KeepSubmitter, 60, 0),
    (Act::UseSubmitter, 300, 0),
    (Act::Look, 500, 1200),
    (Act::SetLimit, 400, 300),
    (Act::WaitIdle, 60, 300),
    (Act::Letters, 500, 700),
    (Act::BeginShutdown, 4, 15),
    (Act::Shutdown, 8, 40),
    (Act::Step, 1500, 150),
    (Act::Park, 100, 300),
];

impl Act {
    pub(crate) fn outside(rng: &mut Rng) -> Act {
        Act::draw(rng, |&(_, outside, _)| outside)
    }

    pub(crate) fn inside(rng: &mut Rng) -> Act {
        Act::draw(rng, |&(_, _, inside)| inside)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Act::Submit => "submit",
            Act::SubmitWith => "submit_with",
            Act::SubmitTimeout => "submit_timeout",
            Act::SubmitBatch => "submit_batch",
            Act::SubmitTracked => "submit_tracked",
            Act::SubmitBallast => "submit of a hold on the pool",
            Act::UseHandle => "use of a handle",
            Act::KeepSubmitter => "submitter_for",
            Act::UseSubmitter => "use of a submitter",
            Act::Look => "metrics and status",
            Act::SetLimit => "set_max_concurrency",
            Act::WaitIdle => "wait_idle",
            Act::Letters => "dead_letters",
            Act::BeginShutdown => "begin_shutdown",
            Act::Shutdown => "shutdown",
            Act::Step => "a step of a manual pool",
            Act::Park => "park",
        }
    }

    /// Whether it may keep a pool from coming to rest, or ends it.
    fn disturbs(self) -> bool {
        matches!(self, Act::SetLimit | Act::BeginShutdown | Act::Shutdown)
    }

    /// Whether it may run tasks of a manual pool on this thread.
    fn may_step(self) -> bool {
        // A handle is of a pool of its own, which is looked at where it is used.
        !matches!(self, Act::UseHandle)
    }

    fn draw(rng: &mut Rng, weight: impl Fn(&(Act, u32, u32)) -> u32) -> Act {
        let all: u32 = WEIGHTS.iter().map(&weight).sum();
        let mut roll = rng.u32(..all);
        for entry in &WEIGHTS {
            let weight = weight(entry);
            if roll < weight {
                return entry.0;
            }
            roll -= weight;
        }
        Act::Look
    }
}

/// Where an act is done.
pub(crate) struct Scene<'a> {
    pub(crate) pool: Arc<Pool>,
    pub(crate) rng: &'a mut Rng,
    /// What a script's thread keeps between its acts. User code keeps nothing, and waits only briefly.
    pub(crate) hands: Option<&'a mut Hands>,
}

impl Scene<'_> {
    pub(crate) fn book(&self) -> Arc<Book> {
        Arc::clone(&self.pool.book)
    }

    pub(crate) fn is_outside(&self) -> bool {
        self.hands.is_some()
    }

    /// A short time.
    pub(crate) fn while_short(&mut self) -> Duration {
        Duration::from_micros(self.rng.u64(..3000))
    }

    pub(crate) fn cargo(&mut self) -> Cargo {
        // What user code sends off sends nothing off itself: or a pool would never be idle.
        let generation = if self.is_outside() { 0 } else { u8::MAX };
        Cargo::new(&self.pool.book, self.rng, generation)
    }

    /// A submitter of some lane, under some policy. Refused for a lane that the pool does not have.
    pub(crate) fn submitter(&mut self) -> Option<(TaskSubmitter<Crew>, bool)> {
        let book = self.book();
        let lane = book.any_lane(self.rng);
        let known = book.lanes.iter().find(|known| known.name == lane);
        match (self.pool.submitter_for(lane), known) {
            (Ok(submitter), Some(facts)) if self.rng.u32(..3) == 0 => {
                Some((submitter.with_overload(offers::any_policy(self.rng)), facts.is_limited))
            }
            (Ok(submitter), Some(facts)) => Some((submitter, facts.is_limited)),
            (Err(RejectReason::UnknownLane), None) => None,
            (answer, _) => {
                findings::other(format!("lane {lane}: {:?}", answer.map(drop)));
                None
            }
        }
    }
}

/// Does it. No panic leaves a call of the pool, so none leaves this.
pub(crate) fn run(act: Act, scene: Scene<'_>) {
    totals::operation();
    let done = catch_unwind(AssertUnwindSafe(|| play(act, scene)));
    if let Err(value) = done {
        discard(value);
        findings::other(format!("a panic got out of {act:?}"));
    }
}

fn play(act: Act, mut scene: Scene<'_>) {
    let (pool, book) = (Arc::clone(&scene.pool), scene.book());
    let stepping = act.may_step().then(|| Stepping::begin(&pool));
    let disturbing = act.disturbs().then(|| book.disturb());
    if matches!(stepping, Some(None)) || matches!(disturbing, Some(None)) {
        return;
    }
    match act {
        Act::Submit => offers::submit(&mut scene),
        Act::SubmitWith => offers::submit_with(&mut scene),
        Act::SubmitTimeout => offers::submit_timeout(&mut scene),
        Act::SubmitBatch => offers::submit_batch(&mut scene),
        Act::SubmitTracked => handles::submit_tracked(&mut scene),
        Act::SubmitBallast => offers::submit_ballast(&mut scene),
        Act::UseHandle => handles::use_kept(&mut scene),
        Act::KeepSubmitter => keep_submitter(&mut scene),
        Act::UseSubmitter => use_submitter(&mut scene),
        Act::Look => look(&scene.pool),
        Act::SetLimit => set_limit(&mut scene),
        Act::WaitIdle => {
            let timeout = scene.while_short();
            // Whether it is idle, nobody can say here.
            let _ = scene.pool.wait_idle(timeout);
        }
        Act::Letters => letters::sort(&mut scene),
        Act::BeginShutdown => scene.pool.begin_shutdown(),
        Act::Shutdown => closing::shut_down(&mut scene),
        Act::Step => step(&mut scene),
        Act::Park => {
            std::thread::current().unpark();
            if scene.rng.bool() {
                std::thread::park_timeout(Duration::from_micros(200));
            }
        }
    }
}

fn look(pool: &Pool) {
    let metrics = pool.metrics();
    if metrics.live_workers < metrics.busy_workers {
        findings::other(format!("more busy than live workers: {metrics:?}"));
    }
    let status = pool.status();
    // Their texts are made of what user code has named.
    let _ = format!("{metrics:?}{status:?}");
}

fn set_limit(scene: &mut Scene<'_>) {
    let book = scene.book();
    let lane = &book.lanes[scene.rng.usize(..book.lanes.len())];
    let answer = scene.pool.set_max_concurrency(lane.name, scene.rng.usize(..4));
    let expected = if lane.is_limited { Ok(()) } else { Err(RejectReason::NotLimited) };
    if answer != expected {
        findings::other(format!("limit of {lane:?}: {answer:?}"));
    }
}

fn step(scene: &mut Scene<'_>) {
    let Some(manual) = scene.pool.manual() else { return look(&scene.pool) };
    match scene.rng.u32(..4) {
        0 => manual.advance(Duration::from_micros(scene.rng.u64(..5000))),
        1 => drop(manual.advance_to_next_due()),
        2 => drop(manual.run_one()),
        // As often as it is fed by others it would go on.
        _ => (0..200).take_while(|_| manual.run_one()).for_each(drop),
    }
}

fn keep_submitter(scene: &mut Scene<'_>) {
    let Some((submitter, _)) = scene.submitter() else { return };
    let book = scene.book();
    if let Some(hands) = &mut scene.hands {
        hands.keep_submitter(book, submitter);
    }
}

fn use_submitter(scene: &mut Scene<'_>) {
    let kept = scene.hands.as_mut().and_then(|hands| hands.any_submitter(scene.rng));
    if let Some((book, submitter)) = kept.filter(|(book, _)| !book.is_calm()) {
        offer(&book, &submitter, scene.rng);
    }
}

/// Offers to a pool of which there may be nothing left but the submitter.
pub(crate) fn offer(book: &Arc<Book>, submitter: &TaskSubmitter<Crew>, rng: &mut Rng) {
    let cargo = Cargo::new(book, rng, u8::MAX);
    let number = cargo.number;
    offers::keep_books(book, number, submitter.submit(cargo));
}

pub(crate) fn is_open(pool: &Pool) -> bool {
    pool.status().phase == Phase::Open
}
