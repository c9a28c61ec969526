//! Where a barrier is missing between two accesses that race.

use crate::{
    exec::Machine,
    lower::targets,
    op::{Op, WarpSyncKind},
};

/// The remedy for a race of threads that read, change and write back one element.
const RACING_UPDATE: &str = "threads read, change and write back the same element: use an atomic \
                             operation such as atomicAdd, or give each its own";

impl Machine<'_> {
    /// The remedy that orders an earlier access at `from` and a later one at `to`, and its place.
    pub(super) fn missing_order(
        &self,
        same_block: bool,
        same_warp: bool,
        from: u32,
        to: u32,
    ) -> String {
        if self.same_address(from, to) {
            return RACING_UPDATE.to_owned();
        }
        if !same_block {
            return "blocks run in no order: give each its own elements, use atomics with fences, \
                    or split the kernel"
                .to_owned();
        }
        let line = |pc: u32| self.program.place_of(pc).0;
        let call = if same_warp { "__syncwarp()" } else { "__syncthreads()" };
        let (Some(a), Some(b)) = (line(from), line(to)) else {
            return format!("{call} is missing between the two accesses");
        };
        if from == to || a == b {
            return format!(
                "two threads use the same element at line {a}: give each its own, or let {call} \
                 separate the iterations"
            );
        }
        let forward = self.free_path(from, to, same_warp);
        let backward = self.free_path(to, from, same_warp);
        // The path that the source's order suggests comes first.
        let (first, last) = if a < b { (a, b) } else { (b, a) };
        let (straight, around) = if a < b { (forward, backward) } else { (backward, forward) };
        match (straight, around) {
            (false, true) => format!(
                "missing {call} after line {last}, before line {first} runs again in the next \
                 iteration"
            ),
            _ => format!("missing {call} between line {first} and line {last}"),
        }
    }

    /// Whether a read and a write have the same address operand: a thread then writes back the
    /// value it read, and a barrier mends nothing.
    fn same_address(&self, a: u32, b: u32) -> bool {
        let (line_a, a_text) = self.program.place_of(a);
        let (line_b, b_text) = self.program.place_of(b);
        let address = |text: &str| {
            let (_, rest) = text.split_once('[')?;
            rest.split_once(']').map(|(inside, _)| inside.to_owned())
        };
        a != b && line_a == line_b && address(&a_text).is_some_and(|x| Some(x) == address(&b_text))
    }

    /// Whether control can go from one operation to another of the same function without passing
    /// a barrier.
    fn free_path(&self, from: u32, to: u32, same_warp: bool) -> bool {
        let program = self.program;
        let within = |code: &&crate::op::Code| (code.entry..code.end).contains(&from);
        let Some(code) = program.code.iter().find(within) else { return false };
        let mut seen = vec![false; (code.end - code.entry) as usize];
        let mut stack = vec![from + 1];
        while let Some(pc) = stack.pop() {
            if pc == to {
                return true;
            }
            if !(code.entry..code.end).contains(&pc)
                || std::mem::replace(&mut seen[(pc - code.entry) as usize], true)
            {
                continue;
            }
            match program.ops[pc as usize] {
                Op::Barrier(_) => {}
                Op::WarpSync(index)
                    if same_warp
                        && matches!(program.syncs[index as usize].kind, WarpSyncKind::Barrier) => {}
                op => {
                    stack.extend(targets(program, op).into_iter().map(|target| target as u32));
                    if op.falls_through() {
                        stack.push(pc + 1);
                    }
                }
            }
        }
        false
    }
}
