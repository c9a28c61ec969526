use crate::{
    op::{
        DraftValue, Layout,
        families::probe::{Probe, Values, ints, laid_out, probe, refusal, tensor},
        find,
    },
    record::InputDistribution,
};

/// Evaluates with the input 0, 1, 2, .. in its row-major order.
fn counted(op: &str, shape: &[usize], values: Values<'_>) -> Vec<f64> {
    let all = [&[("self", tensor(shape))], values].concat();
    let probe = probe(op, InputDistribution::Normal, &all);
    let input: Vec<f64> = (0..shape.iter().product()).map(|at: usize| at as f64).collect();
    probe.with(0, &input).unwrap()[0].iter().copied().collect()
}

fn int(value: i64) -> DraftValue {
    DraftValue::Int(value)
}

#[test]
fn what_was_moved_comes_back() {
    let shape = [2, 3, 4];
    let there = |op: &str, values: Values<'_>| {
        probe(op, InputDistribution::Normal, &[&[("self", tensor(&shape))], values].concat())
    };
    let back = |first: &Probe, op: &str, values: Values<'_>| {
        let shape = first.outputs[0].shape().to_vec();
        let all = [&[("self", tensor(&shape))], values].concat();
        let second = probe(op, InputDistribution::Normal, &all);
        let out: Vec<f64> = second.with(0, &first.out()).unwrap()[0].iter().copied().collect();
        assert_eq!(out, first.input(0), "{op}");
    };
    back(
        &there("permute", &[("dims", ints(&[2, 0, 1]))]),
        "permute",
        &[("dims", ints(&[1, 2, 0]))],
    );
    let dims = [("dim0", int(0)), ("dim1", int(-1))];
    back(&there("transpose", &dims), "transpose", &dims);
    let dims = [("dims", ints(&[0, 2]))];
    back(&there("flip", &dims), "flip", &dims);
    let roll = |a: i64, b: i64| [("shifts", ints(&[a, b])), ("dims", ints(&[1, 2]))];
    back(&there("roll", &roll(5, -3)), "roll", &roll(-5, 3));
    back(&there("roll", &[("shifts", ints(&[7]))]), "roll", &[("shifts", ints(&[-7]))]);
    back(
        &there("view", &[("size", ints(&[4, -1]))]),
        "view",
        &[("size", ints(&shape.map(|n| n as i64)))],
    );
    let pads = |by: i64| [("pad", ints(&[by, 2 * by, by, 0, 0, by]))];
    back(&there("constant_pad_nd", &pads(3)), "constant_pad_nd", &pads(-3));
}

#[test]
fn single_elements_equal_the_whole() {
    let cases: &[(&str, Values<'_>)] = &[
        ("roll", &[("shifts", ints(&[2])), ("dims", ints(&[0]))]),
        ("tril", &[("diagonal", int(1))]),
        ("repeat", &[("repeats", ints(&[2, 1, 3]))]),
        ("slice", &[("dim", int(1)), ("start", int(-3)), ("step", int(2))]),
        ("select", &[("dim", int(1)), ("index", int(-2))]),
    ];
    for (op, values) in cases {
        let layout = DraftValue::Tensor(laid_out(&[3, 5], Layout::Transposed));
        let probe = probe(op, InputDistribution::Normal, &[&[("self", layout)], *values].concat());
        let reference =
            crate::reference::Reference::new(find(op).unwrap(), &probe.case, &probe.hosts).unwrap();
        let indices: Vec<usize> = (0..probe.out().len()).collect();
        assert_eq!(reference.evaluate_at(0, &indices).unwrap(), probe.out(), "{op}");
    }
}

#[test]
fn padding_reflects_repeats_and_cuts() {
    let pads = |op: &str, pads: &[i64]| counted(op, &[1, 4], &[("padding", ints(pads))]);
    assert_eq!(pads("reflection_pad1d", &[2, 3]), [2., 1., 0., 1., 2., 3., 2., 1., 0.]);
    assert_eq!(pads("reflection_pad1d", &[-1, 1]), [1., 2., 3., 2.]);
    let image = |pads: &[i64]| counted("replication_pad2d", &[1, 2, 2], &[("padding", ints(pads))]);
    assert_eq!(image(&[1, 0, 0, 1]), [0., 0., 1., 2., 2., 3., 2., 2., 3.]);
    assert_eq!(image(&[-1, 0, 0, 0]), [1., 3.]);
    let constant = [("pad", ints(&[-1, 2])), ("value", DraftValue::Float(9.5))];
    assert_eq!(counted("constant_pad_nd", &[3], &constant), [1., 2., 9.5, 9.5]);
}

#[test]
fn tensors_are_joined_and_taken_apart() {
    let parts = [[2, 3], [2, 1], [2, 0]].map(|shape| Some(laid_out(&shape, Layout::Contiguous)));
    let tensors = DraftValue::Tensors(parts.to_vec());
    let joined = probe("cat", InputDistribution::Normal, &[("tensors", tensors), ("dim", int(-1))]);
    let (a, b) = (joined.input(0), joined.input(1));
    assert_eq!(joined.out(), [&a[..3], &b[..1], &a[3..], &b[1..]].concat());
    let split = [("self", tensor(&[5, 2])), ("split_size", int(2))];
    let split = probe("split", InputDistribution::Normal, &split);
    let pieces: Vec<f64> = split.outputs.iter().flatten().copied().collect();
    assert_eq!((split.outputs.len(), pieces), (3, split.input(0)));
    let unbound =
        probe("unbind", InputDistribution::Normal, &[("self", tensor(&[2, 3])), ("dim", int(1))]);
    let x = unbound.input(0);
    let columns = [vec![x[0], x[3]], vec![x[1], x[4]], vec![x[2], x[5]]];
    assert_eq!(unbound.outputs.len(), 3);
    for (output, column) in unbound.outputs.iter().zip(columns) {
        assert_eq!(output.as_slice().unwrap(), column);
    }
}

#[test]
fn outputs_that_no_device_holds_are_refused() {
    let huge = i64::MAX;
    let own = ("self", tensor(&[2]));
    for (op, value) in [
        ("repeat", ("repeats", ints(&[huge]))),
        ("expand", ("size", ints(&[huge, 2]))),
        ("new_zeros", ("size", ints(&[huge, huge]))),
        ("constant_pad_nd", ("pad", ints(&[huge, huge]))),
        ("constant_pad_nd", ("pad", ints(&[i64::MIN, i64::MIN]))),
        ("repeat_interleave", ("repeats", int(huge))),
    ] {
        let message = refusal(op, &[own.clone(), value]);
        assert!(message.contains("must be"), "{op}: {message}");
    }
    let far = [own.clone(), ("index", int(i64::MIN)), ("dim", int(0))];
    assert!(refusal("select", &far).contains("in -2..2"));
    let turned = counted("roll", &[3], &[("shifts", ints(&[i64::MIN])), ("dims", ints(&[0]))]);
    assert_eq!(turned, [2., 0., 1.]);
    assert_eq!(counted("tril", &[1, 2], &[("diagonal", int(i64::MIN))]), [0., 0.]);
}
