//! Splits PTX text into tokens, each with its line and byte range.
//!
//! A dotted opcode (`ld.global.v4.f32`) is one word: the parser splits it. Comments vanish.

use crate::ParseError;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tok<'a> {
    /// Identifier, register, directive or dotted opcode.
    Word(&'a str),
    /// Integer literal, as its 64 bits (a minus sign is its own token).
    Int(u64),
    /// `0f` literal: the bits of an f32.
    F32(u32),
    /// `0d` literal or decimal literal: the bits of an f64.
    F64(u64),
    /// Quoted string without its quotes.
    Str(&'a str),
    /// A single character.
    Punct(u8),
    /// Something that is no token, and why. It matters where it is looked at.
    Wrong(Box<str>),
}

#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    /// Its kind.
    pub tok: Tok<'a>,
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// Byte offset of its first character.
    pub start: usize,
    /// Byte offset past its last character.
    pub end: usize,
}

/// Longest text: a hundred times the largest file seen, and offsets in it fit 32 bits.
const MAX_TEXT: usize = 256 << 20;

pub(crate) fn lex(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    if text.len() > MAX_TEXT {
        return Err(ParseError::at(
            text,
            MAX_TEXT,
            format!("text is longer than {MAX_TEXT} bytes"),
        ));
    }
    let mut lexer = Lexer { text, bytes: text.as_bytes(), pos: 0, line: 1 };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    while let Some(token) = lexer.next_token() {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    line: u32,
}

/// A token, or why there is none.
type Lexed<'a> = Result<Tok<'a>, String>;

fn starts_word(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

fn continues_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) {
        loop {
            match self.peek(0) {
                b'\n' => {
                    self.line += 1;
                    self.pos += 1;
                }
                b' ' | b'\t' | b'\r' => self.pos += 1,
                b'/' if self.peek(1) == b'/' => {
                    while self.pos < self.bytes.len() && self.peek(0) != b'\n' {
                        self.pos += 1;
                    }
                }
                b'/' if self.peek(1) == b'*' => {
                    while self.pos < self.bytes.len()
                        && !(self.peek(0) == b'*' && self.peek(1) == b'/')
                    {
                        self.line += u32::from(self.peek(0) == b'\n');
                        self.pos += 1;
                    }
                    self.pos = (self.pos + 2).min(self.bytes.len());
                }
                _ => return,
            }
        }
    }

    fn next_token(&mut self) -> Option<Token<'a>> {
        self.skip_blank();
        let start = self.pos;
        let line = self.line;
        if start >= self.bytes.len() {
            return None;
        }
        let c = self.peek(0);
        let tok = if c.is_ascii_digit() || (c == b'.' && self.peek(1).is_ascii_digit()) {
            self.number()
        } else if starts_word(c) {
            Ok(self.word())
        } else if c == b'"' {
            self.string()
        } else if c.is_ascii_graphic() {
            self.pos += 1;
            Ok(Tok::Punct(c))
        } else {
            self.pos += self.text[start..].chars().next().map_or(1, char::len_utf8);
            Err(format!("unexpected byte 0x{c:02x}"))
        };
        let tok = tok.unwrap_or_else(|message| Tok::Wrong(message.into()));
        Some(Token { tok, line, start, end: self.pos })
    }

    /// A name or opcode with all its dots; of directives each is a word of its own, however close
    /// they stand (`.param.u64`).
    fn word(&mut self) -> Tok<'a> {
        let start = self.pos;
        let directive = self.peek(0) == b'.';
        loop {
            let c = self.peek(0);
            if continues_word(c) && !(directive && c == b'.' && self.pos > start) {
                self.pos += 1;
            } else if c == b':' && self.peek(1) == b':' {
                self.pos += 2;
            } else {
                return Tok::Word(&self.text[start..self.pos]);
            }
        }
    }

    fn string(&mut self) -> Lexed<'a> {
        self.pos += 1;
        let start = self.pos;
        while self.pos < self.bytes.len() && self.peek(0) != b'"' {
            self.line += u32::from(self.peek(0) == b'\n');
            self.pos += 1 + usize::from(self.peek(0) == b'\\');
        }
        if self.pos >= self.bytes.len() {
            self.pos = self.bytes.len();
            return Err("string without an end".to_owned());
        }
        self.pos += 1;
        let inside = self.text.get(start..self.pos - 1).map(Tok::Str);
        inside.ok_or_else(|| "string ends inside a character".to_owned())
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.pos += 1;
        }
    }

    fn number(&mut self) -> Lexed<'a> {
        let start = self.pos;
        let prefix = self.peek(1).to_ascii_lowercase();
        if self.peek(0) == b'0' && matches!(prefix, b'x' | b'f' | b'd' | b'b') {
            return self.hexadecimal(prefix);
        }
        self.digits();
        let whole = &self.text[start..self.pos];
        if self.fraction() {
            let text = &self.text[start..self.pos];
            let value = text.parse::<f64>().map_err(|e| format!("number `{text}`: {e}"))?;
            return Ok(Tok::F64(value.to_bits()));
        }
        self.pos += usize::from(self.peek(0) == b'U');
        let radix = if whole.len() > 1 && whole.starts_with('0') { 8 } else { 10 };
        let value = u64::from_str_radix(whole, radix);
        value.map(Tok::Int).map_err(|e| format!("number `{whole}`: {e}"))
    }

    /// Takes the rest of a decimal float, behind its whole part; false if it is an integer.
    fn fraction(&mut self) -> bool {
        let start = self.pos;
        if self.peek(0) == b'.' {
            self.pos += 1;
            self.digits();
        }
        if self.peek(0) | 32 == b'e' {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.pos += 1 + sign;
                self.digits();
            }
        }
        self.pos > start
    }

    /// An integer in base 16 or 2, or the bits of a float.
    fn hexadecimal(&mut self, prefix: u8) -> Lexed<'a> {
        self.pos += 2;
        let digits = self.pos;
        while self.peek(0).is_ascii_hexdigit() {
            self.pos += 1;
        }
        let text = &self.text[digits..self.pos];
        let radix = if prefix == b'b' { 2 } else { 16 };
        let bits = u64::from_str_radix(text, radix);
        let bits = bits.map_err(|e| format!("number `{text}`: {e}"))?;
        if prefix == b'x' || prefix == b'b' {
            self.pos += usize::from(self.peek(0) == b'U');
        }
        match prefix {
            b'f' if text.len() == 8 => Ok(Tok::F32(bits as u32)),
            b'd' if text.len() == 16 => Ok(Tok::F64(bits)),
            b'x' | b'b' => Ok(Tok::Int(bits)),
            _ => Err(format!("float literal `{text}` has the wrong length")),
        }
    }
}
