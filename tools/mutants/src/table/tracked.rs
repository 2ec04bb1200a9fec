//! Tracked tasks: stage, payload, answer, and the entries of the delay queue that a cancel leaves.
//!
//! "Glue" is a line of the models that repeats one of the pool.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "stage: changed in two steps",
        file: "src/stage.rs",
        find: "let changed = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |bits| {",
        replace: r"let two_steps = |next: &dyn Fn(u64) -> Option<u64>| {
            let before = self.0.load(Ordering::Acquire);
            let after = next(before).ok_or(before)?;
            self.0.store(after, Ordering::Release);
            Ok::<u64, u64>(before)
        };
        let changed = two_steps(&|bits| {",
        tests: &["slot::one_of_those_who_take_a_waiting_task_away_has_its_payload"],
        purpose: "two win",
    },
    Mutant {
        name: "stage: starts what has ended",
        file: "src/stage.rs",
        find: "stage.is_waiting().then_some(Stage::Running.to_bits())",
        replace: "(stage != Stage::Running).then_some(Stage::Running.to_bits())",
        tests: &["slot::a_cancel_and_a_start_decide_once"],
        purpose: "a cancelled task is run",
    },
    Mutant {
        name: "stage: takes away what does not wait",
        file: "src/stage.rs",
        find: "stage.is_waiting().then_some(Stage::Ended(outcome).to_bits())",
        replace: "(stage != Stage::Running).then_some(Stage::Ended(outcome).to_bits())",
        tests: &["slot::one_of_those_who_take_a_waiting_task_away_has_its_payload"],
        purpose: "two win",
    },
    Mutant {
        name: "stage: a request of what waits again",
        file: "src/stage.rs",
        find: "(stage == Stage::Running).then_some(Stage::Running.to_bits() | CANCEL)",
        replace: "(!matches!(stage, Stage::Ended(_))).then_some(stage.to_bits() | CANCEL)",
        tests: &["slot::a_task_is_not_retried_after_its_cancel_was_requested"],
        purpose: "`Requested` is answered for a task whose retry is scheduled",
    },
    Mutant {
        name: "stage: the request is not looked at by a retry",
        file: "src/stage.rs",
        find: "(!cancelled).then_some(",
        replace: "(!cancelled || true).then_some(",
        tests: &["slot::a_task_is_not_retried_after_its_cancel_was_requested"],
        purpose: "retried after a cancel was requested",
    },
    Mutant {
        name: "stage: the request is not looked at by the end",
        file: "src/stage.rs",
        find: "_ if cancelled => Outcome::Cancelled,",
        replace: "_ if cancelled && false => Outcome::Cancelled,",
        tests: &["slot::a_cancel_and_the_end_of_an_attempt_decide_once"],
        purpose: "`Requested` is answered, and the task becomes a letter",
    },
    Mutant {
        name: "stage: attempts are not counted",
        file: "src/stage.rs",
        find: "u32::from(starts)",
        replace: "0 * u32::from(starts)",
        tests: &["slot::a_cancel_and_a_start_decide_once"],
        purpose: "a status names the wrong attempt",
    },
    Mutant {
        name: "slot: parked after the stage (glue)",
        file: "src/models/slot.rs",
        find: r"    slot.park(Parked { payload: 7, last_failure: None });
    if slot.stage.retry() {
        return true;
    }
    take_payload(slot);",
        replace: r"    if slot.stage.retry() {
        slot.park(Parked { payload: 7, last_failure: None });
        return true;
    }",
        tests: &[
            "slot::a_task_is_not_retried_after_its_cancel_was_requested",
            "slot::a_retry_is_started_or_cancelled_with_its_payload",
        ],
        purpose: "who wins the stage finds no payload",
    },
    Mutant {
        name: "slot: taken before the stage (glue)",
        file: "src/models/slot.rs",
        find: r"    let wins = slot.stage.end_waiting(outcome).is_ok();
    if wins {
        take_payload(slot);
    }",
        replace: r"    let _taken = slot.unpark();
    let wins = slot.stage.end_waiting(outcome).is_ok();",
        tests: &["slot::one_of_those_who_take_a_waiting_task_away_has_its_payload"],
        purpose: "who wins the stage finds no payload",
    },
    Mutant {
        name: "answer: waiters are not notified",
        file: "src/slot.rs",
        find: "        self.answered.notify_all();\n",
        replace: "",
        tests: &["slot::whoever_waits_gets_the_answer"],
        purpose: "a waiter waits on",
    },
    Mutant {
        name: "answer: waits without a look",
        file: "src/slot.rs",
        find: "if !answer.resolved {",
        replace: "if !answer.resolved || true {",
        tests: &["slot::whoever_waits_gets_the_answer"],
        purpose: "the answer came between the look and the wait",
    },
    Mutant {
        name: "answer: given twice",
        file: "src/slot.rs",
        find: "if answer.resolved || answer.detached {",
        replace: "if answer.detached {",
        tests: &["slot::whoever_waits_gets_the_answer"],
        purpose: "the second answer takes the place of the first",
    },
    Mutant {
        name: "answer: taken twice",
        file: "src/slot.rs",
        find: "None if answer.resolved => Look::Gone,",
        replace: "None if answer.resolved && false => Look::Gone,",
        tests: &["slot::whoever_waits_gets_the_answer"],
        purpose: "who asks again waits without end",
    },
    Mutant {
        name: "answer: given to a handle that is gone",
        file: "src/slot.rs",
        find: "if answer.resolved || answer.detached {",
        replace: "if answer.resolved {",
        tests: &["slot::an_answer_is_dropped_by_the_giver_or_by_the_handle"],
        purpose: "the output is dropped with the slot, outside of the guard",
    },
    Mutant {
        name: "answer: a handle that goes does not say so",
        file: "src/slot.rs",
        find: "        answer.detached = true;\n",
        replace: "",
        tests: &["slot::an_answer_is_dropped_by_the_giver_or_by_the_handle"],
        purpose: "the output is dropped with the slot, outside of the guard",
    },
    Mutant {
        name: "answer: a handle that goes leaves it",
        file: "src/slot.rs",
        find: "(answer.result.take(), answer.waker.take())",
        replace: "(None, answer.waker.take())",
        tests: &["slot::an_answer_is_dropped_by_the_giver_or_by_the_handle"],
        purpose: "the output is dropped with the slot, outside of the guard",
    },
    Mutant {
        name: "answer: the waker is not taken",
        file: "src/slot.rs",
        find: "let waker = answer.waker.take();\n        self",
        replace: "let waker: Option<Waker> = None;\n        self",
        tests: &["slot::a_poll_finds_the_answer_or_is_woken"],
        purpose: "a task of a runtime waits on",
    },
    Mutant {
        name: "answer: the waker is left after the lock of the look",
        file: "src/slot.rs",
        find: r"        let mut answer = self.answer.lock();
        match Self::look_at(&mut answer) {",
        replace: r"        let found = Self::look_at(&mut self.answer.lock());
        let mut answer = self.answer.lock();
        match found {",
        tests: &["slot::a_poll_finds_the_answer_or_is_woken"],
        purpose: "the answer came in between",
    },
    Mutant {
        name: "answer: the first waker stays",
        file: "src/slot.rs",
        find: "let replaced = answer.waker.replace(waker);",
        replace: r"let replaced = Some(waker);
                answer.waker = answer.waker.take().or(replaced.clone());",
        tests: &["slot::a_poll_finds_the_answer_or_is_woken"],
        purpose: "a future that moved to another task is not woken",
    },
    Mutant {
        name: "progress: shown with any attempt",
        file: "src/slot.rs",
        find: "*attempt == self.attempt()",
        replace: "*attempt <= self.attempt()",
        tests: &["slot::progress_is_shown_with_the_attempt_that_made_it"],
        purpose: "a new attempt starts with the progress of the last one",
    },
    Mutant {
        name: "bury: the timer is not armed (glue)",
        file: "src/models/tracked.rs",
        find: "            self.timer.arm(buried.next);\n",
        replace: "",
        tests: &["timer::a_cancel_arms_the_timer_for_the_entry_behind_it"],
        purpose: "nobody else does it for the entry behind",
    },
    Mutant {
        name: "bury: the top is not uncovered",
        file: "src/delay.rs",
        find: "            heap.uncover(&mut moved_out);\n",
        replace: "",
        tests: &["timer::a_cancel_arms_the_timer_for_the_entry_behind_it"],
        purpose: "the dead entry hides the due time of the next one",
    },
    Mutant {
        name: "bury: the next due time is not published",
        file: "src/delay.rs",
        find: r"        let next = self.publish(&heap);
        Buried { moved_out, next }",
        replace: r"        let next = heap.entries.peek().map_or(Moment::NEVER, |first| first.due);
        Buried { moved_out, next }",
        tests: &["timer::a_cancel_arms_the_timer_for_the_entry_behind_it"],
        purpose: "workers go round and round for an entry that is gone",
    },
    Mutant {
        name: "delay: takes in what is dead",
        file: "src/delay.rs",
        find: r"        heap.reserved -= 1;
        if heap.is_ended {
            return Err((item, DelayRefusal::Ended));
        }
        if item.is_dead() {",
        replace: r"        heap.reserved -= 1;
        if heap.is_ended {
            return Err((item, DelayRefusal::Ended));
        }
        if item.is_dead() && false {",
        tests: &["delay::what_is_cancelled_beside_its_insert_is_not_left_in_the_heap"],
        purpose: "its canceller has looked already, and nobody buries it",
    },
    Mutant {
        name: "delay: an entry is not marked",
        file: "src/delay.rs",
        find: "            mark.set(HeapMark::IN);\n",
        replace: "            let _ = mark;\n",
        tests: &["delay::what_two_cancels_bury_is_moved_out_and_the_living_stay"],
        purpose: "what is cancelled keeps its place",
    },
    Mutant {
        name: "delay: the mark stays when the entry leaves",
        file: "src/delay.rs",
        find: "            mark.set(HeapMark::OUT);\n",
        replace: "",
        tests: &["delay::what_is_cancelled_beside_a_take_is_counted_off_once"],
        purpose: "an entry that is gone counts as dead in the heap",
    },
    Mutant {
        name: "bury: what is not there counts as dead",
        file: "src/delay.rs",
        find: "        if mark.get() == HeapMark::IN {",
        replace: "        if mark.get() != HeapMark::DEAD {",
        tests: &["delay::what_is_cancelled_beside_a_take_is_counted_off_once"],
        purpose: "an entry that is gone counts as dead in the heap",
    },
    Mutant {
        name: "bury: what leaves stays counted",
        file: "src/delay.rs",
        find: "                self.dead -= 1;\n",
        replace: "",
        tests: &[
            "delay::what_is_cancelled_beside_a_take_is_counted_off_once",
            "delay::what_two_cancels_bury_is_moved_out_and_the_living_stay",
        ],
        purpose: "the living count as dead",
    },
    Mutant {
        name: "compact: the living leave",
        file: "src/delay.rs",
        find: "take_out(is_buried)",
        replace: "take_out(|item| !is_buried(item))",
        tests: &["delay::what_two_cancels_bury_is_moved_out_and_the_living_stay"],
        purpose: "a task is lost",
    },
    Mutant {
        name: "compact: never",
        file: "src/delay.rs",
        find: "if heap.dead * 2 > heap.entries.len() {",
        replace: "if heap.dead > heap.entries.len() {",
        tests: &["delay::what_two_cancels_bury_is_moved_out_and_the_living_stay"],
        purpose: "dead weight grows without bound",
    },
];
