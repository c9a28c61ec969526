//! Tensor instructions: products of fragments, and how fragments come from and go to memory.

mod element;
mod product;
mod sparse;

use self::product::Factors;
pub(super) use self::{
    element::{decode, from_f16, to_f16},
    product::{Fallback, scatter},
    sparse::Selection,
};
use super::{
    Machine,
    access::{Refusal, Registers, addresses, lanes},
    transfer::Action,
};
use crate::{
    finding::FindingKind,
    op::{D, FragmentOp, MatrixOp, MemoryOp, RowsOp, W},
};

/// Room to work in, so that an operation allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Scratch(Box<Factors>);

impl Machine<'_> {
    /// Runs a matrix operation for a full warp.
    pub(super) fn matrix(&mut self, index: u32, regs: &mut Registers<'_>, pc: u32) {
        let program = self.program;
        match &program.matrices[index as usize] {
            MatrixOp::Product(op) => {
                let selection = op.sparse.as_ref().map(|sparse| self.selection(sparse, regs, pc));
                product::product(op, selection.as_ref(), &mut self.matrix_scratch.0, regs);
            }
            MatrixOp::Rows(op) => self.rows(op, regs, pc),
            MatrixOp::Fragment(op) => self.fragment(op, regs, pc),
            MatrixOp::WarpgroupProduct(_) | MatrixOp::Warpgroup(_) => {}
            MatrixOp::Transpose(to, from) => {
                let rows = rows_of(&regs.rows.w[from.regs[0] as usize], true);
                regs.rows.w[to.regs[0] as usize] = held_of(&rows, false);
            }
        }
    }

    /// One access of the lanes in `mask`: the only way of matrix operations to memory.
    fn matrix_access(
        &mut self,
        m: &MemoryOp,
        at: &D,
        regs: &mut Registers<'_>,
        mask: u32,
        pc: u32,
    ) {
        self.progress.touched = true;
        self.progress.changes += u64::from(m.store);
        self.pc = pc;
        self.act(&Action::Memory(m), m.address.place, at, regs, mask);
        self.record_refusals(regs, pc);
    }

    /// `wmma.load` and `wmma.store`.
    fn fragment(&mut self, op: &FragmentOp, regs: &mut Registers<'_>, pc: u32) {
        let base = addresses(&op.address, regs);
        let bits = op.data.element.bits() as u64;
        let stride = regs.rows.w[op.stride as usize].map(|s| u64::from(s) * bits / 8);
        self.check_rows(op, &base, &stride, regs, pc);
        for access in &op.accesses {
            let at = std::array::from_fn(|lane| {
                let row = stride[lane].wrapping_mul(u64::from(access.rows[lane]));
                base[lane].wrapping_add(row).wrapping_add(u64::from(access.bytes[lane]))
            });
            let Some(shift) = access.shift else {
                self.matrix_access(&access.memory, &at, regs, u32::MAX, pc);
                continue;
            };
            let register = op.data.regs[access.register] as usize;
            let Some(Some(crate::op::Reg::W(scratch))) = access.memory.regs.first().copied() else {
                continue;
            };
            if op.store {
                regs.rows.w[scratch as usize] = regs.rows.w[register].map(|v| v >> shift);
            }
            self.matrix_access(&access.memory, &at, regs, u32::MAX, pc);
            if !op.store {
                let loaded = regs.rows.w[scratch as usize];
                let whole = &mut regs.rows.w[register];
                for (whole, loaded) in whole.iter_mut().zip(loaded) {
                    let others = if shift == 0 { 0 } else { *whole };
                    *whole = others | loaded << shift;
                }
            }
        }
        if !op.store {
            let distinct = op.accesses.last().map_or(1, |a| a.register + 1);
            for (i, twin) in op.data.regs.iter().enumerate().skip(distinct) {
                regs.rows.w[*twin as usize] = regs.rows.w[op.data.regs[i % distinct] as usize];
            }
        }
    }

    /// Rows (columns) of a `wmma` matrix must start at multiples of 16 bytes, or of their length:
    /// where the machine fetches whole rows, others are a fault; elsewhere the manual promises
    /// nothing.
    fn check_rows(&mut self, op: &FragmentOp, base: &D, stride: &D, regs: &Registers<'_>, pc: u32) {
        let low = u64::from(op.alignment) - 1;
        let odd = lanes(u32::MAX, |i| (base[i] | stride[i]) & low != 0);
        if odd == 0 {
            return;
        }
        // The first row, or else the second one.
        let at = std::array::from_fn(|i| {
            let first = base[i] & low != 0;
            if first { base[i] } else { base[i].wrapping_add(stride[i]) }
        });
        let kind = FindingKind::Misaligned;
        let bytes = op.alignment;
        self.sanitizer.refusals.push(Refusal {
            kind,
            lanes: odd,
            at,
            place: op.address.place,
            bytes,
        });
        self.record_refusals(regs, pc);
    }

    /// `ldmatrix` and `stmatrix`: lanes `8 j` to `8 j + 7` give the rows of matrix `j`.
    fn rows(&mut self, op: &RowsOp, regs: &mut Registers<'_>, pc: u32) {
        let at = addresses(&op.address, regs);
        let list = &op.data.regs;
        let mask = u32::MAX >> (32 - 8 * list.len());
        let words = op.scratch as usize;
        if op.memory.store {
            for (j, register) in list.iter().enumerate() {
                let rows = rows_of(&regs.rows.w[*register as usize], op.transpose);
                for (row, values) in rows.iter().enumerate() {
                    for (word, value) in values.iter().enumerate() {
                        regs.rows.w[words + word][8 * j + row] = *value;
                    }
                }
            }
        }
        self.matrix_access(&op.memory, &at, regs, mask, pc);
        if !op.memory.store {
            let loaded: [W; 4] = std::array::from_fn(|i| regs.rows.w[words + i]);
            for (j, register) in list.iter().enumerate() {
                let row = |row: usize| std::array::from_fn(|word| loaded[word][8 * j + row]);
                let rows = std::array::from_fn(row);
                regs.rows.w[*register as usize] = held_of(&rows, op.transpose);
            }
        }
    }
}

/// The eight rows, of four words each, of the 8x8 matrix of 16-bit elements that a register holds.
fn rows_of(register: &W, transpose: bool) -> [[u32; 4]; 8] {
    let rows = std::array::from_fn(|row| std::array::from_fn(|word| register[4 * row + word]));
    if transpose { transposed(&rows) } else { rows }
}

/// The register that holds a matrix.
fn held_of(rows: &[[u32; 4]; 8], transpose: bool) -> W {
    let rows = if transpose { &transposed(rows) } else { rows };
    std::array::from_fn(|lane| rows[lane / 4][lane % 4])
}

fn transposed(rows: &[[u32; 4]; 8]) -> [[u32; 4]; 8] {
    let half = |row: usize, column: usize| (rows[row][column / 2] >> (16 * (column % 2))) & 0xffff;
    std::array::from_fn(|row| {
        std::array::from_fn(|word| half(2 * word, row) | half(2 * word + 1, row) << 16)
    })
}
