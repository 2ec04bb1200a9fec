//! Cancels, keys and the ways in: lines of the pool itself, seen by the models that run it.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "dead: not counted",
        file: "src/shared.rs",
        find: "            lane.add_dead();\n",
        replace: "",
        tests: &["cancel::the_last_worker_leaves_when_what_it_stayed_for_is_cancelled"],
        purpose: "a worker stays in a closed pool for what was cancelled",
    },
    Mutant {
        name: "dead: not counted off",
        file: "src/lane.rs",
        find: "self.passed.fetch_add(1, Ordering::AcqRel);",
        replace: "self.passed.fetch_add(0, Ordering::AcqRel);",
        tests: &["cancel::a_task_that_is_cancelled_beside_its_take_has_one_end"],
        purpose: "the next task in the queue is taken for the dead one",
    },
    Mutant {
        name: "dead: lost between the queue and the count of those passed",
        file: "src/lane.rs",
        find: "(passed + len.max(dead), len.saturating_sub(dead))",
        replace: "(passed + len, len.saturating_sub(dead))",
        tests: &["cancel::the_law_holds_while_a_worker_passes_what_was_cancelled"],
        purpose: "a reading has more ends than tasks",
    },
    Mutant {
        name: "dead: counted as waiting",
        file: "src/lane.rs",
        find: "self.queued() == 0 && self.delays.is_empty()",
        replace: "self.queue.is_empty() && self.delays.is_empty()",
        tests: &["cancel::the_last_worker_leaves_when_what_it_stayed_for_is_cancelled"],
        purpose: "a worker stays in a closed pool for what was cancelled",
    },
    Mutant {
        name: "cancel: nobody is told",
        file: "src/shared.rs",
        find: r"        self.became_emptier();
    }

    /// Gives a tracked",
        replace: r"    }

    /// Gives a tracked",
        tests: &["cancel::the_last_worker_leaves_when_what_it_stayed_for_is_cancelled"],
        purpose: "a worker that stayed for it sleeps on",
    },
    Mutant {
        name: "cancel: no wake in a closed pool",
        file: "src/shared.rs",
        find: r"        if self.sleep.state().is_closed() {
            self.sleep.work_appeared();
        }",
        replace: "",
        tests: &["cancel::the_last_worker_leaves_when_what_it_stayed_for_is_cancelled"],
        purpose: "a worker that stayed for it sleeps on",
    },
    Mutant {
        name: "telling: not counted",
        file: "src/shared.rs",
        find: "let shedding = Some(self.shedding.enter());",
        replace: "let shedding = None;",
        tests: &[
            "cancel::a_wait_for_rest_ends_with_the_telling_of_a_cancel",
            "cancel::a_cancel_hides_no_other_task",
        ],
        purpose: "a wait for rest ends before the answer is given, or takes a task that waits for the dead one",
    },
    Mutant {
        name: "telling: its end is not told",
        file: "src/shared.rs",
        find: r"        drop(self.shedding.take());
        self.shared.idle.tell();",
        replace: "        drop(self.shedding.take());",
        tests: &["cancel::a_wait_for_rest_ends_with_the_telling_of_a_cancel"],
        purpose: "nobody else tells",
    },
    Mutant {
        name: "rest: sleeps in a closed pool where nothing waits",
        file: "src/worker.rs",
        find: " || (state.is_closed() && shared.nothing_waits())",
        replace: "",
        tests: &["cancel::the_last_worker_leaves_when_what_it_stayed_for_is_cancelled"],
        purpose: "nobody wakes a worker that falls asleep after the last cancel",
    },
    Mutant {
        name: "key: taken in two steps",
        file: "src/lane.rs",
        find: r"        match self.keys.lock().entry(Arc::clone(key)) {",
        replace: r"        if let Some(other) = self.keys.lock().get(key) {
            return Err(*other);
        }
        self.keys.lock().remove(key);
        match self.keys.lock().entry(Arc::clone(key)) {",
        tests: &["keys::one_task_of_a_key_is_in_flight"],
        purpose: "two submits find the key free",
    },
    Mutant {
        name: "key: free from the start of its task",
        file: "src/attempt.rs",
        find: "            *self.station.current.lock() = Some(Arc::clone(slot));\n",
        replace: r"            *self.station.current.lock() = Some(Arc::clone(slot));
            self.shared.free_key(Some(slot));
",
        tests: &["keys::one_task_of_a_key_is_in_flight"],
        purpose: "two tasks of a key are in flight",
    },
    Mutant {
        name: "key: kept by a success",
        file: "src/attempt.rs",
        find: r"            slot.stage.finish(Outcome::Succeeded);
            self.shared.free_key(Some(slot));
",
        replace: "            slot.stage.finish(Outcome::Succeeded);\n",
        tests: &["keys::a_key_is_free_for_whoever_has_the_answer"],
        purpose: "the key is never free again",
    },
    Mutant {
        name: "key: kept by a failure",
        file: "src/attempt.rs",
        find: "        self.shared.free_key(job.slot.as_ref());\n",
        replace: "",
        tests: &["keys::a_key_is_free_for_whoever_has_the_answer"],
        purpose: "the key is never free again",
    },
    Mutant {
        name: "key: kept by a cancel",
        file: "src/shared.rs",
        find: r"        self.free_key(Some(slot));
        if was == Stage::Queued {",
        replace: "        if was == Stage::Queued {",
        tests: &["keys::a_key_is_free_for_a_listener_that_hears_the_end"],
        purpose: "the key is never free again",
    },
    Mutant {
        name: "key: free after the end is told",
        file: "src/attempt.rs",
        find: r"            self.shared.free_key(Some(slot));
        }
        self.recorder.add(Count::Succeeded);
        self.station.runner.word.tidy();
        if self.shared.has_events {
            self.shared.tell_ran(self.user, &self.info(job), Outcome::Succeeded, course.ran);
        }
",
        replace: r"        }
        self.recorder.add(Count::Succeeded);
        self.station.runner.word.tidy();
        if self.shared.has_events {
            self.shared.tell_ran(self.user, &self.info(job), Outcome::Succeeded, course.ran);
        }
        self.shared.free_key(job.slot.as_ref());
",
        tests: &["keys::a_key_is_free_for_a_listener_that_hears_the_end"],
        purpose: "a listener that submits again is refused",
    },
    Mutant {
        name: "submit: wakes nobody",
        file: "src/submit.rs",
        find: r"        self.sleep.wake_by_rule(state);
        SubmitResult::Accepted(id)
    }

    pub(crate) fn submit_with(",
        replace: r"        SubmitResult::Accepted(id)
    }

    pub(crate) fn submit_with(",
        tests: &["ways_in::a_submit_wakes_a_worker_that_sleeps"],
        purpose: "the task waits beside a sleeping worker",
    },
    Mutant {
        name: "submit: no look at the word after the push",
        file: "src/submit.rs",
        find: r"        if state.is_closed() {
            return self.settle_late(lane, id);
        }
        self.sleep.wake_by_rule(state);",
        replace: "        self.sleep.wake_by_rule(state);",
        tests: &["ways_in::a_late_submit_is_run_or_refused"],
        purpose: "what is pushed after the last look is accepted, and nobody runs it",
    },
    Mutant {
        name: "delay: counted outside of the gate",
        file: "src/submit.rs",
        find: "        self.lanes[lane].recorder().add(Count::Admitted);\n",
        replace: r"        drop(inside_gate);
        self.lanes[lane].recorder().add(Count::Admitted);
        let inside_gate = self.gate.enter();
",
        tests: &["ways_in::a_delayed_submit_is_counted_before_it_is_swept"],
        purpose: "a shutdown reports more ends than tasks",
    },
    Mutant {
        name: "delay: leaves the gate without a word",
        file: "src/submit.rs",
        find: r"        self.leave_gate(inside_gate);
        SubmitResult::Accepted(id)",
        replace: r"        drop(inside_gate);
        SubmitResult::Accepted(id)",
        tests: &["ways_in::a_worker_leaves_after_a_delayed_submit_in_the_gate"],
        purpose: "a worker that ran the task sleeps on in a pool that has closed",
    },
    Mutant {
        name: "room: a take does not tell",
        file: "src/worker.rs",
        find: "            queue.room.was_freed();\n",
        replace: "",
        tests: &["ways_in::a_submit_that_waits_for_room_gets_it"],
        purpose: "a submit waits beside free room",
    },
    Mutant {
        name: "room: what was pushed is not settled",
        file: "src/submit.rs",
        find: "Waited::Pushed => self.settle_pushed(lane, id, stamp),",
        replace: "Waited::Pushed => SubmitResult::Accepted(id),",
        tests: &["ways_in::a_submit_that_waits_for_room_gets_it"],
        purpose: "it lies beside a sleeping worker",
    },
    Mutant {
        name: "close: those who wait for room are not told",
        file: "src/shutdown.rs",
        find: "                lane.room.close();\n",
        replace: "                let _ = &lane.room;\n",
        tests: &["ways_in::a_submit_that_waits_for_room_is_refused_by_a_close"],
        purpose: "a submit waits in a pool that takes nothing more",
    },
    Mutant {
        name: "pick: the clock is read once for two looks",
        file: "src/worker.rs",
        find: "            *now = None;\n",
        replace: "",
        tests: &["ways_in::a_task_that_falls_due_in_a_round_is_taken"],
        purpose: "the worker sees the task as due, does not take it, and goes round and round",
    },
];
