//! What all candidates are given to do: 16 bytes, the same for typed queues and closures.

use crate::{clock, gate, tally};
use std::time::Duration;

/// So many jobs at the end of a row look whether they were the last. With a queue that is roughly first in, first out,
/// the last one to end is among them.
const LOOKING: u64 = 64;

/// One job. Running it touches nothing but statics, so that a closure around it captures 16 bytes and no reference count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Counts itself.
    Tiny {
        /// Whether it looks if it was the last.
        looks: bool,
    },
    /// Keeps its core busy, then counts itself.
    Spin {
        /// For so long.
        nanos: u32,
        /// Whether it looks if it was the last.
        looks: bool,
    },
    /// Keeps its thread, but not the core. Is not counted.
    Sleep {
        /// For so long.
        micros: u32,
    },
    /// Notes how long after this reading of the clock it started, and counts itself.
    Stamp {
        /// The reading.
        at: u64,
    },
    /// Keeps its thread until the gate opens. Is not counted.
    Plug,
}

impl Job {
    /// Counts itself, nothing else.
    pub const TINY: Job = Job::Tiny { looks: false };

    /// Keeps its core busy for so long.
    pub const fn spin(nanos: u32) -> Job {
        Job::Spin { nanos, looks: false }
    }

    /// A stamp of this moment.
    pub fn stamp() -> Job {
        Job::Stamp { at: clock::now() }
    }

    /// The job so many times, of which the last ones look whether all have ended.
    pub fn row(self, times: u64) -> impl Iterator<Item = Job> {
        (0..times).map(move |n| if times - n <= LOOKING { self.looking() } else { self })
    }

    fn looking(self) -> Job {
        match self {
            Job::Tiny { .. } => Job::Tiny { looks: true },
            Job::Spin { nanos, .. } => Job::Spin { nanos, looks: true },
            other => other,
        }
    }

    /// Does it.
    pub fn run(self) {
        match self {
            Job::Tiny { looks } => tally::count(looks),
            Job::Spin { nanos, looks } => {
                clock::spin_until(clock::now() + u64::from(nanos));
                tally::count(looks);
            }
            Job::Sleep { micros } => {
                std::thread::sleep(Duration::from_micros(u64::from(micros)));
            }
            Job::Stamp { at } => {
                tally::note_start(clock::now().saturating_sub(at));
                tally::count(true);
            }
            Job::Plug => gate::hold(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_a_payload_of_16_bytes() {
        assert_eq!(size_of::<Job>(), 16);
    }

    #[test]
    fn the_last_64_of_a_row_look_whether_all_have_ended() {
        let row: Vec<_> = Job::TINY.row(100).collect();
        assert_eq!(row.len(), 100);
        assert_eq!(row[35], Job::Tiny { looks: false });
        assert_eq!(row[36], Job::Tiny { looks: true });
        assert_eq!(row[99], Job::Tiny { looks: true });
    }
}
