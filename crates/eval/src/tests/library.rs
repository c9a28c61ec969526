//! Steps of libraries in plans, on the emulator.

use kgen_record::{LibraryUse, Stage, Verdict};

use super::{EvalRequest, Evaluation, Limits, evaluate, request};

const FLOATS: &str = r#"["f32", "f16", "bf16"]"#;

fn judged(op: &str, dtypes: &str, cases: &str, plan: &str, kernel: &str) -> Evaluation {
    let file = format!("/*@plan\n{plan}\n@*/\n{kernel}");
    evaluate(&EvalRequest { libraries: true, ..request(op, dtypes, cases, &file) })
}

/// An epilogue that adds a row and rounds.
const EPILOGUE: &str = r#"
extern "C" __global__ void epilogue(const float* acc, const T_input* bias, T_out* out, long long all,
                                    long long n) {
    const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
    if (i < all) out[i] = kg::from_float<T_out>(acc[i] + (bias ? kg::to_float(bias[i % n]) : 0.0f));
}
"#;

/// A linear layer whose product is a library's.
const LINEAR: &str = r#"
x = contiguous(input)
w = contiguous(weight)
n = w.shape[0]
k = w.shape[1]
rows = prod(x.shape, 0, x.ndim - 1)
acc = scratch(rows * n * 4)
matmul(x, w, acc, m=rows, n=n, k=k, trans_b=True)
launch("epilogue", cdiv(rows * n, 128), 128, args=[ptr(acc), contiguous(bias), out, rows * n, n])
"#;

const LINEAR_CASES: &str = r#"[
    { input = "[17, 31]", weight = "[5, 31]", bias = "[5]" },
    { input = "[2, 3, 7] transposed", weight = "[1, 7]" },
    { input = "[3, 0]", weight = "[4, 0]", bias = "[4]" },
    { input = "[0, 3]", weight = "[4, 3]", bias = "[4]" },
]"#;

#[test]
fn a_product_between_kernels_is_right_and_said_to_be_a_librarys() {
    let evaluation = judged("linear", FLOATS, LINEAR_CASES, LINEAR, EPILOGUE);
    assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
    assert_eq!(evaluation.n_skipped(), 0);
    assert_eq!(evaluation.library_use, Some(LibraryUse::WithLibrary));
}

#[test]
fn wrong_fusions_are_found() {
    for (from, to) in [
        ("trans_b=True", "trans_b=False"),
        ("trans_b=True", "trans_b=True, trans_a=True"),
        ("trans_b=True", "trans_b=True, alpha=1.001"),
        ("m=rows", "m=rows // 2"),
        ("matmul(x, w, acc, ", "fill(acc, 63)\nmatmul(x, w, acc, accumulate=True, "),
    ] {
        let plan = LINEAR.replace(from, to);
        let evaluation = judged("linear", FLOATS, LINEAR_CASES, &plan, EPILOGUE);
        let expected =
            if to.contains("//") { Verdict::Uninitialised } else { Verdict::WrongOutput };
        assert_eq!(evaluation.verdict, expected, "{to}");
    }
}

const BMM: &str =
    "a = contiguous(self)\nb = contiguous(mat2)\nsizes = (a.shape[1], b.shape[2], a.shape[2])\n";
const BMM_CASES: &str =
    r#"[{ self = "[3, 5, 7]", mat2 = "[3, 7, 2]" }, { self = "[2, 4, 4]", mat2 = "[2, 4, 4]" }]"#;

fn bmm(step: &str) -> Evaluation {
    let plan = format!("{BMM}m, n, k = sizes\n{step}");
    judged("bmm", FLOATS, BMM_CASES, &plan, "")
}

#[test]
fn batches_accumulation_and_loops_over_matrices_agree() {
    for step in [
        "matmul(a, b, out, m=m, n=n, k=k, batch=a.shape[0])",
        "fill(out, 0)\nmatmul(a, b, out, m, n, k, a.shape[0], accumulate=True)",
        "s = a.itemsize\nfor i in range(a.shape[0]): matmul(ptr(a, i * m * k * s), ptr(b, i * k * n * s), \
         ptr(out, i * m * n * s), m, n, k)",
    ] {
        let evaluation = bmm(step);
        assert_eq!(evaluation.verdict, Verdict::Passed, "{step}: {evaluation:#?}");
    }
    assert_eq!(bmm("matmul(a, b, out, m=m, n=n, k=k)").verdict, Verdict::WrongOutput);
}

/// `addmm` by a product that is added to its scaled addend.
const ADDMM: &str = r#"
a = contiguous(mat1)
b = contiguous(mat2)
m, n, k = a.shape[0], b.shape[1], a.shape[1]
acc = scratch(m * n * 4)
launch("scale", cdiv(m * n, 128), 128, args=[expand(self, (m, n)), ptr(acc), f32(beta), m * n])
matmul(a, b, acc, m, n, k, alpha=alpha, accumulate=True)
launch("cast", cdiv(m * n, 128), 128, args=[ptr(acc), out, m * n])
"#;

const SCALE_AND_ROUND: &str = r#"
extern "C" __global__ void scale(const T_self* c, float* acc, float beta, long long all) {
    const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
    if (i < all) acc[i] = beta == 0.0f ? 0.0f : beta * kg::to_float(c[i]);
}
extern "C" __global__ void cast(const float* acc, T_out* out, long long all) {
    const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
    if (i < all) out[i] = kg::from_float<T_out>(acc[i]);
}
"#;

#[test]
fn factors_of_a_product_that_does_not_count_are_not_read() {
    let cases = r#"[
        { self = "[4, 5]", mat1 = "[4, 3]", mat2 = "[3, 5]", beta = 2, alpha = 0, distributions = ["specials"] },
        { self = "[5]", mat1 = "[4, 3]", mat2 = "[3, 5]", beta = 1, alpha = -0.5 },
    ]"#;
    let evaluation = judged("addmm", FLOATS, cases, ADDMM, SCALE_AND_ROUND);
    assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
}

#[test]
fn what_nobody_wrote_is_not_multiplied() {
    for (step, buffer) in [
        ("s = scratch(a.numel * a.itemsize)\nmatmul(s, b, out, m, n, k, a.shape[0])", "`s`[0]"),
        ("matmul(a, b, out, m, n, k, a.shape[0], accumulate=True)", "`out`[0]"),
    ] {
        let evaluation = bmm(step);
        assert_eq!(evaluation.verdict, Verdict::Uninitialised, "{step}");
        let case = evaluation.failed().next().unwrap();
        let finding = &case.findings[0];
        assert!(finding.message.contains(buffer), "{finding:?}");
        let line = 5 + u32::from(step.contains('\n'));
        assert_eq!(finding.span.as_ref().map(|span| span.line), Some(line + 1), "{finding:?}");
    }
}

#[test]
fn a_library_step_needs_leave() {
    let file = format!("/*@plan\n{LINEAR}\n@*/\n{EPILOGUE}");
    let evaluation = evaluate(&request("linear", FLOATS, LINEAR_CASES, &file));
    assert_eq!((evaluation.verdict, evaluation.stage), (Verdict::PlanError, Stage::Plan));
    let hint = evaluation.findings[0].hint.as_deref().unwrap_or_default();
    assert!(hint.contains("--libraries"), "{hint}");
    assert_eq!(evaluation.library_use, Some(LibraryUse::WithLibrary));
}

#[test]
fn products_spend_the_emulators_budget() {
    let step = "for i in range(2000): matmul(a, b, out, m, n, k, a.shape[0])";
    let file = format!("/*@plan\n{BMM}m, n, k = sizes\n{step}\n@*/\n");
    let limits = Limits { emu_lane_instructions: 100_000, ..Limits::default() };
    let request = request("bmm", r#"["f32"]"#, BMM_CASES, &file);
    let evaluation = evaluate(&EvalRequest { libraries: true, limits, ..request });
    assert_eq!((evaluation.n_passed(), evaluation.n_skipped()), (0, 2), "{evaluation:#?}");
}

/// A convolution of any rank in one type, with a kernel before it and one after it.
const CONV: &str = r#"
x = contiguous(input)
h = scratch(x.numel * x.itemsize)
launch("negate", cdiv(x.numel, 128), 128, args=[x, ptr(h), x.numel])
convolution(h, contiguous(weight), out, stride, padding, dilation, groups, shape=x.shape)
launch("epilogue", cdiv(out.numel, 128), 128,
       args=[out, contiguous(bias), prod(out.shape, 2), out.shape[1], out.numel])
"#;

const AROUND: &str = r#"
extern "C" __global__ void negate(const T_input* x, T_input* h, long long all) {
    const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
    if (i < all) h[i] = kg::from_float<T_input>(-kg::to_float(x[i]));
}
extern "C" __global__ void epilogue(T_out* out, const T_bias* bias, long long area, long long channels,
                                    long long all) {
    const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
    if (i >= all) return;
    const float row = bias ? kg::to_float(bias[i / area % channels]) : 0.0f;
    out[i] = kg::from_float<T_out>(row - kg::to_float(out[i]));
}
"#;

#[test]
fn convolutions_of_every_rank_are_right_and_wrong_ones_found() {
    for (op, cases) in [
        (
            "conv1d",
            r#"[{ input = "[2, 3, 17]", weight = "[4, 3, 5]", bias = "[4]", stride = [2], padding = [1], dilation = [2], groups = 1 }]"#,
        ),
        (
            "conv2d",
            r#"[{ input = "[2, 6, 9, 8]", weight = "[4, 3, 3, 2]", bias = "[4]", stride = [2, 1], padding = [1, 2], dilation = [1, 2], groups = 2 },
                { input = "[0, 3, 5, 5]", weight = "[4, 3, 2, 2]", stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1 }]"#,
        ),
        (
            "conv3d",
            r#"[{ input = "[1, 2, 5, 4, 6] transposed", weight = "[3, 2, 2, 3, 1]", stride = [1, 1, 2], padding = [1, 0, 0], dilation = [1, 1, 1], groups = 1 }]"#,
        ),
    ] {
        let evaluation = judged(op, r#"["f32"]"#, cases, CONV, AROUND);
        assert_eq!(evaluation.verdict, Verdict::Passed, "{op}: {evaluation:#?}");
        assert_eq!(evaluation.library_use, Some(LibraryUse::WithLibrary));
        let unread = CONV
            .replace("launch(\"negate\", cdiv(x.numel, 128), 128,", "launch(\"negate\", 0, 128,");
        let evaluation = judged(op, r#"["f32"]"#, cases, &unread, AROUND);
        assert_eq!(evaluation.verdict, Verdict::Uninitialised, "{op}");
    }
    let same = r#"[{ input = "[2, 4, 6, 6]", weight = "[4, 4, 3, 3]", bias = "[4]", stride = [1, 1], padding = [1, 1], dilation = [1, 1], groups = 1 }]"#;
    assert_eq!(judged("conv2d", r#"["f32"]"#, same, CONV, AROUND).verdict, Verdict::Passed);
    let dilated = CONV.replace("padding, dilation,", "2, 2,");
    assert_eq!(
        judged("conv2d", r#"["f32"]"#, same, &dilated, AROUND).verdict,
        Verdict::WrongOutput
    );
}
