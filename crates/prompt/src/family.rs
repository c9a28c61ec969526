//! Kinds of ops that are written alike, for whoever writes a kernel: which notes and worked
//! examples help, and what is likely to bound it.

use kgen_ops::op::OpDef;

/// Kinds of ops that are written alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpFamily {
    Elementwise,
    Reduction,
    Norm,
    Softmax,
    Loss,
    Contraction,
    Attention,
    Convolution,
    Pool,
    Scan,
    Sort,
    Index,
    Movement,
    Quantize,
    /// An op of the user's own, or of a family that has no notes yet.
    General,
}

impl OpFamily {
    /// Returns the family of an op by the engine that computes it.
    pub(super) fn of(op: &OpDef) -> Self {
        match op.family().as_str() {
            "pointwise" | "gated" | "rope" => Self::Elementwise,
            "total" | "extreme" | "truth" | "moments" | "vector_norm" | "log_sum_exp" => {
                Self::Reduction
            }
            "row_norm" | "add_rms_norm" | "normalize" | "channel_norm" => Self::Norm,
            "softmax" | "topk_softmax" => Self::Softmax,
            "cross_entropy" | "nll" | "elementwise" | "distance" => Self::Loss,
            "contraction" | "scaled_mm" => Self::Contraction,
            "attention" => Self::Attention,
            "conv" => Self::Convolution,
            "pool" | "resample" => Self::Pool,
            "scan" => Self::Scan,
            "order" => Self::Sort,
            "lookup" | "embedding_bag" | "scatter" | "one_hot" => Self::Index,
            "movement" | "blocks" => Self::Movement,
            "quantize" => Self::Quantize,
            _ => Self::General,
        }
    }

    /// Returns the name, which is also that of the file with its notes.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Elementwise => "elementwise",
            Self::Reduction => "reduction",
            Self::Norm => "norm",
            Self::Softmax => "softmax",
            Self::Loss => "loss",
            Self::Contraction => "contraction",
            Self::Attention => "attention",
            Self::Convolution => "convolution",
            Self::Pool => "pool",
            Self::Scan => "scan",
            Self::Sort => "sort",
            Self::Index => "index",
            Self::Movement => "movement",
            Self::Quantize => "quantize",
            Self::General => "general",
        }
    }

    /// Says what the judge allows this family beyond f32 arithmetic, whatever the task.
    pub(super) const fn allowance(self) -> Option<&'static str> {
        match self {
            Self::Attention => Some(
                "One exception, for f16 and bf16 inputs: the probabilities may be rounded to the \
                 type of the inputs before they meet the values, and their sum with them; scores, \
                 maximum and output stay f32 until the store.",
            ),
            _ => None,
        }
    }

    /// Tells whether products are summed, so that arithmetic may be the limit and tensor cores help.
    pub(super) const fn sums_products(self) -> bool {
        matches!(self, Self::Contraction | Self::Attention | Self::Convolution)
    }

    /// Tells whether many elements become one value.
    pub(super) const fn reduces(self) -> bool {
        matches!(
            self,
            Self::Reduction | Self::Norm | Self::Softmax | Self::Loss | Self::Scan | Self::Pool
        )
    }
}

#[cfg(test)]
mod tests {
    use super::OpFamily;
    use kgen_ops::op;

    #[test]
    fn every_op_of_the_catalogue_has_notes_of_its_own() {
        let mut seen = Vec::new();
        for op in op::all() {
            let family = OpFamily::of(op);
            assert_ne!(family, OpFamily::General, "{}: family {}", op.name, op.family());
            if !seen.contains(&family) {
                seen.push(family);
            }
        }
        assert_eq!(seen.len(), 14, "{seen:?}");
    }
}
