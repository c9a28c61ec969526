//! Kernels for each kind of argument pass on the emulator.

mod bounds;
mod coverage;
mod library;

use std::io::Write as _;

use kgen_compile::testing::compiler;
use kgen_ops::suite;
use kgen_record::{
    CaseOutcome, CaseResult, EvalRequest, Evaluation, Implementation, Limits, Precision, Verdict,
    testing,
};

use super::{CpuOutcome, cpu_half};

/// Judges a kernel on cases as a suite file words them.
fn judged(op: &str, dtypes: &str, cases: &str, kernel: &str) -> Evaluation {
    judged_within(Limits::default(), op, dtypes, cases, kernel)
}

/// Judges as [`judged`] within some limits.
fn judged_within(limits: Limits, op: &str, dtypes: &str, cases: &str, kernel: &str) -> Evaluation {
    evaluate(&EvalRequest { limits, ..request(op, dtypes, cases, kernel) })
}

fn evaluate(request: &EvalRequest) -> Evaluation {
    let CpuOutcome { evaluation, .. } =
        cpu_half(request, &compiler(), &Default::default(), &mut |_| {}).unwrap();
    evaluation
}

fn request(op: &str, dtypes: &str, cases: &str, kernel: &str) -> EvalRequest {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let text = format!(
        "format = 1\nname = \"kinds\"\n[[ops]]\nname = \"{op}\"\ndtypes = {dtypes}\ncases = {cases}\n"
    );
    file.write_all(text.as_bytes()).unwrap();
    let suite = suite::load(file.path().to_str().unwrap()).unwrap_or_else(|e| panic!("{op}: {e}"));
    testing::request(op, Implementation::kernel(kernel), suite.cases(op, None, 1).unwrap())
}

fn passes(op: &str, dtypes: &str, cases: &str, kernel: &str) {
    let evaluation = judged(op, dtypes, cases, kernel);
    assert_eq!(evaluation.verdict, Verdict::Passed, "{op}: {evaluation:#?}");
    assert_eq!(evaluation.n_skipped(), 0, "{op}");
}

/// A relu whose threads count to `TURNS` first, which the compiler cannot know to be idle.
fn slow_relu(turns: &str) -> String {
    r#"/*@plan
launch("relu", grid=cdiv(self.numel, 128), block=128, args=[self, out, self.numel])
@*/
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  volatile int k = 0;
  while (k < TURNS) k = k + 1;
  if (i < n) y[i] = x[i] > T_self(0) ? x[i] : T_out(0);
}
"#
    .replace("TURNS", turns)
}

/// A budget of the emulator's own ends nothing but its look at the kernel.
#[test]
fn a_kernel_is_blamed_for_its_own_waste_alone() {
    let cases = r#"[{ self = "[700]" }, { self = "[7]" }, { self = "[8]" }, { self = "[9]" }]"#;
    let limits = Limits { emu_lane_instructions: 1_000_000, ..Limits::default() };
    let kernel = slow_relu("300");
    let cut = judged_within(limits, "relu", r#"["f32"]"#, cases, &kernel);
    let CaseOutcome::Skipped { reason } = &cut.cases[0].outcome else { panic!("{cut:#?}") };
    assert!(reason.contains("1.0 M lane instructions, the emulator's limit"), "{reason}");
    assert_eq!((cut.verdict, cut.n_passed()), (Verdict::Passed, 3), "{cut:#?}");
    passes("relu", r#"["f32"]"#, cases, &kernel);

    let waste = judged("relu", r#"["f32"]"#, cases, &slow_relu("100000000"));
    assert_eq!(waste.verdict, Verdict::TimedOut, "{waste:#?}");
    // The cheapest two are enough to know.
    let timed_out = |case: &CaseResult| case.outcome == CaseOutcome::Judged(Verdict::TimedOut);
    let tried: Vec<bool> = waste.cases.iter().map(timed_out).collect();
    assert_eq!(tried, [false, true, true, false]);
    let CaseOutcome::Skipped { reason } = &waste.cases[0].outcome else { panic!("{waste:#?}") };
    assert_eq!(reason, "2 cases timed out before it");
}

/// Blocks that have nothing to do with each other are looked at where there is no time for all.
#[test]
fn some_blocks_of_a_grid_too_large_are_judged() {
    let cases = r#"[{ self = "[1000000]" }]"#;
    let limits = Limits { emu_lane_instructions: 5_000_000, ..Limits::default() };
    let right = slow_relu("3");
    let skipped = judged_within(limits, "relu", r#"["f32"]"#, cases, &right);
    let CaseOutcome::Skipped { reason } = &skipped.cases[0].outcome else { panic!("{skipped:#?}") };
    assert!(reason.contains("; 64 of its 7813 blocks ran by themselves, and the 8"), "{reason}");
    let verdict = |kernel: &str| judged_within(limits, "relu", r#"["f32"]"#, cases, kernel).verdict;
    let last =
        right.replace("T_out(0);", "T_out(0);\n  if (i > 999990 && i < n) y[i] = T_out(-1);");
    assert_eq!(verdict(&last), Verdict::WrongOutput);
    // Of sums that several blocks add to, some blocks show nothing.
    let atomic =
        right.replace("if (i < n) y[i] =", "if (i < n) atomicAdd(y + i / 2, 1.0f); else y[0] =");
    assert_ne!(verdict(&atomic), Verdict::WrongOutput);
}

#[test]
fn comparisons_write_bools() {
    let kernel = r#"/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
launch("eq", grid=cdiv(out.numel, 128), block=128, args=[a, b, out, out.numel])
@*/
extern "C" __global__ void eq(const T_self* a, const T_other* b, T_out* y, long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = kg::from_acc<T_out>(kg::to_acc(a[i]) == kg::to_acc(b[i]));
}
"#;
    let cases = r#"[{ self = "[0]", other = "[0]" }, { self = "[]", other = "[]" },
        { self = "[3, 1, 65]", other = "[4, 65]", distributions = ["ties", "specials"] },
        { self = "[33, 17] transposed", other = "[1]" }]"#;
    passes("eq", r#"["f32", "bf16", "i64", "i32", "bool"]"#, cases, kernel);
}

#[test]
fn masks_choose_between_tensors() {
    let kernel = r#"/*@plan
c = expand(condition, out.shape)
a = expand(self, out.shape)
b = expand(other, out.shape)
launch("pick", grid=cdiv(out.numel, 128), block=128, args=[c, a, b, out, out.numel])
@*/
extern "C" __global__ void pick(const T_condition* c, const T_self* a, const T_other* b, T_out* y,
                                long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = c[i] ? a[i] : b[i];
}
"#;
    let cases = r#"[{ condition = "bool[]", self = "[]", other = "[]" },
        { condition = "bool[5, 1]", self = "[5, 33]", other = "[33]", distributions = ["normal", "specials"] },
        { condition = "bool[0, 4]", self = "[4]", other = "[1]" }]"#;
    passes("where", r#"["f16", "i64"]"#, cases, kernel);
}

#[test]
fn casts_know_every_type() {
    let kernel = r#"/*@plan
x = contiguous(self)
launch("cast", grid=cdiv(x.numel, 128), block=128, args=[x, out, x.numel])
@*/
extern "C" __global__ void cast(const T_self* x, T_out* y, long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = kg::from_acc<T_out>(kg::to_acc(x[i]));
}
"#;
    for to in ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"] {
        let cases = format!(
            r#"[{{ self = "[65]", dtype = "{to}" }}, {{ self = "[7, 33] transposed", dtype = "{to}" }},
            {{ self = "[]", dtype = "{to}" }}]"#
        );
        passes("to_copy", r#"["f32", "f16", "i32", "bool"]"#, &cases, kernel);
    }
}

/// Copies pieces along a dimension; `at` is the position of the piece in the larger tensor.
const PIECE: &str = r#"
extern "C" __global__ void piece(const T_IN* x, T_out* y, long long n, long long chunk,
                                 long long x_row, long long x_at, long long y_row, long long y_at) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i / chunk * y_row + y_at + i % chunk] = x[i / chunk * x_row + x_at + i % chunk];
}
"#;

#[test]
fn lists_of_tensors_are_joined() {
    let plan = r#"/*@plan
d = dim if dim >= 0 else dim + out.ndim
inner = 1
for i in range(d + 1, out.ndim):
    inner *= out.shape[i]
at = 0
define("T_IN", tensors[0].dtype)
for t in tensors:
    if t.numel > 0:
        x = contiguous(t)
        chunk = x.shape[d] * inner
        launch("piece", grid=cdiv(x.numel, 128), block=128,
               args=[x, out, x.numel, chunk, chunk, 0, out.shape[d] * inner, at])
        at += chunk
@*/"#;
    let cases = r#"[{ tensors = ["[3]", "[0]", "[65]"] },
        { tensors = ["[2, 3, 4]", "[2, 5, 4] transposed", "[2, 1, 4]"], dim = -2 },
        { tensors = ["[7, 2] gap"], dim = 1 }]"#;
    passes("cat", r#"["f32", "i64"]"#, cases, &format!("{plan}{PIECE}"));
    let plan = r#"/*@plan
d = dim if dim >= 0 else dim + out.ndim
inner = 1
for i in range(d + 1, out.ndim):
    inner *= out.shape[i]
define("T_IN", tensors[0].dtype)
for k in range(len(tensors)):
    x = contiguous(tensors[k])
    launch("piece", grid=cdiv(x.numel, 128), block=128,
           args=[x, out, x.numel, inner, inner, 0, len(tensors) * inner, k * inner])
@*/"#;
    let cases = r#"[{ tensors = ["[]", "[]"] }, { tensors = ["[5, 3]", "[5, 3] transposed"], dim = -1 },
        { tensors = ["[0, 3]"] }]"#;
    passes("stack", r#"["bf16", "i64"]"#, cases, &format!("{plan}{PIECE}"));
}

#[test]
fn lists_of_outputs_are_tuples_whose_length_the_call_decides() {
    let plan = r#"/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
inner = 1
for i in range(d + 1, x.ndim):
    inner *= x.shape[i]
define("T_IN", x.dtype)
at = 0
for k in range(len(out)):
    chunk = out[k].shape[d] * inner
    launch("piece", grid=cdiv(out[k].numel, 128), block=128,
           args=[x, out[k], out[k].numel, chunk, x.shape[d] * inner, at, chunk, 0])
    at += chunk
@*/"#;
    let cases = r#"[{ self = "[7]", split_size = 3 }, { self = "[7]", split_size = 9 },
        { self = "[4, 9] transposed", split_size = 2, dim = -1 }]"#;
    let kernel = format!("{plan}{PIECE}");
    passes("split", r#"["f32", "i64"]"#, cases, &kernel);
    let plan = plan.replace("chunk = out[k].shape[d] * inner", "chunk = inner");
    let cases = r#"[{ self = "[1, 5]" }, { self = "[3, 65]" }, { self = "[4, 3, 5]", dim = 1 }]"#;
    passes("unbind", r#"["f16", "bool"]"#, cases, &format!("{plan}{PIECE}"));
}

#[test]
fn fp8_is_a_type_like_any_other() {
    let kernel = r#"/*@plan
x = contiguous(self)
launch("cast", grid=cdiv(x.numel, 128), block=128, args=[x, out, x.numel, scale])
@*/
extern "C" __global__ void cast(const T_self* x, T_out* y, long long n, const T_scale* scale) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = kg::from_float<T_out>(kg::to_float(x[i]) / *scale);
}
"#;
    let cases = r#"[{ self = "[65]", scale = "[]" }, { self = "[7, 33] transposed", scale = "[]" },
        { self = "[3, 3]", scale = "[]", dtype = "f8e5m2" }]"#;
    passes("quantize_fp8", r#"["f32", "bf16"]"#, cases, kernel);
}

/// A kernel that passes values inside through a function `inside`, which rounds them to a type.
struct Rounded {
    op: &'static str,
    cases: &'static str,
    kernel: &'static str,
}

impl Rounded {
    fn verdict(&self, precision: Precision, inside: &str) -> Verdict {
        let rounded = match inside {
            "f16" => "__half2float(__float2half_rn(x))",
            "bf16" => "__bfloat162float(__float2bfloat16_rn(x))",
            _ => "x",
        };
        let head = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n\
            __device__ float inside(float x) { return ROUNDED; }\nextern \"C\"";
        let kernel = self.kernel.replace("extern \"C\"", &head.replace("ROUNDED", rounded));
        let request = request(self.op, r#"["f16"]"#, self.cases, &kernel);
        evaluate(&EvalRequest { precision, ..request }).verdict
    }

    /// Values rounded to f16 inside pass as `eager` alone, to bf16 not at all.
    fn is_eager(&self) {
        let Self { op, .. } = self;
        assert_eq!(self.verdict(Precision::Strict, "f32"), Verdict::Passed, "{op}");
        assert_eq!(self.verdict(Precision::Strict, "f16"), Verdict::WrongOutput, "{op}");
        assert_eq!(self.verdict(Precision::Eager, "f16"), Verdict::Passed, "{op}");
        assert_eq!(self.verdict(Precision::Eager, "bf16"), Verdict::WrongOutput, "{op}");
    }
}

#[test]
fn values_between_steps_are_rounded_as_eager_alone() {
    let mse = Rounded {
        op: "mse_loss",
        cases: r#"[{ self = "[5000]", target = "[5000]", reduction = 0 }]"#,
        kernel: r#"/*@plan
launch("mse", grid=cdiv(self.numel, 128), block=128, args=[self, target, out, self.numel])
@*/
extern "C" __global__ void mse(const T_self* a, const T_target* b, T_out* y, long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const float d = inside(kg::to_float(a[i]) - kg::to_float(b[i]));
  y[i] = kg::from_float<T_out>(d * d);
}
"#,
    };
    mse.is_eager();

    let large = |square: &str| Rounded {
        cases: r#"[{ self = "[500]", target = "[500]", distributions = ["large"] }]"#,
        kernel: MEAN_OF_SQUARES.replace("SQUARE", square).leak(),
        ..mse
    };
    let honest = large("inside(d * d)");
    assert_eq!(honest.verdict(Precision::Eager, "f16"), Verdict::Passed, "squares overflow f16");
    assert_eq!(honest.verdict(Precision::Strict, "f16"), Verdict::WrongOutput);
    let wrong = large("0.5f * d * d");
    assert_eq!(wrong.verdict(Precision::Eager, "f16"), Verdict::WrongOutput, "finite and wrong");
    let silent = large("0.0f; return");
    assert_eq!(silent.verdict(Precision::Eager, "f16"), Verdict::WrongOutput, "never written");
}

const MEAN_OF_SQUARES: &str = r#"/*@plan
launch("mse", grid=1, block=32, args=[self, target, out])
@*/
extern "C" __global__ void mse(const T_self* a, const T_target* b, T_out* y) {
  if (threadIdx.x > 0) return;
  float sum = 0.0f;
  for (int i = 0; i < 500; ++i) {
    const float d = inside(kg::to_float(a[i]) - kg::to_float(b[i]));
    sum += SQUARE;
  }
  *y = kg::from_float<T_out>(sum / 500.0f);
}
"#;

#[test]
fn accumulators_are_rounded_as_eager_alone() {
    let cumsum = Rounded {
        op: "cumsum",
        cases: r#"[{ self = "[40, 200]", dim = 1 }]"#,
        kernel: r#"/*@plan
launch("scan", grid=1, block=64, args=[self, out])
@*/
extern "C" __global__ void scan(const T_self* x, T_out* y) {
  if (threadIdx.x >= 40) return;
  float sum = 0.0f;
  for (int i = threadIdx.x * 200; i < threadIdx.x * 200 + 200; ++i) {
    sum = inside(sum + kg::to_float(x[i]));
    y[i] = kg::from_float<T_out>(sum);
  }
}
"#,
    };
    cumsum.is_eager();
}

#[test]
fn quotients_are_rounded_before_they_are_cut_as_eager_alone() {
    let div = |mode: &str, cut: &str| {
        let kernel = r#"/*@plan
launch("cut", grid=cdiv(self.numel, 128), block=128, args=[self, other, out, self.numel])
@*/
extern "C" __global__ void cut(const T_self* a, const T_other* b, T_out* y, long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const float q = inside(__fdiv_rn(kg::to_float(a[i]), kg::to_float(b[i])));
  y[i] = kg::from_float<T_out>(CUT(q));
}
"#;
        let cases = r#"[{ self = "[9000]", other = "[9000]", rounding_mode = "MODE" }]"#;
        Rounded {
            op: "div.Tensor_mode",
            cases: cases.replace("MODE", mode).leak(),
            kernel: kernel.replace("CUT", cut).leak(),
        }
    };
    div("trunc", "truncf").is_eager();
    div("floor", "floorf").is_eager();
    assert_eq!(div("trunc", "floorf").verdict(Precision::Eager, "f16"), Verdict::WrongOutput);
}

/// A kernel that writes nothing is right for tensors without elements, and proved by none of them.
#[test]
fn nothing_passes_by_cases_without_elements_alone() {
    let idle = r#"/*@plan
launch("idle", grid=1, block=32, args=[out])
@*/
extern "C" __global__ void idle(T_out* out) {}
"#;
    let empty = judged("relu", r#"["f32"]"#, r#"[{ self = "[0]" }, { self = "[3, 0]" }]"#, idle);
    assert_eq!((empty.verdict, empty.n_passed()), (Verdict::Unsupported, 2), "{empty:#?}");
    let message = "no case that ran has elements, so nothing is proved";
    assert_eq!(empty.findings[0].message, message);
}
