//! Further cases of an op, derived from those of a request.

use kgen_ops::op::{OpDef, complete_case};
use kgen_record::{ArgValue, Case, CaseClass, DType, Gap, InputDistribution, TensorSpec};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Cases of a round.
pub(super) const PER_ROUND: usize = 12;

/// Tries per case of a round: not every op takes every derived call.
const TRIES: usize = 8;

/// Largest factor of an extent.
const MAX_FACTOR: usize = 64;

/// Elements that an extent may grow a tensor to.
const MAX_ELEMENTS: usize = 1 << 17;

/// Distributions whose values suit an op at any extent.
const AT_ANY_EXTENT: [InputDistribution; 4] = [
    InputDistribution::Normal,
    InputDistribution::Exact,
    InputDistribution::Ties,
    InputDistribution::Specials,
];

/// Makes the random numbers of a round.
const STREAM: u64 = 0x5eed_f0f0_c0fe_7a6e;

/// Derives cases that may close gaps: other extents, other values, other element types.
///
/// Every case is a call that the op takes, on values of a distribution that a case of the request has for the
/// same element type and options. Nothing is derived from drawn cases, whose extents are a secret, and
/// nothing where there is no gap that a case on the emulator may close. Equal arguments give equal
/// cases.
pub(super) fn further(
    op: &OpDef,
    cases: &[&Case],
    gaps: &[Gap],
    seed: u64,
    round: u32,
) -> Vec<Case> {
    let sources: Vec<&Case> = cases
        .iter()
        .copied()
        .filter(|case| case.class != CaseClass::Drawn && !case.class.is_large())
        .collect();
    let wanted = wanted(cases, gaps);
    if sources.is_empty() || wanted.is_empty() {
        return Vec::new();
    }
    let rng = ChaCha8Rng::seed_from_u64(seed ^ STREAM ^ (u64::from(round) << 32));
    let mut deriver = Deriver { op, cases, sources, rng };
    let mut derived: Vec<Case> = Vec::new();
    for turn in 0..PER_ROUND * TRIES {
        if derived.len() == PER_ROUND {
            break;
        }
        let dtype = wanted[turn % wanted.len()];
        let Some(mut case) = deriver.derive(dtype, derived.len()) else { continue };
        case.class = CaseClass::Further;
        case.id = id(&case, round as usize * PER_ROUND + derived.len() + 1);
        if complete_case(op, &mut case).is_err() {
            continue;
        }
        // New data of a known call are worth a try where there are few other calls.
        let is_known = || cases.iter().copied().chain(&derived).any(|known| alike(known, &case));
        if PER_ROUND * TRIES / 2 <= turn || !is_known() {
            derived.push(case);
        }
    }
    derived
}

/// Returns whether two cases differ in nothing but their data.
fn alike(a: &Case, b: &Case) -> bool {
    (a.dtype, a.distribution) == (b.dtype, b.distribution) && a.args == b.args
}

/// Returns the element types in which something is missing.
fn wanted(cases: &[&Case], gaps: &[Gap]) -> Vec<DType> {
    let mut dtypes: Vec<DType> = cases.iter().map(|case| case.dtype).collect();
    dtypes.sort_unstable();
    dtypes.dedup();
    let is_missed = |dtype: &DType, gap: &Gap| gap.dtypes.is_empty() || gap.dtypes.contains(dtype);
    let open: Vec<&Gap> = gaps.iter().filter(|gap| gap.kind.may_close()).collect();
    dtypes.retain(|dtype| open.iter().any(|gap| is_missed(dtype, gap)));
    dtypes
}

fn id(case: &Case, number: usize) -> String {
    let shapes = case.tensors().map(|(_, tensor)| {
        let extents: Vec<String> = tensor.spec.shape.iter().map(usize::to_string).collect();
        format!("[{}]", extents.join(","))
    });
    let shapes: Vec<String> = shapes.collect();
    format!("further-{number}:{}{}/{}", case.dtype, shapes.join(","), case.distribution.name())
}

/// The state of a derivation.
struct Deriver<'a> {
    op: &'a OpDef,
    /// All cases that passed.
    cases: &'a [&'a Case],
    /// Those that cases are derived from.
    sources: Vec<&'a Case>,
    rng: ChaCha8Rng,
}

impl Deriver<'_> {
    /// Tries to derive a case of an element type; every other one has other extents.
    fn derive(&mut self, dtype: DType, turn: usize) -> Option<Case> {
        let source = self.pick(|case| case.dtype == dtype);
        match turn % 4 {
            0 | 2 => self.stretched(source?),
            1 => self.with_other_values(source?),
            _ => match self.pick(|case| case.dtype != dtype) {
                Some(other) => in_type(other, dtype, self.cases),
                None => self.stretched(source?),
            },
        }
    }

    fn pick(&mut self, wanted: impl Fn(&Case) -> bool) -> Option<Case> {
        let among: Vec<&Case> = self.sources.iter().copied().filter(|case| wanted(case)).collect();
        (!among.is_empty()).then(|| among[self.rng.random_range(0..among.len())].clone())
    }

    /// Changes an extent, wherever it occurs: up to 64 times as large with an odd remainder, or
    /// smaller where that is too much.
    fn stretched(&mut self, case: Case) -> Option<Case> {
        let is_plain = |spec: &TensorSpec| spec.is_contiguous() && spec.offset == 0;
        let plain = case.tensors().all(|(_, tensor)| is_plain(&tensor.spec));
        if !plain || !AT_ANY_EXTENT.contains(&case.distribution) {
            return None;
        }
        let mut extents: Vec<usize> =
            case.tensors().flat_map(|(_, tensor)| tensor.spec.shape.clone()).collect();
        extents.retain(|extent| 2 <= *extent);
        if extents.is_empty() {
            return None;
        }
        let old = extents[self.rng.random_range(0..extents.len())];
        let largest = case.tensors().map(|(_, tensor)| tensor.spec.numel()).max()?;
        let most = (MAX_ELEMENTS / largest.max(1)).min(MAX_FACTOR);
        let new = if most < 2 {
            self.rng.random_range(1..old)
        } else {
            let factor = self.log_uniform(most);
            old * factor + 2 * self.rng.random_range(0..old / 2) + 1
        };
        [false, true].into_iter().find_map(|lists| {
            let case = with_extent(&case, old, new, lists);
            self.op.infer(&case).is_ok().then_some(case)
        })
    }

    /// Returns a factor of 2 to `most`, small ones as often as large ones.
    fn log_uniform(&mut self, most: usize) -> usize {
        let power = self.rng.random_range(1..=most.ilog2());
        let low = 1_usize << power;
        self.rng.random_range(low..=(2 * low - 1).min(most))
    }

    /// Draws other values, of the same distribution or of another.
    fn with_other_values(&mut self, mut case: Case) -> Option<Case> {
        let alike = |other: &&&Case| other.dtype == case.dtype && same_options(other, &case);
        let distributions: Vec<(InputDistribution, bool)> = self
            .cases
            .iter()
            .filter(alike)
            .map(|other| (other.distribution, other.names_ignored))
            .collect();
        if distributions.is_empty() {
            return None;
        }
        (case.distribution, case.names_ignored) =
            distributions[self.rng.random_range(0..distributions.len())];
        Some(case)
    }
}

/// Returns a case with another extent in its tensors, and in its lists of integers where asked for.
fn with_extent(case: &Case, old: usize, new: usize, lists: bool) -> Case {
    let mut case = case.clone();
    for tensor in case.tensors_mut() {
        let shape: Vec<usize> =
            tensor.spec.shape.iter().map(|&e| if e == old { new } else { e }).collect();
        tensor.spec = TensorSpec::contiguous(tensor.spec.dtype, &shape);
    }
    let [old, new] = [old, new].map(|extent| i64::try_from(extent).unwrap_or(i64::MAX));
    for arg in case.args.iter_mut().filter(|_| lists) {
        if let ArgValue::Ints(values) = &mut arg.value {
            values.iter_mut().filter(|value| **value == old).for_each(|value| *value = new);
        }
    }
    case
}

/// Returns a case of normal values in another floating-point type that cases are judged in.
fn in_type(mut case: Case, dtype: DType, cases: &[&Case]) -> Option<Case> {
    let is_float = |dtype| matches!(dtype, DType::F32 | DType::F16 | DType::BF16);
    let old = case.dtype;
    let known = cases.iter().any(|other| other.dtype == dtype && same_options(other, &case));
    if !known
        || !is_float(old)
        || !is_float(dtype)
        || case.distribution != InputDistribution::Normal
    {
        return None;
    }
    for tensor in case.tensors_mut().filter(|tensor| tensor.spec.dtype == old) {
        tensor.spec.dtype = dtype;
    }
    case.dtype = dtype;
    Some(case)
}

/// Returns whether two calls have equal arguments besides their tensors.
fn same_options(a: &Case, b: &Case) -> bool {
    let is_tensor = |value: &ArgValue| matches!(value, ArgValue::Tensor(_) | ArgValue::Tensors(_));
    a.args.len() == b.args.len()
        && a.args
            .iter()
            .zip(&b.args)
            .all(|(a, b)| a.value == b.value || (is_tensor(&a.value) && is_tensor(&b.value)))
}

#[cfg(test)]
mod tests {
    use super::{PER_ROUND, further};
    use kgen_ops::op::{self, complete_case};
    use kgen_ops::suite;
    use kgen_record::{Case, CaseClass, DType, Gap, GapKind};

    fn gap(kind: GapKind, dtypes: &[DType]) -> Gap {
        Gap { line: 1, text: String::new(), kind, dtypes: dtypes.to_vec(), grids: None }
    }

    fn derived(op: &str, gaps: &[Gap], seed: u64, round: u32) -> Vec<Case> {
        let cases = suite::load("opinfo").unwrap().cases(op, None, 1).unwrap();
        let cases: Vec<&Case> = cases.iter().collect();
        further(op::find(op).unwrap(), &cases, gaps, seed, round)
    }

    #[test]
    fn cases_are_calls_that_the_op_takes() {
        let line = [gap(GapKind::LineNeverExecuted, &[])];
        for op in ["relu", "softmax", "sum", "mm", "layer_norm", "cat", "conv2d", "gather", "where"]
        {
            let cases = derived(op, &line, 7, 0);
            assert_eq!(cases.len(), PER_ROUND, "{op}");
            for case in &cases {
                assert_eq!(case.class, CaseClass::Further);
                assert!(case.id.starts_with("further-"), "{}", case.id);
                let mut again = case.clone();
                complete_case(op::find(op).unwrap(), &mut again).unwrap();
                assert_eq!(again, *case);
            }
            let mut ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
            ids.dedup();
            assert_eq!(ids.len(), cases.len());
        }
    }

    #[test]
    fn seed_and_round_decide() {
        let line = [gap(GapKind::LineNeverExecuted, &[])];
        assert_eq!(derived("sum", &line, 7, 1), derived("sum", &line, 7, 1));
        assert_ne!(derived("sum", &line, 7, 1), derived("sum", &line, 8, 1));
        assert_ne!(derived("sum", &line, 7, 1), derived("sum", &line, 7, 2));
    }

    #[test]
    fn gaps_decide_what_is_drawn() {
        assert_eq!(derived("relu", &[], 7, 0), []);
        assert_eq!(derived("relu", &[gap(GapKind::FewBlocks, &[])], 7, 0), []);
        let half = [gap(GapKind::LoopNeverRepeated, &[DType::F16])];
        assert!(derived("relu", &half, 7, 0).iter().all(|case| case.dtype == DType::F16));
    }
}
