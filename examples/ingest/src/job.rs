//! The payload of the pool: one small enum, a variant for each lane.

use std::path::Path;
use std::sync::Arc;

use image::DynamicImage;
use serde::{Serialize, Serializer};

pub(crate) const PARSE: &str = "parse";
pub(crate) const PREVIEW: &str = "preview";
pub(crate) const NOTIFY: &str = "notify";

/// One task. The queues hold it inline, so the large variants are boxed.
pub(crate) enum Job {
    /// Read, count and hash this file.
    Parse(Arc<Path>),
    Preview(Box<Preview>),
    Notify(Box<Notice>),
}

/// A picture that waits for its thumbnail to be written.
pub(crate) struct Preview {
    pub(crate) facts: Facts,
    /// Reduced already: what waits in a queue must be small. `None` once its task has failed.
    pub(crate) picture: Option<DynamicImage>,
}

/// What the endpoint is told about a finished file.
#[derive(Debug, Serialize)]
pub(crate) struct Notice {
    #[serde(flatten)]
    pub(crate) facts: Facts,
    pub(crate) thumbnail: Option<String>,
}

/// What was found out about a file.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Facts {
    #[serde(rename = "file", serialize_with = "as_text")]
    pub(crate) path: Arc<Path>,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) content: Content,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Content {
    Text { lines: u64, words: u64 },
    Picture { width: u32, height: u32 },
}

impl Job {
    /// The file that this task is about.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Parse(path) => path,
            Self::Preview(preview) => &preview.facts.path,
            Self::Notify(notice) => &notice.facts.path,
        }
    }

    /// Lets go of what only a running task needs, so that a dead letter is small.
    pub(crate) fn release_picture(&mut self) {
        if let Self::Preview(preview) = self {
            preview.picture = None;
        }
    }
}

/// A file name need not be UTF-8; JSON must be.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_small_enough_for_a_queue_slot() {
        assert!(size_of::<Job>() <= 24);
    }

    #[test]
    fn a_notice_names_the_file_and_what_is_in_it() {
        let facts = Facts {
            path: Path::new("a/b.txt").into(),
            bytes: 6,
            sha256: "00".to_owned(),
            content: Content::Text { lines: 1, words: 2 },
        };
        let text = serde_json::to_string(&Notice { facts, thumbnail: None }).expect("plain data");
        let expected = r#"{"file":"a/b.txt","bytes":6,"sha256":"00","content":{"text":{"lines":1,"words":2}},"thumbnail":null}"#;
        assert_eq!(text, expected);
    }
}
