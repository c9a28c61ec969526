//! Shapes: broadcasting, dimensions counted from either end, errors of calls.

use crate::record::{DType, TensorSpec};

use super::ArgError;

/// A call that the op is not defined for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// A call within a custom op's graph makes no sense.
    #[error("in `{node}`: {reason}")]
    Node {
        /// The call as the graph words it.
        node: String,
        /// Why.
        reason: String,
    },
    /// An argument is missing or of the wrong kind.
    #[error(transparent)]
    Arg(#[from] ArgError),
    /// The case names an argument that the op does not have.
    #[error("`{op}` has no argument `{name}`")]
    NoSuchArg {
        /// The op.
        op: String,
        /// The argument.
        name: String,
    },
    /// Two shapes do not broadcast.
    #[error("shapes {left:?} and {right:?} do not broadcast")]
    Broadcast {
        /// Shape of the first tensor.
        left: Vec<usize>,
        /// Shape of the second.
        right: Vec<usize>,
    },
    /// A dimension that the tensor does not have.
    #[error("dimension {dim} is out of range for a tensor of {ndim} dimensions")]
    Dim {
        /// The dimension as given.
        dim: i64,
        /// Dimensions of the tensor.
        ndim: usize,
    },
    /// A dimension given twice.
    #[error("dimension {0} is given twice")]
    DimTwice(usize),
    /// A shape that does not fit the others.
    #[error("`{name}` has shape {shape:?}, which must be {wanted}")]
    Shape {
        /// The argument.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The expected value.
        wanted: String,
    },
    /// A dtype that the op does not take there.
    #[error("`{name}` has dtype {dtype}, which must be {wanted}")]
    DType {
        /// The argument.
        name: String,
        /// Its dtype.
        dtype: DType,
        /// The expected value.
        wanted: String,
    },
    /// A call that `PyTorch` takes and kgen does not compute.
    #[error("{0}")]
    Lacks(String),
    /// An argument outside its range.
    #[error("`{name}` is {value}, which must be {wanted}")]
    Value {
        /// The argument.
        name: String,
        /// Its value.
        value: String,
        /// The expected value.
        wanted: String,
    },
}

impl InferError {
    /// Says that `PyTorch` takes such a call, and kgen does not compute it.
    #[must_use]
    pub fn lacking(self) -> Self {
        Self::Lacks(self.to_string())
    }

    /// Complains about a shape.
    #[must_use]
    pub fn shape(name: &str, shape: &[usize], wanted: impl Into<String>) -> Self {
        Self::Shape { name: name.to_owned(), shape: shape.to_vec(), wanted: wanted.into() }
    }

    /// Complains about an element type.
    #[must_use]
    pub fn dtype(name: &str, dtype: DType, wanted: impl Into<String>) -> Self {
        Self::DType { name: name.to_owned(), dtype, wanted: wanted.into() }
    }

    /// Complains about the value of an argument.
    #[must_use]
    pub fn value(name: &str, value: impl ToString, wanted: impl Into<String>) -> Self {
        Self::Value { name: name.to_owned(), value: value.to_string(), wanted: wanted.into() }
    }
}

/// Returns the shape that two shapes broadcast to, aligned at their last dimensions.
///
/// # Errors
///
/// [`InferError::Broadcast`] when two extents differ and neither is 1.
pub fn broadcast(left: &[usize], right: &[usize]) -> Result<Vec<usize>, InferError> {
    let ndim = left.len().max(right.len());
    let extent = |shape: &[usize], dim: usize| {
        let missing = ndim - shape.len();
        if dim < missing { 1 } else { shape[dim - missing] }
    };
    let mut shape = Vec::with_capacity(ndim);
    for dim in 0..ndim {
        shape.push(match (extent(left, dim), extent(right, dim)) {
            (a, b) if a == b => a,
            (1, b) => b,
            (a, 1) => a,
            _ => {
                return Err(InferError::Broadcast { left: left.to_vec(), right: right.to_vec() });
            }
        });
    }
    Ok(shape)
}

/// Returns a dimension counted from the front; negative ones count from the back, and a 0-dim
/// tensor is taken as if it had one dimension.
///
/// # Errors
///
/// [`InferError::Dim`] when the tensor has no such dimension.
pub fn normalise_dim(dim: i64, ndim: usize) -> Result<usize, InferError> {
    let extent = i64::try_from(ndim.max(1)).expect("a tensor has few dimensions");
    let front = if dim < 0 { dim + extent } else { dim };
    match usize::try_from(front) {
        Ok(front) if front < ndim.max(1) => Ok(front),
        _ => Err(InferError::Dim { dim, ndim }),
    }
}

/// Most dimensions of a tensor that is reduced, as in PyTorch.
const MAX_REDUCED: usize = 64;

/// Returns the dimensions to reduce, counted from the front; none given (or an empty list) means
/// all.
///
/// # Errors
///
/// [`InferError::Dim`] and [`InferError::DimTwice`].
pub fn normalise_dims(dims: Option<&[i64]>, ndim: usize) -> Result<Vec<usize>, InferError> {
    if ndim > MAX_REDUCED {
        return Err(InferError::value("dim", ndim, format!("of at most {MAX_REDUCED} dimensions")));
    }
    let Some(dims) = dims.filter(|dims| !dims.is_empty()) else { return Ok((0..ndim).collect()) };
    let mut normal = Vec::with_capacity(dims.len());
    for &dim in dims {
        let dim = normalise_dim(dim, ndim)?;
        if normal.contains(&dim) {
            return Err(InferError::DimTwice(dim));
        }
        normal.push(dim);
    }
    normal.retain(|&dim| dim < ndim);
    Ok(normal)
}

/// Returns the position of an element by its index in row-major order.
#[must_use]
pub fn unravel(mut index: usize, shape: &[usize]) -> Vec<usize> {
    let mut position = vec![0; shape.len()];
    for (at, &extent) in position.iter_mut().zip(shape).rev() {
        *at = index % extent.max(1);
        index /= extent.max(1);
    }
    position
}

/// Returns a shape without some dimensions, or with extent 1 there.
#[must_use]
pub fn reduced(shape: &[usize], dims: &[usize], keepdim: bool) -> Vec<usize> {
    let extents = shape.iter().enumerate();
    extents
        .filter_map(|(dim, &extent)| match (dims.contains(&dim), keepdim) {
            (false, _) => Some(extent),
            (true, true) => Some(1),
            (true, false) => None,
        })
        .collect()
}

/// Returns the dtype that tensors and numbers are promoted to, by `PyTorch`'s rules.
///
/// Tensors with dimensions decide; a 0-dim tensor counts only where its kind (bool, integer,
/// floating-point) is higher, a number where its kind is higher than that of all tensors.
#[must_use]
pub fn promote<'a>(
    tensors: impl IntoIterator<Item = &'a TensorSpec>,
    scalars: &[super::Scalar],
) -> DType {
    let (mut dimensioned, mut zero_dim) = (None, None);
    for spec in tensors {
        let slot = if spec.ndim() == 0 { &mut zero_dim } else { &mut dimensioned };
        *slot = Some(slot.map_or(spec.dtype, |known| wider(known, spec.dtype)));
    }
    let wrapped = scalars.iter().map(|scalar| match scalar {
        super::Scalar::Bool(_) => DType::Bool,
        super::Scalar::Int(_) => DType::I64,
        super::Scalar::Float(_) => DType::F32,
    });
    let number = wrapped.reduce(wider);
    [zero_dim, number].into_iter().flatten().fold(dimensioned, raise).unwrap_or(DType::F32)
}

/// Takes a lower class of operands into account.
fn raise(decided: Option<DType>, other: DType) -> Option<DType> {
    match decided {
        Some(decided) if kind(decided) >= kind(other) => Some(decided),
        // A number is a float of the default type whatever else there is.
        Some(_) | None => Some(other),
    }
}

/// Returns 0 for bool, 1 for integers, 2 for floating-point types.
pub(crate) const fn kind(dtype: DType) -> u8 {
    if dtype.is_float() {
        2
    } else if dtype.is_int() {
        1
    } else {
        0
    }
}

/// Returns the smallest type that holds both; f16 with bf16 gives f32, u8 with a signed type the
/// next larger signed one.
#[must_use]
pub fn wider(left: DType, right: DType) -> DType {
    if left == right {
        return left;
    }
    let (low, high) = if kind(left) <= kind(right) { (left, right) } else { (right, left) };
    if kind(low) < kind(high) {
        return high;
    }
    if high.is_float() {
        return match (left.size(), right.size()) {
            (2, 2) => DType::F32,
            (a, b) if a > b => left,
            _ => right,
        };
    }
    match (left, right) {
        (DType::U8, DType::I8) | (DType::I8, DType::U8) => DType::I16,
        _ if left.size() > right.size() => left,
        _ => right,
    }
}
