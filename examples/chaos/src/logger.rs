//! The program's logger, which is user code of every pool at once: it panics at times, and calls pools.

use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use log::{LevelFilter, Log, Metadata, Record};

use crate::panics::blow;
use crate::{mischief, parting, pool, totals};

struct Logger {
    seed: AtomicU64,
    draws: AtomicU64,
}

static LOGGER: Logger = Logger { seed: AtomicU64::new(0), draws: AtomicU64::new(0) };

/// Has the pools log to it from here on.
pub(crate) fn install(seed: u64) {
    LOGGER.seed.store(seed, Ordering::Relaxed);
    // It fails where it is installed already.
    if log::set_logger(&LOGGER).is_ok() {
        log::set_max_level(LevelFilter::Trace);
    }
}

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let draw = self.draws.fetch_add(1, Ordering::Relaxed);
        let seed = self.seed.load(Ordering::Relaxed);
        let mut rng = Rng::with_seed(seed ^ draw.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // The text is partly user code as well, and may panic.
        let text = record.args().to_string();
        match rng.u32(..200) {
            0..4 => {
                totals::reached("logger_panicked");
                blow(&mut rng);
            }
            4..8 => call_some_pool(&mut rng),
            _ => drop(text),
        }
    }

    fn flush(&self) {}
}

/// Any pool: the logger does not know who logs. But none that the caller would step: whoever logs in a turn of one manual pool
/// would wait for the turn of another. And none from a thread's last words, which another pool may be joining.
fn call_some_pool(rng: &mut Rng) {
    if parting::is_at_it() {
        return;
    }
    let mut pools = pool::live();
    pools.retain(|pool| pool.manual().is_none());
    if pools.is_empty() {
        return;
    }
    let pool = &pools[rng.usize(..pools.len())];
    if !pool.book.is_calm() {
        totals::reached("logger_called_a_pool");
        mischief::call(&pool.book, rng);
    }
}
