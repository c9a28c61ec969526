//! Builtins about buffers: `scratch`, `fill`, `ptr`, `contiguous`, `expand`.

use std::sync::Arc;

use kgen_record::{BufferRef, Scratch, Step, TensorSpec, View};

use super::{
    Problem,
    ast::Expr,
    call::{Args, Given, MAX_BUFFERS, as_int, at_least},
    eval::Evaluator,
    value::{Pointer, Tensor, Value},
};

/// Most dimensions, those of extent 1 aside, of a view that kgen's copy kernel can walk.
const COPY_MAX_DIMS: usize = 8;

impl Evaluator<'_> {
    /// Makes a scratch buffer the plan asked for; `target` is the name it is assigned to.
    pub(super) fn new_scratch(
        &mut self,
        args: &Args<'_>,
        target: Option<String>,
    ) -> Result<Value, Problem> {
        let bytes = at_least(args.get(0), 0)?;
        if let Some(given) = args.optional(2) {
            check_align(given)?;
        }
        let wanted = Scratch {
            label: target.unwrap_or_else(|| format!("scratch{}", self.plan.scratch.len())),
            bytes: bytes.unsigned_abs(),
            element_bytes: 1,
            zero: args.flag(1)?,
        };
        let buffer = self.scratch(wanted, args.call.start)?;
        Ok(Value::Pointer(Pointer { buffer, byte_offset: 0, dtype: None }))
    }

    fn scratch(&mut self, wanted: Scratch, offset: usize) -> Result<BufferRef, Problem> {
        let index = self.plan.scratch.len();
        self.amounts.scratch(wanted.bytes, self.env, offset)?;
        if wanted.zero {
            self.amounts.moved(wanted.bytes, self.env, offset)?;
        }
        if index >= MAX_BUFFERS {
            return Err(Problem::new(offset, format!("more than {MAX_BUFFERS} scratch buffers")));
        }
        self.plan.scratch.push(wanted);
        Ok(BufferRef::Scratch(index))
    }

    /// Adds a fill of a whole buffer.
    pub(super) fn fill(&mut self, args: &Args<'_>) -> Result<Value, Problem> {
        let (value, expr) = args.get(0);
        let target = match value {
            Value::Tensor(tensor) => tensor.buffer,
            Value::Pointer(pointer) if pointer.byte_offset == 0 => pointer.buffer,
            other => {
                let message =
                    format!("`fill` needs an output or a scratch buffer, found {}", other.kind());
                return Err(Problem::new(expr.start, message).hint("it fills whole buffers"));
            }
        };
        if matches!(target, BufferRef::Input(_)) {
            return Err(Problem::new(expr.start, "inputs are read-only"));
        }
        let byte = args.int(1)?;
        let Ok(byte) = u8::try_from(byte) else {
            let message = format!("`fill` sets bytes from 0 to 255, found {byte}");
            return Err(Problem::new(args.get(1).1.start, message));
        };
        let bytes = match target {
            BufferRef::Scratch(index) => self.plan.scratch[index].bytes,
            BufferRef::Input(_) | BufferRef::Output(_) => self.env.tensor_bytes,
        };
        self.amounts.moved(bytes, self.env, args.call.start)?;
        self.fills += 1;
        if self.fills > MAX_BUFFERS {
            return Err(Problem::new(args.call.start, format!("more than {MAX_BUFFERS} fills")));
        }
        self.plan.steps.push(Step::Fill { target, byte });
        Ok(Value::None)
    }

    /// Copies a view into a new contiguous buffer.
    fn copy(
        &mut self,
        source: &Tensor,
        view: TensorSpec,
        target: Option<String>,
        offset: usize,
    ) -> Result<Value, Problem> {
        if view.shape.iter().filter(|&&extent| extent != 1).count() > COPY_MAX_DIMS {
            let message = format!("a copy has at most {COPY_MAX_DIMS} dimensions");
            return Err(Problem::new(offset, message)
                .hint("pass `x.stride[i]` to the kernel and read the view as it is"));
        }
        let elements = view
            .shape
            .iter()
            .try_fold(1_u64, |product, &extent| product.checked_mul(u64::try_from(extent).ok()?));
        let bytes = elements
            .and_then(|elements| elements.checked_mul(u64::try_from(view.dtype.size()).ok()?))
            .ok_or_else(|| Problem::new(offset, "the copy is too large"))?;
        let label = target.unwrap_or_else(|| source.label.clone());
        let element_bytes = view.dtype.size();
        let wanted = Scratch { label: label.clone(), bytes, element_bytes, zero: false };
        let buffer = self.scratch(wanted, offset)?;
        self.amounts.moved(bytes, self.env, offset)?;
        let spec = TensorSpec::contiguous(view.dtype, &view.shape);
        if view.numel() > 0 {
            let source = View { buffer: source.buffer, spec: view };
            self.plan.steps.push(Step::Copy { source, target: buffer });
        }
        Ok(Value::Tensor(Arc::new(Tensor { label, buffer, spec })))
    }

    /// Returns a contiguous tensor of the same values.
    pub(super) fn contiguous(
        &mut self,
        args: &Args<'_>,
        target: Option<String>,
    ) -> Result<Value, Problem> {
        let (value, expr) = args.get(0);
        match value {
            Value::None => Ok(Value::None),
            Value::Tensor(tensor) if tensor.spec.is_contiguous() => Ok(value.clone()),
            Value::Tensor(tensor) => {
                self.copy(tensor, tensor.spec.clone(), target, args.call.start)
            }
            other => Err(not_a_tensor("contiguous", other, expr)),
        }
    }

    /// Returns a contiguous tensor broadcast to a shape.
    pub(super) fn expand(
        &mut self,
        args: &Args<'_>,
        target: Option<String>,
    ) -> Result<Value, Problem> {
        let (value, expr) = args.get(0);
        let Value::Tensor(tensor) = value else {
            return Err(not_a_tensor("expand", value, expr));
        };
        let (shape, shape_expr) = args.get(1);
        let extents: Option<Vec<usize>> = match shape {
            Value::Tuple(items) => items
                .iter()
                .map(|item| item.as_int().and_then(|extent| usize::try_from(extent).ok()))
                .collect(),
            _ => None,
        };
        let Some(shape) = extents else {
            return Err(Problem::new(shape_expr.start, "a shape is a tuple of extents"));
        };
        if shape == tensor.spec.shape && tensor.spec.is_contiguous() {
            return Ok(value.clone());
        }
        let view = broadcast(&tensor.spec, shape).map_err(|message| {
            Problem::new(shape_expr.start, message)
                .hint("extents must be equal or 1, counted from the last dimension")
        })?;
        self.copy(tensor, view, target, args.call.start)
    }
}

/// Returns the broadcast view of a tensor; the error names the dimension.
fn broadcast(spec: &TensorSpec, shape: Vec<usize>) -> Result<TensorSpec, String> {
    let Some(lead) = shape.len().checked_sub(spec.ndim()) else {
        return Err(format!("{} dimensions do not expand to {}", spec.ndim(), shape.len()));
    };
    let mut stride = vec![0; shape.len()];
    for (dim, &extent) in spec.shape.iter().enumerate() {
        if extent == shape[lead + dim] {
            stride[lead + dim] = spec.stride[dim];
        } else if extent != 1 {
            let wanted = shape[lead + dim];
            return Err(format!("extent {extent} of dimension {dim} does not expand to {wanted}"));
        }
    }
    Ok(TensorSpec { dtype: spec.dtype, shape, stride, offset: spec.offset })
}

fn not_a_tensor(name: &str, value: &Value, expr: &Expr) -> Problem {
    Problem::new(expr.start, format!("`{name}` needs a tensor, found {}", value.kind()))
}

fn check_align(given: &Given<'_>) -> Result<(), Problem> {
    let align = as_int(given)?;
    if !(1..=256).contains(&align) || align & (align - 1) != 0 {
        let message = format!("`align` is a power of two up to 256, found {align}");
        return Err(Problem::new(given.1.start, message));
    }
    Ok(())
}

/// Returns a pointer some bytes further.
pub(super) fn pointer(args: &Args<'_>) -> Result<Value, Problem> {
    let (value, expr) = args.get(0);
    let (buffer, base, dtype) = match value {
        Value::None => return Ok(Value::None),
        Value::Tensor(tensor) => (tensor.buffer, tensor.byte_offset(), Some(tensor.spec.dtype)),
        Value::Pointer(pointer) => (pointer.buffer, pointer.byte_offset, pointer.dtype),
        other => {
            let message = format!("`ptr` needs a tensor or scratch buffer, found {}", other.kind());
            return Err(Problem::new(expr.start, message));
        }
    };
    let offset = args.optional(1).map_or(Ok(0), as_int)?;
    let byte_offset = base
        .checked_add(offset)
        .filter(|offset| *offset >= 0)
        .ok_or_else(|| Problem::new(args.call.start, "the pointer lies before its buffer"))?;
    Ok(Value::Pointer(Pointer { buffer, byte_offset, dtype }))
}
