//! Claims of a winner that was evaluated again.

use kgen_record::{CaseTiming, Speedup, Target, speedups};

use super::{Confirmation, ConfirmedSeed};

impl Confirmation {
    /// Returns the evaluations that count together: those of the GPU that made most of them, the
    /// first such. Times of different GPUs are never joined.
    #[must_use]
    pub fn on_one_gpu(&self) -> Vec<&ConfirmedSeed> {
        let beside = |seed: &ConfirmedSeed| -> Vec<&ConfirmedSeed> {
            self.seeds.iter().filter(|other| other.uuid() == seed.uuid()).collect()
        };
        // The last of equal ones is the greatest: in reverse, that is the first.
        let most = self.seeds.iter().rev().max_by_key(|seed| beside(seed).len());
        most.map_or_else(Vec::new, beside)
    }

    /// Returns the GPU that [`Self::on_one_gpu`] is about.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        self.on_one_gpu().first()?.target.as_ref()
    }

    /// Returns the times of the cases, joined over the processes on one GPU; none where one of
    /// these was not timed, or its samples were not kept.
    #[must_use]
    pub fn timings(&self) -> Vec<CaseTiming> {
        let parts: Vec<&[CaseTiming]> =
            self.on_one_gpu().into_iter().map(|seed| &seed.timings[..]).collect();
        speedups::across(&parts)
    }

    /// Returns the speedups over the cases that [`Self::timings`] has. Where samples were not kept,
    /// the median of all measurements of each baseline.
    #[must_use]
    pub fn speedups(&self) -> Vec<Speedup> {
        let joined = speedups(&self.timings());
        if joined.is_empty() { self.medians() } else { joined }
    }

    fn medians(&self) -> Vec<Speedup> {
        let seeds = self.on_one_gpu();
        let Some(first) = seeds.first() else { return Vec::new() };
        let again = |speedup: &Speedup| {
            let same = |other: &&Speedup| other.baseline == speedup.baseline;
            let of_seed = |seed: &&ConfirmedSeed| seed.speedups.iter().find(same).cloned();
            let mut all: Vec<Speedup> = seeds.iter().map(of_seed).collect::<Option<_>>()?;
            all.sort_by(|a, b| a.geomean.total_cmp(&b.geomean));
            Some(all.swap_remove(all.len() / 2))
        };
        first.speedups.iter().filter_map(again).collect()
    }
}

impl Confirmation {
    /// Returns it without the times of the cases, which take memory.
    pub(super) fn without_timings(&self) -> Self {
        let short = |seed: &ConfirmedSeed| ConfirmedSeed {
            seed: seed.seed,
            verdict: seed.verdict,
            counts: seed.counts,
            speedups: seed.speedups.clone(),
            flags: seed.flags.clone(),
            findings: seed.findings.clone(),
            target: seed.target.clone(),
            timings: Vec::new(),
        };
        Self { passed: self.passed, seeds: self.seeds.iter().map(short).collect() }
    }
}

impl ConfirmedSeed {
    fn uuid(&self) -> Option<&str> {
        self.target.as_ref()?.uuid.as_deref()
    }
}
