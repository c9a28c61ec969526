//! Lifts scalar functions to functions over the 32 lanes of a warp.
//!
//! Every macro yields a [`LaneFunction`], whose loop the compiler vectorises with the scalar
//! function inlined. A second function, if given, is the form for hosts where `mul_add` is one
//! instruction; it must give the same bits. The names give the classes of the sources and of the
//! result: W 32 bits, D 64 bits, P predicate.

use super::simd::{Lane, Loop, Output, Sources};
use crate::op::{Class, Op, R, Reg};

/// A function over the lanes of a warp.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LaneFunction {
    /// Of the values of registers.
    Rows(Loop, Classes),
    /// Of so many predicates, as lane masks; a single one stands in both places.
    Masks(fn(u32, u32) -> u32, usize),
}

impl LaneFunction {
    /// Lifts a function of one lane.
    pub(crate) fn of<L: Lane>() -> Self {
        let classes = Classes::new(L::To::CLASS, L::From::CLASSES);
        Self::Rows(Loop::of::<L>(), classes)
    }

    pub(crate) fn sources(self) -> impl Iterator<Item = Class> {
        let (classes, masks) = match self {
            Self::Rows(_, classes) => (Some(classes), 0),
            Self::Masks(_, n) => (None, n),
        };
        classes.into_iter().flat_map(Classes::sources).chain(std::iter::repeat_n(Class::P, masks))
    }

    pub(crate) fn result(self) -> Class {
        match self {
            Self::Rows(_, classes) => classes.to,
            Self::Masks(..) => Class::P,
        }
    }

    /// [`Self::op`] of registers of its classes; `None` if they have others.
    pub(crate) fn fitting_op(self, to: Reg, from: impl Iterator<Item = Reg>) -> Option<Op> {
        let to = to.of_class(self.result())?;
        let from = self.sources().zip(from).map(|(class, reg)| reg.of_class(class));
        Some(self.op(to, &from.collect::<Option<Vec<_>>>()?))
    }

    /// The function of the registers `from`, put into `to`.
    pub(crate) fn op(self, to: R, from: &[R]) -> Op {
        match self {
            Self::Rows(run, classes) => {
                let mut registers = [to, 0, 0, 0, 0];
                registers[1..=from.len()].copy_from_slice(from);
                Op::Lanes(run, classes, registers)
            }
            Self::Masks(f, _) => Op::P2(f, to, from[0], from[from.len() - 1]),
        }
    }
}

/// Classes of a lane function's operands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Classes {
    pub to: Class,
    /// Two bits for each source, the first one lowest; 0 behind the last.
    from: u8,
}

impl Classes {
    fn new(to: Class, from: &[Class]) -> Self {
        let bits = from.iter().enumerate().map(|(i, class)| (*class as u8) << (2 * i));
        Self { to, from: bits.sum() }
    }

    pub(crate) fn sources(self) -> impl Iterator<Item = Class> {
        (0..4).map_while(move |i| match (self.from >> (2 * i)) & 3 {
            0 => None,
            1 => Some(Class::W),
            2 => Some(Class::D),
            _ => Some(Class::P),
        })
    }
}

macro_rules! last {
    ($f:expr) => {
        $f
    };
    ($f:expr, $last:expr) => {
        $last
    };
}
pub(crate) use last;

/// Lifts a function of the given types.
macro_rules! lanes {
    (($($arg:ident: $ty:ty),+) -> $out:ty, $f:expr $(, $fused:expr)? $(,)?) => {{
        struct Function;
        #[inline(always)]
        fn typed<F: Fn($($ty),+) -> $out>(f: F) -> F {
            f
        }
        impl $crate::alu::simd::Lane for Function {
            type From = ($($ty,)+);
            type To = $out;

            #[inline(always)]
            fn at(($($arg,)+): Self::From) -> $out {
                typed($f)($($arg),+)
            }

            #[inline(always)]
            fn fused(($($arg,)+): Self::From) -> $out {
                typed($crate::alu::lanes::last!($f $(, $fused)?))($($arg),+)
            }
        }
        $crate::alu::lanes::LaneFunction::of::<Function>()
    }};
}
pub(crate) use lanes;

macro_rules! lift {
    ($d:tt $($name:ident $args:tt -> $out:ty;)+) => {$(
        macro_rules! $name {
            ($d ($d f:tt)*) => { $crate::alu::lanes::lanes!($args -> $out, $d ($d f)*) };
        }
        pub(crate) use $name;
    )+};
}

lift! { $
    w1 (a: u32) -> u32;
    w2 (a: u32, b: u32) -> u32;
    w3 (a: u32, b: u32, c: u32) -> u32;
    w4 (a: u32, b: u32, c: u32, e: u32) -> u32;
    d1 (a: u64) -> u64;
    d2 (a: u64, b: u64) -> u64;
    d3 (a: u64, b: u64, c: u64) -> u64;
    w_to_d (a: u32) -> u64;
    d_to_w (a: u64) -> u32;
    ww_to_d (a: u32, b: u32) -> u64;
    wwd_to_d (a: u32, b: u32, c: u64) -> u64;
    dww_to_d (a: u64, b: u32, c: u32) -> u64;
    ddww_to_d (a: u64, b: u64, c: u32, e: u32) -> u64;
    w_to_p (a: u32) -> bool;
    d_to_p (a: u64) -> bool;
    ww_to_p (a: u32, b: u32) -> bool;
    dd_to_p (a: u64, b: u64) -> bool;
}

/// The identity on 32 bits.
pub(crate) fn copy_w() -> LaneFunction {
    w1!(|a| a)
}

/// The identity on 64 bits.
pub(crate) fn copy_d() -> LaneFunction {
    d1!(|a| a)
}
