//! Steps that a library computes: `matmul`, and what all have in common.
//!
//! The plan names buffers and sizes; everything else is kgen's. A step that would leave its buffers is
//! an error of the plan, so that none ever reaches a device.

use std::ops::Range;

use kgen_record::{BufferOffset, BufferRef, DType, Gemm, Matrix, Precision, Step};

use super::{
    Problem,
    call::{Args, Given, at_least},
    eval::Evaluator,
    value::Value,
};
use crate::file::line_of;

/// An operand of a step: a place in a buffer that holds it whole.
pub(super) struct Operand {
    pub(super) at: BufferOffset<BufferRef>,
    pub(super) dtype: DType,
    /// Its bytes in the buffer.
    bytes: Range<u64>,
}

impl Operand {
    fn overlaps(&self, other: &Self) -> bool {
        self.at.buffer == other.at.buffer
            && self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
    }
}

impl Evaluator<'_> {
    /// Adds a matrix product.
    pub(super) fn matmul(&mut self, args: &Args<'_>) -> Result<Value, Problem> {
        let precision = self.library_precision(args)?;
        let [m, n, k] = [extent(args.get(3))?, extent(args.get(4))?, extent(args.get(5))?];
        let batch = args.optional(6).map_or(Ok(1), extent)?;
        let [trans_a, trans_b, accumulate] = [args.flag(7)?, args.flag(8)?, args.flag(10)?];
        let alpha = args.optional(9).map_or(Ok(1.0), number)?;
        let dtype = factor_type(args, Some(11))?;
        let a = self.operand(args, 0, dtype, &[batch, m, k])?;
        let b = self.operand(args, 1, dtype, &[batch, k, n])?;
        let sums = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let out = self.result(args, [dtype, sums], &[batch, m, n], [&a, &b])?;
        self.count_launch(args.call)?;
        if m * n * batch == 0 || (k == 0 && accumulate) {
            return Ok(Value::None);
        }
        let matrix = |at, [rows, columns]: [usize; 2], transposed: bool| Matrix {
            at,
            row_major: !transposed,
            ld: if transposed { rows } else { columns },
            batch_stride: rows * columns,
        };
        let result = matrix(out.at, [m, n], false);
        let call = Gemm {
            dtype,
            out_dtype: out.dtype,
            m,
            n,
            k,
            batch,
            left: matrix(a.at, [m, k], trans_a),
            right: matrix(b.at, [k, n], trans_b),
            out: result,
            addend: accumulate.then_some(result),
            bias: None,
            alpha,
            beta: if accumulate { 1.0 } else { 0.0 },
            tf32: precision.shortens_matmul(),
            line: Some(line_of(self.text, args.call.start)),
        };
        self.plan.steps.push(Step::Gemm { call: Box::new(call) });
        Ok(Value::None)
    }

    /// Returns the precision of library steps.
    pub(super) fn library_precision(&self, args: &Args<'_>) -> Result<Precision, Problem> {
        self.env.libraries.ok_or_else(|| {
            let name = args.name;
            let message = format!("`{name}` calls a library, which is not allowed here");
            Problem::new(args.call.start, message)
                .hint("compute it in a kernel; the flag `--libraries` allows library steps")
        })
    }

    /// Reads an operand that must hold so many elements; one in scratch has the type `untyped`.
    pub(super) fn operand(
        &self,
        args: &Args<'_>,
        slot: usize,
        untyped: DType,
        shape: &[usize],
    ) -> Result<Operand, Problem> {
        let (value, expr) = args.get(slot);
        let name = args.param(slot);
        let problem = |message: String| Problem::new(expr.start, message);
        let (buffer, byte_offset, dtype, left) = match value {
            Value::Tensor(tensor) if tensor.spec.is_contiguous() => {
                let bytes = tensor.spec.numel() * tensor.spec.dtype.size();
                (tensor.buffer, tensor.byte_offset(), tensor.spec.dtype, Some(bytes as u64))
            }
            Value::Tensor(_) => {
                return Err(problem(format!("`{name}` of `{}` is not contiguous", args.name))
                    .hint("pass `contiguous(x)`"));
            }
            Value::Pointer(pointer) => {
                let dtype = pointer.dtype.unwrap_or(untyped);
                (pointer.buffer, pointer.byte_offset, dtype, None)
            }
            other => {
                let message = format!(
                    "`{name}` of `{}` is a tensor or a scratch buffer, found {}",
                    args.name,
                    other.kind()
                );
                return Err(problem(message));
            }
        };
        let of = match buffer {
            BufferRef::Scratch(index) => self.plan.scratch[index].bytes,
            BufferRef::Input(_) | BufferRef::Output(_) => self.env.storage[&buffer],
        };
        let start = u64::try_from(byte_offset).unwrap_or(u64::MAX);
        let size = dtype.size() as u64;
        if start % size != 0 {
            let message =
                format!("`{name}` begins at byte {start}, which is no multiple of {size}");
            return Err(problem(message));
        }
        let left = left.unwrap_or_else(|| of.saturating_sub(start));
        let needed = shape.iter().try_fold(size, |all, &n| all.checked_mul(n as u64));
        let Some(needed) = needed.filter(|needed| *needed <= left) else {
            let message = format!(
                "`{name}` of `{}` is {shape:?} of {dtype}, which does not fit the {left} bytes given",
                args.name
            );
            return Err(problem(message).hint("check the sizes; a product in scratch is f32"));
        };
        let at = BufferOffset {
            buffer,
            byte_offset: usize::try_from(start).map_err(|_| problem("too far".to_owned()))?,
        };
        Ok(Operand { at, dtype, bytes: start..start + needed })
    }

    /// Reads the result, which may lie nowhere in the operands. It has the type of the factors or that of
    /// the sums, and in scratch the latter.
    pub(super) fn result(
        &self,
        args: &Args<'_>,
        [dtype, sums]: [DType; 2],
        shape: &[usize],
        operands: [&Operand; 2],
    ) -> Result<Operand, Problem> {
        const SLOT: usize = 2;
        let start = args.get(SLOT).1.start;
        let out = self.operand(args, SLOT, sums, shape)?;
        if matches!(out.at.buffer, BufferRef::Input(_)) {
            return Err(Problem::new(start, "inputs are read-only"));
        }
        if out.dtype != dtype && out.dtype != sums {
            let message = format!("`{}` of {dtype} gives {dtype} or {sums}", args.name);
            return Err(Problem::new(start, format!("{message}, not {}", out.dtype)));
        }
        if operands.iter().any(|operand| operand.overlaps(&out)) {
            let message = format!("`out` of `{}` overlaps what it is computed from", args.name);
            return Err(Problem::new(start, message));
        }
        Ok(out)
    }
}

pub(super) fn extent(given: &Given<'_>) -> Result<usize, Problem> {
    let value = at_least(given, 0)?;
    // Libraries take extents as i32.
    let fits = i32::try_from(value).ok().and_then(|value| usize::try_from(value).ok());
    fits.ok_or_else(|| Problem::new(given.1.start, format!("{value} is too large")))
}

fn number((value, expr): &Given<'_>) -> Result<f64, Problem> {
    value.as_float().filter(|number| number.is_finite()).ok_or_else(|| {
        Problem::new(expr.start, format!("expected a finite number, found {}", value.kind()))
    })
}

/// Returns the element type of the factors: that of the tensors among them, else the argument `dtype`.
pub(super) fn factor_type(args: &Args<'_>, slot: Option<usize>) -> Result<DType, Problem> {
    let of = |slot| match args.get(slot) {
        (Value::Tensor(tensor), _) => Some(tensor.spec.dtype),
        (Value::Pointer(pointer), _) => pointer.dtype,
        _ => None,
    };
    let given = match slot.and_then(|slot| args.optional(slot)) {
        None | Some((Value::None, _)) => None,
        Some((Value::DType(dtype), _)) => Some(*dtype),
        Some((Value::Str(text), expr)) => {
            let unknown = |_| Problem::new(expr.start, format!("`{text}` is no dtype"));
            Some(text.parse::<DType>().map_err(unknown)?)
        }
        Some((other, expr)) => {
            let message = format!("`dtype` is a dtype, found {}", other.kind());
            return Err(Problem::new(expr.start, message));
        }
    };
    let known: Vec<DType> = [of(0), of(1), given].into_iter().flatten().collect();
    let name = args.name;
    let Some(&dtype) = known.first() else {
        let message = format!("`{name}` does not know the element type of its scratch buffers");
        return Err(
            Problem::new(args.call.start, message).hint("add `dtype=x.dtype` or `dtype=\"f32\"`")
        );
    };
    if known.iter().any(|other| *other != dtype) {
        let message = format!("`{name}` needs factors of one element type");
        return Err(Problem::new(args.call.start, message).hint("convert one in a kernel first"));
    }
    if !matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::BF16) {
        return Err(Problem::new(args.call.start, format!("`{name}` does not compute in {dtype}")));
    }
    Ok(dtype)
}

#[cfg(test)]
mod tests;
