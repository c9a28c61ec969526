//! A case with all that is known before a device sees it: inputs, reference values, bounds.

use std::{borrow::Cow, cell::RefCell, sync::Arc};

use kgen_ops::{
    op::{self, Array, Call, EagerRounding, Inputs, OpDef, Quantity},
    reference::{self, Integers, Reference},
};
use kgen_record::{
    Case, DType, HostTensor, InputDistribution, Precision, TensorSpec,
    tensor::{decode, decode_integer, encode},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{
    Error, Job,
    bound::{BoundParams, Bounds, factors, rounds_factors},
    compare::{Comparison, Expected, compare},
    reference_kernel, side,
};

/// A case with everything that is known before a device sees it.
pub(super) struct PreparedCase<'a> {
    pub(super) case: &'a Case,
    op: Arc<OpDef>,
    precision: Precision,
    pub(super) inputs: Vec<HostTensor>,
    pub(super) outputs: Vec<(String, TensorSpec)>,
    /// Flat indices of the elements that have a reference; `None` where all have.
    samples: Option<Vec<usize>>,
    references: Vec<Vec<f64>>,
    /// The outputs of wide integers, which the references do not hold.
    integers: Option<Integers>,
    /// One per output; none where every output must be exact.
    bounds: Vec<reference::Bound>,
    right: RefCell<Option<Right>>,
}

/// Makes the seed of the other data of a case.
const OTHER_DATA: u64 = 0x0ddb_a115_c0de_d00d;

/// Outputs that were found right, with their comparison: the same bytes need no second one.
struct Right {
    outputs: Vec<Vec<u8>>,
    comparisons: Vec<Comparison>,
}

impl<'a> PreparedCase<'a> {
    /// Makes a case's inputs from the seed.
    pub(super) fn inputs(case: &Case, seed: u64) -> Vec<HostTensor> {
        let tensors = case.tensors();
        tensors.map(|(name, tensor)| op::generate(tensor, seed, &case.id, &name)).collect()
    }

    /// Makes a case's inputs and evaluates its reference.
    pub(super) fn new(job: &Job<'_>, case: &'a Case) -> Result<Self, Error> {
        Self::on(job, case, job.seed)
    }

    /// Makes the case once more on other data.
    pub(super) fn other(job: &Job<'_>, case: &'a Case) -> Result<Self, Error> {
        Self::on(job, case, job.seed ^ OTHER_DATA)
    }

    /// Makes the inputs of the case on other data.
    pub(super) fn other_inputs(job: &Job<'_>, case: &Case) -> Vec<HostTensor> {
        Self::inputs(case, job.seed ^ OTHER_DATA)
    }

    fn on(job: &Job<'_>, case: &'a Case, seed: u64) -> Result<Self, Error> {
        let op = Arc::clone(&job.op);
        let inputs = Self::inputs(case, seed);
        let specs = op.infer(case)?;
        let names = op.output_names(specs.len());
        let outputs: Vec<(String, TensorSpec)> = names.into_iter().zip(specs).collect();
        let one_output = outputs.len() == 1;
        let samples = (one_output && reference::sampled(&op, case))
            .then(|| sample(&outputs[0].1, seed, usize::MAX));
        let integers = match case.distribution {
            InputDistribution::Wide => Integers::new(&op, case, &inputs)?,
            _ => None,
        };
        let reference = Reference::new(&op, case, &inputs)?;
        let evaluator = |call: &Call<'_>, inputs: &Inputs<'_>, quantity: Quantity| {
            if call.op.python_reference.is_none() {
                return reference_kernel::evaluate(&job.references, call, inputs);
            }
            let process = job.process.ok_or("no Python process was started for it")?;
            side::evaluate(process, &job.target, call, inputs, quantity)
        };
        let reference = reference.with_evaluator(&evaluator);
        let (references, bounds) = match &samples {
            Some(indices) => {
                let references = vec![reference.evaluate_at(0, indices)?];
                (references, vec![reference.bound_at(0, indices)?])
            }
            None => {
                let references = reference.evaluate()?;
                let precision = job.precision;
                let bounded =
                    |(_, spec): &(_, TensorSpec)| !equal_bits(&op, case, precision, spec.dtype);
                let bounds = if outputs.iter().any(bounded) {
                    bounds(&reference, &op, &references, precision)?
                } else {
                    Vec::new()
                };
                (references.into_iter().map(|all| all.iter().copied().collect()).collect(), bounds)
            }
        };
        Ok(Self {
            case,
            op,
            precision: job.precision,
            inputs,
            outputs,
            samples,
            references,
            integers,
            bounds,
            right: RefCell::new(None),
        })
    }

    /// Returns whether each element of the outputs is right or wrong by itself, and has a
    /// reference.
    pub(super) fn is_compared_by_element(&self) -> bool {
        self.samples.is_none() && self.integers.is_none() && !self.op.engine.leaves_choices()
    }

    pub(super) fn references(&self, output: usize) -> &[f64] {
        &self.references[output]
    }

    /// Keeps outputs that were found right.
    pub(super) fn remember(&self, outputs: Vec<Vec<u8>>, comparisons: Vec<Comparison>) {
        *self.right.borrow_mut() = Some(Right { outputs, comparisons });
    }

    /// Returns the comparison of outputs that are, byte by byte, outputs found right before.
    pub(super) fn known_right(&self, outputs: &[Vec<u8>]) -> Option<Vec<Comparison>> {
        let right = self.right.borrow();
        right
            .as_ref()
            .filter(|right| right.outputs == outputs)
            .map(|right| right.comparisons.clone())
    }

    /// Rewrites choices that the op leaves open (which of several equal elements an index names) to
    /// those of the reference.
    pub(super) fn canonical<'r>(&self, run: &'r [Vec<u8>]) -> Cow<'r, [Vec<u8>]> {
        if !self.op.engine.leaves_choices() || self.samples.is_some() {
            return Cow::Borrowed(run);
        }
        if let Some(integers) = &self.integers {
            return Cow::Owned(self.canonical_integers(integers, run));
        }
        let array = |spec: &TensorSpec, values: Vec<f64>| {
            let shaped = Array::from_shape_vec(spec.shape.clone(), values);
            shaped.expect("an output has as many elements as its shape says")
        };
        let specs = self.outputs.iter().map(|(_, spec)| spec);
        let decoded = specs.clone().zip(run).map(|(spec, bytes)| {
            let elements = bytes.chunks_exact(spec.dtype.size());
            array(spec, elements.map(|bytes| decode(spec.dtype, bytes)).collect())
        });
        let mut got: Vec<Array> = decoded.collect();
        let expected: Vec<Array> = specs
            .clone()
            .zip(&self.references)
            .map(|(spec, all)| array(spec, all.clone()))
            .collect();
        let reference = Reference::new(&self.op, self.case, &self.inputs);
        let reference = reference.expect("the case was evaluated on these inputs");
        self.op.canonicalise(self.case, reference.inputs(), &mut got, &expected);
        let encoded = specs.zip(got).map(|(spec, values)| {
            let mut bytes = vec![0; spec.storage_bytes()];
            for (value, bytes) in values.iter().zip(bytes.chunks_exact_mut(spec.dtype.size())) {
                encode(spec.dtype, *value, bytes);
            }
            bytes
        });
        Cow::Owned(encoded.collect())
    }

    fn canonical_integers(&self, integers: &Integers, run: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let types = self.outputs.iter().map(|(_, spec)| spec.dtype);
        let decoded = types.clone().zip(run).map(|(dtype, bytes)| {
            let elements = bytes.chunks_exact(dtype.size());
            elements.map(|bytes| decode_integer(dtype, bytes)).collect()
        });
        let mut got: Vec<Vec<i64>> = decoded.collect();
        integers.canonicalise(&self.op, self.case, &self.inputs, &mut got);
        let encoded = types.zip(got).map(|(dtype, values)| {
            values.iter().flat_map(|value| value.to_le_bytes()[..dtype.size()].to_vec()).collect()
        });
        encoded.collect()
    }

    /// Compares the bytes of one output with its reference.
    pub(super) fn compare(
        &self,
        index: usize,
        bytes: &[u8],
        unwritten: &dyn Fn(usize) -> bool,
    ) -> Comparison {
        let (name, spec) = &self.outputs[index];
        let exact = equal_bits(&self.op, self.case, self.precision, spec.dtype);
        let bounds = (!exact).then(|| {
            let bound = &self.bounds[index];
            let (case, precision) = (self.case, self.precision);
            Bounds::new(BoundParams::of(&self.op, case, precision, spec.dtype, bound, bound))
        });
        let names = self.case.tensors().map(|(name, _)| name.into_owned());
        let inputs: Vec<(String, &HostTensor)> = names.zip(&self.inputs).collect();
        let expected = Expected {
            name,
            dtype: spec.dtype,
            shape: &spec.shape,
            values: &self.references[index],
            integers: self.integers.as_ref().map(|all| &*all.outputs[index]),
            indices: self.samples.as_deref(),
            gathered: false,
            signed_zero: self.op.signed_zero,
            bounds,
            inputs: &inputs,
        };
        compare(&expected, bytes, unwritten)
    }
}

/// Returns whether an output must be the correctly rounded reference bit for bit: exact ops, and
/// sums of exact integers, whose order does not matter.
pub(super) fn equal_bits(op: &OpDef, case: &Case, precision: Precision, dtype: DType) -> bool {
    let rounding = EagerRounding::of(&op.name, dtype);
    if precision == Precision::Eager && rounding != EagerRounding::Result {
        return false;
    }
    // Fast math is for all types, shorter factors are for f32 alone.
    let in_reach = dtype == DType::F32 || precision == Precision::FastMathOk;
    let exact_sums = !(in_reach && rounds_factors(op, precision));
    op.is_exact(dtype) || (case.distribution == InputDistribution::Exact && exact_sums)
}

/// Returns the bounds of every output of a reference, with the allowance of the precision for
/// quotients.
pub(super) fn bounds(
    reference: &Reference<'_>,
    op: &OpDef,
    outputs: &[Array],
    precision: Precision,
) -> Result<Vec<reference::Bound>, Error> {
    let mut bounds = reference.bounds(outputs)?;
    let quotient = |dtype| EagerRounding::of(&op.name, dtype) == EagerRounding::Quotient;
    let mut inputs = reference.inputs().all().map(|(_, input)| input.dtype);
    if precision == Precision::Eager && inputs.any(quotient) {
        let jumps = reference.quotient_jumps(&outputs[0])?;
        bounds[0].jumps = Some(jumps.into_iter().collect());
    }
    // A graph bends: where a result is cut, shorter factors reach what roundings of f32 do not.
    let factor = factors(op, precision, DType::F32);
    if 0.0 < factor && op.definition.is_some() {
        let coarse = reference.coarse_spreads(outputs, factor)?;
        for (bound, coarse) in bounds.iter_mut().zip(coarse) {
            let both = bound.s.iter().zip(coarse);
            bound.s = both.map(|(s, coarse)| s.max(coarse)).collect();
        }
    }
    Ok(bounds)
}

/// Elements that a sampled case is judged at in random places.
const N_ANYWHERE: usize = 1024;

/// Rows and columns in whose crossings it is judged besides: those share their operands.
const CROSSINGS: [usize; 2] = [64, 48];

/// Elements of the last row, and of the last column, that it is judged at.
const N_EDGE: usize = 1024;

/// Chooses elements of a large output: its corners, crossings of rows and columns, elements of the
/// last row and column, and random ones.
///
/// `most`: rows, and columns, that may be touched besides those that cross.
pub(super) fn sample(spec: &TensorSpec, seed: u64, most: usize) -> Vec<usize> {
    let numel = spec.numel();
    let columns = spec.shape.last().copied().unwrap_or(1).max(1);
    let rows = numel / columns;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut some = |n: usize, extent: usize| -> Vec<usize> {
        if extent <= n {
            return (0..extent).collect();
        }
        (2..n).map(|_| rng.random_range(0..extent)).chain([0, extent - 1]).collect()
    };
    let mut indices = some(N_ANYWHERE.min(most / 2), numel);
    let [of_rows, of_columns] =
        [(CROSSINGS[0], rows), (CROSSINGS[1], columns)].map(|(n, extent)| some(n, extent));
    let crossing = |&row: &usize| of_columns.iter().map(move |column| row * columns + column);
    indices.extend(of_rows.iter().flat_map(crossing));
    let n_edge = N_EDGE.min(most / 2);
    indices.extend(some(n_edge, columns).iter().map(|column| (rows - 1) * columns + column));
    indices.extend(some(n_edge, rows).iter().map(|row| row * columns + columns - 1));
    indices.sort_unstable();
    indices.dedup();
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_wide_output_are_few_and_reach_its_edges() {
        let (rows, columns) = (2048, 128_256);
        let indices = sample(&TensorSpec::contiguous(DType::BF16, &[rows, columns]), 1, usize::MAX);
        assert!((4096..7000).contains(&indices.len()), "{}", indices.len());
        for corner in [0, columns - 1, (rows - 1) * columns, rows * columns - 1] {
            assert!(indices.contains(&corner), "{corner}");
        }
        let in_last_row = indices.iter().filter(|&&index| index / columns == rows - 1).count();
        let in_last_column =
            indices.iter().filter(|&&index| index % columns == columns - 1).count();
        assert!(in_last_row > 900 && in_last_column > 700, "{in_last_row} {in_last_column}");
        let of_columns: std::collections::BTreeSet<_> =
            indices.iter().map(|index| index % columns).collect();
        assert!(of_columns.len() < 2200, "{} columns have to be read", of_columns.len());
    }

    #[test]
    fn a_small_output_is_judged_as_a_whole() {
        assert_eq!(sample(&TensorSpec::contiguous(DType::F32, &[7, 9]), 1, usize::MAX).len(), 63);
    }
}
