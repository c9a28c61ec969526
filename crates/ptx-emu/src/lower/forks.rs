//! Branches that leave a barrier behind: one way leads to it, the other one only to code that comes
//! after it. Threads that go past a barrier and exit let it open for the others, which looks right
//! and is not what CUDA promises.

use super::{Program, targets};
use crate::op::{BarrierKind, Op};

/// Operations times barriers of a kernel above which nothing is marked.
const MAX_WORK: usize = 1 << 24;

/// Turns such branches of the kernels into [`Op::Fork`].
pub(super) fn mark(program: &mut Program) {
    for function in 0..program.code.len() {
        if program.signatures[function].is_entry {
            let (entry, end) = (program.code[function].entry, program.code[function].end);
            mark_kernel(program, entry as usize, end as usize);
        }
    }
}

fn mark_kernel(program: &mut Program, entry: usize, end: usize) {
    let whole = |pc: &usize| match program.ops[*pc] {
        Op::Barrier(index) => {
            let barrier = &program.barriers[index as usize];
            barrier.count.is_none() && !matches!(barrier.kind, BarrierKind::Arrive)
        }
        _ => false,
    };
    let barriers: Vec<usize> = (entry..end).filter(whole).collect();
    if barriers.is_empty() || barriers.len() * (end - entry) > MAX_WORK {
        return;
    }
    let graph = Graph::new(program, entry, end);
    let mut forks = Vec::new();
    for barrier in barriers {
        let before = graph.reach(barrier, &graph.predecessors);
        let behind = graph.reach(barrier + 1, &graph.successors);
        for pc in entry..end {
            let Op::Branch(_, _, target) = program.ops[pc] else { continue };
            let ways = [target as usize, pc + 1];
            let to = ways.map(|way| before.get(way - entry).copied().unwrap_or(false));
            for way in 0..2 {
                let leaves = to[1 - way] && !to[way] && behind[ways[way] - entry];
                if leaves && !ends(program, ways[way]) {
                    forks.push((pc as u32, way, barrier as u32));
                }
            }
        }
    }
    for (pc, way, barrier) in forks {
        program.forks.entry(pc).or_default()[way].push(barrier);
        if let Op::Branch(p, negated, target) = program.ops[pc as usize] {
            program.ops[pc as usize] = Op::Fork(p, negated, target);
        }
    }
}

/// Whether nothing comes from here on but the end of the thread.
fn ends(program: &Program, mut pc: usize) -> bool {
    // An endless loop of jumps has no end.
    for _ in 0..64 {
        match program.ops.get(pc) {
            Some(Op::Jump(target)) => pc = *target as usize,
            Some(Op::Nop) => pc += 1,
            Some(Op::Return | Op::Exit | Op::Trap) | None => return true,
            Some(_) => return false,
        }
    }
    true
}

/// The flow of control of a kernel, by offset from its entry.
struct Graph {
    entry: usize,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl Graph {
    fn new(program: &Program, entry: usize, end: usize) -> Self {
        let n = end - entry;
        let (mut successors, mut predecessors) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for pc in entry..end {
            let op = program.ops[pc];
            let mut next = targets(program, op);
            next.extend(op.falls_through().then_some(pc + 1));
            for to in next.into_iter().filter(|to| *to < end) {
                successors[pc - entry].push(to - entry);
                predecessors[to - entry].push(pc - entry);
            }
        }
        Self { entry, successors, predecessors }
    }

    /// The operations that can be reached from one, which counts as reached.
    fn reach(&self, from: usize, edges: &[Vec<usize>]) -> Vec<bool> {
        let mut reached = vec![false; edges.len()];
        let mut work = vec![from - self.entry];
        while let Some(at) = work.pop() {
            if at < reached.len() && !std::mem::replace(&mut reached[at], true) {
                work.extend(&edges[at]);
            }
        }
        reached
    }
}
