//! Tasks that failed for good, kept for inspection and repair in a bounded store.

use crate::failure::{DeadLetterReason, Failure};
use crate::options::TaskOptions;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::task::{TaskId, TaskInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What is known of a letter beside payload and failure; made once, so listing calls no user code.
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
/// use dockhand::letter::DeadLetterReason;
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u8, _cx| Err::<(), _>("no paper".to_string())))
///     .build()?;
/// pool.submit(1).into_result()?;
/// pool.wait_idle(Duration::from_secs(10))?;
/// let list = pool.dead_letters().list();
/// assert_eq!(list[0].reason, DeadLetterReason::RetriesExhausted);
/// assert_eq!(&*list[0].error, "no paper");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LetterInfo {
    /// The task, with the number of attempts.
    pub task: TaskInfo,
    /// Why it became a letter.
    pub reason: DeadLetterReason,
    /// The text of the last failure: its first 4,096 bytes, to the end of a character, and of a longer one the length. The
    /// error's `Display` runs to its end, once; the whole text is never built.
    pub error: Arc<str>,
    /// When it became a letter.
    pub ended: SystemTime,
    /// How long after its submit that was, if the task was timed; see [`Timing`](crate::Timing).
    pub age: Option<Duration>,
    /// What [`requeue`](crate::letter::DeadLetters::requeue) submits it with: the key, ttl and deadline that it was
    /// submitted with.
    pub options: TaskOptions,
}

/// A task that ended as `DeadLettered`, with its payload and last failure.
///
/// See [`dead_letter_sink`](crate::PoolBuilder::dead_letter_sink) and [`DeadLetters`](crate::letter::DeadLetters) for
/// examples.
#[non_exhaustive]
pub struct DeadLetter<T, E> {
    /// What is known of it.
    pub info: LetterInfo,
    /// The payload as the last attempt left it.
    pub payload: T,
    /// Why the last attempt failed.
    pub failure: Failure<E>,
}

impl<T, E> fmt::Debug for DeadLetter<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetter")
            .field("info", &self.info)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

/// What the sink wants done with a letter it has seen.
///
/// See [`dead_letter_sink`](crate::PoolBuilder::dead_letter_sink) for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterFate {
    /// Keep it in the pool's store.
    Keep,
    /// Drop it here.
    Discard,
}

/// The store: a bounded list, oldest first.
pub(crate) struct LetterStore<T, E> {
    letters: Mutex<Letters<T, E>>,
    capacity: usize,
    evicted: AtomicU64,
}

struct Letters<T, E> {
    /// By the number that each got as it came. Boxed, since the tree moves what is in it.
    list: BTreeMap<u64, Box<DeadLetter<T, E>>>,
    /// Task and number of each. The user may have written the same id into several.
    tasks: BTreeSet<(u64, u64)>,
    next: u64,
    /// The pool is gone: nobody could ask for a letter.
    forsaken: bool,
}

impl<T, E> Letters<T, E> {
    fn put(&mut self, number: u64, letter: Box<DeadLetter<T, E>>) {
        self.tasks.insert((letter.info.task.id.as_u64(), number));
        self.list.insert(number, letter);
    }

    fn lend(&mut self, number: u64) -> Option<Lent<T, E>> {
        let letter = self.list.remove(&number)?;
        self.tasks.remove(&(letter.info.task.id.as_u64(), number));
        Some(Lent { letter, number })
    }

    /// Takes all out, oldest first.
    fn take_all(&mut self) -> impl Iterator<Item = DeadLetter<T, E>> + use<T, E> {
        self.tasks.clear();
        std::mem::take(&mut self.list).into_values().map(|letter| *letter)
    }
}

/// A letter taken out to be requeued, with the place that it had.
pub(crate) struct Lent<T, E> {
    pub(crate) letter: Box<DeadLetter<T, E>>,
    pub(crate) number: u64,
}

impl<T, E> LetterStore<T, E> {
    pub(crate) fn new(capacity: usize) -> Self {
        LetterStore {
            letters: Mutex::new(Letters {
                list: BTreeMap::new(),
                tasks: BTreeSet::new(),
                next: 0,
                forsaken: false,
            }),
            capacity,
            evicted: AtomicU64::new(0),
        }
    }

    /// Keeps a letter as the newest. What has to leave for it (the oldest, or itself if the store holds none) is
    /// given back to be shed outside the lock.
    pub(crate) fn keep(&self, letter: DeadLetter<T, E>) -> Option<DeadLetter<T, E>> {
        let letter = Box::new(letter);
        let mut letters = self.letters.lock();
        let number = letters.next;
        letters.next += 1;
        letters.put(number, letter);
        let capacity = if letters.forsaken { 0 } else { self.capacity };
        self.evict_above(capacity, &mut letters, None)
    }

    /// The oldest one leaves, but for that one, if there are more than so many.
    fn evict_above(
        &self,
        capacity: usize,
        letters: &mut Letters<T, E>,
        spared: Option<u64>,
    ) -> Option<DeadLetter<T, E>> {
        if letters.list.len() <= capacity {
            return None;
        }
        let oldest = letters.list.keys().copied().find(|number| Some(*number) != spared)?;
        self.evicted.fetch_add(1, Ordering::Relaxed);
        letters.lend(oldest).map(|lent| *lent.letter)
    }

    pub(crate) fn take(&self, id: TaskId) -> Option<DeadLetter<T, E>> {
        self.lend(id).map(|lent| *lent.letter)
    }

    pub(crate) fn lend(&self, id: TaskId) -> Option<Lent<T, E>> {
        let id = id.as_u64();
        let mut letters = self.letters.lock();
        let (_, number) = *letters.tasks.range((id, 0)..=(id, u64::MAX)).next()?;
        letters.lend(number)
    }

    /// The oldest letter with one of these numbers that is of none of these lanes.
    pub(crate) fn lend_next(&self, numbers: Range<u64>, but: &[Arc<str>]) -> Option<Lent<T, E>> {
        let mut letters = self.letters.lock();
        let mut list = letters.list.range(numbers);
        let (&number, _) = list.find(|(_, letter)| !but.contains(&letter.info.task.lane))?;
        letters.lend(number)
    }

    /// The number of the letter that will come next.
    pub(crate) fn next_number(&self) -> u64 {
        self.letters.lock().next
    }

    /// A lent letter comes back to where it was. If its place was filled meanwhile, the oldest of the others leaves.
    pub(crate) fn give_back(&self, lent: Lent<T, E>) -> Option<DeadLetter<T, E>> {
        let mut letters = self.letters.lock();
        letters.put(lent.number, lent.letter);
        self.evict_above(self.capacity, &mut letters, Some(lent.number))
    }

    pub(crate) fn drain(&self) -> Vec<DeadLetter<T, E>> {
        let all = self.letters.lock().take_all();
        all.collect()
    }

    /// The last drain: from here on nothing is kept.
    pub(crate) fn forsake(&self) -> Vec<DeadLetter<T, E>> {
        let mut letters = self.letters.lock();
        letters.forsaken = true;
        let all = letters.take_all();
        drop(letters);
        all.collect()
    }

    pub(crate) fn list(&self) -> Vec<LetterInfo> {
        let letters = self.letters.lock();
        letters.list.values().map(|letter| letter.info.clone()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.letters.lock().list.len()
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;

    fn letter(payload: u32) -> DeadLetter<u32, String> {
        let id = TaskId::next();
        DeadLetter {
            info: LetterInfo {
                task: TaskInfo {
                    id,
                    lane: Arc::from("default"),
                    attempt: 1,
                    key: None,
                    replays: 0,
                    origin: id,
                },
                reason: DeadLetterReason::NotRetryable,
                error: Arc::from("no"),
                ended: SystemTime::UNIX_EPOCH,
                age: None,
                options: TaskOptions::new(),
            },
            payload,
            failure: Failure::error("no".into()),
        }
    }

    fn payloads(store: &LetterStore<u32, String>) -> Vec<u32> {
        store.drain().into_iter().map(|letter| letter.payload).collect()
    }

    #[test]
    fn a_full_store_gives_up_its_oldest_letter() {
        let store = LetterStore::new(2);
        assert!(store.keep(letter(1)).is_none());
        assert!(store.keep(letter(2)).is_none());
        assert_eq!(store.keep(letter(3)).map(|l| l.payload), Some(1));
        assert_eq!(store.evicted(), 1);
        assert_eq!(payloads(&store), [2, 3]);
    }

    #[test]
    fn a_store_of_nothing_gives_every_letter_away() {
        let store = LetterStore::new(0);
        assert_eq!(store.keep(letter(1)).map(|l| l.payload), Some(1));
        assert_eq!(store.len(), 0);
    }

    #[test]
    fn a_lent_letter_comes_back_to_its_place() {
        let store = LetterStore::new(2);
        store.keep(letter(1));
        store.keep(letter(2));
        let first = store.list()[0].task.id;
        let lent = store.lend(first).expect("it is there");
        assert!(store.lend(first).is_none(), "lent twice");
        assert!(store.give_back(lent).is_none());
        assert_eq!(payloads(&store), [1, 2]);
    }

    #[test]
    fn a_letter_that_comes_back_to_a_full_store_stays() {
        let store = LetterStore::new(2);
        store.keep(letter(1));
        store.keep(letter(2));
        let lent = store.lend(store.list()[0].task.id).expect("it is there");
        assert!(store.keep(letter(3)).is_none(), "the lent one has left room");
        assert_eq!(store.give_back(lent).map(|l| l.payload), Some(2));
        assert_eq!(payloads(&store), [1, 3]);
    }

    #[test]
    fn each_of_several_letters_with_one_id_is_found() {
        let store = LetterStore::new(3);
        let mut second = letter(2);
        let first = letter(1);
        second.info.task.id = first.info.task.id;
        let id = first.info.task.id;
        assert!([first, second, letter(3)].into_iter().all(|letter| store.keep(letter).is_none()));
        let taken = [store.take(id), store.take(id), store.take(id)];
        assert_eq!(taken.map(|letter| letter.map(|l| l.payload)), [Some(1), Some(2), None]);
        assert_eq!(payloads(&store), [3]);
    }

    #[test]
    fn a_forsaken_store_keeps_nothing() {
        let store = LetterStore::new(2);
        store.keep(letter(1));
        assert_eq!(store.forsake().len(), 1);
        assert_eq!(store.keep(letter(2)).map(|l| l.payload), Some(2));
    }
}
