//! Cases as a module has them: which calls it compares with eager PyTorch, and how their tensors are made.

use kgen_ops::op::OpDef;
use kgen_record::{
    ArgValue, Case, DType, Gen, InputDistribution, List, MatrixStructure, TensorArg, WindowAxis,
};

use super::{
    Export, block, dictionary,
    literal::{boolean, float, numbers, string, tuple},
    plain,
};

/// Writes the cases that the runtime checks.
pub(super) fn cases(export: &Export<'_>) -> String {
    let taken = export.checked().into_iter();
    block(taken.map(|case| tuple([string(&case.id), dictionary(export.op, case, &made)])))
}

/// Returns whether eager `PyTorch` must give the same: normal values, and no choice among equal
/// elements, whose indices are left open.
pub(super) fn is_comparable(op: &OpDef, case: &Case) -> bool {
    let Ok(outputs) = op.infer(case) else { return false };
    let chooses = outputs.len() > 1 && outputs.iter().any(|out| !out.dtype.is_float());
    let repeats = |arg: &TensorArg| {
        arg.spec
            .shape
            .iter()
            .zip(&arg.spec.stride)
            .any(|(&extent, &stride)| extent > 1 && stride == 0)
    };
    let ties = !matches!(case.dtype, DType::F32 | DType::F64)
        || case.tensors().any(|(_, arg)| repeats(arg))
        || case.arg("sorted") == Some(&ArgValue::Bool(false));
    case.distribution == InputDistribution::Normal && !(chooses && ties)
}

/// Writes an argument with how its values are made.
pub(super) fn made(value: &ArgValue) -> String {
    let tensor = |arg: &TensorArg| {
        let spec = &arg.spec;
        let parts = [
            string(spec.dtype.name()),
            numbers(&spec.shape),
            numbers(&spec.stride),
            spec.offset.to_string(),
            kind(arg.generator),
        ];
        format!("{{\"tensor\": {}}}", tuple(parts))
    };
    match value {
        ArgValue::Tensor(one) => tensor(one),
        ArgValue::Tensors(list) => {
            let items = list.iter().map(|one| one.as_ref().map_or("None".to_owned(), tensor));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        other => plain(other),
    }
}

/// Writes the kind of values that a generator makes.
pub(super) fn kind(generator: Gen) -> String {
    let int = |low: i64, high: i64| ("int", vec![low.to_string(), high.to_string()]);
    let to = |bound: u64| i64::try_from(bound).unwrap_or(i64::MAX) - 1;
    let (name, numbers) = match generator {
        Gen::Normal { mean, std } => ("normal", vec![float(mean), float(std)]),
        Gen::Uniform { low, high } => ("uniform", vec![float(low), float(high)]),
        Gen::Exact { magnitude, .. } => int(-i64::from(magnitude), i64::from(magnitude)),
        Gen::Constant { value } => ("constant", vec![float(value)]),
        Gen::LoneNan { rest } => ("constant", vec![float(f64::from(rest))]),
        Gen::Lone { rest, .. } => ("constant", vec![rest.to_string()]),
        Gen::Listed { list: List::Probabilities | List::Alternating } => ("mask", vec![float(0.5)]),
        Gen::Cancelling { scale, .. } => ("normal", vec!["0.0".to_owned(), float(scale)]),
        Gen::Matrix { low, high, structure, .. } => {
            let structure = match structure {
                MatrixStructure::Upper => "\"upper\"",
                MatrixStructure::Lower => "\"lower\"",
                MatrixStructure::Symmetric => "\"symmetric\"",
            };
            ("matrix", vec![float(low), float(high), structure.to_owned()])
        }
        Gen::Arange { start, step } => ("arange", vec![float(start), float(step)]),
        Gen::Triangle { diagonal, lower, inside, outside, .. } => {
            let numbers = [float(inside), float(outside), boolean(lower).to_owned()];
            ("triangle", [vec![diagonal.to_string()], numbers.to_vec()].concat())
        }
        Gen::HeavyTail
        | Gen::Specials
        | Gen::SpecialRows { .. }
        | Gen::LoneInfinity
        | Gen::Listed { .. }
        | Gen::Ties => ("normal", vec!["0.0".to_owned(), "1.0".to_owned()]),
        Gen::Index { bound } | Gen::IndexOr { bound, .. } => int(0, to(bound)),
        Gen::Mask { p } => ("mask", vec![float(p)]),
        Gen::Int { low, high } => int(low, high),
        Gen::NonZero { magnitude } => int(1, i64::from(magnitude)),
        Gen::Sign => ("sign", Vec::new()),
        Gen::Wide { bits, .. } => int(i64::MIN >> (63 - bits), i64::MAX >> (63 - bits)),
        Gen::LogNormal { std } => ("log_normal", vec![float(std)]),
        Gen::Permutation => ("permutation", Vec::new()),
        Gen::Simplex => ("simplex", Vec::new()),
        Gen::Distinct { extent, inner, bound } => {
            ("distinct", vec![extent.to_string(), inner.to_string(), bound.to_string()])
        }
        Gen::DistinctOr { extent, bound, .. } => {
            ("distinct", vec![extent.max(1).to_string(), "1".to_owned(), bound.to_string()])
        }
        Gen::Offsets { total, closed } => {
            ("offsets", vec![total.to_string(), boolean(closed).to_owned()])
        }
        Gen::Counts { total } => ("counts", vec![total.to_string()]),
        Gen::Bags { total, bags, begins } => {
            ("bags", vec![total.to_string(), bags.to_string(), boolean(begins).to_owned()])
        }
        Gen::InWindow { rows, columns } => {
            let axis = |axis: WindowAxis| {
                let WindowAxis { extent, count, kernel, stride, padding, dilation } = axis;
                [extent, count, kernel, stride, padding, dilation].map(|number| number.to_string())
            };
            ("in_window", [rows, columns].into_iter().flat_map(axis).collect())
        }
    };
    tuple(std::iter::once(string(name)).chain(numbers))
}
