//! The hooks of a pool: they keep the ledger, and do mischief.

use std::sync::Arc;
use std::time::Duration;

use dockhand::letter::LetterFate;
use dockhand::{Event, PoolBuilder, RetryDecision, Shed};
use fastrand::Rng;

use crate::book::Book;
use crate::cargo::{Captured, Cargo};
use crate::crew::Crew;
use crate::ledger::Hears;
use crate::mischief;
use crate::panics::{blow, contained, discard};

/// Sets the hooks that the ledger needs, and some others.
pub(crate) fn set(
    mut builder: PoolBuilder<Crew>,
    book: &Arc<Book>,
    hears: Hears,
    rng: &mut Rng,
) -> PoolBuilder<Crew> {
    if hears.events {
        builder = listeners(builder, book, rng.bool());
    }
    if hears.shed {
        let captured = Captured::new(book);
        builder = builder.on_shed(move |shed| on_shed(&captured, shed));
    }
    if rng.bool() {
        let captured = Captured::new(book);
        builder = builder.classify(move |_| {
            mischief::seldom(&captured.book);
            decision(&mut captured.book.dice())
        });
    }
    if rng.bool() {
        let captured = Captured::new(book);
        builder = builder.dead_letter_sink(move |_| {
            mischief::seldom(&captured.book);
            if captured.book.dice().u32(..3) == 0 { LetterFate::Discard } else { LetterFate::Keep }
        });
    }
    if rng.bool() {
        let (start, stop) = (Captured::new(book), Captured::new(book));
        builder = builder
            .on_worker_start(move |_| mischief::seldom(&start.book))
            .on_worker_stop(move |_| mischief::seldom(&stop.book));
    }
    builder
}

/// One keeps the ledger; the other, before or after it, must not keep it from that.
fn listeners(builder: PoolBuilder<Crew>, book: &Arc<Book>, ledger_first: bool) -> PoolBuilder<Crew> {
    let (keeper, other) = (Captured::new(book), Captured::new(book));
    let keep = move |event: &Event<'_>| {
        if let Event::Ended { task, outcome, .. } = event {
            keeper.book.ledger().told(task.id, *outcome);
        }
    };
    let disturb = move |_: &Event<'_>| mischief::seldom(&other.book);
    if ledger_first {
        builder.on_event(keep).on_event(disturb)
    } else {
        builder.on_event(disturb).on_event(keep)
    }
}

fn on_shed(captured: &Captured, shed: Shed<Cargo>) {
    let book = &captured.book;
    book.ledger().handed(shed.task.id, shed.outcome);
    if contained(|| mischief::seldom(book)).is_none() {
        let mut rng = book.dice();
        if rng.bool() {
            // The payload goes with the panic.
            let _taken_along = shed;
            blow(&mut rng);
        }
        discard(shed.payload);
        blow(&mut rng);
    }
}

fn decision(rng: &mut Rng) -> RetryDecision {
    match rng.u32(..4) {
        0 => RetryDecision::GiveUp,
        1 => RetryDecision::RetryAfter(Duration::from_micros(rng.u64(..5000))),
        _ => RetryDecision::Retry,
    }
}
