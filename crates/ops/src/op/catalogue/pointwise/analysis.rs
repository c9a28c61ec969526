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
    let tables =
        [exponentials(), logarithms(), roots(), angles(), units(), hyperbolics(), errors()];
    tables.into_iter().flatten().collect()
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
        function("acos", f64::acos, "arccos(x)", "NaN and |x| > 1 give NaN, -1 gives pi.")
            .role("self", Role::Between(-1.0, 1.0))
            .alias(&["arccos"]),
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

/// Functions whose result is sensitive to a factor of pi that is rounded.
fn units() -> Vec<OpBuilder> {
    let row = |name: &str, unary: Pointwise, formula: &str, specials: &str| {
        let text = format!("out[i] = {formula} with x = self[i], {ROUNDED}. {TO_F32}\n{specials}");
        OpBuilder::new(&of_self(name), unary, &text).outputs(&["the results"])
    };
    let scaled = |map| Pointwise::unary(1.0, Map::One(map));
    vec![
        row(
            "sinc",
            // The product pi * x is rounded, by as much of its sine as of x.
            Pointwise {
                large: (1e3, 1e4),
                magnitude: Some(Map::One(|_| 1.0)),
                ..Pointwise::unary(3.0, Map::One(of::sinc))
            },
            "sin(pi * x) / (pi * x), and 1 where x is 0",
            "NaN and infinities give NaN.",
        )
        .alias(&["special_sinc"]),
        row("deg2rad", scaled(of::radians), "x * pi / 180", "NaN and infinities stay."),
        row("rad2deg", scaled(of::degrees), "x * 180 / pi", "NaN and infinities stay."),
        row(
            "angle",
            scaled(of::angle),
            "pi where x < 0, else 0",
            "The angle of a real number: NaN gives NaN, 0 of either sign 0, -Inf pi.",
        ),
    ]
}

fn hyperbolics() -> Vec<OpBuilder> {
    vec![
        engine(
            "sinh",
            exponential(libm::sinh),
            "(exp(x) - exp(-x)) / 2",
            "Use sinhf: the plain difference loses the digits of x near 0. NaN gives NaN, infinities \
            stay; results beyond the range are Inf.",
        ),
        engine(
            "cosh",
            exponential(libm::cosh),
            "(exp(x) + exp(-x)) / 2",
            "NaN gives NaN, infinities give +Inf, as do results beyond the range.",
        ),
        function(
            "asinh",
            libm::asinh,
            "arsinh(x) = log(x + sqrt(x^2 + 1))",
            "Use asinhf: the plain logarithm loses the digits of x near 0 and of negative x. NaN gives \
            NaN, infinities stay.",
        )
        .alias(&["arcsinh"]),
        function(
            "acosh",
            of::acosh,
            "arcosh(x) = log(x + sqrt(x^2 - 1))",
            "NaN and x < 1 give NaN, 1 gives 0, +Inf gives +Inf.",
        )
        .role("self", Role::Between(1.0, 20.0))
        .alias(&["arccosh"]),
        function(
            "atanh",
            libm::atanh,
            "artanh(x) = log((1 + x) / (1 - x)) / 2",
            "Use atanhf: the plain quotient loses the digits of x near 0. NaN and |x| > 1 give NaN, 1 \
            gives +Inf, -1 gives -Inf.",
        )
        .role("self", Role::Between(-0.99, 0.99))
        .alias(&["arctanh"]),
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
