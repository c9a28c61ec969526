//! Which parts of a module its launches reached.
//!
//! Only control operations leave a mark while they run; which operations ran follows from the marks
//! by walking the program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Module, lower::Program, op::Op};

/// A branch that was taken, or a guarded operation that ran.
pub(crate) const TAKEN: u8 = 1;
/// A branch that was not taken, or a guarded operation that was skipped.
pub(crate) const PASSED: u8 = 2;
/// A function, or a target of a branch table, that was entered.
pub(crate) const ENTERED: u8 = 4;

/// The operations that launches of one module reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Marks by operation.
    marks: Vec<u8>,
    /// Blocks of the largest grid along x, y, z.
    pub largest_grid: [u32; 3],
}

impl Coverage {
    pub(crate) fn new(n_ops: usize) -> Self {
        Self { marks: vec![0; n_ops], largest_grid: [0; 3] }
    }

    /// Marks an operation; nothing happens where coverage is not asked for.
    #[inline(always)]
    pub(crate) fn mark(&mut self, pc: u32, mark: u8) {
        if let Some(known) = self.marks.get_mut(pc as usize) {
            *known |= mark;
        }
    }

    /// Adds the coverage of other launches of the same module; gives whether any of it was new.
    pub fn merge(&mut self, other: &Self) -> bool {
        if self.marks.len() < other.marks.len() {
            self.marks.resize(other.marks.len(), 0);
        }
        let mut grew = false;
        for (mark, more) in self.marks.iter_mut().zip(&other.marks) {
            grew |= *more & !*mark != 0;
            *mark |= more;
        }
        for (most, more) in self.largest_grid.iter_mut().zip(other.largest_grid) {
            *most = (*most).max(more);
        }
        grew
    }

    fn has(&self, pc: u32, mark: u8) -> bool {
        self.marks.get(pc as usize).is_some_and(|known| known & mark != 0)
    }
}

/// How a part of a kernel was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// No thread executed anything of the line.
    LineNeverExecuted,
    /// The body of a loop that begins or ends on the line never ran twice.
    LoopNeverRepeated,
    /// The branches of the line that ran all went the same way.
    BranchOneWay,
}

/// Ways that the conditional branches of a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edges {
    /// One was taken.
    pub taken: bool,
    /// One was not taken.
    pub passed: bool,
}

/// A part of a module that no launch reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CoverageGap {
    /// Line of the kernel file.
    pub line: u32,
    /// How it was not reached.
    pub kind: GapKind,
}

impl Module {
    /// The lines of the kernel file that have code in functions which a kernel may call, each with
    /// whether a thread executed any of it.
    #[must_use]
    pub fn lines(&self, coverage: &Coverage) -> BTreeMap<u32, bool> {
        let program = self.program();
        let executed = executed(program, coverage);
        let mut lines = BTreeMap::new();
        for pc in reachable_ops(program) {
            let line = program.origins[pc].line;
            if line != 0 && !matches!(program.ops[pc], Op::Nop | Op::Guard(..)) {
                *lines.entry(line).or_default() |= executed[pc];
            }
        }
        lines
    }

    /// The lines of loops that ran, each with whether the body of one ran twice.
    #[must_use]
    pub fn loops(&self, coverage: &Coverage) -> BTreeMap<u32, bool> {
        let lines = self.lines(coverage);
        let mut loops = loops(self.program(), coverage);
        loops.retain(|line, _| lines.get(line) == Some(&true));
        loops
    }

    /// The lines of conditional branches that ran, each with the ways that they went.
    ///
    /// Left out are branches whose other way leads to a line that never ran, and lines of loops whose body
    /// never ran twice: those gaps say the same.
    #[must_use]
    pub fn branches(&self, coverage: &Coverage) -> BTreeMap<u32, Edges> {
        let program = self.program();
        let (lines, loops) = (self.lines(coverage), self.loops(coverage));
        let mut branches: BTreeMap<u32, Edges> = BTreeMap::new();
        for pc in reachable_ops(program) {
            let (Op::Branch(_, _, target) | Op::Fork(_, _, target)) = program.ops[pc] else {
                continue;
            };
            let line = program.origins[pc].line;
            let [taken, passed] = [TAKEN, PASSED].map(|mark| coverage.has(pc as u32, mark));
            let leads_nowhere = match (taken, passed) {
                (true, true) => false,
                (true, false) => lines.get(&line_from(program, pc + 1)) == Some(&false),
                (false, true) => lines.get(&line_from(program, target as usize)) == Some(&false),
                (false, false) => true,
            };
            if line != 0 && !leads_nowhere {
                let edges = branches.entry(line).or_default();
                edges.taken |= taken;
                edges.passed |= passed;
            }
        }
        branches.retain(|line, _| loops.get(line) != Some(&false));
        branches
    }

    /// The parts that no launch reached, by line. Copies of a line (inlined, unrolled) count as one.
    #[must_use]
    pub fn gaps(&self, coverage: &Coverage) -> Vec<CoverageGap> {
        let lines = self.lines(coverage);
        let never = lines.iter().filter(|(_, executed)| !**executed);
        let kind = GapKind::LineNeverExecuted;
        let mut gaps: Vec<CoverageGap> =
            never.map(|(&line, _)| CoverageGap { line, kind }).collect();
        let kind = GapKind::LoopNeverRepeated;
        let once = self.loops(coverage).into_iter().filter(|(_, repeated)| !repeated);
        gaps.extend(once.map(|(line, _)| CoverageGap { line, kind }));
        let kind = GapKind::BranchOneWay;
        let branches = self.branches(coverage).into_iter();
        let one_way = branches.filter(|(_, edges)| !(edges.taken && edges.passed));
        gaps.extend(one_way.map(|(line, _)| CoverageGap { line, kind }));
        gaps.sort_unstable();
        gaps
    }
}

/// The line of the first operation from `pc` on that has one, behind jumps.
fn line_from(program: &Program, mut pc: usize) -> u32 {
    // An endless loop of jumps alone has no such operation.
    for _ in 0..program.ops.len() {
        match program.ops.get(pc) {
            Some(Op::Jump(target)) => pc = *target as usize,
            Some(Op::Nop) => pc += 1,
            Some(_) if program.origins[pc].line == 0 => pc += 1,
            Some(_) => return program.origins[pc].line,
            None => return 0,
        }
    }
    0
}

/// Operations of the functions that kernels may call.
fn reachable_ops(program: &Program) -> Vec<usize> {
    let mut functions: Vec<usize> = (0..program.code.len())
        .filter(|&function| program.signatures[function].is_entry)
        .flat_map(|kernel| program.reachable(kernel))
        .collect();
    functions.sort_unstable();
    functions.dedup();
    let ops = |function: usize| {
        let code = &program.code[function];
        code.entry as usize..code.end as usize
    };
    functions.into_iter().flat_map(ops).collect()
}

fn executed(program: &Program, coverage: &Coverage) -> Vec<bool> {
    let mut ran = vec![false; program.ops.len()];
    let entered = |pc: &u32| coverage.has(*pc, ENTERED);
    let mut work: Vec<u32> = (0..program.ops.len() as u32).filter(entered).collect();
    while let Some(pc) = work.pop() {
        let Some(op) = program.ops.get(pc as usize) else { continue };
        if std::mem::replace(&mut ran[pc as usize], true) {
            continue;
        }
        match *op {
            Op::Jump(target) => work.push(target),
            Op::Branch(_, _, target) | Op::Fork(_, _, target) => {
                work.extend(coverage.has(pc, TAKEN).then_some(target));
                work.extend(coverage.has(pc, PASSED).then_some(pc + 1));
            }
            Op::Guard(..) => {
                if coverage.has(pc, TAKEN) {
                    ran[pc as usize + 1] = true;
                }
                work.push(pc + 2);
            }
            op if op.falls_through() => work.push(pc + 1),
            _ => {}
        }
    }
    ran
}

/// The lines of jumps back, each with whether one was taken.
fn loops(program: &Program, coverage: &Coverage) -> BTreeMap<u32, bool> {
    let mut loops = BTreeMap::new();
    for pc in reachable_ops(program) {
        let (Op::Jump(target) | Op::Branch(_, _, target) | Op::Fork(_, _, target)) =
            program.ops[pc]
        else {
            continue;
        };
        let line = program.origins[pc].line;
        if target as usize <= pc && line != 0 {
            *loops.entry(line).or_default() |= coverage.has(pc as u32, TAKEN);
        }
    }
    loops
}
