//! The cost by the size of what is handed over.

use super::{LONG, in_rows, per_task};
use crate::job::Job;
use crate::peer::{Candidate, Kind};
use crate::series::Reading;
use crossbeam::channel;
use dockhand::{Processor, TaskContext, WorkerPool};
use std::convert::Infallible;
use std::thread;

/// Tasks that are queued at once: 4 MiB of the largest.
const ROW: u64 = 1_000;

/// A job with so many further bytes.
type Load<const N: usize> = (Job, [u8; N]);

struct Runs<const N: usize>;

impl<const N: usize> Processor for Runs<N> {
    type Payload = Load<N>;
    type Output = ();
    type Error = Infallible;

    fn process(&self, load: &mut Load<N>, _cx: &TaskContext<'_, Load<N>>) -> Result<(), Infallible> {
        load.0.run();
        Ok(())
    }
}

/// All sizes, for ours or for a typed channel.
pub(super) fn all(candidate: &Candidate, tasks: u64) -> Vec<Reading> {
    let tasks = tasks.next_multiple_of(ROW);
    let is_ours = candidate.kind == Kind::Ours;
    vec![
        of_size::<0>("payload_16B", is_ours, tasks),
        of_size::<48>("payload_64B", is_ours, tasks),
        of_size::<240>("payload_256B", is_ours, tasks),
        of_size::<1008>("payload_1KiB", is_ours, tasks),
        of_size::<4080>("payload_4KiB", is_ours, tasks),
    ]
}

fn of_size<const N: usize>(name: &'static str, is_ours: bool, tasks: u64) -> Reading {
    let nanos = if is_ours { pool::<N>(tasks) } else { typed_channel::<N>(tasks) };
    per_task(name, nanos, tasks)
}

fn pool<const N: usize>(tasks: u64) -> u64 {
    let builder = WorkerPool::builder(Runs::<N>).workers(1).queue_capacity(ROW as usize);
    let pool = builder.build().expect("the settings are right");
    let submitter = pool.submitter();
    let nanos = in_rows(tasks, ROW, |jobs| {
        for job in Job::TINY.row(jobs) {
            assert!(submitter.submit((job, [0; N])).into_payload().is_none(), "there is room");
        }
    });
    assert!(pool.shutdown(LONG).is_clean(), "everything has run");
    nanos
}

fn typed_channel<const N: usize>(tasks: u64) -> u64 {
    let (sender, receiver) = channel::bounded::<Load<N>>(ROW as usize);
    let thread = thread::spawn(move || receiver.iter().for_each(|load| load.0.run()));
    let nanos = in_rows(tasks, ROW, |jobs| {
        for job in Job::TINY.row(jobs) {
            assert!(sender.try_send((job, [0; N])).is_ok(), "there is room");
        }
    });
    drop(sender);
    thread.join().expect("a job does not panic");
    nanos
}
