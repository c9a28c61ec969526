//! The table from opcode and modifiers to a lane function.

use super::float_table;
use crate::alu::{
    half::pair2,
    integer,
    lanes::{
        LaneFunction, d_to_p, d_to_w, d1, d2, d3, dd_to_p, ddww_to_d, dw_to_d, dww_to_d, w_to_p,
        w1, w2, w3, w4, ww_to_d, ww_to_p, wwd_to_d,
    },
};

/// An opcode's modifiers, sorted out.
#[derive(Debug, Default, Clone)]
pub(super) struct Modifiers<'a> {
    /// The mnemonic.
    pub name: &'a str,
    /// All modifiers in order.
    pub parts: Vec<&'a str>,
    /// Types in order.
    pub types: Vec<&'a str>,
    /// Everything else in order.
    pub flags: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    /// Splits the modifiers of an opcode.
    pub(super) fn new(name: &'a str, parts: &[&'a str]) -> Self {
        let (types, flags) = parts
            .iter()
            .copied()
            .partition(|p| crate::parse::type_bytes(p).is_some() || *p == "pred");
        Self { name, parts: parts.to_vec(), types, flags }
    }

    /// Whether the modifier is there.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// The last type.
    pub(super) fn ty(&self) -> &'a str {
        self.types.last().copied().unwrap_or("")
    }

    /// Whether all flags are among the given.
    pub(super) fn only(&self, known: &[&str]) -> bool {
        self.flags.iter().all(|f| known.contains(f))
    }
}

/// `vabsdiff2` or `vabsdiff4`, by the bits of a part.
macro_rules! video {
    ($m:expr, $bits:literal) => {
        match ($m.types[1] == "s32", $m.has("add")) {
            (false, false) => w3!(integer::video_abs_diff::<$bits, false, false>),
            (false, true) => w3!(integer::video_abs_diff::<$bits, false, true>),
            (true, false) => w3!(integer::video_abs_diff::<$bits, true, false>),
            (true, true) => w3!(integer::video_abs_diff::<$bits, true, true>),
        }
    };
}

/// The lane function of an instruction whose operands stand in plain order.
pub(super) fn find(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    if matches!(m.ty(), "f32" | "f64" | "f16" | "bf16" | "f16x2" | "bf16x2")
        && !matches!(op, "mov" | "slct")
    {
        return float_table::find(op, m);
    }
    match op {
        "add" | "sub" | "mul" | "mul24" | "mad" | "mad24" => arithmetic(op, m),
        "div" | "rem" | "min" | "max" | "abs" | "neg" | "sad" | "dp4a" | "dp2a" => more(op, m),
        "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" => logic(op, m),
        "vabsdiff2" => Some(video!(m, 16)),
        "vabsdiff4" => Some(video!(m, 8)),
        "bfe" | "bfi" | "bfind" | "brev" | "popc" | "clz" | "prmt" | "fns" | "bmsk" | "szext" => {
            bits(op, m)
        }
        _ => None,
    }
}

fn arithmetic(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    if !m.only(&["lo", "hi", "wide", "sat"]) || m.types.len() != 1 {
        return None;
    }
    let half = m.flags.first().copied().unwrap_or("");
    match (op, &m.flags[..]) {
        ("mad", ["hi", "sat"]) => {
            return Some(w3!(|a, b, c| { integer::add_sat_s32(integer::mul_hi_s32(a, b), c) }));
        }
        ("mad24", ["hi", "sat"]) => {
            return Some(w3!(|a, b, c| {
                integer::add_sat_s32(integer::mul24::<true, true>(a, b), c)
            }));
        }
        (_, [] | [_]) => {}
        _ => return None,
    }
    Some(match (op, half, m.ty()) {
        ("add", "", "s16" | "u16") => w2!(|a, b| a.wrapping_add(b) & 0xffff),
        ("add", "", "s32" | "u32") => w2!(|a, b| a.wrapping_add(b)),
        ("add", "", "s64" | "u64") => d2!(|a, b| a.wrapping_add(b)),
        ("add", "sat", "s32") => w2!(integer::add_sat_s32),
        ("add", "", "u16x2" | "s16x2") => {
            w2!(|a, b| pair2(|a, b| a.wrapping_add(b), a, b))
        }
        ("sub", "", "s16" | "u16") => w2!(|a, b| a.wrapping_sub(b) & 0xffff),
        ("sub", "", "s32" | "u32") => w2!(|a, b| a.wrapping_sub(b)),
        ("sub", "", "s64" | "u64") => d2!(|a, b| a.wrapping_sub(b)),
        ("sub", "sat", "s32") => w2!(integer::sub_sat_s32),
        ("mul", "lo", "s16" | "u16") => w2!(|a, b| a.wrapping_mul(b) & 0xffff),
        ("mul", "hi", "u16") => w2!(|a, b| ((a & 0xffff) * (b & 0xffff)) >> 16),
        ("mul", "hi", "s16") => {
            w2!(|a, b| { ((integer::sx16(a) * integer::sx16(b)) >> 16) as u32 & 0xffff })
        }
        ("mul", "wide", "u16") => w2!(|a, b| (a & 0xffff) * (b & 0xffff)),
        ("mul", "wide", "s16") => {
            w2!(|a, b| (integer::sx16(a) * integer::sx16(b)) as u32)
        }
        ("mul", "lo", "s32" | "u32") => w2!(|a, b| a.wrapping_mul(b)),
        ("mul", "hi", "s32") => w2!(integer::mul_hi_s32),
        ("mul", "hi", "u32") => w2!(integer::mul_hi_u32),
        ("mul", "wide", "s32") => ww_to_d!(integer::mul_wide_s32),
        ("mul", "wide", "u32") => ww_to_d!(integer::mul_wide_u32),
        ("mul", "lo", "s64" | "u64") => d2!(|a, b| a.wrapping_mul(b)),
        ("mul", "hi", "s64") => d2!(integer::mul_hi_s64),
        ("mul", "hi", "u64") => d2!(integer::mul_hi_u64),
        ("mul24", "lo", "s32") => w2!(integer::mul24::<true, false>),
        ("mul24", "hi", "s32") => w2!(integer::mul24::<true, true>),
        ("mul24", "lo", "u32") => w2!(integer::mul24::<false, false>),
        ("mul24", "hi", "u32") => w2!(integer::mul24::<false, true>),
        _ => return multiply_add(op, half, m.ty()),
    })
}

fn multiply_add(op: &str, half: &str, ty: &str) -> Option<LaneFunction> {
    Some(match (op, half, ty) {
        ("mad", "lo", "s16" | "u16") => {
            w3!(|a, b, c| a.wrapping_mul(b).wrapping_add(c) & 0xffff)
        }
        ("mad", "hi", "u16") => {
            w3!(|a, b, c| { (((a & 0xffff) * (b & 0xffff)) >> 16).wrapping_add(c) & 0xffff })
        }
        ("mad", "hi", "s16") => w3!(|a, b, c| {
            (((integer::sx16(a) * integer::sx16(b)) >> 16) as u32).wrapping_add(c) & 0xffff
        }),
        ("mad", "wide", "u16") => {
            w3!(|a, b, c| ((a & 0xffff) * (b & 0xffff)).wrapping_add(c))
        }
        ("mad", "wide", "s16") => {
            w3!(|a, b, c| { ((integer::sx16(a) * integer::sx16(b)) as u32).wrapping_add(c) })
        }
        ("mad", "lo", "s32" | "u32") => {
            w3!(|a, b, c| a.wrapping_mul(b).wrapping_add(c))
        }
        ("mad", "hi", "s32") => {
            w3!(|a, b, c| integer::mul_hi_s32(a, b).wrapping_add(c))
        }
        ("mad", "hi", "u32") => {
            w3!(|a, b, c| integer::mul_hi_u32(a, b).wrapping_add(c))
        }
        ("mad", "wide", "s32") => {
            wwd_to_d!(|a, b, c| { integer::mul_wide_s32(a, b).wrapping_add(c) })
        }
        ("mad", "wide", "u32") => {
            wwd_to_d!(|a, b, c| { integer::mul_wide_u32(a, b).wrapping_add(c) })
        }
        ("mad", "lo", "s64" | "u64") => {
            d3!(|a, b, c| a.wrapping_mul(b).wrapping_add(c))
        }
        ("mad", "hi", "s64") => {
            d3!(|a, b, c| integer::mul_hi_s64(a, b).wrapping_add(c))
        }
        ("mad", "hi", "u64") => {
            d3!(|a, b, c| integer::mul_hi_u64(a, b).wrapping_add(c))
        }
        ("mad24", "lo", "s32") => {
            w3!(|a, b, c| { integer::mul24::<true, false>(a, b).wrapping_add(c) })
        }
        ("mad24", "hi", "s32") => {
            w3!(|a, b, c| { integer::mul24::<true, true>(a, b).wrapping_add(c) })
        }
        ("mad24", "hi", "u32") => {
            w3!(|a, b, c| { integer::mul24::<false, true>(a, b).wrapping_add(c) })
        }
        ("mad24", "lo", "u32") => {
            w3!(|a, b, c| { integer::mul24::<false, false>(a, b).wrapping_add(c) })
        }
        _ => return None,
    })
}

fn more(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    if op == "dp4a" || op == "dp2a" {
        return dot(op, m);
    }
    if m.flags[..] == ["relu"] {
        return Some(match (op, m.ty()) {
            ("min", "s32") => w2!(|a, b| (a as i32).min(b as i32).max(0) as u32),
            ("max", "s32") => w2!(|a, b| (a as i32).max(b as i32).max(0) as u32),
            ("min", "s16x2") => {
                w2!(|a, b| pair2(integer::extreme_s16::<false, true>, a, b))
            }
            ("max", "s16x2") => {
                w2!(|a, b| pair2(integer::extreme_s16::<true, true>, a, b))
            }
            _ => return None,
        });
    }
    if !m.flags.is_empty() || m.types.len() != 1 {
        return None;
    }
    Some(match (op, m.ty()) {
        ("div", "u16") => {
            w2!(|a, b| integer::div_u32(a & 0xffff, b & 0xffff) & 0xffff)
        }
        ("div", "s16") => w2!(|a, b| {
            integer::div_s32(integer::sx16(a) as u32, integer::sx16(b) as u32) & 0xffff
        }),
        ("div", "u32") => w2!(integer::div_u32),
        ("div", "s32") => w2!(integer::div_s32),
        ("div", "u64") => d2!(integer::div_u64),
        ("div", "s64") => d2!(integer::div_s64),
        ("rem", "u16") => w2!(|a, b| integer::rem_u32(a & 0xffff, b & 0xffff)),
        ("rem", "s16") => w2!(|a, b| {
            integer::rem_s32(integer::sx16(a) as u32, integer::sx16(b) as u32) & 0xffff
        }),
        ("rem", "u32") => w2!(integer::rem_u32),
        ("rem", "s32") => w2!(integer::rem_s32),
        ("rem", "u64") => d2!(integer::rem_u64),
        ("rem", "s64") => d2!(integer::rem_s64),
        ("min", "u16") => w2!(|a, b| (a & 0xffff).min(b & 0xffff)),
        ("min", "s16") => {
            w2!(|a, b| integer::sx16(a).min(integer::sx16(b)) as u32 & 0xffff)
        }
        ("min", "u32") => w2!(|a, b| a.min(b)),
        ("min", "s32") => w2!(|a, b| (a as i32).min(b as i32) as u32),
        ("min", "u64") => d2!(|a, b| a.min(b)),
        ("min", "s64") => d2!(|a, b| (a as i64).min(b as i64) as u64),
        ("max", "u16") => w2!(|a, b| (a & 0xffff).max(b & 0xffff)),
        ("max", "s16") => {
            w2!(|a, b| integer::sx16(a).max(integer::sx16(b)) as u32 & 0xffff)
        }
        ("max", "u32") => w2!(|a, b| a.max(b)),
        ("max", "s32") => w2!(|a, b| (a as i32).max(b as i32) as u32),
        ("max", "u64") => d2!(|a, b| a.max(b)),
        ("max", "s64") => d2!(|a, b| (a as i64).max(b as i64) as u64),
        ("min", "u16x2") => w2!(|a, b| pair2(u32::min, a, b)),
        ("max", "u16x2") => w2!(|a, b| pair2(u32::max, a, b)),
        ("min", "s16x2") => {
            w2!(|a, b| pair2(integer::extreme_s16::<false, false>, a, b))
        }
        ("max", "s16x2") => {
            w2!(|a, b| pair2(integer::extreme_s16::<true, false>, a, b))
        }
        ("abs", "s16") => w1!(|a| integer::sx16(a).unsigned_abs() & 0xffff),
        ("abs", "s32") => w1!(|a| (a as i32).unsigned_abs()),
        ("abs", "s64") => d1!(|a| (a as i64).unsigned_abs()),
        ("neg", "s16") => w1!(|a| a.wrapping_neg() & 0xffff),
        ("neg", "s32") => w1!(|a| a.wrapping_neg()),
        ("neg", "s64") => d1!(|a| a.wrapping_neg()),
        ("sad", "u16") => {
            w3!(|a, b, c| { (a & 0xffff).abs_diff(b & 0xffff).wrapping_add(c) & 0xffff })
        }
        ("sad", "s16") => {
            w3!(|a, b, c| { integer::sx16(a).abs_diff(integer::sx16(b)).wrapping_add(c) & 0xffff })
        }
        ("sad", "u64") => d3!(|a, b, c| c.wrapping_add(a.abs_diff(b))),
        ("sad", "s64") => {
            d3!(|a, b, c| { c.wrapping_add((a as i64).abs_diff(b as i64)) })
        }
        ("sad", "s32") => w3!(integer::sad_s32),
        ("sad", "u32") => w3!(integer::sad_u32),
        _ => return None,
    })
}

fn dot(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    let [a, b] = m.types[..] else { return None };
    Some(match (op, m.flags.first().copied(), a, b) {
        ("dp4a", None, "u32", "u32") => w3!(integer::dp4a::<false, false>),
        ("dp4a", None, "u32", "s32") => w3!(integer::dp4a::<false, true>),
        ("dp4a", None, "s32", "u32") => w3!(integer::dp4a::<true, false>),
        ("dp4a", None, "s32", "s32") => w3!(integer::dp4a::<true, true>),
        ("dp2a", Some("lo"), "u32", "u32") => w3!(integer::dp2a::<false, false, false>),
        ("dp2a", Some("lo"), "s32", "s32") => w3!(integer::dp2a::<true, true, false>),
        ("dp2a", Some("lo"), "s32", "u32") => w3!(integer::dp2a::<true, false, false>),
        ("dp2a", Some("lo"), "u32", "s32") => w3!(integer::dp2a::<false, true, false>),
        ("dp2a", Some("hi"), "u32", "u32") => w3!(integer::dp2a::<false, false, true>),
        ("dp2a", Some("hi"), "s32", "s32") => w3!(integer::dp2a::<true, true, true>),
        ("dp2a", Some("hi"), "s32", "u32") => w3!(integer::dp2a::<true, false, true>),
        ("dp2a", Some("hi"), "u32", "s32") => w3!(integer::dp2a::<false, true, true>),
        _ => return None,
    })
}

fn logic(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    if op == "shf" {
        let clamp = m.has("clamp");
        return Some(match (m.has("l"), clamp) {
            _ if !m.only(&["l", "r", "clamp", "wrap"]) || m.ty() != "b32" => return None,
            (true, true) => w3!(integer::funnel_left::<true>),
            (true, false) => w3!(integer::funnel_left::<false>),
            (false, true) => w3!(integer::funnel_right::<true>),
            (false, false) => w3!(integer::funnel_right::<false>),
        });
    }
    if !m.flags.is_empty() || m.types.len() != 1 {
        return None;
    }
    Some(match (op, m.ty()) {
        ("and", "pred") => LaneFunction::Masks(|a, b| a & b, 2),
        ("or", "pred") => LaneFunction::Masks(|a, b| a | b, 2),
        ("xor", "pred") => LaneFunction::Masks(|a, b| a ^ b, 2),
        ("not", "pred") => LaneFunction::Masks(|a, _| !a, 1),
        ("and", "b16" | "b32") => w2!(|a, b| a & b),
        ("or", "b16" | "b32") => w2!(|a, b| a | b),
        ("xor", "b16" | "b32") => w2!(|a, b| a ^ b),
        ("not", "b16") => w1!(|a| !a & 0xffff),
        ("not", "b32") => w1!(|a| !a),
        ("cnot", "b16") => w1!(|a| u32::from(a & 0xffff == 0)),
        ("cnot", "b32") => w1!(|a| u32::from(a == 0)),
        ("and", "b64") => d2!(|a, b| a & b),
        ("or", "b64") => d2!(|a, b| a | b),
        ("xor", "b64") => d2!(|a, b| a ^ b),
        ("not", "b64") => d1!(|a| !a),
        ("cnot", "b64") => d1!(|a| u64::from(a == 0)),
        ("lop3", "b32") => w4!(integer::lop3),
        ("shl", "b16") => w2!(|a, n| integer::shl32(a, n) & 0xffff),
        ("shl", "b32") => w2!(integer::shl32),
        ("shl", "b64") => dw_to_d!(integer::shl64),
        ("shr", "b16" | "u16") => w2!(|a, n| integer::shr_u32(a & 0xffff, n)),
        ("shr", "s16") => {
            w2!(|a, n| { integer::shr_s32(integer::sx16(a) as u32, n) & 0xffff })
        }
        ("shr", "b32" | "u32") => w2!(integer::shr_u32),
        ("shr", "s32") => w2!(integer::shr_s32),
        ("shr", "b64" | "u64") => dw_to_d!(integer::shr_u64),
        ("shr", "s64") => dw_to_d!(integer::shr_s64),
        _ => return None,
    })
}

fn bits(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    let flag = m.flags.first().copied().unwrap_or("");
    if m.flags.len() > 1 || m.types.len() != 1 {
        return None;
    }
    Some(match (op, flag, m.ty()) {
        ("bfe", "", "u32") => w3!(integer::bfe_u32),
        ("bfe", "", "s32") => w3!(integer::bfe_s32),
        ("bfe", "", "u64") => dww_to_d!(integer::bfe_u64),
        ("bfe", "", "s64") => dww_to_d!(integer::bfe_s64),
        ("bfi", "", "b32") => w4!(integer::bfi32),
        ("bfi", "", "b64") => ddww_to_d!(integer::bfi64),
        ("bfind", "", "u32") => w1!(integer::bfind32::<false, false>),
        ("bfind", "", "s32") => w1!(integer::bfind32::<true, false>),
        ("bfind", "shiftamt", "u32") => w1!(integer::bfind32::<false, true>),
        ("bfind", "shiftamt", "s32") => w1!(integer::bfind32::<true, true>),
        ("bfind", "", "u64") => d_to_w!(integer::bfind64::<false, false>),
        ("bfind", "", "s64") => d_to_w!(integer::bfind64::<true, false>),
        ("bfind", "shiftamt", "u64") => d_to_w!(integer::bfind64::<false, true>),
        ("bfind", "shiftamt", "s64") => d_to_w!(integer::bfind64::<true, true>),
        ("brev", "", "b32") => w1!(|a| a.reverse_bits()),
        ("brev", "", "b64") => d1!(|a| a.reverse_bits()),
        ("popc", "", "b32") => w1!(|a| a.count_ones()),
        ("popc", "", "b64") => d_to_w!(|a| a.count_ones()),
        ("clz", "", "b32") => w1!(|a| a.leading_zeros()),
        ("clz", "", "b64") => d_to_w!(|a| a.leading_zeros()),
        ("fns", "", "b32") => w3!(integer::fns),
        ("szext", "clamp", "u32") => w2!(integer::szext::<true, false>),
        ("szext", "clamp", "s32") => w2!(integer::szext::<true, true>),
        ("szext", "wrap", "u32") => w2!(integer::szext::<false, false>),
        ("szext", "wrap", "s32") => w2!(integer::szext::<false, true>),
        ("bmsk", "clamp", "b32") => w2!(integer::bmsk::<true>),
        ("bmsk", "wrap", "b32") => w2!(integer::bmsk::<false>),
        ("prmt", "", "b32") => w3!(integer::prmt),
        ("prmt", "f4e", "b32") => w3!(integer::prmt_f4e),
        ("prmt", "b4e", "b32") => w3!(integer::prmt_b4e),
        ("prmt", "rc8", "b32") => w3!(integer::prmt_rc8),
        ("prmt", "ecl", "b32") => w3!(integer::prmt_ecl),
        ("prmt", "ecr", "b32") => w3!(integer::prmt_ecr),
        ("prmt", "rc16", "b32") => w3!(integer::prmt_rc16),
        _ => return None,
    })
}

macro_rules! ordered {
    ($lift:ident, $cmp:expr, $key:expr) => {
        match $cmp {
            "eq" => $lift!(|a, b| $key(a) == $key(b)),
            "ne" => $lift!(|a, b| $key(a) != $key(b)),
            "lt" | "lo" => $lift!(|a, b| $key(a) < $key(b)),
            "le" | "ls" => $lift!(|a, b| $key(a) <= $key(b)),
            "gt" | "hi" => $lift!(|a, b| $key(a) > $key(b)),
            "ge" | "hs" => $lift!(|a, b| $key(a) >= $key(b)),
            _ => return None,
        }
    };
}

/// The comparison `cmp` on integers of type `ty`.
pub(super) fn compare(cmp: &str, ty: &str, ftz: bool) -> Option<LaneFunction> {
    Some(match ty {
        "b16" | "u16" => ordered!(ww_to_p, cmp, |a: u32| a & 0xffff),
        "s16" => ordered!(ww_to_p, cmp, integer::sx16),
        "b32" | "u32" => ordered!(ww_to_p, cmp, |a: u32| a),
        "s32" => ordered!(ww_to_p, cmp, |a: u32| a as i32),
        "b64" | "u64" => ordered!(dd_to_p, cmp, |a: u64| a),
        "s64" => ordered!(dd_to_p, cmp, |a: u64| a as i64),
        _ => return float_table::compare(cmp, ty, ftz),
    })
}

/// `testp`
pub(super) fn testp(test: &str, ty: &str) -> Option<LaneFunction> {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    macro_rules! by {
        ($lift:ident, $float:ty, $bits:ty) => {{
            macro_rules! class {
                ($p:pat) => {
                    ($lift!(|a: $bits| matches!(<$float>::from_bits(a).classify(), $p)))
                };
            }
            match test {
                "finite" => class!(Normal | Subnormal | Zero),
                "infinite" => class!(Infinite),
                "number" => class!(Normal | Subnormal | Zero | Infinite),
                "notanumber" => class!(Nan),
                // Zero counts as normal, as the machine has it.
                "normal" => class!(Normal | Zero),
                "subnormal" => class!(Subnormal),
                _ => return None,
            }
        }};
    }
    Some(match ty {
        "f32" => by!(w_to_p, f32, u32),
        "f64" => by!(d_to_p, f64, u64),
        _ => return None,
    })
}
