//! Tensor instructions: fragments are gathered into whole matrices and scattered again.
//!
//! Layouts are those of the PTX ISA's "Matrix Fragments for mma"; `wmma` fragments, whose layout is
//! opaque, use the same with two tiles of eight columns. Products and sums are done in f64 and
//! rounded once, where the machine truncates a little: results agree to tolerance, not bit for bit.

use super::{
    Machine,
    access::{Registers, addresses},
    transfer::Action,
};
use crate::{
    alu::{
        convert::{F16, Round},
        half::{Bf16Type, F16Type, Half},
        single,
    },
    op::{Address, D, Element, MatrixOp, MatrixOperand, MemoryOp, R, Reg, W},
    report::Stop,
};

/// Elements in a 32-bit register.
fn per_register(element: Element) -> usize {
    match element {
        Element::F16 | Element::Bf16 => 2,
        Element::Tf32 | Element::F32 | Element::S32 => 1,
        Element::S8 | Element::U8 => 4,
    }
}

/// Row and column of element `i` of `lane`.
fn place(
    operand: MatrixOperand,
    element: Element,
    n_regs: usize,
    lane: usize,
    i: usize,
) -> (usize, usize) {
    let (group, thread) = (lane / 4, lane % 4);
    let per = per_register(element);
    let (register, within) = (i / per, i % per);
    match operand {
        MatrixOperand::A => {
            (group + 8 * (register % 2), thread * per + within + 4 * per * (register / 2))
        }
        MatrixOperand::B => {
            let (tile, step) = (register / n_regs, register % n_regs);
            (thread * per + within + 4 * per * step, group + 8 * tile)
        }
        MatrixOperand::C => (group + 8 * (i / 2 % 2), thread * 2 + i % 2 + 8 * (i / 4)),
    }
}

fn value(element: Element, register: u32, within: usize) -> f64 {
    match element {
        Element::F16 => f64::from(F16Type::to_f32((register >> (16 * within)) & 0xffff)),
        Element::Bf16 => f64::from(Bf16Type::to_f32((register >> (16 * within)) & 0xffff)),
        Element::Tf32 => f64::from(f32::from_bits(register & 0xffff_e000)),
        Element::F32 => f64::from(f32::from_bits(register)),
        Element::S8 => f64::from((register >> (8 * within)) as u8 as i8),
        Element::U8 => f64::from((register >> (8 * within)) as u8),
        Element::S32 => f64::from(register as i32),
    }
}

/// A matrix as the lanes hold it, `[row][column]` at `row * 32 + column`.
fn gather(
    operand: MatrixOperand,
    element: Element,
    k: usize,
    from: &[R],
    regs: &Registers<'_>,
) -> Vec<f64> {
    let mut matrix = vec![0.0; 32 * 32];
    let per = per_register(element);
    let n_regs = (k / (4 * per)).max(1);
    for (r, register) in from.iter().enumerate() {
        for lane in 0..32 {
            for within in 0..per {
                let (row, column) = place(operand, element, n_regs, lane, r * per + within);
                matrix[row * 32 + column] =
                    value(element, regs.w[*register as usize][lane], within);
            }
        }
    }
    matrix
}

/// Registers of a fragment that hold data; `wmma` doubles the f16 factors.
fn used(operand: MatrixOperand, element: Element, regs: &[R]) -> usize {
    let doubled = operand != MatrixOperand::C && element == Element::F16 && regs.len() == 8;
    if doubled { 4 } else { regs.len() }
}

impl Machine<'_> {
    /// Runs a matrix operation for a full warp.
    pub(super) fn matrix(
        &mut self,
        index: u32,
        regs: &mut Registers<'_>,
        pc: u32,
    ) -> Result<(), Stop> {
        let program = self.program;
        match &program.matrices[index as usize] {
            MatrixOp::Product { a_element, b_element, accumulator, saturate, k, d, a, b, c } => {
                let elements = [*a_element, *b_element, *accumulator];
                product(elements, *saturate, *k as usize, [d, a, b, c], regs);
                Ok(())
            }
            MatrixOp::Rows { store, transpose, address, regs: list, scratch } => {
                self.rows(*store, *transpose, address, list, *scratch, regs, pc)
            }
            fragment @ MatrixOp::Fragment { .. } => self.fragment(fragment, regs, pc),
        }
    }

    /// One access of the lanes in `mask`, through the registers from `scratch` on.
    #[expect(clippy::too_many_arguments, reason = "an access is described by all of them")]
    fn access(
        &mut self,
        store: bool,
        bytes: u32,
        count: u32,
        address: &Address,
        at: D,
        scratch: R,
        regs: &mut Registers<'_>,
        mask: u32,
        pc: u32,
    ) {
        let m = MemoryOp {
            store,
            bytes,
            signed: false,
            volatile: false,
            address: *address,
            regs: (0..count).map(|i| Some(Reg::W(scratch + i))).collect(),
        };
        self.touched = true;
        self.changes += u64::from(store);
        self.pc = pc;
        self.act(&Action::Memory(&m), address.place, &at, regs, mask);
        self.record_refusals(regs, pc);
    }

    fn fragment(&mut self, op: &MatrixOp, regs: &mut Registers<'_>, pc: u32) -> Result<(), Stop> {
        let MatrixOp::Fragment {
            store,
            operand,
            element,
            row_major,
            address,
            stride,
            regs: list,
            scratch,
        } = op
        else {
            return Ok(());
        };
        let base = addresses(address, regs);
        let stride = regs.w[*stride as usize];
        let per = per_register(*element);
        let bytes = 4 / per;
        let n = used(*operand, *element, list);
        let n_regs = if *operand == MatrixOperand::B { n / 2 } else { n };
        for (r, &register) in list[..n].iter().enumerate() {
            let mut whole: W = if *store { regs.w[register as usize] } else { [0; 32] };
            for within in 0..per {
                let at = std::array::from_fn(|lane| {
                    let i = r * per + within;
                    let (row, column) = place(*operand, *element, n_regs, lane, i);
                    let (outer, inner) = if *row_major { (row, column) } else { (column, row) };
                    let offset = outer as u64 * u64::from(stride[lane]) + inner as u64;
                    base[lane].wrapping_add(offset * bytes as u64)
                });
                let shift = 8 * bytes * within;
                if *store {
                    regs.w[*scratch as usize] = whole.map(|v| v >> shift);
                }
                let size = bytes as u32;
                self.access(*store, size, 1, address, at, *scratch, regs, u32::MAX, pc);
                if !*store {
                    let loaded = regs.w[*scratch as usize];
                    for (whole, loaded) in whole.iter_mut().zip(loaded) {
                        *whole |= loaded << shift;
                    }
                }
            }
            if !*store {
                regs.w[register as usize] = whole;
                if let Some(&twin) = list.get(r + n) {
                    regs.w[twin as usize] = whole;
                }
            }
        }
        Ok(())
    }

    /// `ldmatrix` and `stmatrix`: lanes `8 j` to `8 j + 7` give the rows of matrix `j`.
    #[expect(clippy::too_many_arguments, reason = "the instruction's operands")]
    fn rows(
        &mut self,
        store: bool,
        transpose: bool,
        address: &Address,
        list: &[R],
        scratch: R,
        regs: &mut Registers<'_>,
        pc: u32,
    ) -> Result<(), Stop> {
        let at = addresses(address, regs);
        let mask = u32::MAX >> (32 - 8 * list.len());
        let cell = |lane: usize, half: usize| {
            let (row, column) = (lane / 4, lane % 4 * 2 + half);
            if transpose { (column, row) } else { (row, column) }
        };
        if store {
            let mut words = [[0_u32; 32]; 4];
            for (j, register) in list.iter().enumerate() {
                for lane in 0..32 {
                    for half in 0..2 {
                        let (row, column) = cell(lane, half);
                        let bits = (regs.w[*register as usize][lane] >> (16 * half)) & 0xffff;
                        words[column / 2][8 * j + row] |= bits << (16 * (column % 2));
                    }
                }
            }
            regs.w[scratch as usize..scratch as usize + 4].copy_from_slice(&words);
        }
        self.access(store, 4, 4, address, at, scratch, regs, mask, pc);
        if !store {
            let words: [W; 4] = std::array::from_fn(|i| regs.w[scratch as usize + i]);
            for (j, register) in list.iter().enumerate() {
                for lane in 0..32 {
                    let half = |half: usize| {
                        let (row, column) = cell(lane, half);
                        (words[column / 2][8 * j + row] >> (16 * (column % 2))) & 0xffff
                    };
                    regs.w[*register as usize][lane] = half(0) | half(1) << 16;
                }
            }
        }
        Ok(())
    }
}

fn product(
    [a_element, b_element, accumulator]: [Element; 3],
    saturate: bool,
    k: usize,
    [d, a, b, c]: [&Vec<R>; 4],
    regs: &mut Registers<'_>,
) {
    let (a, b) =
        (&a[..used(MatrixOperand::A, a_element, a)], &b[..used(MatrixOperand::B, b_element, b)]);
    let left = gather(MatrixOperand::A, a_element, k, a, regs);
    let right = gather(MatrixOperand::B, b_element, k, b, regs);
    let start = gather(MatrixOperand::C, accumulator, k, c, regs);
    let per = per_register(accumulator);
    let mut out = vec![[0_u32; 32]; d.len()];
    for (r, out) in out.iter_mut().enumerate() {
        for (lane, out) in out.iter_mut().enumerate() {
            for within in 0..per {
                let i = r * per + within;
                let (row, column) = place(MatrixOperand::C, accumulator, 1, lane, i);
                let dot: f64 = (0..k).map(|p| left[row * 32 + p] * right[p * 32 + column]).sum();
                let sum = dot + start[row * 32 + column];
                *out |= match accumulator {
                    Element::F16 => (F16.round(sum, Round::Nearest) as u32) << (16 * within),
                    Element::S32 if saturate => sum as i32 as u32,
                    // The sum is exact and less than 2^53; the machine wraps it.
                    Element::S32 => sum as i64 as u32,
                    _ => single::output::<false, false>(sum as f32),
                };
            }
        }
    }
    for (register, out) in d.iter().zip(out) {
        regs.w[*register as usize] = out;
    }
}
