//! What a script's thread keeps between its acts: handles, and submitters that may outlive their pools.

use std::sync::Arc;

use dockhand::{TaskHandle, TaskSubmitter};
use fastrand::Rng;

use crate::book::Book;
use crate::crew::Crew;

const MOST_HANDLES: usize = 16;
const MOST_SUBMITTERS: usize = 4;

#[derive(Default)]
pub(crate) struct Hands {
    handles: Vec<(Arc<Book>, TaskHandle<Crew>)>,
    submitters: Vec<(Arc<Book>, TaskSubmitter<Crew>)>,
}

impl Hands {
    /// Keeps a handle; gives back one that there is no more room for.
    pub(crate) fn keep_handle(
        &mut self,
        book: Arc<Book>,
        handle: TaskHandle<Crew>,
    ) -> Option<(Arc<Book>, TaskHandle<Crew>)> {
        self.handles.push((book, handle));
        (self.handles.len() > MOST_HANDLES).then(|| self.handles.remove(0))
    }

    pub(crate) fn any_handle(&mut self, rng: &mut Rng) -> Option<(Arc<Book>, TaskHandle<Crew>)> {
        let count = self.handles.len();
        (count > 0).then(|| self.handles.swap_remove(rng.usize(..count)))
    }

    pub(crate) fn keep_submitter(&mut self, book: Arc<Book>, submitter: TaskSubmitter<Crew>) {
        if self.submitters.len() >= MOST_SUBMITTERS {
            self.submitters.remove(0);
        }
        self.submitters.push((book, submitter));
    }

    pub(crate) fn any_submitter(&mut self, rng: &mut Rng) -> Option<(Arc<Book>, TaskSubmitter<Crew>)> {
        let count = self.submitters.len();
        (count > 0).then(|| self.submitters[rng.usize(..count)].clone())
    }
}
