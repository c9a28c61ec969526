//! Logs, grids, the right parts of wrong files, and filters.

use super::*;
use crate::{
    record::{Case, Gen},
    suite::Filter,
};

fn log(text: &str) -> Loaded {
    from_log("dir/calls.txt", text).unwrap()
}

/// Returns the only mistake of a log.
fn mistake(line: &str) -> String {
    let good = "relu cnt: 1, ((T([2], f32),), {})\n";
    let Loaded { suite, errors, .. } = log(&format!("{good}{line}"));
    assert_eq!((suite.ops(), errors.len()), (&["relu".to_owned()][..], 1), "{line}: {errors:?}");
    errors[0].to_string()
}

#[test]
fn a_log_is_a_suite_of_its_different_calls() {
    let loaded = log("Operator: aten.relu_.default\n\
         cnt: 3, ((T([64, 33], f16, stride=(1, 64)),), {})\n\
         cnt: 9, ((T([64, 33], f16, [1, 64]),), {})\n\
         cnt: 1, ((T([512, 1000], f32, offset=1),), {})\n\
         Operator: aten.add.Tensor\n\
         cnt: 1, ((T([5], bf16), T([], bf16)), {'alpha': 2})\n\
         Operator: aten._softmax.default\n\
         cnt: 1, ((T([4, 7], f32), -1, False), {})\n");
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let suite = loaded.strict().unwrap();
    assert_eq!(
        (suite.name.as_str(), suite.ops().join(" ").as_str()),
        ("calls", "relu add softmax")
    );
    assert_eq!(suite.dtypes("relu").unwrap(), [DType::F16, DType::F32]);
    let cases = suite.cases("relu", None, 0).unwrap();
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, ["f16[64,33]@1,64/normal", "f32[512,1000]+1/normal"]);
    assert_eq!(cases[0].tensor("self").unwrap().spec.stride, [1, 64]);
    assert_eq!(cases[1].tensor("self").unwrap().spec.offset, 1);
    assert_eq!([cases[0].class, cases[1].class], [CaseClass::Layout, CaseClass::Realistic]);
    let add = suite.cases("add", None, 0).unwrap();
    assert_eq!(add[0].id, "bf16[5],[],alpha=2/normal");
}

#[test]
fn generators_of_a_log_take_the_place_of_the_ops() {
    let suite = log("cross_entropy_loss ((T([9, 5], f32), T([9], i64, gen=index(3))), {})\n\
         relu ((T([9], f32, gen=ones),), {})\n\
         relu ((T([8], f32),), {})\n\
         maximum ((T([3], f16), 7), {})")
    .strict()
    .unwrap();
    let generator = |op: &str, case: usize, name: &str| {
        suite.cases(op, None, 0).unwrap()[case].tensor(name).unwrap().generator
    };
    assert_eq!(generator("cross_entropy_loss", 0, "target"), Gen::Index { bound: 3 });
    assert_eq!(generator("relu", 0, "self"), Gen::Constant { value: 1.0 });
    assert_eq!(generator("relu", 1, "self"), Gen::Normal { mean: 0.0, std: 1.0 });
    assert_eq!(generator("maximum", 0, "other"), Gen::Constant { value: 7.0 });
}

#[test]
fn a_mistake_in_a_log_names_file_line_op_and_reason_and_the_rest_is_kept() {
    for (line, wanted) in [
        ("mm ((T([2, 3], f32), T([4, 5], f32)), {})", "op `mm.default`: `mat2` has shape [4, 5]"),
        ("relu ((T([-2], f32),), {})", "column 11: an extent of -2 (op `relu.default`)"),
        (
            "relu ((T([9223372036854775807, 2], f32),), {})",
            "column 8: a tensor of 2^63 elements or more (op `relu.default`)",
        ),
        (
            "relu ((T([1099511627776, 2], f32),), {})",
            "op `relu.default`: argument `self`: a shape of [1099511627776,2] has too many",
        ),
        (
            "relu ((T([2, 2], f32, [1099511627776, 1]),), {})",
            "op `relu.default`: argument `self` has a storage of 1099511627778 elements",
        ),
        ("gelu ((T([2], i64),), {})", "op `gelu.default`: `self` has dtype i64, which must be a"),
        ("relu ((), {})", "op `relu.default`: argument `self` is missing"),
        ("relu (('3',), {})", "op `relu.default`: argument `self` must be a tensor"),
        ("gelu ((T([2], f32), 3, 4), {})", "op `gelu.default`: 3 arguments, where it takes at"),
        ("relu ((T([2], f32),), {'self': 3})", "op `relu.default`: argument `self` is given twice"),
        ("relu ((T([2], f32),), {'x': 3})", "op `relu.default`: `relu` has no argument `x` (it"),
        ("_softmax ((T([2], f32), 7, False), {})", "op `_softmax.default`: dimension 7 is out"),
        (
            "cross_entropy_loss ((T([9, 5], f32), T([9], i64, gen=index(6))), {})",
            "op `cross_entropy_loss.default`: argument `target` holds indices up to 5, which must \
             be below 5",
        ),
        (
            "cross_entropy_loss ((T([9, 5], f32), T([9], i64, gen=int(-1,3))), {})",
            "op `cross_entropy_loss.default`: argument `target` holds indices up to -1",
        ),
        ("__import__('os')", "column 12: expected `(` before the arguments, found the string"),
    ] {
        let got = mistake(line);
        let got = got.strip_prefix("suite dir/calls.txt, line 2").unwrap();
        assert!(got.trim_start_matches([',', ':', ' ']).starts_with(wanted), "{line}: {got}");
    }
    for (text, wanted) in [
        ("# nothing\n", "suite x.txt: it has no calls"),
        (" \r\n", "suite x.txt: the file is empty"),
        (
            "# Title\n\nSome words.",
            "suite x.txt is no log: line 3, column 6: expected a call such as",
        ),
        (
            "detach ((T([2], f32),), {})",
            "suite x.txt: none of its calls can be judged: 1 are of views",
        ),
        (
            "rellu ((T([2], f32),), {})",
            "suite x.txt: none of its calls can be judged: 0 are of views, of new tensors or of random values; `aten.rellu.default`: kgen has no such op",
        ),
    ] {
        let error = from_log("x.txt", text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn a_call_that_pytorch_refuses_is_refused() {
    for (line, wanted) in [
        ("cumsum_ ((T([2, 3], f32), 0), {'dtype': f64})", "`dtype` is f64, which must be f32"),
        (
            "addmm ((T([2, 3], u8), T([2, 2], u8), T([2, 3], u8)), {'beta': -1.0})",
            "`beta` is -1, which must be in the range of u8",
        ),
        (
            "convolution ((T([1, 4, 5], f32), T([1, 4, 3], f32), None, [2], [0], [1], False, [-1], 1), {})",
            "`output_padding` is [-1]",
        ),
        (
            "convolution_backward ((T([1, 1, 3], f32), T([1, 1, 3], f32), T([1, 1, 1], f32), [1], [1], \
             [0], [1], False, [1], 1, [True, True, True]), {})",
            "`output_padding` is [1], which must be 0",
        ),
        (
            "embedding_bag.padding_idx ((T([5, 2], f32), T([4], i64), T([2], i64), False, 0, False, \
             None, False, 5), {})",
            "`padding_idx` is 5, which must be one of 5 rows",
        ),
        (
            "group_norm ((T([1, 3], f16), 1, T([3], f32), T([3], f16)), {})",
            "`bias` has dtype f16, which must be f32, as `weight`",
        ),
        (
            "hinge_embedding_loss ((T([5], i32), T([5], f32)), {})",
            "`self` has dtype i32, which must be a floating-point type",
        ),
        (
            "adaptive_max_pool2d ((T([1, 0, 4, 4], f32), [2, 3]), {})",
            "`self` has shape [1, 0, 4, 4]",
        ),
        (
            "adaptive_avg_pool3d ((T([1, 0, 4, 4, 4], f32), [2, 3, 1]), {})",
            "`self` has shape [1, 0,",
        ),
        (
            "native_batch_norm_backward ((T([1, 2, 3], f32), T([1, 2, 3], f32), None, T([1, 2], f32), \
             None, T([2], f32), T([2], f32), True, 0.1, [True, True, True]), {})",
            "`running_mean` has shape [1, 2], which must be of one dimension",
        ),
        (
            "native_batch_norm_backward ((T([1, 2, 3], f64), T([1, 2, 3], f64), None, None, None, \
             T([2], f64), T([2], f32), True, 0.1, [True, True, True]), {})",
            "`save_invstd` has dtype f32, which must be f64",
        ),
        ("pow.Tensor_Scalar ((T([2], f16), 1e10), {})", "`exponent` is 10000000000"),
        ("addmv_ ((T([3], f16), T([3, 2], f32), T([2], f32)), {})", "`self` has dtype f16"),
        ("mish_backward ((T([2], f32), T([2], i64)), {})", "`self` has dtype i64"),
        ("huber_loss ((T([2], f32), T([2], f32), 1, nan), {})", "`delta` is NaN"),
    ] {
        let got = mistake(line);
        assert!(got.contains(wanted), "{line}: {got}");
    }
}

#[test]
fn calls_take_the_types_that_pytorch_takes() {
    let suite = log("addmv ((T([3], f16), T([3, 2], f32), T([2], f32)), {})\n\
         cumsum.out ((T([3], f32), 0), {'out': T([3], i64)})\n\
         adaptive_avg_pool2d ((T([1, 0, 4, 4], f32), [2, 3]), {})\n\
         constant_pad_nd ((T([0, 3, 3], f32), [0, 2, 2147483647, 1]), {})")
    .strict()
    .unwrap();
    for (op, dtype) in [("addmv", DType::F32), ("cumsum", DType::I64)] {
        let case = &suite.cases(op, None, 0).unwrap()[0];
        assert_eq!(op::find(op).unwrap().infer(case).unwrap()[0].dtype, dtype, "{op}");
    }
}

#[test]
fn what_is_right_in_a_wrong_suite_file_is_kept() {
    let text = "format = 1\nname = \"x\"\n\
        [[ops]]\nname = \"rellu\"\ncases = [{ self = \"[1]\" }]\n\
        [[ops]]\nname = \"relu\"\ncases = [\n\
        { self = \"[3]\" },\n{ self = \"[9223372036854775807, 9]\" },\n{ self = \"[-4]\" },\n]\n\
        [[ops]]\nname = \"mm\"\ndtypes = [\"bool\"]\n\
        cases = [{ self = \"[2, 3]\", mat2 = \"[3, 4]\" }]\n";
    let Loaded { suite, errors, .. } = from_file("my.toml", text).unwrap();
    assert_eq!(suite.ops(), ["relu"]);
    assert_eq!(suite.public_cases("relu").unwrap().len(), suite.dtypes("relu").unwrap().len());
    let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    errors.sort();
    let wanted = [
        "suite my.toml, line 10: op `relu`, case 2: argument `self`: a shape of",
        "suite my.toml, line 11: op `relu`, case 3: key `self`: `-4` is no extent",
        "suite my.toml, line 13: op `mm` has no dtype bool (it has: f32",
        "suite my.toml, line 3: unknown op `rellu`",
    ];
    assert_eq!(errors.len(), wanted.len(), "{errors:?}");
    for (error, wanted) in errors.iter().zip(wanted) {
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn a_grid_is_a_case_per_combination_that_is_not_too_large() {
    let text = "format = 1\nname = \"x\"\ndtypes = [\"f32\"]\n\
        [[ops]]\nname = \"relu\"\ncases = [{ self = \"[m, n]\", max_elements = 100, \
        grid = { m = [1, 3, 50], n = [2, 9] } }]\n";
    let suite = from_file("my.toml", text).unwrap().strict().unwrap();
    let cases = suite.cases("relu", None, 0).unwrap();
    let shapes: Vec<_> =
        cases.iter().map(|case| case.tensor("self").unwrap().spec.shape.clone()).collect();
    assert_eq!(shapes, [[1, 2], [1, 9], [3, 2], [3, 9], [50, 2]]);
    assert!(cases.iter().all(|case| case.class == CaseClass::Edge));
    for (keys, wanted) in [
        ("grid = { m = [], n = [1] }", "key `grid`: axis `m` has no extents"),
        ("grid = { m = [1], n = [1] }, axes = { m = \"1..2\" }", "`m` is one of `axes` too"),
        ("grid = { m = [9], n = [9] }, max_elements = 80", "every combination exceeds"),
        ("grid = { m = [9] }", "`n` is no extent"),
    ] {
        let text = format!(
            "format = 1\nname = \"x\"\n[[ops]]\nname = \"relu\"\n\
             cases = [{{ self = \"[m, n]\", {keys} }}]\n"
        );
        let error = from_file("my.toml", &text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{keys}: {error}");
    }
}

#[test]
fn the_sweep_has_grids_of_timed_cases() {
    let suite = load("sweep").unwrap();
    for op in
        ["gelu", "silu", "layer_norm", "rms_norm", "softmax", "mse_loss", "cross_entropy_loss"]
    {
        let cases = suite.public_cases(op).unwrap();
        assert!(cases.len() >= 20, "{op}: {}", cases.len());
        assert!(cases.iter().all(|case| case.class == CaseClass::Realistic), "{op}");
    }
}

#[test]
fn the_models_give_real_and_small_cases() {
    for file in ["real", "small"] {
        let path = format!("{}/../../suites/huggingface/{file}.log", env!("CARGO_MANIFEST_DIR"));
        let log = log::parse(&std::fs::read_to_string(path).unwrap());
        assert_eq!(log.errors, [], "{file}");
    }
    let suite = load("huggingface").unwrap();
    assert!(suite.ops().len() >= 30, "{:?}", suite.ops());
    for op in suite.ops() {
        let cases = suite.public_cases(op).unwrap();
        let is_real = |case: &&Case| case.class == CaseClass::Realistic;
        let real = cases.iter().filter(is_real).count();
        assert!(real >= 1 && cases.len() - real >= 2, "{op}: {real} of {}", cases.len());
    }
}

#[test]
fn filters_leave_ops_types_and_sizes() {
    let suite = load("smoke").unwrap();
    let ids = |filter: &Filter, op: &str| -> Vec<String> {
        let cases = suite.filter(filter).unwrap().cases(op, None, 1).unwrap();
        cases.into_iter().map(|case| case.id).collect()
    };
    let all = ids(&Filter::default(), "relu");
    let ops = Some(vec!["aten.add.Tensor".to_owned(), "swish".to_owned()]);
    let filtered = suite.filter(&Filter { ops, ..Filter::default() }).unwrap();
    assert_eq!(filtered.ops(), ["add", "silu"]);
    let f16 = ids(&Filter { dtypes: Some(vec![DType::F16]), ..Filter::default() }, "relu");
    assert!(f16.len() > 5 && f16.iter().all(|id| id.starts_with("f16")));
    let small = ids(&Filter { max_bytes: Some(1000), ..Filter::default() }, "relu");
    assert!(small.contains(&"f32[1]/normal".to_owned()) && small.len() < all.len());
    assert!(!small.contains(&"f32[2048]/normal".to_owned()));
    let top = ids(&Filter { topn: Some(1), ..Filter::default() }, "relu");
    let timed = suite.cases("relu", None, 1).unwrap();
    let timed = timed.iter().filter(|case| case.class == CaseClass::Realistic).count();
    assert_eq!(top.len(), all.len() - timed + 1);
    assert!(top.contains(&"f32[4096,4096]/normal".to_owned()));
    let unknown = Filter { ops: Some(vec!["mmm".to_owned()]), ..Filter::default() };
    assert!(suite.filter(&unknown).unwrap_err().to_string().contains("has no op `mmm`"));
}

/// Refused by PyTorch's CUDA kernels, too.
#[test]
fn calls_that_pytorch_refuses_are_mistakes() {
    let index = "T([1], i64)";
    for (line, wanted) in [
        ("soft_margin_loss ((T([5], f32), T([3, 5], f32)), {})", "broadcasts to [5]"),
        (
            "margin_ranking_loss ((T([5], f32), T([5], b8), T([5], f32)), {})",
            "`input2` has dtype bool",
        ),
        (
            "triplet_margin_loss ((T([2, 5], f32), T([2, 5], b8), T([2, 5], f32)), {})",
            "`positive` has dtype bool",
        ),
        (
            "binary_cross_entropy_with_logits ((T([5], f32), T([3, 5], f32), None, T([5], f32)), {})",
            "`self` has shape [5]",
        ),
        (
            "binary_cross_entropy_backward ((T([], f32), T([1], f32), T([1], f32), T([3], f32)), {})",
            "`weight` has shape [3]",
        ),
        ("cosine_similarity ((T([5], f32), T([5], f32), 0, -1.0), {})", "`eps` is -1"),
        ("index_fill.int_Scalar ((T([4], f16), 0, T([1], i32), 1), {})", "`index` has dtype i32"),
        (
            &format!("index_fill.int_Scalar ((T([4], f16), 0, {index}, 2147483647), {{}})"),
            "`value` is 2147483647, which must be in the range of f16",
        ),
        ("index_copy ((T([4], f32), 0, T([1], i32), T([1], f32)), {})", "`index` has dtype i32"),
        (
            &format!("scatter.value ((T([4], u8), 0, {index}, -1.0), {{}})"),
            "`value` is -1, which must be in the range of u8",
        ),
        (
            "avg_pool3d ((T([1, 1, 6, 4, 6], f32), [4, 5, 6], [2, 3, 2], [2, 2, 2], True), {})",
            "`self` has shape [1, 1, 6, 4, 6]",
        ),
        (
            "conv_transpose1d ((T([1, 4, 5], f32), T([4, 0, 3], f32)), {})",
            "`weight` has shape [4, 0, 3]",
        ),
        (
            "addr ((T([2, 3], i64), T([2], i64), T([3], i64)), {'alpha': 2.5})",
            "`alpha` is 2.5, which must be an integer",
        ),
        ("_softmax ((T([2], bf16), 0, True), {})", "which must be f16, for half_to_float"),
        (
            "_softmax_backward_data ((T([2], f32), T([2], f32), 0, torch.bfloat16), {})",
            "`input_dtype` is bf16",
        ),
    ] {
        let got = mistake(line);
        assert!(got.contains(wanted), "{line}: {got}");
    }
}

#[test]
fn calls_that_are_not_judged_are_counted_by_op() {
    let text = "Operator: aten._fft_c2c.default\ncnt: 3, ((T([2], c64),), {})\ncnt: 4, ((T([3], c64),), {})\n\
         Operator: aten.sum.new\ncnt: 1, ((T([2], f32),), {})\n\
         Operator: aten.mul.Tensor\ncnt: 9, ((T([2], c64), 2), {})\ncnt: 2, ((T([2], f32), 2.0), {})\n\
         Operator: aten.index.Tensor\ncnt: 5, ((T([2], f16), [T([2], b8)]), {})\n";
    let loaded = log(text);
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let rows: Vec<String> = loaded
        .unjudged
        .iter()
        .map(|row| format!("{} {} {}: {}", row.op, row.calls, row.lines, row.reason))
        .collect();
    assert_eq!(
        rows,
        [
            "aten.mul.Tensor 9 1: kgen has no dtype c64",
            "aten._fft_c2c.default 7 2: kgen has no such op",
            "aten.index.Tensor 5 1: `indices` has dtype bool, which must be i64 or i32: the shape of a selection \
             by mask depends on the data",
            "aten.sum.new 1 1: kgen has `aten.sum.dim_IntList`, not this overload",
        ]
    );
    assert_eq!((loaded.judged, loaded.suite.ops()), (2, &["mul.Scalar".to_owned()][..]));
}

#[test]
fn a_folder_of_logs_is_one_suite() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let loaded = || load_lenient(folder.path().to_str().unwrap());
    write("README.md", "Where these come from.");
    assert!(
        loaded()
            .unwrap_err()
            .to_string()
            .ends_with("the folder has no logs, which are files *.txt or *.log")
    );
    std::fs::create_dir(folder.path().join("b")).unwrap();
    write("b/two.log", "relu cnt: 2, ((T([2], f32),), {})\nabs ((T([2], f32),), {})\n");
    write("one.TXT", "relu cnt: 5, ((T([2], f32),), {})\nfft ((), {})\n");
    write(".hidden.txt", "rubbish");
    let suite = loaded().unwrap();
    assert_eq!((suite.errors.len(), suite.judged, suite.unjudged.len()), (0, 8, 1));
    let counts = |op: &str| -> Vec<Option<u64>> {
        suite.suite.cases(op, None, 0).unwrap().iter().map(|case| case.count).collect()
    };
    assert_eq!((counts("relu"), counts("abs")), (vec![Some(7)], vec![Some(1)]));
    write("empty.txt", "");
    write("text.txt", "Some words.\nMore of them.\n");
    write("wrong.txt", "Operator: aten.relu.default\ncnt: 1, ((), {})\n");
    let errors: Vec<String> = loaded().unwrap().errors.iter().map(ToString::to_string).collect();
    let wanted = [
        "empty.txt: the file is empty",
        "text.txt is no log: line 1",
        "wrong.txt, line 2: op `relu",
    ];
    assert_eq!(errors.len(), wanted.len(), "{errors:?}");
    for (error, wanted) in errors.iter().zip(wanted) {
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn views_and_new_tensors_are_counted() {
    let text = "Operator: aten.detach.default\ncnt: 3, ((T([2], f32),), {})\n\
        Operator: aten.empty.memory_format\ncnt: 2, (([2],), {})\n\
        Operator: aten.relu.default\ncnt: 1, ((T([2], f32),), {})\n";
    let loaded = log(text);
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    assert_eq!((loaded.free, loaded.suite.ops()), (5, &["relu".to_owned()][..]));
}
