use super::{
    CaseDraft, DraftTensor, DraftValue, Layout, OpFamily, all, broadcast, build_case, find,
    generate, normalise_dim, normalise_dims, promote,
};
use crate::record::{
    ArgValue, Case, CaseClass, DType, Gen, InputDistribution, TensorArg, TensorSpec,
};

/// Arguments of a call by name.
type Values<'a> = &'a [(&'a str, DraftValue)];

fn tensor(shape: &[usize]) -> DraftValue {
    laid_out(shape, Layout::Contiguous)
}

fn laid_out(shape: &[usize], layout: Layout) -> DraftValue {
    DraftValue::Tensor(DraftTensor { dtype: None, shape: shape.to_vec(), layout })
}

fn draft(dtype: DType, distribution: InputDistribution, values: Values) -> CaseDraft {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    CaseDraft { dtype, class: CaseClass::Edge, distribution, values }
}

fn case(op: &str, values: Values) -> Case {
    build_case(find(op).unwrap(), &draft(DType::F32, InputDistribution::Normal, values)).unwrap()
}

fn error(op: &str, values: Values) -> String {
    let draft = draft(DType::F32, InputDistribution::Normal, values);
    build_case(find(op).unwrap(), &draft).unwrap_err().to_string()
}

#[test]
fn every_op_is_found_by_all_of_its_names() {
    for op in all() {
        for name in op.aliases.iter().chain([&op.name, &op.schema]) {
            assert_eq!(find(name).unwrap().name, op.name, "{name}");
        }
        for param in &op.params {
            let at = op.signature.find(&format!(" {}", param.name));
            assert!(at.is_some(), "{}: `{}` is not in the signature", op.name, param.name);
        }
        assert_ne!(op.family, OpFamily::General, "{}", op.name);
        assert!(op.semantics.len() > 60, "{} says little", op.name);
        assert!(
            !op.outputs.is_empty() && op.outputs.iter().all(|text| !text.is_empty()),
            "{}",
            op.name
        );
    }
}

#[test]
fn an_op_is_found_as_people_type_it() {
    for name in ["relu", "relu_", "relu.default", "aten.relu.default", "aten::relu_", "relu.out"] {
        assert_eq!(find(name).unwrap().name, "relu", "{name}");
    }
    for name in ["torch.ops.aten.relu", "torch.relu", "aten.relu"] {
        assert_eq!(find(name).unwrap().name, "relu", "{name}");
    }
    assert_eq!(find("swish").unwrap().name, "silu");
    assert_eq!(find("add_.Tensor").unwrap().name, "add");
    assert_eq!(find("aten._softmax.default").unwrap().name, "softmax");
}

#[test]
fn an_unknown_op_names_its_neighbours() {
    let message = find("layernorm").unwrap_err().to_string();
    assert!(message.starts_with("unknown op `layernorm` (did you mean `layer_norm`"), "{message}");
    assert_eq!(find("zzz").unwrap_err().to_string(), "unknown op `zzz`");
}

#[test]
fn shapes_are_inferred() {
    let ints = |values: &[i64]| DraftValue::Ints(values.to_vec());
    let table: &[(&str, Values, &[usize])] = &[
        ("relu", &[("self", tensor(&[]))], &[]),
        ("add", &[("self", tensor(&[9, 1, 13])), ("other", tensor(&[17, 1]))], &[9, 17, 13]),
        ("mul", &[("self", tensor(&[3, 0])), ("other", tensor(&[1]))], &[3, 0]),
        ("sum", &[("self", tensor(&[5, 7, 11])), ("dim", ints(&[0, -1]))], &[7]),
        ("sum", &[("self", tensor(&[5, 7]))], &[]),
        ("sum", &[("self", tensor(&[]))], &[]),
        (
            "sum",
            &[("self", tensor(&[5, 7])), ("dim", ints(&[1])), ("keepdim", DraftValue::Bool(true))],
            &[5, 1],
        ),
        ("softmax", &[("self", tensor(&[5, 7])), ("dim", DraftValue::Int(-2))], &[5, 7]),
        ("layer_norm", &[("input", tensor(&[2, 3])), ("normalized_shape", ints(&[3]))], &[2, 3]),
        ("mm", &[("self", tensor(&[3, 0])), ("mat2", tensor(&[0, 5]))], &[3, 5]),
        ("mse_loss", &[("self", tensor(&[4])), ("target", tensor(&[4]))], &[]),
        (
            "mse_loss",
            &[("self", tensor(&[4])), ("target", tensor(&[4])), ("reduction", DraftValue::Int(0))],
            &[4],
        ),
        ("cross_entropy_loss", &[("self", tensor(&[4, 3])), ("target", tensor(&[4]))], &[]),
    ];
    for (op, values, shape) in table {
        let outputs = find(op).unwrap().infer(&case(op, values)).unwrap();
        assert_eq!(outputs.len(), 1);
        assert_eq!(outputs[0], TensorSpec::contiguous(DType::F32, shape), "{op}");
    }
}

#[test]
fn calls_that_an_op_is_not_defined_for_are_errors() {
    let ints = |values: &[i64]| DraftValue::Ints(values.to_vec());
    let table: &[(&str, Values, &str)] = &[
        ("relu", &[], "argument `self` is missing"),
        ("relu", &[("x", tensor(&[1]))], "`relu` has no argument `x` (it has: self)"),
        (
            "relu",
            &[("self", DraftValue::Int(1))],
            "argument `self` must be a tensor, written as a shape such as \"[127, 1023]\"",
        ),
        (
            "add",
            &[("self", tensor(&[2, 3])), ("other", tensor(&[2]))],
            "shapes [2, 3] and [2] do not broadcast",
        ),
        (
            "sum",
            &[("self", tensor(&[2, 3])), ("dim", ints(&[2]))],
            "dimension 2 is out of range for a tensor of 2 dimensions",
        ),
        (
            "sum",
            &[("self", tensor(&[2, 3])), ("dim", ints(&[1, -1]))],
            "dimension 1 is given twice",
        ),
        ("softmax", &[("self", tensor(&[2]))], "argument `dim` is missing"),
        (
            "layer_norm",
            &[("input", tensor(&[2, 3])), ("normalized_shape", ints(&[2]))],
            "`input` has shape [2, 3], which must be [.., [2]] (not empty)",
        ),
        (
            "layer_norm",
            &[
                ("input", tensor(&[2, 3])),
                ("normalized_shape", ints(&[3])),
                ("weight", tensor(&[2])),
            ],
            "`weight` has shape [2], which must be [3]",
        ),
        (
            "mm",
            &[("self", tensor(&[2, 3])), ("mat2", tensor(&[2, 3]))],
            "`mat2` has shape [2, 3], which must be [3, n]",
        ),
        (
            "mm",
            &[("self", tensor(&[2])), ("mat2", tensor(&[2, 3]))],
            "`self` has shape [2], which must be [m, k]",
        ),
        (
            "mse_loss",
            &[("self", tensor(&[2])), ("target", tensor(&[2])), ("reduction", DraftValue::Int(3))],
            "`reduction` is 3, which must be 0 (none), 1 (mean) or 2 (sum)",
        ),
        (
            "cross_entropy_loss",
            &[("self", tensor(&[2, 3])), ("target", tensor(&[3]))],
            "`target` has shape [3], which must be [2]",
        ),
        (
            "gelu",
            &[("self", tensor(&[2])), ("approximate", DraftValue::Str("erf".to_owned()))],
            "argument `approximate` must be one of none, tanh",
        ),
    ];
    for (op, values, message) in table {
        assert_eq!(&error(op, values), message, "{op}");
    }
}

#[test]
fn distributions_that_make_no_sense_are_errors() {
    let of = |op: &str, distribution, values: Values| {
        build_case(find(op).unwrap(), &draft(DType::F16, distribution, values))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        of("gelu", InputDistribution::Exact, &[("self", tensor(&[4]))]),
        "distribution `exact` makes no sense for this case of `gelu`: its results are irrational"
    );
    assert_eq!(
        of(
            "mse_loss",
            InputDistribution::Exact,
            &[("self", tensor(&[3])), ("target", tensor(&[3]))]
        ),
        "distribution `exact` makes no sense for this case of `mse_loss`: a mean is exact only over a \
         power of two"
    );
    assert_eq!(
        of(
            "sum",
            InputDistribution::Exact,
            &[("self", tensor(&[70_000, 2])), ("dim", DraftValue::Ints(vec![0]))]
        ),
        "distribution `exact` makes no sense for this case of `sum`: the sums are too long to be exact"
    );
}

#[test]
fn dimensions_and_dtypes_follow_pytorch() {
    assert_eq!(broadcast(&[2, 1], &[3]).unwrap(), [2, 3]);
    assert_eq!(broadcast(&[0], &[1]).unwrap(), [0]);
    assert_eq!(broadcast(&[], &[]).unwrap(), [0_usize; 0]);
    assert_eq!(normalise_dim(-1, 0).unwrap(), 0);
    assert!(normalise_dim(1, 0).is_err());
    assert!(normalise_dim(-3, 2).is_err());
    assert_eq!(normalise_dims(None, 2).unwrap(), [0, 1]);
    assert_eq!(normalise_dims(Some(&[-1]), 0).unwrap(), [0_usize; 0]);
    let spec = |dtype, shape: &[usize]| TensorSpec::contiguous(dtype, shape);
    let table = [
        (spec(DType::F16, &[2]), spec(DType::BF16, &[2]), DType::F32),
        (spec(DType::F16, &[2]), spec(DType::F32, &[2]), DType::F32),
        (spec(DType::F16, &[2]), spec(DType::F32, &[]), DType::F16),
        (spec(DType::F32, &[]), spec(DType::BF16, &[1]), DType::BF16),
    ];
    for (left, right, dtype) in table {
        assert_eq!(promote([&left, &right], &[]), dtype);
    }
}

#[test]
fn a_shape_beyond_all_memory_is_an_error_and_no_overflow() {
    let huge = usize::try_from(99_999_999_999u64).unwrap();
    for shape in
        [vec![huge, huge], vec![0, huge, huge], vec![usize::MAX, 2], vec![1 << 21, 1 << 20]]
    {
        let error = Layout::Contiguous.spec(DType::F32, &shape).unwrap_err();
        assert!(error.to_string().contains("too many elements"), "{shape:?}: {error}");
    }
}

#[test]
fn layouts_hold_what_they_say() {
    let spec = |layout: Layout, shape: &[usize]| layout.spec(DType::F16, shape).unwrap();
    assert_eq!(spec(Layout::Transposed, &[2, 3]).stride, [1, 2]);
    assert_eq!(spec(Layout::Transposed, &[4, 2, 3]).stride, [6, 1, 2]);
    assert_eq!(spec(Layout::Gap, &[2, 3]).stride, [6, 1]);
    assert_eq!(spec(Layout::Gap, &[3]).stride, [2]);
    assert_eq!(
        (spec(Layout::Offset, &[3]).offset, spec(Layout::Offset, &[3]).storage_len()),
        (1, 4)
    );
    assert_eq!(spec(Layout::Expanded, &[5, 3]).stride, [0, 1]);
    assert_eq!(spec(Layout::Expanded, &[5, 3]).storage_len(), 3);
    for layout in Layout::ALL {
        assert_eq!(layout.name().parse::<Layout>().unwrap(), layout);
    }
}

#[test]
fn a_case_holds_every_argument_of_the_schema_in_order() {
    let case = case(
        "cross_entropy_loss",
        &[("target", tensor(&[4])), ("self", tensor(&[4, 3])), ("reduction", DraftValue::Int(0))],
    );
    let names: Vec<&str> = case.args.iter().map(|arg| arg.name.as_str()).collect();
    assert_eq!(names, ["self", "target", "weight", "reduction", "ignore_index", "label_smoothing"]);
    assert_eq!(case.arg("weight"), Some(&ArgValue::None));
    assert_eq!(case.arg("ignore_index"), Some(&ArgValue::Int(-100)));
    let target = case.tensor("target").unwrap();
    assert_eq!((target.spec.dtype, target.generator), (DType::I64, Gen::Index { bound: 3 }));
}

#[test]
fn a_case_is_named_by_what_is_particular_about_it() {
    let op = find("add").unwrap();
    let mut draft = draft(DType::BF16, InputDistribution::Exact, &[("self", tensor(&[2, 3]))]);
    draft.values.push(("other".to_owned(), laid_out(&[3], Layout::Gap)));
    draft.values.push(("alpha".to_owned(), DraftValue::Int(2)));
    assert_eq!(build_case(op, &draft).unwrap().id, "bf16[2,3],[3]:gap,alpha=2/exact");
}

#[test]
fn outputs_are_named() {
    let op = find("relu").unwrap();
    assert_eq!(op.output_names(1), ["out"]);
    assert_eq!(op.output_names(2), ["out0", "out1"]);
}

#[test]
fn work_counts_each_element_once() {
    let relu = case("relu", &[("self", tensor(&[4, 8]))]);
    let work = find("relu").unwrap().work(&relu);
    assert!((work.flops - 32.0).abs() < 0.5 && (work.bytes - 256.0).abs() < 0.5);
    let mm = case("mm", &[("self", tensor(&[4, 8])), ("mat2", tensor(&[8, 2]))]);
    let op = find("mm").unwrap();
    assert!((op.work(&mm).flops - 128.0).abs() < 0.5);
    assert_eq!(op.accumulation_len(&mm), 8);
    let relu = case("relu", &[("self", laid_out(&[4, 8], Layout::Expanded))]);
    assert!((find("relu").unwrap().work(&relu).bytes - 160.0).abs() < 0.5);
}

fn arg(shape: &[usize], layout: Layout, dtype: DType, generator: Gen) -> TensorArg {
    TensorArg { spec: layout.spec(dtype, shape).unwrap(), generator }
}

#[test]
fn inputs_follow_seed_case_and_argument_alone() {
    let normal = Gen::Normal { mean: 0.0, std: 1.0 };
    let tensor = arg(&[33, 5], Layout::Contiguous, DType::F16, normal);
    let bytes = |seed, case: &str, name: &str| generate(&tensor, seed, case, name).storage;
    assert_eq!(bytes(1, "a", "self"), bytes(1, "a", "self"));
    assert_ne!(bytes(1, "a", "self"), bytes(2, "a", "self"));
    assert_ne!(bytes(1, "a", "self"), bytes(1, "b", "self"));
    assert_ne!(bytes(1, "a", "self"), bytes(1, "a", "other"));
    let large = arg(&[600_000], Layout::Contiguous, DType::F32, normal);
    assert_eq!(generate(&large, 1, "a", "x").storage, generate(&large, 1, "a", "x").storage);
}

#[test]
fn the_stream_of_inputs_does_not_change() {
    let normal = Gen::Normal { mean: 0.0, std: 1.0 };
    let tensor = arg(&[3], Layout::Contiguous, DType::F32, normal);
    let values = generate(&tensor, 1, "f32[3]/normal", "self").to_f64();
    assert_eq!(
        values,
        [-0.939_685_761_928_558_3, -0.954_063_236_713_409_4, -0.177_663_624_286_651_6]
    );
}

#[test]
fn gaps_of_strided_storages_hold_garbage_that_is_noticed() {
    for layout in [Layout::Gap, Layout::Offset, Layout::Transposed, Layout::Expanded] {
        let tensor = arg(&[5, 7], layout, DType::BF16, Gen::Constant { value: 2.0 });
        let host = generate(&tensor, 1, "a", "self");
        let read = host.spec.storage_indices();
        for index in 0..host.spec.storage_len() {
            let value = host.get(index);
            assert_eq!(value.is_nan(), !read.contains(&index), "{layout} {index}: {value}");
        }
    }
    let tensor = arg(&[5], Layout::Gap, DType::I64, Gen::Index { bound: 3 });
    let host = generate(&tensor, 1, "a", "target");
    assert!(host.get(1) > 1e18);
    assert!(host.to_f64().iter().all(|target| (0.0..3.0).contains(target)));
}

#[test]
fn specials_are_of_every_kind_at_places_of_their_own_in_each_tensor() {
    let values = |n: usize, name: &str| {
        let tensor = arg(&[n], Layout::Contiguous, DType::F16, Gen::Specials);
        generate(&tensor, 5, "a", name).to_f64()
    };
    for n in [5, 9, 257, 585, 1023] {
        for name in ["self", "other", "weight"] {
            let values = values(n, name);
            assert!(values.iter().any(|value| value.is_nan()), "{n}");
            assert!(values.contains(&f64::INFINITY) && values.contains(&f64::NEG_INFINITY), "{n}");
            let zeros = values.iter().filter(|value| **value == 0.0);
            let (below, above): (Vec<f64>, Vec<f64>) =
                zeros.partition(|zero| zero.is_sign_negative());
            assert!(!below.is_empty() && !above.is_empty(), "{n}");
            let ordinary =
                values.iter().filter(|value| value.is_finite() && **value != 0.0).count();
            assert!(n < 99 || ordinary > n / 2, "{n}: {ordinary}");
        }
        let nans = |values: Vec<f64>| -> Vec<usize> {
            (0..n).filter(|&index| values[index].is_nan()).collect()
        };
        assert!(n < 99 || nans(values(n, "self")) != nans(values(n, "other")), "{n}");
    }
    assert!(
        values(257, "self")
            .iter()
            .zip(values(257, "other"))
            .any(|(x, y)| x.is_infinite() && y == 0.0)
            || values(1023, "self")
                .iter()
                .zip(values(1023, "other"))
                .any(|(x, y)| x.is_infinite() && y == 0.0)
    );
    assert!(!values(1, "self")[0].is_finite());
}

#[test]
fn exact_sums_do_not_depend_on_their_order() {
    let draft = |dtype| {
        draft(
            dtype,
            InputDistribution::Exact,
            &[("self", tensor(&[3, 1023])), ("dim", DraftValue::Ints(vec![1]))],
        )
    };
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let case = build_case(find("sum").unwrap(), &draft(dtype)).unwrap();
        let values = generate(case.tensor("self").unwrap(), 7, &case.id, "self").to_f64();
        assert!(values.iter().all(|value| value.fract() == 0.0 && value % 2.0 != 0.0));
        for row in values.chunks(1023) {
            #[expect(clippy::cast_possible_truncation, reason = "the values are small integers")]
            let narrow: Vec<f32> = row.iter().map(|value| *value as f32).collect();
            let forwards: f32 = narrow.iter().sum();
            let backwards: f32 = narrow.iter().rev().sum();
            let exact: f64 = row.iter().sum();
            assert_eq!(forwards.to_bits(), backwards.to_bits());
            assert_eq!(f64::from(forwards).to_bits(), exact.to_bits());
            assert!(dtype != DType::F16 || exact.abs() < 65504.0);
        }
    }
}

#[test]
fn exact_products_keep_to_their_budget_of_terms() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let values = [("self", tensor(&[9, 1500])), ("mat2", tensor(&[1500, 5]))];
        let case =
            build_case(find("mm").unwrap(), &draft(dtype, InputDistribution::Exact, &values))
                .unwrap();
        let of = |name| generate(case.tensor(name).unwrap(), 7, &case.id, name).to_f64();
        let (left, right) = (of("self"), of("mat2"));
        for row in left.chunks(1500) {
            let column = right.iter().step_by(5);
            let total: f64 = row.iter().zip(column).map(|(a, b)| (a * b).abs()).sum();
            assert!(total > 1000.0 && total < f64::from(1 << 24), "{dtype}: {total}");
            assert!(dtype != DType::F16 || total < 65504.0, "{total}");
        }
    }
}
