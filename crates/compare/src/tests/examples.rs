//! Small comparisons whose numbers can be worked out by hand.

use super::*;
use crate::{Comparison, compare, summary::Quantity};

/// The share of fast samples, without and with overhead-dominated cases.
fn fast(comparison: &Comparison, arm: usize, p: f64) -> [Option<f64>; 2] {
    let speeds = &comparison.arms[arm].speeds[0];
    [&speeds.long, &speeds.all].map(|speed| {
        let fast = speed.fast.iter().find(|fast| close(fast.p, p)).unwrap();
        fast.share.map(|share| share.value)
    })
}

#[test]
fn ops_count_the_same_however_many_samples_they_have() {
    let first = run("a", vec![op("add", &[None, Some(2.0)]), op("mm", &[None, None])]);
    let second = run("b", vec![op("add", &[Some(0.5)]), op("mm", &[Some(4.0)])]);
    let third = run("c", vec![op("add", &[None])]);
    let found = compare(&[arm("x", vec![first, second, third])]);
    let x = &found.arms[0];
    assert_eq!((x.n_ops, x.n_samples, x.n_solved, x.n_attempts), (2, 5, 3, 7));
    // add 2 of 3, mm 1 of 2.
    assert!(close(x.correct.unwrap().value, (2.0 / 3.0 + 0.5) / 2.0));
    assert!(close(fast(&found, 0, 1.0)[0].unwrap(), (1.0 / 3.0 + 0.5) / 2.0));
    assert!(close(fast(&found, 0, 0.8)[0].unwrap(), (1.0 / 3.0 + 0.5) / 2.0));
    // add: sqrt(2 * 0.5) = 1; mm: 4.
    let speed = &x.speeds[0].long;
    assert!(close(speed.geomean.unwrap().value, 2.0) && close(speed.median.unwrap().value, 2.5));
    assert_eq!(speed.ops.iter().map(|(op, _)| op.as_str()).collect::<Vec<_>>(), ["add", "mm"]);
    // add: attempts 2 and 1; mm: 1.
    assert!(close(x.attempts_to_correct.unwrap().value, f64::midpoint(1.5, 1.0)));
    // add: 4 calls over 3 samples; mm: 3 over 2.
    let cost = 0.5 * (4.0 / 3.0 + 1.5) / (2.0 / 3.0 + 0.5);
    assert!(close(x.cost_per_solved.unwrap().value, cost));
    assert_eq!(x.correct.unwrap().interval(), None, "two ops say nothing of others");
    let cell = found.ops[0].cells[0].as_ref().unwrap();
    assert_eq!((cell.n_solved, cell.n_attempts, cell.best_run.as_deref()), (2, 4, Some("a")));
    assert_eq!(cell.failure.as_deref(), Some("wrong_output"));
}

#[test]
fn curves_keep_the_best_so_far() {
    let ops = vec![op("add", &[None, Some(0.5), Some(2.0), Some(1.0)]), op("mm", &[Some(4.0)])];
    let found = compare(&[arm("x", vec![run("a", ops)])]);
    let curve = &found.arms[0].curve;
    let values = |of: fn(&crate::CurvePoint) -> Option<f64>| -> Vec<f64> {
        curve.iter().map(|point| of(point).unwrap()).collect()
    };
    assert_eq!(values(|point| point.correct.map(|e| e.value)), [0.5, 1.0, 1.0, 1.0]);
    assert_eq!(values(|point| point.fast_1.map(|e| e.value)), [0.5, 0.5, 1.0, 1.0]);
    assert_eq!(values(|point| point.usd), [0.5, 0.75, 1.0, 1.25]);
    let geomeans = values(|point| point.geomean.map(|e| e.value));
    let expected = [4.0, 2.0_f64.sqrt(), 8.0_f64.sqrt(), 8.0_f64.sqrt()];
    assert!(geomeans.iter().zip(expected).all(|(a, b)| close(*a, b)), "{geomeans:?}");
}

#[test]
fn cases_of_overhead_are_shown_both_ways_and_ops_of_nothing_else_are_left_out() {
    let mut tiny = op("tiny", &[Some(3.0)]);
    tiny.speedups[0] = Speedup { long: None, n_long: 0, n_overhead: 2, ..over("aten", 3.0) };
    let mut mixed = op("mixed", &[Some(0.5)]);
    mixed.speedups[0] = Speedup { all: 1.5, n_overhead: 1, ..over("aten", 0.5) };
    // The other arm did not solve the tiny op: it is as tiny there.
    let other = vec![op("tiny", &[None]), op("mixed", &[Some(2.0)])];
    let found =
        compare(&[arm("x", vec![run("a", vec![tiny, mixed])]), arm("y", vec![run("b", other)])]);
    assert_eq!(fast(&found, 0, 1.0), [Some(0.0), Some(1.0)]);
    assert_eq!(fast(&found, 1, 1.0), [Some(1.0), Some(0.5)]);
    assert!(found.notes.iter().any(|note| note == "Nothing but launch overhead: tiny."));
    let cell = found.ops[1].cells[0].as_ref().unwrap();
    assert!(cell.speedups[0].long.is_none() && close(cell.speedups[0].all, 3.0));
    let fast_1 = found.pairs[0].tests.iter().find(|test| test.quantity == Quantity::Fast1);
    assert_eq!(fast_1.unwrap().estimate.n_ops, 1);
}

#[test]
fn the_emulator_measures_no_speed_and_says_so() {
    let mut emulated = run("a", vec![op("add", &[Some(2.0)])]);
    emulated.emulated = true;
    emulated.baselines.clear();
    emulated.ops[0].gpu = None;
    emulated.ops[0].speedups.clear();
    emulated.ops[0].attempts[0].speedups.clear();
    let found = compare(&[arm("emu", vec![emulated]), arm("gpu", vec![run("b", Vec::new())])]);
    assert!(found.arms[0].speeds.is_empty() && found.arms[0].curve[0].fast_1.is_none());
    assert_eq!(found.arms[0].marks.words(), ["emulator only"]);
    assert!(found.notes.iter().any(|note| note.contains("no speedups: a.")), "{:?}", found.notes);
    assert!(found.pairs[0].tests.is_empty() && found.pairs[0].note.is_some());
    assert_eq!((found.arms[1].correct, found.arms[1].n_samples), (None, 0));
}

#[test]
fn a_gpu_run_that_solved_nothing_is_as_slow_as_can_be() {
    let found = compare(&[arm("x", vec![run("a", vec![op("add", &[None])])])]);
    assert_eq!(fast(&found, 0, 0.8), [Some(0.0), Some(0.0)]);
    let x = &found.arms[0];
    assert!(x.speeds[0].long.geomean.is_none() && x.cost_per_solved.is_none());
    assert_eq!(x.speeds[0].gpu.as_deref(), Some(GPU));
}

#[test]
fn different_gpus_are_never_averaged() {
    let on = |id: &str, gpu: &str, factor: f64| {
        let mut run = run(id, vec![op("add", &[Some(factor)])]);
        run.device = gpu.to_owned();
        run.ops[0].gpu = Some(gpu.to_owned());
        run
    };
    let found = compare(&[
        arm("x", vec![on("a", "H200", 2.0), on("b", "L4", 8.0)]),
        arm("y", vec![on("c", "L4", 3.0)]),
    ]);
    let speeds: Vec<(Option<&str>, f64)> = found.arms[0]
        .speeds
        .iter()
        .map(|s| (s.gpu.as_deref(), s.long.geomean.unwrap().value))
        .collect();
    assert!(speeds[0].0 == Some("H200") && close(speeds[0].1, 2.0), "{speeds:?}");
    assert!(speeds[1].0 == Some("L4") && close(speeds[1].1, 8.0), "{speeds:?}");
    assert!(found.arms[0].curve[0].geomean.is_none());
    assert!(found.pairs[0].note.as_deref().unwrap().contains("different GPUs"));
    assert_eq!(found.pairs[0].tests.len(), 1, "what is correct is so on every GPU");
    assert_eq!(found.ops[0].cells[0].as_ref().unwrap().speedups.len(), 2);
}

#[test]
fn baselines_stand_beside_each_other_and_what_one_lacks_is_left_out() {
    let mut both = op("add", &[Some(2.0)]);
    both.speedups.push(over("torch_compile", 0.5));
    let mut run = run("a", vec![both, op("mm", &[Some(8.0)])]);
    run.baselines.push("torch_compile".to_owned());
    let found = compare(&[arm("x", vec![run])]);
    assert_eq!(found.baselines, ["aten", "torch_compile"]);
    let [aten, compiled] = &found.arms[0].speeds[..] else { panic!("two baselines") };
    assert!(close(aten.long.geomean.unwrap().value, 4.0) && aten.long.n_unmeasured == 0);
    assert!(close(compiled.long.geomean.unwrap().value, 0.5));
    assert_eq!((compiled.long.n_unmeasured, compiled.long.ops.len()), (1, 1));
}

#[test]
fn what_was_not_reached_is_a_failure_that_says_so_and_takes_no_part_in_tests() {
    let names: Vec<String> = (0..8).map(|n| format!("op{n}")).collect();
    let solved = || names.iter().map(|name| op(name, &[Some(2.0)])).collect::<Vec<_>>();
    let mut stopped = run("a", solved());
    stopped.finished = false;
    for op in &mut stopped.ops[6..] {
        *op = Op { name: op.name.clone(), ..Op::default() };
    }
    let found = compare(&[arm("x", vec![stopped]), arm("y", vec![run("b", solved())])]);
    assert!(close(found.arms[0].correct.unwrap().value, 0.75));
    assert_eq!(found.arms[0].marks.words(), ["2 of 8 not reached"]);
    assert!(found.notes.iter().any(|note| note == "Not finished: a."), "{:?}", found.notes);
    let pair = &found.pairs[0];
    assert_eq!((pair.n_shared, pair.tests[0].estimate.value.to_bits()), (6, 0.0_f64.to_bits()));
}

#[test]
fn an_unpriced_call_leaves_the_cost_unknown() {
    let mut run = run("a", vec![op("add", &[Some(2.0)])]);
    run.ops[0].attempts[0].spend.unpriced = 1;
    let found = compare(&[arm("x", vec![run])]);
    assert!(found.arms[0].cost_per_solved.is_none() && found.arms[0].curve[0].usd.is_none());
}

#[test]
fn pairs_are_tested_by_op_and_corrected_together() {
    let arm_of = |name: &str, factor: Option<f64>, growth: f64| {
        let ops = (0..12).map(|n| op(&format!("op{n}"), &[factor.map(|f| f * growth.powi(n))]));
        arm(name, vec![run(name, ops.collect())])
    };
    let found = compare(&[
        arm_of("none", None, 1.0),
        arm_of("slow", Some(0.5), 1.0),
        arm_of("fast", Some(2.0), 1.01),
    ]);
    assert_eq!(found.pairs.len(), 3);
    let test = |pair: usize, quantity: Quantity| {
        found.pairs[pair].tests.iter().find(|test| test.quantity == quantity)
    };
    // 2 of 2^12 signs are as far out, three pairs.
    let correct = test(0, Quantity::Correct).unwrap();
    assert!(close(correct.p, 2.0 / 4096.0) && close(correct.p_holm, 3.0 * correct.p));
    assert_eq!((correct.n_better, correct.n_worse), (12, 0));
    assert!(test(0, Quantity::Speedup).is_none(), "nothing is solved in both");
    let speedup = test(2, Quantity::Speedup).unwrap();
    assert!(
        close(speedup.estimate.value, 4.0 * 1.01_f64.powf(5.5)) && close(speedup.p, 2.0 / 4096.0)
    );
    assert!(close(test(2, Quantity::Correct).unwrap().p, 1.0));
    assert!(close(test(2, Quantity::Fast1).unwrap().estimate.value, 1.0));
}

#[test]
fn the_worst_case_of_a_lost_call_is_in_the_cost() {
    let mut run = run("a", vec![op("add", &[Some(2.0)])]);
    let spend = &mut run.ops[0].attempts[0].spend;
    (spend.lost_calls, spend.assumed_usd, spend.assumed_tokens) = (1, 0.25, 1000);
    // So is the cost of an attempt that is not over.
    run.ops[0].unfinished = Spend { calls: 1, usd: 1.0, ..Spend::default() };
    let found = compare(&[arm("x", vec![run.clone()])]);
    let x = &found.arms[0];
    assert!(x.spend.is_at_most() && x.spend.has_untold_tokens() && x.spend.calls == 2);
    assert!(close(x.spend.cost().unwrap(), 1.75));
    assert!(close(x.cost_per_solved.unwrap().value, 1.75));
    assert!(close(x.curve[0].usd.unwrap(), 0.75));
    let page = crate::html::page(&[arm("x", vec![run])], &found);
    assert!(page.contains("≤\u{202f}$1.75") && page.contains("1 calls lost"), "{page}");
}

#[test]
fn replies_that_nobody_was_paid_for_have_no_cost() {
    for (calls, why) in [(0, "no calls"), (1, "nothing was paid")] {
        let mut run = run("a", vec![op("add", &[Some(2.0)])]);
        run.ops[0].attempts[0].spend = Spend { calls, ..Spend::default() };
        let arms = [arm("x", vec![run])];
        let found = compare(&arms);
        assert!(found.arms[0].cost_per_solved.is_none() && found.arms[0].curve[0].usd.is_none());
        let page = crate::html::page(&arms, &found);
        assert!(page.contains(&format!("<td class=\"none\">{why}")), "{why}\n{page}");
        assert!(!page.contains("$0.00"), "{page}");
    }
}

#[test]
fn a_sample_that_was_not_reached_is_not_correct_in_tests_as_in_means() {
    let of = |id: &str| run(id, vec![op("add", &[Some(2.0)])]);
    let mut stopped = of("b");
    stopped.ops[0] = Op { name: "add".to_owned(), ..Op::default() };
    let found = compare(&[arm("x", vec![of("a"), stopped]), arm("y", vec![of("c")])]);
    assert!(close(found.arms[0].correct.unwrap().value, 0.5));
    for quantity in [Quantity::Correct, Quantity::Fast1] {
        let test = found.pairs[0].tests.iter().find(|test| test.quantity == quantity).unwrap();
        assert!(close(test.estimate.value, 0.5), "{test:?}");
    }
}

#[test]
fn an_arm_that_the_plot_of_prices_cannot_show_is_named() {
    let of = |id: &str, gpu: &str| {
        let mut run = run(id, vec![op("add", &[Some(2.0)])]);
        gpu.clone_into(&mut run.device);
        run.ops[0].gpu = Some(gpu.to_owned());
        run
    };
    let arms = [arm("x", vec![of("a", "H200")]), arm("y", vec![of("b", "L4")])];
    let page = crate::html::page(&arms, &compare(&arms));
    assert!(page.contains("B (timed on another GPU)"), "{page}");
}
