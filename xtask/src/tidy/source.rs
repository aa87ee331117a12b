//! A Rust file taken apart far enough for textual rules: code, comments, and the insides of literals.

/// One line: the parts that rules look at.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Line {
    /// The line without comments; the insides of literals are replaced by `"`, so no rule mistakes text for code.
    pub(super) code: String,
    /// The comments of the line, with their markers.
    pub(super) comment: String,
}

impl Line {
    pub(super) fn has_code(&self) -> bool {
        !self.code.trim().is_empty()
    }
}

pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut inside = Inside::Code;
    text.lines()
        .map(|raw| {
            let mut line = Line::default();
            let mut rest = raw;
            while !rest.is_empty() {
                let taken = step(rest, &mut inside, &mut line);
                rest = &rest[taken..];
            }
            line
        })
        .collect()
}

#[derive(Clone, Copy)]
enum Inside {
    Code,
    /// A block comment, and how many deep.
    Comment(usize),
    Text,
    /// A raw string, and how many `#` end it.
    RawText(usize),
}

/// Consumes the next few bytes of a line and answers how many.
fn step(rest: &str, inside: &mut Inside, line: &mut Line) -> usize {
    match *inside {
        Inside::Code => step_code(rest, inside, line),
        Inside::Comment(depth) => step_comment(rest, depth, inside, line),
        Inside::Text if rest.starts_with('\\') => {
            let escaped = rest[1..].chars().next().map_or(0, char::len_utf8);
            blank(1 + escaped, line)
        }
        Inside::Text if rest.starts_with('"') => {
            *inside = Inside::Code;
            blank(1, line)
        }
        Inside::RawText(hashes) if ends_raw(rest, hashes) => {
            *inside = Inside::Code;
            blank(1 + hashes, line)
        }
        Inside::Text | Inside::RawText(_) => {
            let next = first(rest);
            if next.is_whitespace() {
                line.code.push(next);
                next.len_utf8()
            } else {
                blank(next.len_utf8(), line)
            }
        }
    }
}

fn step_code(rest: &str, inside: &mut Inside, line: &mut Line) -> usize {
    if rest.starts_with("//") {
        line.comment.push_str(rest);
        return rest.len();
    }
    if rest.starts_with("/*") {
        *inside = Inside::Comment(1);
        line.comment.push_str("/*");
        return 2;
    }
    if let Some((taken, hashes)) = starts_raw(rest, &line.code) {
        *inside = Inside::RawText(hashes);
        return blank(taken, line);
    }
    if rest.starts_with('"') {
        *inside = Inside::Text;
        return blank(1, line);
    }
    if let Some(taken) = char_literal(rest) {
        return blank(taken, line);
    }
    let next = first(rest);
    line.code.push(next);
    next.len_utf8()
}

fn step_comment(rest: &str, depth: usize, inside: &mut Inside, line: &mut Line) -> usize {
    let (deeper, taken) = match rest {
        _ if rest.starts_with("/*") => (depth + 1, 2),
        _ if rest.starts_with("*/") => (depth - 1, 2),
        _ => (depth, first(rest).len_utf8()),
    };
    *inside = match deeper {
        0 => Inside::Code,
        _ => Inside::Comment(deeper),
    };
    line.comment.push_str(&rest[..taken]);
    taken
}

fn blank(taken: usize, line: &mut Line) -> usize {
    line.code.push('"');
    taken
}

fn first(rest: &str) -> char {
    rest.chars().next().unwrap_or(' ')
}

/// `r"`, `r#"`, `br##"`, ...: its length and the number of `#`.
fn starts_raw(rest: &str, before: &str) -> Option<(usize, usize)> {
    if before.chars().next_back().is_some_and(is_name) {
        return None;
    }
    let prefix =
        ["r", "br", "cr"].into_iter().find(|p| rest.starts_with(p) && rest[p.len()..].starts_with(['#', '"']))?;
    let hashes = rest[prefix.len()..].bytes().take_while(|b| *b == b'#').count();
    rest[prefix.len() + hashes..].starts_with('"').then_some((prefix.len() + hashes + 1, hashes))
}

fn ends_raw(rest: &str, hashes: usize) -> bool {
    rest.strip_prefix('"').is_some_and(|tail| tail.bytes().take_while(|b| *b == b'#').count() >= hashes)
}

/// The length of a character literal; `None` for a lifetime.
fn char_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    if let Some(escape) = inner.strip_prefix('\\') {
        let skip = escape.chars().next()?.len_utf8();
        return escape[skip..].find('\'').map(|end| 1 + 1 + skip + end + 1);
    }
    let next = inner.chars().next()?.len_utf8();
    inner[next..].starts_with('\'').then_some(1 + next + 1)
}

/// Whether a character can stand in an identifier.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
