use rand::Rng;

use super::*;

/// Standard normal values.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || {
        let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
    };
    (0..n).map(|_| normal()).collect()
}

fn places(values: &[f64]) -> Vec<usize> {
    divide(values, &Divisive::default()).iter().map(|change| change.at).collect()
}

/// The statistic as its definition has it.
fn by_definition(values: &[f64], size: usize) -> f64 {
    let (left, right) = values.split_at(size);
    let mean = |a: &[f64], b: &[f64]| {
        let sum: f64 = a.iter().flat_map(|a| b.iter().map(move |b| (a - b).powi(2))).sum();
        sum / (a.len() * b.len()) as f64
    };
    let distance = 2.0 * mean(left, right) - mean(left, left) - mean(right, right);
    distance * (left.len() * right.len()) as f64 / values.len() as f64
}

#[test]
fn the_statistic_is_that_of_its_definition() {
    let mut values = noise(50, 1);
    values[7] = values[3];
    let windows = [
        (0, 50),
        (0, 32),
        (16, 32),
        (18, 32),
        (0, 16),
        (8, 16),
        (16, 16),
        (24, 16),
        (32, 16),
        (34, 16),
    ];
    let all = windows.into_iter().flat_map(|(start, length)| {
        let window = &values[start..start + length];
        (3..=length - 3).map(move |size| (start + size, by_definition(window, size)))
    });
    let best = all.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let found = Windows::new(50, 3).best_split(&values);
    assert_eq!(found.0, best.0);
    assert!((found.1 - best.1).abs() < 1e-9 * best.1, "{found:?} and {best:?}");
}

#[test]
fn steps_are_found_where_they_are() {
    let mut values = noise(60, 2);
    values[20..].iter_mut().for_each(|value| *value += 5.0);
    values[40..].iter_mut().for_each(|value| *value -= 8.0);
    assert_eq!(places(&values), [20, 40]);
    let bump: Vec<f64> = noise(60, 3)
        .iter()
        .enumerate()
        .map(|(at, v)| if (20..30).contains(&at) { v + 6.0 } else { *v })
        .collect();
    assert_eq!(places(&bump), [20, 30]);
    // Of twelve values in any order, one in 462 begins with the smaller or the larger six.
    let few = [1.0, 1.1, 1.2, 1.05, 1.15, 1.02, 2.0, 2.1, 2.2, 2.05, 2.15, 2.02];
    assert_eq!(places(&few), [6]);
    assert!(places(&few[3..9]).is_empty());
}

#[test]
fn a_drift_is_cut_into_steps() {
    let drift: Vec<f64> =
        noise(100, 4).iter().enumerate().map(|(at, value)| 0.1 * at as f64 + value).collect();
    let found = places(&drift);
    assert!((2..=8).contains(&found.len()), "{found:?}");
}

#[test]
fn outliers_and_constant_values_are_no_change() {
    let mut values = noise(50, 5);
    for at in [10, 25, 26, 44] {
        values[at] += 40.0;
    }
    assert!(places(&values).is_empty());
    assert!(places(&[7.0; 50]).is_empty());
    assert!(places(&[0.1 + 0.2; 31]).is_empty());
    assert!(places(&[]).is_empty());
    assert!(places(&[1.0, 2.0, 3.0, 4.0, 5.0]).is_empty());
    // Two levels in turn, as of kernels that take one of two times.
    let turns: Vec<f64> = (0..60).map(|at| f64::from(at % 2)).collect();
    assert!(places(&turns).is_empty());
}

#[test]
fn noise_has_a_change_as_often_as_the_level_says() {
    for n in [20, 200] {
        let n_found = (0..400).filter(|seed| !places(&noise(n, 100 + seed)).is_empty()).count();
        assert!(n_found <= 10, "{n_found} of 400 series of {n} values");
    }
}

#[test]
fn unit_and_place_of_values_do_not_matter_and_a_seed_repeats() {
    let mut values = noise(60, 6);
    values[30..].iter_mut().for_each(|value| *value += 1.5);
    let settings = Divisive::default();
    let found = divide(&values, &settings);
    assert_eq!(found, divide(&values, &settings));
    let moved: Vec<f64> = values.iter().map(|value| 1e6 + 1e-3 * value).collect();
    assert_eq!(found, divide(&moved, &settings));
    assert_eq!(found.len(), 1);
    assert!(found[0].at.abs_diff(30) <= 3 && found[0].p <= 0.01, "{found:?}");
}
