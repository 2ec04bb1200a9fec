//! Tasks that failed for good, kept for inspection and repair in a bounded store.

use crate::failure::{DeadLetterReason, Failure};
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::task::{TaskId, TaskInfo};
use std::collections::VecDeque;
use std::fmt;
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
    list: VecDeque<DeadLetter<T, E>>,
    /// The pool is gone: nobody could ask for a letter.
    forsaken: bool,
}

/// A letter taken out to be requeued, with the place that it had.
pub(crate) struct Lent<T, E> {
    pub(crate) letter: DeadLetter<T, E>,
    place: usize,
}

impl<T, E> LetterStore<T, E> {
    pub(crate) fn new(capacity: usize) -> Self {
        LetterStore {
            letters: Mutex::new(Letters { list: VecDeque::new(), forsaken: false }),
            capacity,
            evicted: AtomicU64::new(0),
        }
    }

    /// Keeps a letter as the newest. What has to leave for it (the oldest, or itself if the store holds none) is
    /// given back to be shed outside the lock.
    pub(crate) fn keep(&self, letter: DeadLetter<T, E>) -> Option<DeadLetter<T, E>> {
        let mut letters = self.letters.lock();
        letters.list.push_back(letter);
        let capacity = if letters.forsaken { 0 } else { self.capacity };
        let leaves = letters.list.len() > capacity;
        leaves.then(|| self.evict(&mut letters, 0)).flatten()
    }

    fn evict(&self, letters: &mut Letters<T, E>, place: usize) -> Option<DeadLetter<T, E>> {
        self.evicted.fetch_add(1, Ordering::Relaxed);
        letters.list.remove(place)
    }

    pub(crate) fn take(&self, id: TaskId) -> Option<DeadLetter<T, E>> {
        self.lend(id).map(|lent| lent.letter)
    }

    pub(crate) fn lend(&self, id: TaskId) -> Option<Lent<T, E>> {
        let mut letters = self.letters.lock();
        let place = letters.list.iter().position(|letter| letter.info.task.id == id)?;
        let letter = letters.list.remove(place)?;
        Some(Lent { letter, place })
    }

    /// A lent letter comes back to where it was. If its place was filled meanwhile, the oldest of the others leaves.
    pub(crate) fn give_back(&self, lent: Lent<T, E>) -> Option<DeadLetter<T, E>> {
        let mut letters = self.letters.lock();
        let place = lent.place.min(letters.list.len());
        letters.list.insert(place, lent.letter);
        let leaves = letters.list.len() > self.capacity;
        let oldest_other = usize::from(place == 0);
        leaves.then(|| self.evict(&mut letters, oldest_other)).flatten()
    }

    pub(crate) fn drain(&self) -> Vec<DeadLetter<T, E>> {
        self.letters.lock().list.drain(..).collect()
    }

    /// The last drain: from here on nothing is kept.
    pub(crate) fn forsake(&self) -> Vec<DeadLetter<T, E>> {
        let mut letters = self.letters.lock();
        letters.forsaken = true;
        letters.list.drain(..).collect()
    }

    pub(crate) fn list(&self) -> Vec<LetterInfo> {
        let letters = self.letters.lock();
        letters.list.iter().map(|letter| letter.info.clone()).collect()
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
        DeadLetter {
            info: LetterInfo {
                task: TaskInfo { id: TaskId::next(), lane: Arc::from("default"), attempt: 1, key: None },
                reason: DeadLetterReason::NotRetryable,
                error: Arc::from("no"),
                ended: SystemTime::UNIX_EPOCH,
                age: None,
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
    fn a_forsaken_store_keeps_nothing() {
        let store = LetterStore::new(2);
        store.keep(letter(1));
        assert_eq!(store.forsake().len(), 1);
        assert_eq!(store.keep(letter(2)).map(|l| l.payload), Some(2));
    }
}
