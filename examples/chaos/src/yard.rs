//! The pools that all threads use.

use std::sync::{Arc, Mutex, PoisonError};

use crate::pool::Pool;

pub(crate) struct Yard(Box<[Mutex<Option<Arc<Pool>>>]>);

impl Yard {
    pub(crate) fn new(places: usize) -> Self {
        Yard((0..places).map(|_| Mutex::new(None)).collect())
    }

    pub(crate) fn places(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, place: usize) -> Option<Arc<Pool>> {
        self.0[place].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a pool there; gives back the one that was there.
    pub(crate) fn put(&self, place: usize, pool: Option<Arc<Pool>>) -> Option<Arc<Pool>> {
        std::mem::replace(&mut *self.0[place].lock().unwrap_or_else(PoisonError::into_inner), pool)
    }
}
