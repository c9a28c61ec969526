use super::*;
use crate::{
    op::{Array, Call, generate},
    record::{Case, DType, HostTensor, InputDistribution},
    reference::Reference,
    suite,
};

const EXAMPLE: &str = include_str!("../../../../../examples/fused_bias_gelu_residual.toml");

fn cases(op: &Arc<OpDef>) -> Vec<Case> {
    let suite = suite::of_op(Arc::clone(op), "test.toml").unwrap().strict().unwrap();
    suite.cases(&op.name, None, 3).unwrap()
}

fn inputs(case: &Case) -> Vec<HostTensor> {
    case.tensors().map(|(name, tensor)| generate(tensor, 5, &case.id, &name)).collect()
}

/// A definition with these parts.
fn file(tensors: &str, graph: &str, case: &str) -> String {
    format!(
        "format = 1\nname = \"mine\"\nsemantics = \"x\"\ndtypes = [\"f32\"]\n\
        [tensors]\n{tensors}\n[reference]\ngraph = \"\"\"\n{graph}\n\"\"\"\n[[cases]]\n{case}\n"
    )
}

#[test]
fn the_example_is_an_op_like_any_other() {
    let op = custom(EXAMPLE).unwrap();
    assert_eq!(op.name, "fused_bias_gelu_residual");
    assert_eq!(
        op.signature,
        "fused_bias_gelu_residual(Tensor x, Tensor bias, Tensor residual, *, \
         str approximate=\"tanh\") -> Tensor"
    );
    let cases = cases(&op);
    assert!(cases.iter().any(|case| case.id == "f32[2,7,33]:transposed,[33],[2,7,33]:gap/normal"));
    for case in cases.iter().filter(|case| case.class != crate::record::CaseClass::Realistic) {
        let hosts = inputs(case);
        let reference = Reference::new(&op, case, &hosts).unwrap();
        let outputs = reference.evaluate().unwrap();
        let call = op.call(case);
        let form = call.str("approximate").unwrap();
        let values = |name: &str| reference.inputs().get(name).unwrap().array().clone();
        let h = values("x") + &values("bias").broadcast(values("x").raw_dim()).unwrap();
        let expected = h.mapv(|h| gelu_of(h, form)) + values("residual");
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-14 * b.abs().max(1.0);
        for (got, expected) in outputs[0].iter().zip(&expected) {
            let same = got.total_cmp(expected).is_eq() || (got.is_nan() && expected.is_nan());
            assert!(same || close(*got, *expected), "{}: {got} {expected}", case.id);
        }
        let bounds = reference.bounds(&outputs).unwrap();
        let magnitude = bounds[0].magnitude.as_ref().unwrap();
        // The scale is that of the terms, not of a sum in which they cancel.
        let residuals = values("residual");
        let terms = outputs[0].iter().zip(&residuals).zip(magnitude);
        if case.distribution == InputDistribution::Normal {
            for ((out, residual), magnitude) in terms {
                let scale = out.abs() + residual.abs() + 8.0;
                assert!(*magnitude <= 2.0 * scale, "{magnitude} {scale}");
            }
        }
        assert_eq!(op.work(case).flops > 0.0, !outputs[0].is_empty());
    }
}

fn gelu_of(h: f64, form: &str) -> f64 {
    if form == "none" {
        return 0.5 * h * (1.0 + libm::erf(h / 2f64.sqrt()));
    }
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (h + 0.044715 * h * h * h);
    0.5 * h * (1.0 + inner.tanh())
}

#[test]
fn calls_nest_and_have_several_outputs_and_lists() {
    let text = file(
        "x = \"[n, 2*d]\"\nw = \"[d]\"",
        "big, _ = max(x, dim=-1, keepdim=True)  # a comment\nout = mul(sub(x, big), 2.0 )"
            .replace("mul(sub(x, big), 2.0 )", "add(sub(x, big), \n   sum(w), alpha=2)")
            .as_str(),
        "n = 3\nd = \"1..4\"",
    );
    let op = custom(&text);
    // `max` of a dimension is an overload of its own.
    let error = op.unwrap_err();
    assert_eq!((error.line, error.column), (10, 10), "{error}");
    let text = text.replace("big, _ = max(", "big, _ = max.dim(");
    match custom(&text) {
        Ok(op) => {
            for case in cases(&op) {
                let hosts = inputs(&case);
                let reference = Reference::new(&op, &case, &hosts).unwrap();
                let out = reference.evaluate().unwrap();
                let (x, w) = (hosts[0].to_f64(), hosts[1].to_f64());
                let columns = case.tensor("x").unwrap().spec.shape[1];
                for (index, got) in out[0].iter().enumerate() {
                    let row = &x[index / columns * columns..][..columns];
                    let big = row.iter().copied().fold(f64::MIN, f64::max);
                    let expected = x[index] - big + 2.0 * w.iter().sum::<f64>();
                    assert!((got - expected).abs() < 1e-12, "{got} {expected}");
                }
            }
        }
        // The catalogue of this build lacks the op.
        Err(error) => assert!(error.reason.contains("unknown op"), "{error}"),
    }
}

#[test]
fn what_is_wrong_has_a_place_and_a_reason() {
    let good = file("x = \"[n]\"", "out = relu(x)", "n = 3");
    custom(&good).unwrap();
    let mut surprises = Vec::new();
    for (from, to, line, column, reason) in [
        ("format = 1", "format = 2", 1, 1, "format = 1"),
        ("format = 1", "format = ", 1, 10, ""),
        ("name = \"mine\"", "name = \"swish\"", 2, 8, "catalogue"),
        ("name = \"mine\"", "name = \"a b\"", 2, 8, "cannot name an op"),
        ("name = \"mine\"\n", "", 1, 1, "`name` is missing"),
        ("semantics", "sematics", 3, 1, "unknown key `sematics`"),
        ("[\"f32\"]", "[\"f23\"]", 4, 11, "unknown dtype `f23`"),
        ("x = \"[n]\"", "x = \"n\"", 6, 5, "is no shape"),
        ("x = \"[n]\"", "x = \"[0*n]\"", 6, 5, "is no shape"),
        ("x = \"[n]\"", "x = 3", 6, 5, "expected a string"),
        ("x = \"[n]\"", "out = \"[n]\"", 6, 1, "cannot name an argument"),
        ("x = \"[n]\"", "x = { shape = \"[n]\", role = \"boss\" }", 6, 29, "unknown role"),
        ("x = \"[n]\"", "x = { shape = \"[n]\", role = \"index\" }", 6, 5, "needs `bound`"),
        ("graph = \"\"\"\nout", "python = \"\"\"\nreference", 8, 1, "outputs.out"),
        ("graph", "python", 8, 10, "defines no `reference`"),
        ("graph = \"\"\"\nout = relu(x)\n\"\"\"", "module = true", 8, 1, "no section `module`"),
        ("graph = \"\"\"\nout = relu(x)\n\"\"\"", "module = 1", 8, 1, "is true"),
        ("graph =", "cuda = \"x\"\ngraph =", 7, 2, "one of `graph`"),
        ("graph", "grph", 8, 1, "unknown key `grph`"),
        ("graph", "cuda", 8, 1, "outputs.out"),
        ("out = relu(x)", "out = reluu(x)", 9, 7, "unknown op `reluu` (did you mean `relu`"),
        ("out = relu(x)", "out = relu(y)", 9, 12, "unknown name `y` (known here: x)"),
        ("out = relu(x)", "out = relu(x, 1)", 9, 15, "has no further argument"),
        ("out = relu(x)", "out = relu(3)", 9, 12, "`self` must be a tensor"),
        ("out = relu(x)", "out = relu()", 9, 7, "misses its argument `self`"),
        ("out = relu(x)", "out = relu(x", 10, 1, "expected `)`"),
        ("out = relu(x)", "out = relu(x) + 1", 9, 15, "expected the end of the line"),
        ("out = relu(x)", "y = relu(x)", 9, 12, "never assigns `out`"),
        ("out = relu(x)", "x = relu(x)", 9, 1, "has a value already"),
        ("out = relu(x)", "a, out = relu(x)", 9, 10, "1 outputs, not 2"),
        ("out = relu(x)", "out = 3", 9, 7, "expected a call"),
        ("x = \"[n]\"", "x = \"[n]\"\ny = \"[n]\"", 10, 14, "never uses `y`"),
        ("n = 3", "m = 3", 12, 1, "unknown key `m`"),
        ("n = 3", "n = -3", 12, 1, "not a number of elements"),
        ("n = 3", "n = \"x\"", 12, 1, "a range"),
        ("n = 3", "distributions = [\"normal\"]", 11, 1, "misses the extent `n`"),
        ("[[cases]]\nn = 3", "", 1, 1, "`cases` is missing"),
    ] {
        let text = good.replacen(from, to, 1);
        let error = custom(&text).expect_err(to);
        let at = (error.line, error.column) == (line, column);
        if !(at && error.reason.contains(reason)) {
            surprises.push(format!("{to}: {error}, not {line}:{column} {reason}"));
        }
    }
    assert!(surprises.is_empty(), "{surprises:#?}");
}

#[test]
fn shapes_that_do_not_fit_name_the_call_of_the_graph() {
    let text = file("x = \"[m, k]\"\ny = \"[n, k]\"", "out = mm(x, y)", "m = 2\nk = 3\nn = 4");
    let op = custom(&text).unwrap();
    let error = suite::of_op(op, "mine.toml").unwrap_err().to_string();
    assert!(error.contains("mine.toml, line 12"), "{error}");
    assert!(error.contains("in `mm(x, y)`") && error.contains("mat2"), "{error}");
}

#[test]
fn a_kernel_reference_is_run_by_whom_it_is_given_to() {
    let text = "format = 1\nname = \"twice\"\nsemantics = \"x\"\n[tensors]\nx = \"[n]\"\n\
        i = { shape = \"[n]\", role = \"index\", bound = \"n\" }\n[outputs]\nout = \"[2*n]\"\n\
        [reference]\ncuda = \"kernel\"\n[[cases]]\nn = 3\n";
    let op = custom(text).unwrap();
    let case = cases(&op).swap_remove(0);
    let hosts = inputs(&case);
    let reference = Reference::new(&op, &case, &hosts).unwrap();
    let error = reference.evaluate().unwrap_err().to_string();
    assert!(error.contains("nothing here runs"), "{error}");
    let kernel = op.reference_kernel.as_ref().unwrap();
    assert_eq!(kernel.source(), "kernel");
    let wide = kernel.in_f64(&case);
    assert_eq!(wide.tensor("x").unwrap().spec.dtype, DType::F64);
    assert_eq!(wide.tensor("i").unwrap().spec.dtype, DType::I64);
    assert_eq!(op.infer(&wide).unwrap()[0].dtype, DType::F64);
    assert_eq!(op.infer(&case).unwrap()[0].shape, [6]);
    let evaluator = |call: &Call<'_>, inputs: &crate::op::Inputs<'_>, _: Quantity| {
        let x = inputs.get("x").map_err(|error| error.to_string())?;
        assert_eq!(call.op.name, "twice");
        let both = [x.array().view(), x.array().view()];
        Ok(vec![ndarray::concatenate(ndarray::Axis(0), &both).unwrap() as Array])
    };
    let reference = reference.with_evaluator(&evaluator);
    assert_eq!(reference.evaluate().unwrap()[0].len(), 6);
}

/// An op of sums, with a line of its reference and a case.
fn sums(line: &str, case: &str) -> String {
    format!(
        "format = 1\nname = \"sums\"\nsemantics = \"x\"\n[tensors]\nx = \"[m, 2*k]\"\n\
        [scalars]\ngroup = 4\np = 0.5\n[outputs]\nout = \"[m]\"\n[reference]\n{line}\n[[cases]]\n\
        {case}\n"
    )
}

#[test]
fn a_kernel_reference_says_how_many_terms_it_adds() {
    for (line, case, terms) in [
        ("cuda = \"kernel\"", "m = 3\nk = 80", 1),
        ("cuda = \"kernel\"\naccumulation = \"2*k\"", "m = 3\nk = 80", 160),
        ("accumulation = \"2*k // group\"\ncuda = \"kernel\"", "m = 3\nk = 80", 40),
        ("cuda = \"kernel\"\naccumulation = 7", "m = 3\nk = 80", 7),
        ("cuda = \"kernel\"\naccumulation = \"k\"", "m = 3\nk = 0", 1),
    ] {
        let op = custom(&sums(line, case)).unwrap();
        assert_eq!(op.accumulation_len(&cases(&op)[0]), terms, "{line}");
    }
    for (value, case, says) in [
        ("\"k // 100\"", "m = 3\nk = 80", "k//100 = 0"),
        ("\"k - 81\"", "m = 3\nk = 80", "k - 81 = -1"),
        ("\"m // (k - 80)\"", "m = 3\nk = 80", "no number"),
    ] {
        let op =
            custom(&sums(&format!("cuda = \"kernel\"\naccumulation = {value}"), case)).unwrap();
        let error = suite::of_op(op, "mine.toml").unwrap_err().to_string();
        assert!(error.contains("mine.toml, line 14") && error.contains(says), "{error}");
    }
    for (line, says) in [
        (
            "cuda = \"kernel\"\naccumulation = \"q\"",
            "13, column 1: unknown name `q` (known here: m, k, group)",
        ),
        ("cuda = \"kernel\"\naccumulation = \"p\"", "unknown name `p`"),
        ("cuda = \"kernel\"\naccumulation = 0", "at least one term, not 0"),
        ("cuda = \"kernel\"\naccumulation = \"3 - 4\"", "at least one term, not 3 - 4"),
        ("cuda = \"kernel\"\naccumulation = -2", "no number of terms"),
        ("cuda = \"kernel\"\naccumulation = \"k +\"", "no number of terms"),
        ("cuda = \"kernel\"\naccumulation = [1]", "no number of terms"),
        ("python = \"def reference(x): return x\"\naccumulation = \"k\"", "belongs to a kernel"),
        ("accumulation = \"k\"", "the reference is empty"),
    ] {
        let error = custom(&sums(line, "m = 3\nk = 80")).unwrap_err().to_string();
        assert!(error.contains(says), "{error}, not {says}");
    }
}

#[test]
fn a_python_reference_measures_its_responses_itself() {
    let text = "format = 1\nname = \"twice\"\nsemantics = \"x\"\n[tensors]\nx = \"[n]\"\n\
        i = { shape = \"[n]\", role = \"index\", bound = \"n\" }\n[outputs]\nout = \"[n]\"\n\
        [reference]\npython = \"def reference(x, i): return x\"\n[[cases]]\nn = 3\n";
    let op = custom(text).unwrap();
    let case = cases(&op).swap_remove(0);
    let wide = PythonReference::in_f64(&case);
    let types: Vec<DType> = wide.tensors().map(|(_, tensor)| tensor.spec.dtype).collect();
    assert_eq!(types, [DType::F64, DType::I64]);
    let hosts = inputs(&case);
    let evaluator = |_: &Call<'_>, _: &crate::op::Inputs<'_>, quantity: Quantity| {
        let value = match quantity {
            Quantity::Values => 1.0,
            Quantity::Spread => 0.5,
            Quantity::Magnitude => 7.0,
        };
        Ok(vec![Array::from_elem(vec![3], value)])
    };
    let reference = Reference::new(&op, &case, &hosts).unwrap().with_evaluator(&evaluator);
    let outputs = reference.evaluate().unwrap();
    let bound = reference.bounds(&outputs).unwrap().swap_remove(0);
    assert!(bound.s.iter().all(|s| (s - 0.5).abs() < 1e-12), "{:?}", bound.s);
    assert_eq!(bound.magnitude.unwrap(), [7.0; 3]);
}

#[test]
fn a_coarse_spread_sees_where_a_result_bends() {
    let text = file("x = \"[n]\"", "h = sub(x, 1.0)\nout = relu(h)", "n = 2");
    let op = custom(&text).unwrap();
    let case = cases(&op).swap_remove(0);
    let mut hosts = inputs(&case);
    // Roundings of f32 leave the first at 0, those of TF32 do not.
    hosts[0].storage = [0.9999f32, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let reference = Reference::new(&op, &case, &hosts).unwrap();
    let outputs = reference.evaluate().unwrap();
    let fine = &reference.bounds(&outputs).unwrap()[0].s;
    let coarse = reference.coarse_spreads(&outputs, 8192.0).unwrap().swap_remove(0);
    assert!(fine[0] == 0.0 && coarse[0] > 1e-9, "{fine:?} {coarse:?}");
    assert!((coarse[1] / fine[1] - 1.0).abs() < 1e-3, "{fine:?} {coarse:?}");
}

#[test]
fn a_suite_carries_ops_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mine = file("x = \"[n]\"", "out = relu(x)", "n = 3").replace("mine", "suite_own");
    std::fs::write(folder.path().join("my_op.toml"), &mine).unwrap();
    let path = folder.path().join("suite.toml");
    let write = |ops: &str| {
        std::fs::write(&path, format!("format = 1\nname = \"s\"\n{ops}")).unwrap();
        suite::load(path.to_str().unwrap())
    };
    let suite = write(
        "[[ops]]\nop_file = \"my_op.toml\"\n\n[[ops]]\nname = \"relu\"\ncases = [{ self = \"[2]\" }]\n",
    )
    .unwrap();
    assert_eq!(suite.ops(), ["suite_own", "relu"]);
    assert_eq!(suite.cases("suite_own", None, 0).unwrap()[0].id, "f32[3]/normal");
    assert_eq!(suite.op("suite_own").unwrap().definition.as_deref(), Some(mine.as_str()));
    let inline = format!("[[ops]]\ndefinition = '''\n{mine}'''\ncases = [{{ x = \"[7]\" }}]\n");
    let suite = write(&inline).unwrap();
    assert_eq!(suite.cases("suite_own", None, 0).unwrap()[0].id, "f32[7]/normal");
    for (ops, reason) in [
        ("[[ops]]\nop_file = \"none.toml\"\n", "cannot be read"),
        ("[[ops]]\nname = \"other\"\nop_file = \"my_op.toml\"\n", "is called `suite_own`"),
        ("[[ops]]\ndefinition = \"x\"\n", "is not defined well: line 1"),
        ("[[ops]]\nop_file = \"my_op.toml\"\ndefinition = \"x\"\n", "both"),
    ] {
        let error = write(ops).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn extents_scalars_and_overloads_make_integers_of_a_graph() {
    let text = file(
        "x = \"[n, c, h + 2]\"\nw = { shape = \"[c*(h + k), 3]\", init = \"uniform(0, 1)\", path = \"w\" }\n\
         y = \"[h]\"\ni = { shape = \"i64[n]\", init = \"integers(0, n*c)\" }\n[scalars]\nk = 2",
        "flat = view(x, [n, c*(h + k)])\nm = mm(flat, w)\ns = add(m, 2.0)\n\
         t = add(s, sum(y), alpha=k)\nout = add(t, sum(i))",
        "n = 3\nc = 2\nh = 4",
    );
    let op = custom(&text).unwrap();
    let case = cases(&op).swap_remove(0);
    assert_eq!(case.tensor("w").unwrap().spec.shape, [12, 3]);
    assert_eq!(op.infer(&case).unwrap()[0].shape, [3, 3]);
    let hosts = inputs(&case);
    assert!(hosts[1].to_f64().iter().all(|w| (0.0..1.0).contains(w)));
    assert!(hosts[3].to_f64().iter().all(|i| (0.0..6.0).contains(i)));
    let out = Reference::new(&op, &case, &hosts).unwrap().evaluate().unwrap();
    let (x, w) = (hosts[0].to_f64(), hosts[1].to_f64());
    let rest: f64 =
        hosts[2].to_f64().iter().sum::<f64>() * 2.0 + hosts[3].to_f64().iter().sum::<f64>();
    let first: f64 = (0..12).map(|k| x[k] * w[3 * k]).sum::<f64>() + 2.0 + rest;
    assert!((out[0][[0, 0].as_slice()] - first).abs() < 1e-12);
}

#[test]
fn a_parameter_of_one_value_has_others_in_the_heavy_tail() {
    let text = file(
        "x = \"[n]\"\nw = { shape = \"[n]\", init = \"fill(1.0)\", path = \"w\" }",
        "out = mul(x, w)",
        "n = 500\ndistributions = [\"normal\", \"heavy_tail\", \"zeros\"]",
    );
    for case in cases(&custom(&text).unwrap()) {
        let weights = inputs(&case).remove(1).to_f64();
        let n_ones = weights.iter().filter(|&&w| (w - 1.0).abs() < 1e-9).count();
        let is_tail = case.distribution == InputDistribution::HeavyTail;
        assert_eq!(n_ones < 10, is_tail, "{}: {n_ones}", case.id);
        assert!(weights.iter().all(|w| (0.5..=1.5).contains(w)));
    }
}

#[test]
fn a_parameter_keeps_its_values_in_every_distribution() {
    let text = file(
        "x = \"[n]\"\nw = { shape = \"[n]\", init = \"normal(5, 0.25)\", path = \"w\" }",
        "out = mul(x, w)",
        "n = 500\ndistributions = [\"normal\", \"zeros\"]",
    );
    for case in cases(&custom(&text).unwrap()) {
        let hosts = inputs(&case);
        let mean = hosts[1].to_f64().iter().sum::<f64>() / 500.0;
        assert!((mean - 5.0).abs() < 0.1, "{}: {mean}", case.id);
        let zeros = hosts[0].to_f64().iter().all(|&x| x == 0.0);
        assert_eq!(zeros, case.distribution == InputDistribution::Zeros);
    }
}

#[test]
fn masks_and_structured_matrices_are_as_their_formulas_say() {
    let text = file(
        "x = { shape = \"[n, 4, 6]\", init = \"tril(1, 1, 0)\", role = \"constant\" }\n\
         y = { shape = \"[n, 5, 5]\", init = \"uniform(1, 2, symmetric)\", role = \"constant\" }\n\
         z = { shape = \"[n, 5, 5]\", init = \"uniform(1, 2, upper)\", role = \"constant\" }\n\
         a = { shape = \"[7]\", init = \"arange(3, 0.5)\", role = \"constant\" }",
        "out = add(add(sum(x), sum(y)), add(sum(z), sum(a)))",
        "n = 2",
    );
    let case = cases(&custom(&text).unwrap()).swap_remove(0);
    let hosts = inputs(&case);
    let [x, y, z, a] = [0, 1, 2, 3].map(|tensor: usize| hosts[tensor].to_f64());
    for (at, value) in x.iter().enumerate() {
        assert_eq!(*value > 0.5, at % 6 <= at / 6 % 4 + 1, "{at}");
    }
    for at in 0..50 {
        let (sheet, row, column) = (at / 25, at / 5 % 5, at % 5);
        assert_eq!(y[at].to_bits(), y[sheet * 25 + column * 5 + row].to_bits());
        assert_eq!(z[at] < 0.5, row > column, "{at}");
    }
    assert!(y[..25] != y[25..] && y.iter().all(|y| (1.0..2.0).contains(y)));
    assert_eq!(a, [3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0]);
}
