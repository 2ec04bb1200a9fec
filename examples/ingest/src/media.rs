//! Pictures: told by their content, decoded within limits, reduced, written as thumbnails.

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::error::IngestError;

/// The longest side of a thumbnail.
const THUMBNAIL: u32 = 128;
/// The longest side of a picture that waits for its thumbnail: enough for a good filter to work on.
const REDUCED: u32 = 2 * THUMBNAIL;

/// A photograph of 12 megapixels fits; a bomb does not.
const DECODED_LIMIT: u64 = 40 << 20;
/// The JPEG decoder holds the whole file; PNG comes in pieces.
const JPEG_FILE_LIMIT: u64 = 16 << 20;
/// Above either of these a picture is decoded alone.
const LARGE_DECODED: u64 = 4 << 20;
const LARGE_FILE: u64 = 512 << 10;

/// A decoded picture, reduced to what its thumbnail needs.
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) reduced: DynamicImage,
}

/// Decodes small pictures side by side and large ones one at a time: memory is bounded by one
/// large picture and a small one per worker, not by a large one per worker.
#[derive(Debug, Default)]
pub(crate) struct PictureDecoder {
    large: Mutex<()>,
}

impl PictureDecoder {
    pub(crate) fn decode(&self, file: File, format: ImageFormat) -> Result<Picture, IngestError> {
        let length = file.metadata().map_err(IngestError::Read)?.len();
        if format == ImageFormat::Jpeg {
            check("file", length, JPEG_FILE_LIMIT)?;
        }
        let mut turn = None;
        if length > LARGE_FILE {
            turn = Some(self.turn());
        }
        let mut decoder = open(file, format)?;
        let decoded = decoder.total_bytes();
        check("decoded picture", decoded, DECODED_LIMIT)?;
        if decoded > LARGE_DECODED && turn.is_none() {
            turn = Some(self.turn());
        }
        let (width, height) = decoder.dimensions();
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let mut reduced = reduce(DynamicImage::from_decoder(decoder).map_err(IngestError::Decode)?);
        drop(turn);
        reduced.apply_orientation(orientation);
        Ok(Picture { width, height, reduced })
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        // A decoder that panicked left nothing half done that the next one could see.
        self.large.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(what: &'static str, needed: u64, limit: u64) -> Result<(), IngestError> {
    if needed > limit {
        return Err(IngestError::TooLarge { what, needed, limit });
    }
    Ok(())
}

fn open(file: File, format: ImageFormat) -> Result<impl ImageDecoder, IngestError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_LIMIT);
    let mut reader = ImageReader::with_format(BufReader::new(file), format);
    reader.limits(limits);
    reader.into_decoder().map_err(IngestError::Decode)
}

fn reduce(image: DynamicImage) -> DynamicImage {
    let larger = image.width().max(image.height()) > REDUCED;
    let reduced = if larger { image.thumbnail(REDUCED, REDUCED) } else { image };
    DynamicImage::ImageRgba8(reduced.into_rgba8())
}

/// The format if this is a picture that can be decoded here. A file that is called one counts as
/// one, so that a picture broken in its first bytes is reported and not taken for text.
pub(crate) fn format_of(path: &Path, head: &[u8]) -> Option<ImageFormat> {
    let by_content = image::guess_format(head).ok();
    let by_name = ImageFormat::from_path(path).ok();
    let known = |format: &ImageFormat| matches!(format, ImageFormat::Png | ImageFormat::Jpeg);
    by_content.into_iter().chain(by_name).find(known)
}

/// A file name that two files share only if they are the same one: its own name, for people, and
/// a digest of its whole path.
pub(crate) fn thumbnail_name(path: &Path) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '-' { c } else { '_' }
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = stem.chars().take(40).map(plain).collect();
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    format!("{stem}-{}.png", hex(&digest[..8]))
}

/// The thumbnail as PNG.
pub(crate) fn encode_thumbnail(picture: &DynamicImage) -> Result<Vec<u8>, IngestError> {
    let larger = picture.width().max(picture.height()) > THUMBNAIL;
    let small = larger.then(|| picture.resize(THUMBNAIL, THUMBNAIL, FilterType::Lanczos3));
    let mut encoded = Cursor::new(Vec::new());
    small
        .as_ref()
        .unwrap_or(picture)
        .write_to(&mut encoded, ImageFormat::Png)
        .map_err(IngestError::Encode)?;
    Ok(encoded.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(image: &DynamicImage, format: ImageFormat) -> Result<Picture, IngestError> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        image.save_with_format(file.path(), format).expect("encodes");
        PictureDecoder::default().decode(file.reopen().expect("is there"), format)
    }

    #[test]
    fn a_picture_is_reduced_and_its_thumbnail_fits() {
        let picture = decode(&DynamicImage::new_rgb8(1000, 10), ImageFormat::Jpeg).expect("a picture");
        assert_eq!((picture.width, picture.height), (1000, 10));
        assert_eq!((picture.reduced.width(), picture.reduced.height()), (256, 3));

        let encoded = encode_thumbnail(&picture.reduced).expect("encodes");
        let thumbnail = image::load_from_memory(&encoded).expect("a picture");
        assert_eq!((thumbnail.width(), thumbnail.height()), (128, 2));
    }

    #[test]
    fn a_small_picture_is_not_blown_up() {
        let picture = decode(&DynamicImage::new_luma16(3, 5), ImageFormat::Png).expect("a picture");
        assert_eq!((picture.reduced.width(), picture.reduced.height()), (3, 5));
    }

    #[test]
    fn a_picture_over_the_limit_is_refused_before_it_is_decoded() {
        let refused = decode(&DynamicImage::new_luma8(9000, 9000), ImageFormat::Png);
        assert!(matches!(refused, Err(IngestError::TooLarge { .. })));
    }

    #[test]
    fn the_content_tells_the_format_before_the_name_does() {
        let png = b"\x89PNG\r\n\x1a\n";
        assert_eq!(format_of(Path::new("a.jpg"), png), Some(ImageFormat::Png));
        assert_eq!(format_of(Path::new("a"), b"\xFF\xD8\xFF\xE0"), Some(ImageFormat::Jpeg));
        assert_eq!(format_of(Path::new("a.PNG"), b""), Some(ImageFormat::Png));
        assert_eq!(format_of(Path::new("a.gif"), b"GIF89a"), None);
        assert_eq!(format_of(Path::new("a.txt"), b"text"), None);
    }

    #[test]
    fn thumbnails_of_files_with_one_name_do_not_collide() {
        let (north, south) =
            (thumbnail_name(Path::new("north/tile.png")), thumbnail_name(Path::new("south/tile.png")));
        assert_ne!(north, south);
        assert!(north.starts_with("tile-"));
        assert!(!thumbnail_name(Path::new("a/..%2F\\x.png")).contains(['/', '\\', '%']));
    }
}
