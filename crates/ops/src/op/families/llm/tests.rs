use crate::{
    op::{
        DraftValue,
        families::probe::{Values, assert_near, probe, tensor},
        find,
    },
    record::{DType, InputDistribution, tensor::round_to},
};

#[test]
fn rope_turns_each_pair_by_its_angle() {
    for interleaved in [false, true] {
        let values: Values<'_> = &[
            ("self", tensor(&[2, 3, 4, 6])),
            ("cos", tensor(&[4, 3])),
            ("sin", tensor(&[4, 3])),
            ("interleaved", DraftValue::Bool(interleaved)),
        ];
        let rope = probe("rope", InputDistribution::Normal, values);
        let (x, cos, sin, out) = (rope.input(0), rope.input(1), rope.input(2), rope.out());
        for row in 0..24 {
            for pair in 0..3 {
                let (a, b) = if interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + 3) };
                let angle = row % 4 * 3 + pair;
                // (x1 + i x2) (cos + i sin)
                let (re, im) = (x[row * 6 + a], x[row * 6 + b]);
                let turned = [re * cos[angle] - im * sin[angle], re * sin[angle] + im * cos[angle]];
                assert_near(&[out[row * 6 + a], out[row * 6 + b]], &turned);
            }
        }
    }
}

#[test]
fn the_norm_is_that_of_the_sum_as_it_is_stored() {
    let values: Values<'_> = &[
        ("self", tensor(&[3, 7])),
        ("residual", tensor(&[3, 7])),
        ("weight", tensor(&[7])),
        ("eps", DraftValue::Float(0.0)),
    ];
    let norm = probe("fused_add_rms_norm", InputDistribution::Normal, values);
    let (a, b, weight) = (norm.input(0), norm.input(1), norm.input(2));
    let total: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_near(&norm.outputs[1].iter().copied().collect::<Vec<_>>(), &total);
    let total: Vec<f64> = total.iter().map(|&x| round_to(DType::F32, x)).collect();
    for (row, out) in norm.out().chunks(7).enumerate() {
        let square: f64 = out.iter().zip(&weight).map(|(x, weight)| (x / weight).powi(2)).sum();
        assert_near(&[square], &[7.0]);
        assert_near(
            &[out[0] * total[row * 7 + 1] * weight[1]],
            &[out[1] * total[row * 7] * weight[0]],
        );
    }
}

#[test]
fn equal_experts_may_be_named_in_any_order_but_once() {
    let values: Values<'_> = &[("gating", tensor(&[2, 5])), ("k", DraftValue::Int(3))];
    let routed = probe("topk_softmax", InputDistribution::Normal, values);
    let gating = [1.0, 2.0, 2.0, 2.0, 0.0, f64::NAN, 0.0, 1.0, 2.0, 3.0];
    let expected = routed.with(0, &gating).unwrap();
    let indices: Vec<f64> = expected[1].iter().copied().collect();
    assert_eq!(indices[..3], [1.0, 2.0, 3.0]);
    assert_near(&expected[0].iter().copied().collect::<Vec<_>>()[..3], &[1.0 / 3.0; 3]);
    let mut hosts = routed.hosts.clone();
    for (at, &value) in gating.iter().enumerate() {
        hosts[0].set(at, value);
    }
    let op = find("topk_softmax").unwrap();
    let inputs = crate::op::Inputs::read(&routed.case, &hosts);
    for (row, accepted) in [
        ([3.0, 1.0, 2.0], true),
        ([1.0, 1.0, 2.0], false),
        ([1.0, 2.0, 0.0], false),
        ([1.0, 2.0, 9.0], false),
    ] {
        let mut got = expected.clone();
        got[1].iter_mut().zip(row).for_each(|(at, value)| *at = value);
        op.canonicalise(&routed.case, &inputs, &mut got, &expected);
        assert_eq!(got[1] == expected[1], accepted, "{row:?}");
    }
}
