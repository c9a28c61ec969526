//! Selects the lane function of a row's opcode: by its type, its flags and its rounding.
//!
//! A row has accepted the opcode before; only the modifiers that it leaves open are looked at.

use super::super::Modifiers;
use crate::alu::{
    integer::{self, Integer as _},
    lanes::{LaneFunction, d_to_p, d_to_w, dww_to_d, lanes, w_to_p, w1, w2, w3, ww_to_d, wwd_to_d},
};

/// Lifts `$path::<$given.., $condition..>` by a macro, which `$before` is passed to as well.
macro_rules! consts {
    ($lift:ident [$($before:tt)*] $($path:ident)::+ [$($given:tt)*]) => {
        $lift!($($before)* $($path)::+::<$($given),*>)
    };
    ($lift:ident $before:tt $($path:ident)::+ [$($given:tt)*] $condition:expr $(, $more:expr)*) => {
        if $condition {
            consts!($lift $before $($path)::+ [$($given)* true] $($more),*)
        } else {
            consts!($lift $before $($path)::+ [$($given)* false] $($more),*)
        }
    };
}

/// Lifts `$path::<$flag..>`, whether the opcode has each.
macro_rules! flags {
    ($m:ident, $lift:ident, $($path:ident)::+ $(, $flag:literal)*) => {
        consts!($lift [] $($path)::+ [] $($m.has($flag)),*)
    };
}

/// Lifts a function with and one without a rounding as its last argument, as [`flags`] does.
macro_rules! rounded {
    (
        $m:ident, $lift:ident, $($nearest:ident)::+,
        $lift_in:ident, $($directed:ident)::+ $(, $flag:literal)*
    ) => {
        match $m.rounding() {
            Round::Zero => consts!($lift_in [Zero,] $($directed)::+ [] $($m.has($flag)),*),
            Round::Down => consts!($lift_in [Down,] $($directed)::+ [] $($m.has($flag)),*),
            Round::Up => consts!($lift_in [Up,] $($directed)::+ [] $($m.has($flag)),*),
            Round::Nearest | Round::Away => flags!($m, $lift, $($nearest)::+ $(, $flag)*),
        }
    };
}

/// Lifts a function that rounds in a direction.
macro_rules! directed {
    ($d:tt $($name:ident $lift:ident($($a:ident),+);)+) => {$(
        macro_rules! $name {
            ($d round:ident, $d f:expr) => { $lift!(|$($a),+| $d f($($a),+, Round::$d round)) };
        }
    )+};
}

directed! { $
    w1_in w1(a);
    w2_in w2(a, b);
    w3_in w3(a, b, c);
    d1_in d1(a);
    d2_in d2(a, b);
    d3_in d3(a, b, c);
}

/// A function of singles, with its form for hosts with a fused multiply-add.
macro_rules! fused_w3 {
    (single::fma $($consts:tt)*) => { w3!(single::fma $($consts)*, single::fma_fused $($consts)*) };
}

/// The same of doubles.
macro_rules! fused_d3 {
    (double::fma $($consts:tt)*) => {
        d3!(double::fma, double::fma_fused)
    };
}

/// Lifts a function of 16-bit values to those in both halves of a register.
macro_rules! both1 {
    ($f:expr) => {
        w1!(|a| pair1($f, a))
    };
}

/// The same of two sources.
macro_rules! both2 {
    ($f:expr) => {
        w2!(|a, b| pair2($f, a, b))
    };
}

/// The same of three sources.
macro_rules! both3 {
    ($f:expr) => {
        w3!(|a, b, c| pair3($f, a, b, c))
    };
}

/// Lifts a function of one 16-bit value, by whether a register holds one or two.
macro_rules! packed {
    ($m:ident, $f:expr) => {
        if $m.ty().ends_with("x2") { both1!($f) } else { w1!($f) }
    };
}

/// Lifts `$path::<format, $given.., $flag..>`, by whether a register holds one value or two.
macro_rules! halves {
    ($m:ident, $one:ident, $both:ident, $($path:ident)::+ [$($given:tt)*] $(, $flag:literal)*) => {
        match $m.ty() {
            "f16" => consts!($one [] $($path)::+ [F16Type $($given)*] $($m.has($flag)),*),
            "bf16" => consts!($one [] $($path)::+ [Bf16Type $($given)*] $($m.has($flag)),*),
            "f16x2" => consts!($both [] $($path)::+ [F16Type $($given)*] $($m.has($flag)),*),
            _ => consts!($both [] $($path)::+ [Bf16Type $($given)*] $($m.has($flag)),*),
        }
    };
}

/// Lifts `$path::<format, relu>` by an 8-bit format.
macro_rules! quarters {
    ($m:ident, $lift:ident, $($path:ident)::+, $format:expr) => {
        if $format == "e4m3x2" {
            consts!($lift [] $($path)::+ [E4m3] $m.has("relu"))
        } else {
            consts!($lift [] $($path)::+ [E5m2] $m.has("relu"))
        }
    };
}

/// Lifts a function of integers of the opcode's type; a source behind `;` has 32 bits.
macro_rules! int {
    ($m:ident, |$($a:ident),+ $(; $n:ident)?| $e:expr) => {
        match $m.ty() {
            "u16" | "b16" => int!(@ u16 u16 u32 [$($a)+] [$($n)?] $e),
            "s16" => int!(@ i16 u16 u32 [$($a)+] [$($n)?] $e),
            "u32" | "b32" => int!(@ u32 u32 u32 [$($a)+] [$($n)?] $e),
            "s32" => int!(@ i32 u32 u32 [$($a)+] [$($n)?] $e),
            "u64" | "b64" => int!(@ u64 u64 u64 [$($a)+] [$($n)?] $e),
            _ => int!(@ i64 u64 u64 [$($a)+] [$($n)?] $e),
        }
    };
    (@ $t:ident $bits:ident $word:ident [$($a:ident)+] [$($n:ident)?] $e:expr) => {
        lanes!(($($a: $word),+ $(, $n: u32)?) -> $word, |$($a),+ $(, $n)?| {
            $(let $a = $a as $t;)+
            $word::from(($e) as $bits)
        })
    };
}

/// Lifts a function of bits of the opcode's type, or of predicates.
macro_rules! bitwise {
    ($m:ident, |$a:ident, $b:ident| $e:expr) => {
        if $m.ty() == "pred" { LaneFunction::Masks(|$a, $b| $e, 2) } else { int!($m, |$a, $b| $e) }
    };
}

pub(super) fn mul_wide(m: &Modifiers<'_>) -> LaneFunction {
    match m.ty() {
        "u16" => w2!(|a, b| (a & 0xffff) * (b & 0xffff)),
        "s16" => w2!(|a, b| (integer::sx16(a) * integer::sx16(b)) as u32),
        "u32" => ww_to_d!(integer::mul_wide_u32),
        _ => ww_to_d!(integer::mul_wide_s32),
    }
}

pub(super) fn mad(m: &Modifiers<'_>) -> LaneFunction {
    if m.has("hi") {
        int!(m, |a, b, c| a.mul_hi(b).wrapping_add(c))
    } else {
        int!(m, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
    }
}

pub(super) fn mad_wide(m: &Modifiers<'_>) -> LaneFunction {
    match m.ty() {
        "u16" => w3!(|a, b, c| ((a & 0xffff) * (b & 0xffff)).wrapping_add(c)),
        "s16" => w3!(|a, b, c| ((integer::sx16(a) * integer::sx16(b)) as u32).wrapping_add(c)),
        "u32" => wwd_to_d!(|a, b, c| integer::mul_wide_u32(a, b).wrapping_add(c)),
        _ => wwd_to_d!(|a, b, c| integer::mul_wide_s32(a, b).wrapping_add(c)),
    }
}

pub(super) fn bfind(m: &Modifiers<'_>) -> LaneFunction {
    if m.wide() {
        consts!(d_to_w [] integer::bfind64 [] m.signed(), m.has("shiftamt"))
    } else {
        consts!(w1 [] integer::bfind32 [] m.signed(), m.has("shiftamt"))
    }
}

pub(super) fn bfe(m: &Modifiers<'_>) -> LaneFunction {
    match m.ty() {
        "u32" => w3!(integer::bfe_u32),
        "s32" => w3!(integer::bfe_s32),
        "u64" => dww_to_d!(integer::bfe_u64),
        _ => dww_to_d!(integer::bfe_s64),
    }
}

/// `prmt`: a mode gives the selectors of each control value, lowest byte first.
pub(super) fn prmt(m: &Modifiers<'_>) -> LaneFunction {
    macro_rules! mode {
        ($($selectors:literal),+) => {
            w3!(|a, b, c| integer::prmt(a, b, [$($selectors),+][(c & 3) as usize]))
        };
    }
    match m.flags.first() {
        Some(&"f4e") => mode!(0x3210, 0x4321, 0x5432, 0x6543),
        Some(&"b4e") => mode!(0x5670, 0x6701, 0x7012, 0x0123),
        Some(&"rc8") => mode!(0x0000, 0x1111, 0x2222, 0x3333),
        Some(&"ecl") => mode!(0x3210, 0x3211, 0x3222, 0x3333),
        Some(&"ecr") => mode!(0x0000, 0x1110, 0x2210, 0x3210),
        Some(&"rc16") => mode!(0x1010, 0x3232, 0x1010, 0x3232),
        _ => w3!(integer::prmt),
    }
}

pub(super) fn testp(m: &Modifiers<'_>) -> LaneFunction {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    macro_rules! class {
        ($classes:pat) => {
            if m.wide() {
                d_to_p!(|a| matches!(f64::from_bits(a).classify(), $classes))
            } else {
                w_to_p!(|a| matches!(f32::from_bits(a).classify(), $classes))
            }
        };
    }
    match m.flags[0] {
        "finite" => class!(Normal | Subnormal | Zero),
        "infinite" => class!(Infinite),
        "number" => class!(Normal | Subnormal | Zero | Infinite),
        "notanumber" => class!(Nan),
        // Zero counts as normal, as the machine has it.
        "normal" => class!(Normal | Zero),
        _ => class!(Subnormal),
    }
}
