//! How the values of a tensor are made: `uniform(-0.5, 0.5)`, `integers(0, n)`.

use crate::{
    expr::{Expr, Symbols},
    record::{Gen, MatrixStructure},
};

/// The names of the functions with their arguments, for messages.
pub(super) const FORMS: &str = "uniform(low, high), uniform(low, high, upper), or lower or symmetric, sign(), normal(mean, std), fill(value), \
    bernoulli(p), integers(low, high), arange(start, step), tril(diagonal, inside, outside), \
    triu(diagonal, inside, outside), permutation()";

/// A distribution of values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Init {
    /// One that no extent changes.
    Fixed(Gen),
    /// Integers from the first to below the second.
    Integers(Expr, Expr),
}

impl Init {
    /// Parses one of [`FORMS`].
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.trim().split_once('(')?;
        let args: Vec<&str> = rest.strip_suffix(')')?.split(',').map(str::trim).collect();
        let value = |place: usize| args[place].parse::<f64>().ok();
        let number = |place: usize| value(place).filter(|x| x.is_finite());
        Some(Self::Fixed(match (name.trim(), args.len()) {
            ("uniform", 2) => Gen::Uniform { low: number(0)?, high: number(1)? },
            ("uniform", 3) => Gen::Matrix {
                low: number(0)?,
                high: number(1)?,
                rows: 1,
                structure: match args[2] {
                    "upper" => MatrixStructure::Upper,
                    "lower" => MatrixStructure::Lower,
                    "symmetric" => MatrixStructure::Symmetric,
                    _ => return None,
                },
            },
            ("sign", 1) if args[0].is_empty() => Gen::Sign,
            ("normal", 2) => Gen::Normal { mean: number(0)?, std: number(1)? },
            ("fill", 1) => Gen::Constant { value: value(0)? },
            ("bernoulli", 1) => Gen::Mask { p: number(0)? },
            ("arange", 2) => Gen::Arange { start: number(0)?, step: number(1)? },
            (name @ ("tril" | "triu"), 3) => Gen::Triangle {
                rows: 1,
                diagonal: args[0].parse().ok()?,
                lower: name == "tril",
                inside: value(1)?,
                outside: value(2)?,
            },
            ("permutation", 1) if args[0].is_empty() => Gen::Permutation,
            ("integers", 2) => {
                let bound = |text: &str| match text.parse() {
                    Ok(number) => Some(Expr::Number(number)),
                    Err(_) => Expr::parse(text),
                };
                return Some(Self::Integers(bound(args[0])?, bound(args[1])?));
            }
            _ => return None,
        }))
    }

    /// Returns whether the values depend on a seed.
    pub(super) fn is_random(&self) -> bool {
        !matches!(
            self,
            Self::Fixed(Gen::Constant { .. } | Gen::Arange { .. } | Gen::Triangle { .. })
        )
    }

    /// Returns values around a single finite one, and at most half of it or of 1 away: positive where it is
    /// positive and not small.
    pub(super) fn around(&self) -> Option<Gen> {
        match self {
            Self::Fixed(Gen::Constant { value }) if value.is_finite() => {
                let spread = 0.5 * value.abs().max(1.0);
                Some(Gen::Uniform { low: value - spread, high: value + spread })
            }
            Self::Fixed(_) | Self::Integers(..) => None,
        }
    }

    /// Returns the generator of a tensor of a shape, for values of the symbols.
    pub(super) fn generator(&self, symbols: &Symbols, shape: &[usize]) -> Gen {
        match self {
            Self::Fixed(Gen::Matrix { low, high, structure, .. }) => {
                let rows = shape.iter().rev().nth(1).copied().unwrap_or(1) as u64;
                Gen::Matrix { low: *low, high: *high, rows, structure: *structure }
            }
            Self::Fixed(Gen::Triangle { diagonal, lower, inside, outside, .. }) => {
                let rows = shape.iter().rev().nth(1).copied().unwrap_or(1) as u64;
                let (diagonal, lower) = (*diagonal, *lower);
                Gen::Triangle { rows, diagonal, lower, inside: *inside, outside: *outside }
            }
            Self::Fixed(generator) => *generator,
            Self::Integers(low, high) => {
                let low = low.value(symbols).unwrap_or(0);
                let last = high.value(symbols).map_or(low, |high| high.saturating_sub(1));
                Gen::Int { low, high: last.max(low) }
            }
        }
    }
}
