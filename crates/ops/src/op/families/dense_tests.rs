//! Contractions, convolutions, attention and pooling against other ways to compute them.

use super::{
    super::{Array, DraftTensor, DraftValue, Inputs, Layout, find},
    f64_cases::{case, close, evaluate, hosts, ints, tensor},
};
use crate::{
    record::{ArgValue, Case, DType, Gen, HostTensor, InputDistribution},
    reference::Reference,
    suite,
};

/// Returns whether two results are the same infinity, zero or NaN.
fn equal(left: f64, right: f64) -> bool {
    left.partial_cmp(&right) == Some(std::cmp::Ordering::Equal) || (left.is_nan() && right.is_nan())
}

fn dot(left: &Array, right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

#[test]
fn a_sum_of_products_is_that_of_three_loops() {
    let (m, k, n) = (5, 7, 3);
    let factors = [("alpha", DraftValue::Float(-0.5)), ("beta", DraftValue::Int(3))];
    let mut values =
        vec![("self", tensor(&[n])), ("mat1", tensor(&[m, k])), ("mat2", tensor(&[k, n]))];
    values.extend(factors);
    let case = case("addmm", &values);
    let hosts = hosts(&case);
    let [c, a, b] = [0, 1, 2].map(|index: usize| hosts[index].to_f64());
    let out = evaluate(&case, &hosts);
    for i in 0..m {
        for j in 0..n {
            let product: f64 = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
            assert!(close(out[[i, j]], 3.0 * c[j] - 0.5 * product));
        }
    }
}

#[test]
fn a_product_of_batches_is_that_of_their_matrices() {
    let (m, k, n) = (2, 5, 4);
    let batched = case("matmul", &[("self", tensor(&[3, 1, m, k])), ("other", tensor(&[2, k, n]))]);
    let all = hosts(&batched);
    let out = evaluate(&batched, &all);
    assert_eq!(out.shape(), [3, 2, m, n]);
    let single = case("mm", &[("self", tensor(&[m, k])), ("mat2", tensor(&[k, n]))]);
    for i in 0..3 {
        for j in 0..2 {
            let mut pair = hosts(&single);
            for (host, (from, at)) in pair.iter_mut().zip([(&all[0], i), (&all[1], j)]) {
                let len = host.storage.len();
                host.storage.copy_from_slice(&from.storage[at * len..][..len]);
            }
            let one = evaluate(&single, &pair);
            let own = out.index_axis(ndarray::Axis(0), i);
            let own = own.index_axis(ndarray::Axis(0), j);
            assert!(own.iter().zip(&one).all(|(a, b)| close(*a, *b)));
        }
    }
}

#[test]
fn a_transposed_convolution_is_the_adjoint_of_the_convolution() {
    // Extents of input and kernel; stride, padding, dilation, groups. The convolution uses all of
    // its input.
    let table: [([&[usize]; 2], [i64; 4]); 5] = [
        ([&[9], &[3]], [1, 0, 1, 1]),
        ([&[9], &[3]], [2, 1, 1, 2]),
        ([&[7, 9], &[3, 1]], [1, 1, 2, 1]),
        ([&[5, 7], &[3, 3]], [2, 1, 1, 2]),
        ([&[4, 3, 5], &[2, 3, 1]], [1, 0, 1, 1]),
    ];
    for ([input, kernel], [stride, padding, dilation, groups]) in table {
        let n = input.len();
        let per_group = 4 / usize::try_from(groups).unwrap();
        let shape = |lead: [usize; 2], rest: &[usize]| tensor(&[&lead, rest].concat());
        let list = |value| ints(&vec![value; n]);
        let options = [
            ("stride", list(stride)),
            ("padding", list(padding)),
            ("dilation", list(dilation)),
            ("groups", DraftValue::Int(groups)),
        ];
        let weight = ("weight", shape([6, per_group], kernel));
        let mut values = vec![("input", shape([2, 4], input)), weight.clone()];
        values.extend(options.clone());
        let plain = case(&format!("conv{n}d"), &values);
        let plain_hosts = hosts(&plain);
        let forward = evaluate(&plain, &plain_hosts);

        let mut values = vec![("input", tensor(forward.shape())), weight];
        values.extend(options);
        let adjoint = case(&format!("conv_transpose{n}d"), &values);
        let adjoint_hosts = hosts(&adjoint);
        let back = evaluate(&adjoint, &adjoint_hosts);
        let x = plain_hosts[0].to_f64();
        assert_eq!(back.len(), x.len(), "{}", plain.id);
        let y = adjoint_hosts[0].to_f64();
        assert!(close(dot(&forward, &y), dot(&back, &x)), "{}", plain.id);
    }
}

#[test]
fn a_convolution_slides_its_kernel() {
    let values = [
        ("input", tensor(&[1, 2, 8])),
        ("weight", tensor(&[3, 2, 3])),
        ("stride", ints(&[2])),
        ("padding", ints(&[1])),
    ];
    let case = case("conv1d", &values);
    let hosts = hosts(&case);
    let (x, w) = (hosts[0].to_f64(), hosts[1].to_f64());
    let out = evaluate(&case, &hosts);
    assert_eq!(out.shape(), [1, 3, 4]);
    for o in 0..3 {
        for y in 0..4 {
            let mut sum = 0.0;
            for c in 0..2 {
                for t in (0..3).filter(|t| (1..9).contains(&(2 * y + t))) {
                    sum += x[c * 8 + 2 * y + t - 1] * w[(o * 2 + c) * 3 + t];
                }
            }
            assert!(close(out[[0, o, y]], sum));
        }
    }
}

#[test]
fn an_average_is_a_convolution_with_equal_weights() {
    let size = [("kernel_size", ints(&[2, 3])), ("stride", ints(&[1, 2])), ("padding", ints(&[1]))];
    let pooled =
        case("avg_pool2d", &[vec![("self", tensor(&[1, 3, 5, 6]))], size.to_vec()].concat());
    let values = [
        ("input", tensor(&[1, 3, 5, 6])),
        ("weight", tensor(&[3, 1, 2, 3])),
        ("stride", ints(&[1, 2])),
        ("padding", ints(&[1])),
        ("groups", DraftValue::Int(3)),
    ];
    let sliding = case("conv2d", &values);
    let x = hosts(&pooled).remove(0);
    let mut weight = HostTensor::zeroed(sliding.tensor("weight").unwrap().spec.clone());
    for index in 0..weight.spec.numel() {
        weight.set(index, 1.0 / 6.0);
    }
    let averages = evaluate(&pooled, std::slice::from_ref(&x));
    let sums = evaluate(&sliding, &[x, weight]);
    assert!(averages.iter().zip(&sums).all(|(a, b)| close(*a, *b)));
}

#[test]
fn an_index_of_a_maximum_points_at_it() {
    let values = [
        ("self", tensor(&[2, 3, 6, 5])),
        ("kernel_size", ints(&[3])),
        ("stride", ints(&[2])),
        ("padding", ints(&[1])),
        ("ceil_mode", DraftValue::Bool(true)),
    ];
    let case = case("max_pool2d_with_indices", &values);
    let hosts = hosts(&case);
    let reference = Reference::new(find(&case.op).unwrap(), &case, &hosts).unwrap();
    let outputs = reference.evaluate().unwrap();
    let x = hosts[0].to_f64();
    let per_plane = outputs[0].len() / 6;
    for (index, (max, at)) in outputs[0].iter().zip(&outputs[1]).enumerate() {
        let plane = &x[index / per_plane * 30..][..30];
        let found = plane.iter().position(|value| close(*value, *max)).unwrap();
        assert!(close(found as f64, *at));
    }
}

fn attention(heads: usize, more: &[(&'static str, DraftValue)]) -> Case {
    let mut values = vec![
        ("query", tensor(&[1, 4, 5, 8])),
        ("key", tensor(&[1, heads, 6, 8])),
        ("value", tensor(&[1, heads, 6, 3])),
    ];
    values.extend_from_slice(more);
    case("scaled_dot_product_attention", &values)
}

#[test]
fn grouped_heads_are_repeated_heads() {
    let grouped = attention(2, &[("enable_gqa", DraftValue::Bool(true))]);
    let own = hosts(&grouped);
    let plain = attention(4, &[]);
    let mut repeated = hosts(&plain);
    for (host, own) in repeated.iter_mut().zip(&own).skip(1) {
        let len = host.storage.len() / 4;
        for head in 0..4 {
            let from = &own.storage[head / 2 * len..][..len];
            host.storage[head * len..][..len].copy_from_slice(from);
        }
    }
    let (left, right) = (evaluate(&grouped, &own), evaluate(&plain, &repeated));
    assert!(left.iter().zip(&right).all(|(a, b)| close(*a, *b)));
}

#[test]
fn a_causal_mask_is_a_mask_below_the_diagonal() {
    let causal = attention(4, &[("is_causal", DraftValue::Bool(true))]);
    let layout = Layout::Contiguous;
    let mask = DraftTensor { dtype: Some(DType::Bool), shape: vec![5, 6], layout };
    let masked = attention(4, &[("attn_mask", DraftValue::Tensor(mask))]);
    let own = hosts(&causal);
    let mut all = hosts(&masked);
    for (host, own) in all.iter_mut().zip(&own) {
        host.storage.copy_from_slice(&own.storage);
    }
    for index in 0..30 {
        all[3].set(index, f64::from(u8::from(index % 6 <= index / 6)));
    }
    let (left, right) = (evaluate(&causal, &own), evaluate(&masked, &all));
    assert!(left.iter().zip(&right).all(|(a, b)| close(*a, *b)));
}

#[test]
fn rows_that_see_nothing_are_zero() {
    let layout = Layout::Contiguous;
    let mask = DraftTensor { dtype: Some(DType::Bool), shape: vec![5, 6], layout };
    let mut masked = attention(4, &[("attn_mask", DraftValue::Tensor(mask))]);
    for tensor in masked.tensors_mut().skip(3) {
        tensor.generator = Gen::Constant { value: 0.0 };
    }
    let out = evaluate(&masked, &hosts(&masked));
    assert!(out.iter().all(|value| *value == 0.0));
}

fn opinfo() -> suite::Suite {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/opinfo/dense.toml");
    suite::load(file).unwrap()
}

/// Elements of an output that are evaluated one by one, about.
const CHOSEN: usize = 100;

/// Elements of the tensors of a case that is evaluated in both ways.
const MOST_ELEMENTS: usize = 50_000;

fn elements(case: &Case) -> usize {
    case.tensors().map(|(_, tensor)| tensor.spec.numel()).sum()
}

#[test]
fn chosen_elements_are_those_of_the_whole() {
    let suite = opinfo();
    for name in suite.ops() {
        let op = find(name).unwrap();
        let cases = suite.cases(name, None, 5).unwrap();
        let tried = |case: &&Case| case.dtype == op.dtypes[0] && elements(case) < MOST_ELEMENTS;
        for case in cases.iter().filter(tried) {
            let hosts = hosts(case);
            let inputs = Inputs::read(case, &hosts);
            let call = op.call(case);
            let all = op.engine.evaluate(&call, &inputs).unwrap();
            let spreads = op.engine.spread(&call, &inputs).unwrap();
            for (output, all) in all.iter().enumerate() {
                let step = (all.len() / CHOSEN).max(3) | 1;
                let indices: Vec<usize> = (0..all.len()).step_by(step).collect();
                let alone = Inputs::read(case, &hosts);
                let same = |all: &Array, some: Vec<f64>| {
                    let all = all.iter().step_by(step);
                    let scale = all.clone().filter(|x| x.is_finite());
                    let scale = scale.fold(1e-300, |scale: f64, x| scale.max(x.abs()));
                    let mut pairs = all.zip(&some);
                    pairs.all(|(a, b)| equal(*a, *b) || (a - b).abs() < 1e-12 * scale)
                };
                if let Some(some) = op.engine.evaluate_at(&call, &alone, output, &indices) {
                    assert!(same(all, some.unwrap()), "{name} {}", case.id);
                }
                let some = op.engine.spread_at(&call, &alone, output, &indices);
                if let (Some(some), Some(spreads)) = (some, &spreads) {
                    assert!(same(&spreads[output], some.unwrap()), "{name} {}: spread", case.id);
                }
            }
        }
    }
}

#[test]
fn exact_sums_stay_below_the_integers_of_f32() {
    let suite = opinfo();
    for name in suite.ops() {
        let op = find(name).unwrap();
        let cases = suite.cases(name, None, 5).unwrap();
        for case in cases.iter().filter(|case| case.distribution == InputDistribution::Exact) {
            if case.arg("alpha").is_some_and(|alpha| *alpha != ArgValue::Int(1)) {
                continue;
            }
            let hosts = hosts(case);
            let inputs = Inputs::read(case, &hosts).map(|_, input| input.array().mapv(f64::abs));
            for output in op.engine.evaluate(&op.call(case), &inputs).unwrap() {
                let largest = output.iter().fold(0.0, |max: f64, x| max.max(*x));
                assert!(largest < 16_777_216.0, "{name} {}: {largest}", case.id);
                assert!(largest > 0.0, "{name} {}", case.id);
            }
        }
    }
}
