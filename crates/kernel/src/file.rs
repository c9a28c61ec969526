//! A kernel file: CUDA source that carries its launch plan in one comment.

use std::ops::Range;

use kgen_record::SourceSpan;

/// The opening of the plan's comment.
const OPEN: &str = "/*@plan";

/// A kernel file whose plan was found (not yet parsed).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFile {
    text: String,
    plan: Range<usize>,
}

/// Why a text is no kernel file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelFileError {
    /// There is no plan.
    #[error(
        "the kernel file has no launch plan: add one comment that starts with `/*@plan` and ends \
         with `@*/`, with at least one `launch(...)` in it"
    )]
    NoPlan,
    /// There are two plans.
    #[error(
        "the kernel file has two launch plans, at lines {first} and {second}: keep exactly one"
    )]
    TwoPlans {
        /// Line of the first plan.
        first: u32,
        /// Line of the second plan.
        second: u32,
    },
    /// The plan's comment does not end.
    #[error("the launch plan of line {line} has no end: close it with `@*/`")]
    Unterminated {
        /// Line of its start.
        line: u32,
    },
    /// The plan's comment ends with a plain `*/`.
    #[error(
        "the launch plan of line {line} is closed by a plain `*/` at line {end}: close it with \
         `@*/`, and write no `*/` inside it"
    )]
    PlainEnd {
        /// Line of its start.
        line: u32,
        /// Line of the `*/`.
        end: u32,
    },
}

impl KernelFileError {
    /// Returns the line that the error is about, where there is one.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        match *self {
            Self::NoPlan => None,
            Self::TwoPlans { second, .. } => Some(second),
            Self::Unterminated { line } => Some(line),
            Self::PlainEnd { end, .. } => Some(end),
        }
    }
}

impl KernelFile {
    /// Finds the plan in a kernel file.
    ///
    /// # Errors
    ///
    /// When there is not exactly one plan, or its comment is not closed by `@*/`.
    pub fn parse(text: &str) -> Result<Self, KernelFileError> {
        let mut plans = block_comments(text).into_iter().filter(|comment| {
            let rest = &text[comment.start..];
            rest.strip_prefix(OPEN).is_some_and(|rest| !rest.starts_with(is_word))
        });
        let comment = plans.next().ok_or(KernelFileError::NoPlan)?;
        let line = line_of(text, comment.start);
        if let Some(second) = plans.next() {
            let second = line_of(text, second.start);
            return Err(KernelFileError::TwoPlans { first: line, second });
        }
        let end = comment.end.ok_or(KernelFileError::Unterminated { line })?;
        let body = comment.start + OPEN.len()..end - "*/".len();
        if !text[body.clone()].ends_with('@') {
            return Err(KernelFileError::PlainEnd { line, end: line_of(text, end) });
        }
        Ok(Self { text: text.to_owned(), plan: body.start..body.end - 1 })
    }

    /// Returns the whole file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the plan without its comment marks.
    #[must_use]
    pub fn plan_text(&self) -> &str {
        &self.text[self.plan.clone()]
    }

    /// Returns the line of the plan's `/*@plan`, from 1.
    #[must_use]
    pub fn plan_line(&self) -> u32 {
        line_of(&self.text, self.plan.start)
    }

    /// Returns a position for findings; `line` from 1, `column` 0 where unknown.
    #[must_use]
    pub fn span(&self, line: u32, column: u32) -> SourceSpan {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        let text = self.text.lines().nth(index).unwrap_or_default().to_owned();
        SourceSpan { line, column, text }
    }

    /// Returns the byte range of the plan in [`Self::text`].
    pub(super) fn plan_range(&self) -> Range<usize> {
        self.plan.clone()
    }
}

/// A block comment: where it starts, and where it ends if it does.
struct Comment {
    start: usize,
    end: Option<usize>,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the line of a byte offset, from 1.
pub(super) fn line_of(text: &str, offset: usize) -> u32 {
    let newlines = text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count();
    u32::try_from(newlines + 1).unwrap_or(u32::MAX)
}

/// Finds the block comments of C++ source, passing over line comments and string literals.
fn block_comments(text: &str) -> Vec<Comment> {
    let bytes = text.as_bytes();
    let mut comments = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        at = match &bytes[at..] {
            [b'/', b'/', ..] => find(text, at, "\n").map_or(bytes.len(), |end| end + 1),
            [b'/', b'*', ..] => {
                let end = find(text, at + 2, "*/").map(|end| end + 2);
                comments.push(Comment { start: at, end });
                end.unwrap_or(bytes.len())
            }
            [b'"', ..] => string_end(bytes, at + 1),
            _ => at + 1,
        };
    }
    comments
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|found| from + found)
}

/// Returns where a string literal ends; an unclosed one ends with its line.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'\n' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_found_with_its_line() {
        let file = KernelFile::parse("// a\n/*@plan\nx = 1\n@*/\nint y;\n").unwrap();
        assert_eq!((file.plan_text(), file.plan_line()), ("\nx = 1\n", 2));
        assert_eq!(file.span(3, 1).text, "x = 1");
        assert_eq!(file.span(99, 1).text, "");
    }

    #[test]
    fn what_only_looks_like_a_plan_is_passed_over() {
        let text = "// /*@plan\nconst char* s = \"\\\"/*@plan\";\n/*@planned */\n/*@plan a=1 @*/";
        assert_eq!(KernelFile::parse(text).unwrap().plan_line(), 4);
    }

    #[test]
    fn files_without_exactly_one_closed_plan_are_refused() {
        let cases = [
            ("", KernelFileError::NoPlan),
            ("/* plan */ // /*@plan @*/", KernelFileError::NoPlan),
            ("/*@plan @*/\n\n/*@plan @*/", KernelFileError::TwoPlans { first: 1, second: 3 }),
            ("\n/*@plan\nx = 1\n", KernelFileError::Unterminated { line: 2 }),
            ("/*@plan\nx = 1\n*/\n", KernelFileError::PlainEnd { line: 1, end: 3 }),
            ("/*@plan\n# */\n@*/\n", KernelFileError::PlainEnd { line: 1, end: 2 }),
        ];
        for (text, expected) in cases {
            assert_eq!(KernelFile::parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
