//! Submit, sleep, wake; and the timer.
//!
//! "Glue" is a line of the models that repeats one of the pool.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "submit: no fence",
        file: "src/sleep/mod.rs",
        find: r"fences in `sleep` and `found`.
        fence(Ordering::SeqCst);
",
        replace: r"fences in `sleep` and `found`.
",
        tests: &["sleep::a_submit_is_seen_by_whoever_falls_asleep"],
        purpose: "the push is not seen by who falls asleep, and the sleeper not by the submit",
    },
    Mutant {
        name: "found: no fence",
        file: "src/sleep/mod.rs",
        find: r"or its push is seen here.
        fence(Ordering::SeqCst);
",
        replace: r"or its push is seen here.
",
        tests: &["sleep::a_task_does_not_wait_behind_a_long_one_beside_a_sleeper"],
        purpose: "a submit counts on the searcher, who does not see its push",
    },
    Mutant {
        name: "found: no wake",
        file: "src/sleep/mod.rs",
        find: "state.wants_wake() && has_work()",
        replace: "false && state.wants_wake() && has_work()",
        tests: &[
            "sleep::a_task_does_not_wait_behind_a_long_one_beside_a_sleeper",
            "sleep::each_of_three_tasks_gets_one_of_three_workers",
        ],
        purpose: "what was pushed while somebody searched has nobody",
    },
    Mutant {
        name: "found: after the run (glue)",
        file: "src/models/worker.rs",
        find: r"            pool.sleep.found(&mut self.activity, || pool.has_work());
            pool.attempt(&pool.runners[self.me], task);
",
        replace: r"            pool.attempt(&pool.runners[self.me], task);
            pool.sleep.found(&mut self.activity, || pool.has_work());
",
        tests: &["sleep::a_task_does_not_wait_behind_a_long_one_beside_a_sleeper"],
        purpose: "a submit counts on a searcher that runs user code",
    },
    Mutant {
        name: "sleep: no fence",
        file: "src/sleep/mod.rs",
        find: r"or it sees their work.
        fence(Ordering::SeqCst);
",
        replace: r"or it sees their work.
",
        tests: &[
            "sleep::a_submit_is_seen_by_whoever_falls_asleep",
            "timer::a_sleeper_is_woken_for_what_is_due",
        ],
        purpose: "the push, or the time, is not seen by who falls asleep, and the sleeper not by submit or timer",
    },
    Mutant {
        name: "sleep: parks without a look",
        file: "src/sleep/mod.rs",
        find: "if stay_awake(self.state()) {",
        replace: "if stay_awake(self.state()) && false {",
        tests: &["sleep::a_submit_is_seen_by_whoever_falls_asleep"],
        purpose: "work that came before the announcement has nobody",
    },
    Mutant {
        name: "wake: no second look",
        file: "src/sleep/mod.rs",
        find: r"        if self.state().searching() > 0 {
            return;
        }
",
        replace: "",
        tests: &["sleep::one_offer_wakes_one_worker"],
        purpose: "who takes and who offers wake one each for the same offer",
    },
    Mutant {
        name: "wake: flag after the lock",
        file: "src/sleep/mod.rs",
        find: r"        self.mark_woken(one);
        drop(sleepers);
",
        replace: r"        drop(sleepers);
        self.mark_woken(one);
",
        tests: &["sleep::a_task_does_not_wait_behind_a_long_one_beside_a_sleeper"],
        purpose: "a worker that has taken itself off meanwhile counts twice",
    },
    Mutant {
        name: "wake: the woken is not counted",
        file: "src/sleep/mod.rs",
        find: r"        self.move_count(State::ONE_SLEEPING, State::ONE_SEARCHING);
        // Ordering: Release",
        replace: r"        self.move_count(State::ONE_SLEEPING, 0);
        // Ordering: Release",
        tests: &["sleep::a_task_does_not_wait_behind_a_long_one_beside_a_sleeper"],
        purpose: "it searches, and submits have to see that before it runs",
    },
    Mutant {
        name: "retract: not counted as searching",
        file: "src/sleep/mod.rs",
        find: r"            self.move_count(State::ONE_SLEEPING, State::ONE_SEARCHING);
        }",
        replace: r"            self.move_count(State::ONE_SLEEPING, 0);
        }",
        tests: &["sleep::a_task_does_not_wait_behind_a_long_one_beside_a_sleeper"],
        purpose: "whoever leaves the list searches, woken or not",
    },
    Mutant {
        name: "timer: fires without a fence (glue)",
        file: "src/models/shared.rs",
        find: r"    fn fire(&self) {
        self.sleep.work_appeared();",
        replace: r"    fn fire(&self) {
        self.sleep.wake_by_rule(self.sleep.state());",
        tests: &[
            "timer::a_sleeper_is_woken_for_what_is_due",
            "timer::a_searcher_finds_what_becomes_due_or_is_woken",
        ],
        purpose: "the timer does not see the sleeper, who does not see the time",
    },
    Mutant {
        name: "sleep: clock read before the fence (glue)",
        file: "src/models/worker.rs",
        find: r"        let pool = self.pool;
        pool.sleep.sleep(self.me, &mut self.activity, |state| {
            pool.idle.tell_fenced();
            state.is_aborting() || pool.has_work() ||",
        replace: r"        let pool = self.pool;
        let now = crate::timer::TimerHost::now(pool);
        pool.sleep.sleep(self.me, &mut self.activity, |state| {
            pool.idle.tell_fenced();
            let due = |lane: &super::lane::Lane| lane.delays.next_due() <= now || !lane.queue.is_empty();
            state.is_aborting() || pool.lanes.iter().any(due) ||",
        tests: &["timer::a_sleeper_is_woken_for_what_is_due"],
        purpose: "the timer fires between the reading and the announcement",
    },
    Mutant {
        name: "timer: an earlier due time does not wake it",
        file: "src/timer.rs",
        find: r"            armed.at = at;
            self.changed.notify_one();",
        replace: "            armed.at = at;",
        tests: &["timer::an_earlier_due_time_arms_the_timer_again"],
        purpose: "it sleeps until the later time",
    },
    Mutant {
        name: "timer: armed once",
        file: "src/timer.rs",
        find: "if at < armed.at {",
        replace: "if armed.at == Moment::NEVER {",
        tests: &["timer::an_earlier_due_time_arms_the_timer_again"],
        purpose: "it sleeps until the later time",
    },
    Mutant {
        name: "timer: no next time after a fire",
        file: "src/timer.rs",
        find: r"            armed.at = armed.at.min(host.next_due_after(now));
",
        replace: "",
        tests: &["timer::what_becomes_due_while_the_timer_fires_is_not_passed_over"],
        purpose: "nobody arms it for what was there before",
    },
    Mutant {
        name: "timer: the next time by a new reading",
        file: "src/timer.rs",
        find: "host.next_due_after(now)",
        replace: "host.next_due_after(host.now())",
        tests: &["timer::what_becomes_due_while_the_timer_fires_is_not_passed_over"],
        purpose: "what became due since the reading it fired for is passed over",
    },
    Mutant {
        name: "delay: an insert does not arm",
        file: "src/delay.rs",
        find: "        is_earliest.then_some(earliest)",
        replace: "        is_earliest.then_some(earliest).filter(|_| false)",
        tests: &["timer::a_sleeper_is_woken_for_what_is_due"],
        purpose: "the timer does not know of the first entry",
    },
    Mutant {
        name: "delay: a take does not arm",
        file: "src/delay.rs",
        find: "        Some(Due { item, due, next })",
        replace: "        Some(Due { item, due, next: next.max(Moment::NEVER) })",
        tests: &["timer::a_take_arms_the_timer_for_the_entry_behind_it"],
        purpose: "the timer does not know of the entry that a take uncovers",
    },
];
