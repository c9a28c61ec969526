//! Loops over the 32 lanes of a warp, compiled for the host's vector units.
//!
//! Every lane function exists twice: for any host of the architecture, and with AVX2 and FMA.
//! Which of the two runs is decided once per instruction, when a module is lowered. Both give the
//! same bits: the only operation that differs is the fused multiply-add, whose portable form is
//! exact too (see [`super::single::fma`]).
//!
//! # Unsafe code
//!
//! This module holds all of the crate's. A function compiled with a target feature must not run on
//! a host without it; [`is_wide`] asks the host, and nothing else decides whether a `wide` function
//! is called:
//! * a [`Loop`] can only be made by its `of`, which puts the wide loop in only if `is_wide()`, and a
//!   host's features do not change while a program runs;
//! * a [`Width`] can only be made by asking the host.
//!
//! Nothing else relies on the programmer: rows are indexed with bounds checks, and no pointer is
//! dereferenced.
#![expect(unsafe_code, reason = "calls of functions with target features, as explained above")]

use crate::op::{Class, D, R, Rows, W};

/// Whether fused multiply-add is one instruction on every host of the target.
const FUSED_EVERYWHERE: bool =
    cfg!(any(target_feature = "fma", target_arch = "aarch64", target_arch = "riscv64"));

#[cfg(test)]
thread_local! {
    /// Lets tests run the portable loops on any host.
    static PORTABLE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether the wide functions may run here.
#[inline]
fn is_wide() -> bool {
    #[cfg(test)]
    if PORTABLE.get() {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether the host has the vector units; made by asking it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Width(bool);

impl Width {
    pub(crate) fn of_host() -> Self {
        Self(is_wide())
    }

    /// Whether a fused multiply-add is one instruction in a task.
    pub(crate) fn fuses(self) -> bool {
        self.0 || FUSED_EVERYWHERE
    }

    /// Does a task, compiled for the host's vector units.
    #[inline(always)]
    pub(crate) fn widely<T: Task>(self, task: T) -> T::Output {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn wide<T: Task>(task: T) -> T::Output {
                task.run()
            }
            if self.0 {
                // SAFETY: the host has the features.
                return unsafe { wide(task) };
            }
        }
        task.run()
    }
}

/// The work of [`Width::widely`]. Only code inlined into `run`, which must be inlined itself,
/// is compiled for the vector units; closures are not.
pub(crate) trait Task {
    type Output;
    fn run(self) -> Self::Output;
}

/// The value of one lane of a register.
pub(crate) trait Value: Copy {
    const CLASS: Class;
    /// Copies a register.
    fn row(rows: &Rows<'_>, r: R) -> [Self; 32];
}

impl Value for u32 {
    const CLASS: Class = Class::W;

    #[inline(always)]
    fn row(rows: &Rows<'_>, r: R) -> W {
        rows.w[r as usize]
    }
}

impl Value for u64 {
    const CLASS: Class = Class::D;

    #[inline(always)]
    fn row(rows: &Rows<'_>, r: R) -> D {
        rows.d[r as usize]
    }
}

/// The arguments of a function of one lane.
pub(crate) trait Sources: Copy {
    const CLASSES: &'static [Class];
    /// Copies of the source registers.
    type Copies;
    /// Copies the registers `r[1..]`.
    fn copy(rows: &Rows<'_>, r: &[R; 5]) -> Self::Copies;
    /// The values of lane `i`.
    fn lane(copies: &Self::Copies, i: usize) -> Self;
}

macro_rules! sources {
    ($($t:ident $n:tt),+) => {
        impl<$($t: Value),+> Sources for ($($t,)+) {
            const CLASSES: &'static [Class] = &[$($t::CLASS),+];
            type Copies = ($([$t; 32],)+);

            #[inline(always)]
            fn copy(rows: &Rows<'_>, r: &[R; 5]) -> Self::Copies {
                ($($t::row(rows, r[$n + 1]),)+)
            }

            #[inline(always)]
            fn lane(copies: &Self::Copies, i: usize) -> Self {
                ($(copies.$n[i],)+)
            }
        }
    };
}

sources!(A 0);
sources!(A 0, B 1);
sources!(A 0, B 1, C 2);
sources!(A 0, B 1, C 2, E 3);

/// The result of a function of one lane.
pub(crate) trait Output {
    const CLASS: Class;
    /// A lane's part of the register.
    type Part: Copy + Default;
    /// The part of lane `i`.
    fn part(self, i: usize) -> Self::Part;
    /// Writes the register `to`.
    fn store(parts: [Self::Part; 32], rows: &mut Rows<'_>, to: R);
}

impl Output for u32 {
    const CLASS: Class = Class::W;
    type Part = Self;

    #[inline(always)]
    fn part(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn store(parts: W, rows: &mut Rows<'_>, to: R) {
        rows.w[to as usize] = parts;
    }
}

impl Output for u64 {
    const CLASS: Class = Class::D;
    type Part = Self;

    #[inline(always)]
    fn part(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn store(parts: D, rows: &mut Rows<'_>, to: R) {
        rows.d[to as usize] = parts;
    }
}

impl Output for bool {
    const CLASS: Class = Class::P;
    type Part = u32;

    #[inline(always)]
    fn part(self, i: usize) -> u32 {
        u32::from(self) << i
    }

    #[inline(always)]
    fn store(parts: W, rows: &mut Rows<'_>, to: R) {
        rows.p[to as usize] = parts.iter().fold(0, |mask, bit| mask | bit);
    }
}

/// A function of one lane.
pub(crate) trait Lane {
    type From: Sources;
    type To: Output;

    fn at(from: Self::From) -> Self::To;

    /// The same for hosts where `mul_add` is one instruction.
    fn fused(from: Self::From) -> Self::To;
}

/// A loop over the lanes of a warp: reads the registers `r[1..]`, writes all of `r[0]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loop(unsafe fn(&mut Rows<'_>, &[R; 5]));

impl Loop {
    /// Lifts `L` to the lanes of a warp.
    pub(super) fn of<L: Lane>() -> Self {
        #[inline(always)]
        fn lanes<L: Lane, const FUSED: bool>(rows: &mut Rows<'_>, r: &[R; 5]) {
            // Copies, so that the compiler sees that no source changes meanwhile; it drops them
            // once the loop is vectorised.
            let copies = L::From::copy(rows, r);
            let mut parts = [<L::To as Output>::Part::default(); 32];
            for i in 0..32 {
                let from = L::From::lane(&copies, i);
                parts[i] = if FUSED { L::fused(from) } else { L::at(from) }.part(i);
            }
            L::To::store(parts, rows, r[0]);
        }
        fn portable<L: Lane>(rows: &mut Rows<'_>, r: &[R; 5]) {
            lanes::<L, FUSED_EVERYWHERE>(rows, r);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        fn wide<L: Lane>(rows: &mut Rows<'_>, r: &[R; 5]) {
            lanes::<L, true>(rows, r);
        }
        #[cfg(target_arch = "x86_64")]
        if is_wide() {
            return Self(wide::<L>);
        }
        Self(portable::<L>)
    }

    /// Runs it on a warp's registers.
    #[inline]
    pub(crate) fn run(self, rows: &mut Rows<'_>, r: &[R; 5]) {
        // SAFETY: `of` took the wide loop only if the host has its features.
        unsafe { (self.0)(rows, r) }
    }
}

#[cfg(test)]
mod tests;
