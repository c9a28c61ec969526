//! Sums of products on the way to their registers.

use super::{
    super::{
        access::Registers,
        matrix::{from_f16, to_f16},
        sanitize::taint::Mark,
    },
    Undefined,
    product::ROWS,
};
use crate::{
    alu::single,
    op::{Element, Fragment},
};

/// The parts of a sum that are made of undefined values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parts {
    rows: u32,
    columns: [u64; 4],
}

impl Parts {
    pub(super) fn join(&mut self, other: Undefined) {
        self.rows |= other.rows;
        for (columns, others) in self.columns.iter_mut().zip(other.columns) {
            *columns |= others;
        }
    }

    pub(super) fn any(&self) -> bool {
        self.rows != 0 || self.columns != [0; 4]
    }

    fn has(&self, row: usize, column: usize) -> bool {
        (self.rows >> row) & 1 == 1 || (self.columns[column / 64] >> (column % 64)) & 1 == 1
    }
}

/// The sums in the same accumulators of products that follow each other.
#[derive(Debug)]
pub(super) struct Chain {
    pub id: u64,
    /// First registers of the function.
    pub base: [u32; 3],
    pub fragment: Fragment,
    n: usize,
    /// `[row, column]`.
    pub floats: Vec<f32>,
    pub integers: Vec<i32>,
    /// Products that are not waited for.
    pub users: u32,
    pub undefined: Parts,
    /// Marks of the registers at the start.
    pub marks: Vec<Mark>,
}

impl Chain {
    pub(super) fn new(id: u64, base: [u32; 3], fragment: &Fragment, n: usize) -> Self {
        let (floats, integers) =
            if fragment.element == Element::S32 { (0, ROWS * n) } else { (ROWS * n, 0) };
        Self {
            id,
            base,
            fragment: fragment.clone(),
            n,
            floats: vec![0.0; floats],
            integers: vec![0; integers],
            users: 0,
            undefined: Parts::default(),
            marks: Vec::new(),
        }
    }

    pub(super) fn is(&self, base: [u32; 3], fragment: &Fragment) -> bool {
        self.base == base
            && self.fragment.element == fragment.element
            && self.fragment.regs == fragment.regs
    }

    pub(super) fn overlaps(&self, base: [u32; 3], fragment: &Fragment) -> bool {
        self.base == base && fragment.regs.iter().any(|r| self.fragment.regs.contains(r))
    }

    /// Begins anew with zeros.
    pub(super) fn reset(&mut self) {
        self.floats.fill(0.0);
        self.integers.fill(0);
        self.undefined = Parts::default();
        self.marks.clear();
    }

    /// Whether the sums of another chain in the same registers begin with other values than this
    /// one ended with.
    pub(super) fn differs(&self, next: &Self) -> bool {
        let same = |a: &f32, b: &f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        self.is(next.base, &next.fragment)
            && (self.integers != next.integers
                || !self.floats.iter().zip(&next.floats).all(|(a, b)| same(a, b)))
    }

    /// Rounds to the type of the accumulators.
    pub(super) fn round(&mut self) {
        if self.fragment.element == Element::F16 {
            self.floats.iter_mut().for_each(|value| *value = from_f16(to_f16(*value)));
        }
    }

    /// Row and first column of lane 0 in register `n`, and whether the lane has two columns there.
    fn corner(&self, n: usize) -> (usize, usize, bool) {
        match self.fragment.element {
            Element::F16 => (8 * (n % 2), 8 * (n / 2), true),
            _ => (8 * (n / 2 % 2), 8 * (n / 4) + n % 2, false),
        }
    }

    /// Takes the values of the registers.
    pub(super) fn load(&mut self, regs: &Registers<'_>) {
        for (n, r) in self.fragment.regs.iter().enumerate() {
            let (row, column, both) = self.corner(n);
            let register = &regs.rows.w[*r as usize];
            for (lane, bits) in register.iter().enumerate() {
                let at = (row + lane / 4) * self.n + column + lane % 4 * 2;
                if both {
                    self.floats[at] = from_f16(*bits & 0xffff);
                    self.floats[at + 1] = from_f16(*bits >> 16);
                } else if self.fragment.element == Element::S32 {
                    self.integers[at] = *bits as i32;
                } else {
                    self.floats[at] = f32::from_bits(*bits);
                }
            }
        }
    }

    /// Puts the sums into the registers.
    pub(super) fn store(&self, regs: &mut Registers<'_>) {
        for (n, r) in self.fragment.regs.iter().enumerate() {
            let (row, column, both) = self.corner(n);
            let register = &mut regs.rows.w[*r as usize];
            for (lane, bits) in register.iter_mut().enumerate() {
                let at = (row + lane / 4) * self.n + column + lane % 4 * 2;
                *bits = if both {
                    to_f16(self.floats[at]) | to_f16(self.floats[at + 1]) << 16
                } else if self.fragment.element == Element::S32 {
                    self.integers[at] as u32
                } else {
                    single::output::<false, false>(self.floats[at])
                };
            }
        }
    }

    /// Lanes whose values in register `n` are made of undefined ones.
    pub(super) fn undefined_lanes(&self, n: usize) -> u32 {
        let (row, column, both) = self.corner(n);
        (0..32).fold(0, |lanes, lane| {
            let (row, column) = (row + lane / 4, column + lane % 4 * 2);
            let hit =
                self.undefined.has(row, column) || (both && self.undefined.has(row, column + 1));
            lanes | u32::from(hit) << lane
        })
    }
}
