use crate::{
    op::{
        DraftValue,
        families::probe::{Values, evaluate, probe, tensor},
        find,
    },
    record::InputDistribution,
};

#[test]
fn an_integer_near_half_may_go_either_way_and_others_may_not() {
    let values: Values<'_> = &[("input", tensor(&[1, 4]))];
    let mut quantised = probe("dynamic_scaled_int8_quant", InputDistribution::Normal, values);
    for (at, value) in [127.0, 2.5 + 1e-7, 2.5 + 1e-3, 2.0].into_iter().enumerate() {
        quantised.hosts[0].set(at, value);
    }
    let op = find("dynamic_scaled_int8_quant").unwrap();
    let inputs = crate::op::Inputs::read(&quantised.case, &quantised.hosts);
    let expected = evaluate(&quantised.case, &quantised.hosts).unwrap();
    let mut got = expected.clone();
    for at in 0..4 {
        got[0][[0, at]] = [127.0, 2.0, 2.0, 3.0][at];
    }
    op.canonicalise(&quantised.case, &inputs, &mut got, &expected);
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
    let right: Vec<bool> = got[0].iter().zip(&expected[0]).map(same).collect();
    assert_eq!(right, [true, true, false, false]);
}

#[test]
fn a_gate_at_the_threshold_is_closed_and_its_bound_stays_small() {
    let values: Values<'_> = &[("self", tensor(&[1, 4])), ("threshold", DraftValue::Float(0.5))];
    let mut gated = probe("fatrelu_and_mul", InputDistribution::Normal, values);
    for (at, value) in [0.5, 0.75, 3.0, 4.0].into_iter().enumerate() {
        gated.hosts[0].set(at, value);
    }
    let op = find("fatrelu_and_mul").unwrap();
    let reference = crate::reference::Reference::new(op, &gated.case, &gated.hosts).unwrap();
    let outputs = reference.evaluate().unwrap();
    assert_eq!(outputs[0].iter().copied().collect::<Vec<_>>(), [0.0, 3.0]);
    let bounds = reference.bounds(&outputs).unwrap();
    assert!(bounds[0].s.iter().all(|&s| s < 1e-6), "{:?}", bounds[0].s);
}

#[test]
fn an_lse_near_0_is_judged_on_the_scale_of_the_sum_behind_it() {
    let values: Values<'_> = &[
        ("prefix_output", tensor(&[1, 1, 2])),
        ("prefix_lse", tensor(&[1, 1])),
        ("suffix_output", tensor(&[1, 1, 2])),
        ("suffix_lse", tensor(&[1, 1])),
    ];
    let mut merged = probe("merge_attn_states", InputDistribution::Normal, values);
    merged.hosts[1].set(0, 0.0);
    merged.hosts[3].set(0, -7.2);
    let op = find("merge_attn_states").unwrap();
    let reference = crate::reference::Reference::new(op, &merged.case, &merged.hosts).unwrap();
    let outputs = reference.evaluate().unwrap();
    assert!((outputs[1][[0, 0]] - (-7.2f64).exp()).abs() < 1e-6);
    let bounds = reference.bounds(&outputs).unwrap();
    assert_eq!(bounds[1].magnitude.as_deref(), Some([1.0].as_slice()));
}
