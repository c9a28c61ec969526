//! `tensor_map`: a tensor as the Tensor Memory Accelerator sees it.
//!
//! A plan writes extents as `x.shape` does, the outermost dimension first; a map has the innermost
//! first. Whether a map is possible depends on shapes and alignment alone, so that a wrong one is an error of
//! the plan.

mod args;
mod rules;

use std::sync::Arc;

use kgen_record::{
    BufferRef, DType,
    tensor_map::{Interleave, L2Promotion, Swizzle, TensorMap, TensorMapType},
};

use self::{
    args::{
        DTYPE, ELEMENT_STRIDES, INTERLEAVE, L2, SHAPE, STRIDES, SWIZZLE, X, fill, given,
        innermost_first, mode, numbers, one_of, shown,
    },
    rules::refused,
};
use super::{
    Problem,
    call::Args,
    eval::Evaluator,
    value::{Map, Value},
};

/// Types of elements that only maps have, by the names that a plan has for them.
const MAP_TYPES: [(&str, TensorMapType); 6] = [
    ("u16", TensorMapType::U16),
    ("u32", TensorMapType::U32),
    ("u64", TensorMapType::U64),
    ("f32_ftz", TensorMapType::F32Ftz),
    ("tf32", TensorMapType::Tf32),
    ("tf32_ftz", TensorMapType::Tf32Ftz),
];

/// The memory that a map is made of.
struct Place {
    buffer: BufferRef,
    byte_offset: i64,
    label: String,
    /// Element type of the tensor.
    dtype: Option<DType>,
    /// Shape and strides of the tensor, in elements.
    layout: Option<(Vec<i64>, Vec<i64>)>,
}

/// Extents and strides, outermost dimension first; strides in elements.
struct Layout {
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl Evaluator<'_> {
    /// Makes a tensor map; its rules are checked here, except that a tensor without elements may have
    /// one that no launch takes.
    pub(super) fn tensor_map(&self, args: &Args<'_>) -> Result<Value, Problem> {
        self.needs_sm_90("tensor_map", args.call, "if cc >= 90: m = tensor_map(..)")?;
        let place = self.place(args)?;
        let data_type = data_type(args, &place)?;
        let layout = layout(args, &place)?;
        let rank = layout.shape.len();
        let size = u64::from(data_type.bytes());
        let interleave = one_of(
            args,
            INTERLEAVE,
            0,
            [(0, Interleave::None), (16, Interleave::B16), (32, Interleave::B32)],
        )?;
        let align = if interleave == Interleave::B32 { 32 } else { 16 };
        let map = TensorMap {
            data_type,
            address: place.byte_offset.unsigned_abs(),
            dims: layout.shape.iter().rev().map(|extent| extent.unsigned_abs()).collect(),
            strides: byte_strides(args, &layout, size, align)?,
            element_strides: match given(args, ELEMENT_STRIDES) {
                None => vec![1; rank],
                Some(given) => innermost_first(args, ELEMENT_STRIDES, given, rank)?,
            },
            interleave,
            swizzle: one_of(
                args,
                SWIZZLE,
                0,
                [(0, Swizzle::None), (32, Swizzle::B32), (64, Swizzle::B64), (128, Swizzle::B128)],
            )?,
            l2: one_of(
                args,
                L2,
                128,
                [
                    (0, L2Promotion::None),
                    (64, L2Promotion::B64),
                    (128, L2Promotion::B128),
                    (256, L2Promotion::B256),
                ],
            )?,
            oob: fill(args)?,
            mode: mode(args, rank)?,
        };
        if !map.dims.contains(&0) {
            map.check().map_err(|error| refused(args, &map, &place.label, &error))?;
            if interleave == Interleave::None {
                self.stays_inside(args, &place, &map)?;
            }
        }
        let (Place { buffer, byte_offset, label, .. }, at) = (place, args.call.start);
        let map = TensorMap { address: 0, ..map };
        Ok(Value::TensorMap(Arc::new(Map { buffer, byte_offset, map, label, at })))
    }

    fn place(&self, args: &Args<'_>) -> Result<Place, Problem> {
        let (value, expr) = args.get(X);
        match value {
            Value::Tensor(tensor) => {
                let ints = |of: &[usize]| of.iter().map(|&n| n as i64).collect();
                Ok(Place {
                    buffer: tensor.buffer,
                    byte_offset: tensor.byte_offset(),
                    label: tensor.label.clone(),
                    dtype: Some(tensor.spec.dtype),
                    layout: Some((ints(&tensor.spec.shape), ints(&tensor.spec.stride))),
                })
            }
            Value::Pointer(pointer) => Ok(Place {
                buffer: pointer.buffer,
                byte_offset: pointer.byte_offset,
                label: match pointer.buffer {
                    BufferRef::Scratch(index) => self.plan.scratch[index].label.clone(),
                    BufferRef::Input(_) | BufferRef::Output(_) => self.source(expr),
                },
                dtype: pointer.dtype,
                layout: None,
            }),
            other => {
                let message = format!(
                    "`tensor_map` needs a tensor or a scratch buffer, found {}",
                    other.kind()
                );
                let problem = Problem::new(expr.start, message);
                Err(if matches!(other, Value::None) {
                    problem.hint("an optional input that is left out is None: ask `has(x)` first")
                } else {
                    problem
                })
            }
        }
    }

    /// Refuses a map of more than its buffer.
    fn stays_inside(&self, args: &Args<'_>, place: &Place, map: &TensorMap) -> Result<(), Problem> {
        let bytes = match place.buffer {
            BufferRef::Scratch(index) => self.plan.scratch[index].bytes,
            BufferRef::Input(_) | BufferRef::Output(_) => self.env.storage[&place.buffer],
        };
        let size = u64::from(map.data_type.bytes());
        // Of interleaved channels the innermost dimension counts slices.
        let pitch = match map.interleave {
            Interleave::None => size,
            Interleave::B16 => 16,
            Interleave::B32 => 32,
        };
        let strides = std::iter::once(&pitch).chain(&map.strides);
        let last = map.dims.iter().zip(strides).try_fold(map.address, |at, (extent, stride)| {
            (extent - 1).checked_mul(*stride)?.checked_add(at)
        });
        let size = size.max(pitch);
        let end = last.and_then(|last| last.checked_add(size)).unwrap_or(u64::MAX);
        if end <= bytes {
            return Ok(());
        }
        let at = given(args, SHAPE).or_else(|| given(args, STRIDES));
        let at = at.map_or(args.get(X).1.start, |(_, expr)| expr.start);
        let message = format!(
            "the tensor map ends at byte {end} of `{}`, which has {bytes} bytes",
            place.label
        );
        Err(Problem::new(at, message).hint("`shape` and `strides` are in elements"))
    }
}

/// Refuses a map that the driver cannot make since the tensor has no elements.
pub(super) fn refuse_empty_map(value: &Value) -> Result<(), Problem> {
    let Value::TensorMap(map) = value else { return Ok(()) };
    if !map.map.dims.contains(&0) {
        return Ok(());
    }
    let shape: Vec<u64> = map.map.dims.iter().rev().copied().collect();
    let message =
        format!("`{}` has no elements, its shape is {shape:?}: it has no tensor map", map.label);
    Err(Problem::new(map.at, message).hint("launch nothing for it: a grid with a 0 in it"))
}

fn data_type(args: &Args<'_>, place: &Place) -> Result<TensorMapType, Problem> {
    let own = place.dtype.map(of_dtype);
    let Some((value, expr)) = given(args, DTYPE) else {
        return own.filter(|_| place.layout.is_some()).ok_or_else(|| untyped(args, place, "dtype"));
    };
    let named = match value {
        Value::DType(dtype) => Some(of_dtype(*dtype)),
        Value::Str(text) => {
            let of_map = MAP_TYPES.iter().find(|(name, _)| **name == **text);
            of_map.map(|(_, of)| *of).or_else(|| text.parse().ok().map(of_dtype))
        }
        other => {
            let message = format!("`dtype` is a dtype, found {}", other.kind());
            return Err(Problem::new(expr.start, message));
        }
    };
    let Some(named) = named else {
        let names = DType::ALL.map(DType::name).into_iter().chain(MAP_TYPES.map(|(name, _)| name));
        let names: Vec<&str> = names.collect();
        let message = format!("{} is no dtype of a tensor map", shown(value));
        return Err(
            Problem::new(expr.start, message).hint(format!("they are {}", names.join(", ")))
        );
    };
    if let (Some(own), Some(_), None) = (own, &place.layout, given(args, SHAPE))
        && own.bytes() != named.bytes()
    {
        let message = format!(
            "`{}` has elements of {} bytes, `dtype` of {}",
            place.label,
            own.bytes(),
            named.bytes()
        );
        let problem = Problem::new(expr.start, message);
        return Err(problem.hint("give `shape` and `strides` in elements of that dtype"));
    }
    Ok(named)
}

/// Says that scratch, or a pointer, has nothing of a tensor.
fn untyped(args: &Args<'_>, place: &Place, missing: &str) -> Problem {
    let message = format!("`tensor_map` of `{}` needs `{missing}`", place.label);
    Problem::new(args.call.start, message)
        .hint("scratch and pointers need `dtype=`, `shape=` and `strides=`, in elements")
}

const fn of_dtype(dtype: DType) -> TensorMapType {
    match dtype {
        DType::F64 => TensorMapType::F64,
        DType::F32 => TensorMapType::F32,
        DType::F16 => TensorMapType::F16,
        DType::BF16 => TensorMapType::Bf16,
        DType::I64 => TensorMapType::I64,
        DType::I32 => TensorMapType::I32,
        // Maps have no signed type of this size; bits are only copied.
        DType::I16 => TensorMapType::U16,
        DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::Bool => TensorMapType::U8,
    }
}

fn layout(args: &Args<'_>, place: &Place) -> Result<Layout, Problem> {
    let shape = given(args, SHAPE).map(|given| numbers(args, SHAPE, given, 0)).transpose()?;
    let strides = given(args, STRIDES).map(|given| numbers(args, STRIDES, given, 0)).transpose()?;
    let layout = match (shape, strides, &place.layout) {
        (Some(shape), Some(strides), _) => Layout { shape, strides },
        (None, strides, Some((shape, own))) => {
            Layout { shape: shape.clone(), strides: strides.unwrap_or_else(|| own.clone()) }
        }
        (Some(shape), None, Some((own, strides))) => {
            if !is_dense(own, strides) {
                let message =
                    format!("`{}` is not contiguous, so `shape` needs `strides`", place.label);
                return Err(Problem::new(args.call.start, message).hint("pass `contiguous(x)`"));
            }
            let strides = dense(&shape);
            Layout { shape, strides }
        }
        (None, _, None) => return Err(untyped(args, place, "shape")),
        (Some(_), None, None) => return Err(untyped(args, place, "strides")),
    };
    let (rank, n) = (layout.shape.len(), layout.strides.len());
    if n != rank {
        let message = format!("`strides` has {n} numbers for a shape of {rank} dimensions");
        return Err(Problem::new(args.call.start, message));
    }
    if let (Some(&extent), Some(&stride)) = (layout.shape.last(), layout.strides.last())
        && extent > 1
        && stride != 1
    {
        let message = format!(
            "the innermost stride of `{}` is {stride} elements; a tensor map needs 1",
            place.label
        );
        return Err(Problem::new(args.get(X).1.start, message).hint(
            "pass `contiguous(x)`, or permute `shape` and `strides` so that stride 1 is the last",
        ));
    }
    Ok(layout)
}

/// Returns the strides of a row-major tensor without gaps.
fn dense(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1_i64; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim].saturating_mul(shape[dim].max(1));
    }
    strides
}

fn is_dense(shape: &[i64], strides: &[i64]) -> bool {
    let dense = dense(shape);
    let mut dims = shape.iter().zip(strides.iter().zip(&dense));
    shape.contains(&0) || dims.all(|(&extent, (stride, dense))| extent == 1 || stride == dense)
}

/// Returns the strides of all dimensions but the innermost in bytes, innermost first. That of a
/// dimension of one element is never used, so it is one that the driver takes, unless the plan gives one.
fn byte_strides(
    args: &Args<'_>,
    layout: &Layout,
    size: u64,
    align: u64,
) -> Result<Vec<u64>, Problem> {
    let too_large = || Problem::new(args.call.start, "the strides of the tensor map are too large");
    let mut strides = Vec::new();
    let mut span = layout.shape.last().map_or(size, |extent| extent.unsigned_abs() * size);
    let outer = layout.shape.len().saturating_sub(1);
    let is_own = given(args, STRIDES).is_none();
    for (extent, stride) in layout.shape[..outer].iter().zip(&layout.strides).rev() {
        let stride = if *extent == 1 && is_own {
            span.next_multiple_of(align).min((1 << 40) - align)
        } else {
            stride.unsigned_abs().checked_mul(size).ok_or_else(too_large)?
        };
        strides.push(stride);
        span = stride.checked_mul(extent.unsigned_abs()).ok_or_else(too_large)?;
    }
    Ok(strides)
}
