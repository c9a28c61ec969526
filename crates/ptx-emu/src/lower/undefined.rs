//! Registers that some path may read before anything was written to them.
//!
//! They are the registers live at a function's entry. A kernel without any cannot have an
//! uninitialised variable, so its warps need not be watched for one.

use super::Program;
use crate::op::{Code, Op, Reg, Use, visit};

/// The registers of each function that may be read before they are written.
pub(crate) fn undefined(program: &Program) -> Vec<Vec<Reg>> {
    program.code.iter().map(|code| live_at_entry(program, code)).collect()
}

/// A straight run of operations.
struct Block {
    start: usize,
    end: usize,
    successors: Vec<usize>,
    /// Registers read before they are written, and registers written.
    reads: Bits,
    writes: Bits,
    live: Bits,
}

#[derive(Clone, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(n: usize) -> Self {
        Self(vec![0; n.div_ceil(64)])
    }

    fn set(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    fn has(&self, i: usize) -> bool {
        (self.0[i / 64] >> (i % 64)) & 1 == 1
    }
}

fn live_at_entry(program: &Program, code: &Code) -> Vec<Reg> {
    let [nw, nd, np] = code.first_const.map(|n| n as usize);
    let n = nw + nd + np;
    let number = |reg: Reg| {
        let (at, limit, r) = match reg {
            Reg::W(r) => (0, nw, r as usize),
            Reg::D(r) => (nw, nd, r as usize),
            Reg::P(r) => (nw + nd, np, r as usize),
        };
        // Constants lie behind the registers of their class.
        (r < limit).then_some(at + r)
    };
    let mut blocks = blocks(program, code, n);
    for block in &mut blocks {
        let mut guarded = false;
        for pc in block.start..block.end {
            let op = program.ops[pc];
            visit(program, op, &mut |role, reg| {
                let Some(i) = number(reg) else { return };
                if role != Use::Write {
                    if !block.writes.has(i) {
                        block.reads.set(i);
                    }
                } else if !guarded {
                    block.writes.set(i);
                }
            });
            guarded = matches!(op, Op::Guard(..));
        }
        block.live = block.reads.clone();
    }
    let mut changed = true;
    while changed {
        changed = false;
        for b in (0..blocks.len()).rev() {
            let mut live = blocks[b].live.clone();
            for s in blocks[b].successors.clone() {
                for (i, word) in blocks[s].live.0.iter().enumerate() {
                    live.0[i] |= word & !blocks[b].writes.0[i];
                }
            }
            if live != blocks[b].live {
                blocks[b].live = live;
                changed = true;
            }
        }
    }
    let Some(entry) = blocks.first() else { return Vec::new() };
    (0..n)
        .filter(|i| entry.live.has(*i))
        .map(|i| match i {
            i if i < nw => Reg::W(i as u32),
            i if i < nw + nd => Reg::D((i - nw) as u32),
            i => Reg::P((i - nw - nd) as u32),
        })
        .collect()
}

fn blocks(program: &Program, code: &Code, n_registers: usize) -> Vec<Block> {
    let (base, end) = (code.entry as usize, code.end as usize);
    let mut leads = vec![false; end - base + 1];
    leads[0] = true;
    for pc in base..end {
        let op = program.ops[pc];
        let targets = targets(program, op);
        for target in &targets {
            leads[target - base] = true;
        }
        if !targets.is_empty() || !op.falls_through() {
            leads[pc + 1 - base] = true;
        }
    }
    let starts: Vec<usize> = (base..end).filter(|pc| leads[pc - base]).collect();
    let of = |pc: usize| starts.partition_point(|s| *s <= pc) - 1;
    let list = starts.iter().enumerate().map(|(b, &start)| {
        let stop = starts.get(b + 1).copied().unwrap_or(end);
        let last = program.ops[stop - 1];
        let mut successors: Vec<usize> = targets(program, last).into_iter().map(of).collect();
        if last.falls_through() && stop < end {
            successors.push(b + 1);
        }
        let bits = Bits::new(n_registers);
        Block {
            start,
            end: stop,
            successors,
            reads: bits.clone(),
            writes: bits.clone(),
            live: bits,
        }
    });
    list.collect()
}

/// Where a jump or branch may go; nothing for other operations.
pub(crate) fn targets(program: &Program, op: Op) -> Vec<usize> {
    match op {
        Op::Jump(target) | Op::Branch(_, _, target) | Op::Fork(_, _, target) => {
            vec![target as usize]
        }
        Op::BranchTable(_, table) => {
            program.branch_tables[table as usize].iter().map(|t| *t as usize).collect()
        }
        _ => Vec::new(),
    }
}
