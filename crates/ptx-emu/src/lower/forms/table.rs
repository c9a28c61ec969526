//! The table of instruction forms.
//!
//! A row: opcodes ([`super::pattern`]), operands ([`super::InstructionForm::operands`]), first
//! architecture, how much of the result is defined, and the method of [`super::Builder`] that
//! lowers it; behind `lanes`, the function that it applies lane by lane, given the opcode's
//! modifiers.

use super::{
    Bits,
    Bits::{Approx, Exact},
    Entry,
    lanes::{bfe, bfind, mad, mad_wide, mul_wide, prmt, testp},
};
use crate::alu::{
    approx,
    convert::Round,
    double,
    half::{self, Bf16Type, E4m3, E5m2, F16Type, pair1, pair2, pair3},
    integer::{self, Integer as _},
    lanes::{LaneFunction, d_to_w, d1, d2, d3, ddww_to_d, lanes, w1, w2, w3, w4},
    single,
};
use crate::op::{BulkOp, ClusterOp, GridControl, MbarrierKind, Op, WarpgroupOrder};

/// Products of fractions: the sum is taken in another order than the machine's.
const SUM: Bits = Approx("order and rounding of the sum");

macro_rules! isa {
    ($($family:ident $name:literal {
        $($pattern:literal ($operands:literal) $sm:literal $bits:expr
            => $lower:ident $(|$m:pat_param| $function:expr)?;)*
    })*) => {
        /// Kinds of instructions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum InstructionGroup {
            $(#[doc = concat!("`", $name, "`")] $family,)*
        }

        impl InstructionGroup {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$family),*];

            /// Stable name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$family => $name,)*
                }
            }
        }

        pub(super) static ENTRIES: &[Entry] = &[$($(Entry {
            family: InstructionGroup::$family,
            pattern: $pattern,
            operands: $operands,
            sm: $sm,
            bits: $bits,
            lower: |b, i, m| b.$lower(i, m $(, { let $m = m; $function })?),
        },)*)*];
    };
}

isa! {
Integer "integer" {
    "add<int>"                                       ("T T T")      20 Exact => lanes |m| int!(m, |a, b| a.wrapping_add(b));
    "add.sat.s32"                                    ("T T T")      20 Exact => lanes |_| w2!(integer::add_sat_s32);
    "add{.u16x2,.s16x2}"                             ("T T T")      90 Exact => lanes |_| both2!(u32::wrapping_add);
    "sub<int>"                                       ("T T T")      20 Exact => lanes |m| int!(m, |a, b| a.wrapping_sub(b));
    "sub.sat.s32"                                    ("T T T")      20 Exact => lanes |_| w2!(integer::sub_sat_s32);
    "mul{.lo,.hi}<int>"                              ("T T T")      20 Exact => lanes |m| if m.has("hi") { int!(m, |a, b| a.mul_hi(b)) } else { int!(m, |a, b| a.wrapping_mul(b)) };
    "mul.wide{.u16,.u32,.s16,.s32}"                  ("D T T")      20 Exact => lanes |m| mul_wide(m);
    "mad{.lo,.hi}<int>"                              ("T T T T")    20 Exact => lanes |m| mad(m);
    "mad.hi.sat.s32"                                 ("T T T T")    20 Exact => lanes |_| w3!(integer::mad_hi_sat_s32);
    "mad.wide{.u16,.u32,.s16,.s32}"                  ("D T T D")    20 Exact => lanes |m| mad_wide(m);
    "mul24{.lo,.hi}{.u32,.s32}"                      ("T T T")      20 Exact => lanes |m| consts!(w2 [] integer::mul24 [] m.signed(), m.has("hi"));
    "mad24{.lo,.hi}{.u32,.s32}"                      ("T T T T")    20 Exact => lanes |m| consts!(w3 [] integer::mad24 [] m.signed(), m.has("hi"));
    "mad24.hi.sat.s32"                               ("T T T T")    20 Exact => lanes |_| w3!(|a, b, c| integer::add_sat_s32(integer::mul24::<true, true>(a, b), c));
    "div<int>"                                       ("T T T")      20 Exact => lanes |m| int!(m, |a, b| a.quotient(b));
    "rem<int>"                                       ("T T T")      20 Exact => lanes |m| int!(m, |a, b| a.remainder(b));
    "sad<int>"                                       ("T T T T")    20 Exact => lanes |m| int!(m, |a, b, c| a.sad(b, c));
    "abs{.s16,.s32,.s64}"                            ("T T")        20 Exact => lanes |m| int!(m, |a| a.abs_diff(0));
    "neg{.s16,.s32,.s64}"                            ("T T")        20 Exact => lanes |m| int!(m, |a| a.wrapping_neg());
    "min<int>"                                       ("T T T")      20 Exact => lanes |m| int!(m, |a, b| a.min(b));
    "max<int>"                                       ("T T T")      20 Exact => lanes |m| int!(m, |a, b| a.max(b));
    "min{.u16x2,.s16x2}"                             ("T T T")      90 Exact => lanes |m| if m.signed() { both2!(integer::extreme_s16::<false, false>) } else { both2!(u32::min) };
    "max{.u16x2,.s16x2}"                             ("T T T")      90 Exact => lanes |m| if m.signed() { both2!(integer::extreme_s16::<true, false>) } else { both2!(u32::max) };
    "min{.relu.s16x2,.relu.s32,.s16x2.relu,.s32.relu}" ("T T T")    90 Exact => lanes |m| if m.ty() == "s32" { w2!(|a, b| (a as i32).min(b as i32).max(0) as u32) } else { both2!(integer::extreme_s16::<false, true>) };
    "max{.relu.s16x2,.relu.s32,.s16x2.relu,.s32.relu}" ("T T T")    90 Exact => lanes |m| if m.ty() == "s32" { w2!(|a, b| (a as i32).max(b as i32).max(0) as u32) } else { both2!(integer::extreme_s16::<true, true>) };
    "popc{.b32,.b64}"                                ("W T")        20 Exact => lanes |m| if m.wide() { d_to_w!(u64::count_ones) } else { w1!(u32::count_ones) };
    "clz{.b32,.b64}"                                 ("W T")        20 Exact => lanes |m| if m.wide() { d_to_w!(u64::leading_zeros) } else { w1!(u32::leading_zeros) };
    "brev{.b32,.b64}"                                ("T T")        20 Exact => lanes |m| int!(m, |a| a.reverse_bits());
    "bfind{.shiftamt}?<wide>"                        ("W T")        20 Exact => lanes |m| bfind(m);
    "fns.b32"                                        ("T T T T")    30 Exact => lanes |_| w3!(integer::fns);
    "bfe<wide>"                                      ("T T W W")    20 Exact => lanes |m| bfe(m);
    "bfi{.b32,.b64}"                                 ("T T T W W")  20 Exact => lanes |m| if m.wide() { ddww_to_d!(integer::bfi64) } else { w4!(integer::bfi32) };
    "szext{.clamp,.wrap}{.u32,.s32}"                 ("T T W")      70 Exact => lanes |m| consts!(w2 [] integer::szext [] m.has("clamp"), m.signed());
    "bmsk{.clamp,.wrap}.b32"                         ("T T T")      70 Exact => lanes |m| flags!(m, w2, integer::bmsk, "clamp");
    "dp4a{.u32,.s32}{.u32,.s32}"                     ("W W W W")    61 Exact => lanes |m| consts!(w3 [] integer::dp4a [] m.types[0] == "s32", m.types[1] == "s32");
    "dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}"            ("W W W W")    61 Exact => lanes |m| consts!(w3 [] integer::dp2a [] m.types[0] == "s32", m.types[1] == "s32", m.has("hi"));
    "vabsdiff2{.u32.u32.u32,.u32.s32.s32,.s32.s32.s32}{.add}?" ("W W W W") 30 Exact => lanes |m| consts!(w3 [] integer::video_abs_diff [16] m.types[1] == "s32", m.has("add"));
    "vabsdiff4{.u32.u32.u32,.u32.s32.s32,.s32.s32.s32}{.add}?" ("W W W W") 30 Exact => lanes |m| consts!(w3 [] integer::video_abs_diff [8] m.types[1] == "s32", m.has("add"));
    "add.cc<wide>"                                   ("T T T")      20 Exact => carry;
    "addc{.cc}?<wide>"                               ("T T T")      20 Exact => carry;
    "sub.cc<wide>"                                   ("T T T")      20 Exact => carry;
    "subc{.cc}?<wide>"                               ("T T T")      20 Exact => carry;
    "mad{.lo,.hi}.cc<wide>"                          ("T T T T")    20 Exact => carry;
    "madc{.lo,.hi}{.cc}?<wide>"                      ("T T T T")    20 Exact => carry;
}
Logic "logic" {
    "and{.pred,.b16,.b32,.b64}"                      ("T T T")      20 Exact => lanes |m| bitwise!(m, |a, b| a & b);
    "or{.pred,.b16,.b32,.b64}"                       ("T T T")      20 Exact => lanes |m| bitwise!(m, |a, b| a | b);
    "xor{.pred,.b16,.b32,.b64}"                      ("T T T")      20 Exact => lanes |m| bitwise!(m, |a, b| a ^ b);
    "not{.pred,.b16,.b32,.b64}"                      ("T T")        20 Exact => lanes |m| if m.ty() == "pred" { LaneFunction::Masks(|a, _| !a, 1) } else { int!(m, |a| !a) };
    "cnot{.b16,.b32,.b64}"                           ("T T")        20 Exact => lanes |m| int!(m, |a| if a == 0 { 1 } else { 0 });
    "lop3.b32"                                       ("T T T T I")  50 Exact => lanes |_| w4!(integer::lop3);
    "lop3{.or,.and}.b32"                             ("W|P W W W I !P") 70 Exact => lop3_with_predicate;
    "shf{.l,.r}{.clamp,.wrap}.b32"                   ("T T T T")    32 Exact => lanes |m| consts!(w3 [] integer::funnel [] m.has("l"), m.has("clamp"));
    "shl{.b16,.b32,.b64}"                            ("T T W")      20 Exact => lanes |m| int!(m, |a; n| a.checked_shl(n).unwrap_or(0));
    "shr{.b16,.b32,.b64}"                            ("T T W")      20 Exact => lanes |m| int!(m, |a; n| a.shift_right(n));
    "shr<int>"                                       ("T T W")      20 Exact => lanes |m| int!(m, |a; n| a.shift_right(n));
    "prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}?"      ("T T T T")    20 Exact => lanes |m| prmt(m);
}
Single "f32" {
    "add<rnd>?{.ftz}?{.sat}?.f32"                    ("T T T")      20 Exact => lanes |m| rounded!(m, w2, single::add, w2_in, single::add_round, "ftz", "sat");
    "sub<rnd>?{.ftz}?{.sat}?.f32"                    ("T T T")      20 Exact => lanes |m| rounded!(m, w2, single::sub, w2_in, single::sub_round, "ftz", "sat");
    "mul<rnd>?{.ftz}?{.sat}?.f32"                    ("T T T")      20 Exact => lanes |m| rounded!(m, w2, single::mul, w2_in, single::mul_round, "ftz", "sat");
    "fma<rnd>{.ftz}?{.sat}?.f32"                     ("T T T T")    20 Exact => lanes |m| rounded!(m, fused_w3, single::fma, w3_in, single::fma_round, "ftz", "sat");
    "mad<rnd>{.ftz}?{.sat}?.f32"                     ("T T T T")    20 Exact => lanes |m| rounded!(m, fused_w3, single::fma, w3_in, single::fma_round, "ftz", "sat");
    "div<rnd>{.ftz}?.f32"                            ("T T T")      20 Exact => lanes |m| rounded!(m, w2, single::div, w2_in, single::div_round, "ftz");
    "rcp<rnd>{.ftz}?.f32"                            ("T T")        20 Exact => lanes |m| rounded!(m, w1, single::rcp, w1_in, single::rcp_round, "ftz");
    "sqrt<rnd>{.ftz}?.f32"                           ("T T")        20 Exact => lanes |m| rounded!(m, w1, single::sqrt, w1_in, single::sqrt_round, "ftz");
    "abs{.ftz}?.f32"                                 ("T T")        20 Exact => lanes |m| flags!(m, w1, single::abs, "ftz");
    "neg{.ftz}?.f32"                                 ("T T")        20 Exact => lanes |m| flags!(m, w1, single::neg, "ftz");
    "min{.ftz}?{.NaN}?{.xorsign.abs}?.f32"           ("T T T")      80 Exact => lanes |m| consts!(w2 [] single::extreme [false] m.has("xorsign"), m.has("ftz"), m.has("NaN"));
    "max{.ftz}?{.NaN}?{.xorsign.abs}?.f32"           ("T T T")      80 Exact => lanes |m| consts!(w2 [] single::extreme [true] m.has("xorsign"), m.has("ftz"), m.has("NaN"));
    "copysign.f32"                                   ("T T T")      20 Exact => lanes |_| w2!(single::copysign);
    "testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}.f32" ("P T") 20 Exact => lanes |m| testp(m);
}
Approximate "approximate" {
    "div.approx{.ftz}?.f32"                          ("T T T")      20 Approx("2 ulp for a divisor in 2^-126..2^126") => lanes |m| flags!(m, w2, approx::div, "ftz");
    "div.full{.ftz}?.f32"                            ("T T T")      20 Approx("2 ulp") => lanes |m| flags!(m, w2, approx::div_full, "ftz");
    "rcp.approx{.ftz}?.f32"                          ("T T")        20 Approx("1 ulp") => lanes |m| flags!(m, w1, approx::rcp, "ftz");
    "sqrt.approx{.ftz}?.f32"                         ("T T")        20 Approx("relative 2^-23") => lanes |m| flags!(m, w1, approx::sqrt, "ftz");
    "rsqrt.approx{.ftz}?.f32"                        ("T T")        20 Approx("relative 2^-22.9") => lanes |m| flags!(m, w1, approx::rsqrt, "ftz");
    "sin.approx{.ftz}?.f32"                          ("T T")        20 Approx("absolute 2^-20.5 in -2pi..2pi") => lanes |m| flags!(m, w1, approx::sin, "ftz");
    "cos.approx{.ftz}?.f32"                          ("T T")        20 Approx("absolute 2^-20.5 in -2pi..2pi") => lanes |m| flags!(m, w1, approx::cos, "ftz");
    "lg2.approx{.ftz}?.f32"                          ("T T")        20 Approx("absolute 2^-22 in 0.5..2, else relative 2^-22") => lanes |m| flags!(m, w1, approx::lg2, "ftz");
    "ex2.approx{.ftz}?.f32"                          ("T T")        20 Approx("2 ulp") => lanes |m| flags!(m, w1, approx::ex2, "ftz");
    "tanh.approx.f32"                                ("T T")        75 Approx("relative 2^-11") => lanes |_| w1!(approx::tanh);
    "tanh.approx<half>"                              ("T T")        75 Approx("absolute 2^-10.987") => lanes |m| packed!(m, approx::tanh_f16);
    "tanh.approx<bhalf>"                             ("T T")        90 Approx("absolute 2^-8") => lanes |m| packed!(m, approx::tanh_bf16);
    "ex2.approx<half>"                               ("T T")        75 Approx("relative 2^-9.9") => lanes |m| packed!(m, approx::ex2_f16);
    "ex2.approx.ftz<bhalf>"                          ("T T")        90 Approx("relative 2^-7") => lanes |m| packed!(m, approx::ex2_bf16);
    "rcp.approx.ftz.f64"                             ("T T")        20 Approx("upper 32 bits, relative 2^-20") => lanes |_| d1!(approx::rcp64);
    "rsqrt.approx.ftz.f64"                           ("T T")        20 Approx("upper 32 bits, relative 2^-20") => lanes |_| d1!(approx::rsqrt64);
    "rsqrt.approx.f64"                               ("T T")        20 Approx("relative 2^-20") => lanes |_| d1!(approx::rsqrt64_full);
}
Double "f64" {
    "add<rnd>?.f64"                                  ("T T T")      20 Exact => lanes |m| rounded!(m, d2, double::add, d2_in, double::add_round);
    "sub<rnd>?.f64"                                  ("T T T")      20 Exact => lanes |m| rounded!(m, d2, double::sub, d2_in, double::sub_round);
    "mul<rnd>?.f64"                                  ("T T T")      20 Exact => lanes |m| rounded!(m, d2, double::mul, d2_in, double::mul_round);
    "fma<rnd>.f64"                                   ("T T T T")    20 Exact => lanes |m| rounded!(m, fused_d3, double::fma, d3_in, double::fma_round);
    "mad<rnd>.f64"                                   ("T T T T")    20 Exact => lanes |m| rounded!(m, fused_d3, double::fma, d3_in, double::fma_round);
    "div<rnd>.f64"                                   ("T T T")      20 Exact => lanes |m| rounded!(m, d2, double::div, d2_in, double::div_round);
    "rcp<rnd>.f64"                                   ("T T")        20 Exact => lanes |m| rounded!(m, d1, double::rcp, d1_in, double::rcp_round);
    "sqrt<rnd>.f64"                                  ("T T")        20 Exact => lanes |m| rounded!(m, d1, double::sqrt, d1_in, double::sqrt_round);
    "abs.f64"                                        ("T T")        20 Exact => lanes |_| d1!(|a| a & !(1 << 63));
    "neg.f64"                                        ("T T")        20 Exact => lanes |_| d1!(|a| a ^ (1 << 63));
    "min.f64"                                        ("T T T")      20 Exact => lanes |_| d2!(double::extreme::<false>);
    "max.f64"                                        ("T T T")      20 Exact => lanes |_| d2!(double::extreme::<true>);
    "copysign.f64"                                   ("T T T")      20 Exact => lanes |_| d2!(double::copysign);
    "testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}.f64" ("P T") 20 Exact => lanes |m| testp(m);
}
Half "half" {
    "add{.rn}?{.ftz}?{.sat}?<half>"                  ("T T T")      53 Exact => lanes |m| halves!(m, w2, both2, half::add [], "ftz", "sat");
    "add{.rn}?<bhalf>"                               ("T T T")      90 Exact => lanes |m| halves!(m, w2, both2, half::add [], "ftz", "sat");
    "sub{.rn}?{.ftz}?{.sat}?<half>"                  ("T T T")      53 Exact => lanes |m| halves!(m, w2, both2, half::sub [], "ftz", "sat");
    "sub{.rn}?<bhalf>"                               ("T T T")      90 Exact => lanes |m| halves!(m, w2, both2, half::sub [], "ftz", "sat");
    "mul{.rn}?{.ftz}?{.sat}?<half>"                  ("T T T")      53 Exact => lanes |m| halves!(m, w2, both2, half::mul [], "ftz", "sat");
    "mul{.rn}?<bhalf>"                               ("T T T")      90 Exact => lanes |m| halves!(m, w2, both2, half::mul [], "ftz", "sat");
    "fma.rn{.ftz}?{.sat}?<half>"                     ("T T T T")    53 Exact => lanes |m| halves!(m, w3, both3, half::fma [], "ftz", "sat", "relu");
    "fma.rn{.ftz}?.relu<half>"                       ("T T T T")    80 Exact => lanes |m| halves!(m, w3, both3, half::fma [], "ftz", "sat", "relu");
    "fma.rn{.relu}?<bhalf>"                          ("T T T T")    80 Exact => lanes |m| halves!(m, w3, both3, half::fma [], "ftz", "sat", "relu");
    "neg{.ftz}?<half>"                               ("T T")        53 Exact => lanes |m| halves!(m, w1, both1, half::neg [], "ftz");
    "neg<bhalf>"                                     ("T T")        80 Exact => lanes |m| halves!(m, w1, both1, half::neg [], "ftz");
    "abs{.ftz}?<half>"                               ("T T")        53 Exact => lanes |m| halves!(m, w1, both1, half::abs [], "ftz");
    "abs<bhalf>"                                     ("T T")        80 Exact => lanes |m| halves!(m, w1, both1, half::abs [], "ftz");
    "min{.ftz}?{.NaN}?{.xorsign.abs}?<half>"         ("T T T")      80 Exact => lanes |m| halves!(m, w2, both2, half::extreme [false], "xorsign", "NaN", "ftz");
    "min{.NaN}?{.xorsign.abs}?<bhalf>"               ("T T T")      80 Exact => lanes |m| halves!(m, w2, both2, half::extreme [false], "xorsign", "NaN", "ftz");
    "max{.ftz}?{.NaN}?{.xorsign.abs}?<half>"         ("T T T")      80 Exact => lanes |m| halves!(m, w2, both2, half::extreme [true], "xorsign", "NaN", "ftz");
    "max{.NaN}?{.xorsign.abs}?<bhalf>"               ("T T T")      80 Exact => lanes |m| halves!(m, w2, both2, half::extreme [true], "xorsign", "NaN", "ftz");
}
Compare "compare" {
    "setp<scmp>{.s16,.s32,.s64}"                     ("P|P? T T")   20 Exact => setp;
    "setp<ucmp>{.u16,.u32,.u64}"                     ("P|P? T T")   20 Exact => setp;
    "setp{.eq,.ne}{.b16,.b32,.b64}"                  ("P|P? T T")   20 Exact => setp;
    "setp<fcmp>{.ftz}?.f32"                          ("P|P? T T")   20 Exact => setp;
    "setp<fcmp>.f64"                                 ("P|P? T T")   20 Exact => setp;
    "setp<fcmp>{.ftz}?.f16"                          ("P|P? T T")   53 Exact => setp;
    "setp<fcmp>.bf16"                                ("P|P? T T")   90 Exact => setp;
    "setp<fcmp>{.ftz}?.f16x2"                        ("P|P T T")    53 Exact => setp;
    "setp<fcmp>.bf16x2"                              ("P|P T T")    90 Exact => setp;
    "setp<scmp><bool>{.s16,.s32,.s64}"               ("P|P? T T !P") 20 Exact => setp;
    "setp<ucmp><bool>{.u16,.u32,.u64}"               ("P|P? T T !P") 20 Exact => setp;
    "setp{.eq,.ne}<bool>{.b16,.b32,.b64}"            ("P|P? T T !P") 20 Exact => setp;
    "setp<fcmp><bool>{.ftz}?.f32"                    ("P|P? T T !P") 20 Exact => setp;
    "setp<fcmp><bool>.f64"                           ("P|P? T T !P") 20 Exact => setp;
    "setp<fcmp><bool>{.ftz}?.f16"                    ("P|P? T T !P") 53 Exact => setp;
    "setp<fcmp><bool>.bf16"                          ("P|P? T T !P") 90 Exact => setp;
    "setp<fcmp><bool>{.ftz}?.f16x2"                  ("P|P T T !P") 53 Exact => setp;
    "setp<fcmp><bool>.bf16x2"                        ("P|P T T !P") 90 Exact => setp;
    "set<scmp>{.u32,.s32,.f32}{.s16,.s32,.s64}"      ("U T T")      20 Exact => set;
    "set<ucmp>{.u32,.s32,.f32}{.u16,.u32,.u64}"      ("U T T")      20 Exact => set;
    "set{.eq,.ne}{.u32,.s32,.f32}{.b16,.b32,.b64}"   ("U T T")      20 Exact => set;
    "set<fcmp>{.ftz}?{.u32,.s32,.f32}.f32"           ("U T T")      20 Exact => set;
    "set<fcmp>{.u32,.s32,.f32}.f64"                  ("U T T")      20 Exact => set;
    "set<fcmp>{.ftz}?{.u16,.s16,.u32,.s32,.f16}.f16" ("U T T")      53 Exact => set;
    "set<fcmp>{.u16,.s16,.u32,.s32,.bf16}.bf16"      ("U T T")      90 Exact => set;
    "set<fcmp>{.ftz}?{.f16x2,.u32,.s32}.f16x2"       ("U T T")      53 Exact => set;
    "set<fcmp>{.bf16x2,.u32,.s32}.bf16x2"            ("U T T")      90 Exact => set;
    "set<scmp><bool>{.u32,.s32,.f32}{.s16,.s32,.s64}" ("U T T !P")  20 Exact => set;
    "set<ucmp><bool>{.u32,.s32,.f32}{.u16,.u32,.u64}" ("U T T !P")  20 Exact => set;
    "set{.eq,.ne}<bool>{.u32,.s32,.f32}{.b16,.b32,.b64}" ("U T T !P") 20 Exact => set;
    "set<fcmp><bool>{.ftz}?{.u32,.s32,.f32}.f32"     ("U T T !P")   20 Exact => set;
    "set<fcmp><bool>{.u32,.s32,.f32}.f64"            ("U T T !P")   20 Exact => set;
    "set<fcmp><bool>{.ftz}?{.u16,.s16,.u32,.s32,.f16}.f16" ("U T T !P") 53 Exact => set;
    "set<fcmp><bool>{.u16,.s16,.u32,.s32,.bf16}.bf16" ("U T T !P")  90 Exact => set;
    "set<fcmp><bool>{.ftz}?{.f16x2,.u32,.s32}.f16x2" ("U T T !P")   53 Exact => set;
    "set<fcmp><bool>{.bf16x2,.u32,.s32}.bf16x2"      ("U T T !P")   90 Exact => set;
    "selp<any>"                                      ("T T T !P")   20 Exact => selp;
    "slct<any>.s32"                                  ("U U U T")    20 Exact => slct;
    "slct{.ftz}?<any>.f32"                           ("U U U T")    20 Exact => slct;
}
Convert "convert" {
    "cvt<int8><int8>"                                ("U T")        20 Exact => cvt;
    "cvt.sat<narrow>"                                ("U T")        20 Exact => cvt;
    "cvt<rnd>{.ftz}?{.sat}?.f32<int8>"               ("U T")        20 Exact => cvt;
    "cvt<rnd>{.sat}?{.f16,.f64}<int8>"               ("U T")        20 Exact => cvt;
    "cvt<rnd>{.sat}?.bf16<int8>"                     ("U T")        90 Exact => cvt;
    "cvt<irnd>{.ftz}?{.sat}?<int8>.f32"              ("U T")        20 Exact => cvt;
    "cvt<irnd>{.sat}?<int8>{.f16,.f64}"              ("U T")        20 Exact => cvt;
    "cvt<irnd>{.sat}?<int8>.bf16"                    ("U T")        90 Exact => cvt;
    "cvt<irnd>?{.ftz}?{.sat}?.f32.f32"               ("U T")        20 Exact => cvt;
    "cvt<irnd>?{.sat}?.f64.f64"                      ("U T")        20 Exact => cvt;
    "cvt<irnd>?{.sat}?.f16.f16"                      ("U T")        20 Exact => cvt;
    "cvt<irnd>?{.sat}?.bf16.bf16"                    ("U T")        90 Exact => cvt;
    "cvt{.ftz}?{.sat}?.f64.f32"                      ("U T")        20 Exact => cvt;
    "cvt{.ftz}?{.sat}?.f32.f16"                      ("U T")        20 Exact => cvt;
    "cvt{.sat}?.f64.f16"                             ("U T")        20 Exact => cvt;
    "cvt{.ftz}?{.sat}?.f32.bf16"                     ("U T")        90 Exact => cvt;
    "cvt{.sat}?.f64.bf16"                            ("U T")        90 Exact => cvt;
    "cvt<rnd>{.ftz}?{.sat}?.f32.f64"                 ("U T")        20 Exact => cvt;
    "cvt<rnd>{.ftz}?{.sat}?.f16.f32"                 ("U T")        20 Exact => cvt;
    "cvt<rnd>{.sat}?.f16.f64"                        ("U T")        20 Exact => cvt;
    "cvt<rnd>{.sat}?{.bf16.f64,.bf16.f16,.f16.bf16}" ("U T")        90 Exact => cvt;
    "cvt{.rn,.rz}{.relu}?.bf16.f32"                  ("U T")        80 Exact => cvt;
    "cvt{.rm,.rp}.bf16.f32"                          ("U T")        90 Exact => cvt;
    "cvt{.rn,.rz}{.relu}?.satfinite.bf16.f32"        ("U T")        80 Exact => cvt;
    "cvt{.rn,.rz}.relu{.satfinite}?.f16.f32"         ("U T")        80 Exact => cvt;
    "cvt{.rn,.rz}.satfinite.f16.f32"                 ("U T")        80 Exact => cvt;
    "cvt{.rn,.rz}{.relu}?{.satfinite}?.f16x2.f32"    ("U T T")      80 Exact => cvt;
    "cvt{.rn,.rz}{.relu}?{.satfinite}?.bf16x2.f32"   ("U T T")      80 Exact => cvt;
    "cvt.rna{.satfinite}?.tf32.f32"                  ("U T")        80 Exact => cvt;
    "cvt{.rn,.rz}{.satfinite}?{.relu}?.tf32.f32"     ("U T")        90 Exact => cvt;
    "cvt.rn.satfinite{.relu}?<f8x2>.f32"             ("U T T")      89 Exact => lanes |m| quarters!(m, w2, half::quarters_of_singles, m.types[0]);
    "cvt.rn.satfinite{.relu}?<f8x2>.f16x2"           ("U T")        89 Exact => lanes |m| quarters!(m, w1, half::quarters_of_halves, m.types[0]);
    "cvt.rn{.relu}?.f16x2<f8x2>"                     ("U T")        89 Exact => lanes |m| quarters!(m, w1, half::halves_of_quarters, m.ty());
    "cvt.pack.sat{.u16,.s16}.s32"                    ("W W W")      72 Exact => lanes |m| consts!(w2 [] integer::pack2 [16] m.types[0] == "s16");
    "cvt.pack.sat{.u8,.s8}.s32.b32"                  ("W W W W")    72 Exact => lanes |m| consts!(w3 [] integer::pack_clamped [8] m.types[0] == "s8");
    "cvt.pack.sat{.u4,.s4,.u2,.s2}.s32.b32"          ("W W W W")    75 Exact => lanes |m| if m.parts[2].ends_with('4') { consts!(w3 [] integer::pack_clamped [4] m.parts[2] == "s4") } else { consts!(w3 [] integer::pack_clamped [2] m.parts[2] == "s2") };
}
Move "move" {
    "mov{.pred,.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}" ("d a") 20 Exact => mov;
    "mov{.v2,.v4}{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}" ("V V") 20 Exact => mov_vector;
    "mov.b128"                                       ("d a")        70 Exact => mov;
    "cvta{.to}?{.global,.const,.shared,.shared::cta,.shared::cluster,.local,.param,.param::entry}.u64" ("T T") 20 Exact => cvta;
    "isspacep{.global,.const,.shared,.shared::cta,.shared::cluster,.local,.param,.param::entry}" ("P L") 20 Exact => isspacep;
    "activemask.b32"                                 ("T")          30 Exact => active_mask;
}
Load "load" {
    "ld{.weak}?<space>?{.ca,.cg,.cs,.lu,.cv}?{.L2::cache_hint}?<L2size>?<vec>" ("V A C") 20 Exact => load;
    "ld{.weak}?<space>?<L1>{.L2::cache_hint}?<L2size>?<vec>" ("V A C") 70 Exact => load;
    "ld.volatile<space>?<L2size>?<vec>"              ("V A")        20 Exact => load;
    "ld{.relaxed,.acquire}<scope><space>?<L1>?{.L2::cache_hint}?<L2size>?<vec>" ("V A C") 70 Exact => load;
    "ld.mmio.relaxed.sys{.global}?<vec>"             ("V A")        70 Exact => load;
    "ld.global{.ca,.cg,.cs}?.nc{.L2::cache_hint}?<L2size>?<vec>" ("V A C") 32 Exact => load;
    "ld.global.nc<L1>{.L2::cache_hint}?<L2size>?<vec>" ("V A C")    70 Exact => load;
    "ldu{.global}?<vec>"                             ("V A")        20 Exact => load;
}
Store "store" {
    "st{.weak}?<stspace>?{.wb,.cg,.cs,.wt}?{.L2::cache_hint}?<vec>" ("A V C") 20 Exact => store;
    "st{.weak}?<stspace>?<L1>{.L2::cache_hint}?<vec>" ("A V C")     70 Exact => store;
    "st.volatile<stspace>?<vec>"                     ("A V")        20 Exact => store;
    "st{.relaxed,.release}<scope><stspace>?<L1>?{.L2::cache_hint}?<vec>" ("A V C") 70 Exact => store;
    "st.mmio.relaxed.sys{.global}?<vec>"             ("A V")        70 Exact => store;
}
Atomic "atomic" {
    "atom<sem>?<place>?{.and,.or,.xor,.exch}{.L2::cache_hint}?{.b32,.b64}" ("T A T C") 20 Exact => atomic;
    "atom<sem>?<place>?.exch{.L2::cache_hint}?.b128" ("T A T C") 90 Exact => atomic;
    "atom<sem>?<place>?.cas{.L2::cache_hint}?{.b16,.b32,.b64}" ("T A T T C") 70 Exact => atomic;
    "atom<sem>?<place>?.cas{.L2::cache_hint}?.b128" ("T A T T C") 90 Exact => atomic;
    "atom<sem>?<place>?.add{.L2::cache_hint}?{.u32,.s32,.u64,.f32,.f64}" ("T A T C") 60 Exact => atomic;
    "atom<sem>?<place>?{.inc,.dec}{.L2::cache_hint}?.u32" ("T A T C") 20 Exact => atomic;
    "atom<sem>?<place>?{.min,.max}{.L2::cache_hint}?{.u32,.s32,.u64,.s64}" ("T A T C") 32 Exact => atomic;
    "atom<sem>?<place>?.add.noftz{.L2::cache_hint}?<half>" ("T A T C") 70 Exact => atomic;
    "atom<sem>?<place>?.add.noftz{.L2::cache_hint}?<bhalf>" ("T A T C") 90 Exact => atomic;
    "atom<sem>?<scope>?.global.add{.L2::cache_hint}?{.v2,.v4}.f32" ("V A V C") 90 Exact => atomic;
    "atom<sem>?<scope>?.global{.add,.min,.max}.noftz{.L2::cache_hint}?{.v2,.v4,.v8}{.f16,.bf16}" ("V A V C") 90 Exact => atomic;
    "atom<sem>?<scope>?.global{.add,.min,.max}.noftz{.L2::cache_hint}?{.v2,.v4}{.f16x2,.bf16x2}" ("V A V C") 90 Exact => atomic;
    "atom{.and,.or,.xor,.exch}<order>{.b32,.b64}"    ("T A T")      70 Exact => atomic;
    "atom.exch<order>.b128"                          ("T A T")      90 Exact => atomic;
    "atom.cas<order>{.b16,.b32,.b64}"                ("T A T T")    70 Exact => atomic;
    "atom.cas<order>.b128"                           ("T A T T")    90 Exact => atomic;
    "atom.add<order>{.u32,.s32,.u64,.f32,.f64}"      ("T A T")      70 Exact => atomic;
    "atom{.min,.max}<order>{.u32,.s32,.u64,.s64}"    ("T A T")      70 Exact => atomic;
    "red{.and,.or,.xor}<order>{.b32,.b64}"           ("A T")        70 Exact => atomic;
    "red.add<order>{.u32,.s32,.u64,.f32,.f64}"       ("A T")        70 Exact => atomic;
    "red{.min,.max}<order>{.u32,.s32,.u64,.s64}"     ("A T")        70 Exact => atomic;
    "red{.relaxed,.release}?<place>?{.and,.or,.xor}{.L2::cache_hint}?{.b32,.b64}" ("A T C") 20 Exact => atomic;
    "red{.relaxed,.release}?<place>?.add{.L2::cache_hint}?{.u32,.s32,.u64,.f32,.f64}" ("A T C") 60 Exact => atomic;
    "red{.relaxed,.release}?<place>?{.inc,.dec}{.L2::cache_hint}?.u32" ("A T C") 20 Exact => atomic;
    "red{.relaxed,.release}?<place>?{.min,.max}{.L2::cache_hint}?{.u32,.s32,.u64,.s64}" ("A T C") 32 Exact => atomic;
    "red{.relaxed,.release}?<place>?.add.noftz{.L2::cache_hint}?<half>" ("A T C") 70 Exact => atomic;
    "red{.relaxed,.release}?<place>?.add.noftz{.L2::cache_hint}?<bhalf>" ("A T C") 90 Exact => atomic;
    "red{.relaxed,.release}?<scope>?.global.add{.L2::cache_hint}?{.v2,.v4}.f32" ("A V C") 90 Exact => atomic;
    "red{.relaxed,.release}?<scope>?.global{.add,.min,.max}.noftz{.L2::cache_hint}?{.v2,.v4,.v8}{.f16,.bf16}" ("A V C") 90 Exact => atomic;
    "red{.relaxed,.release}?<scope>?.global{.add,.min,.max}.noftz{.L2::cache_hint}?{.v2,.v4}{.f16x2,.bf16x2}" ("A V C") 90 Exact => atomic;
}
Cache "cache" {
    "prefetch{.global,.local}?{.L1,.L2}"             ("A")          20 Exact => plain |_| Op::Nop;
    "prefetch.global{.L2::evict_last,.L2::evict_normal}" ("A")      80 Exact => plain |_| Op::Nop;
    "prefetchu.L1"                                   ("A")          20 Exact => plain |_| Op::Nop;
    "applypriority{.global}?.L2::evict_normal"       ("A I")        80 Exact => plain |_| Op::Nop;
    "discard{.global}?.L2"                           ("A I")        80 Exact => plain |_| Op::Nop;
    "createpolicy.fractional<L2>{.L2::evict_unchanged,.L2::evict_first}?.b64" ("T fraction?") 80 Exact => create_policy;
    "createpolicy.fractional.L2::evict_unchanged.b64" ("T fraction?") 80 Exact => create_policy;
    "createpolicy.range{.global}?<L2>{.L2::evict_unchanged,.L2::evict_first}?.b64" ("T A W W") 80 Exact => create_policy;
    "createpolicy.cvt.L2.b64"                        ("T L")        80 Exact => create_policy;
}
Copy "async_copy" {
    "cp.async.ca{.shared,.shared::cta}.global{.L2::cache_hint}?<L2size>?" ("A A size W? C") 80 Exact => async_copy;
    "cp.async.cg{.shared,.shared::cta}.global{.L2::cache_hint}?<L2size>?" ("A A size16 W? C") 80 Exact => async_copy;
    "cp.async{.commit_group,.wait_all}"              ("")           80 Exact => async_copy;
    "cp.async.wait_group"                            ("I")          80 Exact => async_copy;
    "cp.async.mbarrier.arrive{.noinc}?<own>?.b64"    ("A")          80 Exact => copy_arrive;
}
Bulk "bulk_copy" {
    "cp.async.bulk{.shared::cluster,.shared::cta}.global.mbarrier::complete_tx::bytes{.L2::cache_hint}?" ("A A W A C") 90 Exact => bulk_copy;
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{.L2::cache_hint}?" ("A A W A H C") 90 Exact => bulk_copy;
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes" ("A A W A") 90 Exact => bulk_copy;
    "cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}?" ("A A W C") 90 Exact => bulk_copy;
    "cp.async.bulk.prefetch.L2.global{.L2::cache_hint}?" ("A W C")  90 Exact => plain |_| Op::Nop;
    "cp.async.bulk.commit_group"                     ("")           90 Exact => bulk_plain |_| BulkOp::Commit;
    "cp.async.bulk.wait_group{.read}?"               ("I")          90 Exact => bulk_wait |_| BulkOp::Wait;
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{.and.b32,.or.b32,.xor.b32,.add.u32,.add.s32,.add.u64,.inc.u32,.dec.u32,.min.u32,.min.s32,.max.u32,.max.s32}" ("A A W A") 90 Exact => bulk_copy;
    "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}?{.and,.or,.xor}{.b32,.b64}" ("A A W C") 90 Exact => bulk_copy;
    "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}?.add{.u32,.s32,.u64,.f32,.f64}" ("A A W C") 90 Exact => bulk_copy;
    "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}?.add.noftz{.f16,.bf16}" ("A A W C") 90 Exact => bulk_copy;
    "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}?{.inc,.dec}.u32" ("A A W C") 90 Exact => bulk_copy;
    "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}?{.min,.max}{.u32,.s32,.u64,.s64,.f16,.bf16}" ("A A W C") 90 Exact => bulk_copy;
    "cp.async.bulk.tensor<rank>{.shared::cluster,.shared::cta}.global{.tile}?.mbarrier::complete_tx::bytes{.L2::cache_hint}?" ("A tensor A C") 90 Exact => tensor_copy;
    "cp.async.bulk.tensor<rank>.shared::cluster.global{.tile}?.mbarrier::complete_tx::bytes.multicast::cluster{.L2::cache_hint}?" ("A tensor A H C") 90 Exact => tensor_copy;
    "cp.async.bulk.tensor{.3d,.4d,.5d}{.shared::cluster,.shared::cta}.global.im2col.mbarrier::complete_tx::bytes{.L2::cache_hint}?" ("A tensor A offsets C") 90 Exact => tensor_copy;
    "cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster{.L2::cache_hint}?" ("A tensor A offsets H C") 90 Exact => tensor_copy;
    "cp.async.bulk.tensor<rank>.global.shared::cta{.tile}?.bulk_group{.L2::cache_hint}?" ("tensor A C") 90 Exact => tensor_copy;
    "cp.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta.im2col_no_offs.bulk_group{.L2::cache_hint}?" ("tensor A C") 90 Exact => tensor_copy;
    "cp.reduce.async.bulk.tensor<rank>.global.shared::cta{.add,.min,.max,.inc,.dec,.and,.or,.xor}{.tile}?.bulk_group{.L2::cache_hint}?" ("tensor A C") 90 Exact => tensor_copy;
    "cp.reduce.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta{.add,.min,.max,.inc,.dec,.and,.or,.xor}.im2col_no_offs.bulk_group{.L2::cache_hint}?" ("tensor A C") 90 Exact => tensor_copy;
    "cp.async.bulk.prefetch.tensor<rank>.L2.global{.tile}?{.L2::cache_hint}?" ("tensor C") 90 Exact => tensor_copy;
    "cp.async.bulk.prefetch.tensor{.3d,.4d,.5d}.L2.global.im2col{.L2::cache_hint}?" ("tensor offsets C") 90 Exact => tensor_copy;
    "prefetch{.const,.param}?.tensormap"             ("A")          90 Exact => plain |_| Op::Nop;
    "st.async{.weak}?.shared::cluster.mbarrier::complete_tx::bytes{.v2,.v4}?{.b32,.u32,.s32,.f32}" ("A V A") 90 Exact => element_copy;
    "st.async{.weak}?.shared::cluster.mbarrier::complete_tx::bytes{.v2}?{.b64,.u64,.s64,.f64}" ("A V A") 90 Exact => element_copy;
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes{.inc.u32,.dec.u32,.min.u32,.min.s32,.max.u32,.max.s32,.add.u32,.add.s32,.add.u64,.and.b32,.or.b32,.xor.b32}" ("A T A") 90 Exact => element_copy;
    "tensormap.replace.tile.global_address{.global,.shared::cta}?.b1024.b64" ("A L") 90 Exact => tensormap_replace;
    "tensormap.replace.tile.rank{.global,.shared::cta}?.b1024.b32" ("A W") 90 Exact => tensormap_replace;
    "tensormap.replace.tile{.box_dim,.global_dim,.element_stride}{.global,.shared::cta}?.b1024.b32" ("A I W") 90 Exact => tensormap_replace;
    "tensormap.replace.tile.global_stride{.global,.shared::cta}?.b1024.b64" ("A I L") 90 Exact => tensormap_replace;
    "tensormap.replace.tile{.elemtype,.interleave_layout,.swizzle_mode,.fill_mode}{.global,.shared::cta}?.b1024.b32" ("A I") 90 Exact => tensormap_replace;
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release<scope>.sync.aligned" ("A A I") 90 Exact => tensormap_copy;
}
Warp "warp" {
    "shfl.sync{.up,.down,.bfly,.idx}.b32"            ("W|P? W W W W") 30 Exact => shuffle;
    "vote.sync{.all,.any,.uni}.pred"                 ("P !P W")     30 Exact => vote;
    "vote.sync.ballot.b32"                           ("W !P W")     30 Exact => vote;
    "vote.ballot.sync.b32"                           ("W !P W")     30 Exact => vote;
    "match.any.sync{.b32,.b64}"                      ("W T W")      70 Exact => matching;
    "match.all.sync{.b32,.b64}"                      ("W|P? T W")   70 Exact => matching;
    "redux.sync{.add,.min,.max}{.u32,.s32}"          ("T T W")      80 Exact => redux;
    "redux.sync{.and,.or,.xor}.b32"                  ("T T W")      80 Exact => redux;
    "redux.sync{.min,.max}{.abs}?{.NaN}?.f32"        ("T T W")      100 Exact => redux;
    "elect.sync"                                     ("W|P W")      90 Exact => elect;
}
Barrier "barrier" {
    "bar.warp.sync"                                  ("W")          30 Exact => warp_barrier;
    "bar{.cta}?.sync"                                ("W W?")       20 Exact => barrier;
    "bar{.cta}?.arrive"                              ("W W")        20 Exact => barrier;
    "bar{.cta}?.red.popc.u32"                        ("T W W? !P")  20 Exact => barrier;
    "bar{.cta}?.red{.and,.or}.pred"                  ("P W W? !P")  20 Exact => barrier;
    "barrier{.cta}?.sync{.aligned}?"                 ("W W?")       30 Exact => barrier;
    "barrier{.cta}?.arrive{.aligned}?"               ("W W")        30 Exact => barrier;
    "barrier{.cta}?.red.popc{.aligned}?.u32"         ("T W W? !P")  30 Exact => barrier;
    "barrier{.cta}?.red{.and,.or}{.aligned}?.pred"   ("P W W? !P")  30 Exact => barrier;
}
Fence "fence" {
    "membar{.cta,.gl,.sys}"                          ("")           20 Exact => fence;
    "fence{.sc,.acq_rel}?<scope>"                    ("")           70 Exact => fence;
    "fence{.acquire,.release}<scope>"                ("")           70 Exact => fence;
    "fence.mbarrier_init.release.cluster"            ("")           90 Exact => cluster_barrier |_| ClusterOp::InitFence;
    "fence.acquire.sync_restrict::shared::cluster.cluster" ("")     90 Exact => plain |_| Op::Nop;
    "fence.release.sync_restrict::shared::cta.cluster" ("")         90 Exact => plain |_| Op::Nop;
    "fence.proxy.alias"                              ("")           70 Exact => plain |_| Op::Nop;
    "fence.proxy.async{.global,.shared::cta,.shared::cluster}?" ("") 90 Exact => bulk_plain |_| BulkOp::Fence;
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster" ("") 90 Exact => plain |_| Op::Nop;
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster" ("") 90 Exact => plain |_| Op::Nop;
    "fence.proxy.tensormap::generic.acquire<scope>"  ("A I")        90 Exact => plain |_| Op::Nop;
    "fence.proxy.tensormap::generic.release<scope>"  ("")           90 Exact => plain |_| Op::Nop;
}
Mbarrier "mbarrier" {
    "mbarrier.init<own>?.b64"                        ("A W")        80 Exact => mbarrier |_| MbarrierKind::Init;
    "mbarrier.inval<own>?.b64"                       ("A")          80 Exact => mbarrier_inval;
    "mbarrier.expect_tx{.relaxed.cta,.relaxed.cluster}?<cluster>?.b64" ("A W") 90 Exact => mbarrier |_| MbarrierKind::Expect;
    "mbarrier.complete_tx{.relaxed.cta,.relaxed.cluster}?<cluster>?.b64" ("A W") 90 Exact => mbarrier |_| MbarrierKind::Complete;
    "mbarrier{.arrive,.arrive_drop}{.release,.relaxed}?{.cta,.cluster}?<own>?.b64" ("L A W?") 80 Exact => mbarrier_arrive;
    "mbarrier{.arrive,.arrive_drop}.expect_tx{.release,.relaxed}?{.cta,.cluster}?<own>?.b64" ("L A W") 90 Exact => mbarrier_arrive;
    "mbarrier{.arrive,.arrive_drop}.noComplete{.release}?{.cta}?<own>?.b64" ("L A W") 80 Exact => mbarrier_arrive;
    "mbarrier{.arrive,.arrive_drop}{.release,.relaxed}?{.cta,.cluster}?.shared::cluster.b64" ("sink A W?") 90 Exact => mbarrier_arrive;
    "mbarrier{.arrive,.arrive_drop}.expect_tx{.release,.relaxed}?{.cta,.cluster}?.shared::cluster.b64" ("sink A W") 90 Exact => mbarrier_arrive;
    "mbarrier.test_wait{.acquire,.relaxed}?{.cta,.cluster}?<own>?.b64" ("P A L") 80 Exact => mbarrier_wait;
    "mbarrier.test_wait.parity{.acquire,.relaxed}?{.cta,.cluster}?<own>?.b64" ("P A W") 80 Exact => mbarrier_wait;
    "mbarrier.try_wait{.acquire,.relaxed}?{.cta,.cluster}?<own>?.b64" ("P A L W?") 90 Exact => mbarrier_wait;
    "mbarrier.try_wait.parity{.acquire,.relaxed}?{.cta,.cluster}?<own>?.b64" ("P A W W?") 90 Exact => mbarrier_wait;
    "mbarrier.pending_count.b64"                     ("W L")        80 Exact => mbarrier_pending;
}
Cluster "cluster" {
    "barrier.cluster.arrive{.release,.relaxed}?{.aligned}?" ("")    90 Exact => cluster_barrier |m| ClusterOp::Arrive(!m.has("relaxed"));
    "barrier.cluster.wait{.acquire}?{.aligned}?"     ("")           90 Exact => cluster_barrier |_| ClusterOp::Wait;
    "mapa{.shared::cluster}?{.u32,.u64}"             ("T T W")      90 Exact => mapa;
    "getctarank{.shared::cluster}?{.u32,.u64}"       ("W T")        90 Exact => getctarank;
}
Control "control" {
    "bra{.uni}?"                                     ("label")      20 Exact => branch;
    "brx.idx{.uni}?"                                 ("W table")    30 Exact => branch_table;
    "call{.uni}?"                                    ("call*")      20 Exact => call;
    "ret{.uni}?"                                     ("")           20 Exact => ret;
    "exit"                                           ("")           20 Exact => plain |_| Op::Exit;
    "trap"                                           ("")           20 Exact => plain |_| Op::Trap;
}
System "system" {
    "brkpt"                                          ("")           20 Exact => plain |_| Op::Nop;
    "nanosleep.u32"                                  ("T")          70 Exact => plain |_| Op::Nop;
    "pmevent{.mask}?"                                ("I")          20 Exact => plain |_| Op::Nop;
    "griddepcontrol{.launch_dependents,.wait}"       ("")           90 Exact => plain |m| Op::Grid(GridControl::of(m.has("wait")));
    "setmaxnreg{.inc,.dec}.sync.aligned.u32"         ("I")          90 Exact => plain |_| Op::Nop;
}
Matrix "matrix" {
    "wmma.load{.a,.b}.sync.aligned<layout><wshape><wspace>?.f16" ("8W A W?") 70 Exact => wmma;
    "wmma.load{.a,.b}.sync.aligned<layout>.m16n16k16<wspace>?.bf16" ("4W A W?") 80 Exact => wmma;
    "wmma.load{.a.sync.aligned.row.m8n32k16,.a.sync.aligned.col.m8n32k16}<wspace>?.bf16" ("2W A W?") 80 Exact => wmma;
    "wmma.load{.b.sync.aligned.row.m8n32k16,.b.sync.aligned.col.m8n32k16}<wspace>?.bf16" ("8W A W?") 80 Exact => wmma;
    "wmma.load{.a.sync.aligned.row.m32n8k16,.a.sync.aligned.col.m32n8k16}<wspace>?.bf16" ("8W A W?") 80 Exact => wmma;
    "wmma.load{.b.sync.aligned.row.m32n8k16,.b.sync.aligned.col.m32n8k16}<wspace>?.bf16" ("2W A W?") 80 Exact => wmma;
    "wmma.load{.a,.b}.sync.aligned<layout>.m16n16k16<wspace>?{.s8,.u8}" ("2W A W?") 72 Exact => wmma;
    "wmma.load{.a.sync.aligned.row.m8n32k16,.a.sync.aligned.col.m8n32k16}<wspace>?{.s8,.u8}" ("1W A W?") 72 Exact => wmma;
    "wmma.load{.b.sync.aligned.row.m8n32k16,.b.sync.aligned.col.m8n32k16}<wspace>?{.s8,.u8}" ("4W A W?") 72 Exact => wmma;
    "wmma.load{.a.sync.aligned.row.m32n8k16,.a.sync.aligned.col.m32n8k16}<wspace>?{.s8,.u8}" ("4W A W?") 72 Exact => wmma;
    "wmma.load{.b.sync.aligned.row.m32n8k16,.b.sync.aligned.col.m32n8k16}<wspace>?{.s8,.u8}" ("1W A W?") 72 Exact => wmma;
    "wmma.load{.a,.b}.sync.aligned<layout>.m16n16k8<wspace>?.tf32" ("4W A W?") 80 Exact => wmma;
    "wmma.load{.a,.b}.sync.aligned<layout>.m8n8k4<wspace>?.f64" ("1L A W?") 80 Exact => wmma;
    "wmma.load{.a.sync.aligned.row,.b.sync.aligned.col}.m8n8k32<wspace>?{.s4,.u4}" ("1W A W?") 75 Exact => wmma;
    "wmma.load{.a.sync.aligned.row,.b.sync.aligned.col}.m8n8k128<wspace>?.b1" ("1W A W?") 75 Exact => wmma;
    "wmma.load.c.sync.aligned<layout><wshape><wspace>?.f16" ("4W A W?") 70 Exact => wmma;
    "wmma.load.c.sync.aligned<layout><wshape><wspace>?{.f32,.s32}" ("8W A W?") 70 Exact => wmma;
    "wmma.load.c.sync.aligned<layout>.m16n16k8<wspace>?.f32" ("8W A W?") 80 Exact => wmma;
    "wmma.load.c.sync.aligned<layout>.m8n8k4<wspace>?.f64" ("2L A W?") 80 Exact => wmma;
    "wmma.load.c.sync.aligned<layout>{.m8n8k32,.m8n8k128}<wspace>?.s32" ("2W A W?") 75 Exact => wmma;
    "wmma.store.d.sync.aligned<layout><wshape><wspace>?.f16" ("A 4W W?") 70 Exact => wmma;
    "wmma.store.d.sync.aligned<layout><wshape><wspace>?{.f32,.s32}" ("A 8W W?") 70 Exact => wmma;
    "wmma.store.d.sync.aligned<layout>.m16n16k8<wspace>?.f32" ("A 8W W?") 80 Exact => wmma;
    "wmma.store.d.sync.aligned<layout>.m8n8k4<wspace>?.f64" ("A 2L W?") 80 Exact => wmma;
    "wmma.store.d.sync.aligned<layout>{.m8n8k32,.m8n8k128}<wspace>?.s32" ("A 2W W?") 75 Exact => wmma;
    "wmma.mma.sync.aligned<layout><layout><wshape>.f32.f32" ("8W 8W 8W 8W") 70 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout><wshape>.f16.f16" ("4W 8W 8W 4W") 70 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout><wshape>.f32.f16" ("8W 8W 8W 4W") 70 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout><wshape>.f16.f32" ("4W 8W 8W 8W") 70 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout>.m16n16k16.f32.bf16.bf16.f32" ("8W 4W 4W 8W") 80 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout>.m8n32k16.f32.bf16.bf16.f32" ("8W 2W 8W 8W") 80 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout>.m32n8k16.f32.bf16.bf16.f32" ("8W 8W 2W 8W") 80 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout>.m16n16k8.f32.tf32.tf32.f32" ("8W 4W 4W 8W") 80 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout>.m8n8k4.f64.f64.f64.f64{.rn}?" ("2L 1L 1L 2L") 80 SUM => wmma;
    "wmma.mma.sync.aligned<layout><layout>.m16n16k16{.s32.s8.s8.s32,.s32.u8.u8.s32}{.satfinite}?" ("8W 2W 2W 8W") 72 Exact => wmma;
    "wmma.mma.sync.aligned<layout><layout>.m8n32k16{.s32.s8.s8.s32,.s32.u8.u8.s32}{.satfinite}?" ("8W 1W 4W 8W") 72 Exact => wmma;
    "wmma.mma.sync.aligned<layout><layout>.m32n8k16{.s32.s8.s8.s32,.s32.u8.u8.s32}{.satfinite}?" ("8W 4W 1W 8W") 72 Exact => wmma;
    "wmma.mma.sync.aligned.row.col.m8n8k32{.s32.s4.s4.s32,.s32.u4.u4.s32}{.satfinite}?" ("2W 1W 1W 2W") 75 Exact => wmma;
    "wmma.mma{.and,.xor}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32" ("2W 1W 1W 2W") 80 Exact => wmma;
    "mma.sync.aligned.m8n8k4<layout><layout>.f16.f16.f16.f16" ("4W 2W 2W 4W") 70 SUM => mma;
    "mma.sync.aligned.m8n8k4<layout><layout>.f32.f16.f16.f16" ("8W 2W 2W 4W") 70 SUM => mma;
    "mma.sync.aligned.m8n8k4<layout><layout>.f32.f16.f16.f32" ("8W 2W 2W 8W") 70 SUM => mma;
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"   ("4W 2W 1W 4W") 75 SUM => mma;
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16"   ("2W 2W 1W 2W") 75 SUM => mma;
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"  ("4W 4W 2W 4W") 80 SUM => mma;
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"  ("2W 4W 2W 2W") 80 SUM => mma;
    "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32" ("4W 2W 1W 4W") 80 SUM => mma;
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" ("4W 4W 2W 4W") 80 SUM => mma;
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32" ("4W 2W 1W 4W") 80 SUM => mma;
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" ("4W 4W 2W 4W") 80 SUM => mma;
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"    ("2L 1L 1L 2L") 80 SUM => mma;
    "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64"   ("4L 2L 1L 4L") 90 SUM => mma;
    "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"   ("4L 4L 2L 4L") 90 SUM => mma;
    "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64"  ("4L 8L 4L 4L") 90 SUM => mma;
    "mma.sync.aligned.m16n8k16.row.col.f32<f8><f8>.f32"  ("4W 2W 1W 4W") 89 SUM => mma;
    "mma.sync.aligned.m16n8k16.row.col.f16<f8><f8>.f16"  ("2W 2W 1W 2W") 89 SUM => mma;
    "mma.sync.aligned.m16n8k32.row.col.f32<f8><f8>.f32"  ("4W 4W 2W 4W") 89 SUM => mma;
    "mma.sync.aligned.m16n8k32.row.col.f16<f8><f8>.f16"  ("2W 4W 2W 2W") 89 SUM => mma;
    "mma.sync.aligned.m8n8k16.row.col{.satfinite}?.s32{.s8,.u8}{.s8,.u8}.s32" ("2W 1W 1W 2W") 75 Exact => mma;
    "mma.sync.aligned.m16n8k16.row.col{.satfinite}?.s32{.s8,.u8}{.s8,.u8}.s32" ("4W 2W 1W 4W") 80 Exact => mma;
    "mma.sync.aligned.m16n8k32.row.col{.satfinite}?.s32{.s8,.u8}{.s8,.u8}.s32" ("4W 4W 2W 4W") 80 Exact => mma;
    "mma.sync.aligned.m8n8k32.row.col{.satfinite}?.s32{.s4,.u4}{.s4,.u4}.s32" ("2W 1W 1W 2W") 75 Exact => mma;
    "mma.sync.aligned.m16n8k32.row.col{.satfinite}?.s32{.s4,.u4}{.s4,.u4}.s32" ("4W 2W 1W 4W") 80 Exact => mma;
    "mma.sync.aligned.m16n8k64.row.col{.satfinite}?.s32{.s4,.u4}{.s4,.u4}.s32" ("4W 4W 2W 4W") 80 Exact => mma;
    "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32{.xor,.and}.popc" ("2W 1W 1W 2W") 80 Exact => mma;
    "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32{.xor,.and}.popc" ("4W 2W 1W 4W") 80 Exact => mma;
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32{.xor,.and}.popc" ("4W 4W 2W 4W") 80 Exact => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k16.row.col{.f32.f16.f16.f32,.f32.bf16.bf16.f32}" ("4W 2W 2W 4W W selector") 80 SUM => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16" ("2W 2W 2W 2W W selector") 80 SUM => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k32.row.col{.f32.f16.f16.f32,.f32.bf16.bf16.f32}" ("4W 4W 4W 4W W selector") 80 SUM => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16" ("2W 4W 4W 2W W selector") 80 SUM => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" ("4W 2W 2W 4W W selector") 80 SUM => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32" ("4W 4W 4W 4W W selector") 80 SUM => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k64.row.col.f32<f8><f8>.f32" ("4W 4W 4W 4W W selector") 89 SUM => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k32.row.col{.satfinite}?.s32{.s8,.u8}{.s8,.u8}.s32" ("4W 2W 2W 4W W selector") 80 Exact => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k64.row.col{.satfinite}?.s32{.s8,.u8}{.s8,.u8}.s32" ("4W 4W 4W 4W W selector") 80 Exact => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k64.row.col{.satfinite}?.s32{.s4,.u4}{.s4,.u4}.s32" ("4W 2W 2W 4W W selector") 80 Exact => mma;
    "mma{.sp,.sp::ordered_metadata}.sync.aligned.m16n8k128.row.col{.satfinite}?.s32{.s4,.u4}{.s4,.u4}.s32" ("4W 4W 4W 4W W selector") 80 Exact => mma;
    "ldmatrix.sync.aligned.m8n8.x1{.trans}?{.shared,.shared::cta}?.b16" ("1W A") 75 Exact => matrix_rows;
    "ldmatrix.sync.aligned.m8n8.x2{.trans}?{.shared,.shared::cta}?.b16" ("2W A") 75 Exact => matrix_rows;
    "ldmatrix.sync.aligned.m8n8.x4{.trans}?{.shared,.shared::cta}?.b16" ("4W A") 75 Exact => matrix_rows;
    "stmatrix.sync.aligned.m8n8.x1{.trans}?{.shared,.shared::cta}?.b16" ("A 1W") 90 Exact => matrix_rows;
    "stmatrix.sync.aligned.m8n8.x2{.trans}?{.shared,.shared::cta}?.b16" ("A 2W") 90 Exact => matrix_rows;
    "stmatrix.sync.aligned.m8n8.x4{.trans}?{.shared,.shared::cta}?.b16" ("A 4W") 90 Exact => matrix_rows;
    "movmatrix.sync.aligned.m8n8.trans.b16"          ("W W")        75 Exact => matrix_transpose;
}
Warpgroup "warpgroup" {
    "wgmma.fence.sync.aligned"                       ("")           90 Exact => warpgroup |_| WarpgroupOrder::Fence;
    "wgmma.commit_group.sync.aligned"                ("")           90 Exact => warpgroup |_| WarpgroupOrder::Commit;
    "wgmma.wait_group.sync.aligned"                  ("I")          90 Exact => bulk_wait |_| BulkOp::WaitProducts;
    "wgmma.mma_async.sync.aligned<wgk16>{.f32.f16.f16,.f32.bf16.bf16,.f16.f16.f16}" ("wgmma*") 90 SUM => wgmma;
    "wgmma.mma_async.sync.aligned<wgk8>.f32.tf32.tf32" ("wgmma*")   90 SUM => wgmma;
    "wgmma.mma_async.sync.aligned<wgk32>{.f32,.f16}<f8><f8>" ("wgmma*") 90 SUM => wgmma;
    "wgmma.mma_async.sync.aligned<wgi32>{.satfinite}?.s32{.s8,.u8}{.s8,.u8}" ("wgmma*") 90 Exact => wgmma;
    "wgmma.mma_async.sync.aligned<wgi256>.s32.b1.b1.and.popc" ("wgmma*") 90 Exact => wgmma;
    "wgmma.mma_async.sp.sync.aligned<wgk32>{.f32.f16.f16,.f32.bf16.bf16,.f16.f16.f16}" ("wgmma*") 90 SUM => wgmma;
    "wgmma.mma_async.sp.sync.aligned<wgk16>.f32.tf32.tf32" ("wgmma*") 90 SUM => wgmma;
    "wgmma.mma_async.sp.sync.aligned<wgk64>{.f32,.f16}<f8><f8>" ("wgmma*") 90 SUM => wgmma;
    "wgmma.mma_async.sp.sync.aligned<wgi64>{.satfinite}?.s32{.s8,.u8}{.s8,.u8}" ("wgmma*") 90 Exact => wgmma;
}
}
