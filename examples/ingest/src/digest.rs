//! One pass over a file: its size, digest, lines and words.

use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};

use dockhand::TaskContext;
use sha2::{Digest, Sha256};

use crate::error::IngestError;
use crate::job::Job;
use crate::text::TextCounter;

/// What is in memory of a file at any time, however long it is.
const PIECE: usize = 64 << 10;

/// What one pass over a file finds out.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) lines: u64,
    pub(crate) words: u64,
    /// The first bytes, which tell the format.
    pub(crate) head: Vec<u8>,
}

/// Reads to the end, or until the pool asks the task to stop.
pub(crate) fn read_through(file: impl Read, cx: &TaskContext<'_, Job>) -> Result<Reading, IngestError> {
    let mut reader = BufReader::with_capacity(PIECE, file);
    let first = reader.fill_buf().map_err(IngestError::Read)?;
    let head = first[..first.len().min(16)].to_vec();
    let (mut text, mut skip) = TextCounter::for_head(first);
    let mut digest = Sha256::new();
    let mut bytes = 0;
    loop {
        let piece = reader.fill_buf().map_err(IngestError::Read)?;
        if piece.is_empty() {
            break;
        }
        let length = piece.len();
        digest.update(piece);
        text.feed(&piece[skip..]);
        skip = 0;
        bytes += length as u64;
        reader.consume(length);
        cx.checkpoint()?;
    }
    let sha256 = hex(&digest.finalize());
    Ok(Reading { bytes, sha256, lines: text.lines(), words: text.words(), head })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_over_a_long_file_sees_all_of_it() {
        let text = "one two\n".repeat(3 * PIECE / 8 + 1);
        let reading = read_through(text.as_bytes(), &TaskContext::detached()).expect("readable");
        assert_eq!(reading.bytes, text.len() as u64);
        assert_eq!(reading.lines, (text.len() / 8) as u64);
        assert_eq!(reading.words, 2 * reading.lines);
        assert_eq!(reading.head, b"one two\none two\n");
        assert_eq!(reading.sha256, hex(&Sha256::digest(&text)));
    }

    #[test]
    fn an_empty_file_has_the_digest_of_nothing() {
        let reading = read_through(&b""[..], &TaskContext::detached()).expect("readable");
        assert_eq!((reading.bytes, reading.lines, reading.words), (0, 0, 0));
        assert!(reading.sha256.starts_with("e3b0c44298fc1c14"));
    }
}
