//! What the judge is asked about an item.

use std::collections::BTreeMap;

use crate::{
    record::{Case, CaseClass, DType, EvalRequest, Limits, Target},
    suite::{self, Suite},
};

use super::Item;

/// Lane instructions of one case: a kernel that never ends is to be stopped soon.
const LANE_INSTRUCTIONS: u64 = 60_000_000;

/// Makes requests; the cases of an op are built once.
#[derive(Debug)]
pub struct Requests {
    suites: Vec<Suite>,
    seed: u64,
    cases: BTreeMap<(String, DType), Vec<Case>>,
}

impl Requests {
    /// Loads suites, the default one where none is named; an op has its cases of the first that has it. `seed` draws shapes and inputs.
    ///
    /// # Errors
    ///
    /// When a suite is unknown or broken.
    pub fn new(suites: &[String], seed: u64) -> Result<Self, suite::Error> {
        let own = || vec![suite::DEFAULT.to_owned()];
        let names = if suites.is_empty() { own() } else { suites.to_vec() };
        let suites = names.iter().map(|name| suite::load(name)).collect::<Result<_, _>>()?;
        Ok(Self { suites, seed, cases: BTreeMap::new() })
    }

    /// Returns the cases of an op in one element type, without those of a realistic size.
    ///
    /// # Errors
    ///
    /// When no suite has the op.
    fn cases(&mut self, op: &str, dtype: DType) -> Result<Vec<Case>, suite::Error> {
        let key = (op.to_owned(), dtype);
        if let Some(known) = self.cases.get(&key) {
            return Ok(known.clone());
        }
        let has = |suite: &&Suite| suite.op(op).is_ok();
        let suite = self.suites.iter().find(has).unwrap_or(&self.suites[0]);
        let mut cases = suite.cases(op, Some(&[dtype]), self.seed)?;
        cases.retain(|case| case.class != CaseClass::Realistic);
        self.cases.insert(key, cases.clone());
        Ok(cases)
    }
}

/// Returns the request that judges an item. On a GPU the emulator screens only those kernels whose
/// fault it alone sees.
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
    Ok(EvalRequest {
        op: item.op.clone(),
        definition: None,
        kernel: item.kernel.clone(),
        implementation: None,
        params: Default::default(),
        count_code: false,
        profile: None,
        cases: requests.cases(&item.op, item.dtype)?,
        seed: requests.seed,
        target: target.clone(),
        on_gpu,
        screen: item.emulator_only,
        precision: crate::record::Precision::Strict,
        emulation: crate::record::Emulation::default(),
        limits: Limits { emu_lane_instructions: LANE_INSTRUCTIONS, ..Limits::default() },
        timing: None,
    })
}
