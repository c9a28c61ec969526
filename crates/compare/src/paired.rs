//! Is a difference between two arms more than luck? Tests over the ops that both worked on.
//!
//! Under the null hypothesis the arms could have changed names in every op, so that each op's
//! difference could as well have the other sign.

use kgen_measure::stats::two_sided_tail;

/// Steps of the exact distribution, above which its normal limit is taken: there are then so many ops
/// that the two differ by less than anyone reads.
const MAX_STEPS: i64 = 20_000_000;

/// Tests whether shares differ between two arms: `differences[i]` is the difference of op `i` in
/// parts of a common whole. Returns the two-sided p value; without a difference 1.
///
/// Exact: the chance, over all signs, of a sum at least as far from 0. With one sample of each op in
/// both arms this is McNemar's exact test.
///
/// Source: Fisher, The Design of Experiments, 21; McNemar 1947.
pub(crate) fn sign_flips(differences: &[i64]) -> f64 {
    let divisor = differences.iter().fold(0, |known, d| gcd(known, d.abs()));
    if divisor == 0 {
        return 1.0;
    }
    let sizes: Vec<i64> =
        differences.iter().map(|d| d.abs() / divisor).filter(|size| *size > 0).collect();
    let observed = differences.iter().sum::<i64>().abs() / divisor;
    let range: i64 = sizes.iter().sum();
    let n_sizes = i64::try_from(sizes.len()).unwrap_or(i64::MAX);
    if range.saturating_mul(n_sizes) > MAX_STEPS {
        #[expect(clippy::cast_precision_loss, reason = "sums of differences are far below 2^53")]
        let z = observed as f64 / sizes.iter().map(|s| (s * s) as f64).sum::<f64>().sqrt();
        return two_sided_tail(z);
    }
    exact(&sizes, observed, range)
}

/// `chances[s]`: chance that the positive differences add up to `s`, of all `2^n` signs.
fn exact(sizes: &[i64], observed: i64, range: i64) -> f64 {
    let index = |n: i64| usize::try_from(n).expect("a sum of sizes is not negative");
    let mut chances = vec![0.0_f64; index(range) + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for size in sizes.iter().map(|size| index(*size)) {
        reached += size;
        for sum in (0..=reached).rev() {
            let with = if sum >= size { chances[sum - size] } else { 0.0 };
            chances[sum] = 0.5 * (chances[sum] + with);
        }
    }
    // The sum of all is twice the positive ones less the range.
    let far = |positive: &usize| {
        let sum = 2 * i64::try_from(*positive).unwrap_or(i64::MAX) - range;
        observed <= sum.abs()
    };
    let p: f64 = (0..chances.len()).filter(far).map(|sum| chances[sum]).sum();
    p.min(1.0)
}

/// Returns the greatest common divisor; that of 0 and a number is the number.
pub(crate) const fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_one_sample_per_op_it_is_mcnemars_exact_test() {
        // scipy.stats.binomtest(min(b, c), b + c).pvalue
        for (better, worse, p) in
            [(8, 2, 0.109_375), (5, 5, 1.0), (10, 0, 0.001_953_125), (12, 3, 0.035_156_25)]
        {
            let mut differences = vec![1; better];
            differences.extend(vec![-1; worse]);
            differences.extend([0; 30]);
            assert!((sign_flips(&differences) - p).abs() < 1e-12, "{better} {worse}");
        }
        assert!((sign_flips(&[]) - 1.0).abs() < 1e-12);
        assert!((sign_flips(&[0; 9]) - 1.0).abs() < 1e-12);
    }

    /// All signs, one by one.
    fn by_hand(differences: &[i64]) -> f64 {
        let observed = differences.iter().sum::<i64>().abs();
        let n = differences.len();
        let far = (0..1_u32 << n).filter(|signs| {
            let flip = |(at, d): (usize, &i64)| if signs >> at & 1 == 1 { -d } else { *d };
            differences.iter().enumerate().map(flip).sum::<i64>().abs() >= observed
        });
        f64::from(u32::try_from(far.count()).unwrap()) / f64::from(1_u32 << n)
    }

    #[test]
    fn it_is_the_share_of_signs_with_a_sum_as_far_out() {
        for differences in [
            &[3, -1, 2, 2, -2, 5, 1, 0][..],
            &[6, 6, 6, -6, 12],
            &[-4, 1],
            &[2, -2],
            &[7, 5, 3, 2, 1, -1, 4, 4, -9, 10, 6],
        ] {
            let found = sign_flips(differences);
            assert!((found - by_hand(differences)).abs() < 1e-12, "{differences:?}: {found}");
            let turned: Vec<i64> = differences.iter().map(|d| -3 * d).collect();
            assert!((sign_flips(&turned) - found).abs() < 1e-12);
        }
    }

    #[test]
    fn with_very_many_ops_its_limit_is_as_good() {
        let some: Vec<i64> =
            (0..400).map(|n| (n * 7919 % 13) - 6 + i64::from(n % 9 == 0)).collect();
        let range: i64 = some.iter().map(|d| d.abs()).sum();
        let sizes: Vec<i64> = some.iter().map(|d| d.abs()).filter(|d| *d > 0).collect();
        let observed = some.iter().sum::<i64>().abs();
        let exact = exact(&sizes, observed, range);
        let many: Vec<i64> = some.iter().flat_map(|d| [*d; 25]).collect();
        assert!(sign_flips(&many) < exact, "more of the same is less likely by chance");
        let squares: f64 = some.iter().map(|d| f64::from(i32::try_from(d * d).unwrap())).sum();
        let z = f64::from(i32::try_from(observed).unwrap()) / squares.sqrt();
        assert!((two_sided_tail(z) - exact).abs() < 0.02, "{exact}");
    }
}
