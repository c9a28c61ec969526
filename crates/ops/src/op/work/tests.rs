use super::super::{Array, Call, Input, Inputs, all, find, generate, work::unique_elements};
use crate::{
    record::{ArgValue, Case, HostTensor, InputDistribution},
    suite,
};

/// Elements of all tensors together of the cases that are tried: each of them is changed in turn.
const MAX_ELEMENTS: usize = 400;

/// Cases of an op that are tried.
const MAX_CASES: usize = 12;

/// Ops whose results any one of several elements decides: that no single one changes them does not
/// say that none is read.
const EITHER: &[&str] = &[
    "logical_and",
    "logical_or",
    "bitwise_and",
    "bitwise_or",
    "any",
    "any.dim",
    "any.dims",
    "all",
    "all.dim",
    "all.dims",
    "bitwise_left_shift",
    "bitwise_right_shift",
];

fn outputs(call: &Call<'_>, inputs: &Inputs<'_>) -> Option<Vec<Array>> {
    call.op.engine.evaluate(call, inputs).ok()
}

fn same(a: Option<&Vec<Array>>, b: Option<&Vec<Array>>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let equal = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    a.iter().zip(b).all(|(a, b)| a.iter().zip(b.iter()).all(equal))
}

/// Returns the bytes of inputs that the results depend on: elements that change them when they are
/// another number.
fn bytes_that_matter(call: &Call<'_>, hosts: &[HostTensor]) -> usize {
    let inputs = Inputs::read(call.case, hosts);
    let before = outputs(call, &inputs);
    let mut bytes = 0;
    for (number, host) in hosts.iter().enumerate() {
        let unique = unique_elements(&host.spec);
        let elements = host.spec.numel();
        let expanded = unique < elements;
        // The comparison changes where operands become equal.
        let others = inputs.all().enumerate().filter(|(index, _)| *index != number);
        let others: Vec<f64> =
            others.flat_map(|(_, (_, other))| other.array().iter().copied()).collect();
        let plain =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.5, 1.0, 2.0, -1.0, 1e6, -1e6];
        let changes = |at: usize| {
            plain.iter().chain(&others).any(|&value| {
                let fits = host.spec.dtype.is_float() || value.is_finite();
                let value = if fits { value } else { 3.0 };
                let changed = inputs.map(|index, input: &Input<'_>| {
                    let mut array = input.array().clone();
                    if index == number
                        && let Some(element) = array.iter_mut().nth(at)
                    {
                        *element = value;
                    }
                    array
                });
                !same(before.as_ref(), outputs(call, &changed).as_ref())
            })
        };
        let counted = (0..elements).filter(|&at| changes(at)).count();
        bytes += if expanded { counted.min(unique) } else { counted } * host.spec.dtype.size();
    }
    bytes
}

fn cases(op: &str) -> Vec<Case> {
    let suite = suite::load("opinfo").unwrap();
    let mut cases = suite.public_cases(op).unwrap_or_default();
    let size = |case: &Case| case.tensors().map(|(_, of)| of.spec.numel()).sum::<usize>();
    // A NaN hides its neighbours.
    cases.retain(|case| {
        !matches!(case.distribution, InputDistribution::Specials | InputDistribution::SpecialRows)
    });
    cases.retain(|case| (1..=MAX_ELEMENTS).contains(&size(case)));
    cases.truncate(MAX_CASES);
    cases
}

#[test]
fn no_kernel_needs_fewer_bytes_than_its_floor() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for op in all().iter().filter(|op| !EITHER.contains(&op.name.as_str())) {
        for case in cases(&op.name) {
            let hosts: Vec<HostTensor> =
                case.tensors().map(|(name, of)| generate(of, 7, &case.id, &name)).collect();
            let outputs = op.infer(&case).unwrap();
            let written: usize = outputs.iter().map(|spec| spec.storage_bytes()).sum();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes")]
            let read = op.work(&case).bytes as usize - written;
            let needed = bytes_that_matter(&op.call(&case), &hosts);
            if read > needed {
                wrong.push(format!("{} {}: {read} > {needed} bytes", op.name, case.id));
            }
            tried += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 400, "{tried} cases");
}

/// A weight table of which one row may be all that is read.
#[test]
fn a_table_counts_for_nothing() {
    let op = find("embedding").unwrap();
    let case = suite::load("opinfo").unwrap().public_cases("embedding").unwrap().remove(0);
    let work = op.work(&case);
    let indices: usize = case.args.iter().filter(|arg| arg.name == "indices").map(bytes).sum();
    let out: usize = op.infer(&case).unwrap().iter().map(|spec| spec.storage_bytes()).sum();
    assert!((work.bytes - (indices + out) as f64).abs() < 0.5, "{work:?}");
}

fn bytes(arg: &crate::record::Arg) -> usize {
    match &arg.value {
        ArgValue::Tensor(tensor) => tensor.spec.storage_bytes(),
        _ => 0,
    }
}
