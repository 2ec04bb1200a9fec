//! One run from the first file to the last outcome, and what Ctrl-C does to it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dockhand::{ShutdownReport, WorkerPool};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::endpoint::Endpoint;
use crate::job::{Job, PARSE};
use crate::media::PictureDecoder;
use crate::notify::Notifier;
use crate::options::Options;
use crate::pool;
use crate::previews::Previews;
use crate::processor::Ingest;
use crate::progress::Progress;
use crate::summary::Summary;
use crate::tally::Tally;
use crate::walk::{Walk, below};

/// How often the progress is shown and the end is looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long the walker has to notice that the pool is closed.
const WALKER_GRACE: Duration = Duration::from_millis(500);

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
    let (send, signals) = mpsc::channel();
    let interrupted = send.clone();
    ctrlc::set_handler(move || drop(interrupted.send(Signal::Interrupted)))
        .context("cannot listen for Ctrl-C")?;

    let directory = &options.directory;
    fs::metadata(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let out = out_folder(options)?;
    let skip = out_below_root(options, &out)?;
    let exposition = exposition_file(options)?;
    let endpoint = Endpoint::start(options.flaky)?;
    let tally = Arc::<Tally>::default();
    let previews = Arc::<Previews>::default();
    let ingest = Ingest {
        decoder: PictureDecoder::default(),
        notifier: Notifier::new(endpoint.url(), options.worker_count()),
        previews: Arc::clone(&previews),
        out: out.clone(),
        tally: Arc::clone(&tally),
    };
    let pool = pool::build(options, ingest)?;
    let walk = Walk {
        root: directory.clone(),
        skip,
        submitter: pool.submitter_for(PARSE)?,
        stop: Arc::default(),
        tally: Arc::clone(&tally),
    };
    let mut conductor = Conductor::new(&pool, signals, &walk, previews);
    start_walking(walk, send)?;
    let report = conductor.conduct(options.timeout);
    if let Some(mut file) = exposition {
        file.write_all(exposition_of(&pool)?.as_bytes())
            .context("cannot write the numbers for Prometheus")?;
    }
    Ok(Summary::collect(&pool, report, tally, endpoint.answered(), out, start.elapsed()))
}

fn out_folder(options: &Options) -> Result<PathBuf> {
    let Some(out) = &options.out else {
        return Ok(tempfile::Builder::new().prefix("ingest-").tempdir()?.keep());
    };
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    Ok(out.clone())
}

/// Made before the run: a path that cannot be written to should not cost one.
fn exposition_file(options: &Options) -> Result<Option<File>> {
    let create =
        |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    options.prometheus.as_ref().map(create).transpose()
}

/// What a scrape of the stopped pool shows.
fn exposition_of(pool: &WorkerPool<Ingest>) -> Result<String> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(pool.collector()));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// The folder for the thumbnails as the walk would meet it, so that it can pass by.
fn out_below_root(options: &Options, out: &Path) -> Result<Option<PathBuf>> {
    let root = &options.directory;
    let skip = below(root, out)?;
    ensure!(skip.as_ref() != Some(root), "--out is the directory to read");
    Ok(skip)
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
    progress: Progress,
}

impl<'a> Conductor<'a> {
    fn new(
        pool: &'a WorkerPool<Ingest>,
        signals: Receiver<Signal>,
        walk: &Walk,
        previews: Arc<Previews>,
    ) -> Self {
        let stop = Arc::clone(&walk.stop);
        Self { pool, signals, stop, previews, walked: false, progress: Progress::start() }
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
        self.progress.stopping();
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
