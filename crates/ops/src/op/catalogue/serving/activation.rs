//! Activations of vLLM.

use super::super::super::{
    Call, InferError, OpFamily,
    def::OpBuilder,
    families::{
        pointwise::{Map, Output, Pointwise, Takes},
        serving::gate::{Function, Gate},
    },
    formulas::{activation, floor_scale, magnitude},
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    plain().into_iter().chain(gated()).map(|row| row.family(OpFamily::Elementwise).own()).collect()
}

/// An activation of floating-point types on the scale of |x|.
fn of_self(name: &str, formula: fn(f64) -> f64, text: &str) -> OpBuilder {
    let engine = Pointwise {
        takes: Takes::Floats,
        output: Output::Promoted,
        magnitude: Some(Map::One(magnitude)),
        ..Pointwise::unary(5.0, Map::One(formula))
    };
    let text = format!(
        "With x = self[i]: out[i] = {text}, in f32, rounded once to the output's dtype, which is \
        that of self; floating-point types only. The error \
        is judged on the scale of |x|.\nNaN gives NaN, +Inf gives +Inf, -Inf gives NaN."
    );
    OpBuilder::new(&format!("{name}(Tensor self) -> Tensor"), engine, &text)
        .outputs(&["the activated tensor"])
}

fn plain() -> Vec<OpBuilder> {
    vec![
        of_self(
            "gelu_new",
            activation::gelu_tanh,
            "0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))",
        ),
        of_self(
            "gelu_fast",
            activation::gelu_tanh,
            "0.5 * x * (1 + tanh(x * 0.7978845608 * (1 + 0.044715 * x * x)))",
        ),
        of_self("gelu_quick", quick, "x / (1 + exp(-1.702 * x))").alias(&["quick_gelu"]),
    ]
}

fn quick(x: f64) -> f64 {
    x / (1.0 + (-1.702 * x).exp())
}

const fn gate(activation: fn(&Call<'_>) -> Result<Function, InferError>) -> Gate {
    Gate { activation, magnitude: floor_scale, first: true, chooses: false, quantised: false }
}

fn threshold(call: &Call<'_>) -> Result<Function, InferError> {
    let threshold = call.number("threshold")?;
    #[expect(clippy::cast_possible_truncation, reason = "the kernel gets it as f32")]
    let threshold = f64::from(threshold as f32);
    Ok(Box::new(move |x| if x > threshold { x } else { 0.0 }))
}

/// Returns silu as a gate.
pub(super) fn silu(_call: &Call<'_>) -> Result<Function, InferError> {
    Ok(Box::new(activation::silu))
}

fn gated() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "gelu_tanh_and_mul(Tensor self) -> Tensor",
            Gate { magnitude, ..gate(|_| Ok(Box::new(activation::gelu_tanh))) },
            "The last dimension of self, of even extent 2 d, is cut into gates g (the first d) and \
            factors u (the others): out = gelu(g) * u, of extent d, with gelu(g) = 0.5 * g * (1 + \
            tanh(sqrt(2 / pi) * (g + 0.044715 * g^3))), in f32, rounded once to the output's dtype. \
            The error is judged on the scale of |g * u|.\n\
            NaN gives NaN; a gate of +Inf is +Inf, one of -Inf NaN (-Inf * 0), times u by IEEE \
            arithmetic.",
        ),
        OpBuilder::new(
            "mul_and_silu(Tensor self) -> Tensor",
            Gate { first: false, ..gate(silu) },
            "As vLLM's: the last dimension of self, of even extent 2 d, is cut into factors u (the \
            first d) and gates g (the others): out = u * g / (1 + exp(-g)), of extent d, in f32, \
            rounded once to the output's dtype.\n\
            NaN gives NaN; a gate of +Inf is +Inf, one of -Inf NaN (-Inf / Inf), times u by IEEE \
            arithmetic.",
        ),
        OpBuilder::new(
            "fatrelu_and_mul(Tensor self, float threshold=0.) -> Tensor",
            Gate { chooses: true, ..gate(threshold) },
            "As vLLM's: the last dimension of self, of even extent 2 d, is cut into gates g (the \
            first d) and factors u (the others): out = (g if g > threshold else 0) * u, of extent d, \
            in f32, rounded once to the output's dtype. threshold is rounded to f32.\n\
            A gate of NaN is 0, as it is above nothing. 0 times an infinite or NaN u is NaN.",
        ),
    ]
    .into_iter()
    .map(|row| row.outputs(&["the gated tensor"]))
    .collect()
}
