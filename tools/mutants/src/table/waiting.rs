//! Waiting: for rest, for attempts, for room.
//!
//! "Glue" is a line of the models that repeats one of the pool.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "inside: waits for blocked attempts",
        file: "src/word.rs",
        find: "self.blocked.load(Ordering::Acquire) > 0",
        replace: "self.blocked.load(Ordering::Acquire) > 9",
        tests: &["inside::calls_from_two_attempts_and_from_outside_return"],
        purpose: "two attempts wait for each other",
    },
    Mutant {
        name: "idle: single collect, words first",
        file: "src/idle.rs",
        find: "words().is_some_and(|after| after == before)",
        replace: r"{
        let _ = before;
        true
    }",
        tests: &["idle::a_follow_up_task_is_waited_for"],
        purpose: "a task is popped by a worker that was seen idle",
    },
    Mutant {
        name: "idle: single collect, queues first",
        file: "src/idle.rs",
        find: r"    let Some(before) = words() else { return false };
    if !is_empty() {
        return false;
    }
    // Ordering: keeps the reads of the queues before the second reading of the words.
    fence(Ordering::Acquire);
    words().is_some_and(|after| after == before)
",
        replace: r"    if !is_empty() {
        return false;
    }
    fence(Ordering::Acquire);
    words().is_some()
",
        tests: &["idle::no_task_is_carried_past_a_scan"],
        purpose: "a task is pushed into a queue that was seen empty",
    },
    Mutant {
        name: "idle: looks are not counted",
        file: "src/word.rs",
        find: "self.own().looks().wrapping_add(1)",
        replace: "self.own().looks()",
        tests: &["idle::no_task_is_carried_past_a_scan"],
        purpose: "idle, busy and idle again reads as idle",
    },
    Mutant {
        name: "idle: a look is quiet",
        file: "src/word.rs",
        find: "matches!(self, Phase::Idle |",
        replace: "matches!(self, Phase::Idle | Phase::Look |",
        tests: &["idle::a_follow_up_task_is_waited_for"],
        purpose: "a task is out of the queue and in no word",
    },
    Mutant {
        name: "idle: hooks and drops are not waited for",
        file: "src/word.rs",
        find: "matches!(self, Phase::Idle |",
        replace: "matches!(self, Phase::Idle | Phase::Tidying |",
        tests: &["idle::a_submit_from_outside_may_come_at_any_moment"],
        purpose: "the payload's drop runs after `wait_idle` has returned",
    },
    Mutant {
        name: "idle: the word is not released",
        file: "src/word.rs",
        find: "self.store(Phase::Idle, Ordering::Release);",
        replace: "self.store(Phase::Idle, Ordering::Relaxed);",
        tests: &["idle::a_submit_from_outside_may_come_at_any_moment"],
        purpose: "the waiter does not see what the drops did",
    },
    Mutant {
        name: "idle: a spinner does not tell (glue)",
        file: "src/models/worker.rs",
        find: r"        pool.idle.tell();
        while",
        replace: "        while",
        tests: &["idle::a_worker_that_never_sleeps_tells_the_waiter"],
        purpose: "nobody else does",
    },
    Mutant {
        name: "idle: a sleeper does not tell (glue)",
        file: "src/models/worker.rs",
        find: r"            pool.idle.tell_fenced();
",
        replace: "",
        tests: &["idle::a_submit_from_outside_may_come_at_any_moment"],
        purpose: "nobody else does",
    },
    Mutant {
        name: "idle: no fence in tell",
        file: "src/idle.rs",
        find: r"        // Ordering: partner of the fence in `wait`.
        fence(Ordering::SeqCst);
",
        replace: "",
        tests: &["idle::a_worker_that_never_sleeps_tells_the_waiter"],
        purpose: "the teller does not see the waiter, who does not see the change",
    },
    Mutant {
        name: "idle: no fence in wait",
        file: "src/idle.rs",
        find: r"        // Ordering: partner of the fence in `tell`.
        fence(Ordering::SeqCst);
",
        replace: "",
        tests: &["idle::a_worker_that_never_sleeps_tells_the_waiter"],
        purpose: "the teller does not see the waiter, who does not see the change",
    },
    Mutant {
        name: "idle: told without the lock",
        file: "src/idle.rs",
        find: r"        let _guard = self.lock.lock();
        self.emptier.notify_all();",
        replace: "        self.emptier.notify_all();",
        tests: &["idle::a_worker_that_never_sleeps_tells_the_waiter"],
        purpose: "the waiter is between its look and its wait",
    },
    Mutant {
        name: "shedding: not waited for (glue)",
        file: "src/models/submit.rs",
        find: "displaced.map(|_| self.telling())",
        replace: "displaced.map(|_| self.telling()).filter(|_| false)",
        tests: &["idle::a_displacing_submit_does_not_keep_the_waiter"],
        purpose: "the displaced payload is dropped after `wait_idle` has returned",
    },
    Mutant {
        name: "shedding: left without telling (glue)",
        file: "src/models/shared.rs",
        find: r"        drop(self.shedding.take());
        self.pool.idle.tell();",
        replace: "        drop(self.shedding.take());",
        tests: &["idle::a_displacing_submit_does_not_keep_the_waiter"],
        purpose: "nobody else tells",
    },
    Mutant {
        name: "room: no fence of the taker (glue)",
        file: "src/models/room.rs",
        find: r"        fence(Ordering::SeqCst);
        self.room.was_freed();",
        replace: "        self.room.was_freed();",
        tests: &["room::a_waiter_sees_the_place_that_a_take_leaves"],
        purpose: "the taker does not see the waiter, who does not see the place",
    },
    Mutant {
        name: "room: no fence of the waiter",
        file: "src/room.rs",
        find: r"and of the one in `Sleep::close`.
        fence(Ordering::SeqCst);
",
        replace: r"and of the one in `Sleep::close`.
",
        tests: &["room::a_waiter_sees_the_place_that_a_take_leaves"],
        purpose: "the taker does not see the waiter, who does not see the place",
    },
    Mutant {
        name: "room: counted after the try",
        file: "src/room.rs",
        find: r"        self.waiters.fetch_add(1, Ordering::AcqRel);
        // Ordering: partner of the taker's fence before `was_freed`, and of the one in `Sleep::close`.
        fence(Ordering::SeqCst);
        let end = loop {
            if is_closed() {
                break Waited::Closed(item);
            }
            let over = is_over();
            match push(item) {
                Ok(()) => break Waited::Pushed,
                Err(refused) => item = refused,
            }
            if over {
                break Waited::TimedOut(item);
            }
            guard = self.freed.wait_until(guard, deadline);
",
        replace: r"        let mut counted = false;
        let end = loop {
            if is_closed() {
                break Waited::Closed(item);
            }
            let over = is_over();
            match push(item) {
                Ok(()) => break Waited::Pushed,
                Err(refused) => item = refused,
            }
            if over {
                break Waited::TimedOut(item);
            }
            if !counted {
                counted = true;
                self.waiters.fetch_add(1, Ordering::AcqRel);
                fence(Ordering::SeqCst);
            }
            guard = self.freed.wait_until(guard, deadline);
",
        tests: &["room::a_waiter_sees_the_place_that_a_take_leaves"],
        purpose: "a place that comes between the try and the count is not told",
    },
    Mutant {
        name: "room: no last try",
        file: "src/room.rs",
        find: r"            let over = is_over();
",
        replace: r"            let over = is_over();
            if over {
                break Waited::TimedOut(item);
            }
",
        tests: &["room::a_waiter_whose_time_is_over_does_not_take_the_place_of_another_with_it"],
        purpose: "the one notification for a place is lost",
    },
    Mutant {
        name: "room: notified without the lock",
        file: "src/room.rs",
        find: r"        let _guard = self.lock.lock();
        self.freed.notify_one();",
        replace: "        self.freed.notify_one();",
        tests: &["room::a_waiter_sees_the_place_that_a_take_leaves"],
        purpose: "the waiter is between its try and its wait",
    },
    Mutant {
        name: "room: closed without the lock",
        file: "src/room.rs",
        find: r"        let _guard = self.lock.lock();
        self.freed.notify_all();",
        replace: "        self.freed.notify_all();",
        tests: &["room::a_close_ends_the_wait"],
        purpose: "the waiter is between its look and its wait",
    },
    Mutant {
        name: "room: no look at the close",
        file: "src/room.rs",
        find: "            if is_closed() {",
        replace: "            if is_closed() && false {",
        tests: &["room::a_close_ends_the_wait"],
        purpose: "a waiter is woken by a close and waits on",
    },
    Mutant {
        name: "room: not told of a place",
        file: "src/room.rs",
        find: "        if self.waiters.load(Ordering::Relaxed) > 0 {",
        replace: "        if self.waiters.load(Ordering::Relaxed) > 1 {",
        tests: &["room::two_waiters_get_the_places_of_two_takes"],
        purpose: "the last waiter waits on",
    },
];
