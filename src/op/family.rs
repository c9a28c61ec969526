//! The generators of a case's inputs: which values make sense for an op in each family.

use crate::record::{Case, DType, Family, Gen};

use super::{Binary, Engine, Loss, OpDef, Param, ParamKind, Role, Unary, int_arg, plan_name};

/// A family that makes no sense for an op or a case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("family `{}` makes no sense for this case of `{op}`: {reason}", .family.name())]
pub struct FamilyError {
    /// The op.
    pub op: String,
    /// The family.
    pub family: Family,
    /// Why.
    pub reason: &'static str,
}

/// Sums of magnitude below this are exact in f32, in every order.
const EXACT_SUM: usize = 1 << 24;

/// Sums of magnitude below this are in the range of f16.
const F16_SUM: usize = 60_000;

/// Returns a generator for each tensor argument of the case, in order.
pub(super) fn generators(
    op: &OpDef,
    case: &Case,
    names_ignored: bool,
) -> Result<Vec<Gen>, FamilyError> {
    let mut generators = Vec::new();
    for param in op.params {
        let ParamKind::Tensor { role, .. } = param.kind else { continue };
        if case.tensor(&plan_name(param.name)).is_some() {
            generators.push(generator(op, case, param, role, names_ignored)?);
        }
    }
    Ok(generators)
}

fn generator(
    op: &OpDef,
    case: &Case,
    param: &Param,
    role: Role,
    names_ignored: bool,
) -> Result<Gen, FamilyError> {
    match role {
        Role::Gain => Ok(Gen::Normal { mean: 1.0, std: 0.25 }),
        Role::Bias => Ok(Gen::Normal { mean: 0.0, std: 0.5 }),
        Role::ClassIndex => Ok(class_index(case, names_ignored)),
        Role::Main => data(op, case, param, false),
        Role::Second => data(op, case, param, true),
    }
}

fn class_index(case: &Case, names_ignored: bool) -> Gen {
    let classes = case.tensors().next().and_then(|(_, main)| main.spec.shape.get(1));
    let bound = classes.map_or(1, |&classes| classes as u64);
    match int_arg(case, "ignore_index") {
        Ok(other) if names_ignored => Gen::IndexOr { bound, other },
        _ => Gen::Index { bound },
    }
}

fn data(op: &OpDef, case: &Case, param: &Param, second: bool) -> Result<Gen, FamilyError> {
    let normal = Gen::Normal { mean: 0.0, std: 1.0 };
    Ok(match case.family {
        Family::Exact => exact(op, case, param, second)?,
        Family::Shifted => shifted(op.engine),
        Family::Constant => constant(op.engine),
        Family::Normal => normal,
        Family::HeavyTail | Family::Large | Family::Ties | Family::Specials if second => normal,
        Family::HeavyTail => Gen::HeavyTail,
        Family::Large => Gen::Normal { mean: 0.0, std: large(op.engine, case.dtype) },
        Family::Ties => Gen::Ties,
        Family::Specials => Gen::Specials,
    })
}

fn shifted(engine: Engine) -> Gen {
    match engine {
        Engine::Softmax | Engine::Loss(Loss::CrossEntropy) => {
            Gen::Normal { mean: 1000.0, std: 3.0 }
        }
        Engine::Unary(_)
        | Engine::Binary(_)
        | Engine::Reduce(_)
        | Engine::Norm(_)
        | Engine::MatMul
        | Engine::Loss(Loss::Mse) => Gen::Normal { mean: 100.0, std: 1.0 },
    }
}

fn constant(engine: Engine) -> Gen {
    let value = match engine {
        // Ones: an f16 accumulator stops counting at 2048.
        Engine::Reduce(_) | Engine::MatMul => 1.0,
        Engine::Unary(_)
        | Engine::Binary(_)
        | Engine::Softmax
        | Engine::Norm(_)
        | Engine::Loss(_) => 0.7,
    };
    Gen::Constant { value }
}

/// Standard deviation of the large family: the result is representable, an intermediate in the
/// input's own type (f16) or without care (exponentials, squares of large values) is not.
fn large(engine: Engine, dtype: DType) -> f64 {
    let half = dtype == DType::F16;
    match engine {
        Engine::Softmax | Engine::Loss(Loss::CrossEntropy) => 1e4,
        Engine::Norm(_) if half => 1e3,
        Engine::Loss(Loss::Mse) if half => 150.0,
        Engine::Binary(Binary::Mul) if half => 50.0,
        Engine::MatMul if half => 300.0,
        Engine::Reduce(_) if half => 2e3,
        Engine::Unary(_) | Engine::Binary(Binary::Add) if half => 1e4,
        Engine::Unary(_)
        | Engine::Binary(_)
        | Engine::Reduce(_)
        | Engine::Norm(_)
        | Engine::MatMul
        | Engine::Loss(Loss::Mse) => 1e15,
    }
}

/// Largest integers whose products stay exact in f32, and which a coarser type (TF32, bf16 in an
/// f32 op) cannot hold.
const fn integer_limit(dtype: DType) -> usize {
    match dtype {
        DType::F16 => 31,
        DType::BF16 => 127,
        DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool => 4095,
    }
}

fn exact(op: &OpDef, case: &Case, param: &Param, second: bool) -> Result<Gen, FamilyError> {
    let error = |reason| FamilyError { op: op.name.to_owned(), family: Family::Exact, reason };
    let len = op.accumulation_len(case);
    let dtype = case.dtype;
    let limit = integer_limit(dtype);
    let range = if dtype == DType::F16 { F16_SUM } else { EXACT_SUM };
    let row =
        case.tensor(&plan_name(param.name)).and_then(|tensor| tensor.spec.shape.last().copied());
    let row = row.unwrap_or(1).max(1);
    let (magnitude, nonzero) = match op.engine {
        Engine::Unary(Unary::Relu) | Engine::Binary(_) => (limit, row),
        Engine::Unary(Unary::Gelu | Unary::Silu)
        | Engine::Softmax
        | Engine::Norm(_)
        | Engine::Loss(Loss::CrossEntropy) => {
            return Err(error("its results are irrational"));
        }
        Engine::Reduce(_) => (limit.min(range / len), row),
        Engine::MatMul => matmul_exact(dtype, second, row),
        Engine::Loss(Loss::Mse) => {
            let reduction = int_arg(case, "reduction").unwrap_or(0);
            if reduction == 1 && !len.is_power_of_two() {
                return Err(error("a mean is exact only over a power of two"));
            }
            let sum = if reduction == 2 { range } else { EXACT_SUM };
            ((sum / len).isqrt().div_euclid(2).min(limit / 2), row)
        }
    };
    if magnitude == 0 {
        return Err(error("the sums are too long to be exact"));
    }
    let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Ok(Gen::Exact { magnitude: narrow(magnitude), nonzero: narrow(nonzero), row: narrow(row) })
}

/// Magnitude and non-zero elements per row of `self` (and `mat2`): the sum of |products| over a row
/// stays below 2^24, and below the range of f16 there.
fn matmul_exact(dtype: DType, second: bool, row: usize) -> (usize, usize) {
    let limit = integer_limit(dtype);
    let terms = match dtype {
        DType::F16 => F16_SUM / (limit * limit),
        DType::BF16 => EXACT_SUM / (limit * limit),
        DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool => EXACT_SUM / limit,
    };
    match (second, dtype) {
        (false, _) => (limit, terms.min(row)),
        (true, DType::F16 | DType::BF16) => (limit, row),
        (true, DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool) => (1, row),
    }
}
