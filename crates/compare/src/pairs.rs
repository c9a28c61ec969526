//! Arms against each other.

use kgen_measure::stats::{holm, signed_rank};

use crate::{
    paired::{gcd, sign_flips},
    resample::Draws,
    speed::{mean_log, share_above},
    summary::{Estimate, Pair, PairTest, Quantity},
    view::{Against, Cases, OpSamples, OverheadOnly, Share, View},
};

/// Arms up to which every pair is compared; where there are more, each is compared with the first.
pub(crate) const MAX_ALL_PAIRS: usize = 16;

/// Compares arms in pairs.
pub(crate) fn pairs<'a>(
    views: &[View<'a>],
    primary: Option<&'a str>,
    overhead: &OverheadOnly<'a>,
) -> Vec<Pair> {
    let all = views.len() <= MAX_ALL_PAIRS;
    let firsts = if all { views.len() } else { 1 };
    let of = |a: usize| (a + 1..views.len()).map(move |b| (a, b));
    let mut pairs: Vec<Pair> = (0..firsts)
        .flat_map(of)
        .map(|(a, b)| pair([(a, &views[a]), (b, &views[b])], primary, overhead))
        .collect();
    for quantity in [Quantity::Correct, Quantity::Fast1, Quantity::Speedup] {
        correct(&mut pairs, quantity);
    }
    pairs
}

/// Corrects the p values of one quantity.
fn correct(pairs: &mut [Pair], quantity: Quantity) {
    let tests = pairs.iter_mut().flat_map(|pair| &mut pair.tests);
    let mut tests: Vec<&mut PairTest> = tests.filter(|test| test.quantity == quantity).collect();
    let corrected = holm(&tests.iter().map(|test| test.p).collect::<Vec<f64>>());
    for (test, p) in tests.iter_mut().zip(corrected) {
        test.p_holm = p;
    }
}

fn pair<'a>(
    [(a, first), (b, second)]: [(usize, &View<'a>); 2],
    primary: Option<&'a str>,
    overhead: &OverheadOnly<'a>,
) -> Pair {
    let shared = shared(first, second);
    let mut tests = Vec::new();
    // An op that one sample did not reach is neither correct nor fast.
    let solved = |op: &OpSamples<'a>| Share::of(op.samples.iter().map(|sample| sample.op.solved));
    tests.extend(share_test(Quantity::Correct, &shared, solved));
    let (against, note) = against(first, second, primary);
    if let Some(against) = against {
        let fast = |op: &OpSamples<'a>| share_above(op, &against, Cases::Long, overhead, 1.0);
        tests.extend(share_test(Quantity::Fast1, &shared, fast));
        let log = |op: &OpSamples<'a>| mean_log(op, &against, Cases::Long, overhead);
        tests.extend(speed_test(&shared, log));
    }
    Pair { a, b, n_shared: shared.len(), tests, note }
}

/// The samples of one op in two arms.
type Both<'v, 'a> = (&'v OpSamples<'a>, &'v OpSamples<'a>);

/// The ops that both arms worked on.
fn shared<'v, 'a>(first: &'v View<'a>, second: &'v View<'a>) -> Vec<Both<'v, 'a>> {
    let reached = |op: &OpSamples<'_>| op.samples.iter().any(|sample| sample.op.reached());
    let both = first.ops.iter().filter_map(|op| Some((op, second.op(op.name)?)));
    both.filter(|(x, y)| reached(x) && reached(y)).collect()
}

fn against<'a>(
    first: &View<'a>,
    second: &View<'a>,
    primary: Option<&'a str>,
) -> (Option<Against<'a>>, Option<String>) {
    let no = |why: &str| (None, Some(why.to_owned()));
    let Some(primary) = primary else { return no("nothing was timed") };
    match (first.against_one(primary).as_slice(), second.against_one(primary).as_slice()) {
        ([], []) => no("neither was timed against the primary baseline"),
        ([], _) | (_, []) => no("only one of them was timed against the primary baseline"),
        ([x], [y]) if x == y => (Some(*x), None),
        _ => no("timed on different GPUs: their speedups are not compared"),
    }
}

/// Tests whether a share differs; `None` where no op has it in both.
fn share_test<'a>(
    quantity: Quantity,
    shared: &[Both<'_, 'a>],
    share: impl Fn(&OpSamples<'a>) -> Option<Share>,
) -> Option<PairTest> {
    let shares = shared.iter().filter_map(|(x, y)| Some((share(x)?, share(y)?)));
    let shares: Vec<(Share, Share)> = shares.collect();
    let whole = common_whole(shares.iter().flat_map(|(x, y)| [x.whole, y.whole]));
    let parts = |share: &Share| (share.part * whole + share.whole / 2) / share.whole;
    let differences: Vec<i64> = shares.iter().map(|(x, y)| parts(y) - parts(x)).collect();
    let values: Vec<f64> = shares.iter().map(|(x, y)| y.value() - x.value()).collect();
    let estimate = Draws::new(values.len()).difference(&values, |difference| difference)?;
    Some(test(quantity, estimate, &values, sign_flips(&differences), "sign flips"))
}

/// Returns a whole that all shares are whole parts of, so that sums of differences are exact; where
/// that would be too large, one of which they are nearly so.
fn common_whole(wholes: impl Iterator<Item = i64>) -> i64 {
    const LARGE: i64 = 1_000_000;
    let mut common = 1;
    for whole in wholes {
        common = common / gcd(common, whole) * whole;
        if LARGE < common {
            return LARGE;
        }
    }
    common
}

/// Tests whether speedups differ, over the ops that both solved and were measured in.
fn speed_test<'a>(
    shared: &[Both<'_, 'a>],
    log: impl Fn(&OpSamples<'a>) -> Option<f64>,
) -> Option<PairTest> {
    let logs: Vec<f64> = shared.iter().filter_map(|(x, y)| Some(log(y)? - log(x)?)).collect();
    let estimate = Draws::new(logs.len()).difference(&logs, f64::exp)?;
    Some(test(Quantity::Speedup, estimate, &logs, signed_rank(&logs).p, "signed ranks"))
}

fn test(
    quantity: Quantity,
    estimate: Estimate,
    differences: &[f64],
    p: f64,
    test: &'static str,
) -> PairTest {
    PairTest {
        quantity,
        estimate,
        n_better: differences.iter().filter(|d| **d > 0.0).count(),
        n_worse: differences.iter().filter(|d| **d < 0.0).count(),
        p,
        p_holm: p,
        test,
    }
}
