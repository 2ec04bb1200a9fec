//! The one module that names a condition variable, a park token, a thread, the time, a lane's queue, or the locks and
//! atomics of a protocol.
//!
//! The models swap all of it for loom's by `--cfg dockhand_loom`, the schedules for shuttle's by `--cfg dockhand_shuttle`;
//! nothing else in the crate knows. (Counters that no protocol rests on, ids and panics, are plain atomics where they are.)

#[cfg(not(all(test, any(dockhand_loom, dockhand_shuttle))))]
pub(crate) use real::*;

#[cfg(all(test, dockhand_loom))]
pub(crate) use model::*;

#[cfg(all(test, dockhand_shuttle))]
mod scheduled;

#[cfg(all(test, dockhand_shuttle))]
pub(crate) use scheduled::*;

#[cfg(not(all(test, any(dockhand_loom, dockhand_shuttle))))]
mod real {
    pub(crate) use crossbeam::queue::ArrayQueue;
    pub(crate) use parking_lot::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use std::thread::{Builder, JoinHandle, ThreadId, current, yield_now};
    pub(crate) use std::thread_local;

    use std::sync::OnceLock;
    use std::thread::Thread;
    use std::time::Instant;

    pub(crate) fn now() -> Instant {
        Instant::now()
    }

    /// A condition variable whose guards are passed by value, as loom's are.
    #[derive(Default)]
    pub(crate) struct Condvar(parking_lot::Condvar);

    impl Condvar {
        pub(crate) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(&mut guard);
            guard
        }

        /// Waits until notified, until `deadline`, or for no reason; without a deadline as [`Condvar::wait`].
        pub(crate) fn wait_until<'a, T>(
            &self,
            mut guard: MutexGuard<'a, T>,
            deadline: Option<Instant>,
        ) -> MutexGuard<'a, T> {
            match deadline {
                Some(at) => drop(self.0.wait_until(&mut guard, at)),
                None => self.0.wait(&mut guard),
            }
            guard
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// The park token of one thread. A wake before the park is kept; a park may also end for no reason.
    #[derive(Default)]
    pub(crate) struct Parker(OnceLock<Thread>);

    impl Parker {
        /// Names the calling thread as the one that parks here.
        pub(crate) fn bind(&self) {
            let _ = self.0.set(current());
        }

        pub(crate) fn park(&self) {
            std::thread::park();
        }

        pub(crate) fn unpark(&self) {
            if let Some(thread) = self.0.get() {
                thread.unpark();
            }
        }
    }
}

#[cfg(all(test, dockhand_loom))]
mod model {
    pub(crate) use crossbeam::queue::ArrayQueue;
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use loom::thread::yield_now;
    // The models start their threads themselves, and have no time.
    pub(crate) use std::thread::{Builder, JoinHandle, ThreadId, current};
    pub(crate) use std::thread_local;

    use std::time::Instant;

    pub(crate) fn now() -> Instant {
        Instant::now()
    }

    /// loom's mutex with the interface of `parking_lot`.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("loom's locks are not poisoned")
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Mutex::new(T::default())
        }
    }

    #[derive(Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).expect("loom's locks are not poisoned")
        }

        /// loom has no time: a model's clock thread moves the clock and notifies.
        pub(crate) fn wait_until<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            _deadline: Option<Instant>,
        ) -> MutexGuard<'a, T> {
            self.wait(guard)
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// A sticky token; loom's own `park` does not work beside its mutex.
    #[derive(Default)]
    pub(crate) struct Parker {
        token: Mutex<bool>,
        given: Condvar,
    }

    impl Parker {
        pub(crate) fn bind(&self) {}

        pub(crate) fn park(&self) {
            let mut token = self.token.lock();
            while !*token {
                token = self.given.wait(token);
            }
            *token = false;
        }

        pub(crate) fn unpark(&self) {
            *self.token.lock() = true;
            self.given.notify_one();
        }
    }
}
