//! How long all of it may take.

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Below 10 minutes.
    Full,
    /// Below 90 seconds.
    Quick,
    /// A few seconds: shows that every scenario runs, and measures nothing.
    Smoke,
}

impl Scale {
    /// Runs of each candidate.
    pub fn rounds(self) -> usize {
        self.pick(7, 3, 1)
    }

    /// One of three.
    pub fn pick<T>(self, full: T, quick: T, smoke: T) -> T {
        match self {
            Scale::Full => full,
            Scale::Quick => quick,
            Scale::Smoke => smoke,
        }
    }
}
