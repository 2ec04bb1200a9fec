//! A broken ledger is noticed.

use super::*;

const HEARS: Hears = Hears { events: true, shed: true };

/// One payload that was accepted, ran and succeeded; one task that was evicted and handed back.
fn sound() -> Ledger<u32> {
    let mut ledger = Ledger::new(HEARS);
    ledger.answers().accepted = 2;
    for (cargo, task) in [(1, 1), (2, 2)] {
        ledger.made(cargo);
        ledger.named(task);
        ledger.dropped(cargo);
    }
    ledger.ran(1);
    ledger.told(1, Outcome::Succeeded);
    ledger.told(2, Outcome::Evicted);
    ledger.handed(2, Outcome::Evicted);
    let mut counts = Counts::default();
    (counts.submitted, counts.accepted, counts.succeeded, counts.evicted) = (2, 2, 1, 1);
    ledger.reported(counts);
    ledger
}

#[track_caller]
fn assert_found(break_it: impl FnOnce(&mut Ledger<u32>), promise: Promise) {
    let mut ledger = sound();
    break_it(&mut ledger);
    let findings = ledger.check();
    assert!(findings.iter().any(|finding| finding.promise == promise), "{findings:?}");
}

#[test]
fn sound_books_have_no_finding() {
    assert!(sound().check().is_empty(), "{:?}", sound().check());
}

#[test]
fn a_payload_that_is_lost_or_runs_though_refused_is_found() {
    assert_found(|ledger| ledger.made(3), Promise::Other);
    assert_found(|ledger| ledger.dropped(1), Promise::Other);
    assert_found(|ledger| ledger.refused(1), Promise::Other);
}

#[test]
fn an_end_that_is_told_twice_or_never_or_differently_is_found() {
    assert_found(|ledger| ledger.told(1, Outcome::Succeeded), Promise::ToldOnce);
    assert_found(|ledger| ledger.named(3), Promise::ToldOnce);
    assert_found(|ledger| ledger.shown(1, Outcome::Abandoned), Promise::ToldOnce);
}

#[test]
fn a_payload_that_is_handed_back_twice_or_never_is_found() {
    assert_found(|ledger| ledger.handed(2, Outcome::Evicted), Promise::Conserved);
    assert_found(|ledger| ledger.told(1, Outcome::Expired), Promise::Conserved);
}

#[test]
fn counts_that_differ_from_what_was_seen_are_found() {
    assert_found(|ledger| ledger.answers().accepted += 1, Promise::Conserved);
    assert_found(|ledger| ledger.answers().dropped += 1, Promise::Conserved);
    assert_found(|ledger| ledger.told(3, Outcome::Cancelled), Promise::Conserved);
    let refused_unseen = |ledger: &mut Ledger<u32>| {
        let mut counts = ledger.counts.unwrap_or_default();
        counts.rejected += 1;
        ledger.reported(counts);
    };
    assert_found(refused_unseen, Promise::Conserved);
}

#[test]
fn the_law_is_broken_by_a_sum_or_by_what_is_left() {
    let mut counts = Counts::default();
    assert!(check_law("a pool", &counts).is_none());
    (counts.submitted, counts.accepted, counts.queued) = (1, 1, 1);
    assert!(check_law("a pool", &counts).is_some());
    counts.queued = 0;
    assert!(check_law("a pool", &counts).is_some());
}
