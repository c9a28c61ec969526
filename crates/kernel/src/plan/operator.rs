//! Operators of the plan language, with Python's semantics on checked 64-bit integers.

use super::{
    Problem,
    ast::{BinaryOp, CompareOp},
    value::Value,
};

/// Returns the truth of a value in an `if`.
pub(super) fn truth(value: &Value, offset: usize) -> Result<bool, Problem> {
    match value {
        Value::None => Ok(false),
        Value::Bool(value) => Ok(*value),
        Value::Int(value) => Ok(*value != 0),
        Value::Float(value) => Ok(*value != 0.0),
        Value::Tuple(items) => Ok(!items.is_empty()),
        Value::Tensor(_) | Value::Pointer(_) | Value::TensorMap(_) => {
            Err(Problem::new(offset, "a tensor or pointer is neither true nor false")
                .hint("ask `has(x)` whether an optional input is there"))
        }
        Value::Str(_) | Value::DType(_) | Value::Range { .. } => {
            Err(Problem::new(offset, format!("{} is neither true nor false", value.kind()))
                .hint("compare it: `== \"..\"`"))
        }
    }
}

/// Compares two numbers.
pub(super) fn order(
    op: CompareOp,
    left: &Value,
    right: &Value,
    offset: usize,
) -> Result<bool, Problem> {
    let ordering = match (left.as_int(), right.as_int()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => match (left.as_float(), right.as_float()) {
            (Some(a), Some(b)) => a.partial_cmp(&b),
            _ => {
                let message = format!("cannot order {} and {}", left.kind(), right.kind());
                return Err(Problem::new(offset, message));
            }
        },
    };
    Ok(ordering.is_some_and(|ordering| match op {
        CompareOp::Less => ordering.is_lt(),
        CompareOp::LessEqual => ordering.is_le(),
        CompareOp::Greater => ordering.is_gt(),
        _ => ordering.is_ge(),
    }))
}

/// Computes `-value`.
pub(super) fn negate(value: &Value, offset: usize) -> Result<Value, Problem> {
    if let Value::Float(value) = value {
        return Ok(Value::Float(-value));
    }
    let Some(int) = value.as_int() else {
        return Err(Problem::new(offset, format!("cannot negate {}", value.kind())));
    };
    let negative = int.checked_neg().ok_or_else(|| overflow("-", offset))?;
    Ok(Value::Int(negative))
}

fn overflow(what: &str, offset: usize) -> Problem {
    Problem::new(offset, format!("`{what}` overflows a signed 64-bit integer"))
}

/// Computes `left op right`.
pub(super) fn binary(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    offset: usize,
) -> Result<Value, Problem> {
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        return integer(op, a, b, offset).map(Value::Int);
    }
    let (Some(a), Some(b)) = (left.as_float(), right.as_float()) else {
        let (symbol, left_kind, right_kind) = (op.symbol(), left.kind(), right.kind());
        let message = format!("`{symbol}` does not work on {left_kind} and {right_kind}");
        let problem = Problem::new(offset, message);
        return Err(match (left, right) {
            (Value::Tuple(_), _) | (_, Value::Tuple(_)) => {
                problem.hint("there is no arithmetic on tuples and lists")
            }
            (Value::Str(_), _) | (_, Value::Str(_)) => {
                problem.hint("there is no arithmetic on strings")
            }
            (Value::Pointer(_) | Value::Tensor(_), _) => {
                problem.hint("for an address some bytes further: `ptr(x, byte_offset)`")
            }
            _ => problem,
        });
    };
    match op {
        BinaryOp::Add => Ok(Value::Float(a + b)),
        BinaryOp::Sub => Ok(Value::Float(a - b)),
        BinaryOp::Mul => Ok(Value::Float(a * b)),
        _ => Err(Problem::new(offset, format!("`{}` works on integers only", op.symbol()))
            .hint("floats have `+`, `-` and `*`; divide in the kernel")),
    }
}

/// Computes on integers as Python does: `//` and `%` round toward minus infinity.
fn integer(op: BinaryOp, a: i64, b: i64, offset: usize) -> Result<i64, Problem> {
    let checked = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::FloorDiv | BinaryOp::Mod if b == 0 => {
            return Err(Problem::new(offset, "division by zero")
                .hint("inputs may have 0 elements: guard with `if`, or `max(n, 1)`"));
        }
        BinaryOp::FloorDiv => {
            a.checked_div(b).map(|quotient| quotient - i64::from(a % b != 0 && (a < 0) != (b < 0)))
        }
        BinaryOp::Mod => {
            a.checked_rem(b).map(|rem| if rem != 0 && (rem < 0) != (b < 0) { rem + b } else { rem })
        }
        BinaryOp::Shl | BinaryOp::Shr if !(0..=63).contains(&b) => {
            return Err(Problem::new(offset, format!("a shift by {b} bits")));
        }
        BinaryOp::Shl => a
            .checked_mul(1_i64.checked_shl(u32::try_from(b).unwrap_or(64)).unwrap_or(0))
            .filter(|_| b < 63),
        BinaryOp::Shr => Some(a >> b),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
    };
    checked.ok_or_else(|| overflow(op.symbol(), offset))
}
