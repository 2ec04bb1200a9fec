//! The dead letters of a pool, as an operator uses them.

use crate::dead_letter::{DeadLetter, Lent, LetterInfo};
use crate::error::RejectReason;
use crate::options::TaskOptions;
use crate::processor::Processor;
use crate::shared::{LetterOf, Shared};
use crate::task::TaskId;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// The store of a pool's letters. It outlives the shutdown, until the pool is dropped.
///
/// The store is bounded by [`dead_letter_capacity`](crate::PoolBuilder::dead_letter_capacity); when it is full, the
/// oldest letter leaves through [`on_shed`](crate::PoolBuilder::on_shed).
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let repaired = Arc::new(AtomicBool::new(false));
/// let is_repaired = repaired.clone();
/// let pool = WorkerPool::builder(processor_fn(move |_: &mut u32, _cx| {
///     if is_repaired.load(Ordering::Relaxed) { Ok(()) } else { Err("broken".to_string()) }
/// }))
/// .build()?;
/// for n in 0..3 {
///     pool.submit(n).into_result()?;
/// }
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert_eq!(pool.dead_letters().len(), 3);
///
/// repaired.store(true, Ordering::Relaxed);
/// assert_eq!(pool.dead_letters().requeue_all(), 3);
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert!(pool.dead_letters().is_empty());
/// assert_eq!(pool.metrics().counts.succeeded, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeadLetters<'a, P: Processor> {
    pub(crate) shared: &'a Shared<P>,
}

impl<P: Processor> DeadLetters<'_, P> {
    /// How many letters are kept.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.shared.letters.len()
    }

    /// Whether none is kept.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert!(!letters.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is known of each letter, oldest first.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.list()[0].task.id, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self) -> Vec<LetterInfo> {
        self.shared.letters.list()
    }

    /// Takes one letter out. Costs a search that grows with the logarithm of how many are kept.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.take(id).map(|letter| letter.payload), Some(7));
    /// assert!(letters.take(id).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(&self, id: TaskId) -> Option<LetterOf<P>> {
        self.shared.letters.take(id)
    }

    /// Puts a letter back, as the newest, with all that is known of it; a letter of another pool too. From a full store the
    /// oldest leaves through `on_shed`, on this thread.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// let mut letter = letters.take(id).ok_or("no letter")?;
    /// letter.payload += 1; // repaired by hand
    /// letters.put_back(letter);
    /// assert_eq!(letters.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_back(&self, letter: LetterOf<P>) {
        let user = self.shared.user();
        self.shared.keep_letter(user.as_deref(), letter);
        self.shared.release(user);
    }

    /// Takes all letters out, oldest first.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.drain().len(), 1);
    /// assert!(letters.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain(&self) -> Vec<LetterOf<P>> {
        self.shared.letters.drain()
    }

    /// Offers the payload of a letter to its lane again, with the key, ttl and deadline that it was submitted with
    /// ([`LetterInfo::options`]): the key is taken again, and the ttl starts anew. It is a task with a new id and attempts
    /// from 1; its [`origin`](crate::TaskInfo::origin) and [`replays`](crate::TaskInfo::replays) tell of its past. The
    /// payload is as the last attempt left it, half changed if that panicked.
    ///
    /// Always as under [`OverloadPolicy::Reject`](crate::OverloadPolicy::Reject): a replay displaces nothing and runs
    /// nothing on this thread. It costs an allocation, and a search that grows with the logarithm of how many are kept.
    ///
    /// # Errors
    /// `UnknownLetter`; `UnknownLane`, for a letter of another pool; or `QueueFull`, `Duplicate` if another task has the key,
    /// `Expired` if the deadline has passed, or `Closed`. The letter then stays where it was.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// let new_id = letters.requeue(id)?;
    /// assert_ne!(new_id, id);
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let again = &letters.list()[0].task; // failed again
    /// assert_eq!((again.id, again.origin, again.replays), (new_id, id, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requeue(&self, id: TaskId) -> Result<TaskId, RejectReason> {
        let lent = self.shared.letters.lend(id).ok_or(RejectReason::UnknownLetter)?;
        let options = lent.letter.info.options.clone();
        self.replay(lent, options)
    }

    /// As [`requeue`](Self::requeue), with these options in place of its own. To keep some, start from those of
    /// [`LetterInfo::options`].
    ///
    /// # Errors
    /// As [`requeue`](Self::requeue), and `DelayFull` for a delay.
    ///
    /// ```
    /// # use dockhand::{TaskOptions, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// # let submitter = pool.submitter();
    /// let id = submitter.submit_with(7, TaskOptions::new().key("seven")).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// let own = letters.list()[0].options.clone();
    /// letters.requeue_with(id, own.ttl(Duration::from_secs(60)))?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let again = &letters.list()[0]; // failed again
    /// assert_eq!(again.task.key.as_deref(), Some("seven"));
    /// assert_eq!(again.options, TaskOptions::new().key("seven").ttl(Duration::from_secs(60)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requeue_with(&self, id: TaskId, options: TaskOptions) -> Result<TaskId, RejectReason> {
        let lent = self.shared.letters.lend(id).ok_or(RejectReason::UnknownLetter)?;
        self.replay(lent, options)
    }

    fn replay(
        &self,
        mut lent: Lent<P::Payload, P::Error>,
        options: TaskOptions,
    ) -> Result<TaskId, RejectReason> {
        let Some(lane) = self.shared.lane_named(&lent.letter.info.task.lane) else {
            // A letter of another pool that was put back here.
            self.give_back(lent);
            return Err(RejectReason::UnknownLane);
        };
        let DeadLetter { info, payload, failure } = *lent.letter;
        match self.shared.resubmit(lane, payload, options, &info.task).into_result() {
            Ok(new_id) => {
                self.shared.guard.drop(failure);
                Ok(new_id)
            }
            Err(refused) => {
                let reason = refused.reason();
                lent.letter = Box::new(DeadLetter { info, payload: refused.into_payload(), failure });
                self.give_back(lent);
                Err(reason)
            }
        }
    }

    fn give_back(&self, lent: Lent<P::Payload, P::Error>) {
        if let Some(evicted) = self.shared.letters.give_back(lent) {
            let user = self.shared.user();
            self.shared.shed_letter(user.as_deref(), evicted);
            self.shared.release(user);
        }
    }

    /// Offers every letter as [`requeue`](Self::requeue) does, oldest first; says how many were accepted. A lane that is
    /// full is not asked again, and those of other lanes go on. A letter that comes meanwhile is left for the next call.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.requeue_all(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requeue_all(&self) -> usize {
        let letters = &self.shared.letters;
        let mut numbers = 0..letters.next_number();
        let (mut requeued, mut full) = (0, Vec::new());
        while let Some(lent) = letters.lend_next(numbers.clone(), &full) {
            numbers.start = lent.number + 1;
            let lane = Arc::clone(&lent.letter.info.task.lane);
            let options = lent.letter.info.options.clone();
            match self.replay(lent, options) {
                Ok(_) => requeued += 1,
                Err(RejectReason::QueueFull) => full.push(lane),
                Err(RejectReason::Closed) => break,
                Err(_) => {}
            }
        }
        requeued
    }
}

impl<P: Processor> fmt::Debug for DeadLetters<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetters").field("len", &self.len()).finish()
    }
}

impl<P: Processor> UnwindSafe for DeadLetters<'_, P> {}
impl<P: Processor> RefUnwindSafe for DeadLetters<'_, P> {}
