//! Comparisons, truth values and bits: exact.

use super::{
    super::super::{
        Call, Role,
        def::{self, OpBuilder},
        families::pointwise::{Map, Output, Pointwise, Takes},
        formulas::{Bound, logic as of},
    },
    BROADCAST, EXTREMES, PROMOTED, of_self,
};
use crate::record::{DType, InputDistribution};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [predicates(), comparisons(), connectives(), bits()].into_iter().flatten().collect()
}

fn predicates() -> Vec<OpBuilder> {
    let predicate = |name: &str, map: fn(f64) -> f64, text: &str| {
        let main = if name == "logical_not" {
            InputDistribution::Ties
        } else {
            InputDistribution::Specials
        };
        let engine = Pointwise { output: Output::Bool, main, ..Pointwise::choice(Map::One(map)) };
        let text = format!("{text} The output is bool, of the shape of self.");
        OpBuilder::new(&of_self(name), engine, &text)
            .dtypes(def::ALL)
            .exact()
            .outputs(&["the truth values"])
    };
    vec![
        predicate(
            "isnan",
            of::is_nan,
            "out[i] = whether self[i] is NaN; integers and bool never are.",
        ),
        predicate(
            "isinf",
            of::is_inf,
            "out[i] = whether self[i] is +Inf or -Inf (not NaN); integers and bool never are.",
        ),
        predicate(
            "isfinite",
            of::is_finite,
            "out[i] = whether self[i] is neither NaN nor infinite; integers and bool always are.",
        ),
        predicate(
            "isposinf",
            of::is_pos_inf,
            "out[i] = whether self[i] is +Inf; integers and bool never are.",
        ),
        predicate(
            "isneginf",
            of::is_neg_inf,
            "out[i] = whether self[i] is -Inf; integers and bool never are.",
        ),
        predicate(
            "signbit",
            of::is_negative,
            "out[i] = whether the sign bit of self[i] is set: for -0 and -Inf it is, for 0 and NaN with \
            a plus sign it is not; integers are compared with 0, bool never is negative.",
        ),
        predicate(
            "logical_not",
            of::logical_not,
            "out[i] = whether self[i] is 0. -0 is 0; NaN and infinities are not.",
        ),
    ]
}

/// Name, other names, relation, comparison of two elements, comparison with a number.
type Comparison =
    (&'static str, &'static str, &'static str, fn(f64, f64) -> f64, fn(&Call<'_>, DType) -> Bound);

const COMPARISONS: [Comparison; 6] = [
    ("eq", "eq.Tensor_out", "==", of::eq, of::eq_scalar),
    ("ne", "not_equal", "!=", of::ne, of::ne_scalar),
    ("lt", "less", "<", of::lt, of::lt_scalar),
    ("le", "less_equal", "<=", of::le, of::le_scalar),
    ("gt", "greater", ">", of::gt, of::gt_scalar),
    ("ge", "greater_equal", ">=", of::ge, of::ge_scalar),
];

fn comparisons() -> Vec<OpBuilder> {
    let mut rows = vec![
        OpBuilder::new(
            "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) \
            -> Tensor",
            Pointwise {
                output: Output::Bool,
                takes: Takes::Same,
                main: InputDistribution::Ties,
                ..Pointwise::binary(4.0, Map::Call(of::is_close))
            },
            &format!(
                "out = whether |self - other| <= atol + |rtol * other|, elementwise; rtol and atol are not \
                negative. {BROADCAST} Both tensors have one dtype. The output is bool.\nEqual elements are \
                close, infinities of one sign too; with equal_nan two NaN are. Else NaN and infinities are \
                close to nothing."
            ),
        )
        .role("other", Role::Main)
        .edges("self", EXTREMES)
        .edges("other", EXTREMES),
    ];
    for (name, other_name, relation, compare, with_number) in COMPARISONS {
        let nan = if name == "ne" { "true" } else { "false" };
        let specials = format!(
            "The output is bool. Comparisons with NaN are {nan}, -0 equals 0, infinities are ordered \
            as numbers."
        );
        let text =
            format!("out = self {relation} other, elementwise. {BROADCAST} {PROMOTED}\n{specials}");
        let engine = Pointwise::binary(1.0, Map::Two(compare));
        let row = OpBuilder::new(
            &format!("{name}.Tensor(Tensor self, Tensor other) -> Tensor"),
            Pointwise { output: Output::Bool, main: InputDistribution::Ties, ..engine },
            &text,
        );
        rows.push(
            row.role("other", Role::Main)
                .edges("self", EXTREMES)
                .edges("other", EXTREMES)
                .alias(&[other_name, &format!("{other_name}.Tensor")]),
        );
        let text = format!(
            "out[i] = self[i] {relation} other, which is a number. {PROMOTED} The number is converted \
            to that type too: rounded to f16 or bf16 where self is.\n{specials}"
        );
        let engine = Pointwise::unary(1.0, Map::Call(with_number));
        let row = OpBuilder::new(
            &format!("{name}.Scalar(Tensor self, Scalar other) -> Tensor"),
            Pointwise {
                scalars: &["other"],
                output: Output::Bool,
                integers_stay: true,
                main: InputDistribution::Ties,
                ..engine
            },
            &text,
        );
        let scalar = format!("{other_name}.Scalar");
        rows.push(row.name(&format!("{name}.Scalar")).alias(&[&scalar]));
    }
    let finish = |row: OpBuilder| row.dtypes(def::ALL).exact().outputs(&["the truth values"]);
    rows.into_iter().map(finish).collect()
}

fn connectives() -> Vec<OpBuilder> {
    let connective = |name: &str, map: fn(f64, f64) -> f64, formula: &str| {
        let engine = Pointwise {
            output: Output::Bool,
            main: InputDistribution::Ties,
            ..Pointwise::binary(1.0, Map::Two(map))
        };
        let text = format!(
            "out = {formula}, elementwise, where everything but 0 counts as true. The output is bool. \
            {BROADCAST}\n-0 is false; NaN and infinities are true."
        );
        OpBuilder::new(&format!("{name}(Tensor self, Tensor other) -> Tensor"), engine, &text)
            .role("other", Role::Main)
            .dtypes(def::ALL)
            .exact()
            .outputs(&["the truth values"])
    };
    vec![
        connective("logical_and", of::logical_and, "self and other"),
        connective("logical_or", of::logical_or, "self or other"),
        connective("logical_xor", of::logical_xor, "either self or other, not both"),
    ]
}

fn bits() -> Vec<OpBuilder> {
    let specials = "Integers and bool only, so that NaN cannot occur; negative integers are in two's \
        complement, bool stays bool.";
    let finish = |row: OpBuilder| row.dtypes(def::INTEGRAL).exact().outputs(&["the bits"]);
    let two = |name: &str, map: fn(f64, f64) -> f64, word: &str| {
        let engine = Pointwise { takes: Takes::Integral, ..Pointwise::binary(1.0, Map::Two(map)) };
        let text = format!(
            "out = the bitwise {word} of self and other. {BROADCAST} {PROMOTED}\n{specials}"
        );
        let signature = format!("{name}.Tensor(Tensor self, Tensor other) -> Tensor");
        finish(OpBuilder::new(&signature, engine, &text).role("other", Role::Main))
    };
    let shift = |name: &str, map: fn(f64, f64) -> f64, word: &str| {
        let engine = Pointwise { takes: Takes::Integers, ..Pointwise::binary(1.0, Map::Two(map)) };
        let text = format!(
            "out = self {word}. {BROADCAST} {PROMOTED}\nIntegers only. A shift that is negative or not \
            less than the type's number of bits moves every bit out: the result is 0, or -1 where a \
            negative number is shifted right."
        );
        let signature = format!("{name}.Tensor(Tensor self, Tensor other) -> Tensor");
        finish(OpBuilder::new(&signature, engine, &text).role("other", Role::Exponent))
            .dtypes(&[DType::I64, DType::I32])
    };
    let not = Pointwise { takes: Takes::Integral, ..Pointwise::choice(Map::Call(of::bitwise_not)) };
    vec![
        finish(OpBuilder::new(
            &of_self("bitwise_not"),
            not,
            &format!(
                "out[i] = self[i] with every bit turned (-1 - self[i] for signed integers), for bool \
                its negation. Shape and dtype are those of self.\n{specials}"
            ),
        )),
        two("bitwise_and", of::bitwise_and, "and"),
        two("bitwise_or", of::bitwise_or, "or"),
        two("bitwise_xor", of::bitwise_xor, "exclusive or"),
        shift(
            "bitwise_left_shift",
            of::left_shift,
            "shifted left by other bits; the low bits become 0",
        )
        .alias(&["__lshift__.Tensor"]),
        shift(
            "bitwise_right_shift",
            of::right_shift,
            "shifted right by other bits, copies of the sign bit moving in",
        )
        .alias(&["__rshift__.Tensor"]),
    ]
}
