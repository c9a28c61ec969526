//! A real GPU behind the device trait; skipped unless `KGEN_TEST_GPU=1`.
//!
//! One test, because a faulting kernel takes the process's context with it: the fault comes last.
#![expect(clippy::print_stdout, reason = "a run on a GPU machine tells what it measured")]

use kgen_compile::{
    COPY_KERNELS, COPY_MAX_DIMS, CompileJob, Compiled, copy_kernel, copy_source, guard_ptx,
    guard_source, testing::compiler,
};
use kgen_device::{
    BufferId, CudaDevice, Device, Error, Image, KernelArg, Launch, LaunchError, ModuleId,
    TimedCall, TimedOp, TimedWork, gpus,
};
use kgen_measure::Flush;
use kgen_record::Verdict;

const SOURCE: &str = r#"
extern "C" __global__ void add(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}
extern "C" __global__ void beyond(float* out, int n) {
  if (threadIdx.x == 0) out[n + 2] = 1.0f;
}
extern "C" __global__ void before(float* out, int n) {
  if (threadIdx.x == 0) out[-1] = 1.0f;
}
extern "C" __global__ void reverse(float* x) {
  extern __shared__ float s[];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void spin(long long ns) {
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); } while (now - start < ns);
}
extern "C" __global__ void stream(const float4* x, float4* out, long long n) {
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step)
    out[i] = x[i];
}
extern "C" __global__ void wild(float* out) { *(float*)((char*)out + (1ll << 46)) = 1.0f; }
"#;

const KERNELS: [&str; 7] = ["add", "beyond", "before", "reverse", "spin", "stream", "wild"];

fn compile(source: &str, kernels: &[&str], arch: &str) -> Compiled {
    guard_source(source, false).unwrap();
    let kernels: Vec<String> = kernels.iter().map(|&name| name.to_owned()).collect();
    let job = CompileJob { source, defines: &[], types: &[], kernels: &kernels, arch };
    let compiled = compiler().compile(&job).unwrap();
    guard_ptx(&compiled).unwrap();
    compiled
}

fn load(device: &mut CudaDevice, compiled: &Compiled) -> ModuleId {
    device.load(&Image { ptx: &compiled.ptx, cubin: &compiled.cubin }).unwrap()
}

fn launch(kernel: &str, grid: u32, block: u32, args: Vec<KernelArg>) -> Launch {
    let kernel = kernel.to_owned();
    Launch { kernel, grid: [grid, 1, 1], block: [block, 1, 1], args, ..Launch::default() }
}

fn pointer(buffer: BufferId) -> KernelArg {
    KernelArg::Pointer { buffer, byte_offset: 0 }
}

fn bytes(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn int(value: i32) -> KernelArg {
    KernelArg::Bytes(value.to_le_bytes().to_vec())
}

fn long(value: i64) -> KernelArg {
    KernelArg::Bytes(value.to_le_bytes().to_vec())
}

fn verdict(result: Result<(), LaunchError>) -> (Verdict, String) {
    match result {
        Err(LaunchError::Kernel { verdict, finding, .. }) => (verdict, finding.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gpu_does_what_the_trait_says() {
    #[expect(clippy::disallowed_methods, reason = "a switch of the tests, none of kgen's")]
    let asked = std::env::var_os("KGEN_TEST_GPU").is_some_and(|value| value == "1");
    if !asked {
        return;
    }
    println!("{:#?}", gpus().unwrap());
    assert!(matches!(CudaDevice::open(999), Err(Error::NoSuchGpu { ordinal: 999 })));
    let mut device = CudaDevice::open(0).unwrap();
    let compiled = compile(SOURCE, &KERNELS, &device.target().arch.clone());
    let module = load(&mut device, &compiled);
    adds(&mut device, module);
    fills_and_refuses(&mut device, module);
    sees_damaged_guards(&mut device, module);
    copies_a_transposed_view(&mut device);
    times(&mut device, module);
    measures_bandwidth(&mut device, module);
    faults(&mut device, module);
}

fn adds(device: &mut CudaDevice, module: ModuleId) {
    let n = 1_000_003;
    let size = usize::try_from(n).unwrap() * 4;
    let [x, y, out] = ["x", "y", "out"].map(|label| device.alloc(label, size, 4).unwrap());
    let value = |i: i32| f32::from(i16::try_from(i % 1000).unwrap());
    device.write(x, &bytes((0..n).map(value))).unwrap();
    device.write(y, &bytes((0..n).map(|i| 2.0 * value(i)))).unwrap();
    device.fill(out, &[0xff, 0xff, 0xff, 0x7f]).unwrap();
    let args = vec![pointer(x), pointer(y), pointer(out), int(n)];
    device.launch(module, &launch("add", 4096, 256, args)).unwrap();
    device.sync().unwrap();
    assert_eq!(device.read(out).unwrap(), bytes((0..n).map(|i| 3.0 * value(i))));
    for buffer in [x, y, out] {
        device.check_guards(buffer).unwrap();
        device.free(buffer);
    }
}

fn fills_and_refuses(device: &mut CudaDevice, module: ModuleId) {
    let buffer = device.alloc("odd", 1027, 1).unwrap();
    for pattern in [&[1_u8][..], &[1, 2], &[1, 2, 3, 4], &[1, 2, 3, 4, 5, 6, 7, 8]] {
        device.fill(buffer, pattern).unwrap();
        let expected: Vec<u8> = pattern.iter().copied().cycle().take(1027).collect();
        assert_eq!(device.read(buffer).unwrap(), expected);
    }
    let none = device.alloc("none", 0, 4).unwrap();
    assert!(device.read(none).unwrap().is_empty());
    device.check_guards(none).unwrap();

    let x = device.alloc("x", 4096, 4).unwrap();
    device.write(x, &bytes((0..1024_i16).map(f32::from))).unwrap();
    let mut reverse = launch("reverse", 1, 1024, vec![pointer(x)]);
    reverse.smem = 200 << 10;
    device.launch(module, &reverse).unwrap();
    device.sync().unwrap();
    assert_eq!(device.read(x).unwrap(), bytes((0..1024_i16).rev().map(f32::from)));

    reverse.smem = 300 << 10;
    assert_eq!(verdict(device.launch(module, &reverse)).0, Verdict::LaunchError);
    let wide = launch("reverse", 1, 2048, vec![pointer(x)]);
    assert_eq!(verdict(device.launch(module, &wide)).0, Verdict::LaunchError);
    let missing = launch("missing", 1, 1, vec![]);
    assert_eq!(verdict(device.launch(module, &missing)).0, Verdict::LaunchError);
    let narrow = launch("stream", 1, 1, vec![pointer(x), pointer(x), int(1)]);
    let (found, message) = verdict(device.launch(module, &narrow));
    assert_eq!(found, Verdict::LaunchError);
    println!("{message}");
    device.sync().unwrap();
    for buffer in [buffer, none, x] {
        device.free(buffer);
    }
}

fn sees_damaged_guards(device: &mut CudaDevice, module: ModuleId) {
    let out = device.alloc("out", 400, 4).unwrap();
    for (kernel, place) in [("beyond", "element 102"), ("before", "1 elements before")] {
        device.launch(module, &launch(kernel, 1, 32, vec![pointer(out), int(100)])).unwrap();
        device.sync().unwrap();
        let (found, message) = verdict(device.check_guards(out));
        assert_eq!(found, Verdict::OutOfBoundsWrite);
        assert!(message.contains(place), "{message}");
        device.check_guards(out).expect("the zones are mended");
    }
    device.free(out);
}

fn copies_a_transposed_view(device: &mut CudaDevice) {
    let compiled = compile(copy_source(), &COPY_KERNELS, &device.target().arch.clone());
    let module = load(device, &compiled);
    let (rows, columns) = (37_i16, 1023_i16);
    let n = i64::from(rows) * i64::from(columns);
    let size = usize::try_from(n).unwrap() * 4;
    let [x, out] = ["x", "out"].map(|label| device.alloc(label, size, 4).unwrap());
    let value = |row: i16, column: i16| f32::from(row) * 1024.0 + f32::from(column);
    let storage = (0..rows).flat_map(|row| (0..columns).map(move |column| value(row, column)));
    device.write(x, &bytes(storage)).unwrap();
    let mut args = vec![pointer(x), pointer(out), long(n)];
    let mut extents = [1; COPY_MAX_DIMS];
    let mut strides = [0; COPY_MAX_DIMS];
    extents[6..].copy_from_slice(&[i64::from(columns), i64::from(rows)]);
    strides[6..].copy_from_slice(&[1, i64::from(columns)]);
    args.extend(extents.into_iter().chain(strides).map(long));
    device.launch(module, &launch(copy_kernel(4).unwrap(), 64, 256, args)).unwrap();
    device.sync().unwrap();
    let turned = (0..columns).flat_map(|column| (0..rows).map(move |row| value(row, column)));
    assert_eq!(device.read(out).unwrap(), bytes(turned));
    device.free(x);
    device.free(out);
    device.unload(module);
}

/// Median time of a call, in microseconds.
fn median(device: &mut CudaDevice, poison: &[(BufferId, u8)], ops: &[TimedOp]) -> f64 {
    let call = TimedCall { poison: poison.to_vec(), work: TimedWork::Ops(ops.to_vec()) };
    let mut samples = device.time(&[call], &[0; 51], Flush::Memset).unwrap().unwrap();
    samples.sort_by(f64::total_cmp);
    samples[25]
}

fn times(device: &mut CudaDevice, module: ModuleId) {
    let floor = median(device, &[], &[]);
    println!("empty kernel: {floor:.2} us");
    assert!((0.5..50.0).contains(&floor));
    for us in [10_i64, 100, 1000] {
        let op = TimedOp::Launch { module, launch: launch("spin", 1, 1, vec![long(us * 1000)]) };
        let once = median(device, &[], std::slice::from_ref(&op));
        let twice = median(device, &[], &[op.clone(), op.clone()]);
        println!("spin {us} us: {once:.2} us once, {twice:.2} us twice");
        let length = us as f64;
        assert!((length..length + 20.0).contains(&once) && (2.0 * length..).contains(&twice));
    }
}

fn measures_bandwidth(device: &mut CudaDevice, module: ModuleId) {
    let size = 256 << 20;
    let [x, out] = ["x", "out"].map(|label| device.alloc(label, size, 4).unwrap());
    device.clear(x, 0x3f).unwrap();
    let n = i64::try_from(size).unwrap() / 16;
    let args = vec![pointer(x), pointer(out), long(n)];
    let op = TimedOp::Launch { module, launch: launch("stream", 4096, 256, args) };
    let us = median(device, &[(out, 0xff)], std::slice::from_ref(&op));
    let rate = 2.0 * size as f64 / (us * 1e-6);
    let peak = device.target().peak_bandwidth;
    println!("copy of 256 MiB: {us:.1} us, {:.0} GB/s, peak {peak:?}", rate / 1e9);
    if let Some(peak) = peak {
        assert!((0.3 * peak..1.02 * peak).contains(&rate));
    }
    assert_eq!(device.read(out).unwrap()[..16], [0x3f; 16]);
    device.free(x);
    device.free(out);
}

fn faults(device: &mut CudaDevice, module: ModuleId) {
    let out = device.alloc("out", 400, 4).unwrap();
    device.launch(module, &launch("wild", 1, 1, vec![pointer(out)])).unwrap();
    match device.sync().unwrap_err() {
        LaunchError::Kernel { verdict, finding, device_lost } => {
            println!("{}", finding.message);
            assert_eq!((verdict, device_lost), (Verdict::Fault, true));
            assert!(finding.message.contains("`wild`"));
        }
        other => panic!("{other:?}"),
    }
    let again = device.launch(module, &launch("wild", 1, 1, vec![pointer(out)]));
    assert!(matches!(again, Err(LaunchError::Machine(Error::Lost))), "{again:?}");
    assert!(matches!(device.read(out), Err(LaunchError::Machine(Error::Lost))));
    assert!(matches!(device.sync(), Err(LaunchError::Machine(Error::Lost))));
}
