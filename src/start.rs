//! Starting a pool's threads: either all of them run, or none is left.

use crate::config::PoolConfig;
use crate::error::BuildError;
use crate::event::Event;
use crate::inside;
use crate::processor::Processor;
use crate::shared::{Shared, Station, Stepping};
use crate::sync::{Builder, Condvar, JoinHandle, Mutex};
use crate::worker::TaskWorker;
use std::io;
use std::sync::Arc;

/// The threads of a running pool; a manual pool has none.
#[derive(Default)]
pub(crate) struct Threads {
    /// By worker.
    pub(crate) workers: Vec<Option<JoinHandle<()>>>,
    pub(crate) timer: Option<JoinHandle<()>>,
}

/// What the starting workers and the builder tell each other.
#[derive(Default)]
struct Startup {
    state: Mutex<StartupState>,
    changed: Condvar,
}

#[derive(Default)]
struct StartupState {
    hooks_done: usize,
    panicked: Option<usize>,
    decision: Option<Decision>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Run,
    Stop,
}

impl Startup {
    fn hook_done(&self, worker: usize, panicked: bool) {
        let mut state = self.state.lock();
        state.hooks_done += 1;
        if panicked && state.panicked.is_none() {
            state.panicked = Some(worker);
        }
        self.changed.notify_all();
    }

    fn wait_for_decision(&self) -> Decision {
        let mut state = self.state.lock();
        loop {
            if let Some(decision) = state.decision {
                return decision;
            }
            state = self.changed.wait(state);
        }
    }

    /// Waits until `workers` hooks are done; the first worker whose hook panicked, if any.
    fn wait_for_hooks(&self, workers: usize) -> Option<usize> {
        let mut state = self.state.lock();
        while state.hooks_done < workers {
            state = self.changed.wait(state);
        }
        state.panicked
    }

    fn decide(&self, decision: Decision) {
        self.state.lock().decision = Some(decision);
        self.changed.notify_all();
    }
}

pub(crate) fn start<P: Processor>(
    shared: &Arc<Shared<P>>,
    config: &PoolConfig,
) -> Result<Threads, BuildError> {
    let startup = Arc::new(Startup::default());
    let mut threads = Threads { workers: Vec::with_capacity(config.workers), timer: None };
    let started = start_all(shared, config, &startup, &mut threads);
    let hooks = startup.wait_for_hooks(threads.workers.len());
    let result = match (started, hooks) {
        (Err(source), _) => Err(BuildError::Spawn { started: threads.workers.len(), source }),
        (Ok(()), Some(worker)) => Err(BuildError::StartHookPanicked { worker }),
        (Ok(()), None) => Ok(()),
    };
    match result {
        Ok(()) => {
            startup.decide(Decision::Run);
            Ok(threads)
        }
        Err(error) => {
            startup.decide(Decision::Stop);
            shared.timer.stop();
            for thread in threads.workers.into_iter().flatten().chain(threads.timer) {
                // A worker does not panic: its user code is guarded.
                let _ = thread.join();
            }
            let user = shared.user.lock().take();
            shared.release(user);
            Err(error)
        }
    }
}

/// A manual pool's worker is the thread that steps it; its start hook runs here.
pub(crate) fn start_manual<P: Processor>(shared: &Arc<Shared<P>>) -> Result<(), BuildError> {
    let me = 0;
    let (Some(manual), Some(user)) = (&shared.manual, shared.user()) else { return Ok(()) };
    let _inside = inside::enter_worker(shared.id, Arc::<Station<P>>::clone(&shared.workers[me].station));
    let hook = user.on_worker_start.as_ref();
    if hook.is_some_and(|hook| shared.guard.run(|| hook(me)).is_none()) {
        shared.release(shared.user.lock().take());
        shared.release(Some(user));
        return Err(BuildError::StartHookPanicked { worker: me });
    }
    shared.tell(&user, &Event::WorkerStarted { worker: me });
    let worker = TaskWorker::new(Arc::clone(shared), user, me);
    *manual.worker.lock() = Stepping::Free(Box::new(worker));
    Ok(())
}

fn start_all<P: Processor>(
    shared: &Arc<Shared<P>>,
    config: &PoolConfig,
    startup: &Arc<Startup>,
    threads: &mut Threads,
) -> io::Result<()> {
    // The standard library panics on a name that the system cannot hold.
    if config.name.contains('\0') {
        let what = "the pool's name contains a NUL character";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    for me in 0..config.workers {
        let builder = Builder::new().name(shared.workers[me].name.clone());
        let builder = match config.stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        };
        let (shared, startup) = (Arc::clone(shared), Arc::clone(startup));
        let thread = builder.spawn(move || work(shared, me, &startup))?;
        threads.workers.push(Some(thread));
    }
    let timed = Arc::clone(shared);
    let builder = Builder::new().name(config.thread_name("timer"));
    threads.timer = Some(builder.spawn(move || timed.timer.run(&*timed))?);
    Ok(())
}

/// A worker thread from its first line to its last.
fn work<P: Processor>(shared: Arc<Shared<P>>, me: usize, startup: &Startup) {
    inside::become_worker();
    let _inside = inside::enter_worker(shared.id, Arc::<Station<P>>::clone(&shared.workers[me].station));
    shared.sleep.bind(me);
    let Some(user) = shared.user() else {
        return startup.hook_done(me, false);
    };
    let hook = user.on_worker_start.as_ref();
    let panicked = hook.is_some_and(|hook| shared.guard.run(|| hook(me)).is_none());
    if !panicked {
        shared.tell(&user, &Event::WorkerStarted { worker: me });
    }
    startup.hook_done(me, panicked);
    let worker = TaskWorker::new(Arc::clone(&shared), user, me);
    match startup.wait_for_decision() {
        Decision::Run => worker.run(),
        Decision::Stop => worker.stop_before_work(panicked),
    }
}
