//! Comparisons as lane functions.

use crate::alu::{
    half::{self, Bf16Type, F16Type, Half},
    integer,
    lanes::{LaneFunction, dd_to_p, ww_to_p},
    single,
};

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
        _ => return float(cmp, ty, ftz),
    })
}

macro_rules! float_compare {
    ($lift:ident, $cmp:expr, $key:expr) => {
        match $cmp {
            "eq" => $lift!(|a, b| $key(a) == $key(b)),
            "ne" => $lift!(|a, b| ($key(a) < $key(b)) | ($key(a) > $key(b))),
            "lt" => $lift!(|a, b| $key(a) < $key(b)),
            "le" => $lift!(|a, b| $key(a) <= $key(b)),
            "gt" => $lift!(|a, b| $key(a) > $key(b)),
            "ge" => $lift!(|a, b| $key(a) >= $key(b)),
            "equ" => $lift!(|a, b| !(($key(a) < $key(b)) | ($key(a) > $key(b)))),
            "neu" => $lift!(|a, b| $key(a) != $key(b)),
            "ltu" => $lift!(|a, b| !($key(a) >= $key(b))),
            "leu" => $lift!(|a, b| !($key(a) > $key(b))),
            "gtu" => $lift!(|a, b| !($key(a) <= $key(b))),
            "geu" => $lift!(|a, b| !($key(a) < $key(b))),
            "num" => $lift!(|a, b| !$key(a).is_nan() & !$key(b).is_nan()),
            "nan" => $lift!(|a, b| $key(a).is_nan() | $key(b).is_nan()),
            _ => return None,
        }
    };
}

/// The comparison `cmp` on floats of type `ty`.
fn float(cmp: &str, ty: &str, ftz: bool) -> Option<LaneFunction> {
    Some(match (ty, ftz) {
        ("f32", false) => float_compare!(ww_to_p, cmp, |a: u32| f32::from_bits(a)),
        ("f32", true) => {
            float_compare!(ww_to_p, cmp, |a: u32| f32::from_bits(single::flush(a)))
        }
        ("f64", false) => float_compare!(dd_to_p, cmp, |a: u64| f64::from_bits(a)),
        ("f16", false) => {
            float_compare!(ww_to_p, cmp, |a: u32| F16Type::to_f32(a & 0xffff))
        }
        ("f16", true) => {
            float_compare!(ww_to_p, cmp, |a: u32| { F16Type::to_f32(half::flush::<F16Type>(a)) })
        }
        ("bf16", false) => {
            float_compare!(ww_to_p, cmp, |a: u32| Bf16Type::to_f32(a & 0xffff))
        }
        _ => return None,
    })
}
