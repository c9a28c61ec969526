//! Lifts scalar functions to functions over the 32 lanes of a warp.
//!
//! Every macro yields a value of the [shape](super::simd) of its name, whose loop the compiler
//! vectorises with the scalar function inlined. A second function, if given, is the form for hosts
//! where `mul_add` is one instruction; it must give the same bits.

macro_rules! lift {
    ($name:ident, $shape:ident, $lane:ident, $out:ty, $d:tt, ($($arg:ident: $ty:ty),+)) => {
        macro_rules! $name {
            ($d f:expr $d (, $d fused:expr)?) => {{
                struct Lane;
                impl $crate::alu::simd::$lane for Lane {
                    #[inline(always)]
                    fn at($($arg: $ty),+) -> $out {
                        let f = $d f;
                        f($($arg),+)
                    }
                    $d (
                        #[inline(always)]
                        fn fused($($arg: $ty),+) -> $out {
                            let f = $d fused;
                            f($($arg),+)
                        }
                    )?
                }
                $crate::alu::simd::$shape::of::<Lane>()
            }};
        }
        pub(crate) use $name;
    };
}

lift!(w1, W1, LaneW1, u32, $, (a: u32));
lift!(w2, W2, LaneW2, u32, $, (a: u32, b: u32));
lift!(w3, W3, LaneW3, u32, $, (a: u32, b: u32, c: u32));
lift!(w4, W4, LaneW4, u32, $, (a: u32, b: u32, c: u32, e: u32));
lift!(d1, D1, LaneD1, u64, $, (a: u64));
lift!(d2, D2, LaneD2, u64, $, (a: u64, b: u64));
lift!(d3, D3, LaneD3, u64, $, (a: u64, b: u64, c: u64));
lift!(w_to_d, WtoD, LaneWtoD, u64, $, (a: u32));
lift!(d_to_w, DtoW, LaneDtoW, u32, $, (a: u64));
lift!(ww_to_d, WWtoD, LaneWWtoD, u64, $, (a: u32, b: u32));
lift!(wwd_to_d, WWDtoD, LaneWWDtoD, u64, $, (a: u32, b: u32, c: u64));
lift!(dw_to_d, DWtoD, LaneDWtoD, u64, $, (a: u64, b: u32));
lift!(dww_to_d, DWWtoD, LaneDWWtoD, u64, $, (a: u64, b: u32, c: u32));
lift!(ddww_to_d, DDWWtoD, LaneDDWWtoD, u64, $, (a: u64, b: u64, c: u32, e: u32));
lift!(w_to_p, WtoP, LaneWtoP, bool, $, (a: u32));
lift!(d_to_p, DtoP, LaneDtoP, bool, $, (a: u64));
lift!(ww_to_p, WWtoP, LaneWWtoP, bool, $, (a: u32, b: u32));
lift!(dd_to_p, DDtoP, LaneDDtoP, bool, $, (a: u64, b: u64));

/// The identity on 32 bits.
pub(crate) fn copy_w() -> super::simd::W1 {
    w1!(|a: u32| a)
}

/// The identity on 64 bits.
pub(crate) fn copy_d() -> super::simd::D1 {
    d1!(|a: u64| a)
}
