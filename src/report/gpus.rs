//! Results of a run on each of its GPUs.

use kgen_record::{Evaluation, Level};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    TextTable,
    scores::{MeanSpeedup, mean_speedups_on},
    summary::{OpSummary, Summary},
    text::mean_speedup_text,
};

/// The GPU that an evaluation ran on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct GpuId {
    /// Its name, for example `NVIDIA H200`.
    pub name: String,
    pub uuid: String,
}

/// A GPU with the ops whose best attempt was judged on it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GpuSummary {
    #[serde(flatten)]
    pub gpu: GpuId,
    pub ops: Vec<String>,
    /// Those of them that passed.
    pub n_passed: usize,
    /// Means over the ops, one entry per baseline.
    pub speedups: Vec<MeanSpeedup>,
}

/// Returns the GPU that an evaluation ran on; `None` where it reached none.
pub(super) fn gpu_of(evaluation: &Evaluation) -> Option<GpuId> {
    let ran = matches!(evaluation.level, Level::Cuda | Level::EmuCuda);
    let target = &evaluation.target;
    let uuid = target.uuid.clone().filter(|_| ran)?;
    Some(GpuId { name: target.name.clone(), uuid })
}

/// Groups ops by the GPU of their best attempt.
pub(super) fn by_gpu(ops: &[OpSummary]) -> Vec<GpuSummary> {
    let mut gpus: Vec<&GpuId> = ops.iter().filter_map(|op| op.gpu.as_ref()).collect();
    gpus.sort();
    gpus.dedup();
    let summary = |gpu: &GpuId| {
        let of_gpu = || ops.iter().filter(|op| op.gpu.as_ref() == Some(gpu));
        GpuSummary {
            gpu: gpu.clone(),
            ops: of_gpu().map(|op| op.op.clone()).collect(),
            n_passed: of_gpu().filter(|op| op.passed()).count(),
            speedups: mean_speedups_on(ops, |op| op.gpu.as_ref() == Some(gpu)),
        }
    };
    gpus.into_iter().map(summary).collect()
}

/// Returns the table of GPUs; `None` where all ops were judged on the same.
#[must_use]
pub fn gpu_table(summary: &Summary) -> Option<TextTable> {
    if summary.gpus.len() < 2 {
        return None;
    }
    let mut table = TextTable::new(&["GPU", "name", ">ops", ">passed", "speedup"]).yielding(&[
        ("name", 10),
        ("ops", 0),
        ("GPU", 12),
    ]);
    for GpuSummary { gpu, ops, n_passed, speedups } in &summary.gpus {
        table.row(vec![
            gpu.uuid.clone(),
            gpu.name.clone(),
            ops.len().to_string(),
            n_passed.to_string(),
            mean_speedup_text(speedups),
        ]);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{scores::mean_speedups, summary::unstarted};
    use kgen_record::{Speedup, Verdict};

    fn op(name: &str, gpu: Option<(&str, &str)>, speedup: f64) -> OpSummary {
        let gpu = gpu.map(|(name, uuid)| GpuId { name: name.to_owned(), uuid: uuid.to_owned() });
        OpSummary {
            gpu,
            verdict: Some(Verdict::Passed),
            speedups: vec![Speedup::new("aten", speedup, 1)],
            ..unstarted(name)
        }
    }

    #[test]
    fn ops_are_grouped_by_uuid_and_only_gpus_of_one_name_share_a_mean() {
        let h200 = |uuid| Some(("NVIDIA H200", uuid));
        let mut ops = vec![op("relu", h200("GPU-b"), 2.0), op("add", h200("GPU-a"), 8.0)];
        ops.extend([op("mul", h200("GPU-b"), 4.0), unstarted("sum")]);
        let text = mean_speedup_text(&mean_speedups(&ops));
        assert_eq!(text, "4.00x vs aten", "the third root of 64");
        let groups = by_gpu(&ops);
        let uuids: Vec<&str> = groups.iter().map(|group| group.gpu.uuid.as_str()).collect();
        assert_eq!(uuids, ["GPU-a", "GPU-b"]);
        assert_eq!(
            (groups[1].ops.as_slice(), groups[1].n_passed),
            (&["relu", "mul"].map(str::to_owned)[..], 2)
        );
        assert_eq!(mean_speedup_text(&groups[1].speedups), "2.83x vs aten");

        ops.push(op("mm", Some(("NVIDIA L4", "GPU-c")), 100.0));
        let text = mean_speedup_text(&mean_speedups(&ops));
        assert_eq!(text, "4.00x vs aten on NVIDIA H200, 100.0x vs aten on NVIDIA L4");
    }
}
