//! Comparisons and selections.

use super::{
    integer::value,
    number::{Format, format},
    oracle::{Op, Want, pairwise},
    synth::width,
};

pub(super) fn oracle(op: &Op<'_>, s: &[u64]) -> Option<Vec<Want>> {
    match op.name {
        "setp" => setp(op, s),
        "set" => set(op, s),
        "selp" => Some(vec![Want::Bits(if s[2] == 1 { s[0] } else { s[1] })]),
        "slct" => {
            let chosen = match format(op.ty()) {
                Some(f) => {
                    let c = if op.has("ftz") { f.flush(s[2]) } else { s[2] };
                    !f.is_nan(c) && (!f.is_negative(c) || f.is_zero(c))
                }
                None => value(s[2], "s32") >= 0,
            };
            Some(vec![Want::Bits(if chosen { s[0] } else { s[1] })])
        }
        _ => testp(op, s[0]).map(|hit| vec![Want::Bits(u64::from(hit))]),
    }
}

fn testp(op: &Op<'_>, a: u64) -> Option<bool> {
    let f = format(op.ty())?;
    Some(match op.parts[0] {
        "finite" => !f.is_nan(a) && !f.is_infinite(a),
        "infinite" => f.is_infinite(a),
        "number" => !f.is_nan(a),
        "notanumber" => f.is_nan(a),
        // The machine takes zero for normal.
        "normal" => !f.is_nan(a) && !f.is_infinite(a) && !f.is_subnormal(a),
        "subnormal" => f.is_subnormal(a),
        _ => return None,
    })
}

/// Whether the comparison of two values of type `ty` holds.
fn holds(op: &Op<'_>, ty: &str, a: u64, b: u64) -> Option<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match format(ty) {
        Some(f) => {
            let (a, b) = if op.has("ftz") { (f.flush(a), f.flush(b)) } else { (a, b) };
            ordered(f, a, b)
        }
        None => Some(value(a, ty).cmp(&value(b, ty))),
    };
    Some(match (op.parts[0], order) {
        ("num", o) => o.is_some(),
        ("nan", o) => o.is_none(),
        ("equ" | "neu" | "ltu" | "leu" | "gtu" | "geu", None) => true,
        ("eq" | "ne" | "lt" | "le" | "gt" | "ge", None) => false,
        ("eq" | "equ", Some(o)) => o == Equal,
        ("ne" | "neu", Some(o)) => o != Equal,
        ("lt" | "ltu" | "lo", Some(o)) => o == Less,
        ("le" | "leu" | "ls", Some(o)) => o != Greater,
        ("gt" | "gtu" | "hi", Some(o)) => o == Greater,
        ("ge" | "geu" | "hs", Some(o)) => o != Less,
        _ => return None,
    })
}

/// The order of two floats; none if one is NaN.
fn ordered(f: Format, a: u64, b: u64) -> Option<std::cmp::Ordering> {
    if f.is_nan(a) || f.is_nan(b) {
        return None;
    }
    let key = |x: u64| {
        let magnitude = i128::from(x & !f.sign());
        if f.is_negative(x) { -magnitude } else { magnitude }
    };
    Some(key(a).cmp(&key(b)))
}

/// Combines with a third operand, if the opcode says how.
fn combined(op: &Op<'_>, hit: bool, s: &[u64]) -> bool {
    let c = || s[2] == 1;
    if op.has("and") {
        hit && c()
    } else if op.has("or") {
        hit || c()
    } else if op.has("xor") {
        hit != c()
    } else {
        hit
    }
}

fn halves(op: &Op<'_>, s: &[u64]) -> Option<[bool; 2]> {
    let ty = op.ty().trim_end_matches("x2");
    let [low, high] =
        pairwise(&s[..2], |s| Some(Want::Bits(u64::from(holds(op, ty, s[0], s[1])?))))?;
    Some([low, high].map(|hit| combined(op, hit == Want::Bits(1), s)))
}

fn setp(op: &Op<'_>, s: &[u64]) -> Option<Vec<Want>> {
    let want = |hits: [bool; 2]| hits.map(|h| Want::Bits(u64::from(h))).to_vec();
    if op.ty().ends_with("x2") {
        return halves(op, s).map(want);
    }
    let hit = holds(op, op.ty(), s[0], s[1])?;
    Some(want([combined(op, hit, s), combined(op, !hit, s)]))
}

fn set(op: &Op<'_>, s: &[u64]) -> Option<Vec<Want>> {
    let to = op.types[0];
    let one = |ty: &str| match format(ty) {
        Some(f) => f.one(),
        None => u64::MAX >> (64 - width(ty).unwrap_or(64)),
    };
    if op.ty().ends_with("x2") {
        // Integers too are set half by half.
        let ones = if to.ends_with("x2") { one(to.trim_end_matches("x2")) } else { 0xffff };
        let [low, high] = halves(op, s)?.map(|hit| if hit { ones } else { 0 });
        return Some(vec![Want::Bits(low | high << 16)]);
    }
    let hit = combined(op, holds(op, op.ty(), s[0], s[1])?, s);
    Some(vec![Want::Bits(if hit { one(to) } else { 0 })])
}
