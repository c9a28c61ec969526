//! Integers that are made of extents: `2*d`, `h + 2`, `(w - k) // s + 1`.

use std::{collections::BTreeMap, fmt};

/// Values of names.
pub type Symbols = BTreeMap<String, i64>;

/// Deepest nesting of brackets.
const MAX_DEPTH: usize = 16;

/// An integer expression of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// A number.
    Number(i64),
    /// An extent, or an integer argument.
    Name(String),
    /// An operation on two operands; a quotient is rounded down.
    Binary(Box<Self>, Operator, Box<Self>),
}

/// An operator, in the order of how closely it binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `//`, rounded down.
    FloorDiv,
}

impl Operator {
    const fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::FloorDiv => "//",
        }
    }

    const fn is_sum(self) -> bool {
        matches!(self, Self::Add | Self::Sub)
    }
}

impl Expr {
    /// Parses a whole text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (expr, len) = Self::parse_prefix(text)?;
        text[len..].trim().is_empty().then_some(expr)
    }

    /// Parses the longest expression that a text begins with; returns it and its length in bytes.
    pub(crate) fn parse_prefix(text: &str) -> Option<(Self, usize)> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let expr = parser.sum()?;
        Some((expr, parser.at))
    }

    /// Returns the names in it, each as often as it occurs.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Name(name) => vec![name],
            Self::Binary(left, _, right) => [left.names(), right.names()].concat(),
        }
    }

    /// Returns the value; `None` where a name has none, by a division by 0, and on overflow.
    #[must_use]
    pub fn value(&self, symbols: &Symbols) -> Option<i64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Name(name) => symbols.get(name).copied(),
            Self::Binary(left, operator, right) => {
                let (left, right) = (left.value(symbols)?, right.value(symbols)?);
                match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Sub => left.checked_sub(right),
                    Operator::Mul => left.checked_mul(right),
                    Operator::FloorDiv => left.checked_div_euclid(right),
                }
            }
        }
    }

    /// Puts numbers in the place of names.
    pub(crate) fn with(&self, known: &Symbols) -> Self {
        match self {
            Self::Name(name) if known.contains_key(name) => Self::Number(known[name]),
            Self::Binary(left, operator, right) => {
                let [left, right] = [left, right].map(|side| Box::new(side.with(known)));
                Self::Binary(left, *operator, right)
            }
            other => other.clone(),
        }
    }

    /// Returns the factor and the name of a name or a multiple of one.
    pub(crate) fn multiple(&self) -> Option<(i64, &str)> {
        match self {
            Self::Name(name) => Some((1, name)),
            Self::Binary(left, Operator::Mul, right) => match (left.as_ref(), right.as_ref()) {
                (Self::Number(factor), Self::Name(name)) if *factor > 0 => Some((*factor, name)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Name(name) => f.write_str(name),
            Self::Binary(left, operator, right) => {
                let bracket = |side: &Self, on_right: bool| match side {
                    Self::Binary(_, inner, _) if on_right => !operator.is_sum() || inner.is_sum(),
                    Self::Binary(_, inner, _) => !operator.is_sum() && inner.is_sum(),
                    _ => false,
                };
                let side = |side: &Self, on_right| match bracket(side, on_right) {
                    true => format!("({side})"),
                    false => side.to_string(),
                };
                let gap = if operator.is_sum() { " " } else { "" };
                let (left, right) = (side(left, false), side(right, true));
                write!(f, "{left}{gap}{}{gap}{right}", operator.text())
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// Takes an operator, where the next one is of a kind.
    fn operator(&mut self, sums: bool) -> Option<Operator> {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t']);
        let all = [Operator::Add, Operator::Sub, Operator::Mul, Operator::FloorDiv];
        let found = all.into_iter().find(|operator| rest.starts_with(operator.text()))?;
        if found.is_sum() != sums {
            return None;
        }
        self.at = self.text.len() - rest.len() + found.text().len();
        Some(found)
    }

    fn sum(&mut self) -> Option<Expr> {
        self.chain(true)
    }

    /// Parses operands of one precedence, from the left; an operator without operand is none.
    fn chain(&mut self, sums: bool) -> Option<Expr> {
        let operand = |parser: &mut Self| match sums {
            true => parser.chain(false),
            false => parser.atom(),
        };
        let mut left = operand(self)?;
        loop {
            let before = self.at;
            let Some(operator) = self.operator(sums) else { return Some(left) };
            let Some(right) = operand(self) else {
                self.at = before;
                return Some(left);
            };
            left = Expr::Binary(Box::new(left), operator, Box::new(right));
        }
    }

    fn atom(&mut self) -> Option<Expr> {
        let begin = self.at;
        let rest = self.text[begin..].trim_start_matches([' ', '\t']);
        let start = self.text.len() - rest.len();
        if rest.starts_with('(') {
            self.depth += 1;
            self.at = start + 1;
            let inner = if self.depth > MAX_DEPTH { None } else { self.sum() };
            self.depth -= 1;
            let closed = self.text[self.at..].trim_start_matches([' ', '\t']);
            if inner.is_none() || !closed.starts_with(')') {
                self.at = begin;
                return None;
            }
            self.at = self.text.len() - closed.len() + 1;
            return inner;
        }
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word = &rest[..rest.find(|c| !part(c)).unwrap_or(rest.len())];
        let expr = match word.parse() {
            Ok(number) => Expr::Number(number),
            Err(_) if is_name(word) => Expr::Name(word.to_owned()),
            Err(_) => return None,
        };
        self.at = start + word.len();
        Some(expr)
    }
}

/// Returns whether a text can name something.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_reads_as_it_prints() {
        let symbols: Symbols =
            [("h", 9), ("k", 3), ("s", 2)].map(|(name, value)| (name.to_owned(), value)).into();
        for (text, value) in [
            ("7", 7),
            ("h", 9),
            ("2*h", 18),
            ("h + 2", 11),
            ("(h - k)//s + 1", 4),
            ("h - (k - s)", 8),
            ("h - k - s", 4),
            ("h*(k + s)", 45),
            ("h//(k*s)", 1),
            ("h//k//s", 1),
        ] {
            let expr = Expr::parse(text).unwrap();
            assert_eq!((expr.to_string(), expr.value(&symbols)), (text.to_owned(), Some(value)));
        }
        assert_eq!(Expr::parse("h//(k - 3)").unwrap().value(&symbols), None);
        let part = Expr::parse("(h - k)//s + 1").unwrap().with(&[("k".to_owned(), 3)].into());
        assert_eq!((part.to_string().as_str(), part.value(&symbols)), ("(h - 3)//s + 1", Some(4)));
        for text in ["", "h +", "h h", "2h", "(h", "h % 2", "1.5"] {
            assert_eq!(Expr::parse(text), None, "{text}");
        }
        assert_eq!(Expr::parse_prefix("h, 2").unwrap().1, 1);
    }
}
