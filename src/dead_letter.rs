//! Tasks that failed for good, kept for inspection and repair in a bounded store.

use crate::failure::{DeadLetterReason, Failure};
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::task::{TaskId, TaskInfo};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

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
    /// The text of the last failure.
    pub error: Arc<str>,
    /// When it became a letter.
    pub ended: SystemTime,
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
    /// Places kept for letters that are being requeued and may come back.
    lent: usize,
}

/// A letter taken out to be requeued; its place in the store is kept.
pub(crate) struct Lent<T, E> {
    pub(crate) letter: DeadLetter<T, E>,
    place: usize,
}

impl<T, E> LetterStore<T, E> {
    pub(crate) fn new(capacity: usize) -> Self {
        LetterStore {
            letters: Mutex::new(Letters { list: VecDeque::new(), lent: 0 }),
            capacity,
            evicted: AtomicU64::new(0),
        }
    }

    /// Keeps a letter as the newest. What has to leave for it (the oldest, or itself if the store holds none) is
    /// given back to be shed outside the lock.
    pub(crate) fn keep(&self, letter: DeadLetter<T, E>) -> Option<DeadLetter<T, E>> {
        let mut letters = self.letters.lock();
        letters.list.push_back(letter);
        if letters.list.len() + letters.lent <= self.capacity {
            return None;
        }
        self.evicted.fetch_add(1, Ordering::Relaxed);
        letters.list.pop_front()
    }

    pub(crate) fn take(&self, id: TaskId) -> Option<DeadLetter<T, E>> {
        let mut letters = self.letters.lock();
        let place = letters.place_of(id)?;
        letters.list.remove(place)
    }

    pub(crate) fn lend(&self, id: TaskId) -> Option<Lent<T, E>> {
        let mut letters = self.letters.lock();
        let place = letters.place_of(id)?;
        let letter = letters.list.remove(place)?;
        letters.lent += 1;
        Some(Lent { letter, place })
    }

    /// A lent letter comes back to where it was.
    pub(crate) fn give_back(&self, lent: Lent<T, E>) {
        let mut letters = self.letters.lock();
        letters.lent -= 1;
        let place = lent.place.min(letters.list.len());
        letters.list.insert(place, lent.letter);
    }

    /// A lent letter was requeued.
    pub(crate) fn forget_lent(&self) {
        self.letters.lock().lent -= 1;
    }

    pub(crate) fn drain(&self) -> Vec<DeadLetter<T, E>> {
        self.letters.lock().list.drain(..).collect()
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

impl<T, E> Letters<T, E> {
    fn place_of(&self, id: TaskId) -> Option<usize> {
        self.list.iter().position(|letter| letter.info.task.id == id)
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;

    fn letter(payload: u32) -> DeadLetter<u32, String> {
        DeadLetter {
            info: LetterInfo {
                task: TaskInfo { id: TaskId::next(), lane: Arc::from("default"), attempt: 1 },
                reason: DeadLetterReason::NotRetryable,
                error: Arc::from("no"),
                ended: SystemTime::UNIX_EPOCH,
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
    fn a_lent_letter_comes_back_to_its_place_and_evicts_nothing() {
        let store = LetterStore::new(2);
        store.keep(letter(1));
        store.keep(letter(2));
        let first = store.list()[0].task.id;
        let lent = store.lend(first).expect("it is there");
        assert!(store.lend(first).is_none(), "lent twice");
        assert_eq!(store.keep(letter(3)).map(|l| l.payload), Some(2));
        store.give_back(lent);
        assert_eq!(payloads(&store), [1, 3]);
    }

    #[test]
    fn a_requeued_letter_gives_its_place_up() {
        let store = LetterStore::new(1);
        store.keep(letter(1));
        let lent = store.lend(store.list()[0].task.id);
        assert!(lent.is_some());
        store.forget_lent();
        assert!(store.keep(letter(2)).is_none());
    }
}
