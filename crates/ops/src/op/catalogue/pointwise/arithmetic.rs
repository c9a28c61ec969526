//! Arithmetic of two tensors, or of a tensor and a number.

use std::f64::consts::LN_2;

use super::{
    super::super::{
        Role,
        def::{self, OpBuilder},
        families::pointwise::{Map, Output, Pointwise, Takes},
        formulas::{arithmetic as of, floor_scale},
    },
    BROADCAST, EXTREMES, PROMOTED, ROUNDED, floats,
    ulps::max_ulps,
};
use crate::record::{DType, Gen, List};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [
        sums(),
        products(),
        quotients(),
        remainders(),
        powers(),
        angles(),
        logarithms(),
        whole(),
        fused(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Multiples of the divisors that the distribution of edges has.
const MULTIPLES: Gen = Gen::Listed { list: List::Multiples };

const IEEE: &str = "NaN and infinities follow IEEE arithmetic.";

fn two(signature: &str, engine: Pointwise, formula: &str, specials: &str) -> OpBuilder {
    let text = format!("{formula}, elementwise, {ROUNDED}. {BROADCAST} {PROMOTED}\n{specials}");
    OpBuilder::new(signature, engine, &text)
        .role("other", Role::Main)
        .dtypes(def::NUMBERS)
        .outputs(&["the results"])
}

fn with_number(signature: &str, engine: Pointwise, formula: &str, specials: &str) -> OpBuilder {
    let text = format!(
        "{formula}, {ROUNDED}. The shape is that of self. Numbers are passed as numbers, never as \
        tensors, and keep their f32 value in f16 and bf16. {PROMOTED}\n{specials}"
    );
    OpBuilder::new(signature, engine, &text).dtypes(def::NUMBERS).outputs(&["the results"])
}

/// An engine of a tensor and the number `other`.
const fn number(map: Map) -> Pointwise {
    Pointwise {
        scalars: &["other"],
        output: Output::Promoted,
        integers_stay: true,
        ..Pointwise::unary(2.0, map)
    }
}

fn sums() -> Vec<OpBuilder> {
    let sum = format!(
        "{IEEE} Inf + (-Inf) is NaN. The sign of a zero result is free. Integers wrap, and take no \
        fractions as alpha; bool is `or`."
    );
    let difference = format!(
        "{IEEE} Inf - Inf is NaN. The sign of a zero result is free. Integers wrap, and take no \
        fractions as alpha; bool is not taken."
    );
    vec![
        two(
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            Pointwise::binary(2.0, Map::Call(of::add)),
            "out = self + alpha * other, alpha being a number",
            &sum,
        )
        .edges("self", EXTREMES)
        .edges("other", EXTREMES),
        with_number(
            "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
            number(Map::Call(of::add_scalar)),
            "out = self + alpha * other",
            &sum,
        )
        .name("add.Scalar"),
        two(
            "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            Pointwise::binary(2.0, Map::Call(of::sub)),
            "out = self - alpha * other, alpha being a number",
            &difference,
        )
        .alias(&["subtract"])
        .edges("self", EXTREMES)
        .edges("other", EXTREMES),
        with_number(
            "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
            number(Map::Call(of::sub_scalar)),
            "out = self - alpha * other",
            &difference,
        )
        .name("sub.Scalar"),
        with_number(
            "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
            number(Map::Call(of::rsub_scalar)),
            "out = other - alpha * self",
            &difference,
        )
        .name("rsub.Scalar")
        .alias(&["rsub"]),
    ]
}

fn products() -> Vec<OpBuilder> {
    let specials = format!(
        "{IEEE} Inf * 0 is NaN. The sign of a zero result is free. Integers wrap; bool is `and`."
    );
    let large = (50.0, 1e15);
    vec![
        two(
            "mul.Tensor(Tensor self, Tensor other) -> Tensor",
            Pointwise { large, degree: 2, ..Pointwise::binary(1.0, Map::Two(of::mul)) },
            "out = self * other",
            &specials,
        )
        .ulps(max_ulps("mul"))
        .alias(&["multiply"]),
        with_number(
            "mul.Scalar(Tensor self, Scalar other) -> Tensor",
            Pointwise { large, ..number(Map::Call(of::mul_scalar)) },
            "out = self * other",
            &specials,
        )
        .name("mul.Scalar"),
    ]
}

fn quotients() -> Vec<OpBuilder> {
    let specials = format!(
        "Integers and bool are converted to f32 and give f32. {IEEE} x / 0 is Inf with the sign of \
        the quotient, 0 / 0 and Inf / Inf are NaN."
    );
    let whole = "Integers give integers, exactly; an integer divisor is never 0 and bool is not \
        taken. Floating-point division by 0 gives Inf or NaN, as x / 0 does; NaN gives NaN.";
    let true_division = Pointwise {
        output: Output::Float,
        integers_stay: false,
        ..Pointwise::binary(1.0, Map::Two(of::div))
    };
    vec![
        two("div.Tensor(Tensor self, Tensor other) -> Tensor", true_division, "out = self / other", &specials)
            .ulps(max_ulps("div"))
            .role("other", Role::Divisor)
            .alias(&["divide", "divide.Tensor", "true_divide", "true_divide.Tensor"]),
        with_number(
            "div.Scalar(Tensor self, Scalar other) -> Tensor",
            Pointwise {
                output: Output::Float,
                integers_stay: false,
                ..number(Map::Call(of::div_scalar))
            },
            "out = self / other",
            &specials,
        )
        // torch multiplies by the reciprocal, which is rounded, of a number that is.
        .ulps(2.0)
        .name("div.Scalar"),
        two(
            "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
            Pointwise {
                map: Map::Call(of::div_mode),
                output: Output::FloatWithout("rounding_mode"),
                divisor: Some("other"),
                flops: 3.0,
                ..true_division
            },
            "out = self / other where rounding_mode is None (integers then give f32); that quotient \
            without its fraction where it is \"trunc\"; the largest whole number that does not exceed \
            it where it is \"floor\"",
            &format!(
                "The plan sees the string. {whole} Inf has no floor: \"floor\" gives NaN where self is \
                infinite."
            ),
        )
        .name("div.Tensor_mode")
        .choices("rounding_mode", &["trunc", "floor"])
        .role("other", Role::Divisor)
        .edges("self", MULTIPLES),
        two(
            "floor_divide(Tensor self, Tensor other) -> Tensor",
            Pointwise {
                takes: Takes::Numbers,
                divisor: Some("other"),
                ..Pointwise::binary(3.0, Map::Call(of::floor_divide))
            },
            "out = the largest whole number that does not exceed the exact quotient self / other",
            &format!(
                "Floating-point: from r = fmod(self, other), (self - r) / other, less 1 where r is \
                not 0 and its sign is not that of other. {whole} An infinite self gives NaN."
            ),
        )
        .alias(&["floor_divide.Tensor"])
        .role("other", Role::Divisor)
        .edges("self", MULTIPLES),
    ]
}

fn remainders() -> Vec<OpBuilder> {
    let engine = |map| Pointwise {
        takes: Takes::Numbers,
        divisor: Some("other"),
        ..Pointwise::binary(1.0, Map::Two(map))
    };
    let specials = "The result is exact (fmodf is; self - n * other is not). Floating-point: x by 0 \
        and Inf by anything give NaN, NaN gives NaN.";
    let integers = "An integer divisor is never 0; bool is not taken.";
    vec![
        two(
            "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
            engine(of::fmod),
            "out = self - n * other with n the quotient without its fraction, so that the result has \
            the sign of self",
            &format!("{specials} A finite x by Inf is x. {integers}"),
        )
        .role("other", Role::Divisor)
        .edges("self", MULTIPLES)
        .exact(),
        two(
            "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
            engine(of::remainder),
            "out = self - n * other with n the floor of the quotient, so that the result has the sign \
            of other: r = fmod(self, other), plus other where r is not 0 and has another sign",
            &format!(
                "{specials} A finite x by an infinite divisor is x where their signs agree, else the \
                divisor. {integers}"
            ),
        )
        .role("other", Role::Divisor)
        .edges("self", MULTIPLES)
        .exact(),
    ]
}

fn powers() -> Vec<OpBuilder> {
    let specials = "Floating-point: as C's pow: x^0 and 1^y are 1 (NaN included), a negative base \
        with a fractional exponent gives NaN, 0 to a negative power gives Inf; NaN else gives NaN. \
        Integers are exact and wrap";
    vec![
        OpBuilder::new(
            "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
            Pointwise {
                tensors: &["self", "exponent"],
                takes: Takes::Numbers,
                magnitude: Some(Map::Two(|_, _| floor_scale(0.0))),
                integers_stay: false,
                large: (10.0, 10.0),
                ..Pointwise::binary(2.0, Map::Call(of::pow))
            },
            &format!(
                "out = self to the power of exponent, elementwise, {ROUNDED}. {BROADCAST} \
                {PROMOTED}\n{specials}: a negative exponent gives 0, but 1 and -1 keep their \
                magnitude. Bool with bool is not taken."
            ),
        )
        .ulps(max_ulps("pow"))
        .alias(&["pow.Tensor"])
        .role("self", Role::Positive)
        .role("exponent", Role::Exponent)
        .dtypes(def::NUMBERS)
        .outputs(&["the powers"]),
        with_number(
            "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
            Pointwise {
                scalars: &["exponent"],
                magnitude: Some(Map::One(floor_scale)),
                integers_stay: false,
                large: (10.0, 1e5),
                ..number(Map::Call(of::pow_scalar))
            },
            "out[i] = self[i] to the power of exponent",
            &format!(
                "{specials}, and take no negative integers as exponent. An exponent of 0.5 is the \
                square root: -Inf gives NaN."
            ),
        )
        .name("pow.Tensor_Scalar"),
    ]
}

fn angles() -> Vec<OpBuilder> {
    let float = |map| Pointwise {
        output: Output::Float,
        integers_stay: false,
        ..Pointwise::binary(1.0, Map::Two(map))
    };
    vec![
        two(
            "atan2(Tensor self, Tensor other) -> Tensor",
            float(f64::atan2),
            "out = the angle of the point (x = other, y = self), in radians from -pi to pi",
            "Integers and bool are converted to f32 and give f32. Signs of zeros count: (0, -0) is pi; \
            infinities give multiples of pi / 4; NaN gives NaN.",
        )
        .ulps(max_ulps("atan2"))
        .alias(&["arctan2"]),
        two(
            "hypot(Tensor self, Tensor other) -> Tensor",
            Pointwise { takes: Takes::Floats, ..Pointwise::binary(3.0, Map::Two(f64::hypot)) },
            "out = sqrt(self^2 + other^2)",
            "Floating-point types only. The squares must not overflow or underflow: use hypotf. An \
            infinity in either gives +Inf, NaN otherwise gives NaN.",
        )
        .ulps(max_ulps("hypot"))
        .dtypes(def::FLOATS),
        two(
            "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
            float(f64::copysign),
            "out = |self| with the sign of other",
            "Integers and bool are converted to f32 and give f32. The result is exact. The sign of a \
            zero counts, in other and in the result; infinities keep their magnitude, NaN gives NaN.",
        )
        .exact()
        .signed_zero(),
    ]
}

fn logarithms() -> Vec<OpBuilder> {
    let sum = |x: f64, y: f64| {
        let gap = (x - y).abs();
        let alike = gap.is_nan() && !x.is_nan() && !y.is_nan();
        if alike { x } else { x.max(y) + (-gap).exp2().ln_1p() / LN_2 }
    };
    let natural = |x: f64, y: f64| {
        let gap = (x - y).abs();
        let alike = gap.is_nan() && !x.is_nan() && !y.is_nan();
        if alike { x } else { x.max(y) + (-gap).exp().ln_1p() }
    };
    let shifted = |x: f64, y: f64| {
        if x == 0.0 && !y.is_nan() { 0.0 } else { x * y.ln_1p() }
    };
    let product = |x: f64, y: f64| {
        if x == 0.0 && !y.is_nan() { 0.0 } else { x * y.ln() }
    };
    vec![
        two(
            "logaddexp2(Tensor self, Tensor other) -> Tensor",
            Pointwise { takes: Takes::Floats, ..Pointwise::binary(4.0, Map::Two(sum)) },
            "out = log2(2^self + 2^other), computed as m + log2(1 + 2^-|self - other|) with m the \
            larger one: inputs reach 1e4 and more",
            "Floating-point types only. NaN in either gives NaN, +Inf in either (without NaN) +Inf, \
            -Inf in one the other; two infinities of one sign give that infinity.",
        )
        .dtypes(def::FLOATS),
        two(
            "logaddexp(Tensor self, Tensor other) -> Tensor",
            Pointwise { takes: Takes::Floats, ..Pointwise::binary(4.0, Map::Two(natural)) },
            "out = log(e^self + e^other), computed as m + log(1 + e^-|self - other|) with m the larger \
            one: inputs reach 1e4 and more",
            "Floating-point types only. NaN in either gives NaN, +Inf in either (without NaN) +Inf, \
            -Inf in one the other; two infinities of one sign give that infinity.",
        )
        .dtypes(def::FLOATS),
        two(
            "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
            Pointwise {
                output: Output::Float,
                integers_stay: false,
                ..Pointwise::binary(2.0, Map::Two(product))
            },
            "out = self * log(other), to the base e, and 0 where self is 0",
            "Integers and bool are converted to f32 and give f32. NaN in other gives NaN, also where \
            self is 0; 0 by any other value, negative ones and infinities too, gives 0. Else negative \
            numbers in other give NaN and 0 of either sign -Inf times self.",
        )
        .role("other", Role::Positive)
        .alias(&["special_xlogy"]),
        two(
            "special_xlog1py(Tensor self, Tensor other) -> Tensor",
            Pointwise {
                output: Output::Float,
                integers_stay: false,
                ..Pointwise::binary(2.0, Map::Two(shifted))
            },
            "out = self * log(1 + other), to the base e, and 0 where self is 0",
            "Use log1pf: the plain sum loses the digits of other near 0. Integers and bool are converted to \
            f32 and give f32. NaN in other gives NaN, also where self is 0; 0 by any other value gives 0. \
            Else numbers below -1 in other give NaN and -1 gives -Inf times self.",
        )
        .role("other", Role::Between(-0.98, 6.0)),
    ]
}

fn whole() -> Vec<OpBuilder> {
    vec![
        two(
            "gcd(Tensor self, Tensor other) -> Tensor",
            Pointwise { takes: Takes::Integers, ..Pointwise::binary(8.0, Map::Two(of::gcd)) },
            "out = the greatest common divisor of self and other, |self| where other is 0 and |other| where \
            self is",
            "Integers only. The result is exact and not negative.",
        )
        .dtypes(&[DType::I64, DType::I32])
        .exact(),
        OpBuilder::new(
            "nextafter(Tensor self, Tensor other) -> Tensor",
            Pointwise { takes: Takes::SameFloats, ..floats(1.0, Map::Call(of::next_after)).of_two() },
            &format!(
                "out = the number of the dtype next to self towards other, other where they are equal. Both \
                tensors have one dtype, f64, f32, f16 or bf16, which is the output's. {BROADCAST}\nThe result is \
                exact, subnormal numbers too. NaN in either gives NaN; beyond the largest number is Inf."
            ),
        )
        .role("other", Role::Main)
        .edges("self", EXTREMES)
        .edges("other", EXTREMES)
        .exact()
        .outputs(&["the next numbers"]),
    ]
}

fn fused() -> Vec<OpBuilder> {
    let three = |map| Pointwise {
        tensors: &["self", "tensor1", "tensor2"],
        output: Output::Promoted,
        takes: Takes::Numbers,
        large: (50.0, 1e15),
        ..Pointwise::unary(3.0, map)
    };
    let text = |formula: &str, specials: &str| {
        format!(
            "out = {formula}, elementwise, {ROUNDED}; value is a number. {BROADCAST} {PROMOTED}\n\
            {specials}"
        )
    };
    let lerp = format!(
        "out = self + weight * (end - self), elementwise, {ROUNDED}; where |weight| >= 0.5 from the \
        other end, end - (1 - weight) * (end - self), so that a weight of 1 gives end. All tensors \
        have one floating-point type. {BROADCAST}\n\
        {IEEE} An infinite end gives NaN where its weight is 0 or Inf - Inf arises."
    );
    let lerp_of =
        |tensors, map| Pointwise { tensors, takes: Takes::SameFloats, ..floats(3.0, map) };
    vec![
        OpBuilder::new(
            "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
            Pointwise { integers_stay: true, ..three(Map::Call(of::addcmul)) },
            &text(
                "self + value * tensor1 * tensor2",
                &format!(
                    "{IEEE} Integers wrap, and value is cut to a whole number for them; bool is not \
                    taken."
                ),
            ),
        )
        .role("tensor1", Role::Main)
        .role("tensor2", Role::Main)
        .dtypes(def::NUMBERS)
        .outputs(&["the sums"]),
        OpBuilder::new(
            "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
            three(Map::Call(of::addcdiv)),
            &text(
                "self + value * tensor1 / tensor2",
                &format!("{IEEE} tensor1 or tensor2 is of a floating-point type."),
            ),
        )
        .role("tensor1", Role::Main)
        .role("tensor2", Role::Divisor)
        .outputs(&["the sums"]),
        OpBuilder::new(
            "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
            lerp_of(&["self", "end"], Map::Call(of::lerp_scalar)),
            &lerp,
        )
        .name("lerp.Scalar")
        .alias(&["lerp"])
        .role("end", Role::Main)
        .edges("self", EXTREMES)
        .edges("end", EXTREMES)
        .outputs(&["the interpolation"]),
        OpBuilder::new(
            "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
            lerp_of(&["self", "end", "weight"], Map::Call(of::lerp_tensor)),
            &lerp,
        )
        .name("lerp.Tensor")
        .role("end", Role::Main)
        .role("weight", Role::Between(-0.25, 1.25))
        .edges("self", EXTREMES)
        .edges("end", EXTREMES)
        .edges("weight", Gen::Listed { list: List::Weights })
        .outputs(&["the interpolation"]),
    ]
}
