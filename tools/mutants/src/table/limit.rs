//! The limit of a lane.
//!
//! "Glue" is a line of the models that repeats one of the pool.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "permit: taken in two steps",
        file: "src/permits.rs",
        find: r"        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| has_room(word).then_some(word + 1))
            .is_ok()",
        replace: r"        has_room(self.0.load(Ordering::Relaxed)) && has_room(self.0.fetch_add(1, Ordering::AcqRel) & !USE | USE >> USE_BITS)",
        tests: &["permits::no_more_than_the_limit_run_at_a_time"],
        purpose: "two take the last one",
    },
    Mutant {
        name: "permit: taken whatever the limit is",
        file: "src/permits.rs",
        find: "has_room(word).then_some(word + 1)",
        replace: "Some(word + 1)",
        tests: &["permits::nothing_starts_after_a_pause_that_saw_nothing_in_use"],
        purpose: "an attempt starts in a paused lane",
    },
    Mutant {
        name: "permit: the limit is set in two steps",
        file: "src/permits.rs",
        find: "self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| Some(with_limit(word, limit)));",
        replace: "self.0.swap(with_limit(self.0.load(Ordering::Relaxed), limit), Ordering::AcqRel);",
        tests: &["permits::nothing_starts_after_a_pause_that_saw_nothing_in_use"],
        purpose: "a start or an end in between is overwritten",
    },
    Mutant {
        name: "permit: not given back",
        file: "src/permits.rs",
        find: "self.0.fetch_sub(1, Ordering::AcqRel)",
        replace: "self.0.fetch_sub(0, Ordering::AcqRel)",
        tests: &["permits::a_permit_that_comes_back_elsewhere_wakes"],
        purpose: "the lane never runs again",
    },
    Mutant {
        name: "permit: always free",
        file: "src/permits.rs",
        find: "has_room(self.0.load(Ordering::Relaxed))",
        replace: "{ let _ = has_room(self.0.load(Ordering::Relaxed)); true }",
        tests: &["permits::a_permit_that_comes_back_elsewhere_wakes"],
        purpose: "a worker goes round and round for what it may not take",
    },
    Mutant {
        name: "permit: submit looks before its fence (glue)",
        file: "src/models/submit.rs",
        find: r"        let state = self.sleep.after_push();
        if state.is_closed() {
            return self.settle_late(task);
        }
        if self.lanes[lane].has_permit() {",
        replace: r"        let has_permit = self.lanes[lane].has_permit();
        let state = self.sleep.after_push();
        if state.is_closed() {
            return self.settle_late(task);
        }
        if has_permit {",
        tests: &["permits::a_permit_that_comes_back_elsewhere_wakes"],
        purpose: "neither the submit nor the return sees the other",
    },
    Mutant {
        name: "permit: no fence on its return elsewhere, or on a raise (glue)",
        file: "src/models/shared.rs",
        find: r"        let state = self.sleep.after_push();
        if self.has_task(",
        replace: r"        let state = self.sleep.state();
        if self.has_task(",
        tests: &["permits::a_permit_that_comes_back_elsewhere_wakes", "permits::a_raised_limit_wakes"],
        purpose: "neither the submit nor the return, or the raise, sees the other",
    },
    Mutant {
        name: "permit: no wake on its return elsewhere (glue)",
        file: "src/models/shared.rs",
        find: "if self.has_task(&self.lanes[lane]) {",
        replace: "if self.has_task(&self.lanes[lane]) && false {",
        tests: &["permits::a_permit_that_comes_back_elsewhere_wakes"],
        purpose: "what was held back waits beside a sleeping worker",
    },
    Mutant {
        name: "permit: a return does not see what is due (glue)",
        file: "src/models/shared.rs",
        find: "if self.has_task(&self.lanes[lane]) {",
        replace: "if !self.lanes[lane].queue.is_empty() {",
        tests: &["permits::a_task_that_falls_due_at_the_limit_is_seen_by_the_return"],
        purpose: "the timer has fired while nothing could start",
    },
    Mutant {
        name: "permit: returned by a worker that does not count as searching (glue)",
        file: "src/models/worker.rs",
        find: r"        if self.pool.lanes[lane].release() {
            self.pool.sleep.start_searching(&mut self.activity);
        }",
        replace: "        self.pool.lanes[lane].release();",
        tests: &["permits::a_worker_looks_for_what_its_permit_held_back"],
        purpose: "it takes a long task from another lane beside a sleeper",
    },
    Mutant {
        name: "permit: no second look after an empty take (glue)",
        file: "src/models/worker.rs",
        find: r"            queue.release();
            fence(Ordering::SeqCst);
            *now = None;",
        replace: r"            queue.release();
            return None;",
        tests: &["permits::a_permit_that_was_taken_for_nothing_hides_no_task"],
        purpose: "a submit that saw the permit taken has woken nobody",
    },
    Mutant {
        name: "permit: no fence before the second look (glue)",
        file: "src/models/worker.rs",
        find: r"            queue.release();
            fence(Ordering::SeqCst);",
        replace: "            queue.release();",
        tests: &["permits::a_permit_that_was_taken_for_nothing_hides_no_task"],
        purpose: "neither the submit nor the second look sees the other",
    },
    Mutant {
        name: "permit: the second look with the first reading of the clock (glue)",
        file: "src/models/worker.rs",
        find: "            *now = None;\n",
        replace: "",
        tests: &["permits::a_clock_reading_does_not_outlive_its_look"],
        purpose: "the worker sees the task as due, does not take it, and goes round and round",
    },
];
