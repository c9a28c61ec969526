//! Plain f32 computations of the ops, written without looking at the references.

use crate::{
    op::{
        Engine, Loss, Norm, Unary, find, float_arg, int_arg, ints_arg, normalise_dim,
        normalise_dims, str_arg,
    },
    record::{Case, HostTensor},
    reference::values::{Dense, Inputs},
};

use super::rule::{equal, narrow};

/// How a computation goes about a sum.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Sequential,
    Lanes,
}

fn add_up(terms: impl Iterator<Item = f32>, order: Order) -> f32 {
    match order {
        Order::Sequential => terms.fold(0.0, |sum, term| sum + term),
        Order::Lanes => {
            let mut lanes = [0.0_f32; 32];
            for (index, term) in terms.enumerate() {
                lanes[index % 32] += term;
            }
            let mut width = 16;
            while width > 0 {
                for lane in 0..width {
                    lanes[lane] += lanes[lane + width];
                }
                width /= 2;
            }
            lanes[0]
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "arguments of an f32 computation")]
pub(super) fn honest(case: &Case, hosts: &[HostTensor], order: Order) -> Vec<f32> {
    let inputs = Inputs::read(case, hosts);
    let x = narrow(&inputs.at(0).values);
    match find(&case.op).unwrap().engine {
        Engine::Unary(unary) => x.into_iter().map(|x| honest_unary(unary, case, x)).collect(),
        Engine::Binary(_) => {
            let shape = find(&case.op).unwrap().infer(case).unwrap().remove(0).shape;
            let (x, y) = (inputs.at(0).broadcast(&shape), inputs.at(1).broadcast(&shape));
            let alpha = float_arg(case, "alpha").ok().flatten().map(|alpha| alpha as f32);
            let both = |(x, y): (f32, f32)| alpha.map_or(x * y, |alpha| alpha.mul_add(y, x));
            narrow(&x).into_iter().zip(narrow(&y)).map(both).collect()
        }
        Engine::Reduce(_) => honest_sum(case, inputs.at(0), order),
        Engine::Softmax => honest_softmax(case, inputs.at(0), order),
        Engine::Norm(norm) => honest_norm(norm, case, &inputs, order),
        Engine::MatMul => {
            let (k, n) = (inputs.at(0).shape[1], inputs.at(1).shape[1]);
            let y = narrow(&inputs.at(1).values);
            let m = inputs.at(0).shape[0];
            let element = |index: usize| {
                let (row, column) = (index / n, index % n);
                add_up((0..k).map(|l| x[row * k + l] * y[l * n + column]), order)
            };
            (0..m * n).map(element).collect()
        }
        Engine::Loss(Loss::Mse) => {
            let y = narrow(&inputs.at(1).values);
            let squares: Vec<f32> = x.iter().zip(&y).map(|(x, y)| (x - y) * (x - y)).collect();
            reduce(case, &squares, squares.len(), order)
        }
        Engine::Loss(Loss::CrossEntropy) => honest_cross_entropy(case, &inputs, order),
    }
}

fn honest_unary(unary: Unary, case: &Case, x: f32) -> f32 {
    match unary {
        Unary::Relu => {
            if x > 0.0 || x.is_nan() {
                x
            } else {
                0.0
            }
        }
        Unary::Silu => x / (1.0 + (-x).exp()),
        Unary::Gelu if str_arg(case, "approximate").unwrap() == "tanh" => {
            let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }
        Unary::Gelu => 0.5 * x * (1.0 + libm::erff(x * std::f32::consts::FRAC_1_SQRT_2)),
    }
}

/// Collects the elements of each output element's slice by the walk of the reference's own test:
/// positions whose other coordinates agree.
fn honest_sum(case: &Case, input: &Dense, order: Order) -> Vec<f32> {
    let ndim = input.shape.len();
    let dims = ints_arg(case, "dim").unwrap();
    let dims = normalise_dims(dims, ndim).unwrap();
    let kept: Vec<usize> = (0..ndim).filter(|dim| !dims.contains(dim)).collect();
    let n_out: usize = kept.iter().map(|&dim| input.shape[dim]).product();
    let mut slices = vec![Vec::new(); n_out];
    for (index, value) in narrow(&input.values).into_iter().enumerate() {
        let mut rest = index;
        let mut position = vec![0; ndim];
        for dim in (0..ndim).rev() {
            position[dim] = rest % input.shape[dim];
            rest /= input.shape[dim];
        }
        let target = kept.iter().fold(0, |t, &dim| t * input.shape[dim] + position[dim]);
        slices[target].push(value);
    }
    slices.into_iter().map(|slice| add_up(slice.into_iter(), order)).collect()
}

fn honest_softmax(case: &Case, input: &Dense, order: Order) -> Vec<f32> {
    let dim = normalise_dim(int_arg(case, "dim").unwrap(), input.shape.len()).unwrap();
    let len = input.shape.get(dim).copied().unwrap_or(1);
    let inner: usize = input.shape.iter().skip(dim + 1).product();
    let x = narrow(&input.values);
    let mut out = vec![0.0; x.len()];
    if len == 0 {
        return out;
    }
    for slice in 0..x.len() / len {
        let at = |k: usize| slice / inner * len * inner + k * inner + slice % inner;
        let max = (0..len).map(|k| x[at(k)]).fold(f32::NEG_INFINITY, f32::max);
        let exp = |k: usize| (x[at(k)] - max).exp();
        let scale = 1.0 / add_up((0..len).map(exp), order);
        for k in 0..len {
            out[at(k)] = exp(k) * scale;
        }
    }
    out
}

#[expect(clippy::cast_possible_truncation, reason = "arguments of an f32 computation")]
fn honest_norm(norm: Norm, case: &Case, inputs: &Inputs, order: Order) -> Vec<f32> {
    let dims = ints_arg(case, "normalized_shape").unwrap().unwrap().len();
    let shape = &inputs.at(0).shape;
    let len: usize = shape[shape.len() - dims..].iter().product();
    let eps = float_arg(case, "eps").unwrap().unwrap() as f32;
    let gain = inputs.get("weight").map(|dense| narrow(&dense.values));
    let bias = inputs.get("bias").map(|dense| narrow(&dense.values));
    let mut out = Vec::new();
    for x in narrow(&inputs.at(0).values).chunks(len) {
        let n = len as f32;
        let mean = match norm {
            Norm::Layer => add_up(x.iter().copied(), order) / n,
            Norm::Rms => 0.0,
        };
        let square = add_up(x.iter().map(|x| (x - mean) * (x - mean)), order) / n;
        let scale = 1.0 / (square + eps).sqrt();
        for (column, x) in x.iter().enumerate() {
            let gained = (x - mean) * scale * gain.as_ref().map_or(1.0, |gain| gain[column]);
            out.push(gained + bias.as_ref().map_or(0.0, |bias| bias[column]));
        }
    }
    out
}

fn reduce(case: &Case, values: &[f32], count: usize, order: Order) -> Vec<f32> {
    match int_arg(case, "reduction").unwrap() {
        0 => values.to_vec(),
        1 => vec![add_up(values.iter().copied(), order) / count as f32],
        _ => vec![add_up(values.iter().copied(), order)],
    }
}

#[expect(clippy::cast_possible_truncation, reason = "arguments of an f32 computation")]
fn honest_cross_entropy(case: &Case, inputs: &Inputs, order: Order) -> Vec<f32> {
    let classes = inputs.at(0).shape[1];
    let ignored = int_arg(case, "ignore_index").unwrap() as f64;
    let smoothing = float_arg(case, "label_smoothing").unwrap().unwrap() as f32;
    let (mut losses, mut count) = (Vec::new(), 0);
    let logits = narrow(&inputs.at(0).values);
    for (x, &target) in logits.chunks(classes).zip(&inputs.at(1).values) {
        if equal(target, ignored) {
            losses.push(0.0);
            continue;
        }
        count += 1;
        #[expect(clippy::cast_sign_loss, reason = "a class")]
        let own = x[target as usize];
        let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let log_total = add_up(x.iter().map(|x| (x - max).exp()), order).ln();
        let mut loss = -(1.0 - smoothing) * (own - max - log_total);
        if smoothing != 0.0 {
            let all = add_up(x.iter().map(|x| x - max - log_total), order);
            loss -= smoothing / classes as f32 * all;
        }
        losses.push(loss);
    }
    reduce(case, &losses, count, order)
}
