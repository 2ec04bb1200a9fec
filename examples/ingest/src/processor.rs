//! What a worker does with each job.

use std::fs::{self, File};
use std::io::Seek;
use std::path::Path;
use std::sync::Arc;

use dockhand::{Processor, TaskContext};
use image::ImageFormat;

use crate::digest::read_through;
use crate::error::IngestError;
use crate::folder::Folder;
use crate::job::{Content, Facts, Job, NOTIFY, Notice, Preview};
use crate::media::{PictureDecoder, encode_thumbnail, format_of, thumbnail_name};
use crate::notify::Notifier;
use crate::previews::Previews;
use crate::tally::Tally;

/// Parse, then preview if it is a picture, then notify. Each step offers the next one as its last
/// act, so none is offered twice, and a step that fails is a failure of its own lane only.
pub(crate) struct Ingest {
    pub(crate) decoder: PictureDecoder,
    pub(crate) notifier: Notifier,
    pub(crate) previews: Arc<Previews>,
    pub(crate) out: Arc<Folder>,
    pub(crate) tally: Arc<Tally>,
}

type Context<'a> = TaskContext<'a, Job>;

impl Processor for Ingest {
    type Payload = Job;
    type Output = ();
    type Error = IngestError;

    fn process(&self, job: &mut Job, cx: &Context<'_>) -> Result<(), IngestError> {
        match job {
            Job::Parse(path) => self.parse(path, cx),
            Job::Preview(preview) => self.preview(preview, cx),
            Job::Notify(notice) => self.notifier.post(notice),
        }
    }
}

impl Ingest {
    fn parse(&self, path: &Arc<Path>, cx: &Context<'_>) -> Result<(), IngestError> {
        let mut file = File::open(path).map_err(IngestError::Open)?;
        let reading = read_through(&file, cx)?;
        self.tally.record_file(reading.bytes);
        let facts =
            |content| Facts { path: Arc::clone(path), bytes: reading.bytes, sha256: reading.sha256, content };
        if let Some(format) = format_of(path, &reading.head) {
            file.rewind().map_err(IngestError::Read)?;
            return self.parse_picture(file, format, facts, cx);
        }
        let facts = facts(Content::Text { lines: reading.lines, words: reading.words });
        self.tally.record_content(facts.content);
        self.notify(Notice { facts, thumbnail: None }, cx);
        Ok(())
    }

    fn parse_picture(
        &self,
        file: File,
        format: ImageFormat,
        facts: impl FnOnce(Content) -> Facts,
        cx: &Context<'_>,
    ) -> Result<(), IngestError> {
        let picture = self.decoder.decode(file, format)?;
        let facts = facts(Content::Picture { width: picture.width, height: picture.height });
        self.tally.record_content(facts.content);
        let preview = Preview { facts, picture: Some(picture.reduced) };
        let is_taken = self.previews.offer(preview, cx)?;
        self.count_follow_up(is_taken);
        Ok(())
    }

    fn preview(&self, preview: &Preview, cx: &Context<'_>) -> Result<(), IngestError> {
        let name = thumbnail_name(&preview.facts.path);
        if let Some(picture) = &preview.picture {
            let encoded = encode_thumbnail(picture)?;
            let written = self.out.to_write().and_then(|out| fs::write(out.join(&name), encoded));
            written.map_err(IngestError::Write)?;
            self.tally.thumbnails.add(1);
        }
        self.notify(Notice { facts: preview.facts.clone(), thumbnail: Some(name) }, cx);
        Ok(())
    }

    fn notify(&self, notice: Notice, cx: &Context<'_>) {
        let refused = cx.submit(NOTIFY, Job::Notify(Box::new(notice))).into_payload();
        self.count_follow_up(refused.is_none());
    }

    /// A run that is ending takes no follow-ups. That is no failure of the step that offered it.
    fn count_follow_up(&self, is_taken: bool) {
        self.tally.follow_ups_refused.add(u64::from(!is_taken));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ingest() -> Ingest {
        let notifier = Notifier::new("http://127.0.0.1:9/", 1);
        Ingest {
            decoder: PictureDecoder::default(),
            notifier,
            previews: Arc::default(),
            out: Folder::new(Path::new("."), None).expect("nothing to make").into(),
            tally: Arc::default(),
        }
    }

    #[test]
    fn a_refused_follow_up_fails_nobody_and_is_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let (text, ingest) = (folder.path().join("text"), ingest());
        fs::write(&text, "two words\n").expect("writable");
        // A context without a pool refuses every follow-up.
        let parsed = ingest.process(&mut Job::Parse(text.into()), &TaskContext::detached());
        assert!(parsed.is_ok());
        assert_eq!(ingest.tally.words.get(), 2);
        assert_eq!(ingest.tally.follow_ups_refused.get(), 1);
    }

    #[test]
    fn a_file_that_is_not_there_cannot_be_opened() {
        let ingest = ingest();
        let parsed =
            ingest.process(&mut Job::Parse(Path::new("no/such/file").into()), &TaskContext::detached());
        assert!(matches!(parsed, Err(IngestError::Open(_))));
    }
}
