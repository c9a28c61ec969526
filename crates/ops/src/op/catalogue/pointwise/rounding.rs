//! Signs and whole numbers: exact functions of one element.

use super::{
    super::super::{
        def::{self, OpBuilder},
        families::pointwise::{Map, Output, Pointwise, Takes},
        formulas::math as of,
    },
    ROUNDED, of_self,
    ulps::max_ulps,
};
use crate::record::{Gen, List};

const HALVES: Gen = Gen::Listed { list: List::Halves };

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let sign = "out[i] = 1 where self[i] > 0, -1 where it is < 0, else 0. Shape and dtype are those \
        of self; bool gives itself.\nThe result is exact. NaN gives 0, zeros of either sign give 0, \
        infinities give 1 or -1.";
    vec![
        exact(
            "abs",
            f64::abs,
            "|self[i]|",
            "infinities give +Inf, -0 gives 0. The smallest integer of \
            a type gives itself",
        )
        .alias(&["absolute"])
        .signed_zero(),
        exact(
            "neg",
            of::negative,
            "-self[i]",
            "infinities and zeros change their sign. Unsigned and \
            smallest integers wrap",
        )
        .alias(&["negative"])
        .signed_zero(),
        OpBuilder::new(&of_self("sign"), Pointwise::choice(Map::One(of::sign)), sign)
            .dtypes(def::ALL)
            .exact()
            .outputs(&["the signs"]),
        OpBuilder::new(&of_self("sgn"), Pointwise::choice(Map::One(of::sign)), sign)
            .dtypes(def::ALL)
            .exact()
            .outputs(&["the signs"]),
        exact("floor", f64::floor, "the largest whole number <= self[i]", "infinities stay")
            .edges("self", HALVES),
        exact("ceil", f64::ceil, "the smallest whole number >= self[i]", "infinities stay")
            .edges("self", HALVES),
        exact("trunc", f64::trunc, "self[i] without its fraction (towards 0)", "infinities stay")
            .alias(&["fix"])
            .edges("self", HALVES),
        exact(
            "round",
            f64::round_ties_even,
            "the whole number nearest to self[i], the even one of two that are equally near (2.5 \
            gives 2, roundf is wrong here)",
            "infinities stay",
        )
        .alias(&["special_round"])
        .edges("self", HALVES),
        OpBuilder::new(
            &of_self("frac"),
            Pointwise { takes: Takes::Floats, ..Pointwise::choice(Map::One(of::frac)) },
            "out[i] = self[i] - trunc(self[i]), which has the sign of self[i]. Shape and dtype are \
            those of self; floating-point types only.\n\
            The result is exact. NaN and infinities give NaN.",
        )
        .exact()
        .outputs(&["the fractions"]),
        OpBuilder::new(
            &of_self("square"),
            Pointwise {
                output: Output::Number,
                large: (50.0, 1e15),
                degree: 2,
                ..Pointwise::choice(Map::One(of::square))
            },
            &format!(
                "out[i] = self[i] * self[i], {ROUNDED}, which is that of self. Integers are exact \
                and wrap; bool gives i64.\n\
                NaN gives NaN, infinities give +Inf, results beyond the range are Inf."
            ),
        )
        .dtypes(def::NUMBERS)
        .ulps(max_ulps("mul"))
        .outputs(&["the squares"]),
    ]
}

/// An exact function of numbers that keeps their type.
fn exact(name: &str, map: fn(f64) -> f64, formula: &str, specials: &str) -> OpBuilder {
    let engine = Pointwise { takes: Takes::Numbers, ..Pointwise::choice(Map::One(map)) };
    let text = format!(
        "out[i] = {formula}. Shape and dtype are those of self; bool is not taken.\n\
        The result is exact. NaN gives NaN, {specials}."
    );
    OpBuilder::new(&of_self(name), engine, &text)
        .dtypes(def::NUMBERS)
        .exact()
        .outputs(&["the results"])
}
