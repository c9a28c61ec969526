//! Cases: concrete calls of an op.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DType, TensorSpec, number};

/// One concrete call of an op.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// Name that is unique among the cases of one op, for example `f32[127,1023]/normal`.
    pub id: String,
    /// The op's name in kgen, for example `relu`.
    pub op: String,
    /// How often a model makes the call, where a log says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The floating-point type the case is about: that of its main input.
    pub dtype: DType,
    /// Why the case is there.
    pub class: CaseClass,
    /// The kind of values of its inputs.
    pub distribution: InputDistribution,
    /// Whether the suite names `ignore_index`: some targets then equal it.
    #[serde(default)]
    pub names_ignored: bool,
    /// Whether the result is written to the first tensor, whose type it then has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// The arguments in the order of the schema.
    pub args: Vec<Arg>,
}

impl Case {
    /// Returns the value of an argument.
    #[must_use]
    pub fn arg(&self, name: &str) -> Option<&ArgValue> {
        self.args.iter().find(|arg| arg.name == name).map(|arg| &arg.value)
    }

    /// Returns a tensor argument; `None` too when it is an optional input that was left out.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&TensorArg> {
        self.arg(name)?.as_tensor()
    }

    /// Returns the tensors with their names, in the order of the schema; those of a list are named
    /// `tensors[0]`, `tensors[1]`, ...
    ///
    /// An input's position here is its index among the inputs of an evaluation.
    pub fn tensors(&self) -> impl Iterator<Item = (Cow<'_, str>, &TensorArg)> {
        self.args.iter().flat_map(Arg::tensors)
    }

    /// Returns whether none of its tensors has an element, so that a kernel has nothing to compute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let mut tensors = self.tensors().peekable();
        tensors.peek().is_some() && tensors.all(|(_, tensor)| tensor.spec.numel() == 0)
    }

    /// Returns the tensors to change them, in the order of [`Case::tensors`].
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut TensorArg> {
        self.args.iter_mut().flat_map(|arg| arg.value.tensors_mut())
    }
}

/// An argument with its name in the ATen schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arg {
    /// The name.
    pub name: String,
    /// The value.
    pub value: ArgValue,
}

impl Arg {
    fn tensors(&self) -> impl Iterator<Item = (Cow<'_, str>, &TensorArg)> {
        let listed = matches!(self.value, ArgValue::Tensors(_));
        self.value.tensors().map(move |(index, tensor)| {
            let name = if listed {
                Cow::Owned(format!("{}[{index}]", self.name))
            } else {
                Cow::Borrowed(self.name.as_str())
            };
            (name, tensor)
        })
    }
}

/// Value of an argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum ArgValue {
    /// A tensor.
    Tensor(TensorArg),
    /// A list of tensors, such as cat's; an element that is left out (as in `index`) is `None`.
    Tensors(Vec<Option<TensorArg>>),
    /// An integer.
    Int(i64),
    /// A number.
    Float(
        #[serde(with = "number::plain")]
        #[schemars(with = "number::Number")]
        f64,
    ),
    /// A truth value.
    Bool(bool),
    /// A string such as gelu's `approximate`.
    Str(String),
    /// A list of integers such as sum's `dim`.
    Ints(Vec<i64>),
    /// A list of numbers.
    Floats(Vec<f64>),
    /// An element type.
    DType(DType),
    /// An optional argument left out.
    None,
}

impl ArgValue {
    /// Returns the tensor, if it is one.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&TensorArg> {
        if let Self::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    /// Returns the tensors that it holds, each with its index in the list; a tensor has index 0.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, &TensorArg)> {
        let one = self.as_tensor().map(|tensor| (0, tensor));
        let list = if let Self::Tensors(list) = self { list.as_slice() } else { &[] };
        let listed = list.iter().enumerate();
        one.into_iter().chain(listed.filter_map(|(index, tensor)| Some((index, tensor.as_ref()?))))
    }

    /// Returns the tensors that it holds to change them.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut TensorArg> {
        let (one, list): (Option<&mut TensorArg>, &mut [Option<TensorArg>]) = match self {
            Self::Tensor(tensor) => (Some(tensor), &mut []),
            Self::Tensors(list) => (None, list),
            _ => (None, &mut []),
        };
        one.into_iter().chain(list.iter_mut().flatten())
    }
}

/// A tensor argument: its layout and how its values are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TensorArg {
    /// Layout and element type.
    pub spec: TensorSpec,
    /// The generator of its values.
    pub generator: Gen,
}

/// Lists of values on which shortcuts go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// Decimal fractions, which are no binary ones, of either sign.
    Divisors,
    /// Multiples of [`List::Divisors`], rounded: a quotient is just below an integer, or just above.
    Multiples,
    /// Infinities, NaN, zeros, subnormal numbers and large ones: two tensors often have the same.
    Extremes,
    /// Numbers beside halves and beside the largest that have a fraction.
    Halves,
    /// Probabilities, mostly exactly 0 and 1.
    Probabilities,
    /// Weights of an interpolation at which its formula changes: 0, halves and 1.
    Weights,
    /// 0 and 1 by turns.
    Alternating,
    /// Small numbers among which -Inf is frequent, and Inf and NaN are rare.
    Infinities,
}

/// Which elements of a matrix are 0, or equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatrixStructure {
    /// Those below the diagonal are 0.
    Upper,
    /// Those above the diagonal are 0.
    Lower,
    /// Each equals the one on the other side of the diagonal.
    Symmetric,
}

/// How the values of one tensor are made from a seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Gen {
    /// Normally distributed.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
    /// Uniform in `[low, high)`.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Integers of magnitude at most `magnitude`, of which at most `nonzero` per `row` consecutive
    /// elements are not 0: sums of products are then exact in every order.
    Exact {
        /// Largest magnitude.
        magnitude: u32,
        /// Non-zero elements per row.
        nonzero: u32,
        /// Elements per row along the last dimension.
        row: u32,
    },
    /// One value on and beside one side of a diagonal of the last two dimensions, another on the other
    /// side: masks.
    Triangle {
        /// Rows: the extent of the last dimension but one.
        rows: u64,
        /// Which diagonal bounds it; 0 is the main one.
        diagonal: i64,
        /// Whether it lies below the diagonal, not above.
        lower: bool,
        /// The value in it.
        inside: f64,
        /// The value of the rest.
        outside: f64,
    },
    /// Matrices of uniform values in `[low, high)`, over the last two dimensions.
    Matrix {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
        /// Rows: the extent of the last dimension but one.
        rows: u64,
        /// Which elements are 0, or equal.
        structure: MatrixStructure,
    },
    /// Values that rise by a step.
    Arange {
        /// The first.
        start: f64,
        /// The step.
        step: f64,
    },
    /// All elements equal.
    Constant {
        /// The value.
        value: f64,
    },
    /// Normal values with magnitudes spread over many powers of two (`±exp(2 N)`).
    HeavyTail,
    /// Normal values, a few of which (the last element among them) are NaN, ±Inf or -0.
    Specials,
    /// Values drawn from four levels, so that many are equal.
    Ties,
    /// Uniform integers in `[0, bound)`, for index tensors.
    Index {
        /// Exclusive upper bound.
        bound: u64,
    },
    /// 0 or 1, each with the given probability of 1: masks.
    Mask {
        /// Probability of 1.
        p: f64,
    },
    /// Integers that are uniform in `low..=high`.
    Int {
        /// Smallest.
        low: i64,
        /// Largest.
        high: i64,
    },
    /// Integers of magnitude 1 to `magnitude`, of either sign: divisors.
    NonZero {
        /// Largest magnitude.
        magnitude: u32,
    },
    /// Integers of either sign whose magnitudes spread over all powers of two up to `2^bits`.
    /// Neighbours, and elements at the same place of several tensors, are often equal, differ by 1,
    /// or differ in the low or in the high 32 bits alone.
    Wide {
        /// Values are in `-2^bits..2^bits`, at most 63.
        bits: u32,
        /// The value that is left out: the next one stands in for it.
        except: Option<i64>,
    },
    /// Rows along the last dimension: one NaN at an end or inside, one infinity, infinities alone,
    /// -Inf in the first half, zeros of either sign, values near -20,000, -150, -95 and beyond 70,000,
    /// a late rise, and normal values.
    SpecialRows {
        /// Whether some NaN have their sign bit set.
        negative_nan: bool,
    },
    /// Normal values and one infinity.
    LoneInfinity,
    /// Magnitudes of `scale` to `1.125 scale`, positive in the first half of a dimension and negative
    /// in the second; of three runs along it one has signs by chance.
    Cancelling {
        /// Smallest magnitude.
        scale: f64,
        /// Elements along the dimension.
        extent: u64,
        /// Elements behind it in row-major order: between neighbours along it.
        inner: u64,
    },
    /// Equal values and one NaN.
    LoneNan {
        /// Each of the others.
        rest: u8,
    },
    /// Values from a list, chosen by their place: those of two tensors go together.
    Listed {
        /// The list.
        list: List,
    },
    /// Equal integers, but for one.
    Lone {
        /// The one.
        value: i64,
        /// Each of the others.
        rest: i64,
    },
    /// -1 or 1: labels of margin losses.
    Sign,
    /// `exp` of normal values: positive, about 1.
    LogNormal {
        /// Standard deviation of the logarithm.
        std: f64,
    },
    /// Each row along the last dimension is a permutation of `0..n`, n its extent.
    Permutation,
    /// Rows along the last dimension sum to 1.
    Simplex,
    /// As [`Gen::Index`], but about one element in four is `other`: a value that the op ignores.
    IndexOr {
        /// Exclusive upper bound.
        bound: u64,
        /// The value outside the rule.
        other: i64,
    },
    /// Integers in `[0, bound)` that differ along a dimension: places that are written once.
    Distinct {
        /// Elements along the dimension, at most `bound`.
        extent: u64,
        /// Elements behind it in row-major order: between neighbours along it.
        inner: u64,
        /// Exclusive upper bound.
        bound: u64,
    },
    /// As [`Gen::Distinct`] along the only dimension, but about one integer in four is `other`.
    DistinctOr {
        /// Elements, at most `bound`.
        extent: u64,
        /// Exclusive upper bound.
        bound: u64,
        /// The value outside the rule.
        other: i64,
    },
    /// Rising integers from 0 to at most `total`, some of them equal: where bags begin.
    Offsets {
        /// Largest value.
        total: u64,
        /// Whether the last element is `total`.
        closed: bool,
    },
    /// Integers that are not negative and whose sum is `total`.
    Counts {
        /// The sum.
        total: u64,
    },
    /// Bags that elements are dealt to, each larger than the one before, the first ones empty where there are
    /// few elements: those of two tensors go together.
    Bags {
        /// Elements of all bags.
        total: u64,
        /// Bags.
        bags: u64,
        /// Whether the tensor says where each bag begins; else it says the bag of each element.
        begins: bool,
    },
    /// Flat places in a plane, one per window of it and inside that window, windows in row-major
    /// order.
    InWindow {
        /// The windows along the rows.
        rows: WindowAxis,
        /// The windows along the columns.
        columns: WindowAxis,
    },
}

/// Windows of one size at equal distances along a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct WindowAxis {
    /// Elements along the dimension.
    pub extent: u64,
    /// Windows, at least one where an element is drawn.
    pub count: u64,
    /// Elements of a window, some of which may lie in the padding.
    pub kernel: u64,
    /// Distance between windows.
    pub stride: u64,
    /// Places before the first element.
    pub padding: u64,
    /// Distance between the elements of a window.
    pub dilation: u64,
}

impl WindowAxis {
    /// Returns the first place of a window inside the dimension, and how many there are.
    #[must_use]
    pub fn inside(self, window: u64) -> (u64, u64) {
        // Counted from the begin of the padding.
        let start = window * self.stride;
        let skipped = self.padding.saturating_sub(start).div_ceil(self.dilation);
        let first = (start + skipped * self.dilation).saturating_sub(self.padding);
        let fit = self.extent.saturating_sub(first).div_ceil(self.dilation);
        (first, fit.min(self.kernel.saturating_sub(skipped)))
    }
}

/// Why a case is in its suite.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CaseClass {
    /// No or one element, odd sizes.
    Edge,
    /// Strided, broadcast or misaligned inputs.
    Layout,
    /// Input distributions other than the main one.
    Values,
    /// Drawn from the secret seed of the evaluation.
    Drawn,
    /// Derived from other cases, for parts of a kernel that those did not reach.
    Further,
    /// A size that real models use; these cases are timed.
    Realistic,
    /// More than 2^31 elements, which indices of 32 bits do not count; judged on a GPU.
    Huge,
}

impl CaseClass {
    /// Returns whether cases are of sizes that a GPU is for.
    #[must_use]
    pub const fn is_large(self) -> bool {
        matches!(self, Self::Realistic | Self::Huge)
    }
}

/// The kind of values of a case's inputs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InputDistribution {
    /// Normal values: the main distribution, which decides about precision.
    Normal,
    /// Integers for which every summation order is exact: bit equality is asked for.
    Exact,
    /// Values far from 0 with a small spread.
    Shifted,
    /// Magnitudes spread over many powers of two.
    HeavyTail,
    /// Large magnitudes: a naive intermediate overflows.
    Large,
    /// All elements equal.
    Constant,
    /// Few distinct values.
    Ties,
    /// NaN, infinities and negative zero among normal values.
    Specials,
    /// Uniform in `[0, 1)`: sums drift, nothing cancels.
    Uniform,
    /// All elements 0.
    Zeros,
    /// Values below the smallest normal number.
    Subnormal,
    /// Rows with a single 1 in the second factor: each result is one element of the first.
    OneHot,
    /// Values at which the op's formula changes or shortcuts of it go wrong, indices that name the
    /// first and the last place alone, many times, and probabilities that are 0 or 1.
    Edges,
    /// Integers over the whole range of their type.
    Wide,
    /// Rows that hold one special value alone, or nothing but special values, among normal ones;
    /// second factors have one infinity, beside zeros.
    SpecialRows,
    /// Products that nearly cancel: partial sums leave the range of f16, most results do not.
    Cancelling,
}

impl InputDistribution {
    /// Returns the name as it appears in case names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Exact => "exact",
            Self::Shifted => "shifted",
            Self::HeavyTail => "heavy_tail",
            Self::Large => "large",
            Self::Constant => "constant",
            Self::Ties => "ties",
            Self::Specials => "specials",
            Self::Uniform => "uniform",
            Self::Zeros => "zeros",
            Self::Subnormal => "subnormal",
            Self::OneHot => "one_hot",
            Self::Edges => "edges",
            Self::Wide => "wide",
            Self::SpecialRows => "special_rows",
            Self::Cancelling => "cancelling",
        }
    }
}
