//! The producer: a thread that finds files and offers each one to the pool.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use dockhand::{RejectReason, SubmitResult, TaskSubmitter};
use walkdir::{DirEntry, WalkDir};

use crate::folder::Folder;
use crate::job::Job;
use crate::processor::Ingest;
use crate::tally::Tally;

/// How long one offer waits for room before the walker looks whether it shall stop.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the walker needs to know.
pub(crate) struct Walk {
    pub(crate) root: PathBuf,
    /// The thumbnails are no input, should they be written below the root.
    pub(crate) out: Arc<Folder>,
    pub(crate) submitter: TaskSubmitter<Ingest>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) tally: Arc<Tally>,
}

impl Walk {
    /// Offers file after file until there are no more, or somebody says stop.
    pub(crate) fn run(&self) {
        let wanted = |entry: &DirEntry| !self.out.is(entry.path());
        for entry in WalkDir::new(&self.root).into_iter().filter_entry(wanted) {
            match entry {
                Ok(entry) => match kind_of(&entry) {
                    Kind::Input if !self.offer(Job::Parse(entry.path().into())) => return,
                    Kind::Input | Kind::Directory => {}
                    Kind::Other => {
                        self.tally.unreadable.add(entry.path(), "neither a file nor a directory".to_owned());
                    }
                },
                Err(error) => {
                    let place = error.path().unwrap_or(&self.root).to_owned();
                    let why =
                        error.into_io_error().map_or("a loop of links".to_owned(), |why| why.to_string());
                    self.tally.unreadable.add(&place, why);
                }
            }
        }
    }

    /// Waits for room as long as it takes. False when there is no use in going on.
    fn offer(&self, mut job: Job) -> bool {
        while !self.stop.load(Relaxed) {
            match self.submitter.submit_timeout(job, PATIENCE) {
                SubmitResult::Rejected(refused) if refused.reason() == RejectReason::QueueFull => {
                    job = refused.into_payload();
                }
                answer => return answer.into_payload().is_none(),
            }
        }
        false
    }
}

/// Whether there is something to walk through.
///
/// # Errors
///
/// When the root is not there, is neither a file nor a directory, or there is no right to look into it.
pub(crate) fn enter(root: &Path) -> io::Result<()> {
    if fs::metadata(root)?.is_file() {
        return File::open(root).map(drop);
    }
    fs::read_dir(root)?;
    // A directory may be listed without the right to reach what is in it.
    fs::metadata(root.join(".")).map(drop)
}

#[derive(Debug, PartialEq)]
enum Kind {
    Input,
    /// The walk goes into it, unless it is a link to one; so a loop of links is no matter.
    Directory,
    /// A pipe would never end.
    Other,
}

/// Input is a file, a link to one, and a link to nothing, which is for the pool to complain about.
fn kind_of(entry: &DirEntry) -> Kind {
    let mut kind = entry.file_type();
    if kind.is_symlink() {
        let Ok(target) = fs::metadata(entry.path()) else {
            return Kind::Input;
        };
        kind = target.file_type();
    }
    if kind.is_file() {
        Kind::Input
    } else if kind.is_dir() {
        Kind::Directory
    } else {
        Kind::Other
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_and_links_to_files_or_nothing_are_input() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").expect("writable");
        fs::create_dir(at("directory")).expect("writable");
        for (target, link) in
            [("file", "to-file"), ("..", "to-directory"), ("nothing", "to-nothing"), ("self", "self")]
        {
            symlink(target, at(link)).expect("links work here");
        }
        symlink("/dev/null", at("to-device")).expect("links work here");
        let entries = WalkDir::new(folder.path()).sort_by_file_name().into_iter().filter_map(Result::ok);
        let (other, rest): (Vec<_>, Vec<_>) = entries.partition(|entry| kind_of(entry) == Kind::Other);
        let input = rest.iter().filter(|entry| kind_of(entry) == Kind::Input);
        let input: Vec<_> = input.map(|entry| entry.file_name()).collect();
        assert_eq!(input, ["file", "self", "to-file", "to-nothing"]);
        assert!(other.len() == 1 && other[0].file_name() == "to-device", "{other:?}");
    }
}
