//! How many tokens a text is, by an estimate that errs on the high side.
//!
//! Tokenizers differ between providers and are not published by all, so kgen counts units that every one
//! of them pays for: a run of letters and digits is one token per three characters begun, any other
//! visible character is one, so is a line break with the indentation of the next line; characters outside
//! of ASCII are two.

/// Tokens that providers add around the messages of a call.
const FRAME: u64 = 32;

/// Letters and digits of one word per token.
const WORD: usize = 3;

/// Estimates the tokens of a text.
#[must_use]
pub fn tokens(text: &str) -> u64 {
    let mut tokens = 0;
    let mut word = 0_usize;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word += 1;
            continue;
        }
        tokens += word.div_ceil(WORD);
        word = 0;
        tokens += match c {
            ' ' | '\t' | '\r' => 0,
            c if c.is_ascii() => 1,
            _ => 2,
        };
    }
    let tokens = tokens + word.div_ceil(WORD);
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// Estimates the tokens of a call.
#[must_use]
pub fn of_call(system: &str, user: &str) -> u64 {
    FRAME + tokens(system) + tokens(user)
}
