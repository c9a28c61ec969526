//! Worked examples: kernel files that the judge passes, for ops that no suite has.

use serde::Serialize;

use super::family::OpFamily;

/// Names of the examples with their embedded texts.
pub(super) const EXAMPLES: [(&str, &str); 3] = [
    ("elementwise", include_str!("../../../prompts/examples/elementwise.cu")),
    ("row", include_str!("../../../prompts/examples/row.cu")),
    ("tile", include_str!("../../../prompts/examples/tile.cu")),
];

/// An example as templates see it.
#[derive(Debug, Serialize)]
pub(super) struct ExampleView {
    /// What it is an example of.
    about: &'static str,
    source: String,
}

impl OpFamily {
    /// Returns the names of the examples that help most, the first one first.
    pub(super) const fn examples(self) -> &'static [&'static str] {
        match self {
            Self::Elementwise | Self::Movement | Self::Index => &["elementwise"],
            Self::Reduction | Self::Norm | Self::Softmax | Self::Scan | Self::Sort => &["row"],
            Self::Loss | Self::Quantize | Self::Pool | Self::General => &["row", "elementwise"],
            Self::Contraction | Self::Convolution => &["tile"],
            Self::Attention => &["tile", "row"],
        }
    }
}

fn about(name: &str) -> &'static str {
    match name {
        "elementwise" => {
            "for an op `damp(Tensor self, Tensor other) -> Tensor` that computes \
             self * exp(-|other|) on tensors of one shape"
        }
        "row" => "for an op `center(Tensor self) -> Tensor` that subtracts each row's mean",
        _ => {
            "for an op `mm_relu(Tensor self, Tensor mat2) -> Tensor` that computes \
             max(self @ mat2, 0) of matrices with any strides"
        }
    }
}

/// Returns the first `n` examples for a family from the loaded texts.
pub(super) fn view(family: OpFamily, n: usize, texts: &[(String, String)]) -> Vec<ExampleView> {
    let names = family.examples().iter().take(n);
    let views = names.filter_map(|name| {
        let (_, text) = texts.iter().find(|(known, _)| known == name)?;
        let source = super::text::fence("cuda", text);
        Some(ExampleView { about: about(name), source })
    });
    views.collect()
}
