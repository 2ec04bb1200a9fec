//! Where the thumbnails go.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use os_display::Quotable;

/// The folder of `--out`, or one among the temporary files that is made for the first thumbnail.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    made: Mutex<Option<Made>>,
}

#[derive(Debug)]
struct Made {
    path: PathBuf,
    /// As the walk from the root meets it, so that it can pass by: the thumbnails are no input.
    as_walked: Option<PathBuf>,
}

impl Folder {
    /// Makes the folder that was asked for, and sees whether it can be written to.
    pub(crate) fn new(root: &Path, out: Option<&Path>) -> Result<Self> {
        let folder = Self { root: root.to_owned(), made: Mutex::default() };
        if let Some(out) = out {
            fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.maybe_quote()))?;
            tempfile::tempfile_in(out).with_context(|| format!("cannot write to {}", out.maybe_quote()))?;
            let as_walked = below(root, out)
                .with_context(|| format!("cannot find {} below the directory", out.maybe_quote()))?;
            ensure!(as_walked.as_deref() != Some(root), "--out is the directory to read");
            *folder.lock() = Some(Made { path: out.to_owned(), as_walked });
        }
        Ok(folder)
    }

    /// The folder, made if this is the first that goes into it.
    pub(crate) fn to_write(&self) -> io::Result<PathBuf> {
        // Under the lock, so that the walk does not meet a folder that it cannot know yet.
        let mut made = self.lock();
        if let Some(made) = &*made {
            return Ok(made.path.clone());
        }
        let path = tempfile::Builder::new().prefix("ingest-").tempdir()?.keep();
        let as_walked = below(&self.root, &path)?;
        *made = Some(Made { path: path.clone(), as_walked });
        Ok(path)
    }

    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.lock().as_ref().map(|made| made.path.clone())
    }

    /// Whether this place of the walk is the folder.
    pub(crate) fn is(&self, place: &Path) -> bool {
        self.lock().as_ref().is_some_and(|made| made.as_walked.as_deref() == Some(place))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Made>> {
        // Nothing that is done under the lock can be left half done.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `inner` as the walk from `root` will spell it, if it is below.
///
/// # Errors
///
/// When one of them is not there.
fn below(root: &Path, inner: &Path) -> io::Result<Option<PathBuf>> {
    let (real_root, real_inner) = (root.canonicalize()?, inner.canonicalize()?);
    Ok(real_inner.strip_prefix(real_root).ok().map(|rest| root.join(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_the_root_is_spelled_as_the_walk_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, out) = (folder.path().join("a/../a"), folder.path().join("a/out"));
        fs::create_dir_all(&out).expect("writable");
        assert_eq!(below(&root, &out).expect("both are there"), Some(root.join("out")));
        assert_eq!(below(&out, &root).expect("both are there"), None);
    }

    #[test]
    fn a_temporary_folder_is_made_once_and_known_to_the_walk() {
        let root = std::env::temp_dir();
        let folder = Folder::new(&root, None).expect("nothing to do");
        assert_eq!(folder.path(), None);
        let made = folder.to_write().expect("writable");
        assert_eq!(folder.to_write().expect("made"), made);
        assert_eq!(folder.path().as_ref(), Some(&made));
        let spelled = root.join(made.file_name().expect("a name"));
        assert!(folder.is(&spelled) && !folder.is(&root));
        fs::remove_dir(made).expect("nothing is in it");
    }
}
