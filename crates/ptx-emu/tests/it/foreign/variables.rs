//! Variables of the module, which the host sets.

use ptx_emu::{Emulator, FindingKind, Launch, Module, Options, Severity};

use super::module;

const CONSTANTS: &str = "\
.const .align 4 .b32 scale;
.const .align 4 .b32 fixed[2] = {3, 4};
.const .align 4 .b8 _ZN2ns5tableE[16];
.global .align 4 .b32 offset;";

const SUM: &str = "\
ld.const.b32 %r1, [scale];
ld.const.b32 %r2, [fixed+4];
ld.const.b32 %r3, [_ZN2ns5tableE+4];
ld.global.b32 %r4, [offset];
add.u32 %r1, %r1, %r2;
add.u32 %r1, %r1, %r3;
add.u32 %r1, %r1, %r4;
cvt.u64.u32 %d1, %r1;
st.global.u64 [%at], %d1;";

/// A launch after these variables were set: the value stored, and constants reported as unset.
fn run(set: &[(&str, u32)]) -> (u64, Vec<String>) {
    let module = Module::parse(&module(CONSTANTS, SUM)).expect("it is PTX");
    let mut emulator = Emulator::default();
    for (name, value) in set {
        let variable = emulator.variable(&module, name).expect("the module has it");
        let n = emulator.bytes(variable).len() / 4;
        emulator.write(variable, &value.to_le_bytes().repeat(n));
    }
    let out = emulator.alloc("out", 32 * 8, 8);
    emulator.write(out, &[0; 32 * 8]);
    let args = vec![emulator.address(out).to_le_bytes().to_vec()];
    let kernel = "k".to_owned();
    let launch = Launch { kernel, grid: [1; 3], block: [32, 1, 1], args, ..Launch::default() };
    let mut last = Vec::new();
    // A second launch finds the same.
    for _ in 0..2 {
        let report = emulator.launch(&module, &launch, &Options::default());
        assert!(report.is_clean(), "{report:?}");
        let unset = report.findings.iter().map(|f| {
            assert_eq!((f.kind, f.severity), (FindingKind::UnsetConstant, Severity::Info));
            f.buffer.clone().expect("it names the constant")
        });
        last = unset.collect();
    }
    let value = emulator.bytes(out)[..8].try_into().expect("8 bytes");
    (u64::from_le_bytes(value), last)
}

#[test]
fn a_constant_that_nobody_sets_is_named() {
    assert_eq!(run(&[]), (4, vec!["scale".to_owned(), "table".to_owned()]));
    assert_eq!(run(&[("scale", 5)]), (9, vec!["table".to_owned()]));
    assert_eq!(run(&[("scale", 5), ("table", 100), ("offset", 1000)]), (1109, vec![]));
    assert_eq!(run(&[("_ZN2ns5tableE", 1), ("scale", 1), ("fixed", 10)]), (12, vec![]));
}

#[test]
fn a_variable_that_is_not_there_is_refused() {
    let module = Module::parse(&module(CONSTANTS, SUM)).expect("it is PTX");
    let error = Emulator::default().variable(&module, "nowhere").expect_err("there is none");
    assert!(error.to_string().contains("`nowhere`"), "{error}");
}
