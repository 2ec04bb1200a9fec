//! Values from bytes, the odd ones more often than their share.

use std::time::{Duration, Instant};

pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Bytes(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Zero once they are used up.
    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(super) fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }

    pub(super) fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    pub(super) fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.flag() { Some(value(self)) } else { None }
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes([(); 8].map(|()| self.byte()))
    }

    pub(super) fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => u64::from(u32::MAX),
            4 => 1 << 32,
            5 => self.word(),
            _ => u64::from(self.byte()),
        }
    }

    /// Any number, for what costs nothing up front.
    pub(super) fn count(&mut self) -> usize {
        self.number() as usize
    }

    /// Few, or more than any machine has: what lies between is built, at the cost of this test's memory.
    pub(super) fn size(&mut self) -> usize {
        match self.below(8) {
            0 => usize::MAX >> self.below(4),
            1 => (1 << 56) + self.word() as usize / 4,
            2 => 0,
            _ => usize::from(self.below(12)) + 1,
        }
    }

    pub(super) fn duration(&mut self) -> Duration {
        match self.below(12) {
            0 => Duration::ZERO,
            1 => Duration::MAX,
            2 => Duration::from_nanos(1),
            3 => Duration::from_nanos(u64::MAX),
            4 => Duration::from_nanos(u64::MAX - 1),
            5 => Duration::new(u64::MAX, 0),
            6 => Duration::new(self.word(), u32::from(self.byte())),
            7 => Duration::from_nanos(self.word()),
            _ => Duration::from_micros(u64::from(self.byte()) * 100),
        }
    }

    /// As far from `base` as an `Instant` can tell.
    pub(super) fn instant(&mut self, base: Instant) -> Instant {
        let by = self.duration();
        let at = if self.flag() { base.checked_add(by) } else { base.checked_sub(by) };
        at.unwrap_or(base)
    }

    pub(super) fn float(&mut self) -> f64 {
        match self.below(16) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -1.0,
            4 => -0.0,
            5 => f64::MAX,
            6 => f64::MIN_POSITIVE,
            7 => f64::from_bits(self.word()),
            8 => 1.0,
            9 => 1.0 + f64::EPSILON,
            _ => f64::from(self.byte()) / 64.0,
        }
    }

    pub(super) fn text(&mut self) -> String {
        let len = usize::from(self.below(9));
        (0..len).map(|_| char::from(self.byte())).collect()
    }
}
