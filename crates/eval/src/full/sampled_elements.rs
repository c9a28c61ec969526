//! Chosen elements of a full-size case with their f64 references.

use std::collections::BTreeSet;

use kgen_ops::{
    op::{Array, Locality, OpDef, Origin},
    reference::{Bound, Part, Reference, Runs, Subproblem},
};
use kgen_record::{
    Case, HostTensor, Precision, TensorSpec,
    tensor::{decode, encode},
};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::source::Values;
use crate::{
    Error,
    bound::{BoundParams, Bounds},
    compare::{Comparison, Expected, compare},
    prepared_case::{bounds, equal_bits, sample},
};

/// Elements that every data set is held against f64 at: 4,096 are left where some are drawn twice.
const N_POINTS: usize = 4096 + 128;

/// The same where nothing but f64 can say that the candidate is right: it is the trusted kernel.
const N_ALONE: usize = 1 << 16;

/// Input or output elements of the rows that are chosen.
const CHOSEN_ROWS: usize = 1 << 17;

/// The same where it takes as many for [`N_POINTS`] results: each is a fold of a row.
const CHOSEN_FOLDS: usize = 1 << 25;

/// Multiplications of the rows that are chosen where the elements of a row have them in common.
const CHOSEN_SHARED: usize = 1 << 24;

/// Input or output elements of the rows in which differences are followed up.
const FOLLOWED_ROWS: usize = 1 << 20;

/// Elements that a difference may be followed up at where each needs few others.
const MAX_FOLLOWED: usize = 1 << 14;

/// The same where each element is a sum over many.
const MAX_FOLLOWED_SUMS: usize = 1 << 12;

/// A case, its outputs, and how single elements of it are evaluated.
pub(super) struct ElementQuery<'a> {
    pub(super) op: &'a OpDef,
    pub(super) case: &'a Case,
    pub(super) precision: Precision,
    pub(super) outputs: &'a [(String, TensorSpec)],
}

impl ElementQuery<'_> {
    fn locality(&self) -> Locality {
        self.op.engine.locality(&self.op.call(self.case))
    }

    /// Returns the elements of the first output in one row, and the most that any tensor has there.
    fn row(&self) -> (usize, usize) {
        let Some(part) = Part::of(self.op, self.case, &[0]) else { return (1, 1) };
        let all = part.inputs.iter().chain(&part.outputs).map(Runs::numel);
        (part.outputs[0].numel().max(1), all.max().unwrap_or(1).max(1))
    }

    fn row_cost(&self) -> usize {
        self.row().1
    }

    /// Returns how many rows are computed where a row costs as much as one of its elements.
    fn shared_rows(&self) -> Option<usize> {
        let shared = self.op.engine.shared_by_row(&self.op.call(self.case))?;
        Some((CHOSEN_SHARED / shared.max(1)).max(4))
    }

    /// Returns how many rows, and how many columns of the factors of a product, are computed.
    fn lines(&self) -> Option<usize> {
        let call = self.op.call(self.case);
        let matrices = self.op.engine.matrices(&call)?;
        let left = call.tensor(matrices.left).ok()?;
        Some(CHOSEN_FOLDS / left.shape.last()?.max(&1))
    }

    /// Returns how many rows are chosen.
    fn chosen_rows(&self, wanted: usize) -> usize {
        let (width, cost) = self.row();
        let folds = wanted.div_ceil(width).min(CHOSEN_FOLDS / cost);
        (CHOSEN_ROWS / cost).max(folds).clamp(4, wanted)
    }

    /// Returns how many differing elements can be followed up.
    pub(super) fn capacity(&self) -> usize {
        match self.locality() {
            Locality::Elements => MAX_FOLLOWED,
            Locality::Rows(_) | Locality::Blocks(_) => {
                (FOLLOWED_ROWS / self.row_cost()).clamp(16, MAX_FOLLOWED)
            }
            Locality::Single | Locality::Whole => {
                let lines = self.shared_rows().or_else(|| self.lines());
                lines.map_or(MAX_FOLLOWED_SUMS, |lines| lines.clamp(64, MAX_FOLLOWED_SUMS))
            }
        }
    }

    /// Returns an element of the first output that is in the same row as an element of some output.
    pub(super) fn in_first(&self, output: usize, index: usize) -> usize {
        if output == 0 {
            return index;
        }
        // Outputs have equally many rows.
        let numel = |output: usize| self.outputs[output].1.numel();
        let Some(part) = Part::of(self.op, self.case, &[0]) else { return index };
        let width = |output: usize| part.outputs[output].numel().max(1);
        (index / width(output) * width(0)).min(numel(0) - 1)
    }

    /// Chooses elements of the first output: random ones, the first and the last, as many as are
    /// wanted, or rows that have as many.
    pub(super) fn choose(&self, seed: u64, alone: bool) -> Vec<usize> {
        let spec = &self.outputs[0].1;
        let (numel, wanted) = (spec.numel(), if alone { N_ALONE } else { N_POINTS });
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        if let Some(rows) = self.shared_rows() {
            return whole_rows(spec, rows, &mut rng);
        }
        let n = match self.locality() {
            Locality::Elements => wanted,
            // A row brings its other elements along.
            Locality::Rows(_) | Locality::Blocks(_) => self.chosen_rows(wanted),
            Locality::Single | Locality::Whole => {
                return sample(spec, seed, self.lines().unwrap_or(usize::MAX));
            }
        };
        random_elements(numel, n, &mut rng)
    }

    /// Evaluates the elements (ascending), with as many others as come with them.
    pub(super) fn points(
        &self,
        values: &Values,
        hosts: Option<&[HostTensor]>,
        indices: &[usize],
    ) -> Result<SampledElements, Error> {
        if let Some(points) = self.copied(values, indices) {
            return Ok(points);
        }
        if let Some(hosts) = hosts {
            return self.single(self.case, hosts, indices, indices);
        }
        if let Some(smaller) = Subproblem::of(self.op, self.case, indices) {
            let Subproblem { part, indices: own } = smaller;
            return self.single(&part.case, &gathered(&part, values), &own, indices);
        }
        let part = Part::of(self.op, self.case, indices).ok_or_else(|| Error::NoPart {
            op: self.op.name.clone(),
            case: self.case.id.clone(),
        })?;
        let hosts = gathered(&part, values);
        let reference = Reference::new(self.op, &part.case, &hosts)?;
        let evaluated = reference.evaluate()?;
        let exact = |(_, spec): &(_, TensorSpec)| self.exact(spec);
        let bounds = if self.outputs.iter().all(exact) {
            Vec::new()
        } else {
            bounds(&reference, self.op, &evaluated, self.precision)?
        };
        let expected = evaluated.into_iter().map(|all| all.iter().copied().collect()).collect();
        let runs = part.outputs.clone();
        Ok(SampledElements { runs, expected, bounds, part: Some((part, hosts)) })
    }

    /// Returns the elements where the op copies each from an input; `None` for other ops.
    fn copied(&self, values: &Values, indices: &[usize]) -> Option<SampledElements> {
        let read = |tensor: usize, index: usize| values.element(tensor, index);
        let origins = self.op.engine.origins(&self.op.call(self.case), indices, &read)?;
        let value = |origin: Origin| match origin {
            Origin::Element { input, index } => read(input, index),
            Origin::Constant(value) => value,
        };
        let expected = origins.into_iter().map(value).collect();
        let runs = vec![Runs { starts: indices.to_vec(), len: 1 }];
        Some(SampledElements { runs, expected: vec![expected], bounds: Vec::new(), part: None })
    }

    /// Evaluates single elements of the one output of a case, which the question's has at
    /// `indices`.
    fn single(
        &self,
        case: &Case,
        hosts: &[HostTensor],
        own: &[usize],
        indices: &[usize],
    ) -> Result<SampledElements, Error> {
        let reference = Reference::new(self.op, case, hosts)?;
        let expected = vec![reference.evaluate_at(0, own)?];
        let exact = self.exact(&self.outputs[0].1);
        let bounds = if exact { Vec::new() } else { vec![reference.bound_at(0, own)?] };
        let runs = vec![Runs { starts: indices.to_vec(), len: 1 }];
        Ok(SampledElements { runs, expected, bounds, part: None })
    }

    /// Returns whether an output must be equal bit for bit.
    pub(super) fn exact(&self, spec: &TensorSpec) -> bool {
        equal_bits(self.op, self.case, self.precision, spec.dtype)
    }

    fn bounds<'p>(
        &self,
        points: &'p SampledElements,
        output: usize,
        typical: &'p SampledElements,
    ) -> Option<Bounds<'p>> {
        let spec = &self.outputs[output].1;
        if self.exact(spec) {
            return None;
        }
        let Self { op, case, precision, .. } = *self;
        let (bound, typical) = (&points.bounds[output], &typical.bounds[output]);
        Some(Bounds::new(BoundParams::of(op, case, precision, spec.dtype, bound, typical)))
    }

    /// Returns the smallest bound at the points; 0 for an exact output.
    pub(super) fn least_bound(&self, points: &SampledElements, output: usize) -> f64 {
        let Some(bounds) = self.bounds(points, output, points) else { return 0.0 };
        let all = points.expected[output].iter().enumerate();
        let finite = all.filter(|(_, y)| y.is_finite()).map(|(at, &y)| bounds.at(at, y));
        finite.fold(f64::INFINITY, f64::min)
    }

    /// Compares a candidate's values at the points of every output.
    ///
    /// `typical`: points that stand for the whole output, which bounds are partly taken from.
    pub(super) fn compare(
        &self,
        points: &SampledElements,
        typical: &SampledElements,
        mut got: Vec<Vec<u8>>,
        poison: u8,
    ) -> Vec<Comparison> {
        self.canonicalise(points, &mut got);
        let compared = self.outputs.iter().enumerate().map(|(output, (name, spec))| {
            let indices: Vec<usize> = points.runs[output].elements().collect();
            let size = spec.dtype.size();
            let bytes = &got[output];
            let held = |place: usize| bytes[place * size..][..size].iter().all(|&b| b == poison);
            let expected = Expected {
                name,
                dtype: spec.dtype,
                shape: &spec.shape,
                values: &points.expected[output],
                integers: None,
                indices: Some(&indices),
                gathered: true,
                signed_zero: self.op.signed_zero,
                bounds: self.bounds(points, output, typical),
                inputs: &[],
            };
            compare(&expected, bytes, &held)
        });
        compared.collect()
    }

    /// Rewrites choices that the op leaves open to those of the reference.
    fn canonicalise(&self, points: &SampledElements, got: &mut [Vec<u8>]) {
        let Some((part, hosts)) = &points.part else { return };
        if !self.op.engine.leaves_choices() {
            return;
        }
        let specs = self.op.infer(&part.case).expect("the part was evaluated");
        let array = |spec: &TensorSpec, values: Vec<f64>| {
            let shaped = Array::from_shape_vec(spec.shape.clone(), values);
            shaped.expect("an output has as many elements as its shape says")
        };
        let decoded = specs.iter().zip(&*got).map(|(spec, bytes)| {
            let elements = bytes.chunks_exact(spec.dtype.size());
            array(spec, elements.map(|bytes| decode(spec.dtype, bytes)).collect())
        });
        let mut mine: Vec<Array> = decoded.collect();
        let expected = specs.iter().zip(&points.expected);
        let expected: Vec<Array> = expected.map(|(spec, all)| array(spec, all.clone())).collect();
        let reference = Reference::new(self.op, &part.case, hosts).expect("it was evaluated");
        self.op.canonicalise(&part.case, reference.inputs(), &mut mine, &expected);
        for ((spec, values), bytes) in specs.iter().zip(mine).zip(got) {
            let elements = bytes.chunks_exact_mut(spec.dtype.size());
            values.iter().zip(elements).for_each(|(&value, bytes)| {
                encode(spec.dtype, value, bytes);
            });
        }
    }
}

/// Returns random elements, the first and the last, ascending and each once.
pub(super) fn random_elements(numel: usize, n: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..n).map(|_| rng.random_range(0..numel)).collect();
    indices.extend([0, numel - 1]);
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// Returns all elements of some rows: the first, the last and random ones.
fn whole_rows(spec: &TensorSpec, n: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let width = spec.shape.last().copied().unwrap_or(1).max(1);
    let rows = spec.numel() / width;
    let random = (2..n).map(|_| rng.random_range(0..rows));
    let chosen: BTreeSet<usize> = random.chain([0, rows - 1]).collect();
    chosen.into_iter().flat_map(|row| row * width..(row + 1) * width).collect()
}

/// Computes the inputs of a part.
fn gathered(part: &Part, values: &Values) -> Vec<HostTensor> {
    let tensors = part.case.tensors().zip(&part.inputs).enumerate();
    tensors.map(|(at, ((_, tensor), runs))| values.host(at, runs, &tensor.spec)).collect()
}

/// Elements of every output with their references.
pub(super) struct SampledElements {
    /// Which they are.
    pub(super) runs: Vec<Runs>,
    expected: Vec<Vec<f64>>,
    /// One per output; none where every output must be exact.
    bounds: Vec<Bound>,
    /// The call that they are the results of; `None` where they were evaluated one by one.
    part: Option<(Part, Vec<HostTensor>)>,
}

impl SampledElements {
    /// Returns no elements: the references come later.
    pub(super) const fn none() -> Self {
        Self { runs: Vec::new(), expected: Vec::new(), bounds: Vec::new(), part: None }
    }

    /// Returns elements whose references were computed elsewhere.
    pub(super) const fn of(runs: Vec<Runs>, expected: Vec<Vec<f64>>, bounds: Vec<Bound>) -> Self {
        Self { runs, expected, bounds, part: None }
    }

    /// Returns the number of elements.
    pub(super) fn count(&self) -> u64 {
        self.runs.iter().map(|runs| runs.numel() as u64).sum()
    }
}
