//! The pool: which lanes there are, and what each does when it is full or fails.

use std::sync::Arc;
use std::time::Duration;

use dockhand::letter::LetterFate;
use dockhand::{Lane, OverloadPolicy, RetryPolicy, Timing, WorkerPool};

use crate::error::classify;
use crate::job::{NOTIFY, PARSE, PREVIEW};
use crate::options::Options;
use crate::processor::Ingest;

/// A waiting preview holds up to 256 KiB of pixels. When this many wait, the parsing thread makes
/// the thumbnail itself, so a larger queue would only cost memory.
const PREVIEWS: usize = 64;
/// Refused notices that may wait for another attempt, however small the queues are: a retry that
/// finds no room is a dead letter.
const RETRIES: usize = 1024;
/// Dead letters kept for the report.
const LETTERS: usize = 10_000;

/// Lanes, most urgent first: what is nearly finished goes before what has not begun, so little
/// waits between the steps.
pub(crate) fn build(options: &Options, ingest: Ingest) -> anyhow::Result<WorkerPool<Ingest>> {
    let capacity = options.capacity.get();
    let tally = Arc::clone(&ingest.tally);
    let mut notify = Lane::new(NOTIFY)
        .overload(OverloadPolicy::DropOldest)
        .delay_capacity(capacity.max(RETRIES))
        .retry(notice_retries());
    if let Some(ttl) = options.ttl {
        notify = notify.ttl(ttl);
    }
    let mut preview =
        Lane::new(PREVIEW).overload(OverloadPolicy::CallerRuns).queue_capacity(capacity.min(PREVIEWS));
    if let Some(limit) = options.limit_preview {
        preview = preview.max_concurrency(limit.get());
    }
    let previews = Arc::clone(&ingest.previews);
    let pool = WorkerPool::builder(ingest)
        .name("ingest")
        .workers(options.worker_count())
        // A file takes far longer than the clock that is read for it.
        .timing(Timing::Full)
        .queue_capacity(capacity)
        .dead_letter_capacity(LETTERS)
        .lane(notify)
        .lane(preview)
        .lane(Lane::new(PARSE).overload(OverloadPolicy::Reject))
        .classify(classify)
        .dead_letter_sink(|letter| {
            letter.payload.release_picture();
            LetterFate::Keep
        })
        .on_shed(move |shed| tally.record_shed(&shed))
        .build()?;
    previews.connect(pool.submitter_for(PREVIEW)?);
    Ok(pool)
}

/// Spread, so that what was refused together does not come back together.
fn notice_retries() -> RetryPolicy {
    RetryPolicy::exponential(Duration::from_millis(50))
        .max_retries(5)
        .max_delay(Duration::from_secs(1))
        .jitter(0.5)
}
