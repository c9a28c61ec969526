//! Splits a line of a log into tokens.

use std::fmt;

use super::error::Problem;

/// A token with the byte of the line at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A name, dots included: `T`, `f16`, `torch.strided`.
    Name(String),
    Int(i64),
    Float(f64),
    Str(String),
    /// One of `()[]{},:=`.
    Mark(char),
    /// The end of the line.
    End,
}

/// Longest piece of a token that an error quotes, in characters.
const QUOTED: usize = 40;

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{}`", excerpt(name)),
            Self::Int(value) => write!(f, "`{value}`"),
            Self::Float(value) => write!(f, "`{value:?}`"),
            Self::Str(text) => write!(f, "the string {:?}", excerpt(text)),
            Self::Mark(mark) => write!(f, "`{mark}`"),
            Self::End => f.write_str("the end of the line"),
        }
    }
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}..", &text[..end]),
    }
}

pub(super) struct Lexer<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    /// Returns the byte behind the last token and the text from there on.
    pub(super) fn rest(&self) -> (usize, &'a str) {
        (self.at, &self.line[self.at..])
    }

    pub(super) fn token(&mut self) -> Result<Token, Problem> {
        self.take_while(char::is_whitespace);
        let at = self.at;
        let mut rest = self.line[at..].chars();
        let kind = match rest.next() {
            None => Kind::End,
            Some(mark @ ('(' | ')' | '[' | ']' | '{' | '}' | ',' | ':' | '=')) => {
                self.at += 1;
                Kind::Mark(mark)
            }
            Some('0'..='9') => self.number()?,
            Some('-') => match rest.next() {
                Some('0'..='9') => self.number()?,
                Some(_) if self.line[at + 1..].starts_with("inf") => self.minus_infinity()?,
                _ => return Err(Problem::new(at, "expected a number behind `-`")),
            },
            Some(quote @ ('\'' | '"')) => self.string(quote)?,
            Some(first) if is_name_start(first) => Kind::Name(self.name().to_owned()),
            Some(other) => {
                return Err(Problem::new(at, format!("no value begins with {other:?}")));
            }
        };
        Ok(Token { at, kind })
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.line[self.at..];
        let end = rest.find(|character| !wanted(character)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Reads a name; `::` joins a namespace to it, as in `aten::add`.
    fn name(&mut self) -> &'a str {
        let start = self.at;
        loop {
            self.take_while(is_name_part);
            let next = self.line[self.at..].strip_prefix("::").and_then(|rest| rest.chars().next());
            if !next.is_some_and(is_name_start) {
                return &self.line[start..self.at];
            }
            self.at += "::".len();
        }
    }

    fn minus_infinity(&mut self) -> Result<Kind, Problem> {
        let start = self.at;
        self.at += 1;
        match self.name() {
            "inf" => Ok(Kind::Float(f64::NEG_INFINITY)),
            _ => Err(Problem::new(start, "expected a number behind `-`")),
        }
    }

    fn number(&mut self) -> Result<Kind, Problem> {
        let start = self.at;
        self.at += usize::from(self.line[start..].starts_with('-'));
        self.take_while(|digit| digit.is_ascii_digit());
        let fraction = self.accept(&['.']);
        if fraction {
            self.take_while(|digit| digit.is_ascii_digit());
        }
        let exponent = self.accept(&['e', 'E']);
        if exponent {
            self.accept(&['+', '-']);
            if self.take_while(|digit| digit.is_ascii_digit()).is_empty() {
                return Err(Problem::new(self.at, "expected the digits of an exponent"));
            }
        }
        if self.line[self.at..].starts_with(is_name_part) {
            return Err(Problem::new(self.at, "expected the end of the number"));
        }
        let text = &self.line[start..self.at];
        if fraction || exponent {
            return match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Kind::Float(value)),
                _ => Err(Problem::new(start, "a number beyond the range of f64")),
            };
        }
        text.parse().map(Kind::Int).map_err(|_| Problem::new(start, "an integer beyond 64 bits"))
    }

    fn accept(&mut self, wanted: &[char]) -> bool {
        let found = self.line[self.at..].starts_with(wanted);
        self.at += usize::from(found);
        found
    }

    fn string(&mut self, quote: char) -> Result<Kind, Problem> {
        let start = self.at;
        let mut text = String::new();
        let mut rest = self.line[start..].char_indices().skip(1);
        while let Some((at, character)) = rest.next() {
            let character = match character {
                '\\' => match rest.next() {
                    Some((_, quoted @ ('\\' | '\'' | '"'))) => quoted,
                    Some((_, 'n')) => '\n',
                    Some((_, 'r')) => '\r',
                    Some((_, 't')) => '\t',
                    _ => {
                        let known = "expected one of \\\\ \\' \\\" \\n \\r \\t";
                        return Err(Problem::new(start + at, known));
                    }
                },
                end if end == quote => {
                    self.at = start + at + 1;
                    return Ok(Kind::Str(text));
                }
                other => other,
            };
            text.push(character);
        }
        Err(Problem::new(start, format!("the string has no closing {quote}")))
    }
}

const fn is_name_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

const fn is_name_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.')
}
