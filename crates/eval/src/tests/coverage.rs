//! Gaps that cases leave in a kernel, and the further cases that are drawn for it.

use kgen_record::{
    CaseClass, DType, EvalRequest, Evaluation, Finding, Gap, GapKind, Limits, Verdict,
};

use super::{evaluate, judged, request};

/// A relu that writes 7 where `CONDITION` holds, on line 9.
fn seven_where(condition: &str) -> String {
    r#"/*@plan
launch("relu", grid=cdiv(self.numel, 128), block=128, args=[self, out, self.numel])
@*/
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] > (T_self)0 ? x[i] : (T_self)0;
  if (CONDITION) {
    __threadfence(); y[i] = (T_self)7;
  }
}
"#
    .replace("CONDITION", condition)
}

/// A relu whose plan has a second launch, on line 3, of a kernel that writes nothing.
fn other_launch(condition: &str) -> String {
    r#"/*@plan
if CONDITION:
    launch("other", grid=cdiv(self.numel, 128), block=128, args=[self, out, self.numel])
else:
    launch("relu", grid=cdiv(self.numel, 128), block=128, args=[self, out, self.numel])
@*/
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] > (T_self)0 ? x[i] : (T_self)0;
}
extern "C" __global__ void other(const T_self* x, T_out* y, long long n) {}
"#
    .replace("CONDITION", condition)
}

fn gaps(evaluation: &Evaluation) -> Vec<(u32, GapKind)> {
    let gap = |gap: &Gap| (gap.line, gap.kind);
    evaluation.coverage.iter().flat_map(|coverage| &coverage.gaps).map(gap).collect()
}

fn n_further(evaluation: &Evaluation) -> usize {
    let is_further = |class| class == CaseClass::Further;
    evaluation.cases.iter().filter(|case| is_further(case.class)).count()
}

const SMALL: &str = r#"[{ self = "[300]" }]"#;

#[test]
fn a_branch_that_a_larger_case_takes_is_judged() {
    let kernel = seven_where("n > 2000");
    let request = request("relu", r#"["f32", "i32"]"#, SMALL, &kernel);
    let refused = evaluate(&request);
    assert_eq!(refused.verdict, Verdict::WrongOutput, "{refused:#?}");
    assert_eq!(refused.failed().count(), 1, "the first that fails is the last");
    let failed = refused.failed().next().unwrap();
    assert!(failed.case.starts_with("further-"), "{}", failed.case);
    assert_eq!(failed.class, CaseClass::Further);
    assert!(failed.args.starts_with("self="), "{}", failed.args);
    assert!(failed.mismatch.is_some());
    // The same seed finds the same.
    assert_eq!(evaluate(&request).cases, refused.cases);
}

#[test]
fn a_branch_that_other_values_take_is_judged() {
    let kernel = seven_where("n > 100 && i > 0 && x[i] == x[0] && x[i] > (T_self)0");
    let cases = r#"[{ self = "[300]" }, { self = "[2]", distributions = ["ties"] }]"#;
    let refused = judged("relu", r#"["f32"]"#, cases, &kernel);
    assert_eq!(refused.verdict, Verdict::WrongOutput, "{refused:#?}");
    let failed = refused.failed().next().unwrap();
    assert!(
        failed.case.starts_with("further-") && failed.case.ends_with("/ties"),
        "{}",
        failed.case
    );
}

#[test]
fn a_line_that_nothing_reaches_is_named_and_no_fault() {
    let evaluation = judged("relu", r#"["f32", "i32"]"#, SMALL, &seven_where("n < 0"));
    assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
    assert_eq!(gaps(&evaluation), [(9, GapKind::LineNeverExecuted)]);
    let coverage = evaluation.coverage.as_ref().unwrap();
    assert_eq!(coverage.n_unreached(), 1);
    assert_eq!(coverage.gaps[0].text, "__threadfence(); y[i] = (T_self)7;");
    assert!(coverage.gaps[0].dtypes.is_empty(), "in all types");
    assert!(0 < coverage.further);
    assert_eq!(coverage.further, n_further(&evaluation));
    assert_eq!(evaluation.cases.len(), 2 + coverage.further);
    assert_eq!(evaluation.n_passed(), evaluation.cases.len());
}

#[test]
fn a_line_that_ran_in_some_type_counts_as_run() {
    let kernel = seven_where("n > 10000").replace("(T_self)7", "y[i]");
    let cases = r#"[{ self = "[300]" }, { self = "[10001]", dtypes = ["i32"] }]"#;
    let request = request("relu", r#"["f32", "i32"]"#, cases, &kernel);
    // Enough for the two cases, and too little for a further one of more than 10,000 elements.
    let limits = Limits { emu_lane_instructions: 1_000_000, ..Limits::default() };
    let evaluation = evaluate(&EvalRequest { limits, ..request });
    assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
    let coverage = evaluation.coverage.unwrap();
    let ran_in_i32 = Gap {
        line: 9,
        text: "__threadfence(); y[i] = y[i];".to_owned(),
        kind: GapKind::LineNeverExecuted,
        dtypes: vec![DType::F32],
        grids: None,
    };
    assert_eq!(coverage.gaps, [ran_in_i32]);
    assert_eq!(coverage.n_unreached(), 0);
}

#[test]
fn no_case_is_drawn_without_gaps_or_after_a_failure() {
    let plain = seven_where("i == 299").replace("(T_self)7", "y[i]");
    let plain = judged("relu", r#"["f32"]"#, SMALL, &plain);
    assert_eq!((plain.verdict, plain.cases.len()), (Verdict::Passed, 1), "{plain:#?}");
    assert_eq!(plain.coverage.unwrap().further, 0);
    let wrong = judged("relu", r#"["f32"]"#, SMALL, &seven_where("i == 7 || n < 0"));
    assert_eq!((wrong.verdict, wrong.cases.len()), (Verdict::WrongOutput, 1));
}

#[test]
fn a_launch_that_no_case_makes_is_named_or_judged() {
    let passed = judged("relu", r#"["f32"]"#, SMALL, &other_launch("self.numel > 10000000"));
    assert_eq!(passed.verdict, Verdict::Passed, "{passed:#?}");
    let gaps = gaps(&passed);
    assert_eq!(gaps, [(3, GapKind::LaunchNeverRan), (12, GapKind::LineNeverExecuted)]);
    assert_eq!(passed.coverage.unwrap().n_unreached(), 1, "a launch is no line of code");
    let refused = judged("relu", r#"["f32"]"#, SMALL, &other_launch("self.numel > 2000"));
    assert_eq!(refused.verdict, Verdict::WrongOutput, "{refused:#?}");
}

#[test]
fn a_further_case_that_the_plan_does_not_take_is_no_fault() {
    for limit in ["require(self.numel <= 300)", "unit = 1 // (1 if self.numel <= 300 else 0)"] {
        let limited = format!("{limit}\nlaunch(\"relu\"");
        let kernel = seven_where("n > 2000").replace("launch(\"relu\"", &limited);
        let evaluation = judged("relu", r#"["f32"]"#, SMALL, &kernel);
        assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
        assert_eq!(evaluation.n_passed(), evaluation.cases.len());
        assert_eq!(gaps(&evaluation), [(10, GapKind::LineNeverExecuted)]);
    }
}

#[test]
fn a_way_of_the_plan_that_only_a_case_that_did_not_run_takes_is_named_or_judged() {
    let cases = r#"[{ self = "[300]" }, { self = "[16777216]", class = "realistic" }]"#;
    let kernel = |limit: usize| {
        let plain = seven_where("i == 299").replace("(T_self)7", "y[i]");
        let launch = plain.lines().find(|line| line.contains("launch(\"relu\"")).unwrap();
        let chosen = format!("if self.numel <= {limit}:\n    {launch}\nelse:\n    fill(out, 0)");
        plain.replace(launch, &chosen)
    };
    let passed = judged("relu", r#"["f32"]"#, cases, &kernel(10_000_000));
    assert_eq!(passed.verdict, Verdict::Passed, "{passed:#?}");
    assert_eq!(gaps(&passed), [(2, GapKind::PlanConditionOneWay)]);
    let refused = judged("relu", r#"["f32"]"#, cases, &kernel(2000));
    assert_eq!(refused.verdict, Verdict::WrongOutput, "{refused:#?}");
    // A case that is too large for the emulator has a plan all the same.
    let unwritten = kernel(2000).replace("fill(out, 0)", "fill(scratch(4), 0)");
    let unwritten = judged("relu", r#"["f32"]"#, cases, &unwritten);
    assert_eq!(unwritten.verdict, Verdict::WrongOutput, "{unwritten:#?}");
    let said = format!("{:?}", unwritten.failed().next().unwrap().findings);
    assert!(said.contains("passes `out` to no step"), "{said}");
}

#[test]
fn grids_that_only_large_cases_have_are_named() {
    let cases = r#"[{ self = "[300]" }, { self = "[16777216]", class = "realistic" }]"#;
    let kernel = seven_where("i == 299").replace("(T_self)7", "y[i]");
    let request = request("relu", r#"["f32"]"#, cases, &kernel);
    let evaluation = evaluate(&request);
    assert_eq!(gaps(&evaluation), [(2, GapKind::FewBlocks)]);
    assert_eq!(n_further(&evaluation), 0, "no case on the emulator has so many");
    let gap = evaluation.coverage.unwrap().gaps.remove(0).to_string();
    let begin = "line 2: never launched with more than 65,535 blocks (at most 3; the plan asks for \
                 131072 in self=f32[16777216]): launch(\"relu\"";
    assert!(gap.starts_with(begin), "{gap}");
}

/// A relu of persistent blocks, whose plan names their number, and `SECOND` is done to what a block
/// computes from its second tile on.
fn persistent(grid: &str, second: &str) -> String {
    r#"/*@plan
tiles = cdiv(self.numel, 4096)
launch("relu", grid=GRID, block=128, args=[self, out, self.numel])
@*/
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) {
  bool first = true;
  for (long long tile = blockIdx.x; tile * 4096 < n; tile += gridDim.x) {
    for (long long i = tile * 4096 + threadIdx.x; i < n && i < (tile + 1) * 4096; i += 128) {
      T_out value = x[i] > (T_self)0 ? x[i] : (T_self)0;
      if (!first) SECOND;
      y[i] = value;
    }
    first = false;
  }
}
"#
    .replace("GRID", grid)
    .replace("SECOND", second)
}

/// 132 multiprocessors have a tile each, and two of them several.
#[test]
fn later_tiles_of_persistent_blocks_are_judged() {
    let cases = r#"[{ self = "[9000]" }]"#;
    let wrong = persistent("min(tiles, sm_count)", "value = (T_out)7");
    let refused = judged("relu", r#"["f32"]"#, cases, &wrong);
    assert_eq!(refused.verdict, Verdict::WrongOutput, "{refused:#?}");
    let failed = refused.failed().next().unwrap();
    assert!(failed.case.starts_with("further-sms-2:"), "{}", failed.case);
    let says_why = |finding: &Finding| finding.message.contains("an `sm_count` of 2");
    assert!(failed.findings.iter().any(says_why), "{failed:#?}");

    let right = persistent("min(tiles, sm_count)", "value = value");
    let passed = judged("relu", r#"["f32"]"#, cases, &right);
    assert_eq!(passed.verdict, Verdict::Passed, "{passed:#?}");
}

#[test]
fn a_plan_that_needs_more_multiprocessors_is_not_blamed() {
    let kernel = persistent("min(tiles, sm_count // 4)", "value = value");
    let passed = judged("relu", r#"["f32"]"#, r#"[{ self = "[9000]" }]"#, &kernel);
    assert_eq!(passed.verdict, Verdict::Passed, "{passed:#?}");
}

#[test]
fn a_launch_for_many_tiles_is_judged_with_few() {
    let kernel = other_launch("cdiv(self.numel, 4096) > sm_count");
    let refused = judged("relu", r#"["f32"]"#, r#"[{ self = "[9000]" }]"#, &kernel);
    assert_eq!(refused.verdict, Verdict::WrongOutput, "{refused:#?}");
    assert!(refused.failed().next().unwrap().case.starts_with("further-sms-2:"), "{refused:#?}");
}
