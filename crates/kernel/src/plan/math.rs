//! Builtins that compute with numbers and tuples.

use super::{
    Problem,
    builtin::Builtin,
    call::{Args, Given, as_int, at_least},
    value::{Value, to_i64},
};

/// Computes `cdiv` and `align_up`, rounding toward plus infinity.
pub(super) fn multiple(builtin: Builtin, args: &Args<'_>) -> Result<Value, Problem> {
    let a = args.int(0)?;
    let by = at_least(args.get(1), 1).map_err(|problem| {
        problem.hint("inputs may have 0 elements: use `max(n, 1)` as the divisor")
    })?;
    // Rounds toward plus infinity for every sign, as -(-a // b) does.
    let quotient = a.div_euclid(by) + i64::from(a.rem_euclid(by) != 0);
    if builtin == Builtin::Cdiv {
        return Ok(Value::Int(quotient));
    }
    let overflow = || Problem::new(args.call.start, "`align_up` overflows a signed 64-bit integer");
    quotient.checked_mul(by).map(Value::Int).ok_or_else(overflow)
}

/// Computes `abs`.
pub(super) fn absolute((value, expr): &Given<'_>) -> Result<Value, Problem> {
    if let Value::Float(value) = value {
        return Ok(Value::Float(value.abs()));
    }
    let value = as_int(&(value.clone(), expr))?;
    let overflow = || Problem::new(expr.start, "`abs` overflows a signed 64-bit integer");
    value.checked_abs().map(Value::Int).ok_or_else(overflow)
}

/// Computes the builtins about powers of two.
pub(super) fn power(builtin: Builtin, given: &Given<'_>) -> Result<Value, Problem> {
    let min = i64::from(builtin == Builtin::Ilog2);
    if builtin == Builtin::IsPow2 {
        let value = as_int(given)?;
        return Ok(Value::Bool(value > 0 && value & (value - 1) == 0));
    }
    let value = at_least(given, min)?.unsigned_abs();
    let result = match builtin {
        Builtin::Ilog2 => i64::from(value.ilog2()),
        _ => i64::try_from(value.max(1).next_power_of_two()).map_err(|_| {
            Problem::new(given.1.start, "`next_pow2` overflows a signed 64-bit integer")
        })?,
    };
    Ok(Value::Int(result))
}

/// Computes `len`.
pub(super) fn length((value, expr): &Given<'_>) -> Result<Value, Problem> {
    match value {
        Value::Tuple(items) => Ok(Value::Int(to_i64(items.len()))),
        Value::Tensor(_) => Err(Problem::new(expr.start, "`len` of a tensor")
            .hint("use `x.ndim`, `x.numel` or `x.shape[0]`")),
        other => {
            Err(Problem::new(expr.start, format!("`len` needs a tuple, found {}", other.kind())))
        }
    }
}

/// Computes `prod` of a slice, with Python's bounds: negative ones count from the end, and those
/// beyond the tuple are cut to it.
pub(super) fn product(args: &Args<'_>) -> Result<Value, Problem> {
    let (value, expr) = args.get(0);
    let Value::Tuple(items) = value else {
        let message = format!("`prod` needs a tuple, found {}", value.kind());
        return Err(Problem::new(expr.start, message).hint("`x.numel` is the product of a shape"));
    };
    let len = to_i64(items.len());
    let bound = |slot, default: i64| {
        let bound = args.optional(slot).map_or(Ok(default), as_int)?;
        Ok((if bound < 0 { bound.saturating_add(len) } else { bound }).clamp(0, len))
    };
    let (start, stop): (i64, i64) = (bound(1, 0)?, bound(2, len)?);
    let overflow = || Problem::new(args.call.start, "`prod` overflows a signed 64-bit integer");
    let mut product = 1_i64;
    for (at, item) in items.iter().enumerate() {
        if (start..stop).contains(&to_i64(at)) {
            let factor = as_int(&(item.clone(), *expr))?;
            product = product.checked_mul(factor).ok_or_else(overflow)?;
        }
    }
    Ok(Value::Int(product))
}

/// Makes a range; only `for` takes one.
pub(super) fn range(args: &Args<'_>) -> Result<Value, Problem> {
    let first = args.int(0)?;
    let (start, stop) = match args.optional(1) {
        None => (0, first),
        Some(given) => (first, as_int(given)?),
    };
    let step = args.optional(2).map_or(Ok(1), as_int)?;
    if step == 0 {
        return Err(Problem::new(args.call.start, "a `range` cannot have step 0"));
    }
    Ok(Value::Range { start, stop, step })
}

/// Computes `has`: everything but None is there.
pub(super) fn has((value, _): &Given<'_>) -> Value {
    Value::Bool(!matches!(value, Value::None))
}

/// Computes `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
pub(super) fn to_float((value, expr): &Given<'_>) -> Result<Value, Problem> {
    let value = value.as_float().ok_or_else(|| {
        Problem::new(expr.start, format!("expected a number, found {}", value.kind()))
    })?;
    Ok(Value::Float(f64::from(value as f32)))
}

/// Computes `i32`.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked, truncation the purpose")]
pub(super) fn to_int((value, expr): &Given<'_>) -> Result<Value, Problem> {
    let int = match value {
        Value::Float(float) if float.is_finite() && float.abs() < 2_f64.powi(62) => {
            Some(*float as i64)
        }
        other => other.as_int(),
    };
    let int = int.ok_or_else(|| {
        Problem::new(expr.start, format!("expected a number, found {}", value.kind()))
    })?;
    if i32::try_from(int).is_err() {
        return Err(Problem::new(expr.start, format!("{int} does not fit 32 bits"))
            .hint("declare the parameter `long long` and pass the number as it is"));
    }
    Ok(Value::Int(int))
}
