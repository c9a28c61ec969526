//! Shared by all sections of the page: the comparison, and the looks of its arms.

use super::key::{Key, keys};
use crate::{
    data::Arm,
    summary::{ArmSummary, Comparison, OpCell, OpSpeedup, Speeds},
};

/// A baseline, and the GPU it was timed on.
pub(crate) type Measured<'a> = (&'a str, Option<&'a str>);

/// The comparison, and how its arms look.
pub(crate) struct Context<'a> {
    pub(crate) arms: &'a [Arm],
    pub(crate) comparison: &'a Comparison,
    pub(crate) keys: Vec<Key>,
    /// Whether the page is about the only run of the only arm.
    pub(crate) is_one_run: bool,
}

impl<'a> Context<'a> {
    /// Gives the arms their looks.
    pub(crate) fn new(arms: &'a [Arm], comparison: &'a Comparison) -> Self {
        let keys = keys(comparison.arms.iter().map(|arm| arm.name.as_str()));
        Self { arms, comparison, keys, is_one_run: false }
    }

    /// For the page of one run, whose arm needs no letter.
    pub(crate) fn of_run(arms: &'a [Arm], comparison: &'a Comparison) -> Self {
        Self { is_one_run: true, ..Self::new(arms, comparison) }
    }

    /// Every arm's summary with its key.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = (&Key, &'a ArmSummary)> {
        self.keys.iter().zip(&self.comparison.arms)
    }

    /// The baseline that headline numbers are about.
    pub(crate) fn primary(&self) -> Option<&'a str> {
        self.comparison.baselines.first().map(String::as_str)
    }

    /// The speedup of an op over that baseline.
    pub(crate) fn primary_of<'c>(&self, cell: &'c OpCell) -> Option<&'c OpSpeedup> {
        cell.speedups.iter().find(|speedup| Some(&*speedup.baseline) == self.primary())
    }

    /// Each baseline in their order, and for each the GPUs by name.
    pub(crate) fn measured(&self) -> Vec<Measured<'a>> {
        let mut found = Vec::new();
        for baseline in &self.comparison.baselines {
            let mut gpus: Vec<Option<&str>> = self
                .comparison
                .arms
                .iter()
                .flat_map(|arm| &arm.speeds)
                .filter(|speeds| speeds.baseline == *baseline)
                .map(|speeds| speeds.gpu.as_deref())
                .collect();
            gpus.sort_unstable();
            gpus.dedup();
            found.extend(gpus.into_iter().map(|gpu| (baseline.as_str(), gpu)));
        }
        found
    }
}

/// An arm's speedups over one baseline on one GPU.
pub(crate) fn speeds_of<'a>(
    arm: &'a ArmSummary,
    (baseline, gpu): Measured<'_>,
) -> Option<&'a Speeds> {
    arm.speeds.iter().find(|speeds| speeds.baseline == baseline && speeds.gpu.as_deref() == gpu)
}
