//! Folds, scans, sorts and norms against formulas of another kind.

use super::{
    extreme::{element, tied},
    norm,
};
use crate::{
    op::{Array, CaseDraft, DraftTensor, DraftValue, Layout, build_case, find, generate},
    record::{Case, CaseClass, DType, HostTensor, InputDistribution},
    reference::Reference,
};

fn hosts(case: &Case) -> Vec<HostTensor> {
    case.tensors().map(|(name, tensor)| generate(tensor, 7, &case.id, &name)).collect()
}

fn shape(extents: &[usize]) -> DraftValue {
    DraftValue::Tensor(DraftTensor {
        dtype: None,
        shape: extents.to_vec(),
        layout: Layout::Contiguous,
    })
}

/// A call with f64 inputs: the tensors as they were generated, and the results.
fn call(
    op: &str,
    distribution: InputDistribution,
    values: &[(&str, DraftValue)],
) -> (Vec<Array>, Vec<Array>) {
    let op = find(op).unwrap();
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let draft = CaseDraft { dtype: DType::F64, class: CaseClass::Edge, distribution, values };
    let case = build_case(op, &draft).unwrap();
    // Equal shapes of different ops have equal values.
    let hosts: Vec<HostTensor> = case
        .tensors()
        .map(|(name, tensor)| generate(tensor, 7, &format!("{:?}", tensor.spec.shape), &name))
        .collect();
    let reference = Reference::new(op, &case, &hosts).unwrap();
    let inputs = reference.inputs().all().map(|(_, input)| input.array().clone()).collect();
    (inputs, reference.evaluate().unwrap())
}

fn close(left: &Array, right: &Array) {
    assert_eq!(left.shape(), right.shape());
    for (l, r) in left.iter().zip(right) {
        let same = tied(*l, *r) || (l - r).abs() < 1e-12 * r.abs().max(1.0);
        assert!(same, "{l} {r}");
    }
}

fn dim(value: i64) -> (&'static str, DraftValue) {
    ("dim", DraftValue::Int(value))
}

fn dims(values: &[i64]) -> (&'static str, DraftValue) {
    ("dim", DraftValue::Ints(values.to_vec()))
}

/// The result of a slice.
type Formula = fn(&[f64]) -> f64;

const X: [usize; 3] = [3, 4, 5];

/// Applies a formula to every slice along the middle dimension of [`X`].
fn middle(x: &Array, formula: impl Fn(&[f64]) -> f64) -> Array {
    Array::from_shape_fn(ndarray::IxDyn(&[3, 5]), |at| {
        let slice: Vec<f64> = (0..4).map(|j| x[[at[0], j, at[1]]]).collect();
        formula(&slice)
    })
}

#[test]
fn folds_are_those_of_nested_loops() {
    let x = ("self", shape(&X));
    let fold = |op: &str| call(op, InputDistribution::Normal, &[x.clone(), dims(&[1])]);
    let (input, out) = fold("sum");
    close(&out[0], &middle(&input[0], |x| x[0] + x[1] + x[2] + x[3]));
    let (input, out) = fold("mean");
    close(&out[0], &middle(&input[0], |x| (x[0] + x[1] + x[2] + x[3]) / 4.0));
    let (input, out) = fold("amin");
    close(&out[0], &middle(&input[0], |x| x[0].min(x[1]).min(x[2]).min(x[3])));
    let (input, out) = fold("logsumexp");
    close(&out[0], &middle(&input[0], |x| x.iter().map(|x| x.exp()).sum::<f64>().ln()));
    let (input, out) = fold("vector_norm");
    close(&out[0], &middle(&input[0], |x| x[0].hypot(x[1]).hypot(x[2]).hypot(x[3])));
    let (input, out) = call("prod", InputDistribution::Normal, &[x, dim(-2)]);
    close(&out[0], &middle(&input[0], |x| x[0] * x[1] * x[2] * x[3]));
}

/// The variance as the mean square of the differences of all pairs.
#[test]
fn the_variance_is_that_of_pairs() {
    let correction = ("correction", DraftValue::Int(1));
    let values = [("self", shape(&X)), dims(&[1]), correction];
    let (input, out) = call("var_mean", InputDistribution::Shifted, &values);
    let pairs = |x: &[f64]| {
        let squares = x.iter().flat_map(|a| x.iter().map(move |b| (a - b).powi(2)));
        squares.sum::<f64>() / (2.0 * 4.0 * 3.0)
    };
    let wanted = middle(&input[0], pairs);
    for (got, wanted) in out[0].iter().zip(&wanted) {
        assert!((got / wanted - 1.0).abs() < 1e-9, "{got} {wanted}");
    }
    let (_, std) = call("std", InputDistribution::Shifted, &values);
    close(&std[0], &out[0].mapv(f64::sqrt));
}

/// A kernel of two passes, with sums of 32 lanes in f32.
fn std_in_f32(x: &[f32]) -> f64 {
    let total = |of: &dyn Fn(f32) -> f32| -> f32 {
        let lane = |lane| x.iter().skip(lane).step_by(32).fold(0.0, |sum, &x| sum + of(x));
        (0..32).map(lane).sum()
    };
    let mean = total(&|x| x) / x.len() as f32;
    let squares = total(&|x| (x - mean) * (x - mean));
    f64::from((squares / (x.len() as f32 - 1.0)).sqrt())
}

#[test]
#[expect(clippy::cast_possible_truncation, reason = "inputs are f32")]
fn the_deviation_of_distant_values_may_have_the_error_of_their_mean() {
    let op = find("std").unwrap();
    let values = [("self".to_owned(), shape(&[1, 17_588])), ("dim".to_owned(), dims(&[1]).1)];
    let draft = CaseDraft {
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        values: values.into_iter().collect(),
    };
    let case = build_case(op, &draft).unwrap();
    for distance in [0.0, 1e3, 1e4, 1e5] {
        let mut hosts = hosts(&case);
        let x: Vec<f32> =
            (0..17_588).map(|at| (distance + 0.6 * hosts[0].get(at)) as f32).collect();
        x.iter().enumerate().for_each(|(at, &x)| hosts[0].set(at, f64::from(x)));
        let reference = Reference::new(op, &case, &hosts).unwrap();
        let outputs = reference.evaluate().unwrap();
        let y = outputs[0].iter().next().copied().unwrap();
        let bounds = reference.bounds(&outputs).unwrap().remove(0);
        let scale = y.max(bounds.magnitude.unwrap()[0]) * f64::from(f32::EPSILON) / 2.0;
        let bound = 4.0 * 17_588_f64.sqrt() * (scale + bounds.s[0]);
        let error = (std_in_f32(&x) - y).abs();
        assert!(error < bound, "{distance}: {error} of {bound}");
    }
}

#[test]
fn sorting_counts_smaller_elements_and_topk_is_its_end() {
    let x = ("self", shape(&X));
    let (input, sorted) = call("sort", InputDistribution::Normal, &[x.clone(), dim(1)]);
    for ((at, &value), &index) in sorted[0].indexed_iter().zip(&sorted[1]) {
        let smaller = (0..4).filter(|&j| input[0][[at[0], j, at[2]]] < value).count();
        assert_eq!(smaller, at[1]);
        let slice: Vec<f64> = (0..4).map(|j| input[0][[at[0], j, at[2]]]).collect();
        assert!(element(&slice, index).is_some_and(|element| tied(element, value)));
    }
    let (_, top) =
        call("topk", InputDistribution::Normal, &[x.clone(), ("k", DraftValue::Int(2)), dim(1)]);
    let (_, max) = call("max.dim", InputDistribution::Normal, &[x.clone(), dim(1)]);
    let (_, arg) = call("argmax", InputDistribution::Normal, &[x, dim(1)]);
    close(&arg[0], &max[1]);
    for part in 0..2 {
        let first = top[part].index_axis(ndarray::Axis(1), 0).into_owned();
        close(&first, &max[part]);
        let second = top[part].index_axis(ndarray::Axis(1), 1).into_owned();
        close(&second, &sorted[part].index_axis(ndarray::Axis(1), 2).into_owned());
    }
}

#[test]
fn scans_are_folds_of_what_is_before() {
    let scan = |op: &str| call(op, InputDistribution::Normal, &[("self", shape(&X)), dim(1)]);
    let formulas: [(&str, Formula); 4] = [
        ("cumsum", |x| x.iter().sum()),
        ("cumprod", |x| x.iter().product()),
        ("logcumsumexp", |x| x.iter().map(|x| x.exp()).sum::<f64>().ln()),
        ("cummax", |x| x.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    ];
    for (op, formula) in formulas {
        let (input, out) = scan(op);
        for until in 0..4 {
            let part = out[0].index_axis(ndarray::Axis(1), until).into_owned();
            close(&part, &middle(&input[0], |x| formula(&x[..=until])));
        }
    }
}

#[test]
fn softmax_is_what_its_logarithm_is_of() {
    let x = ("self", shape(&X));
    let (_, plain) = call("softmax", InputDistribution::Large, &[x.clone(), dim(1)]);
    let (_, log) = call("log_softmax", InputDistribution::Large, &[x.clone(), dim(1)]);
    close(&log[0].mapv(f64::exp), &plain[0]);
    close(&plain[0].sum_axis(ndarray::Axis(1)), &Array::ones(ndarray::IxDyn(&[3, 5])));
    let (input, sums) = call("logsumexp", InputDistribution::Large, &[x, dims(&[1])]);
    let log_of =
        Array::from_shape_fn(ndarray::IxDyn(&X), |at| input[0][&at] - sums[0][[at[0], at[2]]]);
    for (left, right) in log[0].iter().zip(&log_of) {
        assert!((left - right).abs() < 1e-10, "{left} {right}");
    }
}

#[test]
fn norms_of_channels_are_layer_norms_of_other_shapes() {
    let none = DraftValue::None;
    let x = ("input", shape(&X));
    let affine = [("weight", none.clone()), ("bias", none.clone())];
    let eps = ("eps", DraftValue::Float(1e-5));
    let with = |more: &[(&'static str, DraftValue)]| {
        [std::slice::from_ref(&x), &affine[..], more].concat()
    };
    let layer = |normalised: &[i64]| {
        let values =
            with(&[("normalized_shape", DraftValue::Ints(normalised.to_vec())), eps.clone()]);
        call("native_layer_norm", InputDistribution::Normal, &values).1
    };
    let groups = |groups: i64| {
        call(
            "group_norm",
            InputDistribution::Normal,
            &with(&[("num_groups", DraftValue::Int(groups))]),
        )
        .1
    };
    close(&groups(1)[0], &layer(&[4, 5])[0]);
    close(&groups(4)[0], &layer(&[5])[0]);
    let running = [("running_mean", none.clone()), ("running_var", none)];
    let momentum = ("momentum", DraftValue::Float(0.1));
    let cudnn = ("cudnn_enabled", DraftValue::Bool(true));
    let own = ("use_input_stats", DraftValue::Bool(true));
    let values = [&with(&running)[..], &[own, momentum.clone(), eps.clone(), cudnn]].concat();
    close(&call("instance_norm", InputDistribution::Normal, &values).1[0], &groups(4)[0]);
    let training = ("training", DraftValue::Bool(true));
    let values = [&with(&running)[..], &[training, momentum, eps]].concat();
    let (input, batch) = call("native_batch_norm", InputDistribution::Normal, &values);
    let channel = |c: usize| -> Vec<f64> {
        input[0].index_axis(ndarray::Axis(1), c).iter().copied().collect()
    };
    for ((at, &value), &x) in batch[0].indexed_iter().zip(&input[0]) {
        let all = channel(at[1]);
        let mean = all.iter().sum::<f64>() / 15.0;
        let var = all.iter().map(|x| x * x).sum::<f64>() / 15.0 - mean * mean;
        assert!((value - (x - mean) / (var + 1e-5).sqrt()).abs() < 1e-9);
        assert!((batch[1][at[1]] - mean).abs() < 1e-12);
    }
}

#[test]
fn an_index_of_an_equal_element_is_as_good_but_no_other() {
    let op = find("sort").unwrap();
    let values = vec![("self".to_owned(), shape(&[9]))];
    let draft = CaseDraft {
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Ties,
        values,
    };
    let case = build_case(op, &draft).unwrap();
    let mut hosts = hosts(&case);
    for (at, value) in [2.0, 0.5, 2.0, -1.0, f64::NAN, 0.5, f64::NAN, 0.5, 2.0].iter().enumerate() {
        hosts[0].set(at, *value);
    }
    let reference = Reference::new(op, &case, &hosts).unwrap();
    let expected = reference.evaluate().unwrap();
    assert_eq!(expected[1].as_slice().unwrap(), [3.0, 1.0, 5.0, 7.0, 0.0, 2.0, 8.0, 4.0, 6.0]);
    let judge = |indices: [f64; 9]| {
        let mut got = vec![expected[0].clone(), ndarray::arr1(&indices).into_dyn()];
        op.canonicalise(&case, reference.inputs(), &mut got, &expected);
        got[1] == expected[1]
    };
    assert!(judge([3.0, 7.0, 5.0, 1.0, 8.0, 2.0, 0.0, 6.0, 4.0]));
    // Twice the same, another element, no index.
    assert!(!judge([3.0, 7.0, 7.0, 1.0, 8.0, 2.0, 0.0, 6.0, 4.0]));
    assert!(!judge([1.0, 3.0, 5.0, 7.0, 0.0, 2.0, 8.0, 4.0, 6.0]));
    assert!(!judge([3.0, 1.0, 5.0, 7.0, 0.0, 2.0, 8.0, 4.0, 9.0]));
}

#[test]
fn nan_beside_an_infinity_is_as_right_as_what_it_stands_for() {
    let accepted = |got: f64, x: &[f64]| {
        let mut got = [got];
        norm::accept_nan(&mut got, &[0.0], x);
        got[0]
    };
    assert_eq!(accepted(f64::NAN, &[1.0, f64::INFINITY]).to_bits(), 0);
    // Without an infinity, or beside NaN, it is the computed value.
    assert!(accepted(f64::NAN, &[1.0, 2.0]).is_nan());
    assert!(accepted(f64::NAN, &[f64::NAN, f64::INFINITY]).is_nan());
    assert_eq!(accepted(2.0, &[1.0, f64::INFINITY]).to_bits(), 2_f64.to_bits());
}
