//! Integers, bits and shifts, through `i128`.

use super::{
    oracle::{Op, Want, joined, pairwise},
    synth::width,
};

/// The number that the low bits of a register stand for.
pub(super) fn value(bits: u64, ty: &str) -> i128 {
    let n = width(ty).expect("a type");
    let low = i128::from(bits) & ((1 << n) - 1);
    if ty.starts_with('s') && low >> (n - 1) == 1 { low - (1 << n) } else { low }
}

/// The range of a type.
pub(super) fn range(ty: &str) -> (i128, i128) {
    let n = width(ty).expect("a type");
    if ty.starts_with('s') { (-(1 << (n - 1)), (1 << (n - 1)) - 1) } else { (0, (1 << n) - 1) }
}

/// The low bits of a number.
pub(super) fn bits(value: i128, n: u32) -> u64 {
    (value & ((1 << n) - 1)) as u64
}

pub(super) fn oracle(op: &Op<'_>, s: &[u64]) -> Option<Vec<Want>> {
    if let "u16x2" | "s16x2" = op.ty() {
        let element = op.ty().trim_end_matches("x2");
        return Some(vec![joined(pairwise(s, |s| arithmetic(op, element, s).map(Want::Bits))?)]);
    }
    if op.name == "lop3" {
        return Some(logic3(op, s));
    }
    if matches!(op.name, "div" | "rem") && value(s[1], op.ty()) == 0 {
        return Some(vec![Want::Anything]);
    }
    // The manual keeps the low eight bits of position and length; the machine does so for 32 bits
    // only.
    let far = |k: usize| s[k] & 0xffff_ffff > 255;
    if op.ty().ends_with("64")
        && ((op.name == "bfe" && (far(1) || far(2))) || (op.name == "bfi" && (far(2) || far(3))))
    {
        return Some(vec![Want::Anything]);
    }
    let got = arithmetic(op, op.ty(), s).or_else(|| logic(op, s)).or_else(|| fields(op, s))?;
    Some(vec![Want::Bits(got)])
}

fn arithmetic(op: &Op<'_>, ty: &str, s: &[u64]) -> Option<u64> {
    if matches!(op.name, "dp4a" | "dp2a" | "vabsdiff2" | "vabsdiff4") || op.types.is_empty() {
        return None;
    }
    let n = width(ty)?;
    let (low, high) = range(ty);
    let v = |k: usize| value(s[k], ty);
    let saturated = |x: i128| if op.has("sat") { x.clamp(low, high) } else { x };
    let relu = |x: i128| if op.has("relu") { x.max(0) } else { x };
    // Which bits of a product an instruction takes.
    let part = |product: i128| if op.has("hi") { product >> n } else { product };
    let short = |k: usize| value(s[k], if ty.starts_with('s') { "s32" } else { "u32" });
    let first24 = |k: usize| {
        let x = short(k) & 0xff_ffff;
        if ty.starts_with('s') && x >> 23 == 1 { x - (1 << 24) } else { x }
    };
    let part24 = |product: i128| if op.has("hi") { product >> 16 } else { product };
    // A sum that wraps before it is shifted or clamped is kept to the width first.
    let wrapped = |x: i128| value(bits(x, n), ty);
    let wide = |c: usize| {
        let c = if op.name == "mad" { i128::from(s[c]) } else { 0 };
        bits(v(0) * v(1) + c, 2 * n)
    };
    Some(match op.name {
        "add" | "addc" => bits(saturated(v(0) + v(1)), n),
        "sub" => bits(saturated(v(0) - v(1)), n),
        // With no carry before it: something was borrowed.
        "subc" => bits(v(0) - v(1) - 1, n),
        "mul" | "mad" if op.has("wide") => wide(2),
        "mul" => bits(part(wrapping_product(v(0), v(1))), n),
        "mad" | "madc" if op.has("sat") => bits(saturated(part(v(0) * v(1)) + v(2)), n),
        "mad" | "madc" => bits(part(wrapping_product(v(0), v(1))) + v(2), n),
        "mul24" => bits(part24(first24(0) * first24(1)), 32),
        "mad24" => bits(saturated(wrapped(part24(first24(0) * first24(1))) + v(2)), 32),
        "div" => bits(v(0) / v(1), n),
        "rem" => bits(v(0) % v(1), n),
        "sad" => bits((v(0) - v(1)).abs() + v(2), n),
        "abs" => bits(v(0).abs(), n),
        "neg" => bits(-v(0), n),
        "min" => bits(relu(v(0).min(v(1))), n),
        "max" => bits(relu(v(0).max(v(1))), n),
        _ => return None,
    })
}

/// A product whose low 128 bits are enough.
fn wrapping_product(a: i128, b: i128) -> i128 {
    a.wrapping_mul(b)
}

fn logic(op: &Op<'_>, s: &[u64]) -> Option<u64> {
    let n = width(op.ty())?;
    let all = (1_i128 << n) - 1;
    let v = |k: usize| value(s[k], op.ty());
    let u = |k: usize| i128::from(s[k]) & all;
    let amount = |k: usize| (s[k] & 0xffff_ffff) as u32;
    Some(match op.name {
        "and" => bits(u(0) & u(1), n),
        "or" => bits(u(0) | u(1), n),
        "xor" => bits(u(0) ^ u(1), n),
        "not" => bits(all - u(0), n),
        "cnot" => u64::from(u(0) == 0),
        "shl" => bits(u(0) << amount(1).min(n), n),
        "shr" => bits(v(0) >> amount(1).min(n), n),
        "shf" => {
            let by = if op.has("clamp") { amount(2).min(32) } else { amount(2) % 32 };
            let joined = i128::from(s[1] & 0xffff_ffff) << 32 | i128::from(s[0] & 0xffff_ffff);
            let at = if op.has("l") { 32 - by } else { by };
            bits(joined >> at, 32)
        }
        "prmt" => permuted(op, s),
        "popc" => (0..n).filter(|i| (u(0) >> i) & 1 == 1).count() as u64,
        "clz" => (0..n).rev().take_while(|i| (u(0) >> i) & 1 == 0).count() as u64,
        "brev" => (0..n).fold(0, |m, i| m | (((u(0) >> i) & 1) as u64) << (n - 1 - i)),
        "bfind" => {
            let x = if v(0) < 0 { !v(0) } else { v(0) };
            match (0..n).rev().find(|i| (x >> i) & 1 == 1) {
                None => 0xffff_ffff,
                Some(i) if op.has("shiftamt") => u64::from(n - 1 - i),
                Some(i) => u64::from(i),
            }
        }
        _ => return None,
    })
}

fn logic3(op: &Op<'_>, s: &[u64]) -> Vec<Want> {
    // The table that the statements carry.
    let table = 3_u32;
    let at = |k: usize, i: u32| ((s[k] >> i) & 1) as u32;
    let bit = |i: u32| (table >> (at(0, i) << 2 | at(1, i) << 1 | at(2, i))) & 1;
    let d = (0..32).fold(0, |m, i| m | u64::from(bit(i)) << i);
    let q = || s[3] == 1;
    match (op.has("or"), op.has("and")) {
        (true, _) => vec![Want::Bits(d), Want::Bits(u64::from(d != 0 || q()))],
        (_, true) => vec![Want::Bits(d), Want::Bits(u64::from(d != 0 && q()))],
        _ => vec![Want::Bits(d)],
    }
}

fn permuted(op: &Op<'_>, s: &[u64]) -> u64 {
    let pool: Vec<u8> = [s[0] as u32, s[1] as u32].iter().flat_map(|w| w.to_le_bytes()).collect();
    let c = s[2] as usize;
    let low = c & 3;
    let select = |i: usize| -> usize {
        match op.parts.last().copied() {
            Some("f4e") => low + i,
            Some("b4e") => (8 + low - i) % 8,
            Some("rc8") => low,
            Some("ecl") => i.max(low),
            Some("ecr") => i.min(low),
            Some("rc16") => (low & 1) * 2 + i % 2,
            _ => c >> (4 * i) & 15,
        }
    };
    let byte = |i: usize| {
        let byte = pool[select(i) & 7];
        if select(i) & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
    };
    u64::from(u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]))
}

fn fields(op: &Op<'_>, s: &[u64]) -> Option<u64> {
    let n = width(op.ty())?;
    let low8 = |k: usize| (s[k] & 0xff) as u32;
    let word = |k: usize| (s[k] & 0xffff_ffff) as u32;
    let bit = |x: u64, i: u32| (x >> i) & 1;
    Some(match op.name {
        "bfe" => {
            let (pos, len) = (low8(1), low8(2));
            let sign = if op.ty().starts_with('u') || len == 0 {
                0
            } else {
                bit(s[0], (pos + len - 1).min(n - 1))
            };
            let at = |i: u32| if i < len && pos + i < n { bit(s[0], pos + i) } else { sign };
            (0..n).fold(0, |m, i| m | at(i) << i)
        }
        "bfi" => {
            let (pos, len) = (low8(2), low8(3));
            let inside = |i: u32| i >= pos && i - pos < len;
            let at = |i: u32| if inside(i) { bit(s[0], i - pos) } else { bit(s[1], i) };
            (0..n).fold(0, |m, i| m | at(i) << i)
        }
        "szext" => {
            let len = if op.has("clamp") { word(1).min(32) } else { word(1) % 32 };
            let sign = if op.ty() == "s32" && len > 0 { bit(s[0], len - 1) } else { 0 };
            (0..32).fold(0, |m, i| m | (if i < len { bit(s[0], i) } else { sign }) << i)
        }
        "bmsk" => {
            let limit = |k| if op.has("clamp") { word(k).min(32) } else { word(k) % 32 };
            let (pos, len) = (limit(0), limit(1));
            (0..32).filter(|i| (pos..pos + len).contains(i)).fold(0, |m, i| m | 1 << i)
        }
        "fns" => nth_set(word(0), word(1), word(2) as i32),
        "dp4a" | "dp2a" => {
            let part =
                |x: u64, at: u32, n: u32, ty: &str| value(x >> at, &format!("{}{n}", &ty[..1]));
            let [ta, tb] = op.types[..] else { return None };
            let sum: i128 = if op.name == "dp4a" {
                (0..4).map(|i| part(s[0], 8 * i, 8, ta) * part(s[1], 8 * i, 8, tb)).sum()
            } else {
                let first = if op.has("hi") { 16 } else { 0 };
                (0..2).map(|i| part(s[0], 16 * i, 16, ta) * part(s[1], first + 8 * i, 8, tb)).sum()
            };
            bits(sum + i128::from(s[2]), 32)
        }
        "vabsdiff2" | "vabsdiff4" => {
            let n = if op.name == "vabsdiff2" { 16 } else { 8 };
            let ty = format!("{}{n}", &op.types[1][..1]);
            let parts: Vec<i128> = (0..32 / n)
                .map(|i| (value(s[0] >> (n * i), &ty) - value(s[1] >> (n * i), &ty)).abs())
                .collect();
            if op.has("add") {
                bits(parts.iter().sum::<i128>() + i128::from(s[2]), 32)
            } else {
                parts.iter().rev().fold(0, |m, p| m << n | bits(*p, n))
            }
        }
        _ => return None,
    })
}

/// `fns`: the set bits are counted from the base on, in the direction of the offset.
fn nth_set(mask: u32, base: u32, offset: i32) -> u64 {
    let base = base & 31;
    let set = |i: &u32| (mask >> i) & 1 == 1;
    let found = match offset {
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(offset as usize - 1),
        _ => (0..=base).rev().filter(set).nth(offset.unsigned_abs() as usize - 1),
    };
    found.map_or(0xffff_ffff, u64::from)
}
