//! One run from the first file to the last outcome, and what Ctrl-C does to it.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use dockhand::{ShutdownReport, WorkerPool};
use os_display::Quotable;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::INTERRUPTED;
use crate::endpoint::Endpoint;
use crate::folder::Folder;
use crate::job::{Job, PARSE};
use crate::media::PictureDecoder;
use crate::notify::Notifier;
use crate::options::Options;
use crate::pool;
use crate::previews::Previews;
use crate::processor::Ingest;
use crate::progress::Progress;
use crate::summary::{Summary, letters};
use crate::tally::Tally;
use crate::walk::{self, Walk};

/// How often the progress is shown and the end is looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long the walker has to notice that the pool is closed.
const WALKER_GRACE: Duration = Duration::from_millis(500);

/// The file for Prometheus, with its path.
type Exposition<'a> = (&'a Path, File);

#[derive(Debug, PartialEq)]
enum Signal {
    Interrupted,
    Walked,
}

#[derive(Debug, PartialEq)]
enum Waited {
    AllDone,
    Interrupted,
    TimeIsUp,
}

/// Reads the directory and says what came of it.
pub(crate) fn run(options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let directory = &options.directory;
    walk::enter(directory).with_context(|| format!("cannot read {}", directory.maybe_quote()))?;
    let out = Arc::new(Folder::new(directory, options.out.as_deref())?);
    let exposition = exposition_file(options)?;
    // Not earlier: until here a signal ends the program by itself.
    let (send, signals) = mpsc::channel();
    listen(send.clone())?;
    let endpoint = Endpoint::start(options.flaky)?;
    let tally = Arc::<Tally>::default();
    let previews = Arc::<Previews>::default();
    let ingest = Ingest {
        decoder: PictureDecoder::default(),
        notifier: Notifier::new(endpoint.url(), options.worker_count()),
        previews: Arc::clone(&previews),
        out: Arc::clone(&out),
        tally: Arc::clone(&tally),
    };
    let pool = pool::build(options, ingest)?;
    let walk = Walk {
        root: directory.clone(),
        out: Arc::clone(&out),
        submitter: pool.submitter_for(PARSE)?,
        stop: Arc::default(),
        tally: Arc::clone(&tally),
    };
    let mut conductor = Conductor::new(&pool, signals, &walk, previews, Progress::start(options.progress));
    start_walking(walk, send)?;
    let report = conductor.conduct(options.timeout);
    Ok(Summary {
        // Before the letters leave the pool, since it counts them.
        exposed: expose(&pool, exposition),
        letters: letters(&pool),
        metrics: pool.metrics(),
        still_running: report.still_running,
        tally,
        answered: endpoint.answered(),
        out: out.path(),
        interrupted: conductor.interrupted,
        elapsed: start.elapsed(),
    })
}

/// Has Ctrl-C, and being told to terminate, tell the conductor; once the run has ended they end the program.
fn listen(conductor: Sender<Signal>) -> Result<()> {
    let handler = move || {
        if conductor.send(Signal::Interrupted).is_err() {
            process::exit(INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")
}

/// Made before the run: a path that cannot be written to should not cost one.
fn exposition_file(options: &Options) -> Result<Option<Exposition<'_>>> {
    let Some(path) = &options.prometheus else {
        return Ok(None);
    };
    let file = File::create(path).with_context(|| format!("cannot write {}", path.maybe_quote()))?;
    Ok(Some((path, file)))
}

/// Writes what a scrape of the stopped pool shows.
fn expose(pool: &WorkerPool<Ingest>, exposition: Option<Exposition<'_>>) -> Result<()> {
    let Some((path, mut file)) = exposition else {
        return Ok(());
    };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(pool.collector()));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.maybe_quote()))
}

fn start_walking(walk: Walk, done: Sender<Signal>) -> std::io::Result<()> {
    /// Tells that the walk is over, also when it panicked.
    struct Done(Sender<Signal>);
    impl Drop for Done {
        fn drop(&mut self) {
            // Nobody waits for it any more once the run has ended.
            let _ = self.0.send(Signal::Walked);
        }
    }
    let body = move || {
        let _done = Done(done);
        walk.run();
    };
    thread::Builder::new().name("walker".to_owned()).spawn(body).map(drop)
}

/// Watches the walker, the pool and the keyboard.
struct Conductor<'a> {
    pool: &'a WorkerPool<Ingest>,
    signals: Receiver<Signal>,
    stop: Arc<AtomicBool>,
    previews: Arc<Previews>,
    walked: bool,
    /// Whether it was asked to stop before everything was done.
    interrupted: bool,
    progress: Progress,
}

impl<'a> Conductor<'a> {
    fn new(
        pool: &'a WorkerPool<Ingest>,
        signals: Receiver<Signal>,
        walk: &Walk,
        previews: Arc<Previews>,
        progress: Progress,
    ) -> Self {
        let stop = Arc::clone(&walk.stop);
        Self { pool, signals, stop, previews, walked: false, interrupted: false, progress }
    }

    /// A pipeline ends in three steps: the producer stops, the pool becomes idle, then it is shut
    /// down. The other way round, a closed pool would refuse the follow-ups of what still runs.
    fn conduct(&mut self, timeout: Duration) -> ShutdownReport<Job> {
        let mut remaining = timeout;
        if self.wait(None) != Waited::AllDone {
            remaining = self.drain(timeout);
        }
        let report = self.pool.shutdown(remaining);
        if !self.walked {
            // Its last offer is refused by now, and belongs in the counts.
            let _ = self.signals.recv_timeout(WALKER_GRACE);
        }
        self.progress.finish();
        report
    }

    /// After the first Ctrl-C: nothing new, no more previews, and the rest is finished. Says how much of the time is left; a second Ctrl-C leaves none.
    fn drain(&mut self, timeout: Duration) -> Duration {
        self.stop.store(true, Relaxed);
        self.previews.cancel();
        self.interrupted = true;
        self.progress.stopping(timeout);
        let start = Instant::now();
        match self.wait(Some(timeout)) {
            Waited::Interrupted => Duration::ZERO,
            Waited::AllDone | Waited::TimeIsUp => timeout.saturating_sub(start.elapsed()),
        }
    }

    fn wait(&mut self, timeout: Option<Duration>) -> Waited {
        let start = Instant::now();
        loop {
            self.progress.show(&self.pool.metrics());
            let left = timeout.map_or(TICK, |timeout| timeout.saturating_sub(start.elapsed()));
            if left.is_zero() {
                return Waited::TimeIsUp;
            }
            if let Some(waited) = self.tick(left.min(TICK)) {
                return waited;
            }
        }
    }

    fn tick(&mut self, slice: Duration) -> Option<Waited> {
        let signal = if self.walked {
            if self.pool.wait_idle(slice).is_ok() {
                return Some(Waited::AllDone);
            }
            self.signals.try_recv().ok()
        } else {
            self.signals.recv_timeout(slice).ok()
        };
        self.walked |= signal == Some(Signal::Walked);
        (signal == Some(Signal::Interrupted)).then_some(Waited::Interrupted)
    }
}
