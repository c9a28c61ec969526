//! Splits a plan into tokens, with Python's rules for indentation and line joining.

use std::ops::Range;

use super::Problem;

/// A token of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A name or keyword; its text is the source's.
    Name,
    Int(i64),
    Float(f64),
    Str(String),
    /// An operator or punctuation mark.
    Op(&'static str),
    Newline,
    Indent,
    Dedent,
    End,
}

/// A token with its byte range in the kernel file.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Operators, longer ones before their prefixes.
const OPERATORS: [&str; 41] = [
    "//=", "<<=", ">>=", "**=", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=",
    "%=", "&=", "|=", "^=", "/=", ":=", "+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "(",
    ")", "[", "]", ",", ":", ";", ".", "=",
];

/// Operators of C++, and the ones to write instead.
const FOREIGN: [(&str, &str); 7] = [
    ("&&", "write `and`"),
    ("||", "write `or`"),
    ("!", "write `not`, or `!=` to compare"),
    ("?", "write `a if condition else b`"),
    ("{", "there are no dictionaries, sets or braces in a plan; blocks are indented"),
    ("}", "there are no dictionaries, sets or braces in a plan; blocks are indented"),
    ("@", "the plan ends with `@*/`"),
];

/// Deepest nesting of blocks.
const MAX_BLOCKS: usize = 20;

/// Splits the plan in `range` of `text` into tokens.
pub(super) fn tokens(text: &str, range: Range<usize>) -> Result<Vec<Token>, Problem> {
    let mut lexer = Lexer {
        text: &text[..range.end],
        at: range.start,
        open: Vec::new(),
        out: Vec::new(),
        indents: vec![],
    };
    let mut opening_line = true;
    while lexer.at < range.end {
        lexer.line(opening_line)?;
        opening_line = false;
    }
    if let Some(&bracket) = lexer.open.last() {
        let message = format!("the bracket `{}` is never closed", &text[bracket..=bracket]);
        return Err(Problem::new(bracket, message));
    }
    for _ in 1..lexer.indents.len() {
        lexer.push(Kind::Dedent, range.end);
    }
    lexer.push(Kind::End, range.end);
    Ok(lexer.out)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Offsets of the open brackets.
    open: Vec<usize>,
    out: Vec<Token>,
    /// Indentations of the open blocks; the first one is that of the plan.
    indents: Vec<usize>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.out.push(Token { kind, start, end: self.at });
    }

    /// Reads one logical line.
    fn line(&mut self, opening_line: bool) -> Result<(), Problem> {
        let blank = self.rest().len() - self.rest().trim_start_matches([' ', '\r']).len();
        let start = self.at;
        self.at += blank;
        match self.rest().chars().next() {
            None => return Ok(()),
            Some('\n') => {
                self.at += 1;
                return Ok(());
            }
            Some('#') => {
                self.comment();
                return Ok(());
            }
            Some('\t') => {
                // A blank line may hold tabs.
                if self.rest().lines().next().is_some_and(|line| line.trim().is_empty()) {
                    self.at += self.rest().find('\n').map_or(self.rest().len(), |end| end + 1);
                    return Ok(());
                }
                return Err(Problem::new(self.at, "a tab in the indentation").hint("use spaces"));
            }
            Some(_) => {}
        }
        if !opening_line {
            self.indentation(self.at - start)?;
        }
        self.logical_line()
    }

    fn comment(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn indentation(&mut self, width: usize) -> Result<(), Problem> {
        let Some(&current) = self.indents.last() else {
            self.indents.push(width);
            return Ok(());
        };
        if width > current {
            if self.indents.len() > MAX_BLOCKS {
                return Err(Problem::new(self.at, "blocks are nested too deeply"));
            }
            self.indents.push(width);
            self.push(Kind::Indent, self.at);
            return Ok(());
        }
        while self.indents.last().is_some_and(|&last| width < last) {
            self.indents.pop();
            self.push(Kind::Dedent, self.at);
        }
        if self.indents.last() != Some(&width) {
            return Err(Problem::new(self.at, "the indentation matches no open block")
                .hint("indent every line of a block by the same number of spaces"));
        }
        Ok(())
    }

    /// Reads tokens to the end of the logical line.
    fn logical_line(&mut self) -> Result<(), Problem> {
        while let Some(c) = self.rest().chars().next() {
            let start = self.at;
            match c {
                ' ' | '\r' | '\t' => self.at += 1,
                '#' => self.comment(),
                '\n' => {
                    self.at += 1;
                    if self.open.is_empty() {
                        self.push(Kind::Newline, start);
                        return Ok(());
                    }
                }
                '\\' if self.rest().starts_with("\\\n") => self.at += 2,
                '"' | '\'' => self.string(c)?,
                _ if c.is_ascii_digit() => self.number()?,
                '.' if self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                    self.number()?;
                }
                _ if c.is_alphabetic() || c == '_' => {
                    let word = |c: char| !(c.is_alphanumeric() || c == '_');
                    self.at += self.rest().find(word).unwrap_or(self.rest().len());
                    self.push(Kind::Name, start);
                }
                _ => self.operator(c)?,
            }
        }
        self.push(Kind::Newline, self.at);
        Ok(())
    }

    fn operator(&mut self, c: char) -> Result<(), Problem> {
        let foreign = FOREIGN
            .iter()
            .find(|(op, _)| self.rest().starts_with(op) && !self.rest().starts_with("!="));
        if let Some((op, hint)) = foreign {
            return Err(Problem::new(self.at, format!("`{op}` is not part of the plan language"))
                .hint(*hint));
        }
        let Some(op) = OPERATORS.iter().find(|op| self.rest().starts_with(**op)) else {
            return Err(Problem::new(self.at, format!("unexpected character `{c}`")));
        };
        match *op {
            "(" | "[" => self.open.push(self.at),
            ")" | "]" => drop(self.open.pop()),
            _ => {}
        }
        let start = self.at;
        self.at += op.len();
        self.push(Kind::Op(op), start);
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<(), Problem> {
        let start = self.at;
        let body = &self.text[start + 1..];
        let end = body.find([quote, '\n', '\\']);
        let Some(end) = end.filter(|&end| body[end..].starts_with(quote)) else {
            return Err(Problem::new(start, "a string without its closing quote")
                .hint("strings are on one line and have no escapes"));
        };
        if end == 0 && body[1..].starts_with(quote) {
            return Err(Problem::new(
                start,
                "triple-quoted strings are not part of the plan language",
            )
            .hint("write comments with `#`"));
        }
        let text = body[..end].to_owned();
        self.at = start + end + 2;
        self.push(Kind::Str(text), start);
        Ok(())
    }

    fn number(&mut self) -> Result<(), Problem> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start;
        while let Some(&byte) = bytes.get(end) {
            let exponent_sign = matches!(byte, b'+' | b'-')
                && end > start
                && matches!(bytes[end - 1], b'e' | b'E')
                && !self.text[start..end].starts_with("0x");
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || exponent_sign) {
                break;
            }
            end += 1;
        }
        let text = &self.text[start..end];
        let kind = number(text).map_err(|message| Problem::new(start, message))?;
        self.at = end;
        self.push(kind, start);
        Ok(())
    }
}

/// Reads a Python number literal.
fn number(text: &str) -> Result<Kind, String> {
    let digits = text.replace('_', "");
    let radix = match digits.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0b" | "0B") => 2,
        Some("0o" | "0O") => 8,
        _ => 10,
    };
    if radix == 10 && digits.contains(['.', 'e', 'E']) {
        let value = digits.parse().map_err(|_| format!("`{text}` is not a number"))?;
        return Ok(Kind::Float(value));
    }
    let body = if radix == 10 { &digits[..] } else { &digits[2..] };
    match i64::from_str_radix(body, radix) {
        Ok(value) => Ok(Kind::Int(value)),
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
            Err(format!("`{text}` does not fit a signed 64-bit integer"))
        }
        Err(_) => Err(format!("`{text}` is not a number")),
    }
}
