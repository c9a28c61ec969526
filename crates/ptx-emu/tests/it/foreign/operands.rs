//! Operands.

use super::{launch, module, result};

#[test]
fn an_offset_is_added_to_a_register() {
    assert_eq!(result("mov.u64 %d1, 41;\nst.global.u64 [%at], %d1 + 1;"), 42);
    assert_eq!(result("mov.u32 %r1, 41;\nst.global.u32 [%at], %r1 - 1;"), 40);
    assert_eq!(result("mov.u64 %d1, 41;\nmov.u64 %d2, %d1+3;\nst.global.u64 [%at], %d2;"), 44);
}

#[test]
fn results_go_to_the_sink() {
    let body = "\
mov.b32 %r1, 0x3c003c00;
mov.b32 %f0, 0;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    {_, %f1, _, _}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f0, %f0, %f0, %f0};
mov.b64 {_, %r2}, %out;
shfl.sync.idx.b32 _|%p1, %r1, 0, 31, -1;
add.u32 _, %r1, %r1;
cvt.u64.u32 %d1, %f1;
st.global.u64 [%at], %d1;";
    assert_eq!(result(body), u64::from(16_f32.to_bits()));
}

#[test]
fn variables_of_a_function_have_their_initial_values() {
    let body = "\
.global .align 8 .u64 table[2] = {5, 6};
.global .align 8 .u64 pointer = table+8;
ld.global.u64 %d1, [pointer];
ld.global.u64 %d2, [%d1];
ld.global.u64 %d3, [table];
mad.lo.u64 %d1, %d2, 10, %d3;
st.global.u64 [%at], %d1;";
    assert_eq!(launch(&module("", body), 32).clean(), 65);
}

#[test]
fn one_flag_is_carry_and_borrow() {
    let flag = |first: &str, second: &str| {
        let body = format!(
            "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\n{first};\n{second};\ncvt.u64.u32 %d1, %r4;\n\
             st.global.u64 [%at], %d1;"
        );
        result(&body)
    };
    let (carry, no_carry) = ("add.cc.u32 %r3, %r1, -1", "add.cc.u32 %r3, %r1, %r2");
    let (borrow, no_borrow) = ("sub.cc.u32 %r3, %r1, %r2", "sub.cc.u32 %r3, %r2, %r1");
    let (add, sub) = ("addc.u32 %r4, %r2, 0", "subc.u32 %r4, %r2, 0");
    assert_eq!([flag(carry, add), flag(no_carry, add)], [3, 2]);
    assert_eq!([flag(borrow, sub), flag(no_borrow, sub)], [1, 2]);
    // As measured on an H200.
    assert_eq!([flag(borrow, add), flag(no_borrow, add)], [2, 3]);
    assert_eq!([flag(carry, sub), flag(no_carry, sub)], [2, 1]);
}
