//! The ends of attempts: lines of the pool itself, seen by the models that run it.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "answer: given before the permit",
        file: "src/worker.rs",
        find: r"                if attempt.queue.release() {
                    shared.permit_appeared(attempt.lane);
                }
                shared.answer(ended);",
        replace: r"                shared.answer(ended);
                if attempt.queue.release() {
                    shared.permit_appeared(attempt.lane);
                }",
        tests: &["attempts::whoever_has_the_answer_sees_what_came_before_it"],
        purpose: "a waker holds up what the permit would let start",
    },
    Mutant {
        name: "retry: told once it is taken in",
        file: "src/attempt.rs",
        find: r"        self.tell_failure(&job, &failure, &plan);
        // The failure before this one is dropped here, where user code may still run.
        let previous = job.last_failure.replace(failure);
        self.shared.guard.drop(previous);
        if !self.end(&job) {
            self.unreserve(&plan);
            return self.come_back_late(job);
        }
        let rest = self.settle(job, plan);
",
        replace: r"        let task = self.info(&job);
        let delay = if let Plan::Retry(retry) = &plan { Some(retry.delay) } else { None };
        self.tell_of_attempt(&task, &Event::AttemptFailed { task: &task, cause: failure.erased() });
        let previous = job.last_failure.replace(failure);
        self.shared.guard.drop(previous);
        if !self.end(&job) {
            self.unreserve(&plan);
            return self.come_back_late(job);
        }
        let rest = self.settle(job, plan);
        if let Some(delay) = delay {
            self.tell_of_attempt(&task, &Event::RetryScheduled { task: &task, delay });
        }
",
        tests: &["attempts::a_retry_is_told_before_anybody_starts_it"],
        purpose: "its start is heard before it",
    },
    Mutant {
        name: "retry: the stage before the payload",
        file: "src/attempt.rs",
        find: r"        let waiting = job.wait();
        if slot.is_some_and(|slot| !slot.stage.retry()) {",
        replace: r"        let is_refused = slot.is_some_and(|slot| !slot.stage.retry());
        let waiting = job.wait();
        if is_refused {",
        tests: &["attempts::a_cancel_leaves_nothing_of_a_retry"],
        purpose: "a cancel finds no payload to hand back",
    },
    Mutant {
        name: "retry: its place is kept after a cancel",
        file: "src/attempt.rs",
        find: r"            self.queue.delays.unreserve();
            // Still",
        replace: "            // Still",
        tests: &["attempts::a_cancel_leaves_nothing_of_a_retry"],
        purpose: "the pool is never at rest again",
    },
    Mutant {
        name: "budget: the place of a refused retry is kept",
        file: "src/attempt.rs",
        find: r"        self.queue.delays.unreserve();
        Plan::DeadLetter(DeadLetterReason::BudgetExhausted)",
        replace: "        Plan::DeadLetter(DeadLetterReason::BudgetExhausted)",
        tests: &["attempts::two_failures_share_what_is_left_of_the_budget"],
        purpose: "the pool is never at rest again",
    },
    Mutant {
        name: "budget: retries are not counted",
        file: "src/budget.rs",
        find: "            self.second(now).retries += 1;\n",
        replace: "            let _ = self.second(now).retries;\n",
        tests: &["attempts::two_failures_share_what_is_left_of_the_budget"],
        purpose: "two retries fit where one does",
    },
    Mutant {
        name: "give up: the slot is read after the mark",
        file: "src/shutdown.rs",
        find: "                        return self.tell_given_up(slot,",
        replace: r"                        drop(slot);
                        let slot = station.current.lock().clone();
                        return self.tell_given_up(slot,",
        tests: &["attempts::a_task_that_is_given_up_as_it_comes_back_ends_once"],
        purpose: "the runner that comes back has let go of it, and nobody answers the handle",
    },
    Mutant {
        name: "give up: the key is kept",
        file: "src/shutdown.rs",
        find: r"            slot.stage.finish(Outcome::Abandoned);
            self.free_key(Some(slot));
",
        replace: "            slot.stage.finish(Outcome::Abandoned);\n",
        tests: &["attempts::a_task_that_is_given_up_as_it_comes_back_ends_once"],
        purpose: "the key is never free again",
    },
    Mutant {
        name: "give up: the handle is not answered",
        file: "src/shutdown.rs",
        find: r"        if let Some(slot) = slot {
            self.resolve(&slot, Err(TaskError::Abandoned));
        }
    }

    /// Waits for workers",
        replace: r"    }

    /// Waits for workers",
        tests: &["attempts::a_task_that_is_given_up_as_it_comes_back_ends_once"],
        purpose: "a waiter waits on",
    },
    Mutant {
        name: "late: a runner that was given up tells the end",
        file: "src/ending.rs",
        find: r"        let _told = self.shed(self.held(job), Outcome::Abandoned);",
        replace: r"        let info = self.info(&job);
        self.shared.tell_ran(self.user, &info, Outcome::Abandoned, None);
        let _told = self.shed(self.held(job), Outcome::Abandoned);",
        tests: &["attempts::the_end_of_a_task_that_is_given_up_is_heard_last"],
        purpose: "the end of a task is heard twice",
    },
    Mutant {
        name: "telling: the shutdown tells the end while listeners hear of the task",
        file: "src/shutdown.rs",
        find: "        if teller == EndTeller::Shutdown {",
        replace: "        if teller == EndTeller::Shutdown || true {",
        tests: &["attempts::the_end_of_a_task_that_is_given_up_is_heard_last"],
        purpose: "what they hear comes after its end, which they hear twice",
    },
    Mutant {
        name: "telling: nobody counts as telling",
        file: "src/word.rs",
        find: "            may_tell.then_some(word + Reading::ONE_TELLER)",
        replace: "            may_tell.then_some(word)",
        tests: &["attempts::the_end_of_a_task_that_is_given_up_is_heard_last"],
        purpose: "the shutdown does not see that listeners hear of the task",
    },
    Mutant {
        name: "telling: the end is left untold",
        file: "src/tell.rs",
        find: "            self.tell_ran(user, task, Outcome::Abandoned, None);",
        replace: "",
        tests: &["attempts::the_end_of_a_task_that_is_given_up_is_heard_last"],
        purpose: "neither the shutdown nor the runner tells it",
    },
    Mutant {
        name: "telling: goes on after a shutdown has given the task up",
        file: "src/word.rs",
        find: "            let may_tell = seen.phase() != Phase::Marked && ",
        replace: "            let may_tell = ",
        tests: &["attempts::the_end_of_a_task_that_is_given_up_is_heard_last"],
        purpose: "listeners hear of the task after its end",
    },
    Mutant {
        name: "telling: the last teller does not wait for the count",
        file: "src/tell.rs",
        find: "            drop(station.current.lock());",
        replace: "",
        tests: &["attempts::the_end_of_a_task_that_is_given_up_is_heard_last"],
        purpose: "a listener that hears the end does not find it in the counts",
    },
    Mutant {
        name: "telling: at rest before the end is told",
        file: "src/word.rs",
        find: "        self.phase().is_quiet() && self.tellers() == 0",
        replace: "        self.phase().is_quiet()",
        tests: &["attempts::a_waiter_for_rest_waits_for_an_end_that_is_told_late"],
        purpose: "a waiter for rest comes back before it",
    },
    Mutant {
        name: "telling: the end is owed by a runner that has told it",
        file: "src/tell.rs",
        find: "            word.told_end();",
        replace: "",
        tests: &["attempts::a_waiter_for_rest_waits_for_an_end_that_is_told_late"],
        purpose: "a waiter for rest waits on while the task runs",
    },
    Mutant {
        name: "telling: no waiter hears that the end is told",
        file: "src/tell.rs",
        find: "            self.idle.tell();",
        replace: "",
        tests: &["attempts::a_waiter_for_rest_waits_for_an_end_that_is_told_late"],
        purpose: "a waiter for rest waits on while the task runs",
    },
    Mutant {
        name: "plain: ends whatever a shutdown has decided",
        file: "src/plain.rs",
        find: "Ok(output) if self.station.runner.word.end() => {",
        replace: "Ok(output) if self.station.runner.word.end() || true => {",
        tests: &["attempts::a_plain_task_that_is_given_up_as_it_comes_back_ends_once"],
        purpose: "it is counted by the shutdown and by its worker",
    },
    Mutant {
        name: "handle: goes without a cancel",
        file: "src/handle.rs",
        find: "        if self.cancel_on_drop {",
        replace: "        if self.cancel_on_drop && false {",
        tests: &["attempts::a_handle_that_goes_takes_its_task_or_leaves_it"],
        purpose: "a task that nobody asks for is run",
    },
];
