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
//! * a shape ([`W2`] and the like) can only be made by its `of`, which puts the wide loop in only if
//!   `is_wide()`, and a host's features do not change while a program runs;
//! * a [`Width`] can only be made by asking the host.
//!
//! Nothing else relies on the programmer: rows are indexed with bounds checks, and no pointer is
//! dereferenced.
#![expect(unsafe_code, reason = "calls of functions with target features, as explained above")]

use crate::op::{D, R, W};

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
    /// The host's.
    pub(crate) fn of_host() -> Self {
        Self(is_wide())
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

/// What [`Width::widely`] does. Only what is inlined into `run`, which must be inlined itself,
/// is compiled for the vector units; closures are not.
pub(crate) trait Task {
    /// Its result.
    type Output;
    /// Does it.
    fn run(self) -> Self::Output;
}

macro_rules! index {
    ($name:ident) => {
        R
    };
}

/// A shape of lane functions: the trait of a function of one lane, and the loop over a warp's
/// registers made from it.
macro_rules! shape {
    (
        $(#[$doc:meta])* $shape:ident, $lane:ident, ($($file:ident: $files:ty),+),
        $out:ident: $o:ty = $($from:ident[$a:ident]: $t:ty),+
    ) => {
        /// A function of one lane.
        pub(crate) trait $lane {
            /// The function.
            fn at($($a: $t),+) -> $o;

            /// The same for hosts where `mul_add` is one instruction.
            #[inline(always)]
            fn fused($($a: $t),+) -> $o {
                Self::at($($a),+)
            }
        }

        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $shape(unsafe fn($($files),+, R, $(index!($a)),+));

        impl $shape {
            /// Lifts `L` to the lanes of a warp.
            pub(crate) fn of<L: $lane>() -> Self {
                #[inline(always)]
                fn lanes<L: $lane, const FUSED: bool>($($file: $files),+, to: R, $($a: R),+) {
                    // Copies, so that the compiler sees that no source changes meanwhile; it drops
                    // them once the loop is vectorised.
                    $(let $a = $from[$a as usize];)+
                    let mut row: [$o; 32] = [0; 32];
                    for i in 0..32 {
                        row[i] = if FUSED { L::fused($($a[i]),+) } else { L::at($($a[i]),+) };
                    }
                    $out[to as usize] = row;
                }
                fn portable<L: $lane>($($file: $files),+, to: R, $($a: R),+) {
                    lanes::<L, FUSED_EVERYWHERE>($($file),+, to, $($a),+);
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn wide<L: $lane>($($file: $files),+, to: R, $($a: R),+) {
                    lanes::<L, true>($($file),+, to, $($a),+);
                }
                #[cfg(target_arch = "x86_64")]
                if is_wide() {
                    return Self(wide::<L>);
                }
                Self(portable::<L>)
            }

            /// Computes the row `to` of all lanes from the rows of the sources.
            #[inline]
            pub(crate) fn run(
                self,
                $($file: $files),+,
                to: R,
                ($($a),+,): ($(index!($a)),+,),
            ) {
                // SAFETY: `of` took the wide loop only if the host has its features.
                unsafe { (self.0)($($file),+, to, $($a),+) }
            }
        }
    };
}

/// A shape of tests, whose results are the bits of a lane mask.
macro_rules! test_shape {
    (
        $(#[$doc:meta])* $shape:ident, $lane:ident, ($file:ident: $files:ty), $($a:ident: $t:ty),+
    ) => {
        /// A test of one lane.
        pub(crate) trait $lane {
            /// The test.
            fn at($($a: $t),+) -> bool;
        }

        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $shape(unsafe fn($files, $(index!($a)),+) -> u32);

        impl $shape {
            /// Lifts `L` to the lanes of a warp.
            pub(crate) fn of<L: $lane>() -> Self {
                #[inline(always)]
                fn lanes<L: $lane>($file: $files, $($a: R),+) -> u32 {
                    $(let $a = &$file[$a as usize];)+
                    let mut bits = [0_u32; 32];
                    for i in 0..32 {
                        bits[i] = u32::from(L::at($($a[i]),+)) << i;
                    }
                    bits.iter().fold(0, |mask, bit| mask | bit)
                }
                fn portable<L: $lane>($file: $files, $($a: R),+) -> u32 {
                    lanes::<L>($file, $($a),+)
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn wide<L: $lane>($file: $files, $($a: R),+) -> u32 {
                    lanes::<L>($file, $($a),+)
                }
                #[cfg(target_arch = "x86_64")]
                if is_wide() {
                    return Self(wide::<L>);
                }
                Self(portable::<L>)
            }

            /// The lanes for which the test holds.
            #[inline]
            pub(crate) fn run(self, $file: $files, $($a: R),+) -> u32 {
                // SAFETY: `of` took the wide loop only if the host has its features.
                unsafe { (self.0)($file, $($a),+) }
            }
        }
    };
}

shape!(
    /// 32 bits to 32 bits.
    W1, LaneW1, (w: &mut [W]), w: u32 = w[a]: u32
);
shape!(
    /// Two of 32 bits to 32 bits.
    W2, LaneW2, (w: &mut [W]), w: u32 = w[a]: u32, w[b]: u32
);
shape!(
    /// Three of 32 bits to 32 bits.
    W3, LaneW3, (w: &mut [W]), w: u32 = w[a]: u32, w[b]: u32, w[c]: u32
);
shape!(
    /// Four of 32 bits to 32 bits.
    W4, LaneW4, (w: &mut [W]), w: u32 = w[a]: u32, w[b]: u32, w[c]: u32, w[e]: u32
);
shape!(
    /// 64 bits to 64 bits.
    D1, LaneD1, (d: &mut [D]), d: u64 = d[a]: u64
);
shape!(
    /// Two of 64 bits to 64 bits.
    D2, LaneD2, (d: &mut [D]), d: u64 = d[a]: u64, d[b]: u64
);
shape!(
    /// Three of 64 bits to 64 bits.
    D3, LaneD3, (d: &mut [D]), d: u64 = d[a]: u64, d[b]: u64, d[c]: u64
);
shape!(
    /// 32 bits to 64 bits.
    WtoD, LaneWtoD, (d: &mut [D], w: &[W]), d: u64 = w[a]: u32
);
shape!(
    /// 64 bits to 32 bits.
    DtoW, LaneDtoW, (w: &mut [W], d: &[D]), w: u32 = d[a]: u64
);
shape!(
    /// Two of 32 bits to 64 bits.
    WWtoD, LaneWWtoD, (d: &mut [D], w: &[W]), d: u64 = w[a]: u32, w[b]: u32
);
shape!(
    /// Two of 32 bits and one of 64 to 64 bits.
    WWDtoD, LaneWWDtoD, (d: &mut [D], w: &[W]), d: u64 = w[a]: u32, w[b]: u32, d[c]: u64
);
shape!(
    /// 64 bits and 32 bits to 64 bits.
    DWtoD, LaneDWtoD, (d: &mut [D], w: &[W]), d: u64 = d[a]: u64, w[b]: u32
);
shape!(
    /// 64 bits and two of 32 to 64 bits.
    DWWtoD, LaneDWWtoD, (d: &mut [D], w: &[W]), d: u64 = d[a]: u64, w[b]: u32, w[c]: u32
);
shape!(
    /// Two of 64 bits and two of 32 to 64 bits.
    DDWWtoD, LaneDDWWtoD, (d: &mut [D], w: &[W]),
    d: u64 = d[a]: u64, d[b]: u64, w[c]: u32, w[e]: u32
);
test_shape!(
    /// A test of 32 bits.
    WtoP, LaneWtoP, (w: &[W]), a: u32
);
test_shape!(
    /// A test of 64 bits.
    DtoP, LaneDtoP, (d: &[D]), a: u64
);
test_shape!(
    /// A comparison of 32 bits.
    WWtoP, LaneWWtoP, (w: &[W]), a: u32, b: u32
);
test_shape!(
    /// A comparison of 64 bits.
    DDtoP, LaneDDtoP, (d: &[D]), a: u64, b: u64
);

#[cfg(test)]
mod tests;
