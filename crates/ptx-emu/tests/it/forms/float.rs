//! Floating-point arithmetic through exact numbers.

use super::{
    number::{Exact, Format, Rounding, format},
    oracle::{Op, Want, joined, pairwise},
};

/// The rounding that an opcode names, to nearest if none.
pub(super) fn rounding(op: &Op<'_>) -> Rounding {
    let named = op.parts.iter().find_map(|p| match *p {
        "rz" | "rzi" => Some(Rounding::Zero),
        "rm" | "rmi" => Some(Rounding::Down),
        "rp" | "rpi" => Some(Rounding::Up),
        "rna" => Some(Rounding::NearestAway),
        _ => None,
    });
    named.unwrap_or(Rounding::NearestEven)
}

pub(super) fn oracle(op: &Op<'_>, s: &[u64]) -> Option<Vec<Want>> {
    let ty = op.ty();
    let element = ty.trim_end_matches("x2");
    let f = format(element)?;
    if ty == element {
        return Some(vec![one(op, f, s)?]);
    }
    Some(vec![joined(pairwise(s, |s| one(op, f, s))?)])
}

/// The NaN that a format's instructions give.
pub(super) fn nan(f: Format) -> Want {
    f.nan.map_or(Want::Nan(f), Want::Bits)
}

fn one(op: &Op<'_>, f: Format, s: &[u64]) -> Option<Want> {
    let ftz = op.has("ftz");
    let input = |k: usize| if ftz { f.flush(s[k]) } else { s[k] };
    let a = input(0);
    match op.name {
        "abs" | "neg" if f.is_nan(a) => return Some(Want::Nan(f)),
        "abs" => return Some(Want::Bits(a & !f.sign())),
        "neg" => return Some(Want::Bits(a ^ f.sign())),
        "copysign" => return Some(Want::Bits((s[1] & !f.sign()) | (s[0] & f.sign()))),
        "min" | "max" => return Some(extreme(op, f, a, input(1))),
        _ => {}
    }
    let rounding = rounding(op);
    let result = match op.name {
        "add" => sum(f, a, input(1), rounding),
        "sub" => {
            let b = input(1);
            sum(f, a, if f.is_nan(b) { b } else { b ^ f.sign() }, rounding)
        }
        "mul" => product(f, a, input(1), rounding),
        "fma" | "mad" => fused(f, a, input(1), input(2), rounding),
        "div" => quotient(f, a, input(1), rounding),
        "rcp" => quotient(f, f.one(), a, rounding),
        "sqrt" => root(f, a, rounding),
        _ => return None,
    };
    Some(finish(op, f, result))
}

/// Flush, saturation and `.relu`; `None` is NaN.
pub(super) fn finish(op: &Op<'_>, f: Format, result: Option<u64>) -> Want {
    let Some(bits) = result else {
        // `.sat` turns NaN into zero; `.relu` keeps it.
        return if op.has("sat") { Want::Bits(0) } else { nan(f) };
    };
    let bits = if op.has("ftz") { f.flush(bits) } else { bits };
    if op.has("relu") && f.is_negative(bits) {
        return Want::Bits(0);
    }
    if op.has("sat") {
        let clamped = if f.is_negative(bits) { 0 } else { bits.min(f.one()) };
        return Want::Bits(clamped);
    }
    Want::Bits(bits)
}

fn sum(f: Format, a: u64, b: u64, rounding: Rounding) -> Option<u64> {
    if f.is_nan(a) || f.is_nan(b) {
        return None;
    }
    match (f.is_infinite(a), f.is_infinite(b)) {
        (true, true) if a != b => None,
        (true, _) => Some(a),
        (_, true) => Some(b),
        _ => Some(f.round(&f.exact(a).plus(&f.exact(b), rounding), rounding)),
    }
}

fn product(f: Format, a: u64, b: u64, rounding: Rounding) -> Option<u64> {
    if f.is_nan(a) || f.is_nan(b) {
        return None;
    }
    let sign = (a ^ b) & f.sign();
    if f.is_infinite(a) || f.is_infinite(b) {
        let zero = f.is_zero(a) || f.is_zero(b);
        return if zero { None } else { Some(sign | f.infinity()) };
    }
    Some(f.round(&f.exact(a).times(&f.exact(b)), rounding))
}

fn fused(f: Format, a: u64, b: u64, c: u64, rounding: Rounding) -> Option<u64> {
    if f.is_nan(c) || f.is_infinite(a) || f.is_infinite(b) || f.is_nan(a) || f.is_nan(b) {
        let product = product(f, a, b, rounding)?;
        return if f.is_nan(c) { None } else { sum(f, product, c, rounding) };
    }
    if f.is_infinite(c) {
        return Some(c);
    }
    let exact: Exact = f.exact(a).times(&f.exact(b)).plus(&f.exact(c), rounding);
    Some(f.round(&exact, rounding))
}

fn quotient(f: Format, a: u64, b: u64, rounding: Rounding) -> Option<u64> {
    if f.is_nan(a) || f.is_nan(b) {
        return None;
    }
    let sign = (a ^ b) & f.sign();
    let (zero_a, zero_b) = (f.is_zero(a), f.is_zero(b));
    match (f.is_infinite(a), f.is_infinite(b)) {
        (true, true) => None,
        (true, false) => Some(sign | f.infinity()),
        (false, true) => Some(sign),
        _ if zero_a && zero_b => None,
        _ if zero_b => Some(sign | f.infinity()),
        _ if zero_a => Some(sign),
        _ => Some(f.round(&f.exact(a).over(&f.exact(b)), rounding)),
    }
}

fn root(f: Format, a: u64, rounding: Rounding) -> Option<u64> {
    if f.is_nan(a) || (f.is_negative(a) && !f.is_zero(a)) {
        return None;
    }
    if f.is_infinite(a) || f.is_zero(a) {
        return Some(a);
    }
    Some(f.round(&f.exact(a).root(), rounding))
}

/// A number's place in the order of all numbers, -0 below +0.
fn rank(f: Format, bits: u64) -> i64 {
    let magnitude = (bits & !f.sign()) as i64;
    if f.is_negative(bits) { -magnitude - 1 } else { magnitude }
}

fn extreme(op: &Op<'_>, f: Format, a: u64, b: u64) -> Want {
    let xorsign = op.has("xorsign");
    let sign = (a ^ b) & f.sign();
    let (a, b) = if xorsign { (a & !f.sign(), b & !f.sign()) } else { (a, b) };
    let pick = match (f.is_nan(a), f.is_nan(b)) {
        (true, true) => return nan(f),
        (true, false) | (false, true) if op.has("NaN") => return nan(f),
        (true, false) => b,
        (false, true) => a,
        _ if (rank(f, a) < rank(f, b)) == (op.name == "min") => a,
        _ => b,
    };
    Want::Bits(if xorsign { pick | sign } else { pick })
}
