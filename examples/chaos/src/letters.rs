//! Dead letters: listed, taken, put back, drained, requeued.

use std::sync::Arc;

use dockhand::{DeadLetter, RejectReason};

use crate::acts::Scene;
use crate::book::Book;
use crate::cargo::{Cargo, Fault};
use crate::panics::discard;
use crate::totals;

pub(crate) fn sort(scene: &mut Scene<'_>) {
    let book = scene.book();
    let letters = scene.pool.dead_letters();
    let list = letters.list();
    if list.is_empty() {
        return;
    }
    let task = list[scene.rng.usize(..list.len())].task.id;
    match scene.rng.u32(..20) {
        0..8 => match letters.requeue(task) {
            Ok(new) => {
                totals::reached("requeued");
                book.accepted(new);
            }
            // It was not offered.
            Err(RejectReason::UnknownLetter | RejectReason::UnknownLane) => {}
            Err(reason) => book.refused(reason),
        },
        8..13 => {
            if let Some(letter) = letters.take(task) {
                letters.put_back(letter);
            }
        }
        13..18 => {
            if let Some(letter) = letters.take(task) {
                throw_away(letter);
            }
        }
        18 => letters.drain().into_iter().for_each(throw_away),
        _ => requeue_all(&book, || letters.requeue_all()),
    }
}

fn requeue_all(book: &Arc<Book>, requeue_all: impl FnOnce() -> usize) {
    // How many were refused it does not say.
    book.ledger().lose_answers();
    let taken = requeue_all();
    book.ledger().answers().accepted += taken as u64;
}

/// Drops the parts one by one: each may panic.
fn throw_away(letter: DeadLetter<Cargo, Fault>) {
    discard(letter.payload);
    discard(letter.failure);
}
