//! Op families: kinds of ops that kernels are written alike for.

/// An op family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpFamily {
    /// Each element on its own.
    Elementwise,
    /// Many elements to one.
    Reduction,
    /// Normalisation of rows or channels.
    Norm,
    /// Softmax of rows.
    Softmax,
    /// Losses.
    Loss,
    /// Sums of products.
    Contraction,
    /// Attention.
    Attention,
    /// Convolutions.
    Convolution,
    /// Pooling and resampling.
    Pool,
    /// Prefix sums and their like.
    Scan,
    /// Sorting and selection by order.
    Sort,
    /// Places that indices name.
    Index,
    /// Copies of elements to other places.
    Movement,
    /// Conversion to types with a scale.
    Quantize,
    /// None of these: an op of the user's own.
    General,
}

impl OpFamily {
    /// The families of the catalogue, the one first whose ops cost most in a network.
    pub(super) const COSTLIEST_FIRST: [Self; 14] = [
        Self::Attention,
        Self::Convolution,
        Self::Contraction,
        Self::Sort,
        Self::Scan,
        Self::Norm,
        Self::Softmax,
        Self::Loss,
        Self::Reduction,
        Self::Pool,
        Self::Index,
        Self::Quantize,
        Self::Movement,
        Self::Elementwise,
    ];

    /// Returns the name, which is also that of the file with its notes.
    #[must_use]
    pub const fn name(self) -> &'static str {
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

    /// Returns whether products are summed, so that arithmetic may be the limit and tensor cores help.
    #[must_use]
    pub const fn sums_products(self) -> bool {
        matches!(self, Self::Contraction | Self::Attention | Self::Convolution)
    }

    /// Returns whether many elements become one value.
    #[must_use]
    pub const fn reduces(self) -> bool {
        matches!(
            self,
            Self::Reduction | Self::Norm | Self::Softmax | Self::Loss | Self::Scan | Self::Pool
        )
    }
}
