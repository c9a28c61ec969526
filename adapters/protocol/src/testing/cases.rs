//! Each op against values by hand or by loops in f64, on the CPU: the same cases for every library.

use std::path::Path;

use serde_json::{Value, json};

use super::Client;
use crate::{library::Library, message::DType};

const F32: DType = DType::F32;

/// The cases of one library; each method panics where a value differs from ATen's.
pub struct Cases<L: Library> {
    client: Client<L>,
    lacks: &'static [&'static str],
}

impl<L: Library> Cases<L> {
    /// Opens the library; `folder` is to be empty, `lacks` has the ops that are to be `unsupported`.
    ///
    /// # Panics
    ///
    /// Where the library cannot be opened.
    #[must_use]
    pub fn new(folder: &Path, lacks: &'static [&'static str]) -> Self {
        Self { client: Client::new(folder), lacks }
    }

    fn x(&self, shape: &[usize], values: &[f64]) -> Value {
        self.client.tensor(F32, shape, values)
    }

    fn indices(&self, shape: &[usize], values: &[f64]) -> Value {
        self.client.tensor(DType::I64, shape, values)
    }

    fn is_refused(&mut self, kind: &str, aten: &str, args: Value, shape: &[usize]) {
        match self.client.call(aten, args, F32, shape) {
            Err(error) => assert_eq!(error["kind"], kind, "{aten}: {error}"),
            Ok(got) => panic!("{aten} is not {kind}: {got:?}"),
        }
    }

    /// Compares an output of a type with the wanted values, by a tolerance relative to 1 + |wanted|.
    fn check_as(
        &mut self,
        dtype: DType,
        aten: &str,
        args: Value,
        (shape, wanted): (&[usize], &[f64]),
        tolerance: f64,
    ) {
        if self.lacks.contains(&aten) {
            return self.is_refused("unsupported", aten, args, shape);
        }
        let got = self
            .client
            .call(aten, args, dtype, shape)
            .unwrap_or_else(|error| panic!("{aten}: {error}"));
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * (1.0 + b.abs());
        let all = got.len() == wanted.len() && got.iter().zip(wanted).all(near);
        assert!(all, "{aten}: {got:?} instead of {wanted:?}");
    }

    fn check(&mut self, aten: &str, args: Value, wanted: (&[usize], &[f64]), tolerance: f64) {
        self.check_as(F32, aten, args, wanted, tolerance);
    }

    /// Functions of one tensor's elements.
    pub fn elementwise(&mut self) {
        let xs = [-2.5, -0.5, 0.25, 0.75, 1.5, 3.0];
        for (aten, of) in FUNCTIONS {
            let args = json!([["self", self.x(&[2, 3], &xs)]]);
            self.check(aten, args, (&[2, 3], &xs.map(of)), 2e-6);
        }
        let positive = [0.25, 1.0, 2.0, 9.0];
        for (aten, of) in [("log.default", f64::ln as Function), ("sqrt.default", f64::sqrt)] {
            let args = json!([["self", self.x(&[4], &positive)]]);
            self.check(aten, args, (&[4], &positive.map(of)), 2e-6);
        }
        let args = json!([["self", self.x(&[1], &[1.0])], ["approximate", { "str": "tanh" }]]);
        self.check("gelu.default", args, (&[1], &[0.841_192]), 1e-5);
        let args = json!([["self", self.x(&[6], &xs)], ["min", { "float": -1 }], ["max", { "none": null }]]);
        self.check("clamp.default", args, (&[6], &xs.map(|x| x.max(-1.0))), 0.0);
    }

    /// Functions of two tensors, or of a tensor and a number.
    pub fn pairs(&mut self) {
        for (aten, wanted) in [
            ("add.Tensor", [11.0, 22.0, 13.0, 24.0]),
            ("sub.Tensor", [-9.0, -18.0, -7.0, -16.0]),
            ("mul.Tensor", [10.0, 40.0, 30.0, 80.0]),
            ("div.Tensor", [0.1, 0.1, 0.3, 0.2]),
            ("maximum.default", [10.0, 20.0, 10.0, 20.0]),
            ("minimum.default", [1.0, 2.0, 3.0, 4.0]),
        ] {
            let args = json!([
                ["self", self.x(&[2, 2], &[1.0, 2.0, 3.0, 4.0])],
                ["other", self.x(&[2], &[10.0, 20.0])]
            ]);
            self.check(aten, args, (&[2, 2], &wanted), 1e-6);
        }
        for (aten, wanted) in
            [("add.Scalar", 7.0), ("sub.Scalar", -1.0), ("mul.Scalar", 12.0), ("div.Scalar", 0.75)]
        {
            let args = json!([["self", self.x(&[1], &[3.0])], ["other", { "int": 4 }]]);
            self.check(aten, args, (&[1], &[wanted]), 1e-6);
        }
        let args = json!([["self", self.x(&[2], &[2.0, 3.0])], ["exponent", { "float": 3.0 }]]);
        self.check("pow.Tensor_Scalar", args, (&[2], &[8.0, 27.0]), 1e-5);
        let one = || self.x(&[1], &[1.0]);
        let args = json!([["self", one()], ["other", one()], ["alpha", { "float": 2.0 }]]);
        self.is_refused("unsupported", "add.Tensor", args, &[1]);
    }

    /// Reductions over a dimension, all of them, and cumulative sums.
    pub fn reductions(&mut self) {
        let xs = [1.0, 5.0, 2.0, -4.0, 0.0, 6.0];
        for (aten, rows) in [
            ("sum.dim_IntList", [8.0, 2.0]),
            ("mean.dim", [8.0 / 3.0, 2.0 / 3.0]),
            ("amax.default", [5.0, 6.0]),
            ("amin.default", [1.0, -4.0]),
            ("logsumexp.default", [5.065_887, 6.002_521]),
        ] {
            for (keep, shape) in [(false, &[2][..]), (true, &[2, 1])] {
                let args = json!([["self", self.x(&[2, 3], &xs)], ["dim", { "ints": [-1] }],
                    ["keepdim", { "bool": keep }]]);
                self.check(aten, args, (shape, &rows), 1e-5);
            }
        }
        let args = json!([["self", self.x(&[2, 3], &xs)], ["dim", { "ints": [] }]]);
        self.check("sum.dim_IntList", args, (&[], &[10.0]), 1e-6);
        let by_rows = json!([["self", self.x(&[2, 3], &xs)], ["dim", { "int": 1 }]]);
        for (aten, wanted) in [("argmax.default", [1.0, 2.0]), ("argmin.default", [0.0, 0.0])] {
            self.check_as(DType::I64, aten, by_rows.clone(), (&[2], &wanted), 0.0);
        }
        let wanted = [1.0, 6.0, 8.0, -4.0, -4.0, 2.0];
        self.check("cumsum.default", by_rows, (&[2, 3], &wanted), 1e-6);
    }

    /// Softmax and norms of rows.
    pub fn rows(&mut self) {
        let xs = [1.0, 2.0, 3.0, 0.0, -1.0, 4.0];
        let of = |row: &dyn Fn(&[f64]) -> Vec<f64>| xs.chunks(3).flat_map(row).collect::<Vec<_>>();
        let softmax = of(&|row| {
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            row.iter().map(|x| x.exp() / sum).collect()
        });
        let args = json!([["self", self.x(&[2, 3], &xs)], ["dim", { "int": -1 }],
            ["half_to_float", { "bool": false }]]);
        self.check("_softmax.default", args.clone(), (&[2, 3], &softmax), 1e-6);
        let logs: Vec<f64> = softmax.iter().map(|p| p.ln()).collect();
        self.check("_log_softmax.default", args, (&[2, 3], &logs), 1e-6);
        let norm = of(&|row| {
            let mean = row.iter().sum::<f64>() / 3.0;
            let var = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 3.0;
            row.iter().map(|x| (x - mean) / (var + 1e-5).sqrt() * 2.0 + 1.0).collect()
        });
        let args = json!([["input", self.x(&[2, 3], &xs)], ["normalized_shape", { "ints": [3] }],
            ["weight", self.x(&[3], &[2.0; 3])], ["bias", self.x(&[3], &[1.0; 3])], ["eps", { "float": 1e-5 }]]);
        self.check("layer_norm.default", args, (&[2, 3], &norm), 1e-5);
        let rms = of(&|row| {
            let mean = row.iter().map(|x| x * x).sum::<f64>() / 3.0;
            row.iter().map(|x| x / (mean + 1e-6).sqrt() * 2.0).collect()
        });
        let args = json!([["input", self.x(&[2, 3], &xs)], ["normalized_shape", { "ints": [3] }],
            ["weight", self.x(&[3], &[2.0; 3])], ["eps", { "float": 1e-6 }]]);
        self.check("rms_norm.default", args, (&[2, 3], &rms), 1e-5);
    }

    /// Products of matrices and vectors, and a convolution.
    pub fn products(&mut self) {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let wanted = [19.0, 22.0, 43.0, 50.0];
        for (aten, other, shape) in [
            ("mm.default", "mat2", &[2, 2][..]),
            ("bmm.default", "mat2", &[1, 2, 2]),
            ("matmul.default", "other", &[2, 2]),
        ] {
            let args = json!([["self", self.x(shape, &a)], [other, self.x(shape, &b)]]);
            self.check(aten, args, (shape, &wanted), 0.0);
        }
        // The second factor lies in memory by columns.
        let columns = self.client.strided(F32, &[2, 2], &[1, 2], &[5.0, 7.0, 6.0, 8.0]);
        let args = json!([["self", self.x(&[2, 2], &a)], ["mat2", columns]]);
        self.check("mm.default", args, (&[2, 2], &wanted), 0.0);
        let args = json!([["self", self.x(&[2, 2], &a)], ["vec", self.x(&[2], &[1.0, -1.0])]]);
        self.check("mv.default", args, (&[2], &[-1.0, -1.0]), 0.0);
        let args = json!([["self", self.x(&[4], &a)], ["tensor", self.x(&[4], &b)]]);
        self.check("dot.default", args, (&[], &[70.0]), 0.0);
        let args = json!([
            ["input", self.x(&[2, 2], &a)],
            ["weight", self.x(&[2, 2], &[5.0, 7.0, 6.0, 8.0])],
            ["bias", self.x(&[2], &[1.0, 2.0])]
        ]);
        self.check("linear.default", args, (&[2, 2], &[20.0, 24.0, 44.0, 52.0]), 0.0);
        let args = json!([["input", self.x(&[1, 1, 2, 2], &a)], ["weight", self.x(&[1, 1, 2, 2], &b)],
            ["bias", { "none": null }], ["stride", { "ints": [1, 1] }], ["padding", { "ints": [0, 0] }],
            ["dilation", { "ints": [1, 1] }], ["groups", { "int": 1 }]]);
        self.check("conv2d.default", args, (&[1, 1, 1, 1], &[70.0]), 0.0);
    }

    /// Losses: a reduction of none is refused, and so is a sum where the library has none.
    pub fn losses(&mut self, has_sums: bool) {
        let args = json!([
            ["self", self.x(&[2, 2], &[1.0, 2.0, 3.0, 4.0])],
            ["target", self.x(&[2, 2], &[1.0, 0.0, 3.0, 7.0])]
        ]);
        self.check("mse_loss.default", args.clone(), (&[], &[13.0 / 4.0]), 0.0);
        self.check("huber_loss.default", args, (&[], &[1.0]), 0.0);
        let args =
            json!([["self", self.x(&[2], &[0.0, 2.0])], ["target", self.x(&[2], &[1.0, 0.0])]]);
        let wanted = (2f64.ln() + 2.0 + (-2f64).exp().ln_1p()) / 2.0;
        self.check("binary_cross_entropy_with_logits.default", args, (&[], &[wanted]), 1e-5);
        let args =
            json!([["self", self.x(&[1, 2], &[0.0, 2.0])], ["target", self.indices(&[1], &[1.0])]]);
        self.check("cross_entropy_loss.default", args, (&[], &[(-2f64).exp().ln_1p()]), 1e-5);
        let reduced = |reduction: i64| {
            json!([["self", self.x(&[2], &[1.0, 2.0])], ["target", self.x(&[2], &[0.0, 4.0])],
                ["reduction", { "int": reduction }]])
        };
        let (none, sum) = (reduced(0), reduced(2));
        self.is_refused("unsupported", "mse_loss.default", none, &[]);
        if has_sums {
            self.check("mse_loss.default", sum, (&[], &[5.0]), 0.0);
        } else {
            self.is_refused("unsupported", "mse_loss.default", sum, &[]);
        }
    }

    /// Ops that copy elements.
    pub fn movements(&mut self) {
        let x = self.x(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let args = json!([["weight", x], ["indices", self.indices(&[2], &[2.0, 0.0])]]);
        self.check("embedding.default", args, (&[2, 2], &[5.0, 6.0, 1.0, 2.0]), 0.0);
        let args =
            json!([["self", x], ["dim", { "int": 0 }], ["index", self.indices(&[2], &[2.0, 0.0])]]);
        self.check("index_select.default", args, (&[2, 2], &[5.0, 6.0, 1.0, 2.0]), 0.0);
        let args = json!([["self", x], ["dim", { "int": 1 }], ["index", self.indices(&[3, 1], &[1.0, 0.0, 1.0])]]);
        self.check("gather.default", args, (&[3, 1], &[2.0, 3.0, 6.0]), 0.0);
        let row = &self.x(&[1, 2], &[1.0, 2.0])["tensor"];
        let args = json!([["tensors", { "tensors": [row, row] }], ["dim", { "int": -1 }]]);
        self.check("cat.default", args.clone(), (&[1, 4], &[1.0, 2.0, 1.0, 2.0]), 0.0);
        self.check("stack.default", args, (&[1, 2, 2], &[1.0, 1.0, 2.0, 2.0]), 0.0);
        let transposed = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0];
        let args = json!([["self", x], ["dim0", { "int": 0 }], ["dim1", { "int": 1 }]]);
        self.check("transpose_copy.int", args, (&[2, 3], &transposed), 0.0);
        let args = json!([["self", x], ["dims", { "ints": [1, 0] }]]);
        self.check("permute_copy.default", args, (&[2, 3], &transposed), 0.0);
    }

    /// Refusals, other types, and the list of ops.
    ///
    /// `other`: the name of a library that this is not.
    pub fn refusals(&mut self, other: &str) {
        let args = json!([["self", self.x(&[1], &[1.0])]]);
        self.is_refused("unsupported", "digamma.default", args.clone(), &[1]);
        self.is_refused("wrong_outputs", "relu.default", args, &[2]);
        let args = json!([["self", self.client.tensor(DType::BF16, &[2], &[1.5, -2.0])]]);
        self.check_as(DType::BF16, "relu.default", args, (&[2], &[1.5, 0.0]), 0.0);
        let offers = json!({ "id": 1, "do": "offers", "impl": L::NAME });
        let offers = self.client.ask(&offers).unwrap_or_else(|error| panic!("{error}"));
        assert!(offers["ops"].as_array().is_some_and(|ops| ops.len() > 50), "{offers}");
        assert!(offers["version"].as_str().is_some_and(|at| at.starts_with("0.")), "{offers}");
        for bad in [
            json!({ "id": 1, "do": "offers", "impl": other }),
            json!({ "id": 1, "do": "run", "handle": 9 }),
        ] {
            let refusal = self.client.ask(&bad).err().unwrap_or_default();
            assert_eq!(refusal["kind"], "bad_request", "{bad}");
        }
    }

    /// Times, loops and memory of a call.
    pub fn times(&mut self) {
        let args = json!([["self", self.x(&[4], &[1.0; 4])]]);
        let prepare = self.client.prepare("relu.default", args, F32, &[4]);
        let mut ask = |request: Value| {
            self.client.ask(&request).unwrap_or_else(|error| panic!("{request}: {error}"))
        };
        let handle = ask(prepare)["handle"].clone();
        let flush = json!({ "kind": "memset", "bytes": 1024 });
        let times = ask(
            json!({ "id": 2, "do": "time", "handle": handle, "samples": 3, "warm_up": 1, "flush": flush }),
        );
        assert_eq!(
            (times["us"].as_array().map(Vec::len), &times["clock"]),
            (Some(3), &json!("host"))
        );
        let looped = ask(json!({ "id": 3, "do": "loop", "handle": handle, "seconds": 0.01 }));
        assert!(
            looped["calls"].as_u64() > Some(1) && looped["seconds"].as_f64() >= Some(0.01),
            "{looped}"
        );
        let memory = ask(json!({ "id": 4, "do": "memory", "handle": handle }));
        assert_eq!(memory, json!({ "peak_bytes": null, "workspace_bytes": null }));
    }
}

type Function = fn(f64) -> f64;

const FUNCTIONS: [(&str, Function); 25] = [
    ("relu.default", |x| x.max(0.0)),
    ("leaky_relu.default", |x| if x < 0.0 { 0.01 * x } else { x }),
    ("gelu.default", |x| 0.5 * x * (1.0 + erf(x / 2f64.sqrt()))),
    ("silu.default", |x| x * sigmoid(x)),
    ("sigmoid.default", sigmoid),
    ("log_sigmoid.default", |x| sigmoid(x).ln()),
    ("hardsigmoid.default", |x| ((x + 3.0) / 6.0).clamp(0.0, 1.0)),
    ("hardswish.default", |x| x * ((x + 3.0) / 6.0).clamp(0.0, 1.0)),
    ("mish.default", |x| x * x.exp().ln_1p().tanh()),
    ("elu.default", |x| if x < 0.0 { x.exp_m1() } else { x }),
    ("celu.default", |x| if x < 0.0 { x.exp_m1() } else { x }),
    ("tanh.default", f64::tanh),
    ("exp.default", f64::exp),
    ("square.default", |x| x * x),
    ("reciprocal.default", |x| 1.0 / x),
    ("sin.default", f64::sin),
    ("cos.default", f64::cos),
    ("erf.default", erf),
    ("abs.default", f64::abs),
    ("neg.default", |x| -x),
    ("sign.default", f64::signum),
    ("floor.default", f64::floor),
    ("ceil.default", f64::ceil),
    ("round.default", f64::round_ties_even),
    ("clone.default", |x| x),
];

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The series of its integral.
fn erf(x: f64) -> f64 {
    let (mut sum, mut term) = (0.0, x);
    for n in 0..60 {
        let n = f64::from(n);
        sum += term / (2.0 * n + 1.0);
        term *= -x * x / (n + 1.0);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}
