//! Text that fits a terminal.

/// Columns of a terminal that nobody has widened.
pub(crate) const COLUMNS: usize = 80;

/// Breaks a line between words into parts of at most `width` characters, all but the first behind
/// `indent`. A longer word (a path) is left whole.
pub(crate) fn wrap(line: &str, width: usize, indent: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match parts.last_mut() {
            Some(part) if part.chars().count() + 1 + word.chars().count() <= width => {
                part.push(' ');
                part.push_str(word);
            }
            Some(_) => parts.push(indent.to_owned() + word),
            None => parts.push(word.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_words_never() {
        assert_eq!(wrap("a bc def", 4, ""), ["a bc", "def"]);
        assert_eq!(wrap("a bc def", 4, "  "), ["a bc", "  def"]);
        assert_eq!(wrap("/a/long/path is used", 7, ""), ["/a/long/path", "is used"]);
        assert_eq!(wrap("", 7, ""), [""]);
    }
}
