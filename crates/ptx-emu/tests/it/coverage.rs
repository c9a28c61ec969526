//! The places that launches did not reach, by line.

use ptx_emu::{Coverage, CoverageGap, Emulator, GapKind, Launch, Module, Options};

/// Adds 1 `n` times in a loop (line 3), stores on line 5 where `n` is above 100, and on line 6 where it
/// is odd, by a guarded store.
const PTX: &str = r#"
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_out, .param .u32 k_n)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .loc 1 2 0
  ld.param.u64 %rd1, [k_out];
  ld.param.u32 %r1, [k_n];
  mov.u32 %r2, 0;
$L1:
  .loc 1 3 0
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %p1, %r2, %r1;
  @%p1 bra $L1;
  .loc 1 4 0
  setp.le.s32 %p2, %r1, 100;
  @%p2 bra $L2;
  .loc 1 5 0
  st.global.u32 [%rd1], %r2;
$L2:
  .loc 1 6 0
  and.b32 %r3, %r1, 1;
  setp.eq.s32 %p3, %r3, 1;
  .loc 1 7 0
  @%p3 st.global.u32 [%rd1+4], %r2;
  .loc 1 8 0
  ret;
}
.file 1 "k.cu"
"#;

fn run(module: &Module, n: u32) -> Coverage {
    let mut emulator = Emulator::default();
    let out = emulator.alloc("out", 8, 4);
    let args = vec![emulator.address(out).to_le_bytes().to_vec(), n.to_le_bytes().to_vec()];
    let launch = Launch {
        kernel: "k".to_owned(),
        grid: [2, 1, 1],
        block: [1, 1, 1],
        args,
        ..Launch::default()
    };
    let options = Options { coverage: true, ..Options::default() };
    let report = emulator.launch(module, &launch, &options);
    report.coverage.expect("coverage was asked for")
}

fn gap(line: u32, kind: GapKind) -> CoverageGap {
    CoverageGap { line, kind }
}

#[test]
fn lines_and_loops_that_no_launch_reached_are_gaps_until_one_does() {
    let module = Module::parse(PTX).unwrap();
    let none = Coverage::default();
    assert_eq!(module.gaps(&none).len(), 7, "nothing ran");

    let mut all = run(&module, 0);
    assert_eq!(
        module.gaps(&all),
        [
            gap(3, GapKind::LoopNeverRepeated),
            gap(5, GapKind::LineNeverExecuted),
            gap(7, GapKind::LineNeverExecuted)
        ]
    );
    assert_eq!(all.largest_grid, [2, 1, 1]);
    assert!(all.merge(&run(&module, 2)));
    assert_eq!(module.gaps(&all).len(), 2, "the loop ran twice");
    assert!(!all.merge(&run(&module, 4)), "an equal path is nothing new");
    assert!(all.merge(&run(&module, 3)));
    assert_eq!(module.gaps(&all), [gap(5, GapKind::LineNeverExecuted)]);
    assert!(all.merge(&run(&module, 101)));
    assert_eq!(module.gaps(&all), []);
    assert!(module.lines(&all).values().all(|executed| *executed));
}

#[test]
fn nothing_is_recorded_unless_asked_for() {
    let module = Module::parse(PTX).unwrap();
    let mut emulator = Emulator::default();
    let out = emulator.alloc("out", 8, 4);
    let args = vec![emulator.address(out).to_le_bytes().to_vec(), 3_u32.to_le_bytes().to_vec()];
    let (grid, block) = ([1; 3], [1; 3]);
    let launch = Launch { kernel: "k".to_owned(), grid, block, args, ..Launch::default() };
    assert!(emulator.launch(&module, &launch, &Options::default()).coverage.is_none());
}

/// Stores on line 3, and once more on the same line where `n` is above 100: no line shows that.
const SAME_LINE: &str = r#"
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_out, .param .u32 k_n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  .loc 1 2 0
  ld.param.u64 %rd1, [k_out];
  ld.param.u32 %r1, [k_n];
  .loc 1 3 0
  st.global.u32 [%rd1], %r1;
  setp.le.s32 %p1, %r1, 100;
  @%p1 bra $L1;
  bra.uni $L2;
$L2:
  .loc 1 3 9
  st.global.u32 [%rd1+4], %r1;
$L1:
  .loc 1 4 0
  ret;
}
.file 1 "k.cu"
"#;

#[test]
fn branches_that_all_went_one_way_are_gaps_unless_a_line_says_so() {
    let module = Module::parse(SAME_LINE).unwrap();
    let mut all = run(&module, 7);
    assert_eq!(module.gaps(&all), [gap(3, GapKind::BranchOneWay)]);
    assert!(all.merge(&run(&module, 101)), "the other way");
    assert_eq!(module.gaps(&all), []);

    let module = Module::parse(&SAME_LINE.replace(".loc 1 3 9", ".loc 1 5 0")).unwrap();
    assert_eq!(module.gaps(&run(&module, 7)), [gap(5, GapKind::LineNeverExecuted)]);
}
