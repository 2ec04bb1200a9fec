//! The end of a window.
//!
//! "Glue" is a line of the models that repeats one of the pool.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "window: words before the sweep",
        file: "src/drain.rs",
        find: r"            sweep(&mut state.abandoned);
            // The words are read after the sweep: who holds a task that the sweep did not find is seen looking.
            if !somebody_looks() {",
        replace: r"            let looks = somebody_looks();
            sweep(&mut state.abandoned);
            if !looks {",
        tests: &["window::each_task_is_run_or_swept_or_handed_back_or_marked"],
        purpose: "who takes a task in between is not seen",
    },
    Mutant {
        name: "window: no wait for a look",
        file: "src/drain.rs",
        find: r"            if !somebody_looks() {
                state.finalized = true;",
        replace: r"            if !somebody_looks() || true {
                state.finalized = true;",
        tests: &["window::each_task_is_run_or_swept_or_handed_back_or_marked"],
        purpose: "what is popped and not yet run has no account",
    },
    Mutant {
        name: "window: no wait for an end (glue)",
        file: "src/models/shutdown.rs",
        find: "Phase::Ending | Phase::Look => yield_now()",
        replace: "Phase::Look => yield_now()",
        tests: &["window::each_task_is_run_or_swept_or_handed_back_or_marked"],
        purpose: "the report is written before the attempt is counted",
    },
    Mutant {
        name: "window: no look at the end after a pop (glue)",
        file: "src/models/worker.rs",
        find: r"        if pool.sleep.state().is_aborting() {
            self.hand_back",
        replace: r"        if pool.sleep.state().is_aborting() && false {
            self.hand_back",
        tests: &["window::what_is_popped_after_the_sweep_goes_back_to_its_submit"],
        purpose: "a task is started after the end",
    },
    Mutant {
        name: "window: no fence after a pop (glue)",
        file: "src/models/worker.rs",
        find: r"        fence(Ordering::SeqCst);
        if was_queued {",
        replace: "        if was_queued {",
        tests: &["window::what_is_popped_after_the_sweep_goes_back_to_its_submit"],
        purpose: "a task is started after the end",
    },
    Mutant {
        name: "word: an end by a store",
        file: "src/word.rs",
        find: "let before = Reading(self.0.swap(next.0, Ordering::AcqRel));",
        replace: r"let before = self.own();
        self.0.store(next.0, Ordering::Release);",
        tests: &["window::each_task_is_run_or_swept_or_handed_back_or_marked"],
        purpose: "it overwrites the mark, and the task is counted twice",
    },
    Mutant {
        name: "word: a mark by a store",
        file: "src/word.rs",
        find: "let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, mark).ok()?;",
        replace: "mark(seen.0)?; let before = self.0.swap(seen.marked().0, Ordering::AcqRel); mark(before)?;",
        tests: &["window::each_task_is_run_or_swept_or_handed_back_or_marked"],
        purpose: "it marks what has ended",
    },
    Mutant {
        name: "word: no fence between description and second look",
        file: "src/word.rs",
        find: r"        fence(Ordering::Acquire);
        (self",
        replace: "        (self",
        tests: &["window::what_runs_is_told_whole"],
        purpose: "what is told is put together from two attempts",
    },
    Mutant {
        name: "hand back: always into the report",
        file: "src/drain.rs",
        find: r"        if state.finalized {
            state.late.push((id, held));
        } else {
            state.abandoned.push(held);
        }",
        replace: r"        let _ = id;
        state.abandoned.push(held);",
        tests: &["window::what_is_popped_after_the_sweep_goes_back_to_its_submit"],
        purpose: "it comes after the report was written",
    },
    Mutant {
        name: "settle: does not wait for a looker",
        file: "src/drain.rs",
        find: r"            if !somebody_looks() {
                return None;",
        replace: r"            if !somebody_looks() || true {
                return None;",
        tests: &["window::what_is_popped_after_the_sweep_goes_back_to_its_submit"],
        purpose: "its task is in a worker's hands, comes into the late list, and nobody takes it out",
    },
];
