//! Orders the blocks of a function so that the program counter is a rank for reconvergence.
//!
//! Of the diverged parts of a warp the one with the lowest program counter runs first and equal
//! ones merge. That reconverges structured code when a loop's blocks are contiguous and stand
//! before its exits, as a weak topological order has them.

use super::{Builder, CONST_MARK, order::weak_topological_order};
use crate::op::{Code, Op, Origin, Register, visit_mut};

impl Builder<'_, '_> {
    /// Resolves constants and labels, orders the blocks and appends them to the program.
    pub(super) fn finish(mut self) -> Code {
        self.merge_guards();
        let blocks = self.blocks();
        let order = weak_topological_order(&blocks.successors);
        let base = self.program.ops.len() as u32;
        let start = self.emit(&blocks, &order);
        let labels: Vec<u32> = self
            .labels
            .iter()
            .map(|&at| if at == usize::MAX { base } else { start[blocks.of[at]] })
            .collect();
        self.patch(base as usize, &labels);
        self.code.entry = start[0];
        self.code.end = self.program.ops.len() as u32;
        self.code.first_const = self.registers;
        self.code.frame_bytes = self.frame_bytes.next_multiple_of(16);
        let [w, d] = std::mem::take(&mut self.const_lists);
        let [nw, nd, np] = self.registers;
        self.code.registers = [nw + w.len() as u32, nd + d.len() as u32, np];
        self.resolve_constants(base as usize);
        self.code.shared = self.shared_variables(w.iter().chain(&d));
        self.code.consts_w = w;
        self.code.consts_d = d;
        self.code
    }

    /// A branch around a single plain operation becomes a guard of it.
    fn merge_guards(&mut self) {
        let mut leads = vec![false; self.ops.len() + 1];
        for &at in self.labels.iter().filter(|at| **at <= self.ops.len()) {
            leads[at] = true;
        }
        for at in 0..self.ops.len().saturating_sub(1) {
            let (Op::Branch(p, negated, label), _) = self.ops[at] else { continue };
            let plain = !matches!(
                self.ops[at + 1].0,
                Op::Jump(_)
                    | Op::Branch(..)
                    | Op::BranchTable(..)
                    | Op::Call(_)
                    | Op::Return
                    | Op::Exit
                    | Op::Trap
                    | Op::WarpSync(_)
                    | Op::Barrier(_)
                    | Op::ActiveMask(_)
                    | Op::Builtin(_)
                    | Op::Cluster(_)
                    | Op::Bulk(_)
                    | Op::Unsupported(_)
                    | Op::Guard(..)
            );
            let target = self.labels[label as usize];
            if plain && target == at + 2 && !leads[at + 1] {
                self.ops[at].0 = Op::Guard(p, !negated);
            }
        }
    }

    fn blocks(&self) -> Blocks {
        let n = self.ops.len();
        let mut leads = vec![false; n + 1];
        leads[0] = true;
        for &at in self.labels.iter().filter(|at| **at < n) {
            leads[at] = true;
        }
        for (at, (op, _)) in self.ops.iter().enumerate() {
            if ends_block(*op) {
                leads[at + 1] = true;
            }
        }
        let mut of = vec![0; n + 1];
        let mut first = Vec::new();
        for at in 0..n {
            if leads[at] {
                first.push(at);
            }
            of[at] = first.len() - 1;
        }
        let end = |b: usize| first.get(b + 1).copied().unwrap_or(n);
        let target = |label: u32| {
            let at = self.labels[label as usize];
            if at < n { Some(of[at]) } else { None }
        };
        let mut successors = Vec::with_capacity(first.len());
        for b in 0..first.len() {
            let mut list: Vec<usize> = Vec::new();
            let last = self.ops[end(b) - 1].0;
            match last {
                Op::Jump(label) => list.extend(target(label)),
                Op::Branch(_, _, label) => list.extend(target(label)),
                Op::BranchTable(_, table) => {
                    let labels = &self.program.branch_tables[table as usize];
                    list.extend(labels.iter().filter_map(|l| target(*l)));
                }
                _ => {}
            }
            if last.falls_through() && b + 1 < first.len() {
                list.push(b + 1);
            }
            successors.push(list);
        }
        let last = first.len() - 1;
        of[n] = last;
        Blocks { first, of, successors }
    }

    /// Appends the blocks in order; gives the program counter of each block.
    fn emit(&mut self, blocks: &Blocks, order: &[usize]) -> Vec<u32> {
        let n = self.ops.len();
        let mut start = vec![self.program.ops.len() as u32; blocks.first.len()];
        for (place, &b) in order.iter().enumerate() {
            start[b] = self.program.ops.len() as u32;
            let end = blocks.first.get(b + 1).copied().unwrap_or(n);
            for (op, origin) in &self.ops[blocks.first[b]..end] {
                self.program.ops.push(*op);
                self.program.origins.push(*origin);
            }
            let last = self.ops[end - 1].0;
            let next = order.get(place + 1).copied();
            if last.falls_through() && next != Some(b + 1) {
                // A label id past the real ones names a block by its number.
                let id = self.labels.len() as u32;
                self.labels.push(blocks.first.get(b + 1).copied().unwrap_or(n));
                self.program.ops.push(Op::Jump(id));
                let origin: Origin = self.ops[end - 1].1;
                self.program.origins.push(origin);
            }
        }
        start
    }

    fn patch(&mut self, base: usize, labels: &[u32]) {
        let mut tables = Vec::new();
        for op in &mut self.program.ops[base..] {
            match op {
                Op::Jump(label) | Op::Branch(_, _, label) => *label = labels[*label as usize],
                Op::BranchTable(_, table) => tables.push(*table),
                _ => {}
            }
        }
        for table in tables {
            for label in &mut self.program.branch_tables[table as usize] {
                *label = labels[*label as usize];
            }
        }
    }

    /// Replaces marked constants by their place behind the registers.
    fn resolve_constants(&mut self, base: usize) {
        let [nw, nd, _] = self.registers;
        let program = &mut *self.program;
        for at in base..program.ops.len() {
            let mut op = program.ops[at];
            visit_mut(program, &mut op, &mut |_, register| {
                let (r, first) = match register {
                    Register::W(r) => (r, nw),
                    Register::D(r) => (r, nd),
                    Register::P(_) => return,
                };
                if *r & CONST_MARK != 0 {
                    *r = first + (*r & !CONST_MARK);
                }
            });
            program.ops[at] = op;
        }
    }

    /// The module's shared variables among the constants.
    fn shared_variables<'c>(&self, consts: impl Iterator<Item = &'c crate::op::Const>) -> Vec<u32> {
        let mut list: Vec<u32> = consts
            .filter_map(|c| match c {
                crate::op::Const::Variable(index, _) => Some(*index),
                crate::op::Const::Value(_) => None,
            })
            .filter(|i| self.program.variables[*i as usize].space == crate::ast::Space::Shared)
            .collect();
        list.sort_unstable();
        list.dedup();
        list
    }
}

fn ends_block(op: Op) -> bool {
    matches!(
        op,
        Op::Jump(_) | Op::Branch(..) | Op::BranchTable(..) | Op::Return | Op::Exit | Op::Trap
    )
}

struct Blocks {
    /// First operation of each block.
    first: Vec<usize>,
    /// Block of each operation.
    of: Vec<usize>,
    /// Blocks that may follow each block.
    successors: Vec<Vec<usize>>,
}
