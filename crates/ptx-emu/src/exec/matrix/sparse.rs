//! Products whose first factor is sparse: only half of its elements are stored, and metadata say
//! which.
//!
//! Elements of B that meet none are not read: an infinity there makes no NaN, as it would if the
//! missing elements were zeros.

use super::{
    super::{
        Machine,
        access::{Registers, each_lane},
        fault::Target,
    },
    product::Fallback,
};
use crate::{
    alu::convert::add_odd,
    finding::FindingKind,
    op::{Element, Reg, SPARSE_ROWS as ROWS, Sparse},
};

/// The rows of B that the stored elements of each row of A meet.
#[derive(Debug)]
pub(in crate::exec) struct Selection {
    /// `[stored element, row]`, in the order of [`super::decode`].
    rows: Vec<u16>,
    /// Rows whose metadata are undefined.
    pub(in crate::exec) undefined: u32,
}

/// Place of element `k` of a row of `n` elements where words follow each other: first the first
/// elements of all words.
fn stored(element: Element, k: usize, n: usize) -> usize {
    let per = element.per_register();
    k % per * (n / per) + k / per
}

impl Selection {
    /// Adds the product of `a`, `[stored element, row]`, and `b`, `[k, n]`, to `[row, n]`.
    pub(in crate::exec) fn add(&self, n: usize, a: &[f32], b: &[f32], sum: &mut [f32]) {
        let exact = Fallback::is_exact(a, b);
        for (a, k) in a.chunks_exact(ROWS).zip(self.rows.chunks_exact(ROWS)) {
            for ((a, k), sum) in a.iter().zip(k).zip(sum.chunks_exact_mut(n)) {
                let b = &b[usize::from(*k) * n..][..n];
                for (sum, b) in sum.iter_mut().zip(b) {
                    *sum = if exact {
                        *sum + a * b
                    } else {
                        add_odd(f64::from(*a) * f64::from(*b), f64::from(*sum)) as f32
                    };
                }
            }
        }
    }
}

impl Machine<'_> {
    /// The elements that the metadata of a product select; reports those that stand for nothing.
    pub(in crate::exec) fn selection(
        &mut self,
        sparse: &Sparse,
        regs: &mut Registers<'_>,
        pc: u32,
    ) -> Selection {
        let held = regs.rows.w[sparse.metadata as usize];
        let mut undefined = 0;
        if regs.taint.active {
            let mark = regs.taint.of(regs.frame.base, Reg::W(sparse.metadata));
            undefined = mark.lanes & sparse.lanes();
        }
        let bits = |row: usize, chunk: usize| {
            let (lane, shift) = sparse.place(row, chunk);
            held[lane] >> shift & 0xf
        };
        let half = sparse.k / 2;
        let mut rows = vec![0; half * ROWS];
        for (row, n) in (0..ROWS).flat_map(|row| (0..half).map(move |n| (row, n))) {
            let k = sparse.position(n, bits(row, sparse.chunk_of(n)));
            let at = stored(sparse.element, n, half) * ROWS + row;
            rows[at] = stored(sparse.element, k, sparse.k) as u16;
        }
        let mut first = None;
        let mut lanes = 0;
        for (row, chunk) in (0..ROWS).flat_map(|r| (0..sparse.chunks()).map(move |c| (r, c))) {
            let (lane, _) = sparse.place(row, chunk);
            if let Some(fault) = sparse.fault(bits(row, chunk))
                && undefined >> lane & 1 == 0
            {
                first = first.or(Some((row, chunk, fault)));
                lanes |= 1 << lane;
            }
        }
        if let Some((row, chunk, fault)) = first {
            let bits = bits(row, chunk);
            let what = format!(
                "metadata 0b{bits:04b} of chunk {chunk} in row {row} of a warp's part of A {fault}"
            );
            self.report_metadata(&what, lanes, regs, pc);
        }
        let of = |lanes: u32| each_lane(lanes).fold(0, |rows, lane| rows | 0x101 << (lane / 4));
        Selection { rows, undefined: of(undefined) }
    }

    fn report_metadata(&mut self, what: &str, lanes: u32, regs: &Registers<'_>, pc: u32) {
        let kind = FindingKind::SparseMetadata;
        let key = self.key(kind, pc, None);
        let n = u64::from(lanes.count_ones());
        if self.sanitizer.findings.again(key, n, None) || self.sanitizer.findings.full() {
            return;
        }
        let mut finding = self.finding(kind, what, Target::default(), regs, pc, lanes);
        finding.hint = Some(
            "two bits for each stored element, the lower ones for the first: 0b0100 stands for \
             elements 0 and 1 of a chunk, 0b1110 for 2 and 3"
                .to_owned(),
        );
        self.keep(key, finding);
    }
}
