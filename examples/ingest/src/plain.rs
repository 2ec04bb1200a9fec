//! Text that comes from elsewhere, told so that it cannot steer a terminal.

use std::io::Write;

/// The text with what moves the cursor, ends the line or turns the direction of writing written out.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { plain.extend(c.escape_default()) } else { plain.push(c) }
    }
    plain
}

fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line on standard error.
pub(crate) fn say(line: &str) {
    // Where standard error is gone the exit code still tells.
    let _ = writeln!(std::io::stderr(), "ingest: {}", plain(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_steers_is_written_out() {
        let harmless = "Grüße 'x' \"y\" \\ e\u{301} \u{1f6a2}";
        assert_eq!(plain(harmless), harmless);
        assert_eq!(plain("a\u{1b}[2J\r\nb\u{9b}1m\u{202e}"), r"a\u{1b}[2J\r\nb\u{9b}1m\u{202e}");
    }
}
