//! The facade over shuttle: every operation below is a point at which its scheduler may go on with another thread.
//!
//! What shuttle sees is sequentially consistent, so it finds no missing fence; loom does. In exchange the whole pool runs
//! under it, with its real threads' code and the real `ArrayQueue`, whose operations are one step each here.
//!
//! **Time** stands still but for the thread that runs [`run_clock`]. It goes from one deadline that somebody waits for to
//! the next, in their order, at whatever moment the scheduler picks it. So a wait may end by its deadline at any point, a
//! deadline that is the last hope of a thread always comes, and a wait without a deadline that nobody ends is a deadlock.

pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use shuttle::thread::{Builder, JoinHandle, ThreadId, current, yield_now};
pub(crate) use shuttle::thread_local;

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread::Thread;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex as Plain, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A point at which another thread may run.
fn step() {
    shuttle::thread::sleep(Duration::ZERO);
}

/// The real queue; before each operation others may run.
pub(crate) struct ArrayQueue<T>(crossbeam::queue::ArrayQueue<T>);

impl<T> ArrayQueue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        ArrayQueue(crossbeam::queue::ArrayQueue::new(capacity))
    }

    fn at_a_step(&self) -> &crossbeam::queue::ArrayQueue<T> {
        step();
        &self.0
    }

    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        self.at_a_step().push(item)
    }

    pub(crate) fn force_push(&self, item: T) -> Option<T> {
        self.at_a_step().force_push(item)
    }

    pub(crate) fn pop(&self) -> Option<T> {
        self.at_a_step().pop()
    }

    pub(crate) fn len(&self) -> usize {
        self.at_a_step().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at_a_step().is_empty()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

/// shuttle's mutex with the interface of `parking_lot`.
#[derive(Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

/// Knows its mutex, for a wait.
pub(crate) struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    held: shuttle::sync::MutexGuard<'a, T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, held: self.0.lock().unwrap_or_else(PoisonError::into_inner) }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

/// One wait of one thread: it ends when somebody calls it, be it a notification or the clock.
struct Waiter {
    thread: Thread,
    is_called: std::sync::atomic::AtomicBool,
}

impl Waiter {
    fn call(&self) {
        self.is_called.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }

    fn wait(&self) {
        while !self.is_called.load(Ordering::Relaxed) {
            shuttle::thread::park();
        }
    }
}

/// A condition variable that wakes whomever of its waiters the scheduler picks, and nobody for no reason: a wake for no
/// reason would hide one that is missing. Its plain lock is never held where others may run.
#[derive(Default)]
pub(crate) struct Condvar(Plain<Vec<Arc<Waiter>>>);

impl Condvar {
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.wait_until(guard, None)
    }

    pub(crate) fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        let mutex = guard.mutex;
        let me = Arc::new(Waiter { thread: current(), is_called: Default::default() });
        self.waiters(|waiters| waiters.push(Arc::clone(&me)));
        if let Some(at) = deadline {
            TIME.set_alarm(at, &me);
        }
        drop(guard);
        me.wait();
        TIME.forget(&me);
        self.waiters(|waiters| waiters.retain(|other| !Arc::ptr_eq(other, &me)));
        mutex.lock()
    }

    fn waiters<R>(&self, change: impl FnOnce(&mut Vec<Arc<Waiter>>) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn notify_one(&self) {
        step();
        let any = |waiters: &mut Vec<Arc<Waiter>>| {
            let some = !waiters.is_empty();
            some.then(|| waiters.swap_remove(thread_rng().gen_range(0..waiters.len())))
        };
        if let Some(one) = self.waiters(any) {
            one.call();
        }
    }

    pub(crate) fn notify_all(&self) {
        step();
        for one in self.waiters(std::mem::take) {
            one.call();
        }
    }
}

/// The park token of one thread. A wake before the park is kept; a park may also end for no reason.
#[derive(Default)]
pub(crate) struct Parker(OnceLock<Thread>);

impl Parker {
    pub(crate) fn bind(&self) {
        let _ = self.0.set(current());
    }

    pub(crate) fn park(&self) {
        shuttle::thread::park();
    }

    pub(crate) fn unpark(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}

shuttle::lazy_static! {
    /// The time of one execution.
    static ref TIME: Time = Time::default();
}

#[derive(Default)]
struct Time {
    nanos: AtomicU64,
    /// As the one of [`Condvar`], never held where others may run.
    alarms: Plain<Alarms>,
}

#[derive(Default)]
struct Alarms {
    set: Vec<(Instant, Arc<Waiter>)>,
    /// Where the clock's thread waits while no alarm is set.
    clock: Option<Thread>,
    is_stopped: bool,
}

/// Only differences to it matter.
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

pub(crate) fn now() -> Instant {
    start() + Duration::from_nanos(TIME.nanos.load(Ordering::SeqCst))
}

impl Time {
    fn alarms<R>(&self, change: impl FnOnce(&mut Alarms) -> R) -> R {
        change(&mut self.alarms.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_alarm(&self, at: Instant, waiter: &Arc<Waiter>) {
        let clock = self.alarms(|alarms| {
            alarms.set.push((at, Arc::clone(waiter)));
            alarms.clock.clone()
        });
        if let Some(clock) = clock {
            clock.unpark();
        }
    }

    fn forget(&self, waiter: &Arc<Waiter>) {
        self.alarms(|alarms| alarms.set.retain(|(_, other)| !Arc::ptr_eq(other, waiter)));
    }

    /// Takes the earliest alarm.
    fn next_alarm(&self) -> Option<(Instant, Arc<Waiter>)> {
        self.alarms(|alarms| {
            let earliest = (0..alarms.set.len()).min_by_key(|&place| alarms.set[place].0)?;
            Some(alarms.set.swap_remove(earliest))
        })
    }

    fn has_alarm(&self) -> bool {
        self.alarms(|alarms| !alarms.set.is_empty())
    }
}

/// The clock's thread: lets the time pass until [`stop_clock`].
pub(crate) fn run_clock() {
    TIME.alarms(|alarms| alarms.clock = Some(current()));
    while !TIME.alarms(|alarms| alarms.is_stopped) {
        if !TIME.has_alarm() {
            shuttle::thread::park();
            continue;
        }
        be_patient();
        if let Some((at, waiter)) = TIME.next_alarm() {
            let nanos = at.saturating_duration_since(start()).as_nanos();
            TIME.nanos.fetch_max(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::SeqCst);
            waiter.call();
        }
    }
}

/// Lets the others do something, a lot, or nothing before the time goes on. Without it a random scheduler would have
/// every window over before anything has run in it.
fn be_patient() {
    let mut rng = thread_rng();
    let most = [0, 20, 400][rng.gen_range(0..3)];
    for _ in 0..rng.gen_range(0..=most) {
        yield_now();
    }
}

pub(crate) fn stop_clock() {
    let clock = TIME.alarms(|alarms| {
        alarms.is_stopped = true;
        alarms.clock.clone()
    });
    if let Some(clock) = clock {
        clock.unpark();
    }
}

/// Waits until so much time has passed.
pub(crate) fn sleep(time: Duration) {
    let (lock, nobody_notifies) = (Mutex::new(()), Condvar::default());
    let until = now() + time;
    drop(nobody_notifies.wait_until(lock.lock(), Some(until)));
}
