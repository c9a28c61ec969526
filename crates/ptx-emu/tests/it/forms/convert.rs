//! Conversions through exact numbers.

use super::{
    float::rounding,
    integer::{bits, range, value},
    number::{Exact, Format, Rounding, format},
    oracle::{Op, Want, joined},
    synth::width,
};

pub(super) fn oracle(op: &Op<'_>, s: &[u64]) -> Option<Vec<Want>> {
    if op.has("pack") {
        return Some(vec![Want::Bits(packed(op, s))]);
    }
    let [to, from] = op.types[..] else { return None };
    let want = match (to, from) {
        ("e4m3x2" | "e5m2x2", "f32") => {
            let part = |k: usize| eighth(op, to, format("f32")?, s[k]);
            Want::Bits(part(1)? | part(0)? << 8)
        }
        ("e4m3x2" | "e5m2x2", _) => {
            let part = |at: u32| eighth(op, to, format("f16")?, (s[0] >> at) & 0xffff);
            Want::Bits(part(0)? | part(16)? << 8)
        }
        (_, "e4m3x2" | "e5m2x2") => {
            let part = |at: u32| of_eighth(op, from, (s[0] >> at) & 0xff);
            Want::Bits(part(0) | part(8) << 16)
        }
        ("f16x2" | "bf16x2", _) => {
            let element = to.trim_end_matches("x2");
            joined([scalar(op, element, from, s[1])?, scalar(op, element, from, s[0])?])
        }
        _ => scalar(op, to, from, s[0])?,
    };
    Some(vec![want])
}

/// One conversion between scalars.
fn scalar(op: &Op<'_>, to: &str, from: &str, a: u64) -> Option<Want> {
    let Some(source) = format(from) else {
        let x = value(a, from);
        return Some(match format(to) {
            Some(f) => to_float(op, f, &Exact::of(x)),
            None => to_integer(op, to, x),
        });
    };
    // A GPU does not flush a source that becomes a half.
    let flushes = op.has("ftz") && from == "f32" && to != "f16";
    let a = if flushes { source.flush(a) } else { a };
    if let Some(f) = format(to) {
        return Some(between(op, source, f, a));
    }
    let n = width(to)?;
    let (low, high) = range(to);
    let x = if source.is_nan(a) {
        let wide = n == 64 || from == "f64";
        let x = if wide { value(1 << (n - 1), to) } else { 0 };
        return Some(Want::Bits(register(x, to)));
    } else if source.is_infinite(a) {
        if source.is_negative(a) { low } else { high }
    } else {
        source.exact(a).integer(rounding(op)).clamped(low, high)
    };
    Some(Want::Bits(register(x, to)))
}

/// An integer in its register: one of eight bits has sixteen here, filled by its sign.
fn register(x: i128, ty: &str) -> u64 {
    bits(x, width(ty).expect("a type").max(16))
}

fn to_integer(op: &Op<'_>, to: &str, x: i128) -> Want {
    let (low, high) = range(to);
    let x = if op.has("sat") { x.clamp(low, high) } else { value(x as u64, to) };
    Want::Bits(register(x, to))
}

fn between(op: &Op<'_>, source: Format, f: Format, a: u64) -> Want {
    if source.is_nan(a) {
        return match f.bits {
            _ if op.has("sat") => Want::Bits(0),
            // The manual asks for the canonical NaN of the small formats only.
            16 if source.bits == 32 => f.nan.map_or(Want::Nan(f), Want::Bits),
            19 => Want::Anything,
            _ => Want::Nan(f),
        };
    }
    if source.is_infinite(a) {
        let sign = if source.is_negative(a) { f.sign() } else { 0 };
        return end(op, f, sign | f.infinity());
    }
    let exact = source.exact(a);
    let whole = op.parts.iter().any(|p| matches!(*p, "rni" | "rzi" | "rmi" | "rpi"));
    to_float(op, f, &if whole { exact.integer(rounding(op)) } else { exact })
}

fn to_float(op: &Op<'_>, f: Format, x: &Exact) -> Want {
    end(op, f, f.round(x, rounding(op)))
}

/// Applies the modifiers to a result that is a number.
fn end(op: &Op<'_>, f: Format, result: u64) -> Want {
    let mut bits = if op.has("ftz") && f.bits == 32 { f.flush(result) } else { result };
    if op.has("satfinite") && f.is_infinite(bits) {
        bits -= 1;
    }
    if op.has("relu") && f.is_negative(bits) {
        bits = 0;
    }
    if op.has("sat") {
        bits = if f.is_negative(bits) { 0 } else { bits.min(f.one()) };
    }
    // A tf32 is the upper part of a single.
    Want::Bits(if f.bits == 19 { bits << 13 } else { bits })
}

/// Fraction bits, bias and largest finite encoding of an 8-bit format.
fn eight_bits(ty: &str) -> (i32, i32, u64) {
    if ty == "e4m3x2" { (3, 7, 0x7e) } else { (2, 15, 0x7b) }
}

/// The value of a positive encoding in units of the smallest subnormal.
fn units(ty: &str, encoding: u64) -> i128 {
    let (fraction, ..) = eight_bits(ty);
    let (field, rest) = (encoding >> fraction, encoding & ((1 << fraction) - 1));
    let whole = if field == 0 { rest } else { rest | 1 << fraction };
    i128::from(whole) << field.saturating_sub(1)
}

/// The nearest 8-bit number, by search among all of them.
fn eighth(op: &Op<'_>, ty: &str, source: Format, a: u64) -> Option<u64> {
    if source.is_nan(a) {
        return Some(0x7f);
    }
    let negative = source.is_negative(a);
    if op.has("relu") && negative {
        return Some(0);
    }
    let (fraction, bias, largest) = eight_bits(ty);
    let sign = u64::from(negative) << 7;
    if source.is_infinite(a) {
        return Some(sign | largest);
    }
    // In quarters of the smallest subnormal, lost bits kept as the lowest one.
    let unit = 1 - bias - fraction - 2;
    let mut scaled = source.exact(a);
    scaled.negative = false;
    scaled.unit -= unit;
    let floor = scaled.integer(Rounding::Zero);
    let whole = floor.clamped(0, 1 << 60);
    let exact = scaled.integer(Rounding::Up).clamped(0, 1 << 60) == whole;
    let x = 2 * whole + i128::from(!exact);
    let distance = |e: u64| (8 * units(ty, e) - x).abs();
    let best = (0..=largest).min_by_key(|e| (distance(*e), *e & 1))?;
    Some(sign | best)
}

/// An 8-bit number as an f16.
fn of_eighth(op: &Op<'_>, ty: &str, encoding: u64) -> u64 {
    let (fraction, bias, largest) = eight_bits(ty);
    let f = format("f16").expect("a float");
    let (magnitude, negative) = (encoding & 0x7f, encoding & 0x80 != 0);
    let sign = if negative { f.sign() } else { 0 };
    let infinite = ty == "e5m2x2" && magnitude == 0x7c;
    if magnitude > largest && !infinite {
        return 0x7fff;
    }
    if op.has("relu") && negative {
        return 0;
    }
    if infinite {
        return sign | f.infinity();
    }
    let mut exact = Exact::of(units(ty, magnitude));
    exact.unit = 1 - bias - fraction;
    sign | f.round(&exact, Rounding::NearestEven)
}

fn packed(op: &Op<'_>, s: &[u64]) -> u64 {
    let to = op.parts[2];
    let n: u32 = to[1..].parse().expect("a width");
    let (low, high) = if to.starts_with('s') {
        (-(1_i128 << (n - 1)), (1 << (n - 1)) - 1)
    } else {
        (0, (1 << n) - 1)
    };
    let part = |k: usize| bits(value(s[k], "s32").clamp(low, high), n);
    let above = if s.len() > 2 { s[2] << (2 * n) } else { 0 };
    (above | part(0) << n | part(1)) & 0xffff_ffff
}
