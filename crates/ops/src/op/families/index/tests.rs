use crate::{
    op::{
        DraftTensor, DraftValue, Layout,
        families::probe::{Probe, Values, assert_near, laid_out, probe, refusal, tensor},
    },
    record::{DType, InputDistribution},
    reference::Error,
};

fn int(value: i64) -> DraftValue {
    DraftValue::Int(value)
}

/// Reads generated indices.
fn places(probe: &Probe, number: usize) -> Vec<usize> {
    probe.input(number).iter().map(|&at| at as usize).collect()
}

#[test]
fn gather_undoes_scatter() {
    for (dim, shape) in [(0, [5, 3]), (1, [3, 5])] {
        let values: Values<'_> = &[
            ("self", tensor(&[5, 5])),
            ("dim", int(dim)),
            ("index", tensor(&shape)),
            ("src", tensor(&shape)),
        ];
        let written = probe("scatter.src", InputDistribution::Normal, values);
        let values: Values<'_> =
            &[("self", tensor(&[5, 5])), ("dim", int(dim)), ("index", tensor(&shape))];
        let read = probe("gather", InputDistribution::Normal, values);
        let mut hosts = read.hosts.clone();
        for (at, value) in written.out().into_iter().enumerate() {
            hosts[0].set(at, value);
        }
        hosts[1] = written.hosts[1].clone();
        let out = super::super::probe::evaluate(&read.case, &hosts).unwrap();
        assert_eq!(out[0].iter().copied().collect::<Vec<_>>(), written.input(2), "dim {dim}");
    }
}

#[test]
fn additions_agree_with_a_loop() {
    let shape = [4, 6];
    let values: Values<'_> = &[
        ("self", tensor(&[3, 6])),
        ("dim", int(0)),
        ("index", tensor(&shape)),
        ("src", tensor(&[4, 7])),
    ];
    let scattered = probe("scatter_add", InputDistribution::Normal, values);
    let (mut wanted, index, src) = (scattered.input(0), places(&scattered, 1), scattered.input(2));
    for row in 0..4 {
        for column in 0..6 {
            wanted[index[row * 6 + column] * 6 + column] += src[row * 7 + column];
        }
    }
    assert_near(&scattered.out(), &wanted);
    let values: Values<'_> = &[
        ("self", tensor(&[2, 3])),
        ("dim", int(-1)),
        ("index", tensor(&[7])),
        ("source", tensor(&[2, 7])),
        ("alpha", DraftValue::Float(-1.5)),
    ];
    let added = probe("index_add", InputDistribution::Normal, values);
    let (mut wanted, index, source) = (added.input(0), places(&added, 1), added.input(2));
    for row in 0..2 {
        for (column, &place) in index.iter().enumerate() {
            wanted[row * 3 + place] -= 1.5 * source[row * 7 + column];
        }
    }
    assert_near(&added.out(), &wanted);
}

fn list(shapes: &[Option<&[usize]>]) -> DraftValue {
    let one = |shape: &Option<&[usize]>| shape.map(|shape| laid_out(shape, Layout::Contiguous));
    DraftValue::Tensors(shapes.iter().map(one).collect())
}

#[test]
fn index_tensors_broadcast_and_move_to_the_front_when_apart() {
    let own = tensor(&[4, 3, 5]);
    let together = [("self", own.clone()), ("indices", list(&[None, Some(&[2, 1]), Some(&[6])]))];
    let together = probe("index", InputDistribution::Normal, &together);
    assert_eq!(together.outputs[0].shape(), [4, 2, 6]);
    let (x, first, second) = (together.input(0), together.input(1), together.input(2));
    let wrap = |at: f64, n: f64| (if at < 0.0 { at + n } else { at }) as usize;
    let mut wanted = Vec::new();
    for row in 0..4 {
        for a in 0..2 {
            for &b in &second {
                wanted.push(x[(row * 3 + wrap(first[a], 3.0)) * 5 + wrap(b, 5.0)]);
            }
        }
    }
    assert_eq!(together.out(), wanted);
    let apart = [("self", own), ("indices", list(&[Some(&[2]), None, Some(&[2])]))];
    let apart = probe("index", InputDistribution::Normal, &apart);
    assert_eq!(apart.outputs[0].shape(), [2, 3]);
    let (x, first, last) = (apart.input(0), apart.input(1), apart.input(2));
    let element = |a: usize, b: usize| x[(wrap(first[a], 4.0) * 3 + b) * 5 + wrap(last[a], 5.0)];
    let wanted: Vec<f64> = (0..6).map(|at| element(at / 3, at % 3)).collect();
    assert_eq!(apart.out(), wanted);
}

#[test]
fn written_places_are_generated_once_each() {
    let values: Values<'_> = &[
        ("self", tensor(&[7, 40])),
        ("indices", list(&[Some(&[5, 1]), Some(&[30])])),
        ("values", tensor(&[5, 30])),
    ];
    let put = probe("index_put", InputDistribution::Normal, values);
    let count = put.out().iter().zip(put.input(0)).filter(|(new, old)| **new != *old).count();
    assert_eq!(count, 150);
    let values: Values<'_> = &[
        ("self", tensor(&[2, 9])),
        ("dim", int(1)),
        ("index", tensor(&[2, 10])),
        ("src", tensor(&[2, 10])),
    ];
    assert!(refusal("scatter.src", values).contains("written twice"));
}

#[test]
fn bags_begin_where_offsets_say() {
    for closed in [false, true] {
        for mode in 0..3 {
            let values: Values<'_> = &[
                ("weight", tensor(&[9, 2])),
                ("indices", tensor(&[20])),
                ("offsets", tensor(&[6])),
                ("mode", int(mode)),
                ("include_last_offset", DraftValue::Bool(closed)),
                ("padding_idx", int(3)),
            ];
            let bags = probe("embedding_bag", InputDistribution::Normal, values);
            let (weight, index, mut offsets) = (bags.input(0), places(&bags, 1), places(&bags, 2));
            if !closed {
                offsets.push(20);
            }
            assert_eq!((offsets[0], *offsets.last().unwrap()), (0, 20));
            let mut wanted = Vec::new();
            for pair in offsets.windows(2) {
                for column in 0..2 {
                    let rows = index[pair[0]..pair[1]].iter().filter(|&&row| row != 3);
                    let bag: Vec<f64> = rows.map(|row| weight[row * 2 + column]).collect();
                    let total: f64 = bag.iter().sum();
                    wanted.push(match mode {
                        _ if bag.is_empty() => 0.0,
                        0 => total,
                        1 => total / bag.len() as f64,
                        _ => bag.iter().copied().fold(f64::MIN, f64::max),
                    });
                }
            }
            assert_near(&bags.out(), &wanted);
        }
    }
}

#[test]
fn an_index_out_of_range_is_an_error_that_names_it() {
    let values: Values<'_> = &[("weight", tensor(&[4, 2])), ("indices", tensor(&[3]))];
    let rows = probe("embedding", InputDistribution::Normal, values);
    for index in [4.0, -1.0] {
        let error = rows.with(1, &[0.0, index, 3.0]).unwrap_err();
        let wanted =
            Error::Index { name: "indices".to_owned(), at: 1, index: index as i64, bound: 4 };
        assert_eq!(error, wanted);
    }
    let values: Values<'_> = &[("self", tensor(&[4])), ("indices", list(&[Some(&[1])]))];
    let chosen = probe("index", InputDistribution::Normal, values);
    assert!(chosen.with(1, &[-4.0]).is_ok());
    assert!(chosen.with(1, &[-5.0]).is_err());
    let mask = DraftTensor { dtype: Some(DType::Bool), ..laid_out(&[4], Layout::Contiguous) };
    let masked = [("self", tensor(&[4])), ("indices", DraftValue::Tensors(vec![Some(mask)]))];
    assert!(refusal("index", &masked).contains("depends on the data"));
    let open = [("self", tensor(&[4]))];
    assert!(
        refusal("one_hot", &open).contains("dtype f32") || refusal("one_hot", &open).contains("-1")
    );
}

#[test]
fn each_place_of_a_mask_gets_the_values_behind_it() {
    let mask = DraftTensor { dtype: Some(DType::Bool), shape: vec![7], layout: Layout::Contiguous };
    let call = |shape: &[usize], accumulate: bool| {
        vec![
            ("self", tensor(&[7, 5])),
            ("indices", DraftValue::Tensors(vec![Some(mask.clone())])),
            ("values", tensor(shape)),
            ("accumulate", DraftValue::Bool(accumulate)),
        ]
    };
    for (shape, accumulate) in [(&[5][..], false), (&[1, 5], true), (&[], true)] {
        let put = probe("index_put", InputDistribution::Normal, &call(shape, accumulate));
        let (x, chosen, values) = (put.input(0), put.input(1), put.input(2));
        let element = |at: usize| match (chosen[at / 5] != 0.0, accumulate) {
            (false, _) => x[at],
            (true, false) => values[at % values.len()],
            (true, true) => x[at] + values[at % values.len()],
        };
        assert_near(&put.out(), &(0..35).map(element).collect::<Vec<_>>());
    }
    for shape in [&[7, 5][..], &[7, 1], &[3], &[1, 1, 5]] {
        assert!(refusal("index_put", &call(shape, false)).contains("depends on the data"));
    }
}

#[test]
fn an_outer_product_is_computed_whatever_its_factor_is() {
    let values: Values<'_> = &[
        ("self", tensor(&[2, 3])),
        ("vec1", tensor(&[2])),
        ("vec2", tensor(&[3])),
        ("alpha", int(0)),
    ];
    let added = probe("addr", InputDistribution::Normal, values);
    let out = added.with(1, &[f64::NAN, 1.0]).unwrap();
    let finite: Vec<bool> = out[0].iter().map(|x| x.is_finite()).collect();
    assert_eq!(finite, [false, false, false, true, true, true]);
}
