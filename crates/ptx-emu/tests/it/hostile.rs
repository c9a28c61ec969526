//! Files and launches made to break the emulator end with a typed error, in bounded time and memory.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use ptx_emu::{
    AllocError, Config, Emulator, FindingKind, Launch, LaunchError, Limits, Module, Options,
    ParseError, Report,
};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A module with one kernel `k` without parameters.
fn kernel(body: &str) -> String {
    format!("{HEAD}.visible .entry k()\n{{\n{body}\n}}\n")
}

fn launch(text: &str, grid: [u32; 3], block: [u32; 3], limits: Limits) -> Report {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let launch = Launch { kernel: "k".to_owned(), grid, block, ..Launch::default() };
    let options = Options { limits, ..Options::default() };
    Emulator::default().launch(&module, &launch, &options)
}

fn run(text: &str) -> Report {
    launch(text, [1, 1, 1], [32, 1, 1], Limits::default())
}

/// The launch must be refused, with a message that has `words`.
fn refused(report: &Report, words: &str) {
    match &report.end {
        Err(LaunchError::Launch { message }) => assert!(message.contains(words), "{message}"),
        other => panic!("expected a refusal about {words}, got {other:?}"),
    }
}

/// The text must be refused at this place.
fn error(text: &str, line: u32, column: u32, words: &str) {
    let ParseError { line: l, column: c, message } =
        Module::parse(text).expect_err("the text is no PTX");
    assert_eq!((l, c), (line, column), "{message}");
    assert!(message.contains(words), "{message}");
}

/// Runs `f`, which must not take long even in a loaded test run.
fn quick<T>(f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = f();
    assert!(start.elapsed() < Duration::from_secs(20), "took {:?}", start.elapsed());
    result
}

#[test]
fn errors_name_line_and_column() {
    error(".version 9.0\n  .nonsense 3\n", 2, 3, "module-level directive");
    error(&kernel("\u{1}"), 6, 1, "unexpected byte 0x01");
    error(".file 1 \"k.cu", 1, 9, "string without an end");
    error(&kernel("add.s32 %r1, %r1, 1\n"), 8, 1, "expected `;`, found `}`");
    error(".visible .entry k()\n{\nret;", 3, 5, "found `the end`");
    error(&kernel(".unknown_directive 5;"), 6, 1, "expected a statement");
    error(".global .b64 p = nowhere;\n", 1, 18, "unknown `nowhere`");
}

#[test]
fn an_instruction_that_cannot_be_read_stops_who_reaches_it() {
    for (wrong, words) in [
        ("mov.b32 %r1, ;", "expected an operand, found `;`"),
        ("mov.b32 %r1, 99999999999999999999;", "number"),
        ("mov.b32 %r1, 0f12;", "wrong length"),
        ("mov.b32 %r1, \u{e4};", "unexpected byte 0xc3"),
    ] {
        match run(&kernel(wrong)).end {
            Err(LaunchError::Unsupported { message, .. }) => {
                assert!(message.contains(words), "{message}");
            }
            other => panic!("{wrong}: {other:?}"),
        }
    }
}

#[test]
fn long_words_are_cut_in_messages() {
    let error = Module::parse(&"x".repeat(1 << 20)).expect_err("that is no PTX");
    assert!(error.message.len() < 200, "{}", error.message.len());
}

#[test]
fn nesting_is_limited() {
    for (open, statement) in
        [("{", "mov.b32 "), ("(", "call "), ("[a,", "mov.b32 "), ("{(", "mov.b32 %r1, ")]
    {
        let text = kernel(&format!("{statement}{}", open.repeat(1_000_000)));
        let error = quick(|| Module::parse(&text)).expect_err("too deep");
        assert!(error.message.contains("inside each other"), "{error}");
    }
    let text = format!(".global .b32 x[] = {};", "{".repeat(1_000_000));
    let error = Module::parse(&text).expect_err("too deep");
    assert!(error.message.contains("inside each other"), "{error}");
    let error = Module::parse(&kernel(&"{".repeat(1_000_000))).expect_err("too deep");
    assert!(error.message.contains("inside each other"), "{error}");
}

#[test]
fn ten_megabytes_of_labels_take_linear_time() {
    let mut text = kernel("");
    text.truncate(text.len() - 2);
    let mut n = 0_u64;
    while text.len() < 10 << 20 {
        writeln!(text, "$L{n}:\n@%p bra $L{};", (n * 7919) % (n + 1)).expect("writing to memory");
        n += 1;
    }
    text.push_str("}\n");
    let module = quick(|| Module::parse(&text)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(module.kernels().count(), 1);
}

#[test]
fn register_counts_are_limited() {
    error(&kernel(".reg .b32 %r<4000000000>;"), 6, 11, "too many");
    error(&kernel(&".reg .pred %p<4000000>;\n".repeat(3)), 7, 12, "too many");
    error(&kernel(".reg .b32 %r<40000000000>;"), 6, 25, "too large");
    let text = kernel(".reg .b64 %r<4000000>;\nret;");
    refused(&launch(&text, [1, 1, 1], [1024, 1, 1], Limits::default()), "too many registers");
}

#[test]
fn alignments_and_sizes_are_limited() {
    error(".global .align 4294967295 .b8 x[4];\n", 1, 16, "power of two");
    error(".global .align 3 .b8 x[4];\n", 1, 16, "power of two");
    error(".global .align 1048576 .b8 x[4];\n", 1, 16, "power of two");
    error(".global .b8 x[99999999999999999999];\n", 1, 15, "number");
    error(".global .b8 x[4294967296][4294967296];\n", 1, 38, "too large");
    for (body, words) in [
        (
            ".shared .align 4 .b8 big[8589934592];\n.reg .b32 %r<2>;\nld.shared.b32 %r1, [big];",
            "shared",
        ),
        (".local .align 4 .b8 big[8589934592];\nret;", "local memory"),
    ] {
        refused(&run(&kernel(body)), words);
    }
    let huge = format!(
        "{HEAD}.global .align 4 .b8 big[1000000000000];\n.visible .entry k()\n{{\nret;\n}}\n"
    );
    refused(&run(&huge), "larger than");
    let mut many = HEAD.to_owned();
    for i in 0..40 {
        writeln!(many, ".global .align 4 .b8 big{i}[4294967296];").expect("writing to memory");
    }
    many.push_str(".visible .entry k()\n{\nret;\n}\n");
    refused(&quick(|| run(&many)), "does not fit the device");
}

#[test]
fn parameters_are_limited() {
    let params: Vec<String> =
        (0..100).map(|i| format!(".param .align 8 .b8 p{i}[1000000000]")).collect();
    let text = format!("{HEAD}.visible .entry k({})\n{{\nret;\n}}\n", params.join(","));
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let args = vec![Vec::new(); 100];
    let launch =
        Launch { kernel: "k".to_owned(), grid: [1; 3], block: [1; 3], args, ..Launch::default() };
    refused(
        &Emulator::default().launch(&module, &launch, &Options::default()),
        "bytes of parameters",
    );
}

#[test]
fn gigantic_grids_end_at_the_budget() {
    let limits = Limits { lane_instructions: 1_000_000, ..Limits::default() };
    for body in ["ret;", ".reg .b32 %r<2>;\n$L:\nadd.s32 %r1, %r1, 1;\nbra $L;"] {
        for block in [1, 1024] {
            let grid = [i32::MAX as u32, 65535, 65535];
            let report = quick(|| launch(&kernel(body), grid, [block, 1, 1], limits));
            assert!(matches!(report.end, Err(LaunchError::Budget { .. })), "{:?}", report.end);
            assert!(report.lane_instructions < 10_000_000);
        }
    }
}

#[test]
fn launches_that_no_gpu_takes_are_refused() {
    let text = kernel("ret;");
    for (grid, block) in [
        ([0, 1, 1], [32, 1, 1]),
        ([1, 0, 1], [32, 1, 1]),
        ([1, 1, 1], [0, 1, 1]),
        ([1, 1, 1], [1025, 1, 1]),
        ([1, 1, 1], [32, 32, 2]),
        ([1, 1, 1], [1, 1, 65]),
        ([1, 1, 1], [u32::MAX, u32::MAX, u32::MAX]),
        ([u32::MAX, 1, 1], [1, 1, 1]),
        ([1, 65536, 1], [1, 1, 1]),
    ] {
        refused(&launch(&text, grid, block, Limits::default()), "`k`");
    }
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let base = Launch { kernel: "k".to_owned(), grid: [1; 3], block: [1; 3], ..Launch::default() };
    for (launch, words) in [
        (Launch { dynamic_smem: u32::MAX, ..base.clone() }, "shared"),
        (Launch { kernel: "other".to_owned(), ..base.clone() }, "not in the module"),
        (Launch { args: vec![vec![0; 4]], ..base.clone() }, "takes 0 arguments"),
    ] {
        refused(&Emulator::default().launch(&module, &launch, &Options::default()), words);
    }
}

#[test]
fn null_and_wild_pointers_are_findings() {
    for (address, kind) in [
        ("0", FindingKind::NullPointer),
        ("16", FindingKind::NullPointer),
        ("-8", FindingKind::NullPointer),
        ("0x7fff00000000", FindingKind::OutOfBoundsRead),
        ("0x123456789abcdef0", FindingKind::OutOfBoundsRead),
    ] {
        let body = format!(
            ".reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nmov.b64 %rd1, {address};\nld.global.b32 %r1, [%rd1];"
        );
        let report = run(&kernel(&body));
        assert_eq!(report.findings.first().map(|f| f.kind), Some(kind), "{address}");
    }
}

#[test]
fn buffers_are_limited_and_untouched_ones_are_free() {
    let mut emulator = Emulator::new(Config { memory_bytes: 1 << 38, ..Config::default() });
    assert_eq!(
        emulator.try_alloc("x", 1 << 40, 4),
        Err(AllocError::TooLarge { bytes: 1 << 40, limit: 1 << 39 })
    );
    assert_eq!(
        emulator.try_alloc("x", 1 << 39, 4),
        Err(AllocError::DeviceMemory { bytes: 1 << 39, left: 1 << 38 })
    );
    assert!(emulator.try_alloc("x", usize::MAX, 4).is_err());
    let mut emulator = Emulator::default();
    // Sixteen GiB that nobody touches.
    let big = quick(|| emulator.try_alloc("big", 16 << 30, 4)).expect("it fits");
    assert!(emulator.try_alloc("more", 65 << 30, 4).is_err());
    emulator.free(big);
    emulator.free(big);
    let empty = emulator.alloc("empty", 0, 4);
    assert_eq!(emulator.bytes(empty), b"");
    assert_eq!(emulator.unwritten(empty), []);
}

#[test]
fn endless_recursion_overflows_the_stack() {
    let text = format!(
        "{HEAD}.func f()\n{{\n.reg .b32 %r<3000>;\ncall.uni f;\nret;\n}}\n\
         .visible .entry k()\n{{\ncall.uni f;\nret;\n}}\n"
    );
    let report = quick(|| launch(&text, [1; 3], [1024, 1, 1], Limits::default()));
    assert_eq!(report.findings.last().map(|f| f.kind), Some(FindingKind::StackOverflow));
}

#[test]
fn copies_that_nobody_waits_for_do_not_pile_up() {
    let body = kernel(
        ".reg .b64 %d<3>;\n.shared .align 16 .b8 s[512];\nmov.u64 %d1, s;\nmov.u64 %d2, g;\n\
         $L:\ncp.async.cg.shared.global [%d1], [%d2], 16;\ncp.async.commit_group;\n\
         cp.async.wait_group 4294967295;\nbra $L;",
    );
    let text = body.replace(".visible", ".global .align 16 .b8 g[512];\n.visible");
    let limits = Limits { lane_instructions: 5_000_000, ..Limits::default() };
    let report = quick(|| launch(&text, [1; 3], [32, 1, 1], limits));
    let stuck =
        matches!(report.end, Err(LaunchError::Budget { .. } | LaunchError::Deadlock { .. }));
    assert!(stuck, "{:?}", report.end);
}

#[test]
fn barriers_past_the_last_are_refused() {
    for form in ["bar.sync %r1", "bar.arrive %r1, 64", "barrier.sync %r1, 32"] {
        let body = format!(
            ".reg .b32 %r<2>;\nmov.u32 %r1, 16;\n$L:\n{form};\nadd.s32 %r1, %r1, 1;\nbra $L;"
        );
        let report = run(&kernel(&body));
        let kind = report.findings.last().map(|f| f.kind);
        assert_eq!(kind, Some(FindingKind::BarrierDivergence), "{form}: {:?}", report.end);
    }
}

#[test]
fn lanes_that_take_no_part_may_hold_any_address() {
    let text = kernel(
        ".reg .b64 %d<2>;\n.reg .b32 %r<3>;\n.reg .pred %p<2>;\n.shared .align 8 .b8 s[64];\n\
         mov.u64 %d1, s;\nsub.s64 %d1, %d1, 8;\nmov.u32 %r1, %tid.x;\n\
         setp.ge.u32 %p1, %r1, 16;\n@%p1 bra $L;\n\
         add.s64 %d1, %d1, 8;\nst.shared.b32 [%d1], %r1;\nld.shared.b32 %r2, [%d1+4];\n\
         st.shared.b32 [%d1+8], %r2;\n$L:\nret;",
    );
    let report = run(&text);
    let kinds: Vec<_> = report.findings.iter().map(|f| f.kind).collect();
    assert!(kinds.contains(&FindingKind::SharedRace), "{kinds:?}");
}
