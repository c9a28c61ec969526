//! How long the emulator looks at a kernel, and when it may blame the kernel for that.

use std::time::Instant;

use kgen_record::Case;

use super::Job;

/// Lane instructions per elementary operation that no sensible kernel needs: whoever spends more is
/// to blame. Software division, a `pow` in f64 or a linear search per element stay far below.
const BLAMED: u64 = 2_000;

/// Lane instructions per pair of elementary operations that a kernel may spend: sorting by counting
/// compares every element with every other one, and is slow but right.
const PER_PAIR: u64 = 40;

/// Lane instructions that are nobody's fault, however little there is to do: grids and blocks are
/// rounded up, and a block of idle threads costs as well.
const ALWAYS_FREE: u64 = 60_000_000;

/// Elementary operations that one lane instruction can do at most: `mma.m16n8k16` does 4,096 on 32
/// lanes.
const PER_LANE_INSTRUCTION: u64 = 128;

/// Lane instructions per elementary operation that a realistic case is taken to need: such a case is
/// there to be timed, and is worth no long attempt.
const REALISTIC_COST: u64 = 100;

/// Part of the bytes of other cases that a realistic one may have.
const REALISTIC_BYTES: u64 = 4;

/// Lane instructions of an evaluation, as a multiple of a case's allowance.
const CASES_IN_FULL: u64 = 10;

/// Seconds of an evaluation on the emulator after which no further case begins.
const MAX_SECONDS: f64 = 60.0;

/// Elementary operations up to which cases are judged though a smaller one has failed: more of them
/// teach the kernel's author little.
const AFTER_FAILURE: u64 = 100_000;

/// Cases that may run out of time before the others are left out.
pub(super) const MAX_TIMED_OUT: usize = 2;

/// The allowance of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Lane instructions.
    pub(super) lanes: u64,
    /// Elementary operations of the case.
    pub(super) operations: u64,
    /// Whether spending all of them is the kernel's fault, not that of the emulator's limit.
    pub(super) blames: bool,
}

impl Allowance {
    /// Returns the allowance of a case under a cap.
    pub(super) fn of(operations: u64, cap: u64) -> Self {
        let pairs = operations.saturating_mul(operations).saturating_mul(PER_PAIR);
        let sensible = operations.saturating_mul(BLAMED).max(pairs).max(ALWAYS_FREE);
        Self { lanes: sensible.min(cap), operations, blames: sensible <= cap }
    }

    /// Says why a case that spent everything is left out.
    pub(super) fn skipped(self) -> String {
        format!(
            "stopped after {} lane instructions, the emulator's limit for a case ({} elementary \
             operations); it had not ended, which proves nothing",
            rounded(self.lanes),
            rounded(self.operations)
        )
    }

    /// Says why the kernel is to blame.
    pub(super) fn blamed(self) -> String {
        format!(
            "it spent {} lane instructions on {} elementary operations",
            rounded(self.lanes),
            rounded(self.operations)
        )
    }
}

/// Returns the elementary operations of a case: its floating-point operations, or the elements that
/// it touches where those are more.
pub(super) fn operations(job: &Job<'_>, case: &Case) -> u64 {
    let outputs = job.op.infer(case).unwrap_or_default();
    let inputs = case.tensors().map(|(_, tensor)| tensor.spec.numel());
    let touched: usize = inputs.chain(outputs.iter().map(|spec| spec.numel())).sum();
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let touched = touched as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    let operations = job.op.work(case).flops.max(touched) as u64;
    operations
}

/// Says why a case cannot be on the emulator at all; `None` where it may be tried.
pub(super) fn refusal(job: &Job<'_>, case: &Case, operations: u64) -> Option<String> {
    let limits = &job.limits;
    let bytes: usize = case.tensors().map(|(_, tensor)| tensor.spec.storage_bytes()).sum();
    let is_realistic = case.class.is_large();
    let most = if is_realistic { limits.emu_bytes / REALISTIC_BYTES } else { limits.emu_bytes };
    if bytes as u64 > most {
        return Some(format!(
            "{} of inputs, over the emulator's budget of {}",
            mebibytes(bytes as u64),
            mebibytes(most)
        ));
    }
    // A reference that is a kernel has no tensor cores, and is worth no attempt.
    let is_kernel = job.op.reference_kernel.is_some();
    let cap = limits.emu_lane_instructions;
    let most = match (is_realistic, is_kernel) {
        (true, _) => cap / REALISTIC_COST,
        (false, true) => cap,
        (false, false) => cap.saturating_mul(PER_LANE_INSTRUCTION),
    };
    (operations > most).then(|| {
        format!(
            "{} elementary operations, over the emulator's budget of {} of them ({} lane \
             instructions)",
            rounded(operations),
            rounded(most),
            rounded(cap)
        )
    })
}

/// Says why a case is not tried in an evaluation that has a failed case.
pub(super) fn after_failure(operations: u64) -> Option<String> {
    (operations > AFTER_FAILURE).then(|| "a smaller case failed before it".to_owned())
}

/// The spending of an evaluation.
pub(super) struct Purse {
    lanes_left: u64,
    began: Instant,
    n_timed_out: usize,
    /// Cases that were stopped at the emulator's limit.
    stopped: Vec<(Extents, String)>,
}

/// The extents of a case's tensors, to a power of two.
type Extents = Vec<Option<u32>>;

fn extents(case: &Case) -> Extents {
    let shapes = case.tensors().flat_map(|(_, tensor)| tensor.spec.shape.iter().copied());
    shapes.map(usize::checked_ilog2).collect()
}

impl Purse {
    /// Returns a full one.
    pub(super) fn new(job: &Job<'_>) -> Self {
        let cap = job.limits.emu_lane_instructions;
        let lanes_left = cap.saturating_mul(CASES_IN_FULL);
        Self { lanes_left, began: Instant::now(), n_timed_out: 0, stopped: Vec::new() }
    }

    /// Notes that a case had not ended at the emulator's limit.
    pub(super) fn stop(&mut self, case: &Case) {
        self.stopped.push((extents(case), case.id.clone()));
    }

    /// Says why a case is not tried, if one of its size was stopped: in another type it costs the
    /// kernel as much.
    pub(super) fn stopped(&self, case: &Case) -> Option<String> {
        let like = extents(case);
        let (_, name) = self.stopped.iter().find(|(extents, _)| *extents == like)?;
        Some(format!("{name}, of the same size, was stopped at the emulator's limit"))
    }

    /// Adds the spending of a case; `timed_out`: it ran out of time.
    pub(super) fn spend(&mut self, lanes: u64, timed_out: bool) {
        self.lanes_left = self.lanes_left.saturating_sub(lanes);
        self.n_timed_out += usize::from(timed_out);
    }

    /// Says why no further case begins, if that is so.
    pub(super) fn spent(&self) -> Option<String> {
        if self.n_timed_out >= MAX_TIMED_OUT {
            return Some(format!("{MAX_TIMED_OUT} cases timed out before it"));
        }
        if self.lanes_left == 0 {
            return Some("budget of the evaluation: its lane instructions are spent".to_owned());
        }
        let seconds = self.began.elapsed().as_secs_f64();
        (seconds > MAX_SECONDS)
            .then(|| format!("budget of the evaluation: {MAX_SECONDS:.0} s are over"))
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Returns a count for people.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn rounded(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{:.0} k", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} M", count as f64 / 1e6),
        _ => format!("{:.1} G", count as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use kgen_record::{
        Arg, ArgValue, CaseClass, CaseOutcome, DType, Gen, InputDistribution, TensorArg, TensorSpec,
    };

    use super::{ALWAYS_FREE, Allowance, Case, Purse};

    fn sort(dtype: DType, shape: &[usize]) -> Case {
        let spec = TensorSpec::contiguous(dtype, shape);
        let value = ArgValue::Tensor(TensorArg { spec, generator: Gen::Ties });
        Case {
            id: format!("{dtype}{shape:?}"),
            op: "sort".to_owned(),
            count: None,
            dtype,
            class: CaseClass::Drawn,
            distribution: InputDistribution::Ties,
            names_ignored: false,
            in_place: false,
            args: vec![Arg { name: "self".to_owned(), value }],
        }
    }

    #[test]
    fn a_size_that_was_stopped_is_not_tried_in_another_type() {
        let (began, stopped) = (Instant::now(), Vec::new());
        let mut purse = Purse { lanes_left: 1, began, n_timed_out: 0, stopped };
        let tall = sort(DType::F32, &[65_600, 3]);
        assert_eq!(purse.stopped(&tall), None);
        purse.stop(&tall);
        let reason = purse.stopped(&sort(DType::BF16, &[65_700, 2])).unwrap();
        assert!(reason.contains(&tall.id), "{reason}");
        // Of more elements, but in few rows.
        assert_eq!(purse.stopped(&sort(DType::F32, &[3, 80_000])), None);
    }

    #[test]
    fn only_a_limit_of_the_kernels_own_blames_it() {
        // 33 million products and sums.
        let convolution = Allowance::of(66_000_000, 400_000_000);
        assert_eq!((convolution.lanes, convolution.blames), (400_000_000, false));
        let small = Allowance::of(1_000, 400_000_000);
        assert_eq!((small.lanes, small.blames), (ALWAYS_FREE, true));
        // A sort of so many elements that compares each with every other one.
        let middle = Allowance::of(3_000, 400_000_000);
        assert_eq!((middle.lanes, middle.blames), (360_000_000, true));
        assert!(!Allowance::of(18_000, 400_000_000).blames);
        assert!(!Allowance::of(0, ALWAYS_FREE - 1).blames);
    }

    #[test]
    fn a_case_beyond_a_limit_is_too_large_and_one_behind_a_failure_is_not() {
        let skipped = |reason: String| CaseOutcome::Skipped { reason };
        assert!(skipped(Allowance::of(1_000, 1).skipped()).is_too_large());
        let mut purse =
            Purse { lanes_left: 0, began: Instant::now(), n_timed_out: 0, stopped: Vec::new() };
        let case = sort(DType::F32, &[64, 1024]);
        purse.stop(&case);
        assert!(skipped(purse.stopped(&case).unwrap()).is_too_large());
        assert!(!skipped(super::after_failure(u64::MAX).unwrap()).is_too_large());
        assert!(!skipped(purse.spent().unwrap()).is_too_large());
    }
}
