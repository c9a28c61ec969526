use kgen_record::{
    BufferOffset, BufferRef, Convolution, DType, Gemm, LibraryUse, Matrix, Precision, Step, Target,
    TensorSpec,
};

use super::super::{
    Env, LaunchPlanError, library_use,
    tests::{case, env, run, tensor},
};
use crate::KernelFile;

/// Resolves a plan that may call libraries; inputs are those of [`env`].
fn resolved(plan: &str, precision: Precision) -> Result<Vec<Step>, LaunchPlanError> {
    run(&env().with_libraries(Some(precision)), plan, &[]).map(|plan| plan.steps)
}

/// Returns the message of a plan's error with its hint.
fn error(plan: &str) -> String {
    resolved(plan, Precision::Strict).unwrap_err().to_string()
}

/// `self` is f32[6, 8], `t` a transposed f32[5, 4], `out` f32[6, 8].
fn product(plan: &str, precision: Precision) -> Gemm<BufferRef> {
    let steps = resolved(plan, precision).unwrap_or_else(|error| panic!("{plan}: {error}"));
    let Some(Step::Gemm { call }) = steps.last() else { panic!("{plan}: {steps:?}") };
    (**call).clone()
}

#[test]
fn a_product_says_where_its_matrices_lie() {
    let plan = "a = scratch(4096)\nmatmul(ptr(self, 16), a, out, m=3, n=2, k=4, batch=2, trans_b=True, alpha=-0.5, \
                accumulate=True)";
    let call = product(plan, Precision::Strict);
    let matrix = |buffer, byte_offset, row_major, ld, batch_stride| Matrix {
        at: BufferOffset { buffer, byte_offset },
        row_major,
        ld,
        batch_stride,
    };
    let out = matrix(BufferRef::Output(0), 0, true, 2, 6);
    let expected = Gemm {
        dtype: DType::F32,
        out_dtype: DType::F32,
        m: 3,
        n: 2,
        k: 4,
        batch: 2,
        left: matrix(BufferRef::Input(0), 16, true, 4, 12),
        right: matrix(BufferRef::Scratch(0), 0, false, 4, 8),
        out,
        addend: Some(out),
        bias: None,
        alpha: -0.5,
        beta: 1.0,
        tf32: false,
        line: Some(3),
    };
    assert_eq!(call, expected);
}

#[test]
fn types_come_from_tensors_and_results_in_scratch_are_f32() {
    let sizes = "m=2, n=2, k=2";
    let types = |plan: &str| {
        let call = product(plan, Precision::Strict);
        (call.dtype, call.out_dtype)
    };
    // `other` is f16[8] from its third element on.
    let half = format!("s = scratch(16)\nmatmul(other, s, s2, {sizes})").replace("s2", "ptr(s, 0)");
    assert!(error(&half).contains("overlaps"), "{}", error(&half));
    let half = format!("s = scratch(8)\nacc = scratch(16)\nmatmul(other, s, acc, {sizes})");
    assert_eq!(types(&half), (DType::F16, DType::F32));
    assert_eq!(
        types(&format!("matmul(other, ptr(other, 4), out, {sizes})")),
        (DType::F16, DType::F32)
    );
    let wide = format!(
        "s = scratch(64)\nacc = scratch(32)\nmatmul(s, ptr(s, 32), acc, {sizes}, dtype='f64')"
    );
    assert_eq!(types(&wide), (DType::F64, DType::F64));
    let of_precision =
        |precision| product(&format!("matmul(self, self, out, {sizes})"), precision).tf32;
    assert!(of_precision(Precision::Tf32));
    assert!(!of_precision(Precision::TorchDefault) && !of_precision(Precision::Low));
}

#[test]
fn a_product_without_a_result_is_left_out() {
    let steps = |plan: &str| resolved(plan, Precision::Strict).unwrap();
    assert!(steps("matmul(self, self, out, m=0, n=2, k=2)").is_empty());
    assert!(steps("matmul(self, self, out, m=2, n=2, k=0, accumulate=True)").is_empty());
    assert_eq!(product("matmul(self, self, out, m=1, n=8, k=0)", Precision::Strict).k, 0);
}

#[test]
fn what_does_not_fit_is_an_error_with_its_remedy() {
    for (plan, said) in [
        ("matmul(self, self, out, m=6, n=8, k=9)", "does not fit the 192 bytes"),
        ("matmul(self, self, out, m=7, n=8, k=1)", "`out` of `matmul` is [1, 7, 8] of f32"),
        ("matmul(self, self, out, m=6, n=8, k=8, batch=2)", "does not fit"),
        ("matmul(self, self, out, m=1 << 40, n=1, k=1)", "too large"),
        ("matmul(self, self, out, m=1 << 30, n=1 << 30, k=1 << 30)", "does not fit"),
        ("matmul(self, self, out, m=-1, n=1, k=1)", "at least 0"),
        ("matmul(ptr(self, 190), self, out, m=1, n=1, k=1)", "no multiple of 4"),
        ("matmul(ptr(self, 192), self, out, m=1, n=1, k=1)", "does not fit the 0 bytes"),
        ("matmul(ptr(self, 1 << 50), self, out, m=1, n=1, k=1)", "does not fit the 0 bytes"),
        ("matmul(self, self, self, m=1, n=1, k=1)", "read-only"),
        ("matmul(t, self, out, m=1, n=1, k=1)", "contiguous(x)"),
        ("matmul(other, self, out, m=1, n=1, k=1)", "one element type"),
        ("matmul(self, other, out, m=1, n=1, k=1, dtype=self.dtype)", "one element type"),
        ("matmul(self, self, ptr(other), m=1, n=1, k=1)", "read-only"),
        ("s = scratch(64)\nmatmul(self, s, ptr(s, 12), m=2, n=2, k=2)", "overlaps"),
        ("s = scratch(8)\nmatmul(self, self, s, m=2, n=2, k=2)", "a product in scratch is f32"),
        ("s = scratch(8)\nmatmul(s, s, out, m=1, n=1, k=1)", "dtype=x.dtype"),
        (
            "s = scratch(8)\nmatmul(s, s, out, m=1, n=1, k=1, dtype='i32')",
            "does not compute in i32",
        ),
        ("matmul(self, 3, out, m=1, n=1, k=1)", "found an integer"),
        ("matmul(self, weight, out, m=1, n=1, k=1)", "found None"),
        ("matmul(self, self, out, m=1, n=1)", "`matmul` misses `k`"),
        ("matmul(self, self, out, m=1, n=1, k=1, alpha='x')", "finite number"),
        ("for i in range(5000): matmul(self, self, out, m=1, n=1, k=1)", "more than 4096"),
    ] {
        assert!(error(plan).contains(said), "{plan}: {}", error(plan));
    }
}

#[test]
fn without_leave_a_library_step_is_refused_with_the_flags_name() {
    let plan = "matmul(self, self, out, m=1, n=1, k=1)";
    let refused = run(&env(), plan, &[]).unwrap_err().to_string();
    assert!(refused.contains("calls a library") && refused.contains("--libraries"), "{refused}");
    let kind = |plan: &str| {
        let text = format!("/*@plan\n{plan}\n@*/\n// matmul(");
        library_use(&KernelFile::parse(&text).unwrap())
    };
    assert_eq!(kind(plan), LibraryUse::WithLibrary);
    assert_eq!(kind("if False:\n    matmul(1)"), LibraryUse::WithLibrary);
    assert_eq!(kind("x = 'matmul('  # matmul(\nlaunch('matmul', 1, 1)"), LibraryUse::DeviceOnly);
}

/// The names of a case of convolutions.
fn images() -> Env {
    let of = |shape: &[usize]| tensor(TensorSpec::contiguous(DType::F32, shape));
    let image = ("image", of(&[2, 6, 9, 8]));
    let rest = [("filter", of(&[4, 3, 3, 2])), ("row", of(&[2, 4, 5])), ("taps", of(&[3, 4, 2]))];
    let case = case(&[&[image], &rest[..]].concat());
    Env::new(&case, &[TensorSpec::contiguous(DType::F32, &[2, 3, 6])], &Target::h100_class())
}

/// `image` is f32[2, 6, 9, 8], `filter` f32[4, 3, 3, 2], `row` f32[2, 4, 5], `taps` f32[3, 4, 2].
fn convolved(plan: &str, precision: Precision) -> Result<Convolution<BufferRef>, String> {
    let env = images().with_libraries(Some(precision));
    let plan = run(&env, plan, &[]).map_err(|error| error.to_string())?;
    match plan.steps.last() {
        Some(Step::Convolution { call }) => Ok((**call).clone()),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn a_convolution_says_how_its_windows_move() {
    let plan =
        "convolution(image, filter, scratch(4096), (2, 1), padding=1, dilation=[2], groups=2)";
    let call = convolved(plan, Precision::TorchDefault).unwrap();
    assert_eq!(call.out_shape, [2, 4, 4, 8]);
    assert_eq!((call.stride, call.padding, call.dilation), (vec![2, 1], vec![1, 1], vec![2, 2]));
    assert_eq!((call.groups, call.dtype, call.tf32, call.line), (2, DType::F32, true, 2));
    assert!(!convolved(plan, Precision::Strict).unwrap().tf32);
    let plan = "convolution(image, filter, scratch(4096), shape=(3, 9, 8))";
    let call = convolved(plan, Precision::Strict).unwrap();
    assert_eq!((call.input_shape, call.out_shape), (vec![1, 3, 9, 8], vec![1, 4, 7, 7]));
    let plan =
        "s = scratch(160)\nfill(s, 0)\nconvolution(s, taps, out, padding=1, shape=row.shape)";
    let call = convolved(plan, Precision::Tf32).unwrap();
    assert_eq!((call.input_shape, call.out_shape), (vec![2, 4, 5], vec![2, 3, 6]));
    assert_eq!((call.input.buffer, call.out.buffer), (BufferRef::Scratch(0), BufferRef::Output(0)));
}

#[test]
fn a_convolution_that_does_not_fit_is_an_error_with_its_remedy() {
    for (plan, said) in [
        ("convolution(row, taps, out)", "gives [2, 3, 4], and `out` is [2, 3, 6]"),
        ("convolution(row, taps, out, padding=2)", "`out` of `convolution` is [2, 3, 8] of f32"),
        ("convolution(row, taps, out, padding=(1, 1))", "2 numbers for 1 spatial"),
        ("convolution(row, taps, out, stride=0)", "at least 1"),
        ("convolution(row, taps, out, padding='same')", "expected an integer"),
        ("convolution(row, taps, out, dilation=9)", "reaches over 10 does not fit 5"),
        ("convolution(row, taps, out, groups=2)", "2 groups do not fit"),
        ("convolution(row, filter, out, shape=(2, 3))", "1 to 3 spatial extents"),
        ("convolution(row, ptr(taps), out)", "`w` of `convolution` is a tensor"),
        ("convolution(ptr(row), taps, out)", "shape=(n, c, h, w)"),
        ("convolution(row, taps, out, padding=1, shape=(3, 4, 5))", "does not fit"),
        ("convolution(row, taps, row, padding=1)", "read-only"),
        ("s = scratch(143)\nconvolution(row, taps, s, padding=1)", "does not fit the 143 bytes"),
        (
            "s = scratch(999)\nconvolution(s, taps, ptr(s, 8), padding=1, shape=row.shape)",
            "overlaps",
        ),
    ] {
        let error = convolved(plan, Precision::Strict).unwrap_err();
        assert!(error.contains(said), "{plan}: {error}");
    }
    let refused = run(&images(), "convolution(row, taps, out, padding=1)", &[]).unwrap_err();
    assert!(refused.to_string().contains("--libraries"), "{refused}");
}
