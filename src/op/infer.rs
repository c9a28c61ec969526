//! Shapes and dtypes of outputs.

use crate::record::{ArgValue, Case, DType, TensorArg, TensorSpec};

use super::{ArgError, Engine, Loss, OpDef, ParamKind, bool_arg, int_arg, ints_arg, tensor_arg};

/// A call that the op is not defined for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
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
        /// What would fit.
        wanted: String,
    },
    /// A dtype that the op does not take there.
    #[error("`{name}` has dtype {dtype}, which must be {wanted}")]
    DType {
        /// The argument.
        name: String,
        /// Its dtype.
        dtype: DType,
        /// What would fit.
        wanted: String,
    },
    /// A scalar outside its range.
    #[error("`{name}` is {value}, which must be {wanted}")]
    Value {
        /// The argument.
        name: String,
        /// Its value.
        value: String,
        /// What would fit.
        wanted: &'static str,
    },
}

/// Infers the outputs of a case.
pub(super) fn infer(op: &OpDef, case: &Case) -> Result<Vec<TensorSpec>, InferError> {
    check_names(op, case)?;
    let output = match op.engine {
        Engine::Unary(_) => {
            let input = float_tensor(op, case, 0)?;
            (input.spec.dtype, input.spec.shape.clone())
        }
        Engine::Binary(_) => {
            let (left, right) = (float_tensor(op, case, 0)?, float_tensor(op, case, 1)?);
            (promote(&left.spec, &right.spec), broadcast(&left.spec.shape, &right.spec.shape)?)
        }
        Engine::Reduce(_) => reduce(op, case)?,
        Engine::Softmax => softmax(op, case)?,
        Engine::Norm(_) => norm(op, case)?,
        Engine::MatMul => matmul(op, case)?,
        Engine::Loss(Loss::Mse) => mse(op, case)?,
        Engine::Loss(Loss::CrossEntropy) => cross_entropy(op, case)?,
    };
    Ok(vec![TensorSpec::contiguous(output.0, &output.1)])
}

fn check_names(op: &OpDef, case: &Case) -> Result<(), InferError> {
    match case.args.iter().find(|arg| op.param(&arg.name).is_none()) {
        None => Ok(()),
        Some(arg) => Err(InferError::NoSuchArg { op: op.name.to_owned(), name: arg.name.clone() }),
    }
}

/// Returns the n-th parameter as a tensor of a floating-point type.
fn float_tensor<'a>(op: &OpDef, case: &'a Case, index: usize) -> Result<&'a TensorArg, InferError> {
    let name = op.params[index].name;
    let tensor = tensor_arg(case, name)?;
    if !tensor.spec.dtype.is_float() {
        return Err(InferError::DType {
            name: name.to_owned(),
            dtype: tensor.spec.dtype,
            wanted: "a floating-point type".to_owned(),
        });
    }
    Ok(tensor)
}

fn same_dtype(name: &str, tensor: &TensorArg, wanted: DType) -> Result<(), InferError> {
    if tensor.spec.dtype == wanted {
        return Ok(());
    }
    Err(InferError::DType {
        name: name.to_owned(),
        dtype: tensor.spec.dtype,
        wanted: wanted.to_string(),
    })
}

fn bad_shape(name: &str, shape: &[usize], wanted: impl Into<String>) -> InferError {
    InferError::Shape { name: name.to_owned(), shape: shape.to_vec(), wanted: wanted.into() }
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

/// Returns the dtype of an elementwise result of two floating-point tensors.
///
/// A 0-dim tensor does not widen one with dimensions; f16 with bf16 gives f32.
#[must_use]
pub fn promote(left: &TensorSpec, right: &TensorSpec) -> DType {
    if left.dtype == right.dtype {
        return left.dtype;
    }
    match (left.ndim() == 0, right.ndim() == 0) {
        (true, false) => return right.dtype,
        (false, true) => return left.dtype,
        (true, true) | (false, false) => {}
    }
    if left.dtype.size() == right.dtype.size() {
        return DType::F32;
    }
    if left.dtype.size() > right.dtype.size() { left.dtype } else { right.dtype }
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

/// Returns the dimensions to reduce, counted from the front; none given (or an empty list) means
/// all.
///
/// # Errors
///
/// [`InferError::Dim`] and [`InferError::DimTwice`].
pub fn normalise_dims(dims: Option<&[i64]>, ndim: usize) -> Result<Vec<usize>, InferError> {
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

fn reduce(op: &OpDef, case: &Case) -> Result<(DType, Vec<usize>), InferError> {
    let spec = &float_tensor(op, case, 0)?.spec;
    let dims = normalise_dims(ints_arg(case, "dim")?, spec.ndim())?;
    let keepdim = bool_arg(case, "keepdim")?;
    let mut shape = Vec::with_capacity(spec.ndim());
    for (dim, &extent) in spec.shape.iter().enumerate() {
        match (dims.contains(&dim), keepdim) {
            (false, _) => shape.push(extent),
            (true, true) => shape.push(1),
            (true, false) => {}
        }
    }
    Ok((spec.dtype, shape))
}

fn softmax(op: &OpDef, case: &Case) -> Result<(DType, Vec<usize>), InferError> {
    let spec = &float_tensor(op, case, 0)?.spec;
    normalise_dim(int_arg(case, "dim")?, spec.ndim())?;
    if bool_arg(case, "half_to_float")? {
        return Err(InferError::Value {
            name: "half_to_float".to_owned(),
            value: "true".to_owned(),
            wanted: "false",
        });
    }
    Ok((spec.dtype, spec.shape.clone()))
}

fn norm(op: &OpDef, case: &Case) -> Result<(DType, Vec<usize>), InferError> {
    let spec = &float_tensor(op, case, 0)?.spec;
    let normalised = ints_arg(case, "normalized_shape")?.unwrap_or_default();
    let wanted: Vec<i64> = normalised.to_vec();
    let tail: Vec<i64> = spec.shape[spec.ndim().saturating_sub(wanted.len())..]
        .iter()
        .map(|&extent| i64::try_from(extent).unwrap_or(i64::MAX))
        .collect();
    if wanted.is_empty() || tail != wanted {
        return Err(bad_shape("input", &spec.shape, format!("[.., {wanted:?}] (not empty)")));
    }
    let tail = &spec.shape[spec.ndim() - wanted.len()..];
    for param in op.params.iter().skip(1) {
        let ParamKind::Tensor { .. } = param.kind else { continue };
        let Some(tensor) = case.tensor(param.name) else { continue };
        same_dtype(param.name, tensor, spec.dtype)?;
        if tensor.spec.shape != tail {
            return Err(bad_shape(param.name, &tensor.spec.shape, format!("{tail:?}")));
        }
    }
    Ok((spec.dtype, spec.shape.clone()))
}

fn matmul(op: &OpDef, case: &Case) -> Result<(DType, Vec<usize>), InferError> {
    let (left, right) = (float_tensor(op, case, 0)?, float_tensor(op, case, 1)?);
    same_dtype(op.params[1].name, right, left.spec.dtype)?;
    let &[m, k] = left.spec.shape.as_slice() else {
        return Err(bad_shape(op.params[0].name, &left.spec.shape, "[m, k]"));
    };
    let &[rows, n] = right.spec.shape.as_slice() else {
        return Err(bad_shape(op.params[1].name, &right.spec.shape, "[k, n]"));
    };
    if rows != k {
        return Err(bad_shape(op.params[1].name, &right.spec.shape, format!("[{k}, n]")));
    }
    Ok((left.spec.dtype, vec![m, n]))
}

/// Reads a loss's `reduction`: 0 none, 1 mean, 2 sum.
fn check_reduction(case: &Case) -> Result<i64, InferError> {
    let reduction = int_arg(case, "reduction")?;
    if (0..=2).contains(&reduction) {
        return Ok(reduction);
    }
    Err(InferError::Value {
        name: "reduction".to_owned(),
        value: reduction.to_string(),
        wanted: "0 (none), 1 (mean) or 2 (sum)",
    })
}

fn mse(op: &OpDef, case: &Case) -> Result<(DType, Vec<usize>), InferError> {
    let (left, right) = (float_tensor(op, case, 0)?, float_tensor(op, case, 1)?);
    if left.spec.shape != right.spec.shape {
        let wanted = format!("{:?}, that of self", left.spec.shape);
        return Err(bad_shape("target", &right.spec.shape, wanted));
    }
    let dtype = promote(&left.spec, &right.spec);
    let kept = check_reduction(case)? == 0;
    Ok((dtype, if kept { left.spec.shape.clone() } else { Vec::new() }))
}

fn cross_entropy(op: &OpDef, case: &Case) -> Result<(DType, Vec<usize>), InferError> {
    let spec = &float_tensor(op, case, 0)?.spec;
    let &[n, classes] = spec.shape.as_slice() else {
        return Err(bad_shape("self", &spec.shape, "[n, c]"));
    };
    if classes == 0 {
        return Err(bad_shape("self", &spec.shape, "[n, c] with c at least 1"));
    }
    let target = tensor_arg(case, "target")?;
    same_dtype("target", target, DType::I64)?;
    if target.spec.shape != [n] {
        return Err(bad_shape("target", &target.spec.shape, format!("[{n}]")));
    }
    if !matches!(case.arg("weight"), None | Some(ArgValue::None)) {
        return Err(InferError::Value {
            name: "weight".to_owned(),
            value: "a tensor".to_owned(),
            wanted: "left out: class weights are not supported",
        });
    }
    Ok((spec.dtype, if check_reduction(case)? == 0 { vec![n] } else { Vec::new() }))
}
