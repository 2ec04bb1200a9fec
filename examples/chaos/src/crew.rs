//! The processor: what attempts do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dockhand::{Processor, TaskContext, TaskOptions};
use fastrand::Rng;

use crate::book::Book;
use crate::cargo::{Captured, Cargo, Fault, Receipt};
use crate::mischief;
use crate::offers;
use crate::panics::blow;
use crate::parting;
use crate::totals;

/// Follow-ups of follow-ups end here.
const LAST_GENERATION: u8 = 3;

pub(crate) struct Crew {
    captured: Captured,
}

impl Crew {
    pub(crate) fn new(book: &Arc<Book>) -> Self {
        Crew { captured: Captured::new(book) }
    }
}

impl Processor for Crew {
    type Payload = Cargo;
    type Output = Receipt;
    type Error = Fault;

    fn process(&self, cargo: &mut Cargo, cx: &TaskContext<'_, Cargo>) -> Result<Receipt, Fault> {
        let started = Instant::now();
        let book = &self.captured.book;
        book.ledger().ran(cargo.number);
        if let Some(probe) = cargo.probe.take() {
            // Whoever asked may have given up.
            let _ = probe.send(started);
            return Ok(Receipt::new(book));
        }
        drop(cargo.ballast.take());
        let mut rng = Rng::with_seed(cargo.seed ^ u64::from(cx.attempt()));
        mischief::often(book);
        deed(cargo, cx, &mut rng)
    }
}

/// What one attempt does.
fn deed(cargo: &Cargo, cx: &TaskContext<'_, Cargo>, rng: &mut Rng) -> Result<Receipt, Fault> {
    let book = &cargo.book;
    match rng.u32(..10_000) {
        0..4800 => {}
        4800..6800 => return Err(Fault::new(book)),
        6800..7400 => blow(rng),
        7400..8000 => follow_up(cargo, cx, rng),
        8000..8200 => std::thread::sleep(Duration::from_micros(rng.u64(..300))),
        8200..8400 => spin_until_interrupted(cx, Duration::from_micros(rng.u64(..1000))),
        8400 => spin_until_interrupted(cx, Duration::from_millis(rng.u64(..150))),
        // Longer than the grace of a shutdown: it comes back after the report.
        8401 => std::thread::sleep(Duration::from_millis(rng.u64(90..160))),
        8402..8800 => (1..=rng.u64(1..8)).for_each(|step| cx.report_progress(step, 8)),
        8800..9000 => return cx.checkpoint().map(|()| Receipt::new(book)).map_err(|_| Fault::new(book)),
        9000..9200 => {
            // A stale token for whoever parks on this thread next, and a park that a token ends.
            std::thread::current().unpark();
            std::thread::park();
            std::thread::current().unpark();
        }
        9200..9250 => parting::leave_behind(book),
        _ => std::thread::yield_now(),
    }
    Ok(Receipt::new(book))
}

fn follow_up(cargo: &Cargo, cx: &TaskContext<'_, Cargo>, rng: &mut Rng) {
    if cargo.generation >= LAST_GENERATION {
        return;
    }
    let book = &cargo.book;
    for _ in 0..rng.u32(1..3) {
        let lane = book.any_lane(rng);
        let next = Cargo::new(book, rng, cargo.generation + 1);
        let number = next.number;
        let answer = if rng.bool() {
            cx.submit(lane, next)
        } else {
            cx.submit_with(lane, next, TaskOptions::new().delay(Duration::from_micros(rng.u64(..3000))))
        };
        offers::keep_books(book, number, answer);
    }
    totals::reached("followed_up");
}

fn spin_until_interrupted(cx: &TaskContext<'_, Cargo>, longest: Duration) {
    let end = Instant::now() + longest;
    while !cx.is_interrupted() && Instant::now() < end {
        std::thread::yield_now();
    }
}
