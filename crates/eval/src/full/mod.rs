//! Cases that are too large for references of all their elements.
//!
//! Inputs are made on the device from a counter ([`kgen_ops::op::Counter`]), so that the host knows
//! any of them without holding them. The candidate runs on several data sets; after each run every
//! output element is compared on the device with the `builtin` kernel of the op, which runs after
//! the candidate on the same data. Elements that differ by more than rounding are held against the
//! f64 reference, the farthest first, and so are some thousand chosen elements in any case.

mod device_kernels;
mod load;
mod module;
mod run;
mod sampled_elements;
mod source;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use kgen_ops::{
    op::{Locality, OpDef},
    reference::{Part, Subproblem},
};
use kgen_record::{Case, DType, HostTensor, Precision, TensorSpec};

use self::{
    sampled_elements::{ElementQuery, SampledElements},
    source::Values,
};
use super::{Error, Job};

pub(super) use device_kernels::{defines, kernels, source as kernel_source};
pub(super) use load::Loaded;
pub(super) use module::{is_of_module, reference as module_reference};
pub(super) use run::judge;

/// Elements of its largest tensor from which on a case is full-size.
pub(super) const FROM_ELEMENTS: usize = 1 << 20;

/// Input elements that the host may hold where elements of sums are evaluated one by one.
const MAX_ON_HOST: usize = 1 << 28;

/// Makes the seeds of the data sets after the first.
const NEXT_DATA: u64 = 0xc2b2_ae3d_27d4_eb4f;

/// Turns a data set's seed into that of its chosen elements.
const CHOICE: u64 = 0x1656_67b1_9e37_79f9;

/// Returns the kernel that full-size cases of a request are compared with.
pub(super) fn trusted(job: &Job<'_>) -> Option<&'static str> {
    if job.definition.is_some() { None } else { kgen_baseline::builtin(&job.request.op) }
}

/// Returns the element types that the tensors of a case have.
pub(super) fn dtypes(op: &OpDef, case: &Case) -> Vec<DType> {
    let outputs = op.infer(case).unwrap_or_default();
    let inputs = case.tensors().map(|(_, tensor)| tensor.spec.dtype);
    inputs.chain(outputs.iter().map(|spec| spec.dtype)).collect()
}

/// Returns whether a case is judged on the device, where a trusted kernel takes it.
pub(super) fn is_full_size(op: &OpDef, case: &Case) -> bool {
    if !case.class.is_large() {
        return false;
    }
    let Ok(outputs) = op.infer(case) else { return false };
    let inputs = || case.tensors().map(|(_, tensor)| tensor.spec.numel());
    let largest = inputs().chain(outputs.iter().map(TensorSpec::numel)).max().unwrap_or(0);
    if largest < FROM_ELEMENTS || outputs.iter().any(|spec| spec.numel() == 0) {
        return false;
    }
    let known = outputs.iter().all(|spec| !spec.dtype.is_fp8()) && Values::new(case, 0).is_some();
    known
        && match op.engine.locality(&op.call(case)) {
            Locality::Elements | Locality::Rows(_) | Locality::Blocks(_) => {
                Part::of(op, case, &[0]).is_some()
            }
            Locality::Single => {
                let fits = inputs().sum::<usize>() <= MAX_ON_HOST;
                outputs.len() == 1 && (fits || has_parts(op, case))
            }
            Locality::Whole => false,
        }
}

/// Returns whether single elements of a case are those of a smaller call, or copies of elements of
/// an input: the host then needs no whole inputs.
fn has_parts(op: &OpDef, case: &Case) -> bool {
    Subproblem::of(op, case, &[0]).is_some()
        || op.engine.origins(&op.call(case), &[0], &|_, _| 0.0).is_some()
}

/// A full-size case with everything that is computed on the host before it runs.
pub(super) struct Prepared<'a> {
    pub(super) case: &'a Case,
    pub(super) outputs: Vec<(String, TensorSpec)>,
    op: Arc<OpDef>,
    precision: Precision,
    sets: Vec<DataSet>,
    /// Values of the baseline's inputs.
    baseline: Values,
    /// Whether the trusted kernel is the one that is judged.
    alone: bool,
    /// Makes the choice of elements where the references come from the device.
    chosen: u64,
    /// Digests of the outputs that were right, per data set: the same bytes are right again.
    right: Mutex<Vec<Option<Digest>>>,
}

/// Words that depend on every byte of each output.
type Digest = Vec<Vec<u64>>;

struct DataSet {
    values: Values,
    /// All inputs, where elements are evaluated one by one.
    hosts: Option<Vec<HostTensor>>,
    points: SampledElements,
}

impl<'a> Prepared<'a> {
    /// Chooses elements and evaluates them, on every data set.
    pub(super) fn new(job: &Job<'_>, case: &'a Case) -> Result<Self, Error> {
        let op = Arc::clone(&job.op);
        let specs = op.infer(case)?;
        let outputs: Vec<_> = op.output_names(specs.len()).into_iter().zip(specs).collect();
        let by_module = is_of_module(&op, case);
        let alone = trusted(job) == Some(job.source());
        let question = ElementQuery { op: &op, case, precision: job.precision, outputs: &outputs };
        let values = |seed: u64| {
            let missing = || Error::NoPart { op: op.name.clone(), case: case.id.clone() };
            Values::new(case, seed).ok_or_else(missing)
        };
        let one_by_one =
            op.engine.locality(&op.call(case)) == Locality::Single && !has_parts(&op, case);
        let mut sets = Vec::new();
        for set in 0..u64::from(job.limits.data_sets.max(1)) {
            let seed = job.seed.wrapping_add(set.wrapping_mul(NEXT_DATA));
            let values = values(seed)?;
            if by_module {
                let points = SampledElements::none();
                sets.push(DataSet { values, hosts: None, points });
                continue;
            }
            let hosts = one_by_one.then(|| values.all(case));
            let chosen = question.choose(seed ^ CHOICE, alone);
            let points = question.points(&values, hosts.as_deref(), &chosen)?;
            sets.push(DataSet { values, hosts, points });
        }
        let baseline = values(job.seed ^ super::timing::BASELINE_SEED)?;
        let precision = job.precision;
        let chosen = job.seed ^ CHOICE;
        let right = Mutex::new(vec![None; sets.len()]);
        Ok(Self { case, outputs, op, precision, sets, baseline, alone, chosen, right })
    }

    fn question(&self) -> ElementQuery<'_> {
        let Self { case, op, precision, outputs, .. } = self;
        ElementQuery { op, case, precision: *precision, outputs }
    }
}
