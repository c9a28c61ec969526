//! Values of wrong elements, compared with the expected ones.

use super::{Wrong, most, same};

/// Describes the wrong elements by themselves.
pub(super) fn describe(wrong: &Wrong<'_>) -> Option<String> {
    let n_wrong = wrong.indices.len();
    if wrong.n_unwritten == n_wrong as u64 {
        return Some("none of them was ever written".to_owned());
    }
    if wrong.n_unwritten > 0 {
        return Some(format!("{} of them were never written", wrong.n_unwritten));
    }
    let count =
        |of: &dyn Fn(f64, f64) -> bool| wrong.pairs().filter(|&(y, got)| of(y, got)).count();
    if count(&|_, got| got.is_nan()) == n_wrong {
        return Some("all of them are NaN".to_owned());
    }
    if n_wrong > 1 && count(&|_, got| got == 0.0) == n_wrong {
        return Some("all of them are 0".to_owned());
    }
    if count(&|y, got| y.is_nan() && !got.is_nan()) == n_wrong {
        return Some("each of them should be NaN, which is lost on the way".to_owned());
    }
    if count(&|y, got| y.is_finite() && got.is_infinite()) == n_wrong {
        return Some("each of them is infinite: an intermediate overflows".to_owned());
    }
    if count(&|y, got| y.is_infinite() && got.is_finite()) == n_wrong {
        return Some("each of them should be infinite".to_owned());
    }
    if count(&|y, got| y.is_finite() && got.is_nan()) * 2 > n_wrong {
        return Some("most of them are NaN, though no NaN went in".to_owned());
    }
    all_equal(wrong)
}

/// Recognises one value in all places.
fn all_equal(wrong: &Wrong<'_>) -> Option<String> {
    let mut got = wrong.pairs().map(|(_, got)| got);
    let first = got.next()?;
    #[expect(clippy::float_cmp, reason = "one and the same value is what is meant")]
    let equal = got.all(|value| value == first);
    let mut expected = wrong.pairs().map(|(y, _)| y);
    let reference = expected.next()?;
    let expected_differ = expected.any(|y| !same(wrong.dtype, y, reference));
    (wrong.indices.len() > 2 && equal && expected_differ)
        .then(|| format!("all of them are {}", number(first)))
}

/// Says how computed and expected values are related: a factor, an offset, the sign.
pub(super) fn relation(wrong: &Wrong<'_>) -> Option<String> {
    sign(wrong).or_else(|| factor(wrong)).or_else(|| offset(wrong))
}

fn sign(wrong: &Wrong<'_>) -> Option<String> {
    let n = wrong.indices.len();
    let flipped = wrong.pairs().filter(|&(y, got)| same(wrong.dtype, got, -y)).count();
    if n < 2 || !most(flipped, n) {
        return None;
    }
    let negative = wrong.pairs().all(|(y, _)| y < 0.0);
    let rest_positive = wrong.is_whole() && wrong.expected.iter().any(|&y| y > 0.0);
    Some(if negative && rest_positive {
        "got = |expected|: the sign is lost".to_owned()
    } else {
        "got = -expected: the sign is wrong".to_owned()
    })
}

/// Wrong elements of each kind that relations are read from.
const MAX_PAIRS: usize = 4096;

/// Finite pairs that a relation is read from; `None` where there are too few.
fn finite_pairs(wrong: &Wrong<'_>) -> Option<Vec<(f64, f64)>> {
    let step = (wrong.indices.len() / MAX_PAIRS).max(1);
    let pairs = wrong.pairs().step_by(step);
    let pairs: Vec<_> = pairs.filter(|(y, got)| y.is_finite() && got.is_finite()).collect();
    (pairs.len() >= 3 && most(pairs.len(), wrong.indices.len().div_ceil(step))).then_some(pairs)
}

fn factor(wrong: &Wrong<'_>) -> Option<String> {
    let pairs = finite_pairs(wrong)?;
    let mut ratios: Vec<f64> =
        pairs.iter().filter(|(y, _)| *y != 0.0).map(|(y, got)| got / y).collect();
    ratios.sort_by(f64::total_cmp);
    let factor = *ratios.get(ratios.len() / 2)?;
    let holds = |&(y, got): &(f64, f64)| {
        (got - factor * y).abs() <= tolerance(wrong, y) * factor.abs().max(1.0)
    };
    let plain = (factor - 1.0).abs() < 1e-4 || factor == 0.0;
    (!plain && differ(&pairs) && most(pairs.iter().filter(|pair| holds(pair)).count(), pairs.len()))
        .then(|| format!("got = {} expected", factor_words(factor)))
}

/// Spells a factor; one over an extent or a number of elements is named so.
fn factor_words(factor: f64) -> String {
    let inverse = 1.0 / factor;
    let whole = |x: f64| (x - x.round()).abs() < 1e-3 * x.abs() && x.abs() < 1e6 && x.abs() > 1.5;
    if whole(factor) {
        return format!("{} x", factor.round());
    }
    if whole(inverse) {
        return format!("1/{} x", inverse.round());
    }
    // n / (n - 1) and its inverse: a count that is off by one.
    let n = 1.0 / (1.0 - inverse);
    if whole(n) && n > 2.0 {
        return format!("{}/{} x", n.round(), n.round() - 1.0);
    }
    let n = 1.0 / (1.0 - factor);
    if whole(n) && n > 2.0 {
        return format!("{}/{} x", n.round() - 1.0, n.round());
    }
    format!("{} x", number(factor))
}

fn offset(wrong: &Wrong<'_>) -> Option<String> {
    let pairs = finite_pairs(wrong)?;
    let mut differences: Vec<f64> = pairs.iter().map(|(y, got)| got - y).collect();
    differences.sort_by(f64::total_cmp);
    let offset = *differences.get(differences.len() / 2)?;
    let holds = |&(y, got): &(f64, f64)| {
        (got - y - offset).abs() <= tolerance(wrong, y).max(1e-3 * offset.abs())
    };
    let words = || {
        let sign = if offset < 0.0 { '-' } else { '+' };
        format!("got = expected {sign} {}", number(offset.abs()))
    };
    (offset != 0.0
        && differ(&pairs)
        && most(pairs.iter().filter(|pair| holds(pair)).count(), pairs.len()))
    .then(words)
}

/// Returns whether the expected values differ: of equal ones every relation holds.
fn differ(pairs: &[(f64, f64)]) -> bool {
    let (first, _) = pairs[0];
    pairs.iter().any(|(y, _)| (y - first).abs() > 1e-3 * first.abs().max(y.abs()))
}

/// Error of a value that a relation may have: rounding to the output's type and some f32 noise.
fn tolerance(wrong: &Wrong<'_>, y: f64) -> f64 {
    2.0 * crate::bound::ulp(wrong.dtype, y) + 1e-5 * y.abs()
}

/// Spells a number in few digits.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if value == 0.0 || (short != "0" && short != "-0" && value.abs() < 1e6) {
        short.to_owned()
    } else {
        format!("{value:.3e}")
    }
}
