//! Random scripts, step by step beside a sorted vector.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const CAPACITY: usize = 6;

/// Times are few, so that many are equal; the start is among them.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u64),
    /// Of an item that has ended on its way.
    InsertDead(u64),
    Reserve,
    Unreserve,
    InsertReserved(u64),
    InsertDeadReserved(u64),
    PopDue(u64),
    /// Asks for the next due time after that.
    NextAfter(u64),
    /// Of any item that was made up so far, where it may be by now.
    Bury(prop::sample::Index),
    Sweep,
}

use Step::*;

fn any_step() -> impl Strategy<Value = Step> {
    let due = 0..8_u64;
    prop_oneof![
        8 => due.clone().prop_map(Insert),
        1 => due.clone().prop_map(InsertDead),
        4 => Just(Reserve),
        1 => Just(Unreserve),
        4 => due.clone().prop_map(InsertReserved),
        1 => due.clone().prop_map(InsertDeadReserved),
        5 => due.clone().prop_map(PopDue),
        3 => due.clone().prop_map(NextAfter),
        6 => any::<prop::sample::Index>().prop_map(Bury),
    ]
}

fn any_script() -> impl Strategy<Value = Vec<Step>> {
    (vec(any_step(), 0..80), prop::bool::weighted(0.3)).prop_map(|(mut steps, is_swept)| {
        steps.extend(is_swept.then_some([Sweep, Insert(1), Reserve, PopDue(8)]).into_iter().flatten());
        steps
    })
}

/// What its handle shares with an item.
#[derive(Default)]
struct Shared {
    mark: HeapMark,
    is_dead: AtomicBool,
}

impl Default for HeapMark {
    fn default() -> Self {
        HeapMark::new()
    }
}

/// An item keeps `shared` for as long as it lives, so the count of those tells whether it was dropped.
struct Item {
    id: usize,
    shared: Arc<Shared>,
}

impl DelayItem for Item {
    fn is_dead(&self) -> bool {
        self.shared.is_dead.load(Ordering::Relaxed)
    }

    fn mark(&self) -> Option<&HeapMark> {
        Some(&self.shared.mark)
    }
}

/// An entry of the model. The ids are given in the order of the calls, so they order ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    due: u64,
    id: usize,
    is_dead: bool,
}

/// The queue as it should be, with its entries sorted.
struct Model {
    entries: Vec<Entry>,
    reserved: usize,
    is_ended: bool,
}

impl Model {
    fn waiting(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.is_dead).count()
    }

    fn refusal(&self, is_dead: bool, needs_room: bool) -> Option<DelayRefusal> {
        let is_full = self.waiting() + self.reserved >= CAPACITY;
        if self.is_ended {
            Some(DelayRefusal::Ended)
        } else if is_dead {
            Some(DelayRefusal::Dead)
        } else {
            (needs_room && is_full).then_some(DelayRefusal::Full)
        }
    }

    fn next(&self) -> Moment {
        self.entries.first().map_or(Moment::NEVER, |entry| at(entry.due))
    }

    /// The ids of what was dead on top.
    fn uncover(&mut self) -> Vec<usize> {
        let on_top = self.entries.iter().take_while(|entry| entry.is_dead).count();
        self.entries.drain(..on_top).map(|entry| entry.id).collect()
    }

    fn next_after(&self, now: u64) -> Moment {
        let later = self.entries.iter().find(|entry| entry.due > now && !entry.is_dead);
        later.map_or(Moment::NEVER, |entry| at(entry.due))
    }

    /// The due time to arm the timer for, if the new entry is the first now.
    fn take_in(&mut self, due: u64, id: usize) -> Option<Moment> {
        self.entries.push(Entry { due, id, is_dead: false });
        self.entries.sort_unstable();
        (self.entries[0].id == id).then_some(at(due))
    }

    /// The ids of what is moved out.
    fn bury(&mut self, id: usize) -> Vec<usize> {
        let is_it = |entry: &&mut Entry| entry.id == id && !entry.is_dead;
        let Some(entry) = self.entries.iter_mut().find(is_it) else { return Vec::new() };
        entry.is_dead = true;
        let mut out = self.uncover();
        if (self.entries.len() - self.waiting()) * 2 > self.entries.len() {
            out.extend(self.entries.iter().filter(|entry| entry.is_dead).map(|entry| entry.id));
            self.entries.retain(|entry| !entry.is_dead);
        }
        out
    }
}

fn at(nanos: u64) -> Moment {
    Moment::from_nanos(nanos)
}

struct Run {
    queue: DelayQueue<Item>,
    model: Model,
    made: Vec<Arc<Shared>>,
    /// The largest number of entries that there was.
    most: usize,
}

impl Run {
    fn new() -> Self {
        let model = Model { entries: Vec::new(), reserved: 0, is_ended: false };
        Run { queue: DelayQueue::new(CAPACITY), model, made: Vec::new(), most: 0 }
    }

    fn make(&mut self, is_dead: bool) -> Item {
        let shared = Arc::new(Shared { is_dead: is_dead.into(), ..Shared::default() });
        self.made.push(Arc::clone(&shared));
        Item { id: self.made.len() - 1, shared }
    }

    fn insert(&mut self, due: u64, is_dead: bool, is_reserved: bool) {
        if is_reserved && self.model.reserved == 0 {
            return;
        }
        let item = self.make(is_dead);
        let id = item.id;
        self.model.reserved -= usize::from(is_reserved);
        let expected = match self.model.refusal(is_dead, !is_reserved) {
            Some(refusal) => Err((id, refusal)),
            None => Ok(self.model.take_in(due, id)),
        };
        let insert = if is_reserved { DelayQueue::insert_reserved } else { DelayQueue::insert };
        let answer = insert(&self.queue, at(due), item);
        let answer = answer.map_err(|(item, refusal)| {
            self.check_drops(&[item.id]);
            (item.id, refusal)
        });
        assert_eq!(answer, expected);
    }

    fn reserve(&mut self) {
        let refusal = self.model.refusal(false, true);
        assert_eq!(self.queue.reserve().err(), refusal);
        self.model.reserved += usize::from(refusal.is_none());
    }

    fn unreserve(&mut self) {
        if self.model.reserved > 0 {
            self.model.reserved -= 1;
            self.queue.unreserve();
        }
    }

    fn pop_due(&mut self, now: u64) {
        let is_due = self.model.entries.first().is_some_and(|first| first.due <= now);
        let expected = is_due.then(|| self.model.entries.remove(0));
        let expected = expected.map(|Entry { due, id, .. }| (id, at(due), self.model.next()));
        let taken = self.queue.pop_due(at(now));
        self.check_drops(taken.as_ref().map(|due| due.item.id).as_slice());
        assert_eq!(taken.map(|due| (due.item.id, due.due, due.next)), expected);
    }

    fn bury(&mut self, which: prop::sample::Index) {
        if self.made.is_empty() {
            return;
        }
        let id = which.index(self.made.len());
        // As its canceller does, before it looks here.
        self.made[id].is_dead.store(true, Ordering::Relaxed);
        let mut expected = self.model.bury(id);
        let buried = self.queue.bury(&self.made[id].mark);
        let mut moved_out: Vec<_> = buried.moved_out.iter().map(|item| item.id).collect();
        self.check_drops(&moved_out);
        expected.sort_unstable();
        moved_out.sort_unstable();
        assert_eq!((moved_out, buried.next), (expected, self.model.next()));
    }

    fn next_after(&mut self, now: u64) {
        let mut expected = self.model.uncover();
        let found = self.queue.next_due_after(at(now));
        let mut moved_out: Vec<_> = found.moved_out.iter().map(|item| item.id).collect();
        self.check_drops(&moved_out);
        expected.sort_unstable();
        moved_out.sort_unstable();
        assert_eq!((moved_out, found.next), (expected, self.model.next_after(now)));
    }

    fn sweep(&mut self) {
        self.model.is_ended = true;
        let expected: Vec<_> = self.model.entries.drain(..).map(|entry| (at(entry.due), entry.id)).collect();
        let swept: Vec<_> = self.queue.end_and_sweep();
        let swept_ids: Vec<_> = swept.iter().map(|(_, item)| item.id).collect();
        self.check_drops(&swept_ids);
        assert_eq!(swept.iter().map(|(due, item)| (*due, item.id)).collect::<Vec<_>>(), expected);
    }

    /// Who lives: what waits, and what was just given out. Nothing is dropped or kept by the queue.
    fn check_drops(&self, given_out: &[usize]) {
        let alive = (0..self.made.len()).filter(|id| Arc::strong_count(&self.made[*id]) > 1);
        let mut expected: Vec<_> = self.model.entries.iter().map(|entry| entry.id).collect();
        expected.extend(given_out);
        expected.sort_unstable();
        assert_eq!(alive.collect::<Vec<_>>(), expected, "who lives");
    }

    fn step(&mut self, step: Step) {
        match step {
            Insert(due) => self.insert(due, false, false),
            InsertDead(due) => self.insert(due, true, false),
            Reserve => self.reserve(),
            Unreserve => self.unreserve(),
            InsertReserved(due) => self.insert(due, false, true),
            InsertDeadReserved(due) => self.insert(due, true, true),
            PopDue(now) => self.pop_due(now),
            NextAfter(now) => self.next_after(now),
            Bury(which) => self.bury(which),
            Sweep => self.sweep(),
        }
    }

    fn check(&mut self) {
        let Model { entries, reserved, .. } = &self.model;
        let waiting = self.model.waiting();
        assert_eq!(self.queue.len(), waiting);
        assert_eq!(self.queue.is_empty(), waiting + reserved == 0);
        assert_eq!(self.queue.next_due(), self.model.next());
        for now in 0..8 {
            let due = entries.iter().filter(|entry| entry.due <= now).count();
            for most in [0, 1, 2, usize::MAX] {
                assert_eq!(self.queue.due_by(at(now), most), due.min(most));
            }
        }
        self.check_drops(&[]);
        self.most = self.most.max(entries.len());
        assert!(self.most <= CAPACITY * 2, "no more than half of it is dead");
        let slots = self.queue.heap.lock().entries.slots();
        assert!(slots <= self.most, "{slots} slots for {} entries", self.most);
    }
}

proptest! {
    #[test]
    fn the_queue_does_what_a_sorted_vector_would(script in any_script()) {
        let mut run = Run::new();
        for step in script {
            run.step(step);
            run.check();
        }
    }
}
