//! The previews that are under way, so that Ctrl-C can cancel those that wait.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use dockhand::{Interrupted, RejectReason, TaskContext, TaskHandle, TaskStatus, TaskSubmitter};

use crate::job::{Job, Preview};
use crate::processor::Ingest;

/// How long a parsing thread sleeps before it asks again for a turn.
const TURN: Duration = Duration::from_millis(2);

/// Follow-ups of a context are not tracked, so previews are offered through a submitter. That makes a
/// circle, processor to submitter to pool, which the end of the shutdown opens.
#[derive(Debug, Default)]
pub(crate) struct Previews {
    /// Of the lane, once the pool is there.
    submitter: OnceLock<TaskSubmitter<Ingest>>,
    under_way: Mutex<UnderWay>,
}

#[derive(Debug, Default)]
struct UnderWay {
    handles: Vec<TaskHandle<Ingest>>,
    over: bool,
}

impl Previews {
    pub(crate) fn connect(&self, submitter: TaskSubmitter<Ingest>) {
        // Only the first pool counts, and there is one.
        let _ = self.submitter.set(submitter);
    }

    /// Offers a preview from inside a parse; says whether it was taken.
    ///
    /// The lane lets the parsing thread make the thumbnail when it is full, unless that would exceed its
    /// limit. Then somebody else is making one, so waiting comes to an end: with room, or with a turn.
    ///
    /// # Errors
    ///
    /// When the pool asks the parse to stop meanwhile.
    pub(crate) fn offer(&self, preview: Preview, cx: &TaskContext<'_, Job>) -> Result<bool, Interrupted> {
        let Some(submitter) = self.submitter.get() else {
            return Ok(false);
        };
        let mut job = Job::Preview(Box::new(preview));
        while !self.lock().over {
            match submitter.submit_tracked(job) {
                Ok(handle) => {
                    self.keep(handle);
                    return Ok(true);
                }
                Err(refused) if refused.reason() == RejectReason::LaneLimit => {
                    cx.checkpoint()?;
                    thread::sleep(TURN);
                    job = refused.into_payload();
                }
                Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Cancels what waits and lets nothing follow.
    pub(crate) fn cancel(&self) {
        let handles = {
            let mut under_way = self.lock();
            under_way.over = true;
            std::mem::take(&mut under_way.handles)
        };
        for handle in handles {
            // Nobody wants the pixels that may come back.
            drop(handle.cancel());
        }
    }

    /// No more handles than there are previews in the lane and on the workers.
    fn keep(&self, handle: TaskHandle<Ingest>) {
        let mut under_way = self.lock();
        if under_way.over {
            drop(under_way);
            drop(handle.cancel());
            return;
        }
        under_way.handles.retain(|handle| !matches!(handle.status(), TaskStatus::Ended(_)));
        under_way.handles.push(handle);
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        // Nothing that is done under the lock can be left half done.
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
