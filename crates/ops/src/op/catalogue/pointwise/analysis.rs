//! Functions of analysis: exponentials, logarithms, roots, angles.

use super::{
    super::super::{
        Role,
        def::OpBuilder,
        families::pointwise::{Map, Pointwise},
        formulas::{floor_scale, math as of},
    },
    ROUNDED, TO_F32, of_self,
    ulps::max_ulps,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [exponentials(), logarithms(), roots(), angles(), errors()].into_iter().flatten().collect()
}

/// A function of one element; f32 stands in for integers.
fn function(name: &str, map: fn(f64) -> f64, formula: &str, specials: &str) -> OpBuilder {
    engine(name, Pointwise::unary(1.0, Map::One(map)), formula, specials)
}

fn engine(name: &str, engine: Pointwise, formula: &str, specials: &str) -> OpBuilder {
    let text = format!("out[i] = {formula} with x = self[i], {ROUNDED}. {TO_F32}\n{specials}");
    OpBuilder::new(&of_self(name), engine, &text).ulps(max_ulps(name)).outputs(&["the results"])
}

/// A function of which large arguments are those near its overflow in f16.
fn exponential(map: fn(f64) -> f64) -> Pointwise {
    Pointwise { large: (30.0, 1e15), ..Pointwise::unary(1.0, Map::One(map)) }
}

fn exponentials() -> Vec<OpBuilder> {
    vec![
        engine(
            "exp",
            exponential(f64::exp),
            "exp(x)",
            "NaN gives NaN, +Inf gives +Inf, -Inf gives 0. Results beyond the range are Inf; results \
            below the smallest normal number are subnormal.",
        ),
        engine(
            "exp2",
            exponential(f64::exp2),
            "2^x",
            "NaN gives NaN, +Inf gives +Inf, -Inf gives 0. Results beyond the range are Inf; results \
            below the smallest normal number are subnormal.",
        )
        .alias(&["special_exp2"]),
        function(
            "expm1",
            f64::exp_m1,
            "exp(x) - 1",
            "Use expm1f: the plain difference loses the digits of x near 0. NaN gives NaN, +Inf gives \
            +Inf, -Inf gives -1.",
        )
        .alias(&["special_expm1"]),
    ]
}

fn logarithms() -> Vec<OpBuilder> {
    let specials =
        "NaN and negative numbers give NaN, 0 of either sign gives -Inf, +Inf gives +Inf.";
    vec![
        function("log", f64::ln, "log(x), to the base e", specials).role("self", Role::Positive),
        function("log2", f64::log2, "log2(x)", specials).role("self", Role::Positive),
        function("log10", f64::log10, "log10(x)", specials).role("self", Role::Positive),
        function(
            "log1p",
            f64::ln_1p,
            "log(1 + x)",
            "Use log1pf: the plain sum loses the digits of x near 0. NaN and x < -1 give NaN, -1 gives \
            -Inf, +Inf gives +Inf.",
        )
        .role("self", Role::Between(-0.98, 6.0))
        .alias(&["special_log1p"]),
        OpBuilder::new(
            "logit(Tensor self, float? eps=None) -> Tensor",
            Pointwise {
                magnitude: Some(Map::Call(of::logit_scale)),
                ..Pointwise::unary(4.0, Map::Call(of::logit))
            },
            &format!(
                "out[i] = log(z / (1 - z)), {ROUNDED}. {TO_F32} z is self[i] limited to \
                [eps, 1 - eps]; where eps is None it is self[i] itself.\n\
                NaN gives NaN. Without eps, 0 gives -Inf, 1 gives +Inf, what is outside of [0, 1] \
                gives NaN."
            ),
        )
        .role("self", Role::Between(0.0, 1.0))
        .alias(&["special_logit"])
        .outputs(&["the log-odds"]),
    ]
}

fn roots() -> Vec<OpBuilder> {
    vec![
        function(
            "sqrt",
            f64::sqrt,
            "the square root of x",
            "NaN and negative numbers give NaN, 0 gives 0 (-0 gives -0), +Inf gives +Inf.",
        )
        .role("self", Role::Positive),
        function(
            "rsqrt",
            of::rsqrt,
            "1 / sqrt(x)",
            "NaN and negative numbers give NaN, 0 gives +Inf, -0 gives -Inf, +Inf gives 0.",
        )
        .role("self", Role::Positive),
        function(
            "reciprocal",
            f64::recip,
            "1 / x",
            "NaN gives NaN, 0 gives Inf with the zero's sign, infinities give 0.",
        ),
    ]
}

fn angles() -> Vec<OpBuilder> {
    let periodic = "x is in radians and may be large: reduce it exactly (sinf, cosf and tanf do; \
        __sinf and its kin do not). NaN and infinities give NaN.";
    let turning = |name: &str, map: fn(f64) -> f64, formula: &str| {
        let unary = Pointwise { large: (1e3, 1e4), ..Pointwise::unary(1.0, Map::One(map)) };
        engine(name, unary, formula, periodic)
    };
    vec![
        turning("sin", f64::sin, "sin(x)"),
        turning("cos", f64::cos, "cos(x)"),
        turning("tan", f64::tan, "tan(x)"),
        function("asin", f64::asin, "arcsin(x)", "NaN and |x| > 1 give NaN, 1 gives pi / 2.")
            .role("self", Role::Between(-1.0, 1.0))
            .alias(&["arcsin"]),
        function(
            "atan",
            f64::atan,
            "arctan(x)",
            "NaN gives NaN, infinities give pi / 2 or -pi / 2.",
        )
        .alias(&["arctan"]),
        function(
            "tanh",
            f64::tanh,
            "tanh(x)",
            "NaN gives NaN, infinities give 1 or -1. tanh.approx is \
            not precise enough.",
        ),
    ]
}

fn errors() -> Vec<OpBuilder> {
    vec![
        function(
            "erf",
            libm::erf,
            "erf(x) = 2 / sqrt(pi) * the integral of exp(-t^2) from 0 to x",
            "NaN gives NaN, infinities give 1 or -1.",
        )
        .alias(&["special_erf"]),
        engine(
            "erfc",
            Pointwise { magnitude: Some(Map::One(floor_scale)), ..exponential(libm::erfc) },
            "erfc(x) = 1 - erf(x)",
            "Use erfcf: the plain difference loses all digits for large x. NaN gives NaN, +Inf gives \
            0, -Inf gives 2.",
        )
        .alias(&["special_erfc"]),
    ]
}
