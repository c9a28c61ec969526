use rayon::prelude::*;

use super::super::{Array, Call, Input, Inputs, OpDef, all, find, generate, work::unique_elements};
use crate::{
    record::{ArgValue, Case, HostTensor, InputDistribution},
    suite::tests::opinfo,
};

/// Elements of all tensors together of the cases that are tried, each of which is changed in turn.
const MAX_ELEMENTS: usize = 150;

/// Those of an op without cases of that size.
const MAX_ELEMENTS_ELSE: usize = 400;

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

/// Numbers that nearly every element that is read shows itself with.
const PLAIN: [f64; 10] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.5, 1.0, 2.0, -1.0, 1e6, -1e6];

/// The elements of inputs that the results depend on: those that change them as another number.
struct Dependence<'a> {
    call: &'a Call<'a>,
    hosts: &'a [HostTensor],
    inputs: Inputs<'a>,
    before: Option<Vec<Array>>,
    /// Per input and element, whether it was seen to matter.
    matters: Vec<Vec<bool>>,
}

impl<'a> Dependence<'a> {
    fn new(call: &'a Call<'a>, hosts: &'a [HostTensor]) -> Self {
        let inputs = Inputs::read(call.case, hosts);
        let before = outputs(call, &inputs);
        let matters = hosts.iter().map(|host| vec![false; host.spec.numel()]).collect();
        Self { call, hosts, inputs, before, matters }
    }

    /// Tries numbers for every element that is not known to matter, until `enough` bytes do.
    fn attempt(&mut self, enough: usize, numbers: impl Fn(&Self, usize) -> Vec<f64>) {
        for number in 0..self.hosts.len() {
            if enough <= self.bytes() {
                return;
            }
            let numbers = numbers(self, number);
            for at in 0..self.matters[number].len() {
                if !self.matters[number][at] {
                    self.matters[number][at] =
                        numbers.iter().any(|&value| self.changes(number, at, value));
                }
            }
        }
    }

    fn changes(&self, number: usize, at: usize, value: f64) -> bool {
        let fits = self.hosts[number].spec.dtype.is_float() || value.is_finite();
        let value = if fits { value } else { 3.0 };
        let changed = self.inputs.map(|index, input: &Input<'_>| {
            let mut array = input.array().clone();
            if index == number
                && let Some(element) = array.iter_mut().nth(at)
            {
                *element = value;
            }
            array
        });
        !same(self.before.as_ref(), outputs(self.call, &changed).as_ref())
    }

    /// Returns the elements of the other inputs: comparisons change where operands become equal.
    fn others(&self, number: usize) -> Vec<f64> {
        let others = self.inputs.all().enumerate().filter(|(index, _)| *index != number);
        others.flat_map(|(_, (_, other))| other.array().iter().copied()).collect()
    }

    fn bytes(&self) -> usize {
        let of = |(host, matters): (&HostTensor, &Vec<bool>)| {
            let counted = matters.iter().filter(|&&matters| matters).count();
            // Repeated elements lie in memory once.
            counted.min(unique_elements(&host.spec)) * host.spec.dtype.size()
        };
        self.hosts.iter().zip(&self.matters).map(of).sum()
    }
}

/// Returns the bytes of inputs that the results depend on, or some of them that are `enough`.
fn bytes_that_matter(call: &Call<'_>, hosts: &[HostTensor], enough: usize) -> usize {
    let mut dependence = Dependence::new(call, hosts);
    dependence.attempt(enough, |_, _| PLAIN.to_vec());
    dependence.attempt(enough, Dependence::others);
    dependence.bytes()
}

fn cases(op: &str) -> Vec<Case> {
    let mut cases = opinfo().public_cases(op).unwrap_or_default();
    let size = |case: &Case| case.tensors().map(|(_, of)| of.spec.numel()).sum::<usize>();
    // A NaN hides its neighbours.
    cases.retain(|case| {
        !matches!(case.distribution, InputDistribution::Specials | InputDistribution::SpecialRows)
    });
    let most = if cases.iter().any(|case| (1..=MAX_ELEMENTS).contains(&size(case))) {
        MAX_ELEMENTS
    } else {
        MAX_ELEMENTS_ELSE
    };
    cases.retain(|case| (1..=most).contains(&size(case)));
    cases.truncate(MAX_CASES);
    cases
}

#[test]
fn no_kernel_needs_fewer_bytes_than_its_floor() {
    let ops = all().par_iter().filter(|op| !EITHER.contains(&op.name.as_str()));
    let tried = ops.flat_map_iter(|op| cases(&op.name).into_iter().map(move |case| (op, case)));
    let tried: Vec<Option<String>> = tried.map(|(op, case)| too_many_bytes(op, &case)).collect();
    let n_tried = tried.len();
    let wrong: Vec<String> = tried.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_tried > 400, "{n_tried} cases");
}

/// Says how many more bytes the floor of a case counts than its results depend on.
fn too_many_bytes(op: &OpDef, case: &Case) -> Option<String> {
    let hosts: Vec<HostTensor> =
        case.tensors().map(|(name, of)| generate(of, 7, &case.id, &name)).collect();
    let outputs = op.infer(case).unwrap();
    let written: usize = outputs.iter().map(|spec| spec.storage_bytes()).sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes")]
    let read = op.work(case).bytes as usize - written;
    let needed = bytes_that_matter(&op.call(case), &hosts, read);
    (read > needed).then(|| format!("{} {}: {read} > {needed} bytes", op.name, case.id))
}

/// A weight table of which one row may be all that is read.
#[test]
fn a_table_counts_for_nothing() {
    let op = find("embedding").unwrap();
    let case = opinfo().public_cases("embedding").unwrap().remove(0);
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
