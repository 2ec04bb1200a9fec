//! A pipeline in three lanes: each step offers the next one from inside the task.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::{BoxError, Lane, OverloadPolicy, Processor, TaskContext, WorkerPool};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

enum Job {
    Fetch(&'static str),
    Count { page: &'static str, text: String },
    Store { page: &'static str, words: usize },
}

/// The steps, and what the last one fills.
#[derive(Clone, Default)]
struct Indexer {
    index: Arc<Mutex<HashMap<&'static str, usize>>>,
}

impl Indexer {
    fn store(&self, page: &'static str, words: usize) {
        self.index.lock().unwrap().insert(page, words);
    }
}

impl Processor for Indexer {
    type Payload = Job;
    type Output = ();
    type Error = BoxError;

    fn process(&self, job: &mut Job, cx: &TaskContext<'_, Job>) -> Result<(), BoxError> {
        match job {
            Job::Fetch(page) => {
                let text = format!("the text of {page}");
                cx.submit("count", Job::Count { page, text }).into_result()?;
            }
            Job::Count { page, text } => {
                let words = text.split_whitespace().count();
                let next = Job::Store { page, words };
                // What does not fit is done here: the payload of a refused follow-up is not lost.
                if let Some(Job::Store { page, words }) = cx.submit("store", next).into_payload() {
                    self.store(page, words);
                }
            }
            Job::Store { page, words } => self.store(page, *words),
        }
        Ok(())
    }
}

#[test]
fn a_pipeline_of_follow_ups_drains_by_waiting_for_idle_before_the_shutdown() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let indexer = Indexer::default();
    let pool = WorkerPool::builder(indexer.clone())
        .workers(2)
        // The last step is the most urgent one, so that work that was begun is ended first.
        .lane(Lane::new("store").queue_capacity(2))
        .lane(Lane::new("count").overload(OverloadPolicy::CallerRuns))
        .lane(Lane::new("fetch"))
        .build()?;
    let fetch = pool.submitter_for("fetch")?;
    let pages = ["one", "two", "three", "four", "five"];
    let offered = fetch.submit_batch(pages.map(Job::Fetch));
    assert_eq!((offered.accepted, offered.refused.len()), (5, 0));

    pool.wait_idle(PATIENCE)?;
    let report = pool.shutdown(PATIENCE);
    assert!(report.is_clean());
    assert!(report.counts.is_conserved());

    let index = indexer.index.lock().unwrap();
    assert_eq!(index.len(), pages.len());
    assert!(index.values().all(|words| *words == 4));
    let lanes = pool.metrics().lanes;
    let ended: Vec<_> = lanes.iter().map(|lane| (lane.name.as_str(), lane.counts.succeeded)).collect();
    assert_eq!(ended[1..], [("count", 5), ("fetch", 5), ("default", 0)]);
    assert_eq!(lanes[0].counts.succeeded + lanes[0].counts.rejected, 5);
    Ok(())
}

/// Says what became of the follow-up that it offers once the pool drains.
struct LateFollowUp {
    started: Sender<()>,
    go_on: Mutex<Receiver<()>>,
    answer: Sender<Option<u32>>,
}

impl Processor for LateFollowUp {
    type Payload = u32;
    type Output = ();
    type Error = BoxError;

    fn process(&self, n: &mut u32, cx: &TaskContext<'_, u32>) -> Result<(), BoxError> {
        self.started.send(())?;
        self.go_on.lock().unwrap().recv_timeout(PATIENCE)?;
        self.answer.send(cx.submit("default", *n + 1).into_payload())?;
        Ok(())
    }
}

#[test]
fn a_follow_up_offered_while_the_pool_drains_comes_back() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let (started, has_started) = channel();
    let (go, go_on) = channel();
    let (answer, answers) = channel();
    let go_on = Mutex::new(go_on);
    let pool = WorkerPool::builder(LateFollowUp { started, go_on, answer }).workers(1).build()?;
    pool.submit(1).into_result()?;
    has_started.recv_timeout(PATIENCE)?;
    pool.begin_shutdown();
    go.send(())?;
    assert_eq!(answers.recv_timeout(PATIENCE)?, Some(2));
    assert!(pool.shutdown(PATIENCE).is_clean());
    Ok(())
}
