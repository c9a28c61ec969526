//! Evaluation requests for controls and variants.

use kgen_ops::{
    op,
    suite::{self, Suite},
};
use kgen_record::{
    Case, DType, EvalRequest, Implementation, L2, Limits, Profile, Target, TimingRequest,
};
use std::collections::{BTreeMap, btree_map::Entry};

use super::Item;

/// Makes requests; the cases of an op are built once.
#[derive(Debug)]
pub struct Requests {
    /// Those that every item's cases come from; empty where each item decides.
    chosen: Vec<Suite>,
    named: BTreeMap<String, Suite>,
    seed: u64,
    cases: BTreeMap<(String, DType, String, bool), Vec<Case>>,
}

impl Requests {
    /// Loads suites: an op has its cases of the first that has it. Where none is named, they are of
    /// the item's suite, or of the default one. `seed` draws shapes and inputs.
    ///
    /// # Errors
    ///
    /// When a suite is unknown or broken.
    pub fn new(suites: &[String], seed: u64) -> Result<Self, suite::Error> {
        let chosen = suites.iter().map(|name| suite::load(name)).collect::<Result<_, _>>()?;
        Ok(Self { chosen, named: BTreeMap::new(), seed, cases: BTreeMap::new() })
    }

    /// Returns the cases of an item; those of a realistic size only for a GPU.
    ///
    /// # Errors
    ///
    /// When no suite has the op.
    fn cases(&mut self, item: &Item, on_gpu: bool) -> Result<Vec<Case>, suite::Error> {
        let suite = item.suite.as_deref().unwrap_or(suite::DEFAULT);
        let key = (item.op.clone(), item.dtype, suite.to_owned(), on_gpu);
        if let Some(known) = self.cases.get(&key) {
            return Ok(known.clone());
        }
        let has = |suite: &&Suite| suite.op(&item.op).is_ok();
        let suite = match self.chosen.iter().find(has).or(self.chosen.first()) {
            Some(chosen) => chosen,
            None => match self.named.entry(suite.to_owned()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(empty) => empty.insert(suite::load(suite)?),
            },
        };
        let mut cases = suite.cases(&item.op, Some(&[item.dtype]), self.seed)?;
        cases.retain(|case| on_gpu || !case.class.is_large());
        self.cases.insert(key, cases.clone());
        Ok(cases)
    }
}

/// Returns the request that judges an item. On a GPU the emulator screens only those kernels whose
/// fault it alone sees and those that ask to be timed, which alone are.
///
/// # Errors
///
/// When no suite has the item's op.
pub fn request(
    requests: &mut Requests,
    item: &Item,
    target: &Target,
    on_gpu: bool,
) -> Result<EvalRequest, suite::Error> {
    let timed = item.timed && on_gpu;
    Ok(EvalRequest {
        op: item.op.clone(),
        definition: None,
        candidate: Implementation::kernel(item.kernel.clone()),
        params: Default::default(),
        compile_only: false,
        count_code: false,
        profile: None,
        cases: requests.cases(item, on_gpu)?,
        seed: requests.seed,
        target: target.clone(),
        on_gpu,
        screen: item.emulator_only || timed,
        precision: item.precision,
        libraries: false,
        cutlass: false,
        emulation: kgen_record::Emulation::default(),
        limits: Limits::default(),
        timing: timed.then(|| timing(&item.op)),
    })
}

/// Returns what a timed item is timed against: the builtin kernel, as quickly as that can be done.
fn timing(op: &str) -> TimingRequest {
    let own = [kgen_baseline::BUILTIN.to_owned()];
    let baselines = op::find(op).ok().and_then(|op| kgen_baseline::requests(&own, op).ok());
    TimingRequest {
        baselines: baselines.unwrap_or_default(),
        profile: Profile::Screen,
        l2: L2::Cold,
        graph: false,
        do_bench: false,
        max_s: None,
        side_by_side: None,
    }
}
