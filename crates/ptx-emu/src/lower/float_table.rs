//! The floating-point half of the opcode table.

use super::table::Modifiers;
use crate::alu::{
    approx,
    convert::Round,
    double,
    half::{self, Bf16Type, F16Type, Half, pair1, pair2, pair3},
    lanes::{LaneFunction, d1, d2, d3, dd_to_p, w1, w2, w3, ww_to_p},
    single,
};

/// Lifts `path::<FTZ, SAT>`.
macro_rules! ftz_sat {
    ($lift:ident, $m:expr, $($p:ident)::+) => {
        match ($m.has("ftz"), $m.has("sat")) {
            (false, false) => $lift!($($p)::+::<false, false>),
            (false, true) => $lift!($($p)::+::<false, true>),
            (true, false) => $lift!($($p)::+::<true, false>),
            (true, true) => $lift!($($p)::+::<true, true>),
        }
    };
}

/// Lifts `path::<FTZ>`.
macro_rules! ftz {
    ($lift:ident, $m:expr, $($p:ident)::+) => {
        if $m.has("ftz") { $lift!($($p)::+::<true>) } else { $lift!($($p)::+::<false>) }
    };
}

/// Lifts a function with a rounding argument; the arguments are those of the lane function.
macro_rules! rounded {
    ($lift:ident, $round:expr, ($($a:ident: $t:ty),+), $f:expr) => {
        match $round {
            Round::Zero => $lift!(|$($a: $t),+| $f($($a),+, Round::Zero)),
            Round::Down => $lift!(|$($a: $t),+| $f($($a),+, Round::Down)),
            Round::Up => $lift!(|$($a: $t),+| $f($($a),+, Round::Up)),
            Round::Nearest | Round::Away => $lift!(|$($a: $t),+| $f($($a),+, Round::Nearest)),
        }
    };
}

/// Directed singles with all flag combinations.
macro_rules! rounded_ftz_sat {
    ($lift:ident, $m:expr, $round:expr, ($($a:ident: $t:ty),+), $($p:ident)::+) => {
        match ($m.has("ftz"), $m.has("sat")) {
            (false, false) => rounded!($lift, $round, ($($a: $t),+), $($p)::+::<false, false>),
            (false, true) => rounded!($lift, $round, ($($a: $t),+), $($p)::+::<false, true>),
            (true, false) => rounded!($lift, $round, ($($a: $t),+), $($p)::+::<true, false>),
            (true, true) => rounded!($lift, $round, ($($a: $t),+), $($p)::+::<true, true>),
        }
    };
}

/// Lifts `single::$f::<FTZ, NaN>`, or the form on magnitudes.
macro_rules! extreme {
    ($m:expr, $f:ident, $max:literal) => {
        match ($m.has("xorsign"), $m.has("ftz"), $m.has("NaN")) {
            (false, false, false) => w2!(single::$f::<false, false>),
            (false, false, true) => w2!(single::$f::<false, true>),
            (false, true, false) => w2!(single::$f::<true, false>),
            (false, true, true) => w2!(single::$f::<true, true>),
            (true, false, false) => w2!(single::xorsign::<false, false, $max>),
            (true, false, true) => w2!(single::xorsign::<false, true, $max>),
            (true, true, false) => w2!(single::xorsign::<true, false, $max>),
            (true, true, true) => w2!(single::xorsign::<true, true, $max>),
        }
    };
}

/// Rounding named among the flags.
fn rounding(m: &Modifiers<'_>) -> Option<Round> {
    m.flags.iter().find_map(|f| match *f {
        "rn" => Some(Round::Nearest),
        "rz" => Some(Round::Zero),
        "rm" => Some(Round::Down),
        "rp" => Some(Round::Up),
        _ => None,
    })
}

/// The lane function of a floating-point instruction.
pub(super) fn find(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    match m.ty() {
        "f32" => f32_function(op, m),
        "f64" => f64_function(op, m),
        "f16" => f16_function(op, m),
        "bf16" => bf16_function(op, m),
        "f16x2" => f16x2_function(op, m),
        "bf16x2" => bf16x2_function(op, m),
        _ => None,
    }
}

fn f32_function(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    if m.has("relu") {
        return None;
    }
    if let Some(round @ (Round::Zero | Round::Down | Round::Up)) = rounding(m) {
        return f32_directed(op, m, round);
    }
    Some(match op {
        "add" => ftz_sat!(w2, m, single::add),
        "sub" => ftz_sat!(w2, m, single::sub),
        "mul" => ftz_sat!(w2, m, single::mul),
        "fma" | "mad" => match (m.has("ftz"), m.has("sat")) {
            (false, false) => w3!(single::fma::<false, false>, single::fma_fused::<false, false>),
            (false, true) => w3!(single::fma::<false, true>, single::fma_fused::<false, true>),
            (true, false) => w3!(single::fma::<true, false>, single::fma_fused::<true, false>),
            (true, true) => w3!(single::fma::<true, true>, single::fma_fused::<true, true>),
        },
        "div" if m.has("approx") => ftz!(w2, m, approx::div),
        "div" if m.has("full") => ftz!(w2, m, approx::div_full),
        "div" if m.has("rn") => ftz!(w2, m, single::div),
        "rcp" if m.has("rn") => {
            if m.has("ftz") {
                w1!(|a| single::div::<true>(0x3f80_0000, a))
            } else {
                w1!(|a| single::div::<false>(0x3f80_0000, a))
            }
        }
        "rcp" if m.has("approx") => ftz!(w1, m, approx::rcp),
        "sqrt" if m.has("rn") => ftz!(w1, m, single::sqrt),
        "sqrt" if m.has("approx") => ftz!(w1, m, approx::sqrt),
        "rsqrt" if m.has("approx") => ftz!(w1, m, approx::rsqrt),
        "sin" if m.has("approx") => ftz!(w1, m, approx::sin),
        "cos" if m.has("approx") => ftz!(w1, m, approx::cos),
        "lg2" if m.has("approx") => ftz!(w1, m, approx::lg2),
        "ex2" if m.has("approx") => ftz!(w1, m, approx::ex2),
        "tanh" if m.has("approx") => w1!(approx::tanh),
        "min" => extreme!(m, min, false),
        "max" => extreme!(m, max, true),
        "abs" => ftz!(w1, m, single::abs),
        "neg" => ftz!(w1, m, single::neg),
        "copysign" => w2!(single::copysign),
        _ => return None,
    })
}

fn f32_directed(op: &str, m: &Modifiers<'_>, round: Round) -> Option<LaneFunction> {
    Some(match op {
        "add" => rounded_ftz_sat!(w2, m, round, (a: u32, b: u32), single::add_round),
        "sub" => sub_directed(m, round),
        "mul" => rounded_ftz_sat!(w2, m, round, (a: u32, b: u32), single::mul_round),
        "fma" | "mad" => {
            rounded_ftz_sat!(w3, m, round, (a: u32, b: u32, c: u32), single::fma_round)
        }
        "div" if m.has("ftz") => {
            rounded!(w2, round, (a: u32, b: u32), single::div_round::<true>)
        }
        "div" => rounded!(w2, round, (a: u32, b: u32), single::div_round::<false>),
        "rcp" if m.has("ftz") => rounded!(w1, round, (a: u32), |a, r| {
            single::div_round::<true>(0x3f80_0000, a, r)
        }),
        "rcp" => rounded!(w1, round, (a: u32), |a, r| {
            single::div_round::<false>(0x3f80_0000, a, r)
        }),
        "sqrt" if m.has("ftz") => {
            rounded!(w1, round, (a: u32), single::sqrt_round::<true>)
        }
        "sqrt" => rounded!(w1, round, (a: u32), single::sqrt_round::<false>),
        _ => return None,
    })
}

/// `sub` in a direction: the addition of the opposite.
fn sub_directed(m: &Modifiers<'_>, round: Round) -> LaneFunction {
    macro_rules! sub {
        ($ftz:literal, $sat:literal) => {
            rounded!(w2, round, (a: u32, b: u32), |a, b: u32, r| {
                single::add_round::<$ftz, $sat>(a, b ^ 0x8000_0000, r)
            })
        };
    }
    match (m.has("ftz"), m.has("sat")) {
        (false, false) => sub!(false, false),
        (false, true) => sub!(false, true),
        (true, false) => sub!(true, false),
        (true, true) => sub!(true, true),
    }
}

fn f64_function(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    if m.has("sat") || m.has("relu") || m.has("NaN") {
        return None;
    }
    if let Some(round @ (Round::Zero | Round::Down | Round::Up)) = rounding(m) {
        return Some(match op {
            "add" => rounded!(d2, round, (a: u64, b: u64), double::add_round),
            "sub" => rounded!(d2, round, (a: u64, b: u64), double::sub_round),
            "mul" => rounded!(d2, round, (a: u64, b: u64), double::mul_round),
            "div" => rounded!(d2, round, (a: u64, b: u64), double::div_round),
            "rcp" => rounded!(d1, round, (a: u64), |a, r| {
                double::div_round(1.0_f64.to_bits(), a, r)
            }),
            "fma" | "mad" => {
                rounded!(d3, round, (a: u64, b: u64, c: u64), double::fma_round)
            }
            "sqrt" => rounded!(d1, round, (a: u64), double::sqrt_round),
            _ => return None,
        });
    }
    Some(match op {
        "add" => d2!(double::add),
        "sub" => d2!(double::sub),
        "mul" => d2!(double::mul),
        "fma" | "mad" => d3!(double::fma, double::fma_fused),
        "div" => d2!(double::div),
        "rcp" if m.has("approx") => d1!(approx::rcp64),
        "rcp" => d1!(double::rcp),
        "sqrt" => d1!(double::sqrt),
        "rsqrt" if m.has("ftz") => d1!(approx::rsqrt64),
        "rsqrt" => d1!(approx::rsqrt64_full),
        "min" => d2!(double::min),
        "max" => d2!(double::max),
        "abs" => d1!(|a| a & !(1 << 63)),
        "neg" => d1!(|a| a ^ (1 << 63)),
        "copysign" => d2!(double::copysign),
        _ => return None,
    })
}

/// `half::op::<H, FTZ, SAT>`, alone or on pairs.
macro_rules! half_binary {
    ($m:expr, $f:ident, $wrap:ident) => {
        match ($m.has("ftz"), $m.has("sat")) {
            (false, false) => $wrap!(half::$f::<H, false, false>),
            (false, true) => $wrap!(half::$f::<H, false, true>),
            (true, false) => $wrap!(half::$f::<H, true, false>),
            (true, true) => $wrap!(half::$f::<H, true, true>),
        }
    };
}

/// `half::fma::<H, FTZ, SAT, RELU>`, alone or on pairs.
macro_rules! half_fma {
    ($m:expr, $wrap:ident) => {
        match ($m.has("ftz"), $m.has("sat"), $m.has("relu")) {
            (false, false, false) => $wrap!(half::fma::<H, false, false, false>),
            (false, true, false) => $wrap!(half::fma::<H, false, true, false>),
            (true, false, false) => $wrap!(half::fma::<H, true, false, false>),
            (true, true, false) => $wrap!(half::fma::<H, true, true, false>),
            (false, false, true) => $wrap!(half::fma::<H, false, false, true>),
            (true, false, true) => $wrap!(half::fma::<H, true, false, true>),
            _ => return None,
        }
    };
}

/// `half::extreme::<H, MAX, PROPAGATE, FTZ>`, alone or on pairs.
macro_rules! half_extreme {
    ($m:expr, $max:literal, $wrap:ident) => {
        match ($m.has("xorsign"), $m.has("NaN"), $m.has("ftz")) {
            (false, false, false) => $wrap!(half::extreme::<H, $max, false, false>),
            (false, false, true) => $wrap!(half::extreme::<H, $max, false, true>),
            (false, true, false) => $wrap!(half::extreme::<H, $max, true, false>),
            (false, true, true) => $wrap!(half::extreme::<H, $max, true, true>),
            (true, false, false) => $wrap!(half::xorsign::<H, $max, false, false>),
            (true, false, true) => $wrap!(half::xorsign::<H, $max, false, true>),
            (true, true, false) => $wrap!(half::xorsign::<H, $max, true, false>),
            (true, true, true) => $wrap!(half::xorsign::<H, $max, true, true>),
        }
    };
}

/// One value per register: three operands.
macro_rules! alone3 {
    ($f:expr) => {
        w3!(|a, b, c| $f(a, b, c))
    };
}

/// Two values per register: two operands.
macro_rules! both2 {
    ($f:expr) => {
        w2!(|a, b| pair2($f, a, b))
    };
}

/// Two values per register: three operands.
macro_rules! both3 {
    ($f:expr) => {
        w3!(|a, b, c| pair3($f, a, b, c))
    };
}

/// The functions of one 16-bit format. A macro, because the lane functions are items and cannot see
/// a type parameter.
macro_rules! half_functions {
    ($single:ident, $pair:ident, $half:ty, $bfloat:literal) => {
fn $single(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    type H = $half;
    if matches!(rounding(m), Some(r) if r != Round::Nearest) || ($bfloat && m.has("ftz") && op != "ex2") {
        return None;
    }
    Some(match op {
        "add" => half_binary!(m, add, w2),
        "sub" => half_binary!(m, sub, w2),
        "mul" => half_binary!(m, mul, w2),
        "fma" => half_fma!(m, alone3),
        "min" => half_extreme!(m, false, w2),
        "max" => half_extreme!(m, true, w2),
        "abs" if m.has("ftz") => w1!(|a| half::abs(half::flush::<H>(a))),
        "abs" => w1!(half::abs),
        "neg" if m.has("ftz") => w1!(|a| half::neg::<H>(half::flush::<H>(a))),
        "neg" => w1!(half::neg::<H>),
        "ex2" if $bfloat => w1!(approx::ex2_bf16),
        "ex2" if !m.has("ftz") => w1!(approx::ex2_f16),
        "tanh" if $bfloat => w1!(approx::tanh_bf16),
        "tanh" => w1!(approx::tanh_f16),
        _ => return None,
    })
}

fn $pair(op: &str, m: &Modifiers<'_>) -> Option<LaneFunction> {
    type H = $half;
    if matches!(rounding(m), Some(r) if r != Round::Nearest) || ($bfloat && m.has("ftz") && op != "ex2") {
        return None;
    }
    Some(match op {
        "add" => half_binary!(m, add, both2),
        "sub" => half_binary!(m, sub, both2),
        "mul" => half_binary!(m, mul, both2),
        "fma" => half_fma!(m, both3),
        "min" => half_extreme!(m, false, both2),
        "max" => half_extreme!(m, true, both2),
        "abs" if m.has("ftz") => {
            w1!(|a| pair1(|a| half::abs(half::flush::<H>(a)), a))
        }
        "abs" => w1!(|a| pair1(half::abs, a)),
        "neg" if m.has("ftz") => {
            w1!(|a| pair1(|a| half::neg::<H>(half::flush::<H>(a)), a))
        }
        "neg" => w1!(|a| pair1(half::neg::<H>, a)),
        "ex2" if $bfloat => w1!(|a| pair1(approx::ex2_bf16, a)),
        "ex2" if !m.has("ftz") => w1!(|a| pair1(approx::ex2_f16, a)),
        "tanh" if $bfloat => w1!(|a| pair1(approx::tanh_bf16, a)),
        "tanh" => w1!(|a| pair1(approx::tanh_f16, a)),
        _ => return None,
    })
}
    };
}

half_functions!(f16_function, f16x2_function, F16Type, false);
half_functions!(bf16_function, bf16x2_function, Bf16Type, true);

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
pub(super) fn compare(cmp: &str, ty: &str, ftz: bool) -> Option<LaneFunction> {
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
