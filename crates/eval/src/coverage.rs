//! Joins the coverage of launches, per compile variant, to the coverage of cases, per kernel file.

use std::collections::{BTreeMap, BTreeSet};

use kgen_device::{EmuDevice, ModuleId};
use kgen_kernel::{KernelFile, plan};
use kgen_record::{
    BufferRef, Coverage, DType, EvalRequest, Gap, GapKind, Grids, ResolvedPlan, Step,
};

use super::{CaseProgram, Program, builder::describe_args};

/// Blocks along x that 16 bits count.
const MANY_BLOCKS: u32 = 65_535;

/// Type macros of a compile variant.
type Types = [(String, DType)];

/// For each line, loop or branch, and each type of the first tensor, the ways that were reached.
type Reached = BTreeMap<(u32, GapKind), BTreeMap<Option<DType>, Ways>>;

/// Parts to be reached: one thing, or both ways of a branch.
type Ways = [bool; 2];

/// The parts of the plan that the cases which ran have reached.
#[derive(Debug, Default)]
pub(super) struct Launches {
    /// Most blocks along x that each `launch` ran with, by line.
    blocks: BTreeMap<u32, u32>,
    /// Conditions, by line, and whether they held.
    conditions: BTreeSet<(u32, bool)>,
    /// The steps of each plan.
    outlines: BTreeSet<Outline>,
}

/// The steps of a plan without their numbers: launches and library calls by line, others by buffer.
type Outline = BTreeSet<(Option<u32>, Option<BufferRef>)>;

fn outline(program: &CaseProgram) -> Outline {
    let step = |step: &Step| match step {
        Step::Launch { line, .. } => (Some(*line), None),
        Step::Gemm { call } => (call.line, None),
        Step::Convolution { call } => (Some(call.line), None),
        Step::Copy { target, .. } | Step::Fill { target, .. } => (None, Some(*target)),
    };
    program.plan.steps.iter().map(step).collect()
}

impl Launches {
    /// Notes the plan of a case that ran.
    pub(super) fn add(&mut self, program: &CaseProgram) {
        for (line, grid) in launches(&program.plan) {
            let most = self.blocks.entry(line).or_default();
            *most = (*most).max(grid);
        }
        self.conditions.extend(&program.plan.conditions);
        self.outlines.insert(outline(program));
    }

    /// Counts the `launch` calls of a plan that no case has made.
    pub(super) fn n_new(&self, plan: &ResolvedPlan) -> usize {
        let lines: BTreeSet<u32> = launches(plan).map(|(line, _)| line).collect();
        lines.iter().filter(|line| !self.blocks.contains_key(line)).count()
    }
}

/// Returns the launches of a plan: line and blocks along x.
pub(super) fn launches(plan: &ResolvedPlan) -> impl Iterator<Item = (u32, u32)> {
    plan.steps.iter().filter_map(|step| match step {
        Step::Launch { line, grid, .. } => Some((*line, grid[0])),
        Step::Copy { .. } | Step::Gemm { .. } | Step::Convolution { .. } | Step::Fill { .. } => {
            None
        }
    })
}

/// Returns the coverage of the cases; `None` where no variant was run.
///
/// `modules`: the variants that were loaded. A line that one variant reached counts as reached for the
/// type of its first tensor: the others differ in constants of the plan, or in types of other tensors.
pub(super) fn of(
    request: &EvalRequest,
    program: &Program,
    device: &EmuDevice,
    modules: &[(&Types, ModuleId)],
    launches: &Launches,
) -> Option<Coverage> {
    let mut reached = Reached::new();
    for &(types, module) in modules {
        let dtype = types.first().map(|(_, dtype)| *dtype);
        let mut add = |line: u32, kind: GapKind, ways: Ways| {
            let known = reached.entry((line, kind)).or_default().entry(dtype).or_default();
            *known = [known[0] | ways[0], known[1] | ways[1]];
        };
        for (line, executed) in device.lines(module) {
            add(line, GapKind::LineNeverExecuted, [executed; 2]);
        }
        for (line, repeated) in device.loops(module) {
            add(line, GapKind::LoopNeverRepeated, [repeated; 2]);
        }
        for (line, edges) in device.branches(module) {
            add(line, GapKind::BranchOneWay, [edges.taken, edges.passed]);
        }
    }
    let is_line = |kind: GapKind| kind == GapKind::LineNeverExecuted;
    let lines = reached.keys().filter(|(_, kind)| is_line(*kind)).count();
    let mut gaps = launch_gaps(request, program, launches);
    gaps.extend(code_gaps(request.source(), &reached));
    gaps.sort_by_key(|gap| (!gap.kind.may_close(), gap.line, gap.kind));
    let unreached = gaps.iter().filter(|gap| is_line(gap.kind) && gap.dtypes.is_empty()).count();
    (0 < lines).then(|| Coverage { lines, executed: lines - unreached, further: 0, gaps })
}

/// Names the `launch` calls that no case made, or none with many blocks where the plan has such, and
/// conditions of the plan that no case decided as one that did not run does.
fn launch_gaps(request: &EvalRequest, program: &Program, ran: &Launches) -> Vec<Gap> {
    let Ok(file) = KernelFile::parse(request.source()) else { return Vec::new() };
    let gap = |line, kind| Gap {
        line,
        text: text(request.source(), line),
        kind,
        dtypes: Vec::new(),
        grids: None,
    };
    let largest = |line: u32| {
        let of_case = |case: &CaseProgram| {
            let blocks = launches(&case.plan).filter(|(other, _)| *other == line);
            Some((blocks.map(|(_, blocks)| blocks).max()?, case.case))
        };
        // A GPU runs the large cases.
        program.cases.iter().filter_map(of_case).max().filter(|_| !request.on_gpu)
    };
    let grids = |ran, (planned, case): (u32, usize)| Grids {
        ran,
        planned,
        args: describe_args(&request.cases[case]),
    };
    let mut gaps = Vec::new();
    for line in plan::launch_lines(&file).into_iter().collect::<BTreeSet<u32>>() {
        let (kind, grids) = match ran.blocks.get(&line) {
            None => (GapKind::LaunchNeverRan, largest(line).map(|planned| grids(0, planned))),
            Some(&ran) if ran <= MANY_BLOCKS => {
                let Some(planned) = largest(line).filter(|(most, _)| MANY_BLOCKS < *most) else {
                    continue;
                };
                (GapKind::FewBlocks, Some(grids(ran, planned)))
            }
            Some(_) => continue,
        };
        gaps.push(Gap { grids, ..gap(line, kind) });
    }
    // A GPU runs the large cases.
    if !request.on_gpu {
        // One that changes numbers alone leaves the same code to run.
        let others = program.cases.iter().filter(|case| !ran.outlines.contains(&outline(case)));
        let planned = others.flat_map(|case| &case.plan.conditions);
        let missed: BTreeSet<u32> =
            planned.filter(|way| !ran.conditions.contains(way)).map(|(line, _)| *line).collect();
        gaps.extend(missed.into_iter().map(|line| gap(line, GapKind::PlanConditionOneWay)));
    }
    gaps
}

/// Returns a line of the kernel file.
fn text(kernel: &str, line: u32) -> String {
    let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
    index.and_then(|index| kernel.lines().nth(index)).unwrap_or_default().trim().to_owned()
}

fn code_gaps(kernel: &str, reached: &Reached) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (&(line, kind), of_types) in reached {
        let text = text(kernel, line);
        let missed: Vec<_> = of_types.iter().filter(|(_, ways)| **ways != [true; 2]).collect();
        let some_type = missed.len() < of_types.len();
        let is_open = match kind {
            // A condition may be a constant in some types, and decide in others.
            GapKind::BranchOneWay => {
                let ways = of_types.values().fold([false; 2], |a, b| [a[0] | b[0], a[1] | b[1]]);
                ways != [true; 2] && has_condition(&text)
            }
            _ => !missed.is_empty(),
        };
        if is_open {
            let dtypes = missed.iter().filter_map(|(dtype, _)| **dtype);
            let dtypes = if some_type { dtypes.collect() } else { Vec::new() };
            gaps.push(Gap { line, text, kind, dtypes, grids: None });
        }
    }
    gaps
}

/// Returns whether a line of the source decides anything: the compiler makes branches of its own,
/// for example of a division of 64 bits.
fn has_condition(text: &str) -> bool {
    let code = text.split("//").next().unwrap_or_default();
    let mut words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| matches!(word, "if" | "while" | "for" | "switch"))
        || ["?", "&&", "||"].iter().any(|operator| code.contains(operator))
}

#[cfg(test)]
mod tests {
    use super::has_condition;

    #[test]
    fn conditions_are_recognised_by_the_text_of_a_line() {
        for text in ["if (i >= n) return;", "while(k)", "y = a ? b : c;", "&& j < n)"] {
            assert!(has_condition(text), "{text}");
        }
        for text in ["const long long q = i / n;", "iffy = notif(a);", "y = 1; // if ever"] {
            assert!(!has_condition(text), "{text}");
        }
    }
}
