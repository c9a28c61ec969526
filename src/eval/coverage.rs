//! Joins what launches reached of each compile variant to what cases reached of the kernel file.

use std::collections::{BTreeMap, BTreeSet};

use ptx_emu::GapKind;

use crate::{
    device::{EmuDevice, ModuleId},
    record::{Coverage, DType, Gap},
};

use super::Program;

/// What is known of a line or loop: for each set of element types whether it was reached.
type Reached<'a> = BTreeMap<(u32, GapKind), BTreeMap<&'a [(String, DType)], bool>>;

/// Returns what the cases reached; `None` where no variant was run.
///
/// A line that one variant of some element types reached counts as reached for these types: the others
/// differ in constants of the plan.
pub(super) fn of(
    kernel: &str,
    program: &Program,
    device: &EmuDevice,
    modules: &[Option<ModuleId>],
) -> Option<Coverage> {
    let used: BTreeSet<usize> = program.cases.iter().map(|case| case.variant).collect();
    let mut reached = Reached::new();
    for variant in used {
        let Some(module) = modules.get(variant).copied().flatten() else { continue };
        let types = program.variants[variant].types.as_slice();
        for (line, executed) in device.lines(module) {
            let key = (line, GapKind::LineNeverExecuted);
            *reached.entry(key).or_default().entry(types).or_default() |= executed;
        }
        for (line, repeated) in device.loops(module) {
            let key = (line, GapKind::LoopNeverRepeated);
            *reached.entry(key).or_default().entry(types).or_default() |= repeated;
        }
    }
    let is_line = |kind: GapKind| kind == GapKind::LineNeverExecuted;
    let lines = reached.keys().filter(|(_, kind)| is_line(*kind)).count();
    let gaps = gaps(kernel, &reached);
    let unreached = gaps.iter().filter(|gap| is_line(gap.kind)).count();
    (0 < lines).then(|| Coverage { lines, executed: lines - unreached, gaps })
}

fn gaps(kernel: &str, reached: &Reached<'_>) -> Vec<Gap> {
    let text = |line: u32| {
        let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
        index.and_then(|index| kernel.lines().nth(index)).unwrap_or_default().trim().to_owned()
    };
    let mut gaps = Vec::new();
    for (&(line, kind), variants) in reached {
        let missed: Vec<_> = variants.iter().filter(|(_, reached)| !**reached).collect();
        if missed.is_empty() {
            continue;
        }
        let mut dtypes: Vec<DType> = Vec::new();
        if missed.len() < variants.len() {
            dtypes = missed.iter().filter_map(|(types, _)| Some(types.first()?.1)).collect();
            dtypes.sort_unstable();
            dtypes.dedup();
        }
        gaps.push(Gap { line, text: text(line), kind, dtypes });
    }
    gaps
}
