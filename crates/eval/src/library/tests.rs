use kgen_ops::op;
use kgen_record::{Arg, CaseClass, Gen, InputDistribution, TensorArg};

use super::*;

fn tensor(dtype: DType, shape: &[usize], stride: &[usize], offset: usize) -> ArgValue {
    let spec = TensorSpec { dtype, shape: shape.to_vec(), stride: stride.to_vec(), offset };
    ArgValue::Tensor(TensorArg { spec, generator: Gen::Constant { value: 1.0 } })
}

fn dense(dtype: DType, shape: &[usize]) -> ArgValue {
    let spec = TensorSpec::contiguous(dtype, shape);
    tensor(dtype, shape, &spec.stride, 0)
}

fn plan(name: &str, args: &[(&str, ArgValue)]) -> Result<ResolvedPlan, String> {
    let op = op::find(name).unwrap();
    let arg =
        |(name, value): &(&str, ArgValue)| Arg { name: (*name).to_owned(), value: value.clone() };
    let case = Case {
        id: "case".to_owned(),
        op: name.to_owned(),
        count: None,
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: false,
        in_place: false,
        args: args.iter().map(arg).collect(),
    };
    let outputs = op.infer(&case).unwrap();
    Planner::new(&case, Precision::Strict).plan(name, &outputs).map_err(|Refusal(why)| why)
}

fn gemm(plan: &ResolvedPlan) -> &Gemm<BufferRef> {
    match plan.steps.last() {
        Some(Step::Gemm { call }) => call,
        other => panic!("{other:?}"),
    }
}

/// Row-majorness, leading dimension and place of a matrix.
fn layout(matrix: Matrix<BufferRef>) -> (bool, usize, BufferRef, usize) {
    (matrix.row_major, matrix.ld, matrix.at.buffer, matrix.at.byte_offset)
}

#[test]
fn factors_are_taken_as_they_lie_where_rows_or_columns_have_no_gaps() {
    let f16 = DType::F16;
    let args =
        [("self", tensor(f16, &[3, 5], &[8, 1], 2)), ("mat2", tensor(f16, &[5, 7], &[1, 5], 0))];
    let plan = plan("mm", &args).unwrap();
    let call = gemm(&plan);
    assert_eq!(([call.m, call.n, call.k], call.batch, plan.steps.len()), ([3, 7, 5], 1, 1));
    assert_eq!(layout(call.left), (true, 8, BufferRef::Input(0), 4));
    assert_eq!(layout(call.right), (false, 5, BufferRef::Input(1), 0));
    assert_eq!(layout(call.out), (true, 7, BufferRef::Output(0), 0));
    assert_eq!((call.alpha, call.beta, call.tf32), (1.0, 0.0, false));
}

#[test]
fn what_lies_otherwise_is_copied_first() {
    let f32 = DType::F32;
    let gaps = tensor(f32, &[3, 5], &[20, 2], 0);
    let repeated = tensor(f32, &[5, 7], &[0, 1], 0);
    let plan = plan("mm", &[("self", gaps), ("mat2", repeated)]).unwrap();
    assert!(matches!(plan.steps[..2], [Step::Copy { .. }, Step::Copy { .. }]));
    let bytes: Vec<u64> = plan.scratch.iter().map(|scratch| scratch.bytes).collect();
    assert_eq!(bytes, [60, 140]);
    assert_eq!(layout(gemm(&plan).left), (true, 5, BufferRef::Scratch(0), 0));
    assert_eq!(layout(gemm(&plan).right), (true, 7, BufferRef::Scratch(1), 0));
}

#[test]
fn addends_are_rows_matrices_or_copies_of_what_they_expand_to() {
    let f32 = DType::F32;
    let one = |shape: &[usize], beta: f64| {
        plan(
            "addmm",
            &[
                ("self", dense(f32, shape)),
                ("mat1", dense(f32, &[3, 5])),
                ("mat2", dense(f32, &[5, 7])),
                ("beta", ArgValue::Float(beta)),
                ("alpha", ArgValue::Int(2)),
            ],
        )
        .unwrap()
    };
    let row = one(&[7], 1.0);
    assert_eq!((gemm(&row).bias.unwrap().buffer, gemm(&row).beta), (BufferRef::Input(0), 0.0));
    assert!((gemm(&row).alpha - 2.0).abs() < 1e-12);
    let matrix = one(&[3, 7], 0.5);
    assert_eq!(layout(gemm(&matrix).addend.unwrap()), (true, 7, BufferRef::Input(0), 0));
    assert_eq!((gemm(&matrix).beta, matrix.steps.len()), (0.5, 1));
    for (shape, beta) in [(vec![7], 0.5), (vec![3, 1], 1.0), (vec![], 1.0)] {
        let copied = one(&shape, beta);
        assert_eq!(layout(gemm(&copied).addend.unwrap()), (true, 7, BufferRef::Scratch(0), 0));
        let Step::Copy { source, .. } = &copied.steps[0] else { panic!("{shape:?}") };
        assert_eq!(source.spec.shape, [3, 7]);
    }
    // Without a factor it is not read.
    let without = one(&[3, 1], 0.0);
    assert_eq!((gemm(&without).addend, gemm(&without).bias, without.steps.len()), (None, None, 1));
}

#[test]
fn batches_linear_layers_and_vectors_are_products_too() {
    let bf16 = DType::BF16;
    let batch =
        [("self", dense(bf16, &[2, 3, 5])), ("mat2", tensor(bf16, &[2, 5, 7], &[0, 7, 1], 0))];
    let batch = plan("bmm", &batch).unwrap();
    let call = gemm(&batch);
    assert_eq!((call.batch, call.left.batch_stride, call.right.batch_stride), (2, 15, 0));
    assert_eq!(call.out.batch_stride, 21);

    let linear = |n: usize, input: ArgValue| {
        let weight = dense(bf16, &[n, 8]);
        plan("linear", &[("input", input), ("weight", weight), ("bias", dense(bf16, &[n]))])
    };
    let aligned = linear(16, dense(bf16, &[2, 3, 8])).unwrap();
    let call = gemm(&aligned);
    assert_eq!([call.m, call.n, call.k], [6, 16, 8]);
    assert_eq!(layout(call.right), (false, 8, BufferRef::Input(1), 0));
    assert_eq!(call.bias.unwrap().buffer, BufferRef::Input(2));
    // A row that would be added to a sum that is rounded already is expanded first; so is one with
    // gaps.
    let copied = linear(7, tensor(bf16, &[2, 3, 8], &[30, 10, 1], 0)).unwrap();
    assert_eq!((gemm(&copied).bias, copied.steps.len()), (None, 3));
    assert_eq!(layout(gemm(&copied).left), (true, 8, BufferRef::Scratch(0), 0));
    assert_eq!(layout(gemm(&copied).addend.unwrap()), (true, 7, BufferRef::Scratch(1), 0));
    let single = [("input", dense(bf16, &[3, 5])), ("weight", tensor(bf16, &[5], &[2], 0))];
    let single = plan("linear", &single).unwrap();
    assert_eq!((gemm(&single).n, layout(gemm(&single).right).1), (1, 2));

    let vector = [("self", dense(bf16, &[3, 5])), ("vec", tensor(bf16, &[5], &[3], 1))];
    let vector = plan("mv", &vector).unwrap();
    let call = gemm(&vector);
    assert_eq!(([call.m, call.n, call.k], call.out.ld), ([3, 1, 5], 1));
    assert_eq!(layout(call.right), (true, 3, BufferRef::Input(1), 2));
}

#[test]
fn empty_products_are_zeros_and_what_is_not_computed_says_why() {
    let f32 = DType::F32;
    let mm = |left: &[usize], right: &[usize], dtype: DType| {
        plan("mm", &[("self", dense(dtype, left)), ("mat2", dense(dtype, right))])
    };
    assert_eq!(mm(&[0, 5], &[5, 7], f32).unwrap().steps, []);
    let zeros = mm(&[3, 0], &[0, 7], f32).unwrap().steps;
    assert_eq!(zeros, [Step::Fill { target: BufferRef::Output(0), byte: 0 }]);
    assert_eq!(
        plan("relu", &[("self", dense(f32, &[3]))]).unwrap_err(),
        "cublas computes no `relu`"
    );
}
