use crate::{
    op::{
        DraftValue, Layout,
        families::probe::{Probe, Values, assert_near, laid_out, probe, refusal, tensor},
    },
    record::InputDistribution,
};

fn int(value: i64) -> DraftValue {
    DraftValue::Int(value)
}

fn pair(op: &str, shape: &[usize], values: Values<'_>) -> Probe {
    let both = [("self", tensor(shape)), ("target", tensor(shape))];
    probe(op, InputDistribution::Normal, &[&both, values].concat())
}

/// Formulas written in another way than the references'.
#[test]
fn losses_agree_with_other_forms_of_their_formulas() {
    type Formula = fn(f64, f64) -> f64;
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let entropy: fn(f64, f64) -> f64 = |p, y| -(y * p.ln() + (1.0 - y) * (1.0 - p).ln());
    let table: [(&str, Formula); 7] = [
        ("mse_loss", |x, y| x * x - 2.0 * x * y + y * y),
        ("l1_loss", |x, y| x.max(y) - x.min(y)),
        ("smooth_l1_loss", |x, y| {
            let (d, near) = ((x - y).abs(), (x - y).abs().min(1.0));
            near * (d - 0.5 * near)
        }),
        ("huber_loss", |x, y| {
            let (d, near) = ((x - y).abs(), (x - y).abs().min(1.0));
            near * (d - 0.5 * near)
        }),
        ("kl_div", |x, y| y * (y.ln() - x)),
        ("soft_margin_loss", |x, y| (x * y / -2.0).exp().ln() + (2.0 * (x * y / 2.0).cosh()).ln()),
        ("hinge_loss", |x, y| (1.0 - x * y).max(0.0)),
    ];
    for (op, formula) in table {
        let kept = pair(op, &[4, 9], &[("reduction", int(0))]);
        let wanted: Vec<f64> =
            kept.input(0).iter().zip(kept.input(1)).map(|(&x, y)| formula(x, y)).collect();
        assert_near(&kept.out(), &wanted);
        let summed = pair(op, &[4, 9], &[("reduction", int(2))]);
        let mean = pair(op, &[4, 9], &[]);
        let (x, y) = (mean.input(0), mean.input(1));
        let total: f64 = x.iter().zip(y).map(|(&x, y)| formula(x, y)).sum();
        assert_near(&mean.out(), &[total / 36.0]);
        let (x, y) = (summed.input(0), summed.input(1));
        assert_near(&summed.out(), &[x.iter().zip(y).map(|(&x, y)| formula(x, y)).sum()]);
    }
    let logits = pair("binary_cross_entropy_with_logits", &[50], &[("reduction", int(0))]);
    let logit = |(&x, y): (&f64, f64)| entropy(sigmoid(x), y);
    let wanted: Vec<f64> = logits.input(0).iter().zip(logits.input(1)).map(logit).collect();
    assert_near(&logits.out(), &wanted);
}

#[test]
fn cross_entropy_is_the_likelihood_of_the_softmax() {
    for smoothing in [0.0, 0.2] {
        let values: Values<'_> = &[
            ("self", tensor(&[3, 4, 2])),
            ("target", tensor(&[3, 2])),
            ("weight", tensor(&[4])),
            ("reduction", int(0)),
            ("ignore_index", int(1)),
            ("label_smoothing", DraftValue::Float(smoothing)),
        ];
        let loss = probe("cross_entropy_loss", InputDistribution::Normal, values);
        let (x, target, weight) = (loss.input(0), loss.input(1), loss.input(2));
        let mut wanted = Vec::new();
        for row in 0..6 {
            let logit = |class: usize| x[(row / 2 * 4 + class) * 2 + row % 2];
            let total: f64 = (0..4).map(|class| logit(class).exp()).sum();
            let likelihood = |class: usize| -weight[class] * (logit(class).exp() / total).ln();
            let class = target[row] as usize;
            let all: f64 = (0..4).map(likelihood).sum();
            let value = (1.0 - smoothing) * likelihood(class) + smoothing / 4.0 * all;
            wanted.push(if class == 1 { 0.0 } else { value });
        }
        assert_near(&loss.out(), &wanted);
    }
}

#[test]
fn a_mean_divides_by_the_weights_that_count() {
    let values: Values<'_> = &[
        ("self", tensor(&[5, 3])),
        ("target", tensor(&[5])),
        ("weight", tensor(&[3])),
        ("ignore_index", int(2)),
    ];
    let mean = probe("nll_loss", InputDistribution::Normal, values);
    let (x, weight) = (mean.input(0), mean.input(2));
    let outputs = mean.with(1, &[0.0, 2.0, 1.0, 1.0, 2.0]).unwrap();
    let total = weight[0] + 2.0 * weight[1];
    let sum = weight[0] * x[0] + weight[1] * (x[7] + x[10]);
    let got: Vec<f64> = outputs.iter().flatten().copied().collect();
    assert_near(&got, &[-sum / total, total]);
    let none = mean.with(1, &[2.0; 5]).unwrap();
    assert!(none[0].iter().all(|x| x.is_nan()) && none[1].iter().all(|&x| x == 0.0));
    assert!(mean.with(1, &[0.0, 3.0, 0.0, 0.0, 0.0]).is_err());
}

#[test]
fn distances_and_angles() {
    let rows = |op: &str, names: [&'static str; 2], values: Values<'_>| {
        let layout = |layout| DraftValue::Tensor(laid_out(&[6, 5], layout));
        let both = [(names[0], layout(Layout::Transposed)), (names[1], layout(Layout::Gap))];
        probe(op, InputDistribution::Normal, &[&both, values].concat())
    };
    let cosine = |a: &[f64], b: &[f64]| {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let similar = rows("cosine_similarity", ["x1", "x2"], &[]);
    let (a, b) = (similar.input(0), similar.input(1));
    let wanted: Vec<f64> = a.chunks(5).zip(b.chunks(5)).map(|(a, b)| cosine(a, b)).collect();
    assert_near(&similar.out(), &wanted);
    let values: Values<'_> = &[("target", tensor(&[6])), ("reduction", int(0))];
    let embedded = rows("cosine_embedding_loss", ["input1", "input2"], values);
    let (a, b, label) = (embedded.input(0), embedded.input(1), embedded.input(2));
    for (row, loss) in embedded.out().into_iter().enumerate() {
        let cosine = cosine(&a[row * 5..][..5], &b[row * 5..][..5]);
        let wanted = if label[row] == 1.0 { 1.0 - cosine } else { cosine.max(0.0) };
        assert!((loss - wanted).abs() < 1e-9, "{loss} {wanted}");
    }
    for (p, swap) in [(1.0, false), (2.0, true), (3.0, true), (f64::INFINITY, false)] {
        let values: Values<'_> = &[
            ("anchor", tensor(&[4, 3])),
            ("positive", tensor(&[4, 3])),
            ("negative", tensor(&[4, 3])),
            ("p", DraftValue::Float(p)),
            ("swap", DraftValue::Bool(swap)),
            ("reduction", int(2)),
        ];
        let triplet = probe("triplet_margin_loss", InputDistribution::Normal, values);
        let inputs: Vec<Vec<f64>> = (0..3).map(|number| triplet.input(number)).collect();
        let apart = |a: usize, b: usize, row: usize| {
            let each =
                (row * 3..row * 3 + 3).map(|at| (inputs[a][at] - inputs[b][at] + 1e-6).abs());
            if p == f64::INFINITY {
                each.fold(0.0, f64::max)
            } else {
                each.map(|x| x.powf(p)).sum::<f64>().powf(1.0 / p)
            }
        };
        let row = |row: usize| {
            let far = apart(0, 2, row);
            let far = if swap { far.min(apart(1, 2, row)) } else { far };
            (1.0 + apart(0, 1, row) - far).max(0.0)
        };
        assert_near(&triplet.out(), &[(0..4).map(row).sum()]);
    }
}

#[test]
fn what_a_loss_is_not_defined_for_is_refused() {
    let both = [("self", tensor(&[4])), ("target", tensor(&[4]))];
    for (op, value) in [
        ("mse_loss", ("reduction", int(3))),
        ("huber_loss", ("delta", DraftValue::Float(0.0))),
        ("smooth_l1_loss", ("beta", DraftValue::Float(-1.0))),
    ] {
        assert!(
            refusal(op, &[both[0].clone(), both[1].clone(), value]).contains("must be"),
            "{op}"
        );
    }
    let probability = pair("binary_cross_entropy", &[2], &[]);
    assert!(probability.with(0, &[0.5, 1.5]).is_err());
    assert!(probability.with(0, &[0.0, 1.0]).is_ok());
}
