//! Products computed on the host.

use super::{form::Form, number::Type};

/// The values allowed for an element of D.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell {
    /// These bits.
    Bits(u64),
    /// About the value, where `scale` is the sum of all magnitudes that went into it.
    Near { value: f64, scale: f64 },
}

/// Places for a matrix of each of four products.
const PLACES: usize = 4096;

fn matrix(form: &Form, operand: usize, ty: Type, columns: usize, bytes: &[u8]) -> Vec<u64> {
    let mut out = vec![0; 4 * PLACES];
    for index in 0..form.sizes()[operand] {
        let (product, row, column) = form.place(operand, ty, index);
        out[product * PLACES + row * columns + column] = ty.get(bytes, index);
    }
    out
}

/// The elements of D in the order of their lanes or in memory.
pub(crate) fn product(form: &Form, inputs: &[Vec<u8>]) -> Vec<Cell> {
    let columns = if form.is_quads() { 8 } else { form.n };
    let (stored, half) = (matrix(form, 0, form.a, form.stored_k(), &inputs[0]), form.stored_k());
    let b = matrix(form, 1, form.b, columns, &inputs[1]);
    let c = matrix(form, 2, form.c, columns, &inputs[2]);
    let cell = |index: usize| {
        let (product, row, column) = form.place(2, form.d, index);
        let at = |n: usize| {
            let start = product * PLACES;
            let p = form.sparse.as_ref().map_or(n, |s| s.position(&inputs[3], row, n));
            (stored[start + row * half + n], b[start + p * columns + column])
        };
        let start = c[product * PLACES + row * columns + column];
        element(form, start, (0..half).map(at))
    };
    (0..form.sizes()[2]).map(cell).collect()
}

fn element(form: &Form, start: u64, pairs: impl Iterator<Item = (u64, u64)>) -> Cell {
    if form.d.name == "f64" {
        let start = f64::from_bits(start);
        let (mut value, mut scale) = (start, start.abs());
        for (a, b) in pairs.map(|(a, b)| (f64::from_bits(a), f64::from_bits(b))) {
            value = a.mul_add(b, value);
            scale += (a * b).abs();
        }
        return Cell::Near { value, scale };
    }
    if form.d.name == "s32" {
        let dot: i64 = pairs.map(|(a, b)| integer(form, a, b)).sum();
        let sum = form.c.integer(start) + dot;
        let clamped = sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        let sum = if form.saturates { clamped } else { sum };
        return Cell::Bits(sum as u64 & 0xffff_ffff);
    }
    let start = form.c.value(start);
    let (mut value, mut scale) = (start, start.abs());
    for (a, b) in pairs {
        let term = form.a.value(a) * form.b.value(b);
        value += term;
        scale += term.abs();
    }
    Cell::Near { value, scale }
}

fn integer(form: &Form, a: u64, b: u64) -> i64 {
    match (form.a.name, form.is_and) {
        ("b1", true) => (a & b) as i64,
        ("b1", false) => (a ^ b) as i64,
        _ => form.a.integer(a) * form.b.integer(b),
    }
}

/// Whether `bits` of D is right; `error` is relative to the scale.
pub(crate) fn agrees(cell: Cell, ty: Type, bits: u64, error: f64) -> bool {
    let (value, scale) = match cell {
        Cell::Bits(want) => return bits == want,
        Cell::Near { value, scale } => (value, scale),
    };
    let got = ty.value(bits);
    let limit = if ty.name == "f16" { 65504.0 } else { f64::from(f32::MAX) };
    if value.is_nan() {
        return got.is_nan();
    }
    if ty.name == "f64" {
        return got.to_bits() == value.to_bits() || (got - value).abs() <= error * scale;
    }
    if value.is_infinite() {
        // Sums on the way may have been beyond the range with the other sign.
        return got.to_bits() == value.to_bits() || (got.is_nan() && scale > limit);
    }
    if scale > f64::from(f32::MAX) {
        // A sum on the way may have been beyond the range.
        return true;
    }
    if value.abs() > limit {
        // A value just beyond the range may be rounded either way.
        return got.abs() >= limit * 0.99 && got.is_sign_negative() == value.is_sign_negative();
    }
    let half_ulp =
        if ty.name == "f16" { value.abs() * 2_f64.powi(-11) + 2_f64.powi(-25) } else { 0.0 };
    let bound = error * scale + half_ulp + f64::from(f32::MIN_POSITIVE) * 2_f64.powi(-20);
    // Near the largest number an infinity is as good.
    (got - value).abs() <= bound || (got.is_infinite() && value.abs() + bound >= limit)
}
