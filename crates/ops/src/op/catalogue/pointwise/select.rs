//! Choices between values: exact.

use super::{
    super::super::{
        Role,
        def::{self, OpBuilder},
        families::pointwise::{Map, Output, Pointwise, Takes},
        formulas::select as of,
    },
    BROADCAST, EXTREMES, PROMOTED,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let rows = [limits(), chosen(), masks()].into_iter().flatten();
    rows.map(|row| row.exact()).collect()
}

fn limits() -> Vec<OpBuilder> {
    let limit = |scalars, map| Pointwise {
        scalars,
        output: Output::Promoted,
        ..Pointwise::choice(Map::Call(map))
    };
    let clamp = |signature: &str, engine: Pointwise, text: &str, specials: &str| {
        let text = format!(
            "{text} The limits are numbers. Integers with a fractional limit give f32, else integers \
            stay.\nThe result is exact, limits being rounded to the dtype. {specials}"
        );
        OpBuilder::new(signature, engine, &text)
            .dtypes(def::NUMBERS)
            .outputs(&["the limited tensor"])
    };
    vec![
        clamp(
            "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
            limit(&["min", "max"], of::clamp),
            "out[i] = min(max(self[i], min), max); one that is None is no limit, and one at least is \
            given.",
            "NaN gives NaN. Where min exceeds max, max wins. A limit of NaN makes everything NaN where \
            both are given, and is no limit where it is alone.",
        )
        .alias(&["clip"]),
        clamp(
            "clamp_min(Tensor self, Scalar min) -> Tensor",
            limit(&["min"], of::clamp_min),
            "out[i] = max(self[i], min).",
            "NaN on either side gives NaN.",
        ),
        clamp(
            "clamp_max(Tensor self, Scalar max) -> Tensor",
            limit(&["max"], of::clamp_max),
            "out[i] = min(self[i], max).",
            "NaN on either side gives NaN.",
        ),
        OpBuilder::new(
            "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
            Pointwise {
                tensors: &["self", "min", "max"],
                ..Pointwise::binary(2.0, Map::Call(of::clamp_tensors))
            },
            &format!(
                "out = min(max(self, min), max), elementwise; one that is None is no limit, and one at \
                least is given. {BROADCAST} {PROMOTED}\nThe result is exact. NaN in any of the three \
                gives NaN; where min exceeds max, max wins."
            ),
        )
        .name("clamp.Tensor")
        .alias(&["clip.Tensor"])
        .role("min", Role::Main)
        .role("max", Role::Main)
        .dtypes(def::NUMBERS)
        .outputs(&["the limited tensor"]),
        OpBuilder::new(
            "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> \
            Tensor",
            Pointwise::choice(Map::Call(of::nan_to_num)),
            "out[i] = nan where self[i] is NaN, posinf where it is +Inf, neginf where it is -Inf, else \
            self[i]. None counts as 0 for nan, as the largest and smallest finite value of the dtype \
            for the others. Shape and dtype are those of self; integers and bool stay as they are.\n\
            The result is exact, replacements being rounded to the dtype (Inf where they are beyond \
            its range).",
        )
        .dtypes(def::ALL)
        .outputs(&["the finite tensor"]),
    ]
}

fn chosen() -> Vec<OpBuilder> {
    let larger = |name: &str, map: fn(f64, f64) -> f64, word: &str| {
        OpBuilder::new(
            &format!("{name}(Tensor self, Tensor other) -> Tensor"),
            Pointwise::binary(1.0, Map::Two(map)),
            &format!(
                "out = the {word} of self and other, elementwise. {BROADCAST} {PROMOTED}\n\
                The result is exact. NaN in either gives NaN (fmaxf and fminf are wrong here); of 0 \
                and -0 either may be returned."
            ),
        )
        .role("other", Role::Main)
        .edges("self", EXTREMES)
        .edges("other", EXTREMES)
        .dtypes(def::ALL)
        .outputs(&["the chosen values"])
    };
    let number = |name: &str, map: fn(f64, f64) -> f64, word: &str| {
        OpBuilder::new(
            &format!("{name}(Tensor self, Tensor other) -> Tensor"),
            Pointwise::binary(1.0, Map::Two(map)),
            &format!(
                "out = the {word} of self and other, elementwise. {BROADCAST} {PROMOTED}\n\
                The result is exact. Where one is NaN the other is taken; two NaN give NaN; of 0 and -0 \
                either may be returned."
            ),
        )
        .role("other", Role::Main)
        .edges("self", EXTREMES)
        .edges("other", EXTREMES)
        .dtypes(def::ALL)
        .outputs(&["the chosen values"])
    };
    vec![
        larger("maximum", of::maximum, "larger"),
        larger("minimum", of::minimum, "smaller"),
        number("fmax", f64::max, "larger"),
        number("fmin", f64::min, "smaller"),
        OpBuilder::new(
            "heaviside(Tensor self, Tensor values) -> Tensor",
            Pointwise {
                tensors: &["self", "values"],
                takes: Takes::Same,
                ..Pointwise::binary(1.0, Map::Two(of::heaviside))
            },
            &format!(
                "out = values where self is 0, of either sign, 1 where it is positive, else 0. {BROADCAST} \
                Both tensors have one dtype, which is the output's.\nThe result is exact. A NaN in self \
                gives 0; NaN and infinities in values are copied."
            ),
        )
        .role("self", Role::Main)
        .role("values", Role::Main)
        .dtypes(def::ALL)
        .outputs(&["the steps"]),
    ]
}

fn masks() -> Vec<OpBuilder> {
    let fill = |map, tensors| Pointwise {
        tensors,
        mask: Some("mask"),
        ..Pointwise::choice(Map::Call(map))
    };
    let filled = format!(
        "out = value where mask is true, else self, in the dtype of self, to which value is \
        converted (for integers its fraction is cut off). {BROADCAST} The output has the shape that \
        self and mask broadcast to.\n\
        The result is exact. NaN and infinities are copied like any other value."
    );
    vec![
        OpBuilder::new(
            "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
            Pointwise {
                tensors: &["condition", "self", "other"],
                mask: Some("condition"),
                ..Pointwise::binary(1.0, Map::Call(of::choose))
            },
            &format!(
                "out = self where condition is true, else other, elementwise. \
                {BROADCAST} {PROMOTED} condition does not count in this.\n\
                The result is exact. NaN, infinities and -0 are copied like any other value, and what \
                is not chosen has no effect."
            ),
        )
        .role("condition", Role::Mask)
        .role("self", Role::Main)
        .role("other", Role::Main)
        .dtypes(def::ALL)
        .signed_zero()
        .outputs(&["the chosen values"]),
        OpBuilder::new(
            "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
            fill(of::fill_number, &["self", "mask"]),
            &filled,
        )
        .name("masked_fill.Scalar")
        .alias(&["masked_fill"])
        .role("mask", Role::Mask)
        .dtypes(def::ALL)
        .signed_zero()
        .outputs(&["the filled tensor"]),
        OpBuilder::new(
            "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
            fill(of::fill_tensor, &["self", "mask", "value"]),
            &format!("{filled} value is a 0-dim tensor of any dtype."),
        )
        .name("masked_fill.Tensor")
        .role("mask", Role::Mask)
        .role("value", Role::Second)
        .dtypes(def::ALL)
        .signed_zero()
        .outputs(&["the filled tensor"]),
    ]
}
