//! Ops whose gradient is an op: the calls of the latter that make the former differentiable.

use std::fmt::Write as _;

use kgen_ops::op::{OpDef, Schema};

use super::literal::{string, tuple};

/// One call of a gradient's op.
///
/// Its arguments are the result's gradient (`grad_output` and the like), inputs of the forward op by their own
/// names, and the expressions in `rest`. These see `given`, the forward op's arguments by name, `outs`, its
/// outputs, and `needed`, the inputs whose gradient is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gradient {
    pub forward: &'static str,
    pub backward: &'static str,
    /// Inputs of the forward op that the outputs are the gradients of.
    pub inputs: &'static [&'static str],
    rest: &'static [(&'static str, &'static str)],
}

const fn gradient(
    forward: &'static str,
    backward: &'static str,
    inputs: &'static [&'static str],
    rest: &'static [(&'static str, &'static str)],
) -> Gradient {
    Gradient { forward, backward, inputs, rest }
}

/// Names that gradients' schemas have for the gradient of the first output.
const GRADS: [&str; 4] = ["grad_output", "grad_out", "grad", "grad_w"];

const X: &[&str] = &["self"];
/// The target of a loss of differences has the gradient of self with both in each other's place.
const TARGET: &[&str] = &["target"];
const SWAPPED: &[(&str, &str)] = &[("self", "given[\"target\"]"), ("target", "given[\"self\"]")];
const OUTPUT: (&str, &str) = ("output", "outs[0]");
const INPUT_DTYPE: (&str, &str) = ("input_dtype", "given[\"self\"].dtype");
const SIZES: (&str, &str) = ("input_sizes", "list(given[\"self\"].shape)");
const AFFINE: &[&str] = &["input", "weight", "bias"];
const MASK: (&str, &str) =
    ("output_mask", "[needed[name] for name in (\"input\", \"weight\", \"bias\")]");
const BIAS_SIZES: (&str, &str) =
    ("bias_sizes", "None if given[\"bias\"] is None else list(given[\"bias\"].shape)");
const STATISTICS: [(&str, &str); 2] = [("mean", "outs[1]"), ("rstd", "outs[2]")];
const CONV: &[(&str, &str)] = &[
    BIAS_SIZES,
    ("transposed", "False"),
    ("output_padding", "[0] * len(given[\"stride\"])"),
    MASK,
];

/// The pairs, after `tools/autograd/derivatives.yaml` of PyTorch.
const GRADIENTS: &[Gradient] = &[
    gradient("gelu", "gelu_backward", X, &[]),
    gradient(
        "elu",
        "elu_backward",
        X,
        &[("is_result", "False"), ("self_or_result", "given[\"self\"]")],
    ),
    gradient("hardsigmoid", "hardsigmoid_backward", X, &[]),
    gradient("hardswish", "hardswish_backward", X, &[]),
    gradient("hardtanh", "hardtanh_backward", X, &[]),
    gradient("leaky_relu", "leaky_relu_backward", X, &[("self_is_result", "False")]),
    gradient("mish", "mish_backward", X, &[]),
    gradient("silu", "silu_backward", X, &[]),
    gradient("softplus", "softplus_backward", X, &[]),
    gradient("relu", "threshold_backward", X, &[("threshold", "0")]),
    gradient("threshold", "threshold_backward", X, &[]),
    gradient("sigmoid", "sigmoid_backward", X, &[OUTPUT]),
    gradient("tanh", "tanh_backward", X, &[OUTPUT]),
    gradient("softmax", "softmax_backward_data", X, &[OUTPUT, INPUT_DTYPE]),
    gradient("log_softmax", "log_softmax_backward_data", X, &[OUTPUT, INPUT_DTYPE]),
    gradient("softshrink", "softshrink_backward", X, &[]),
    gradient("logit", "logit_backward", X, &[]),
    gradient("glu", "glu_backward", X, &[]),
    gradient("huber_loss", "huber_loss_backward", X, &[]),
    gradient("huber_loss", "huber_loss_backward", TARGET, SWAPPED),
    gradient("smooth_l1_loss", "smooth_l1_loss_backward", X, &[]),
    gradient("smooth_l1_loss", "smooth_l1_loss_backward", TARGET, SWAPPED),
    gradient("binary_cross_entropy", "binary_cross_entropy_backward", X, &[]),
    gradient("mse_loss", "mse_loss_backward", X, &[]),
    gradient("mse_loss", "mse_loss_backward", TARGET, SWAPPED),
    gradient("nll_loss", "nll_loss_backward", X, &[("total_weight", "outs[1]")]),
    gradient("nll_loss2d", "nll_loss2d_backward", X, &[("total_weight", "outs[1]")]),
    gradient(
        "_weight_norm_interface",
        "_weight_norm_interface_backward",
        &["v", "g"],
        &[("saved_v", "given[\"v\"]"), ("saved_g", "given[\"g\"]"), ("saved_norms", "outs[1]")],
    ),
    gradient(
        "_upsample_bicubic2d_aa",
        "_upsample_bicubic2d_aa_backward",
        X,
        &[("input_size", "list(given[\"self\"].shape)")],
    ),
    gradient(
        "native_layer_norm",
        "native_layer_norm_backward",
        AFFINE,
        &[STATISTICS[0], STATISTICS[1], MASK],
    ),
    gradient(
        "native_group_norm",
        "native_group_norm_backward",
        AFFINE,
        &[STATISTICS[0], STATISTICS[1], MASK],
    ),
    gradient("convolution", "convolution_backward", AFFINE, &[BIAS_SIZES, MASK]),
    gradient("conv1d", "convolution_backward", AFFINE, CONV),
    gradient("conv2d", "convolution_backward", AFFINE, CONV),
    gradient("conv3d", "convolution_backward", AFFINE, CONV),
    gradient("avg_pool2d", "avg_pool2d_backward", X, &[]),
    gradient(
        "embedding",
        "embedding_dense_backward",
        &["weight"],
        &[("num_weights", "given[\"weight\"].shape[0]")],
    ),
    gradient("select", "select_backward", X, &[SIZES]),
    gradient(
        "slice",
        "slice_backward",
        X,
        &[
            SIZES,
            ("start", "given[\"start\"] or 0"),
            ("end", "2**63 - 1 if given[\"end\"] is None else given[\"end\"]"),
        ],
    ),
];

/// Returns the calls that make an op differentiable; empty where its gradient is no op of the catalogue.
pub(super) fn of(op: &OpDef) -> Vec<&'static Gradient> {
    GRADIENTS.iter().filter(|gradient| gradient.forward == op.name).collect()
}

impl Gradient {
    /// Returns the arguments of the call in Python, by name; `None` marks the gradient of the result.
    fn arguments(&self, backward: &OpDef) -> Vec<(String, Option<String>)> {
        let schema = Schema::parse(&backward.signature).expect("the catalogue's signatures parse");
        let argument =
            |name: &str| {
                if GRADS.contains(&name) {
                    return None;
                }
                let given = self.rest.iter().find(|(param, _)| *param == name);
                Some(given.map_or_else(
                    || format!("given[{}]", string(name)),
                    |(_, text)| (*text).to_owned(),
                ))
            };
        schema.params.iter().map(|param| (param.name.clone(), argument(&param.name))).collect()
    }

    /// Writes the call as an entry of the module's `GRADIENTS`.
    pub(super) fn literal(&self, backward: &OpDef) -> String {
        let mut entries = String::new();
        for (name, text) in self.arguments(backward) {
            let text = text.unwrap_or_else(|| "GRAD".to_owned());
            write!(entries, "\n        {}: {text},", string(&name))
                .expect("a string takes any text");
        }
        let inputs = tuple(self.inputs.iter().map(|name| string(name)));
        format!("    ({inputs}, lambda given, outs, needed: {{{entries}\n    }}),\n")
    }
}

#[cfg(test)]
mod tests {
    use kgen_ops::op;

    use super::*;

    #[test]
    fn every_argument_of_a_gradient_has_a_source() {
        for row in GRADIENTS {
            let (forward, backward) =
                (op::find(row.forward).unwrap(), op::find(row.backward).unwrap());
            assert_eq!((&*forward.name, &*backward.name), (row.forward, row.backward));
            assert_eq!(row.inputs.len(), backward.outputs.len(), "{}", row.forward);
            for name in row.inputs {
                assert!(
                    forward.param(name).is_some_and(|param| param.kind.holds_tensors()),
                    "{name}"
                );
            }
            for (name, text) in row.arguments(backward) {
                let Some(text) = text else { continue };
                let is_given =
                    forward.param(&name).is_some() || row.rest.iter().any(|(of, _)| *of == name);
                assert!(is_given, "{}: nothing for `{name}` of {}", row.forward, row.backward);
                for part in text.split("given[\"").skip(1) {
                    let input = part.split('"').next().unwrap();
                    assert!(forward.param(input).is_some(), "{}: no `{input}`", row.forward);
                }
            }
            let rest = row.rest.iter();
            for (name, _) in rest {
                assert!(backward.param(name).is_some(), "{} has no `{name}`", row.backward);
            }
        }
    }
}
