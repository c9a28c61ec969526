//! A fault stops the launch and names its place.

use crate::harness::{Arg, module, random, run, run_with};
use ptx_emu::{FindingKind, LaunchError, Limits};

#[test]
fn accesses_outside_buffers() {
    let x = random(1000);
    let args = vec![Arg::from(&x), Arg::Out(1000, 4), Arg::from(1000_i32)];
    let fault = run("fail/oob_write", "relu", [4, 1, 1], [256, 1, 1], args).fault();
    assert_eq!(fault.kind, FindingKind::OutOfBoundsWrite);
    assert_eq!((fault.element, fault.buffer_elements), (Some(1000), Some(1000)));
    assert_eq!(
        fault.message,
        "out-of-bounds write of 4 bytes: `arg1`[1000] (1000 elements), line 5, block (3,0,0), \
         thread (232,0,0), 1 thread of the warp; st.global.f32"
    );
    let args = vec![Arg::from(&x), Arg::Out(1000, 4), Arg::from(1000_i32)];
    let fault = run("fail/oob_read", "diff", [4, 1, 1], [256, 1, 1], args).fault();
    assert_eq!((fault.kind, fault.element), (FindingKind::OutOfBoundsRead, Some(-1)));
    let args = vec![Arg::from(&x), Arg::Out(64, 4), Arg::from(40_i32)];
    let fault = run("fail/faults", "negative", [1, 1, 1], [64, 1, 1], args).fault();
    assert_eq!((fault.kind, fault.element), (FindingKind::OutOfBoundsRead, Some(-40)));
    assert_eq!((fault.n_threads, fault.buffer.as_deref()), (40, Some("arg0")));
    assert_eq!(fault.elements, Some((-40, -1)));
    assert!(fault.to_string().lines().count() <= 8, "{fault}");
}

#[test]
fn accesses_outside_shared_and_local_memory() {
    let run1 = |kernel: &str, smem: u32, block: u32| {
        let args = vec![Arg::Out(64, 4)];
        let limits = Limits::default();
        run_with("fail/faults", kernel, [1, 1, 1], [block, 1, 1], smem, limits, args).fault()
    };
    let fault = run1("shared_overflow", 0, 64);
    assert_eq!((fault.kind, fault.element), (FindingKind::OutOfBoundsRead, Some(64)));
    assert_eq!((fault.buffer.as_deref(), fault.thread), (Some("s"), [63, 0, 0]));
    let fault = run1("dynamic_overflow", 100, 32);
    assert_eq!((fault.kind, fault.element), (FindingKind::OutOfBoundsWrite, Some(25)));
    let fault = run1("uninitialised_shared", 0, 64);
    assert_eq!((fault.kind, fault.element), (FindingKind::UninitialisedRead, Some(63)));
    let x = vec![3_i32; 64];
    let mut bad = x.clone();
    bad[9] = 11;
    let args = vec![Arg::from(&bad), Arg::Out(64, 4)];
    let fault = run("fail/faults", "local_overflow", [1, 1, 1], [64, 1, 1], args).fault();
    assert_eq!((fault.kind, fault.thread), (FindingKind::OutOfBoundsRead, [9, 0, 0]));
}

#[test]
fn other_faults_name_thread_and_line() {
    let x = random(64);
    let check = |kernel: &str, args: Vec<Arg>, kind: FindingKind, text: &str| {
        let ran = run("fail/faults", kernel, [1, 1, 1], [64, 1, 1], args);
        assert!(ran.result.is_err(), "{kernel}");
        let fault = ran.findings.iter().find(|f| f.kind == kind);
        let fault = fault.unwrap_or_else(|| panic!("{kernel}: {:?}", ran.findings));
        assert!(fault.message.contains(text), "{kernel}: {}", fault.message);
        assert!(fault.line.is_some(), "{kernel}: {}", fault.message);
    };
    let out = || Arg::Out(64, 4);
    let input = || Arg::from(&x);
    check("misaligned", vec![input(), out(), 1_i32.into()], FindingKind::Misaligned, "`arg0`[1]");
    check("uninitialised", vec![input(), out()], FindingKind::UninitialisedRead, "`arg1`[0]");
    check("null_pointer", vec![0_u64.into()], FindingKind::NullPointer, "null pointer");
    check("trapped", vec![out()], FindingKind::Trap, "thread (7,0,0)");
    check("asserted", vec![input(), out()], FindingKind::Assertion, "`x[threadIdx.x] < 0.5f`");
    check("divergent", vec![out()], FindingKind::BarrierDivergence, "no thread of the block");
    check("bad_mask", vec![out()], FindingKind::InvalidMask, "0x0000ffff");
    check("overflow", vec![out()], FindingKind::StackOverflow, "stack overflow");
}

#[test]
fn endless_loops_end() {
    let args = vec![Arg::from([0_i32].as_slice()), Arg::Out(64, 4)];
    let ran = run("fail/faults", "endless", [2, 1, 1], [64, 1, 1], args);
    assert!(
        matches!(ran.result, Err(LaunchError::Deadlock { line: Some(_), .. })),
        "{:?}",
        ran.result
    );
    for kernel in ["forever", "hoisted"] {
        let args = vec![Arg::from([0_i32].as_slice()), Arg::Out(64, 4)];
        let ran = run("fail/loops", kernel, [2, 1, 1], [64, 1, 1], args);
        let Err(LaunchError::Deadlock { message, line: Some(_), .. }) = ran.result else {
            panic!("{kernel}: {:?}", ran.result);
        };
        assert!(message.contains("endless loop"), "{message}");
    }
    let args = vec![Arg::from([0_i32].as_slice()), Arg::Out(64, 4)];
    let ran = run("fail/loops", "waiting", [2, 1, 1], [64, 1, 1], args);
    assert!(matches!(ran.result, Err(LaunchError::Deadlock { .. })), "{:?}", ran.result);
    let limits = Limits { lane_instructions: 10_000_000, printf_bytes: 0, ..Limits::default() };
    let args = vec![Arg::Out(64, 4), Arg::from(1_i32)];
    let ran = run_with("fail/faults", "busy", [1, 1, 1], [64, 1, 1], 0, limits, args);
    assert!(
        matches!(ran.result, Err(LaunchError::Budget { line: Some(_), .. })),
        "{:?}",
        ran.result
    );
}

#[test]
fn impossible_launches() {
    let launch = |kernel: &str, block: u32, smem: u32, args: Vec<Arg>| {
        let ran =
            run_with("pass/relu", kernel, [1, 1, 1], [block, 1, 1], smem, Limits::default(), args);
        match ran.result {
            Err(LaunchError::Launch { message }) => message,
            other => panic!("expected a refusal, got {other:?}"),
        }
    };
    let args = || vec![Arg::Out(1, 4), Arg::Out(1, 4), Arg::from(0_i64)];
    assert!(launch("gelu", 32, 0, args()).contains("`gelu`"));
    assert!(launch("relu", 2048, 0, args()).contains("1024"));
    assert!(launch("relu", 32, 300_000, args()).contains("shared memory"));
    assert!(launch("relu", 32, 0, vec![Arg::from(0_i64)]).contains("takes 3 arguments"));
    let wrong = vec![Arg::Out(1, 4), Arg::Out(1, 4), Arg::from(0_i32)];
    assert!(launch("relu", 32, 0, wrong).contains("8 bytes, 4 given"));
}

#[test]
fn unknown_instructions_are_refused_with_their_line() {
    let module = module("unsupported/stack");
    assert_eq!(module.unknown_instructions().len(), 1);
    let args = || vec![Arg::Out(32, 8), Arg::from(1_i32)];
    let ran = run("unsupported/stack", "stack", [1, 1, 1], [32, 1, 1], args());
    let Err(LaunchError::Unsupported { message, line, .. }) = ran.result else {
        panic!("expected a refusal, got {:?}", ran.result);
    };
    assert_eq!(line, Some(4));
    assert_eq!(message, "unsupported: stacksave.u64 (k.cu:4)");
    // An instruction that is not reached does not matter.
    let args = vec![Arg::Out(32, 8), Arg::from(0_i32)];
    run("unsupported/stack", "stack", [1, 1, 1], [32, 1, 1], args).ok();
}
