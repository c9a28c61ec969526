//! Each op against values by hand or by loops in f64, on the CPU.

use kgen_adapter::{DType, testing::Client};
use serde_json::{Value, json};

use crate::Burn;

const F32: DType = DType::F32;

fn with_client(test: impl FnOnce(&mut Client<Burn>)) {
    let folder = tempfile::tempdir().unwrap();
    test(&mut Client::new(folder.path()));
}

fn near(got: &[f64], wanted: &[f64], tolerance: f64) -> bool {
    got.len() == wanted.len()
        && got
            .iter()
            .zip(wanted)
            .all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + b.abs()) || a == b)
}

/// Calls an op with plain f32 tensors; returns its output.
fn call(client: &mut Client<Burn>, aten: &str, args: Value, shape: &[usize]) -> Vec<f64> {
    client.call(aten, args, F32, shape).unwrap_or_else(|refusal| panic!("{aten}: {refusal}"))
}

#[test]
fn elementwise_ops_have_atens_values() {
    let xs = [-2.5, -0.5, 0.25, 0.75, 1.5, 3.0];
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let erf = |x: f64| {
        // The series of its integral.
        let (mut sum, mut term) = (0.0, x);
        for n in 0..60 {
            let n = f64::from(n);
            sum += term / (2.0 * n + 1.0);
            term *= -x * x / (n + 1.0);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    };
    let plain: [(&str, &dyn Fn(f64) -> f64); 17] = [
        ("relu.default", &|x| x.max(0.0)),
        ("leaky_relu.default", &|x| if x < 0.0 { 0.01 * x } else { x }),
        ("gelu.default", &|x| 0.5 * x * (1.0 + erf(x / 2f64.sqrt()))),
        ("silu.default", &|x| x * sigmoid(x)),
        ("sigmoid.default", &sigmoid),
        ("hardsigmoid.default", &|x| ((x + 3.0) / 6.0).clamp(0.0, 1.0)),
        ("mish.default", &|x| x * x.exp().ln_1p().tanh()),
        ("elu.default", &|x| if x < 0.0 { x.exp_m1() } else { x }),
        ("tanh.default", &f64::tanh),
        ("exp.default", &f64::exp),
        ("square.default", &|x| x * x),
        ("reciprocal.default", &|x| 1.0 / x),
        ("sin.default", &f64::sin),
        ("cos.default", &f64::cos),
        ("erf.default", &erf),
        ("abs.default", &f64::abs),
        ("neg.default", &|x| -x),
    ];
    let rest: [(&str, &dyn Fn(f64) -> f64); 7] = [
        ("sign.default", &f64::signum),
        ("floor.default", &f64::floor),
        ("ceil.default", &f64::ceil),
        ("round.default", &f64::round_ties_even),
        ("log_sigmoid.default", &|x| sigmoid(x).ln()),
        ("hardswish.default", &|x| x * ((x + 3.0) / 6.0).clamp(0.0, 1.0)),
        ("celu.default", &|x| if x < 0.0 { x.exp_m1() } else { x }),
    ];
    with_client(|client| {
        for (aten, of) in plain.into_iter().chain(rest) {
            let args = json!([["self", client.tensor(F32, &[2, 3], &xs)]]);
            let wanted: Vec<f64> = xs.iter().map(|&x| of(x)).collect();
            let got = call(client, aten, args, &[2, 3]);
            assert!(near(&got, &wanted, 2e-6), "{aten}: {got:?} instead of {wanted:?}");
        }
        let positive = [0.25, 1.0, 2.0, 9.0];
        for (aten, of) in [("log.default", f64::ln as fn(f64) -> f64), ("sqrt.default", f64::sqrt)]
        {
            let args = json!([["self", client.tensor(F32, &[4], &positive)]]);
            assert!(near(&call(client, aten, args, &[4]), &positive.map(of), 2e-6), "{aten}");
        }
        let tanh =
            json!([["self", client.tensor(F32, &[1], &[1.0])], ["approximate", { "str": "tanh" }]]);
        assert!(near(&call(client, "gelu.default", tanh, &[1]), &[0.841_192], 1e-5));
        let clamp = json!([["self", client.tensor(F32, &[6], &xs)], ["min", { "float": -1 }], ["max", { "none": null }]]);
        assert_eq!(call(client, "clamp.default", clamp, &[6])[0].to_bits(), (-1.0_f64).to_bits());
    });
}

#[test]
fn pairs_are_broadcast_and_scalars_are_taken() {
    with_client(|client| {
        for (aten, wanted) in [
            ("add.Tensor", [11.0, 22.0, 13.0, 24.0]),
            ("sub.Tensor", [-9.0, -18.0, -7.0, -16.0]),
            ("mul.Tensor", [10.0, 40.0, 30.0, 80.0]),
            ("div.Tensor", [0.1, 0.1, 0.3, 0.2]),
            ("maximum.default", [10.0, 20.0, 10.0, 20.0]),
            ("minimum.default", [1.0, 2.0, 3.0, 4.0]),
        ] {
            let self_ = client.tensor(F32, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
            let args = json!([["self", self_], ["other", client.tensor(F32, &[2], &[10.0, 20.0])]]);
            let got = call(client, aten, args, &[2, 2]);
            assert!(near(&got, &wanted, 1e-6), "{aten}: {got:?}");
        }
        for (aten, wanted) in
            [("add.Scalar", 7.0), ("sub.Scalar", -1.0), ("mul.Scalar", 12.0), ("div.Scalar", 0.75)]
        {
            let args = json!([["self", client.tensor(F32, &[1], &[3.0])], ["other", { "int": 4 }]]);
            assert!(near(&call(client, aten, args, &[1]), &[wanted], 1e-6), "{aten}");
        }
        let args = json!([["self", client.tensor(F32, &[2], &[2.0, 3.0])], ["exponent", { "float": 3.0 }]]);
        assert!(near(&call(client, "pow.Tensor_Scalar", args, &[2]), &[8.0, 27.0], 1e-5));
        let pair = json!([["self", client.tensor(F32, &[1], &[1.0])], ["other", client.tensor(F32, &[1], &[1.0])],
            ["alpha", { "float": 2.0 }]]);
        assert_eq!(client.call("add.Tensor", pair, F32, &[1]).unwrap_err()["kind"], "unsupported");
    });
}

#[test]
fn reductions_run_over_their_dimensions() {
    let xs = [1.0, 5.0, 2.0, -4.0, 0.0, 6.0];
    with_client(|client| {
        for (aten, rows) in [
            ("sum.dim_IntList", [8.0, 2.0]),
            ("mean.dim", [8.0 / 3.0, 2.0 / 3.0]),
            ("amax.default", [5.0, 6.0]),
            ("amin.default", [1.0, -4.0]),
        ] {
            for (keep, shape) in [(false, &[2][..]), (true, &[2, 1])] {
                let args = json!([["self", client.tensor(F32, &[2, 3], &xs)], ["dim", { "ints": [-1] }],
                    ["keepdim", { "bool": keep }]]);
                let got = call(client, aten, args, shape);
                assert!(near(&got, &rows, 1e-5), "{aten}: {got:?}");
            }
        }
        let all = json!([["self", client.tensor(F32, &[2, 3], &xs)], ["dim", { "ints": [] }]]);
        assert!(near(&call(client, "sum.dim_IntList", all, &[]), &[10.0], 1e-6));
        for (aten, wanted) in [("argmax.default", [1.0, 2.0]), ("argmin.default", [0.0, 0.0])] {
            let args = json!([["self", client.tensor(F32, &[2, 3], &xs)], ["dim", { "int": 1 }]]);
            assert_eq!(client.call(aten, args, DType::I64, &[2]).unwrap(), wanted, "{aten}");
        }
        let args = json!([["self", client.tensor(F32, &[2, 3], &xs)], ["dim", { "int": 1 }]]);
        assert!(near(
            &call(client, "cumsum.default", args, &[2, 3]),
            &[1.0, 6.0, 8.0, -4.0, -4.0, 2.0],
            1e-6
        ));
    });
}

#[test]
fn softmax_and_norms_run_over_the_last_dimension() {
    let xs = [1.0, 2.0, 3.0, 0.0, -1.0, 4.0];
    let rows = || xs.chunks(3);
    let softmax = |row: &[f64]| {
        let sum: f64 = row.iter().map(|x| x.exp()).sum();
        row.iter().map(|x| x.exp() / sum).collect::<Vec<_>>()
    };
    let norm = |row: &[f64]| {
        let mean = row.iter().sum::<f64>() / 3.0;
        let var = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 3.0;
        row.iter().map(|x| (x - mean) / (var + 1e-5).sqrt() * 2.0 + 1.0).collect::<Vec<_>>()
    };
    let rms = |row: &[f64]| {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / 3.0;
        row.iter().map(|x| x / (mean + 1e-6).sqrt() * 2.0).collect::<Vec<_>>()
    };
    with_client(|client| {
        let args = |client: &Client<Burn>| {
            json!([["self", client.tensor(F32, &[2, 3], &xs)], ["dim", { "int": -1 }],
            ["half_to_float", { "bool": false }]])
        };
        let given = args(client);
        let wanted: Vec<f64> = rows().flat_map(softmax).collect();
        assert!(near(&call(client, "_softmax.default", given, &[2, 3]), &wanted, 1e-6));
        let given = args(client);
        let wanted: Vec<f64> = wanted.iter().map(|p| p.ln()).collect();
        assert!(near(&call(client, "_log_softmax.default", given, &[2, 3]), &wanted, 1e-6));
        let weight = |client: &Client<Burn>| client.tensor(F32, &[3], &[2.0; 3]);
        let given = json!([["input", client.tensor(F32, &[2, 3], &xs)], ["normalized_shape", { "ints": [3] }],
            ["weight", weight(client)], ["bias", client.tensor(F32, &[3], &[1.0; 3])], ["eps", { "float": 1e-5 }]]);
        let wanted: Vec<f64> = rows().flat_map(norm).collect();
        assert!(near(&call(client, "layer_norm.default", given, &[2, 3]), &wanted, 1e-5));
        let given = json!([["input", client.tensor(F32, &[2, 3], &xs)], ["normalized_shape", { "ints": [3] }],
            ["weight", weight(client)], ["eps", { "float": 1e-6 }]]);
        let wanted: Vec<f64> = rows().flat_map(rms).collect();
        assert!(near(&call(client, "rms_norm.default", given, &[2, 3]), &wanted, 1e-5));
    });
}

#[test]
fn products_and_convolutions_are_sums_of_products() {
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
    let wanted = [19.0, 22.0, 43.0, 50.0];
    with_client(|client| {
        for (aten, other, shape) in [
            ("mm.default", "mat2", &[2, 2][..]),
            ("bmm.default", "mat2", &[1, 2, 2]),
            ("matmul.default", "other", &[2, 2]),
        ] {
            let args = json!([
                ["self", client.tensor(F32, shape, &a)],
                [other, client.tensor(F32, shape, &b)]
            ]);
            assert_eq!(call(client, aten, args, shape), wanted, "{aten}");
        }
        // The second factor lies in memory by columns.
        let args = json!([
            ["self", client.tensor(F32, &[2, 2], &a)],
            ["mat2", client.strided(F32, &[2, 2], &[1, 2], &[5.0, 7.0, 6.0, 8.0])]
        ]);
        assert_eq!(call(client, "mm.default", args, &[2, 2]), wanted);
        let args = json!([
            ["input", client.tensor(F32, &[2, 2], &a)],
            ["weight", client.tensor(F32, &[2, 2], &[5.0, 7.0, 6.0, 8.0])],
            ["bias", client.tensor(F32, &[2], &[1.0, 2.0])]
        ]);
        assert_eq!(call(client, "linear.default", args, &[2, 2]), [20.0, 24.0, 44.0, 52.0]);
        let args = json!([["input", client.tensor(F32, &[1, 1, 2, 2], &a)], ["weight", client.tensor(F32, &[1, 1, 2, 2], &b)],
            ["bias", { "none": null }], ["stride", { "ints": [1, 1] }], ["padding", { "ints": [0, 0] }],
            ["dilation", { "ints": [1, 1] }], ["groups", { "int": 1 }]]);
        assert_eq!(call(client, "conv2d.default", args, &[1, 1, 1, 1]), [70.0]);
    });
}

#[test]
fn losses_are_means() {
    with_client(|client| {
        let pair = |client: &Client<Burn>| {
            json!([
                ["self", client.tensor(F32, &[2, 2], &[1.0, 2.0, 3.0, 4.0])],
                ["target", client.tensor(F32, &[2, 2], &[1.0, 0.0, 3.0, 7.0])]
            ])
        };
        let args = pair(client);
        assert_eq!(call(client, "mse_loss.default", args, &[]), [13.0 / 4.0]);
        let args = pair(client);
        assert_eq!(call(client, "huber_loss.default", args, &[]), [4.0 / 4.0]);
        let args = json!([
            ["self", client.tensor(F32, &[1, 2], &[0.0, 2.0])],
            ["target", client.tensor(DType::I64, &[1], &[1.0])]
        ]);
        assert!(near(
            &call(client, "cross_entropy_loss.default", args, &[]),
            &[(-2f64).exp().ln_1p()],
            1e-5
        ));
        let sum = json!([["self", client.tensor(F32, &[1], &[0.0])], ["target", client.tensor(F32, &[1], &[0.0])],
            ["reduction", { "int": 0 }]]);
        assert_eq!(
            client.call("mse_loss.default", sum, F32, &[]).unwrap_err()["kind"],
            "unsupported"
        );
    });
}

#[test]
fn elements_are_found_and_moved() {
    let xs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    with_client(|client| {
        let x = |client: &Client<Burn>| client.tensor(F32, &[3, 2], &xs);
        let indices = |client: &Client<Burn>| client.tensor(DType::I64, &[2], &[2.0, 0.0]);
        let args = json!([["weight", x(client)], ["indices", indices(client)]]);
        assert_eq!(call(client, "embedding.default", args, &[2, 2]), [5.0, 6.0, 1.0, 2.0]);
        let args = json!([["self", x(client)], ["dim", { "int": 0 }], ["index", indices(client)]]);
        assert_eq!(call(client, "index_select.default", args, &[2, 2]), [5.0, 6.0, 1.0, 2.0]);
        let args = json!([["self", x(client)], ["dim", { "int": 1 }], ["index", client.tensor(DType::I64, &[3, 1], &[1.0, 0.0, 1.0])]]);
        assert_eq!(call(client, "gather.default", args, &[3, 1]), [2.0, 3.0, 6.0]);
        let list = |client: &Client<Burn>| {
            let tensor =
                |client: &Client<Burn>| client.tensor(F32, &[1, 2], &[1.0, 2.0])["tensor"].clone();
            json!([["tensors", { "tensors": [tensor(client), tensor(client)] }], ["dim", { "int": -1 }]])
        };
        let args = list(client);
        assert_eq!(call(client, "cat.default", args, &[1, 4]), [1.0, 2.0, 1.0, 2.0]);
    });
}

#[test]
fn what_burn_lacks_is_unsupported_and_bad_requests_are_named() {
    with_client(|client| {
        let one = |client: &Client<Burn>| json!([["self", client.tensor(F32, &[1], &[1.0])]]);
        let args = one(client);
        assert_eq!(
            client.call("digamma.default", args, F32, &[1]).unwrap_err()["kind"],
            "unsupported"
        );
        let args = one(client);
        assert_eq!(
            client.call("relu.default", args, F32, &[2]).unwrap_err()["kind"],
            "wrong_outputs"
        );
        let args = json!([["self", client.tensor(DType::BF16, &[2], &[1.5, -2.0])]]);
        assert_eq!(client.call("relu.default", args, DType::BF16, &[2]).unwrap(), [1.5, 0.0]);
        let offers = client.ask(&json!({ "id": 1, "do": "offers", "impl": "burn" })).unwrap();
        assert!(offers["ops"].as_array().unwrap().len() > 50, "{offers}");
        assert!(offers["version"].as_str().unwrap().starts_with("0."), "{offers}");
        let error = client.ask(&json!({ "id": 1, "do": "offers", "impl": "candle" })).unwrap_err();
        assert_eq!(error["kind"], "bad_request");
        assert_eq!(
            client.ask(&json!({ "id": 1, "do": "run", "handle": 9 })).unwrap_err()["kind"],
            "bad_request"
        );
    });
}

#[test]
fn calls_are_timed_and_repeated() {
    with_client(|client| {
        let args = json!([["self", client.tensor(F32, &[4], &[1.0; 4])]]);
        let prepare = client.prepare("relu.default", args, F32, &[4]);
        let handle = client.ask(&prepare).unwrap()["handle"].clone();
        let flush = json!({ "kind": "memset", "bytes": 1024 });
        let times = json!({ "id": 2, "do": "time", "handle": handle, "samples": 3, "warm_up": 1, "flush": flush });
        let times = client.ask(&times).unwrap();
        assert_eq!((times["us"].as_array().unwrap().len(), &times["clock"]), (3, &json!("host")));
        let looped = client
            .ask(&json!({ "id": 3, "do": "loop", "handle": handle, "seconds": 0.01 }))
            .unwrap();
        assert!(
            looped["calls"].as_u64().unwrap() > 1 && looped["seconds"].as_f64().unwrap() >= 0.01,
            "{looped}"
        );
        let memory = client.ask(&json!({ "id": 4, "do": "memory", "handle": handle })).unwrap();
        assert_eq!(memory, json!({ "peak_bytes": null, "workspace_bytes": null }));
    });
}
