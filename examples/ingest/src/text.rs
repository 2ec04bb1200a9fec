//! Lines and words of a file that comes in pieces, whatever its encoding.
//!
//! Only the six ASCII blanks separate words, in every encoding. A blank and a line feed are the
//! same single byte in UTF-8, Latin-1 and all other supersets of ASCII, and no byte of a longer
//! UTF-8 sequence looks like one. So bytes are counted without knowing which of them it is,
//! nothing is ever invalid, and one text counts the same in all of them. UTF-16, where that does
//! not hold, is told by its byte order mark and counted by its units.

/// Counts what it is fed.
#[derive(Debug)]
pub(crate) struct TextCounter {
    unit: Unit,
    lines: u64,
    words: u64,
    in_word: bool,
    in_line: bool,
}

#[derive(Debug)]
enum Unit {
    Byte,
    /// `half` is the first byte of a unit whose second one has not come yet.
    Utf16 {
        join: fn([u8; 2]) -> u16,
        half: Option<u8>,
    },
}

impl TextCounter {
    /// A counter for the file that begins with `head`, and how many bytes of it are a byte order
    /// mark, which is no text.
    pub(crate) fn for_head(head: &[u8]) -> (Self, usize) {
        let (unit, mark) = match head {
            [0xEF, 0xBB, 0xBF, ..] => (Unit::Byte, 3),
            [0xFF, 0xFE, ..] => (Unit::Utf16 { join: u16::from_le_bytes, half: None }, 2),
            [0xFE, 0xFF, ..] => (Unit::Utf16 { join: u16::from_be_bytes, half: None }, 2),
            _ => (Unit::Byte, 0),
        };
        (Self { unit, lines: 0, words: 0, in_word: false, in_line: false }, mark)
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let Unit::Utf16 { join, half } = &mut self.unit else {
            for &byte in bytes {
                self.count(byte);
            }
            return;
        };
        let (join, mut pending) = (*join, half.take());
        for &byte in bytes {
            match pending.take() {
                None => pending = Some(byte),
                // Beyond ASCII nothing separates, so any letter can stand for such a unit.
                Some(first) => self.count(u8::try_from(join([first, byte])).unwrap_or(b'x')),
            }
        }
        if let Unit::Utf16 { half, .. } = &mut self.unit {
            *half = pending;
        }
    }

    fn count(&mut self, unit: u8) {
        // The vertical tab is the one ASCII blank that Rust does not count among them.
        let blank = unit.is_ascii_whitespace() || unit == 0x0B;
        self.words += u64::from(!blank && !self.in_word);
        self.lines += u64::from(!self.in_line);
        self.in_word = !blank;
        self.in_line = unit != b'\n';
    }

    /// A last line without a line feed is a line; an empty file has none.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    pub(crate) fn words(&self) -> u64 {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts when the bytes come in pieces of `piece`.
    fn counts(bytes: &[u8], piece: usize) -> (u64, u64) {
        let (mut counter, mark) = TextCounter::for_head(bytes);
        for chunk in bytes[mark..].chunks(piece) {
            counter.feed(chunk);
        }
        (counter.lines(), counter.words())
    }

    fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
    }

    #[test]
    fn one_text_counts_the_same_in_every_encoding_and_every_piece() {
        let text = "Grüße aus Köln,\r\n\n  où l'été\u{B}dure\tencore\nà demi";
        let latin1: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
        let marked = [b"\xEF\xBB\xBF", text.as_bytes()].concat();
        let all = [
            text.as_bytes().to_vec(),
            marked,
            latin1,
            utf16(text, u16::to_le_bytes),
            utf16(text, u16::to_be_bytes),
        ];
        for (which, bytes) in all.iter().enumerate() {
            for piece in 1..6 {
                assert_eq!(counts(bytes, piece), (4, 9), "encoding {which}, pieces of {piece}");
            }
        }
    }

    #[test]
    fn nothing_has_no_lines_and_a_mark_is_no_word() {
        assert_eq!(counts(b"", 1), (0, 0));
        assert_eq!(counts(b"\xEF\xBB\xBF", 1), (0, 0));
        assert_eq!(counts(b"\xFF\xFE", 1), (0, 0));
        assert_eq!(counts(b"\n", 1), (1, 0));
    }

    #[test]
    fn units_beyond_ascii_are_letters() {
        // U+0A20 and U+200A hold the bytes of a blank and of a line feed; U+1F4E6 is a pair.
        let text = "\u{0A20}\u{200A} \u{1F4E6}";
        assert_eq!(counts(&utf16(text, u16::to_le_bytes), 3), (1, 2));
        assert_eq!(counts(&utf16(text, u16::to_be_bytes), 3), (1, 2));
    }
}
