//! Gradients of pools and images against their forward ops.

use super::super::{Array, DraftTensor, DraftValue, Inputs, Layout, find};
use super::f64_cases::{case, close, evaluate, hosts, ints, tensor};
use crate::record::{Case, DType};

/// Options of a pooling whose windows overlap, are dilated and lie in the padding.
fn dilated_windows() -> Vec<(&'static str, DraftValue)> {
    vec![
        ("self", tensor(&[2, 3, 7, 8])),
        ("kernel_size", ints(&[3, 2])),
        ("stride", ints(&[2, 1])),
        ("padding", ints(&[1, 1])),
        ("dilation", ints(&[1, 3])),
        ("ceil_mode", DraftValue::Bool(true)),
    ]
}

fn maximum_backward() -> Case {
    let mut values = dilated_windows();
    let shape = [2, 3, 4, 7];
    let index = DraftValue::Tensor(DraftTensor {
        dtype: Some(DType::I64),
        shape: shape.to_vec(),
        layout: Layout::Contiguous,
    });
    values.extend([("grad_output", tensor(&shape)), ("indices", index)]);
    case("max_pool2d_with_indices_backward", &values)
}

#[test]
fn drawn_places_lie_in_their_windows() {
    let case = maximum_backward();
    let hosts = hosts(&case);
    let names: Vec<String> = case.tensors().map(|(name, _)| name.into_owned()).collect();
    let places = hosts[names.iter().position(|name| name == "indices").unwrap()].to_f64();
    let mut different = 0;
    for (index, place) in places.iter().enumerate() {
        let (row, column) = ((index / 7 % 4) as f64, (index % 7) as f64);
        let (y, x) = ((place / 8.0).floor(), place % 8.0);
        let (down, right) = (y - (2.0 * row - 1.0), x - (column - 1.0));
        assert!([0.0, 1.0, 2.0].contains(&down) && y < 7.0, "window {index}: {place}");
        assert!([0.0, 3.0].contains(&right), "window {index}: {place}");
        different += usize::from(down > 0.0 && right > 0.0);
    }
    assert!(different > 0, "every place is the first of its window");
}

/// Sums the products of two arrays.
fn inner(left: &Array, right: &Array) -> f64 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

/// Of a linear op, `<forward(x), g>` is `<x, backward(g)>`.
#[test]
fn a_gradient_is_the_adjoint_of_its_forward_op() {
    let size = |sizes: &[i64]| vec![("output_size", ints(sizes))];
    let padding = vec![("padding", ints(&[3, -1, 2, 4]))];
    let corners = |on: bool| {
        let mut options = size(&[9, 4]);
        options.push(("align_corners", DraftValue::Bool(on)));
        options
    };
    let calls = [
        ("upsample_nearest2d", size(&[9, 4])),
        ("upsample_bilinear2d", corners(false)),
        ("upsample_bilinear2d", corners(true)),
        ("reflection_pad2d", padding),
    ];
    for (name, options) in calls {
        let own = [2, 3, 5, 6];
        let values = [vec![("self", tensor(&own))], options.clone()].concat();
        let forward = case(name, &values);
        let x = hosts(&forward);
        let out = evaluate(&forward, &x);
        let mut values = [vec![("grad_output", tensor(out.shape()))], options].concat();
        values.push(match name {
            "reflection_pad2d" => ("self", tensor(&own)),
            _ => ("input_size", ints(&own.map(|extent| extent as i64))),
        });
        let backward = case(&format!("{name}_backward"), &values);
        let gradients = hosts(&backward);
        let g = Array::from_shape_vec(out.raw_dim(), gradients[0].to_f64()).unwrap();
        let back = evaluate(&backward, &gradients);
        let x = Array::from_shape_vec(back.raw_dim(), x[0].to_f64()).unwrap();
        assert!(close(inner(&out, &g), inner(&x, &back)), "{name}");
    }
}

/// The gradient of interpolation with places in f32, which is what kernels compute with.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "arithmetic of f32 is the subject"
)]
fn scattered(grad: &[f64], [rows, columns]: [usize; 2], [height, width]: [usize; 2]) -> Vec<f64> {
    let tap = |at: usize, extent: usize, count: usize| {
        let place = ((at as f32 + 0.5) * (extent as f32 / count as f32) - 0.5).max(0.0);
        let low = (place as usize).min(extent - 1);
        let weight = f64::from(place - low as f32);
        [(low, 1.0 - weight), ((low + 1).min(extent - 1), weight)]
    };
    let mut out = vec![0.0; height * width];
    for (at, &g) in grad.iter().enumerate() {
        for (y, above) in tap(at / columns, height, rows) {
            for (x, left) in tap(at % columns, width, columns) {
                out[y * width + x] += above * left * g;
            }
        }
    }
    out
}

/// The place of the middle one of 23 columns is that of the middle one of 7, but for its rounding.
#[test]
fn an_infinity_at_a_rounded_place_may_count_for_either_neighbour() {
    let values = [
        ("grad_output", tensor(&[1, 1, 5, 23])),
        ("output_size", ints(&[5, 23])),
        ("input_size", ints(&[1, 1, 3, 7])),
        ("align_corners", DraftValue::Bool(false)),
    ];
    let case = case("upsample_bilinear2d_backward", &values);
    let mut hosts = hosts(&case);
    let op = find(&case.op).unwrap();
    for special in [f64::INFINITY, f64::NAN] {
        hosts[0].set(23 + 11, special);
        let expected = evaluate(&case, &hosts);
        let kernel = scattered(&hosts[0].to_f64(), [5, 23], [3, 7]);
        let settled = |change: &dyn Fn(&mut Array)| {
            let mut got = Array::from_shape_vec(expected.raw_dim(), kernel.clone()).unwrap();
            change(&mut got);
            let mut got = [got];
            let inputs = Inputs::read(&case, &hosts);
            op.canonicalise(&case, &inputs, &mut got, std::slice::from_ref(&expected));
            let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-3 || a.to_bits() == b.to_bits();
            got[0].iter().zip(&expected).filter(|pair| !same(*pair)).count()
        };
        let unequal = kernel.iter().zip(&expected).filter(|(a, b)| a.is_finite() != b.is_finite());
        assert!(unequal.count() > 0, "no place is rounded");
        assert_eq!(settled(&|_| ()), 0, "{special}");
        assert_eq!(settled(&|got| got[[0, 0, 0, 3]] = 1.0), 1, "its own place counts");
        assert_eq!(settled(&|got| got[[0, 0, 0, 1]] = special), 1, "others do not");
        assert_eq!(settled(&|got| got[[0, 0, 2, 3]] = special), 1, "others do not");
    }
}

#[test]
fn indices_lie_in_the_bags_that_offsets_begin() {
    let index = |shape: &[usize]| {
        let (shape, layout) = (shape.to_vec(), Layout::Contiguous);
        DraftValue::Tensor(DraftTensor { dtype: Some(DType::I64), shape, layout })
    };
    for (bags, n) in [(9, 40), (9, 3), (1, 5), (5, 65_540), (3, 0)] {
        let values = [
            ("grad", tensor(&[bags, 2])),
            ("weight", tensor(&[7, 2])),
            ("indices", index(&[n])),
            ("offsets", index(&[bags])),
            ("offset2bag", index(&[n])),
            ("mode", DraftValue::Int(0)),
        ];
        let case = case("_embedding_bag_per_sample_weights_backward", &values);
        let hosts = hosts(&case);
        let [begins, numbers] = [3, 4].map(|at: usize| hosts[at].to_f64());
        assert!(begins[0] == 0.0 && begins.is_sorted());
        for (at, &number) in numbers.iter().enumerate() {
            let bag = begins.iter().rposition(|&begin| begin <= at as f64);
            assert_eq!(bag.map(|bag| bag as f64), Some(number), "element {at} of {n}");
        }
    }
}

#[test]
fn the_gradient_of_a_window_of_a_number_is_the_number() {
    let values = [
        ("grad_in", tensor(&[1])),
        ("input_sizes", ints(&[])),
        ("dim", DraftValue::Int(0)),
        ("size", DraftValue::Int(1)),
        ("step", DraftValue::Int(1)),
    ];
    let case = case("unfold_backward", &values);
    let hosts = hosts(&case);
    let out = evaluate(&case, &hosts);
    assert_eq!((out.ndim(), out.sum()), (0, hosts[0].to_f64()[0]));
}
