//! Feedback is switched by kind, and nothing of a kind that is off reaches a prompt.

use std::collections::BTreeSet;

use kgen_record::{Coverage, FeedbackKind, Gap, GapKind};

use super::*;

fn set(kinds: &[FeedbackKind]) -> FeedbackSet {
    kinds.iter().copied().collect()
}

/// A passed and two failed evaluations with something of every kind.
fn subjects() -> Vec<Evaluation> {
    let mut mixed = wrong_output();
    let fault = fault().cases.swap_remove(1);
    mixed.cases[1] = fault;
    mixed.resources = known().resources;
    mixed.resources[0].spill_stores = 64;
    Verdict::ALL.into_iter().map(of).chain([known(), mixed]).collect()
}

/// Returns the paragraphs of a feedback, the summarising first line apart.
fn paragraphs(text: &str) -> BTreeSet<&str> {
    let paragraphs = text.trim_end().split("\n\n");
    paragraphs
        .filter(|text| !text.starts_with("## Verdict") && !text.starts_with("Look at this first"))
        .collect()
}

#[test]
fn without_any_kind_only_the_verdict_is_said() {
    for evaluation in subjects() {
        let text = feedback(&evaluation, KERNEL, FeedbackSet::NONE);
        assert_eq!(text, format!("## Verdict: `{}`\n", evaluation.verdict));
    }
}

#[test]
fn every_paragraph_belongs_to_one_kind() {
    for evaluation in subjects() {
        let all = told(&evaluation);
        let mut rest = paragraphs(&all);
        for kind in FeedbackKind::ALL {
            let alone = feedback(&evaluation, KERNEL, set(&[kind]));
            assert!(alone.starts_with(&format!("## Verdict: `{}`\n", evaluation.verdict)));
            for paragraph in paragraphs(&alone) {
                assert!(rest.remove(paragraph), "{kind:?} has, or shares:\n{paragraph}\n\n{all}");
            }
            let others: Vec<_> = FeedbackKind::ALL.into_iter().filter(|of| *of != kind).collect();
            let without = feedback(&evaluation, KERNEL, set(&others));
            assert!(paragraphs(&alone).is_disjoint(&paragraphs(&without)), "{kind:?}: {without}");
        }
        assert!(rest.is_empty(), "no kind has {rest:?}");
    }
}

#[test]
fn each_kind_says_its_own() {
    use FeedbackKind::{Compile, Correctness, Profile, Roofline, Sanitizer, Static, Timing};
    let (known, compile_error, wrong, fault) = (known(), compile_error(), wrong_output(), fault());
    for (kind, evaluation, parts) in [
        (Compile, &compile_error, &["The compiler says", "NVRTC refuses"][..]),
        (Correctness, &wrong, &["elements of out are wrong", "7 of 13 cases passed"]),
        (Correctness, &known, &["13 of 13 cases passed"]),
        (Sanitizer, &fault, &["out-of-bounds write", "behind the last"]),
        (Sanitizer, &known, &["memcheck: Invalid", "found mistakes"]),
        (Timing, &known, &["Geometric mean", "| case | µs |", "clock drift"]),
        (Static, &known, &["18 registers", "50 % occupancy", "40 instructions", "32 bits wide"]),
        (Roofline, &known, &["% of the floor", "GB/s", "Look at this first: `self=f32[4096"]),
        (Profile, &known, &["limited by: latency", "Counted on the emulator", "long scoreboard"]),
    ] {
        let alone = feedback(evaluation, KERNEL, set(&[kind]));
        let others: Vec<_> = FeedbackKind::ALL.into_iter().filter(|of| *of != kind).collect();
        let without = feedback(evaluation, KERNEL, set(&others));
        for part in parts {
            assert!(alone.contains(part), "{kind:?}: {part}\n{alone}");
            assert!(!without.contains(part), "without {kind:?}: {part}\n{without}");
        }
    }
}

#[test]
fn the_first_thing_is_the_strongest_evidence_that_may_be_told() {
    use FeedbackKind::{Profile, Roofline, Static, Timing};
    let first = |evaluation: &Evaluation, kinds: &[FeedbackKind]| {
        let text = feedback(evaluation, "", set(kinds));
        let line = text.lines().find_map(|line| line.strip_prefix("Look at this first: "));
        line.unwrap_or_default().chars().take(24).collect::<String>()
    };
    let mut evaluation = known();
    let all = FeedbackKind::ALL;
    assert_eq!(first(&evaluation, &all), "the profiler says that t");
    assert_eq!(first(&evaluation, &[Roofline, Static, Timing]), "`self=f32[4096,4096]` re");
    assert_eq!(first(&evaluation, &[Static, Timing]), "");
    evaluation.resources[0].launches[0].waves = Some(Waves { count: 0.4, tail_efficiency: 0.4 });
    assert_eq!(first(&evaluation, &[Static, Timing]), "parallelism. The largest");
    evaluation.resources[0].spill_stores = 8;
    assert_eq!(first(&evaluation, &all), "the profiler says that t");
    assert_eq!(first(&evaluation, &[Roofline, Static, Timing]), "registers. `relu` spills");
    let timed = evaluation.resources[0].launches[0].args.clone();
    "self=f32[7]".clone_into(&mut evaluation.resources[0].launches[0].args);
    assert_eq!(first(&evaluation, &[Static, Timing]), "parallelism. The largest");
    evaluation.resources[0].launches[0].args = timed;
    // An empty kernel takes 2.3 us: below five of these the report calls it overhead, and so do we.
    evaluation.timings.retain(|timing| timing.args.contains("[32]"));
    evaluation.timings[0].candidate = kgen_record::Timing::of(vec![11.4]).unwrap();
    assert_eq!(first(&evaluation, &all), "launch overhead. Every t");
    evaluation.timings[0].candidate = kgen_record::Timing::of(vec![11.6]).unwrap();
    assert_eq!(first(&evaluation, &[Timing]), "");
    assert_eq!(first(&evaluation, &[Profile]), "the profiler says that t");
}

#[test]
fn what_is_said_depends_on_the_kind_of_op() {
    let told_for =
        |op: &str, evaluation: Evaluation| told(&Evaluation { op: op.to_owned(), ..evaluation });
    let roofline = |op: &str| {
        let mut evaluation = timed();
        evaluation.timings[0].roofline.as_mut().unwrap().limit = Limit::Compute;
        told_for(op, evaluation)
    };
    assert!(roofline("mm").contains("tensor cores"));
    assert!(!roofline("relu").contains("tensor cores"));
    assert!(told_for("mm", timed()).contains("no matrix instructions"));
    assert!(told_for("softmax", timed()).contains("second read of the rows"));
    let almost = || {
        let mut evaluation = wrong_output();
        for mismatch in evaluation.cases.iter_mut().filter_map(|case| case.mismatch.as_mut()) {
            mismatch.worst_ratio = Number(3.0);
            mismatch.n_unwritten = 0;
            mismatch.n_special = 0;
            mismatch.rule = "within 2 ulp".to_owned();
        }
        evaluation
    };
    assert!(told_for("mm", almost()).contains("no TF32 or 16-bit partial sums"));
    let attention = told_for("scaled_dot_product_attention", almost());
    assert!(attention.contains("round only the probabilities"), "{attention}");
    assert!(told_for("softmax", almost()).contains("centred values"));
    assert!(told_for("my_own_op", almost()).contains("The values are almost right"));
    let large_only = {
        let mut evaluation = almost();
        for case in &mut evaluation.cases {
            let mismatch =
                case.mismatch.take().or_else(|| wrong_output().cases[1].mismatch.clone());
            let is_large = case.class == CaseClass::Realistic;
            case.outcome =
                CaseOutcome::Judged(if is_large { Verdict::WrongOutput } else { Verdict::Passed });
            case.mismatch = mismatch.filter(|_| is_large);
        }
        evaluation
    };
    assert!(told(&large_only).contains("Only realistic sizes fail"));
}

#[test]
fn a_kind_that_is_off_is_not_in_the_rest_of_the_prompt_either() {
    let (failed, passed) = (compile_error(), timed());
    let history = [HistoryEntry::new(1, &failed), HistoryEntry::new(2, &passed)];
    let prompt = |kinds: FeedbackSet| {
        let feedback = feedback(&passed, KERNEL, kinds);
        let parent =
            Some(LastAttempt { past: &history[1], kernel: Some(KERNEL), feedback: &feedback });
        let best = Some(BestAttempt { number: 9, kernel: "", speedup: passed.speedup() });
        let situation =
            Situation { history: &history, parent, best, ..Situation::first(Turn::Code) };
        with_context(|prompts, context| {
            let context = PromptContext { can_time: true, feedback: kinds, ..*context };
            prompts.render(&context, &situation).unwrap().user
        })
    };
    let all = prompt(FeedbackSet::ALL);
    assert!(all.contains("| 1 | - | - | compile_error: line 7") && all.contains("1.06x"), "{all}");
    let none = prompt(FeedbackSet::NONE);
    assert!(none.contains("| 1 | - | - | compile_error |\n| 2 | - | - | passed |\n"), "{none}");
    assert!(!none.contains("1.06x") && !none.contains("slowest timed"), "{none}");
    assert!(!prompt(set(&[FeedbackKind::Compile])).contains("1.06x"));
}

#[test]
fn that_a_failure_came_back_is_said_where_its_reason_is() {
    let failed = compile_error();
    let history = [HistoryEntry::new(1, &failed), HistoryEntry::new(2, &failed)];
    let prompt = |kinds: FeedbackSet| {
        let feedback = feedback(&failed, KERNEL, kinds);
        let parent =
            Some(LastAttempt { past: &history[1], kernel: Some(KERNEL), feedback: &feedback });
        let situation = Situation { history: &history, parent, ..Situation::first(Turn::Code) };
        with_context(|prompts, context| {
            let context = PromptContext { feedback: kinds, ..*context };
            prompts.render(&context, &situation).unwrap().user
        })
    };
    let came_back = "The same failure has come back";
    assert!(prompt(set(&[FeedbackKind::Compile])).contains(came_back));
    assert!(!prompt(set(&[FeedbackKind::Timing])).contains(came_back));
    assert!(!prompt(FeedbackSet::NONE).contains(came_back));
}

#[test]
fn a_hidden_case_keeps_its_sizes_to_itself() {
    let drawn_only = |mut evaluation: Evaluation, from: &Evaluation| {
        let failed = from.failed().next().unwrap().clone();
        let hidden = evaluation.cases.iter_mut().find(|case| case.class == CaseClass::Drawn);
        let hidden = hidden.unwrap();
        hidden.outcome = failed.outcome;
        hidden.mismatch = failed.mismatch;
        hidden.findings = failed.findings;
        evaluation
    };
    let passing = |verdict| {
        let mut evaluation = evaluation(verdict, Stage::Emulate);
        pass_all(&mut evaluation);
        evaluation
    };
    let wrong = drawn_only(passing(Verdict::WrongOutput), &wrong_output());
    let fault = drawn_only(passing(Verdict::Fault), &fault());
    for evaluation in [wrong, fault] {
        let said = format!("{}\n{}", told(&evaluation), HistoryEntry::new(1, &evaluation).reason);
        for number in ["124", "125", "127"] {
            assert!(!said.contains(number), "{number} shows: {said}");
        }
        assert!(said.contains("a hidden f"), "{said}");
    }
    let text = "8 bytes at element -12 of `out2` (127 elements), st.f32";
    let masked = "n bytes at element -n of `out2` (n elements), st.f32";
    assert_eq!(crate::text::without_numbers(text), masked);
}

#[test]
fn a_further_case_is_shown_with_its_arguments() {
    let mut evaluation = wrong_output();
    let failed = |case: &&mut CaseResult| {
        !matches!(case.outcome, CaseOutcome::Judged(Verdict::Passed) | CaseOutcome::Skipped { .. })
    };
    for case in evaluation.cases.iter_mut().filter(failed) {
        case.class = CaseClass::Further;
        case.args = "self=f32[1201,7]".to_owned();
    }
    let said = told(&evaluation);
    assert!(
        said.contains("`self=f32[1201,7]` (drawn for code that no other case reached)"),
        "{said}"
    );
}

#[test]
fn open_parts_of_a_right_kernel_are_told() {
    let mut evaluation = evaluation(Verdict::Passed, Stage::Done);
    pass_all(&mut evaluation);
    let text = "if (i < n) {".to_owned();
    let gap = Gap { line: 7, text, kind: GapKind::BranchOneWay, dtypes: Vec::new(), grids: None };
    evaluation.coverage = Some(Coverage { lines: 9, executed: 9, further: 12, gaps: vec![gap] });
    let said = told(&evaluation);
    let line = "* line 7: its condition always came out the same way: if (i < n) {";
    assert!(said.contains("left these parts of the kernel open") && said.contains(line), "{said}");
}

#[test]
fn attention_may_round_its_probabilities() {
    let system = |op: &str| {
        with_context(|prompts, context| {
            let context = PromptContext { op: op::find(op).unwrap(), ..*context };
            prompts.render(&context, &Situation::first(Turn::Code)).unwrap().system
        })
    };
    let allowed = "the probabilities may be rounded";
    assert!(system("scaled_dot_product_attention").contains(allowed));
    assert!(!system("mm").contains(allowed));
}
