use super::{Integer, bfe_s32, bfe_u32, bfi32, bfind32, dp4a, fns, funnel, lop3, prmt, shl32};

#[test]
fn known_values() {
    for (what, got, want) in [
        ("prmt reverses bytes", prmt(0x0403_0201, 0, 0x0123), 0x0102_0304),
        ("prmt takes from both", prmt(0x0403_0201, 0x0807_0605, 0x7531), 0x0806_0402),
        ("prmt spreads a sign", prmt(0x0000_0080, 0, 0x8888), 0xffff_ffff),
        ("lop3 xor", lop3(0b1100, 0b1010, 0b0110, 0x96), 0b1100 ^ 0b1010 ^ 0b0110),
        ("lop3 majority", lop3(0b1100, 0b1010, 0b0110, 0xe8) & 0xf, 0b1110),
        ("shift past the width", shl32(1, 32), 0),
        ("arithmetic shift past the width", i32::MIN.shift_right(99) as u32, u32::MAX),
        ("funnel left", funnel::<true, false>(0x8000_0000, 1, 1), 3),
        ("funnel left wraps", funnel::<true, false>(5, 7, 32), 7),
        ("funnel left clamps", funnel::<true, true>(5, 7, 40), 5),
        ("funnel right clamps", funnel::<false, true>(5, 7, 40), 7),
        ("field", bfe_u32(0xabcd_1234, 8, 8), 0x12),
        ("signed field", bfe_s32(0x0000_f000, 12, 4), u32::MAX),
        ("signed field past the end", bfe_s32(0x8000_0000, 28, 16), 0xffff_fff8),
        ("insert", bfi32(0xff, 0, 4, 8), 0xff0),
        ("highest bit", bfind32::<false, false>(0x10), 4),
        ("highest bit of nothing", bfind32::<false, false>(0), u32::MAX),
        ("highest bit of -1", bfind32::<true, false>(u32::MAX), u32::MAX),
        ("third set bit", fns(0b1011_0100, 0, 3), 5),
        ("set bit backwards", fns(0b1011_0100, 7, u32::MAX), 7),
        ("no such bit", fns(0b1, 0, 2), u32::MAX),
        ("division by zero", 7_u32.quotient(0), u32::MAX),
        ("lowest by -1", i32::MIN.quotient(-1) as u32, 0x8000_0000),
        ("remainder keeps the sign", (-7_i32).remainder(3) as u32, -1_i32 as u32),
        ("dp4a", dp4a::<true, true>(0xff02_0304, 0x0101_0101, 10), 18),
    ] {
        assert_eq!(got, want, "{what}");
    }
}
