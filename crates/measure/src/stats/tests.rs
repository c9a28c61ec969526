//! Results of scipy 1.17.1, as numbers: `scipy.stats.wilcoxon(d)`, `binom`, `norm`.

use super::*;

/// `|a - b|` within `1e-12`, or within `1e-9` of `b`.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12_f64.max(1e-9 * b.abs())
}

/// Exact.
const EXACT16: &[f64] = &[
    0.005_79, 0.010_55, 0.008_25, 0.012_48, 0.009_35, -0.0037, 0.000_91, -0.001_25, 0.006_32,
    0.002_89, 0.004_21, -0.018_83, -0.005_93, 0.009_24, 0.008_38, -0.002_54,
];

/// Exact.
const EXACT25: &[f64] = &[
    0.0123, -0.001_36, 0.005_406, 0.001_643, 0.000_869, -0.001_595, -0.013_908, -0.007_213,
    -0.017_61, 0.003_24, -0.004_216, -0.009_566, 0.014_47, 0.010_554, -0.004_068, -0.013_911,
    -0.019_339, 0.001_28, -0.001_606, -0.011_202, -0.004_19, -0.004_734, -0.028_687, 0.002_405,
    -0.003_744,
];

/// Exact, the largest there is.
const EXACT50: &[f64] = &[
    -0.024_726, -0.007_933, -0.006_752, -0.004_566, 0.002_199, -0.001_941, 0.003_977, 0.001_044,
    0.001_61, 0.004_593, -0.012_103, 0.019_917, -0.006_945, -0.018_877, 0.017_387, 0.009_243,
    -0.003_911, 0.005_35, 0.002_626, -0.014_985, -0.027_251, 0.006_693, 0.005_462, -0.008_258,
    0.007_452, -0.012_181, 0.000_402, 0.005_775, 0.010_347, 6.1e-05, 0.006_839, 0.003_877,
    0.004_484, -0.001_263, 0.001_086, -0.027_947, 0.015_264, -0.012_69, 0.003_331, -0.010_163,
    0.006_909, -0.000_744, -0.004_738, -0.002_673, 0.016_348, 0.004_296, 0.014_384, 0.024_254,
    0.012_054, 0.001_221,
];

/// Ties and zeros: the normal approximation.
const TIES16: &[f64] = &[
    0.0, 0.01, 0.03, 0.0, -0.01, 0.01, -0.01, -0.01, -0.01, 0.01, -0.01, 0.01, 0.01, 0.0, 0.01,
    0.02,
];

/// The same, with nearly equal sums.
const TIES40: &[f64] = &[
    2.0, -2.0, 4.0, -1.0, -2.0, 1.0, -3.0, -4.0, -3.0, 2.0, 2.0, -2.0, -1.0, 2.0, 0.0, -1.0, -1.0,
    -3.0, 0.0, 2.0, 0.0, 0.0, 6.0, 2.0, 2.0, 1.0, -4.0, -1.0, -2.0, 1.0, -1.0, 0.0, 1.0, 4.0, 2.0,
    1.0, 0.0, -1.0, -1.0, -1.0,
];

/// More than 50: the normal approximation.
const APPROX64: &[f64] = &[
    -0.003_316, 0.008_904, -0.012_172, 0.002_743, 0.008_695, 0.012_992, 0.006_257, -0.002_871,
    -0.0023, -0.004_882, 0.006_99, 0.004_231, 0.009_743, 0.006_928, 0.018_807, -0.010_617,
    0.016_729, -0.009_893, 0.004_188, 0.012_825, 0.013_404, 0.018_595, 0.003_453, 0.027_493,
    0.019_855, -0.022_144, 0.005_644, 0.015_694, 0.001_314, 0.009_201, 0.007_664, 0.006_714,
    0.014_007, 0.019_942, 0.002_946, 0.005_619, 0.017_887, -0.002_314, -0.010_599, 0.009_878,
    0.012_727, 0.000_118, -0.017_629, -0.019_813, -0.008_714, 0.020_017, 0.017_365, 0.005_094,
    -0.001_166, -0.002_394, 0.003_012, 0.005_139, 0.011_913, -0.008_145, 0.017_14, 0.015_882,
    -0.001_103, -0.015_422, 0.001_979, 0.000_392, -0.003_503, 0.008_362, 0.007_53, -0.000_883,
];

/// The fewest with which p can be small at all.
const SMALL5: &[f64] = &[0.3, -0.1, 0.2, 0.5, 0.4];

#[test]
fn signed_ranks_are_those_of_scipy() {
    for (name, differences, statistic, p) in [
        ("exact16", EXACT16, 34.0, 0.083_251_953_125),
        ("exact25", EXACT25, 96.0, 0.075_479_567_050_933_84),
        ("exact50", EXACT50, 585.0, 0.618_593_540_042_384_8),
        ("ties16", TIES16, 30.0, 0.244_331_043_509_462_55),
        ("ties40", TIES40, 296.5, 0.986_167_519_607_214_7),
        ("approx64", APPROX64, 557.0, 0.001_237_621_766_107_777_2),
        ("small5", SMALL5, 1.0, 0.125),
    ] {
        let found = signed_rank(differences);
        assert!(close(found.statistic, statistic), "{name}: {found:?}");
        assert!(close(found.p, p), "{name}: {found:?}, {p}");
    }
}

#[test]
fn signed_ranks_do_not_depend_on_order_sign_or_unit() {
    let p = signed_rank(APPROX64).p;
    let mut turned: Vec<f64> = APPROX64.iter().map(|d| -d * 1e3).collect();
    turned.reverse();
    assert!(close(signed_rank(&turned).p, p));
    assert!(close(signed_rank(&[0.0; 20]).p, 1.0) && close(signed_rank(&[]).p, 1.0));
}

#[test]
fn holms_values_are_those_of_r() {
    let found = holm(&[0.01, 0.04, 0.03, 0.005, 0.5, 0.2]);
    for (found, p) in found.iter().zip([0.05, 0.12, 0.12, 0.03, 0.5, 0.4]) {
        assert!(close(*found, p), "{found} and {p}");
    }
    assert!(holm(&[]).is_empty());
    assert!(close(holm(&[0.9, 0.9])[0], 1.0));
}

/// The median of all pairwise means by NumPy, and the shifts that `wilcoxon(x - shift,
/// method="approx")` does not reject at 1 %.
#[test]
fn centres_and_their_intervals_are_those_of_scipys_test() {
    for (values, estimate, low, high) in [
        (APPROX64, 0.004_887_25, 0.001_113, 0.008_434),
        (EXACT25, -0.003_164_5, -0.009_207_5, 0.001_9),
        (EXACT50, 0.000_945_5, -0.003_705_5, 0.004_634_5),
    ] {
        let found = centre(values, 2.575_829_303_548_900_4).unwrap();
        assert!(close(found.estimate, estimate), "{found:?}");
        // Where the rank falls between two pairs, one pair more or less.
        let far = (found.interval[0] - low).abs().max((found.interval[1] - high).abs());
        assert!(far < 2e-4, "{found:?}, {low} to {high}");
    }
    assert_eq!(centre(&[], 2.576), None);
    let one = centre(&[3.0], 2.576).unwrap();
    assert!(one.interval.iter().all(|bound| close(*bound, 3.0)));
}

#[test]
fn rank_sums_are_those_of_scipy() {
    for (name, a, b, statistic, p) in [
        ("exact", SMALL5, EXACT16, 64.0, 0.050_027_028_355_201_73),
        ("turned", EXACT16, SMALL5, 16.0, 0.050_027_028_355_201_73),
        ("smallest", &SMALL5[..2], &SMALL5[2..], 1.0, 0.4),
        ("unequal", &EXACT25[..8], APPROX64, 172.0, 0.136_649_725_328_786),
        ("approx", EXACT25, APPROX64, 437.0, 0.000_935_773_074_991_643_6),
        ("approx", EXACT50, EXACT25, 781.0, 0.080_521_338_171_715_61),
        ("ties", TIES16, TIES40, 345.0, 0.654_485_716_247_936_3),
        ("equal", TIES40, TIES40, 800.0, 1.0),
    ] {
        let found = rank_sum(a, b);
        assert!(close(found.statistic, statistic), "{name}: {found:?}");
        assert!(close(found.p, p), "{name}: {found:?}, {p}");
    }
    assert!(close(rank_sum(&[], &[1.0]).p, 1.0) && close(rank_sum(&[1.0; 9], &[1.0; 9]).p, 1.0));
}

/// The median of the differences of all pairs by NumPy, and the shifts that `mannwhitneyu(a, b - shift,
/// use_continuity=False, method="asymptotic")` does not reject at 1 %.
#[test]
fn shifts_and_their_intervals_are_those_of_scipys_test() {
    for (a, b, estimate, low, high) in [
        (EXACT25, APPROX64, 0.008_314_5, 0.001_874, 0.014_877),
        (EXACT16, EXACT50, -0.002_875_5, -0.009_124, 0.004_581),
    ] {
        let found = shift(a, b, 2.575_829_303_548_900_4).unwrap();
        assert!(close(found.estimate, estimate), "{found:?}");
        // Where the rank falls between two pairs, one pair more or less.
        let far = (found.interval[0] - low).abs().max((found.interval[1] - high).abs());
        assert!(far < 2e-4, "{found:?}, {low} to {high}");
    }
    assert_eq!(shift(&[], &[1.0], 2.576), None);
    let one = shift(&[3.0], &[5.0], 2.576).unwrap();
    assert_eq!((one.estimate, one.interval), (2.0, [2.0, 2.0]));
}

/// Differences by halving an interval are those by sorting all of them.
#[test]
fn shifts_are_differences_of_pairs() {
    let (a, b) = (TIES16, TIES40);
    let mut all: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
    all.sort_by(f64::total_cmp);
    let found = shift(a, b, 1e9).unwrap();
    assert!(close(found.estimate, quantile(&all, 0.5).unwrap()), "{found:?}");
    assert!(close(found.interval[0], all[0]) && close(found.interval[1], all[all.len() - 1]));
}

#[test]
fn quantiles_are_those_of_numpy() {
    let values = [
        19.177, 18.918, 19.342, 20.792, 19.48, 20.919, 19.076, 18.355, 19.351, 22.133, 19.768,
        18.445, 20.705, 20.657, 23.24, 19.717, 19.99, 19.706, 19.496, 19.672, 21.003, 20.017,
        19.526, 19.385, 19.298, 19.696, 19.227, 19.402, 17.916, 18.995, 20.843, 18.408, 20.39,
        19.045, 20.865, 20.075, 21.375, 19.706, 19.518, 20.499, 19.683,
    ];
    let ascending = sorted(&values);
    for (q, value) in
        [(0.05, 18.408), (0.25, 19.298), (0.5, 19.683), (0.75, 20.499), (0.95, 21.375)]
    {
        assert!(close(quantile(&ascending, q).unwrap(), value), "{q}");
    }
    assert!(close(geometric_mean(&values).unwrap(), 19.823_869_839_715_645));
}
