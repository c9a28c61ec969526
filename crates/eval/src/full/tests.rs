//! Full-size cases in small, on the emulator: the same kernels, the same code around them.

use std::{io::Write as _, sync::LazyLock};

use kgen_compile::testing::compiler;
use kgen_device::{Device, EmuDevice, Image, ModuleId};
use kgen_ops::{op::Counter, suite};
use kgen_record::{
    CaseOutcome, DType, Emulation, EvalRequest, FullSize, Gen, Implementation, Sanitize, Target,
    TensorArg, TensorSpec, Verdict, testing,
};

use super::{
    Prepared,
    device_kernels::{DeviceKernels, DifferingElements, NearBound, OutputPair},
    load::{Trusted, TrustedBy},
};
use crate::{
    Job, Program, Variant,
    execute::{CaseData as _, Ran},
    full,
    prepare::{Source, full_size_kernels},
    session::{Modules, Session},
};

fn request(op: &str, dtype: &str, case: &str, kernel: &str) -> EvalRequest {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let head = "format = 1\nname = \"full\"\n[[ops]]\nname = ";
    let case = format!("{{ {case}, class = \"realistic\" }}");
    write!(file, "{head}\"{op}\"\ndtypes = [\"{dtype}\"]\ncases = [{case}]\n").unwrap();
    let suite = suite::load(file.path().to_str().unwrap()).unwrap();
    testing::request(op, Implementation::kernel(kernel), suite.cases(op, None, 1).unwrap())
}

fn device() -> EmuDevice {
    let mut device = EmuDevice::new(&Target::h100_class());
    device.set_budget(4_000_000_000);
    // A GPU does not see missing writes either.
    device.set_emulation(Emulation { sanitize: Sanitize::Bounds, counters: false });
    device
}

fn load(device: &mut EmuDevice, variant: &Variant) -> ModuleId {
    device.load(&Image { ptx: &variant.ptx, cubin: &variant.cubin }).unwrap()
}

fn kit(device: &mut EmuDevice) -> DeviceKernels {
    static OWN: LazyLock<Variant> = LazyLock::new(|| {
        let request = request("relu", "f32", r#"self = "[1]""#, "");
        let dtypes: Vec<DType> = DType::ALL.into_iter().filter(|dtype| !dtype.is_fp8()).collect();
        full_size_kernels(&request.target, &compiler(), &dtypes).unwrap()
    });
    DeviceKernels { module: load(device, &OWN) }
}

fn program(request: &EvalRequest) -> Program {
    let job = Job::resolve(request).unwrap();
    Source::candidate(&job).build(&compiler(), &|_| true, &mut |_| {}).unwrap().program
}

/// A request and the trusted kernel, loaded.
struct Loaded {
    request: EvalRequest,
    candidate: Program,
    trusted: Program,
}

impl Loaded {
    fn new(request: EvalRequest) -> Self {
        let trusted = full::trusted(&Job::resolve(&request).unwrap()).unwrap();
        let candidate = Implementation::kernel(trusted);
        let trusted = program(&EvalRequest { candidate, ..request.clone() });
        Self { candidate: program(&request), trusted, request }
    }

    fn judge(&self, device: &mut EmuDevice) -> Ran {
        let prepared =
            Prepared::new(&Job::resolve(&self.request).unwrap(), &self.request.cases[0]).unwrap();
        let (trusted, modules) = self.load(device);
        full::judge(device, &prepared, trusted, &self.candidate.cases[0], modules).unwrap()
    }

    fn load(&self, device: &mut EmuDevice) -> (Trusted<'_>, Modules<'_>) {
        let kit = kit(device);
        let mut modules = |program: &Program| {
            let candidate = load(device, &program.variants[0]);
            Modules::loaded(Some(candidate), program.copy.as_ref().map(|copy| load(device, copy)))
        };
        let trusted = modules(&self.trusted);
        let program = &self.trusted.cases[0];
        (
            Trusted { kit, by: TrustedBy::Kernel { program, modules: trusted } },
            modules(&self.candidate),
        )
    }
}

fn judged(op: &str, dtype: &str, case: &str, kernel: &str) -> (Ran, FullSize) {
    let mut ran = Loaded::new(request(op, dtype, case, kernel)).judge(&mut device());
    let record = ran.result.full_size.take().unwrap();
    (ran, record)
}

/// A relu with a statement behind the element's own; `i` is the element, `n` their number.
fn relu(statement: &str) -> String {
    format!(
        r#"/*@plan
launch("relu", grid=cdiv(self.numel, 256), block=256, args=[self, out, self.numel])
@*/
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) {{
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float value = kg::to_float(x[i]);
  y[i] = kg::from_float<T_out>(value < 0.0f ? 0.0f : value);
  {statement}
}}
"#
    )
}

const LARGE: &str = r#"self = "[40, 1025]""#;

#[test]
fn the_device_makes_the_bits_that_the_host_makes() {
    let mut device = device();
    let kit = kit(&mut device);
    let generators = [
        Gen::Normal { mean: 0.5, std: 2.0 },
        Gen::Uniform { low: -1.0, high: 3.0 },
        Gen::Constant { value: 0.7 },
        Gen::Int { low: -100, high: 100 },
        Gen::IndexOr { bound: 50, other: -7 },
        Gen::Exact { magnitude: 31, nonzero: 5, row: 64 },
        Gen::Ties,
        Gen::Mask { p: 0.3 },
        Gen::Arange { start: 0.25, step: 0.1 },
        Gen::Triangle { rows: 3, diagonal: 300, lower: true, inside: 1.0, outside: 0.0 },
        Gen::Triangle { rows: 3, diagonal: 300, lower: false, inside: 1.0, outside: 0.0 },
    ];
    let n = 1000;
    for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_fp8()) {
        for generator in generators {
            let tensor = TensorArg { spec: TensorSpec::contiguous(dtype, &[n]), generator };
            let counter = Counter::new(&tensor, 3, "case", "self").unwrap();
            let buffer = device.alloc("x", n * dtype.size(), dtype.size()).unwrap();
            kit.fill(&mut device, buffer, n, &counter).unwrap();
            let mut host = vec![0; n * dtype.size()];
            counter.fill(&mut host, |place| place);
            assert_eq!(device.read(buffer).unwrap(), host, "{dtype} {generator:?}");
            assert_eq!(kit.changed(&mut device, buffer, n, &counter).unwrap(), None);
            for at in [700, 999, 301] {
                host[at * dtype.size()] ^= 1;
            }
            device.write(buffer, &host).unwrap();
            let changed = kit.changed(&mut device, buffer, n, &counter).unwrap();
            assert_eq!(changed, Some(301), "{dtype} {generator:?}");
            device.free(buffer);
        }
    }
}

/// Compares two f32 tensors.
fn differ(left: &[f32], right: &[f32], near: NearBound, capacity: usize) -> DifferingElements {
    let mut device = device();
    let kit = kit(&mut device);
    let mut buffer = |values: &[f32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let buffer = device.alloc("x", bytes.len(), 4).unwrap();
        device.write(buffer, &bytes).unwrap();
        buffer
    };
    let (candidate, trusted) = (buffer(left), buffer(right));
    let pair = OutputPair { candidate, trusted, dtype: DType::F32, numel: left.len() };
    kit.differ(&mut device, pair, 0x5b, near, capacity).unwrap()
}

const NEAR: NearBound = NearBound { exact: false, signed_zero: false, ulps: 2.0, absolute: 1e-3 };

#[test]
fn elements_are_counted_by_their_distance() {
    let ulp = f32::EPSILON;
    let poison = f32::from_le_bytes([0x5b; 4]);
    let right = [1.0, 8.0, 1e4, 0.0, f32::NAN, f32::INFINITY, 1.0, 5.0, 0.0];
    let left = [1.0 + 2.0 * ulp, 8.001, 1.1e4, -0.0, f32::NAN, 1.0, f32::NAN, poison, 4e-3];
    let found = differ(&left, &right, NEAR, 10);
    assert_eq!(found.n_poisoned, 1);
    // 8.001 is 1.0002 of the bound, 4e-3 four times; 1e4 may be off by two of its ulps.
    let at = |distance: usize| found.by_distance[distance - 1];
    assert_eq!((at(1), at(3), at(19), at(63)), (1, 1, 1, 2));
    assert_eq!(found.listed, [1, 2, 5, 6, 7, 8]);
    let exact = NearBound { exact: true, signed_zero: true, ..NEAR };
    assert_eq!(differ(&left, &right, exact, 10).listed, [0, 1, 2, 3, 5, 6, 7, 8]);
    // Too many: the farthest.
    assert_eq!(differ(&left, &right, NEAR, 4).listed, [2, 5, 6, 7]);
}

#[test]
fn a_right_kernel_passes_with_every_element_compared() {
    for dtype in ["f32", "f16", "bf16"] {
        let (ran, record) = judged("relu", dtype, LARGE, &relu(""));
        assert_eq!(ran.result.outcome, CaseOutcome::Judged(Verdict::Passed), "{:#?}", ran.result);
        assert_eq!((record.data_sets, record.compared, record.differing), (2, 2 * 40 * 1025, 0));
        assert!(record.judged >= 2 * 3900 && !record.against_itself, "{record:?}");
    }
}

#[test]
fn elements_that_differ_do_not_count_for_how_often_results_are_misrounded() {
    // As honest as the builtin kernel in f32, and rounded differently in the last bit now and then.
    let kernel = relu("")
        .replace("\"relu\"", "\"gelu\"")
        .replace("void relu", "void gelu")
        .replace(
            "value < 0.0f ? 0.0f : value",
            "0.5f * value * (1.0f + tanhf(0.79788456f * (value + 0.044715f * value * value * value)))",
        );
    let case = r#"self = "[40, 1025]", approximate = "tanh""#;
    let (ran, record) = judged("gelu", "f16", case, &kernel);
    assert_eq!(ran.result.outcome, CaseOutcome::Judged(Verdict::Passed), "{:#?}", ran.result);
    // Of the differing elements every other one at least is misrounded; of the chosen ones hardly
    // any.
    assert!(ran.rounding.n_misrounded < record.differing / 4, "{:?} {record:?}", ran.rounding);
}

#[test]
fn one_wrong_element_is_found_wherever_it_is() {
    let (ran, record) = judged("relu", "f32", LARGE, &relu("if (i == 33333) y[i] += 0.001f;"));
    assert_eq!(ran.result.outcome, CaseOutcome::Judged(Verdict::WrongOutput));
    assert_eq!((record.data_sets, record.differing), (1, 1));
    let mismatch = ran.result.mismatch.unwrap();
    assert_eq!((mismatch.n_wrong, mismatch.first.len()), (1, 1));
    assert_eq!(mismatch.first[0].index, [33333 / 1025, 33333 % 1025]);
}

#[test]
fn what_was_not_written_is_found_after_either_poison() {
    let skips = relu("").replace("if (i >= n) return;", "if (i >= n || i == 40000) return;");
    let (ran, record) = judged("relu", "f32", LARGE, &skips);
    let mismatch = ran.result.mismatch.unwrap();
    assert_eq!((record.differing, mismatch.n_unwritten), (1, 1), "{:?}", ran.result.findings);
    let said =
        ran.result.findings.iter().any(|finding| finding.message.contains("1 elements hold"));
    assert!(said, "{:?}", ran.result.findings);
}

#[test]
fn results_of_other_data_and_changed_inputs_are_found() {
    // Keeps a value of the first run.
    let stale = relu("if (i == 9) y[i] = x[9] > 0.0f ? x[9] : 0.0f; else if (i == 8) y[i] = KEPT;");
    let loaded = Loaded::new(request("relu", "f32", LARGE, &relu("")));
    let prepared =
        Prepared::new(&Job::resolve(&loaded.request).unwrap(), &loaded.request.cases[0]).unwrap();
    let values = |set: usize| prepared.sets[set].values.all(prepared.case);
    assert!((values(0)[0].get(8) - values(1)[0].get(8)).abs() > 1e-3);
    let kept = values(0)[0].get(8).max(0.0);
    let (ran, record) =
        judged("relu", "f32", LARGE, &stale.replace("KEPT", &format!("(float){kept:?}")));
    assert_eq!(record.data_sets, 2, "only the second data set tells");
    assert_eq!(ran.result.outcome, CaseOutcome::Judged(Verdict::WrongOutput));

    let writes = relu("if (i == 40999) const_cast<T_self*>(x)[i] += 1.0f;");
    let (ran, _) = judged("relu", "f32", LARGE, &writes);
    assert_eq!(ran.result.outcome, CaseOutcome::Judged(Verdict::InputModified));
    assert!(ran.result.findings[0].message.contains("storage element 40999"));
}

#[test]
fn rows_are_judged_as_a_whole() {
    let kernel = r#"/*@plan
launch("sums", grid=self.shape[0], block=32, args=[self, out, self.shape[1]])
@*/
extern "C" __global__ void sums(const T_self* x, T_out* y, long long n) {
  double sum = 0.0;
  for (long long i = threadIdx.x; i < n; i += 32) sum += x[blockIdx.x * n + i];
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) y[blockIdx.x] = WRONG;
}
"#;
    let case = r#"self = "[6000, 33]", dim = [1]"#;
    let (ran, record) = judged("sum", "f32", case, &kernel.replace("WRONG", "sum"));
    assert_eq!(ran.result.outcome, CaseOutcome::Judged(Verdict::Passed), "{:#?}", ran.result);
    assert_eq!(record.compared, 12_000);
    let wrong = kernel.replace("WRONG", "blockIdx.x == 4321 ? sum + 0.1 : sum");
    let (ran, _) = judged("sum", "f32", case, &wrong);
    let mismatch = ran.result.mismatch.unwrap();
    assert_eq!(mismatch.first[0].index, [4321]);
}

#[test]
fn products_are_judged_at_crossings() {
    let kernel = r#"/*@plan
m, k, n = self.shape[0], self.shape[1], mat2.shape[1]
launch("mm", grid=cdiv(m * n, 128), block=128, args=[self, mat2, out, m, n, k, mat2.stride[0], mat2.stride[1]])
@*/
extern "C" __global__ void mm(const T_self* a, const T_mat2* b, T_out* c, int m, int n, int k, int s0, int s1) {
  const int at = blockIdx.x * 128 + threadIdx.x;
  if (at >= m * n) return;
  float sum = 0.0f;
  for (int i = k - 1; i >= 0; --i) sum += a[at / n * k + i] * b[i * s0 + at % n * s1];
  c[at] = WRONG;
}
"#;
    let case = r#"self = "[96, 40]", mat2 = "[40, 80]""#;
    for case in [case, r#"self = "[96, 40]", mat2 = "[40, 80] transposed""#] {
        let (ran, record) = judged("mm", "f32", case, &kernel.replace("WRONG", "sum"));
        assert_eq!(ran.result.outcome, CaseOutcome::Judged(Verdict::Passed), "{:#?}", ran.result);
        assert_eq!(record.compared, 2 * 96 * 80);
    }
    let wrong = kernel.replace("WRONG", "at == 77 ? sum * 1.001f : sum");
    let (ran, _) = judged("mm", "f32", case, &wrong);
    assert_eq!(ran.result.mismatch.unwrap().first[0].index, [0, 77]);
}

#[test]
fn outputs_of_timed_launches_are_compared_too() {
    let loaded = Loaded::new(request("relu", "f32", LARGE, &relu("")));
    let prepared =
        Prepared::new(&Job::resolve(&loaded.request).unwrap(), &loaded.request.cases[0]).unwrap();
    let mut device = device();
    let (trusted, modules) = loaded.load(&mut device);
    let view = prepared.view(trusted, 1);
    let (case, program) = (view.case(), &loaded.candidate.cases[0]);
    let session =
        Session::open(&mut device, case, program, modules, view.source(), view.outputs()).unwrap();
    session.run(&mut device).unwrap();
    assert_eq!(view.recheck(&mut device, &session).unwrap(), None);
    session.poison(&mut device, 0xff).unwrap();
    let result = view.recheck(&mut device, &session).unwrap().unwrap();
    assert_eq!(result.outcome, CaseOutcome::Judged(Verdict::WrongOutput));
}

#[test]
fn outputs_that_were_right_are_not_compared_again_and_others_are() {
    let loaded = Loaded::new(request("relu", "f32", LARGE, &relu("")));
    let prepared =
        Prepared::new(&Job::resolve(&loaded.request).unwrap(), &loaded.request.cases[0]).unwrap();
    let mut device = device();
    let (trusted, modules) = loaded.load(&mut device);
    let program = &loaded.candidate.cases[0];
    full::judge(&mut device, &prepared, trusted, program, modules).unwrap();
    let view = prepared.view(trusted, 0);
    let session =
        Session::open(&mut device, view.case(), program, modules, view.source(), view.outputs())
            .unwrap();
    session.run(&mut device).unwrap();
    assert_eq!(view.recheck(&mut device, &session).unwrap(), None);
    // The digest of another data set is another.
    let right = prepared.right.lock().unwrap().clone();
    assert_ne!(right[0], right[1]);
    assert!(right[0].is_some() && right[1].is_some());
    // One byte of the last element.
    let out = session.output_buffer(0);
    let mut bytes = device.read(out).unwrap();
    *bytes.last_mut().unwrap() ^= 0x40;
    device.write(out, &bytes).unwrap();
    let result = view.recheck(&mut device, &session).unwrap().unwrap();
    assert_eq!(result.outcome, CaseOutcome::Judged(Verdict::WrongOutput));
    session.close(&mut device);
}

#[test]
fn large_cases_of_ops_with_parts_are_full_size() {
    let full = |op: &str, case: &str| {
        let request = request(op, "f32", case, "");
        full::is_full_size(kgen_ops::op::find(op).unwrap(), &request.cases[0])
    };
    assert!(full("relu", r#"self = "[1024, 1024]""#));
    assert!(full("softmax", r#"self = "[4096, 1024]", dim = -1"#));
    assert!(full("mm", r#"self = "[4096, 1024]", mat2 = "[1024, 64]""#));
    assert!(!full("relu", r#"self = "[1023, 1024]""#), "small");
    assert!(!full("softmax", r#"self = "[4096, 1024]", dim = 0"#), "columns");
    assert!(full("relu", r#"self = "[4096, 2048] transposed""#));
    assert!(!full("relu", r#"self = "[4096, 2048] gap""#), "strided");
    assert!(
        full("mm", r#"self = "[64, 30000]", mat2 = "[30000, 9000]""#),
        "more than the host holds"
    );
    let decode =
        r#"query = "[64, 32, 1, 128]", key = "[64, 32, 2048, 128]", value = "[64, 32, 2048, 128]""#;
    assert!(full("scaled_dot_product_attention", decode), "a head at a time");
}

#[test]
fn the_kernels_of_one_type_are_a_small_part_of_all() {
    let request = request("relu", "f32", r#"self = "[1]""#, "");
    let own = full_size_kernels(&request.target, &compiler(), &[DType::F32]).unwrap();
    assert!(own.cubin.len() < 100_000, "{} bytes", own.cubin.len());
}
