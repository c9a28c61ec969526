//! Special functions: of the gamma, error and Bessel kind, and of the normal distribution.

use super::{
    super::super::{
        Role,
        def::OpBuilder,
        families::pointwise::{Map, Pointwise},
        formulas::{floor_scale, special as of},
    },
    ROUNDED, TO_F32, of_self,
};
use crate::record::DType;

/// A function of one element; f32 stands in for integers.
fn function(name: &str, engine: Pointwise, formula: &str, specials: &str) -> OpBuilder {
    let text = format!("out[i] = {formula} with x = self[i], {ROUNDED}. {TO_F32}\n{specials}");
    OpBuilder::new(&of_self(name), engine, &text).outputs(&["the results"])
}

/// An engine whose results may underflow.
const fn vanishing(map: fn(f64) -> f64) -> Pointwise {
    Pointwise { magnitude: Some(Map::One(floor_scale)), ..scaled(map) }
}

const fn scaled(map: fn(f64) -> f64) -> Pointwise {
    Pointwise { large: (30.0, 30.0), ..Pointwise::unary(8.0, Map::One(map)) }
}

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [gamma(), bessel(), error_functions()].into_iter().flatten().collect()
}

fn gamma() -> Vec<OpBuilder> {
    let unary = |map, scale| Pointwise {
        magnitude: Some(Map::One(scale)),
        ..Pointwise::unary(8.0, Map::One(map))
    };
    vec![
        function(
            "lgamma",
            unary(of::lgamma, of::lgamma_scale),
            "log(|gamma(x)|)",
            "Use lgammaf. 0 and negative whole numbers give Inf, infinities Inf, NaN gives NaN. For \
            negative x the error is judged on the scale of what the reflection subtracts.",
        )
        .role("self", Role::Between(-6.0, 12.0))
        .alias(&["special_gammaln"]),
        function(
            "digamma",
            unary(of::digamma, of::digamma_scale),
            "the derivative of log(gamma) at x",
            "From x + 1 by psi(x) = psi(x + 1) - 1 / x until the asymptotic series holds; for negative x \
            psi(1 - x) - pi / tan(pi * x). The error is judged on the scale of these terms. 0 gives \
            -Inf, -0 Inf, negative whole numbers and -Inf NaN, Inf gives Inf.",
        )
        .role("self", Role::Between(-6.0, 12.0))
        .alias(&["special_digamma", "special_psi"]),
    ]
}

/// Slack of the Bessel functions in f32: terms of the Chebyshev series that PyTorch has (Cephes)
/// cancel, and its own kernels exceed the bound by up to 3.3 (docs/measurements/2026-11-26-operators.md).
const SERIES_SLACK: f64 = 4.0;

fn bessel() -> Vec<OpBuilder> {
    let text = |order: u32, scaled: &str| {
        format!(
            "{scaled}I{order}(x), the modified Bessel function of the first kind of order {order}"
        )
    };
    let range = Role::Between(-12.0, 12.0);
    vec![
        function(
            "i0",
            scaled(of::i0),
            &text(0, ""),
            "NaN and infinities give NaN, results beyond the range are Inf.",
        )
        .role("self", range)
        .slack(DType::F32, SERIES_SLACK)
        .alias(&["special_i0"]),
        function(
            "special_i0e",
            Pointwise { large: (1e3, 1e15), ..scaled(of::i0e) },
            &text(0, "exp(-|x|) * "),
            "NaN gives NaN, infinities give 0. Neither factor may overflow before the product.",
        )
        .role("self", range)
        .slack(DType::F32, SERIES_SLACK),
        function(
            "special_i1",
            scaled(of::i1),
            &text(1, ""),
            "An odd function. NaN and infinities give NaN, results beyond the range are infinite.",
        )
        .role("self", range)
        .slack(DType::F32, SERIES_SLACK),
        function(
            "special_i1e",
            Pointwise { large: (1e3, 1e15), ..vanishing(of::i1e) },
            &text(1, "exp(-|x|) * "),
            "An odd function. NaN gives NaN, infinities give 0 of either sign. Neither factor may \
            overflow before the product.",
        )
        .role("self", range)
        .slack(DType::F32, SERIES_SLACK),
    ]
}

fn error_functions() -> Vec<OpBuilder> {
    vec![
        function(
            "erfinv",
            Pointwise::unary(8.0, Map::One(of::erfinv)),
            "the inverse of erf at x",
            "Use erfinvf. 1 gives Inf, -1 -Inf, NaN and |x| > 1 give NaN.",
        )
        .role("self", Role::Between(-1.0, 1.0))
        .alias(&["special_erfinv"]),
        function(
            "special_ndtr",
            vanishing(of::ndtr),
            "erfc(-x / sqrt(2)) / 2, the distribution function of the standard normal distribution",
            "Use normcdff: 1 + erf loses all digits for negative x. NaN gives NaN, -Inf gives 0, Inf 1.",
        ),
        function(
            "special_entr",
            Pointwise::unary(2.0, Map::One(of::entr)),
            "-x * log(x), 0 where x is 0 and -Inf where it is negative",
            "NaN gives NaN, Inf gives -Inf.",
        )
        .role("self", Role::Positive),
    ]
}
