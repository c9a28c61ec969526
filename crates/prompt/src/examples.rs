//! Worked examples: kernel files that the judge passes, for ops that no suite has.

use serde::Serialize;

use kgen_ops::op::OpFamily;
use kgen_record::Target;

/// Names of the examples with their embedded texts.
pub(super) const EXAMPLES: [(&str, &str); 6] = [
    ("elementwise", include_str!("../../../prompts/examples/elementwise.cu")),
    ("attention", include_str!("../../../prompts/examples/attention.cu")),
    ("row", include_str!("../../../prompts/examples/row.cu")),
    ("split_k", include_str!("../../../prompts/examples/split_k.cu")),
    ("tile", include_str!("../../../prompts/examples/tile.cu")),
    ("wgmma", include_str!("../../../prompts/examples/wgmma.cu")),
];

/// An example as templates see it.
#[derive(Debug, Serialize)]
pub(super) struct ExampleView {
    /// The op that it is an example of.
    about: &'static str,
    source: String,
}

/// Returns the names of the examples that help most with a family on a device, the first one first.
pub(super) const fn names(family: OpFamily, target: &Target) -> &'static [&'static str] {
    use OpFamily as F;
    match family {
        F::Elementwise | F::Movement | F::Index => &["elementwise"],
        F::Reduction | F::Norm | F::Softmax | F::Scan | F::Sort => &["row"],
        F::Loss | F::Quantize | F::Pool | F::General => &["row", "elementwise"],
        F::Contraction if target.cc_major == 9 => &["tile", "wgmma", "split_k"],
        F::Contraction => &["tile", "split_k"],
        F::Convolution => &["tile"],
        F::Attention if target.cc_major == 9 => &["attention"],
        F::Attention => &["tile", "row"],
    }
}

fn about(name: &str) -> &'static str {
    match name {
        "elementwise" => {
            "for an op `damp(Tensor self, Tensor other) -> Tensor` that computes \
             self * exp(-|other|) on tensors of one shape"
        }
        "wgmma" => {
            "for the same op in f16 and bf16, by TMA and wgmma, for factors that tensor maps take"
        }
        "split_k" => {
            "for an op `linear_relu(Tensor self, Tensor weight) -> Tensor` that computes \
             max(self @ weight.T, 0) of few rows and a long k, in parts of k"
        }
        "attention" => {
            "for an op `twice_attention(Tensor query, Tensor key, Tensor value) -> Tensor` that computes \
             2 * softmax(query @ key.T / sqrt(d)) @ value, by TMA and wgmma"
        }
        "row" => "for an op `center(Tensor self) -> Tensor` that subtracts each row's mean",
        _ => {
            "for an op `mm_relu(Tensor self, Tensor mat2) -> Tensor` that computes \
             max(self @ mat2, 0) of matrices with any strides"
        }
    }
}

/// Returns the first `n` examples for a family from the loaded texts.
pub(super) fn view(
    family: OpFamily,
    target: &Target,
    n: usize,
    texts: &[(String, String)],
) -> Vec<ExampleView> {
    let names = names(family, target).iter().take(n);
    let views = names.filter_map(|name| {
        let (_, text) = texts.iter().find(|(known, _)| known == name)?;
        let source = super::text::fence("cuda", text);
        Some(ExampleView { about: about(name), source })
    });
    views.collect()
}
