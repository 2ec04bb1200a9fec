//! Closing, leaving, late submits; and the gate.
//!
//! "Glue" is a line of the models that repeats one of the pool.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "leave: no fence",
        file: "src/drain.rs",
        find: r"        // it pushed, or that it is inside the gate, is seen below.
        fence(Ordering::SeqCst);
",
        replace: r"        // it pushed, or that it is inside the gate, is seen below.
",
        tests: &["closing::a_late_submit_is_run_or_refused_by_one_worker"],
        purpose: "a submit that saw the pool open is not seen by the last worker, which finalizes",
    },
    Mutant {
        name: "leave: looks before the lock",
        file: "src/drain.rs",
        find: r#"        let mut state = self.0.lock();
        // Ordering: partner of the fences in `Sleep::after_push` and `Gate::enter`. A submit that found the pool open does
        // not come to this lock. Its fence came before this one, since the caller has read "closed" before it: so what
        // it pushed, or that it is inside the gate, is seen below.
        fence(Ordering::SeqCst);
        if !nothing_waits() {
            return false;
        }
"#,
        replace: r#"        // Ordering: partner of the fences in `Sleep::after_push` and `Gate::enter`. A submit that found the pool open does
        // not come to this lock. Its fence came before this one, since the caller has read "closed" before it: so what
        // it pushed, or that it is inside the gate, is seen below.
        fence(Ordering::SeqCst);
        if !nothing_waits() {
            return false;
        }
        let mut state = self.0.lock();
"#,
        tests: &["closing::a_late_submit_is_run_or_refused_by_one_worker"],
        purpose: "a push falls between the last look and the end",
    },
    Mutant {
        name: "leave: no chain (glue)",
        file: "src/models/worker.rs",
        find: r"            pool.sleep.work_appeared();
        }
        left",
        replace: r"        }
        left",
        tests: &[
            "closing::workers_leave_one_after_another",
            "closing::three_workers_leave_one_after_another",
        ],
        purpose: "a worker that stayed for the last task sleeps on",
    },
    Mutant {
        name: "rest: a closed pool does not let anybody sleep (glue)",
        file: "src/models/worker.rs",
        find: "(state.is_closed() && pool.nothing_waits())",
        replace: "state.is_closed()",
        tests: &["closing::workers_leave_one_after_another"],
        purpose: "workers spin until the last task is due",
    },
    Mutant {
        name: "rest: sleeps in a closed pool where nothing waits (glue)",
        file: "src/models/worker.rs",
        find: " || (state.is_closed() && pool.nothing_waits())",
        replace: "",
        tests: &["closing::a_late_submit_is_run_or_refused_by_one_worker"],
        purpose: "nobody wakes a worker that falls asleep after the close",
    },
    Mutant {
        name: "close: no late list",
        file: "src/drain.rs",
        find: r"            take_queued(&mut state.late);
",
        replace: r"            let _ = &take_queued;
",
        tests: &[
            "closing::a_late_submit_is_run_or_refused_by_one_worker",
            "closing::a_late_submit_is_run_or_refused_by_two_workers",
        ],
        purpose: "what is pushed after the last look is accepted, and nobody runs it",
    },
    Mutant {
        name: "close: no wake after settling (glue)",
        file: "src/models/submit.rs",
        find: r"        self.sleep.work_appeared();
        true",
        replace: "        true",
        tests: &["closing::a_late_submit_wakes_a_worker_that_stays"],
        purpose: "a late task waits beside a sleeping worker",
    },
    Mutant {
        name: "close: no look at the word after the push (glue)",
        file: "src/models/submit.rs",
        find: r"        if state.is_closed() {
            return self.settle_late(task);
        }
",
        replace: "",
        tests: &["closing::a_late_submit_is_run_or_refused_by_one_worker"],
        purpose: "what is pushed after the last look is accepted, and nobody runs it",
    },
    Mutant {
        name: "gate: no fence",
        file: "src/gate.rs",
        find: r"fence in `Sleep::close`.
        fence(Ordering::SeqCst);
",
        replace: r"fence in `Sleep::close`.
",
        tests: &["gate::a_task_is_displaced_before_the_report_or_is_in_it"],
        purpose: "the shutdown does not see who is inside, who does not see the close",
    },
    Mutant {
        name: "gate: no fence after the flag",
        file: "src/sleep/mod.rs",
        find: r"        fence(Ordering::SeqCst);
        self.wake_all();",
        replace: "        self.wake_all();",
        tests: &["gate::a_task_is_displaced_before_the_report_or_is_in_it"],
        purpose: "the shutdown does not see who is inside, who does not see the close",
    },
    Mutant {
        name: "gate: looks before it enters, displacing (glue)",
        file: "src/models/submit.rs",
        find: r"    pub(super) fn displace_oldest(&self, task: u64) -> bool {
        let inside_gate = self.gate.enter();
        if self.sleep.state().is_closed() {
",
        replace: r"    pub(super) fn displace_oldest(&self, task: u64) -> bool {
        let closed = self.sleep.state().is_closed();
        let inside_gate = self.gate.enter();
        if closed {
",
        tests: &["gate::a_task_is_displaced_before_the_report_or_is_in_it"],
        purpose: "a task is displaced after the report was written",
    },
    Mutant {
        name: "gate: looks before it enters, caller-run (glue)",
        file: "src/models/submit.rs",
        find: r"    pub(super) fn run_here(&self, task: u64) -> bool {
        let inside_gate = self.gate.enter();
        if self.sleep.state().is_closed() {
",
        replace: r"    pub(super) fn run_here(&self, task: u64) -> bool {
        let closed = self.sleep.state().is_closed();
        let inside_gate = self.gate.enter();
        if closed {
",
        tests: &["gate::a_caller_run_is_seen_by_the_end_of_a_window_or_refused"],
        purpose: "an attempt starts after the report was written",
    },
    Mutant {
        name: "gate: no wait until it is empty (glue)",
        file: "src/models/shutdown.rs",
        find: r"        while self.gate.passed().is_none() {
            yield_now();
        }
",
        replace: "",
        tests: &["gate::a_task_is_displaced_before_the_report_or_is_in_it"],
        purpose: "a task is displaced after the report was written",
    },
    Mutant {
        name: "gate: left before the caller-run is registered (glue)",
        file: "src/models/submit.rs",
        find: r"        callers.lock().push(Arc::clone(&runner));
        drop(inside_gate);",
        replace: r"        drop(inside_gate);
        callers.lock().push(Arc::clone(&runner));",
        tests: &["gate::a_caller_run_is_seen_by_the_end_of_a_window_or_refused"],
        purpose: "the shutdown sees neither gate nor attempt",
    },
    Mutant {
        name: "gate: left without a wake in a closed pool (glue)",
        file: "src/models/shared.rs",
        find: r"        if self.sleep.state().is_closed() {
            self.sleep.work_appeared();
        }",
        replace: "",
        tests: &["gate::the_retry_of_a_caller_run_is_run_in_a_closed_pool"],
        purpose: "a worker that stayed for it sleeps on",
    },
    Mutant {
        name: "leave: does not stay for the gate (glue)",
        file: "src/models/shared.rs",
        find: "self.gate.passed().is_some() && self.callers()",
        replace: "self.callers()",
        tests: &["gate::the_retry_of_a_caller_run_is_run_in_a_closed_pool"],
        purpose: "the last worker ends the delays of a caller-run that is about to begin",
    },
    Mutant {
        name: "leave: does not stay for caller-runs (glue)",
        file: "src/models/shared.rs",
        find: " && self.callers().is_empty()",
        replace: "",
        tests: &["gate::the_retry_of_a_caller_run_is_run_in_a_closed_pool"],
        purpose: "the last worker ends the delays of a caller-run",
    },
    Mutant {
        name: "leave: lanes before caller-runs (glue)",
        file: "src/models/shared.rs",
        find: "self.gate.passed().is_some() && self.callers().is_empty() && self.lanes_are_empty()",
        replace: "self.lanes_are_empty() && self.gate.passed().is_some() && self.callers().is_empty()",
        tests: &["gate::the_retry_of_a_caller_run_is_run_in_a_closed_pool"],
        purpose: "a retry slips from a caller-run into a lane that was seen empty",
    },
];
