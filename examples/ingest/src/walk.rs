//! The producer: a thread that finds files and offers each one to the pool.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use dockhand::{RejectReason, SubmitResult, TaskSubmitter};
use walkdir::{DirEntry, WalkDir};

use crate::job::Job;
use crate::processor::Ingest;
use crate::tally::Tally;

/// How long one offer waits for room before the walker looks whether it shall stop.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the walker needs to know.
pub(crate) struct Walk {
    pub(crate) root: PathBuf,
    /// The thumbnails are no input, should they be written below the root.
    pub(crate) skip: Option<PathBuf>,
    pub(crate) submitter: TaskSubmitter<Ingest>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) tally: Arc<Tally>,
}

impl Walk {
    /// Offers file after file until there are no more, or somebody says stop.
    pub(crate) fn run(&self) {
        let wanted = |entry: &DirEntry| self.skip.as_deref() != Some(entry.path());
        for entry in WalkDir::new(&self.root).into_iter().filter_entry(wanted) {
            match entry {
                Ok(entry) if is_input(&entry) => {
                    if !self.offer(Job::Parse(entry.into_path().into())) {
                        return;
                    }
                }
                Ok(_) => {}
                Err(_) => self.tally.unreadable.add(1),
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

/// Regular files, links to them, and links to nothing, which are for the pool to complain about.
/// A link to a directory is not followed, so a loop is no matter; and a pipe would never end.
fn is_input(entry: &DirEntry) -> bool {
    let kind = entry.file_type();
    kind.is_file()
        || (kind.is_symlink() && fs::metadata(entry.path()).map_or(true, |target| target.is_file()))
}

/// `inner` as the walk from `root` will spell it, if it is below.
///
/// # Errors
///
/// When one of them is not there.
pub(crate) fn below(root: &Path, inner: &Path) -> std::io::Result<Option<PathBuf>> {
    let (real_root, real_inner) = (root.canonicalize()?, inner.canonicalize()?);
    Ok(real_inner.strip_prefix(real_root).ok().map(|rest| root.join(rest)))
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
        let entries = WalkDir::new(folder.path()).sort_by_file_name().into_iter().filter_map(Result::ok);
        let input: Vec<_> = entries.filter(is_input).map(|entry| entry.file_name().to_owned()).collect();
        assert_eq!(input, ["file", "self", "to-file", "to-nothing"]);
    }

    #[test]
    fn a_folder_below_the_root_is_spelled_as_the_walk_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, out) = (folder.path().join("a/../a"), folder.path().join("a/out"));
        fs::create_dir_all(&out).expect("writable");
        assert_eq!(below(&root, &out).expect("both are there"), Some(root.join("out")));
        assert_eq!(below(&out, &root).expect("both are there"), None);
    }
}
