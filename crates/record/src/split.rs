//! Where the time of a run's evaluations went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Evaluation, Stage};

/// Seconds by purpose, summed over all evaluations and workers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    pub evaluations: u32,
    /// Making inputs and references, where an evaluation waited for it.
    pub references_s: f64,
    /// Guards, plans, NVRTC and the binding of arguments.
    pub compile_s: f64,
    /// Cases on the emulator, comparisons included.
    pub emulate_s: f64,
    /// Cases on the GPU, transfers and comparisons included.
    pub gpu_s: f64,
    pub timing_s: f64,
    /// Waiting for a free worker, starting one, and talking to it.
    pub waiting_s: f64,
    /// CPU time of the parent process itself.
    pub parent_s: f64,
    /// From the first evaluation to the end of the run.
    pub wall_s: f64,
    /// Workers that compile and emulate.
    pub cpu_workers: u32,
    pub gpu_workers: u32,
}

impl Split {
    /// Adds an evaluation that took `wall_s` in all.
    pub fn add(&mut self, evaluation: &Evaluation, wall_s: f64) {
        let mut in_worker = 0.0;
        for time in &evaluation.stage_times {
            in_worker += time.seconds;
            let part = match time.stage {
                Stage::Extract | Stage::Guard | Stage::Plan | Stage::Compile | Stage::Link => {
                    &mut self.compile_s
                }
                Stage::Reference => &mut self.references_s,
                Stage::Emulate | Stage::Done => &mut self.emulate_s,
                Stage::Execute | Stage::Profile => &mut self.gpu_s,
                Stage::Time => &mut self.timing_s,
            };
            *part += time.seconds;
        }
        self.evaluations += 1;
        self.waiting_s += (wall_s - in_worker).max(0.0);
    }

    /// Returns the share of the workers' time in which none of the above was done.
    #[must_use]
    pub fn idle(&self) -> f64 {
        let busy = self.references_s + self.compile_s + self.emulate_s + self.gpu_s + self.timing_s;
        let all = self.wall_s * f64::from(self.cpu_workers + self.gpu_workers);
        if all > 0.0 { (1.0 - busy / all).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns the split in one line for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let parts = [
            ("references", self.references_s),
            ("compile", self.compile_s),
            ("emulate", self.emulate_s),
            ("gpu", self.gpu_s),
            ("timing", self.timing_s),
            ("waiting for workers", self.waiting_s),
            ("parent", self.parent_s),
        ];
        let parts = parts.iter().filter(|(_, seconds)| *seconds >= 0.005);
        let parts: Vec<String> =
            parts.map(|(name, seconds)| format!("{name} {seconds:.2} s")).collect();
        let noun = if self.evaluations == 1 { "evaluation" } else { "evaluations" };
        let parts =
            if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        format!(
            "{} {noun} in {:.2} s on {} + {} workers (cpu + gpu), idle {:.0} %{parts}",
            self.evaluations,
            self.wall_s,
            self.cpu_workers,
            self.gpu_workers,
            100.0 * self.idle()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_workers() {
        let split = Split {
            evaluations: 2,
            references_s: 1.0,
            emulate_s: 2.0,
            wall_s: 3.0,
            cpu_workers: 2,
            ..Split::default()
        };
        assert!((split.idle() - 0.5).abs() < 1e-12);
        let text = split.describe();
        assert!(text.contains("idle 50 %: references 1.00 s, emulate 2.00 s"), "{text}");
        assert!((Split::default().idle()).abs() < 1e-12);
        assert!(Split::default().describe().ends_with("idle 0 %"));
    }
}
