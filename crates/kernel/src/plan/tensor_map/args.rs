//! The arguments of `tensor_map`.

use kgen_record::tensor_map::{OobFill, TensorMapMode};

use super::super::{
    Problem,
    call::{Args, Given},
    value::Value,
};

// Places of the arguments.
pub(super) const X: usize = 0;
pub(super) const BOX: usize = 1;
pub(super) const SWIZZLE: usize = 2;
pub(super) const L2: usize = 3;
pub(super) const OOB: usize = 4;
pub(super) const INTERLEAVE: usize = 5;
pub(super) const ELEMENT_STRIDES: usize = 6;
pub(super) const SHAPE: usize = 7;
pub(super) const STRIDES: usize = 8;
pub(super) const DTYPE: usize = 9;
pub(super) const IM2COL: usize = 10;
pub(super) const CHANNELS: usize = 11;
pub(super) const PIXELS: usize = 12;

/// Returns an argument that is given and not None.
pub(super) fn given<'a, 'e>(args: &'a Args<'e>, slot: usize) -> Option<&'a Given<'e>> {
    args.optional(slot).filter(|(value, _)| !matches!(value, Value::None))
}

/// Writes a value in a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Str(text) => format!("`{text}`"),
        other => other.kind().to_owned(),
    }
}

/// Reads an integer or a list of them.
pub(super) fn numbers(
    args: &Args<'_>,
    slot: usize,
    given: &Given<'_>,
    least: i64,
) -> Result<Vec<i64>, Problem> {
    let (value, expr) = given;
    let name = args.param(slot);
    let values: Option<Vec<i64>> = match value {
        Value::Tuple(items) => items.iter().map(Value::as_int).collect(),
        other => other.as_int().map(|value| vec![value]),
    };
    let values = values.ok_or_else(|| {
        Problem::new(expr.start, format!("`{name}` is an integer or a list of integers"))
    })?;
    // Beyond every rule of a map, and far from overflow in the arithmetic below.
    let most = 1 << 40;
    if let Some(wrong) = values.iter().find(|value| !(least..=most).contains(*value)) {
        let message = format!("`{name}` has {wrong}; {least} to {most} are possible");
        return Err(Problem::new(expr.start, message));
    }
    Ok(values)
}

/// Reads a number for each dimension; returns them innermost first.
pub(super) fn innermost_first(
    args: &Args<'_>,
    slot: usize,
    given: &Given<'_>,
    rank: usize,
) -> Result<Vec<u32>, Problem> {
    let values = numbers(args, slot, given, 0)?;
    if values.len() != rank {
        let name = args.param(slot);
        let message =
            format!("`{name}` has {} numbers for a tensor of {rank} dimensions", values.len());
        return Err(
            Problem::new(given.1.start, message).hint("one for each dimension, as in `x.shape`")
        );
    }
    Ok(values.iter().rev().map(|value| u32::try_from(*value).unwrap_or(u32::MAX)).collect())
}

/// Reads one of a few numbers.
pub(super) fn one_of<T: Copy, const N: usize>(
    args: &Args<'_>,
    slot: usize,
    default: i64,
    choices: [(i64, T); N],
) -> Result<T, Problem> {
    let value = given(args, slot).map_or(Some(default), |(value, _)| value.as_int());
    let found = choices.iter().find(|(number, _)| Some(*number) == value);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let numbers = choices.map(|(number, _)| number.to_string());
        let given =
            value.map_or_else(|| args.get(slot).0.kind().to_owned(), |value| value.to_string());
        let message =
            format!("`{}` is one of {}, found {given}", args.param(slot), numbers.join(", "));
        Problem::new(args.get(slot).1.start, message)
    })
}

pub(super) fn fill(args: &Args<'_>) -> Result<OobFill, Problem> {
    let Some((value, expr)) = given(args, OOB) else { return Ok(OobFill::Zeros) };
    match value {
        Value::Str(text) if **text == *"zero" => Ok(OobFill::Zeros),
        Value::Str(text) if **text == *"nan" => Ok(OobFill::Nan),
        other => {
            let message = format!("`oob` is \"zero\" or \"nan\", found {}", shown(other));
            Err(Problem::new(expr.start, message))
        }
    }
}

/// Reads the part of the tensor that one copy moves.
pub(super) fn mode(args: &Args<'_>, rank: usize) -> Result<TensorMapMode, Problem> {
    match (given(args, BOX), given(args, IM2COL)) {
        (Some(given), None) => {
            for slot in [CHANNELS, PIXELS] {
                if let Some((_, expr)) = args.optional(slot) {
                    let message = format!("`{}` belongs to `im2col`", args.param(slot));
                    return Err(Problem::new(expr.start, message).hint("`box` has all extents"));
                }
            }
            Ok(TensorMapMode::Tiled { box_dims: innermost_first(args, BOX, given, rank)? })
        }
        (None, Some(given)) => im2col(args, given, rank),
        (Some(_), Some((_, expr))) => {
            Err(Problem::new(expr.start, "a tensor map has either `box` or `im2col`"))
        }
        (None, None) => Err(Problem::new(args.call.start, "`tensor_map` misses `box`").hint(
            "`tensor_map(x, box=[64, 128])`, or `im2col=(lower, upper), channels=, pixels=`",
        )),
    }
}

fn im2col(args: &Args<'_>, given: &Given<'_>, rank: usize) -> Result<TensorMapMode, Problem> {
    let (value, expr) = given;
    let corners: Option<Vec<Vec<i64>>> = match value {
        Value::Tuple(items) if items.len() == 2 => items
            .iter()
            .map(|item| match item {
                Value::Tuple(items) => items.iter().map(Value::as_int).collect(),
                other => other.as_int().map(|value| vec![value]),
            })
            .collect(),
        _ => None,
    };
    let Some([lower, upper]) = corners.and_then(|corners| <[_; 2]>::try_from(corners).ok()) else {
        let message = "`im2col` is two corners, each an offset per spatial dimension";
        return Err(Problem::new(expr.start, message).hint("`im2col=((-1, -1), (-1, -1))`"));
    };
    let spatial = rank.saturating_sub(2);
    for corner in [&lower, &upper] {
        if corner.len() != spatial && rank > 2 {
            let message = format!(
                "a corner of `im2col` has {} offsets for a tensor of {spatial} spatial dimensions",
                corner.len()
            );
            return Err(Problem::new(expr.start, message)
                .hint("those between the first and the last, in the order of `x.shape`"));
        }
    }
    let narrow = |corner: Vec<i64>| -> Vec<i32> {
        let clamp = |offset: &i64| {
            i32::try_from(*offset).unwrap_or(if *offset < 0 { i32::MIN } else { i32::MAX })
        };
        corner.iter().rev().map(clamp).collect()
    };
    let count = |slot: usize| {
        let Some((value, expr)) = args.optional(slot) else {
            let message = format!("`im2col` needs `{}`", args.param(slot));
            return Err(Problem::new(args.call.start, message)
                .hint("`channels` of a pixel and `pixels` of a copy"));
        };
        let count = value.as_int().and_then(|count| u32::try_from(count).ok());
        count.ok_or_else(|| {
            let message = format!("`{}` is a number of at least 1", args.param(slot));
            Problem::new(expr.start, message)
        })
    };
    let (channels, pixels) = (count(CHANNELS)?, count(PIXELS)?);
    Ok(TensorMapMode::Im2col { lower: narrow(lower), upper: narrow(upper), channels, pixels })
}
