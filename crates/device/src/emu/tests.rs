use kgen_compile::{COPY_KERNELS, COPY_MAX_DIMS, copy_kernel, copy_source, testing::compile};
use kgen_record::{DType, LaunchAttributes};

use super::*;

const SOURCE: &str = r#"
extern "C" __global__ void add(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + 1.0f;
}
extern "C" __global__ void beyond(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[0];
}
extern "C" __global__ void spin(const float* x, float* out, int n) {
  while (*(volatile const float*)x == 0.0f) {}
}
"#;

struct Bench {
    device: EmuDevice,
    module: ModuleId,
    x: BufferId,
    out: BufferId,
}

impl Bench {
    /// Two buffers of 100 floats; `x` holds zeros, `out` nothing.
    fn new() -> Self {
        let compiled = compile(SOURCE, &["add", "beyond", "spin"], DType::F32);
        let mut device = EmuDevice::new(&Target::h100_class());
        let image = Image { ptx: &compiled.ptx, cubin: &compiled.cubin };
        let module = device.load(&image).unwrap();
        let x = device.alloc("x", 400, 4).unwrap();
        let out = device.alloc("out", 400, 4).unwrap();
        device.clear(x, 0).unwrap();
        device.fill(out, &[0xff]).unwrap();
        Self { device, module, x, out }
    }

    fn launch(&mut self, kernel: &str, grid: u32, n: i32) -> Result<(), LaunchError> {
        let pointer = |buffer| KernelArg::Pointer { buffer, byte_offset: 0 };
        let n = KernelArg::Bytes(n.to_le_bytes().to_vec());
        let launch = Launch {
            kernel: kernel.to_owned(),
            grid: [grid, 1, 1],
            block: [32, 1, 1],
            args: vec![pointer(self.x), pointer(self.out), n],
            ..Launch::default()
        };
        self.device.launch(self.module, &launch)
    }
}

fn verdict(result: Result<(), LaunchError>) -> (Verdict, Finding) {
    match result {
        Err(LaunchError::Kernel { verdict, finding, device_lost: false }) => (verdict, *finding),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_kernel_writes_is_read_and_what_it_leaves_out_is_known() {
    let mut bench = Bench::new();
    bench.launch("add", 4, 90).unwrap();
    let bytes = bench.device.read(bench.out).unwrap();
    assert_eq!(bytes[..4], 1.0_f32.to_le_bytes());
    assert_eq!(bytes[360..], [0xff; 40]);
    let unwritten = bench.device.unwritten(bench.out).unwrap();
    assert_eq!(unwritten.iter().filter(|&&byte| byte).count(), 40);
    assert!(bench.device.time(&[], &[], Flush::None).unwrap().is_none());
}

#[test]
fn a_fault_names_line_thread_buffer_and_element() {
    let mut bench = Bench::new();
    let (found, finding) = verdict(bench.launch("beyond", 4, 100));
    assert_eq!(found, Verdict::Fault);
    let fault = finding.fault.unwrap();
    assert_eq!((fault.kind.as_str(), fault.line), ("out_of_bounds_write", Some(8)));
    assert_eq!((fault.buffer.as_deref(), fault.element), (Some("out"), Some(100)));
    assert_eq!((fault.block, fault.thread), (Some([3, 0, 0]), Some([4, 0, 0])));
    assert_eq!(finding.span.unwrap().line, 8);
}

const PAIR: &str = r#"
extern "C" __global__ void first(const float* x, float* y) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  y[threadIdx.x] = 2.0f * x[threadIdx.x];
}
extern "C" __global__ void second(const float* y, float* out) {
#ifdef T_WAITS
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  out[threadIdx.x] = y[threadIdx.x] + 1.0f;
}
"#;

#[test]
fn a_dependent_launch_waits_for_the_one_before() {
    let run = |waits: bool, pdl: bool, between: fn(&mut EmuDevice, BufferId)| {
        let define = if waits { "#define T_WAITS\n" } else { "" };
        let compiled = compile(&format!("{define}{PAIR}"), &["first", "second"], DType::F32);
        let mut device = EmuDevice::new(&Target::h100_class());
        let image = Image { ptx: &compiled.ptx, cubin: &compiled.cubin };
        let module = device.load(&image).unwrap();
        let buffers = ["x", "y", "out"].map(|name| device.alloc(name, 128, 4).unwrap());
        let [x, y, out] = buffers;
        device.clear(x, 0).unwrap();
        let pointer = |buffer| KernelArg::Pointer { buffer, byte_offset: 0 };
        let launch = |device: &mut EmuDevice, kernel: &str, from, to, pdl| {
            let launch = Launch {
                kernel: kernel.to_owned(),
                grid: [1; 3],
                block: [32, 1, 1],
                args: vec![pointer(from), pointer(to)],
                attributes: LaunchAttributes { pdl, ..LaunchAttributes::default() },
                ..Launch::default()
            };
            device.launch(module, &launch)
        };
        launch(&mut device, "first", x, y, true).unwrap();
        between(&mut device, out);
        launch(&mut device, "second", y, out, pdl)
    };
    let nothing = |_: &mut EmuDevice, _| {};
    run(true, true, nothing).unwrap();
    run(false, false, nothing).unwrap();
    // A fill between the two waits for the first.
    run(false, true, |device, out| device.clear(out, 0).unwrap()).unwrap();
    let (found, finding) = verdict(run(false, true, nothing));
    assert_eq!(found, Verdict::Race);
    assert!(finding.message.contains("griddepcontrol.wait"), "{}", finding.message);
    let fault = finding.fault.unwrap();
    assert_eq!((fault.buffer.as_deref(), fault.line), (Some("y"), Some(10)));
    assert_eq!(fault.other.unwrap().line, Some(4));
}

#[test]
fn memory_that_nobody_wrote_cannot_be_read() {
    let mut bench = Bench::new();
    bench.device.fill(bench.x, &[0xff]).unwrap();
    assert_eq!(verdict(bench.launch("add", 1, 10)).0, Verdict::Uninitialised);
}

#[test]
fn impossible_and_endless_launches_end() {
    let mut bench = Bench::new();
    assert_eq!(verdict(bench.launch("add", 0, 10)).0, Verdict::LaunchError);
    bench.device.set_budget(10_000);
    match bench.launch("spin", 1, 1).unwrap_err() {
        LaunchError::Budget { .. } => {}
        LaunchError::Kernel { verdict, .. } => assert_eq!(verdict, Verdict::Deadlock),
        LaunchError::Machine(error) => panic!("{error}"),
    }
}

#[test]
fn the_copy_kernels_turn_a_view_into_row_major_order() {
    let compiled = compile(copy_source(), &COPY_KERNELS, DType::F32);
    let image = Image { ptx: &compiled.ptx, cubin: &compiled.cubin };
    for size in [1_usize, 2, 4, 8] {
        let mut device = EmuDevice::new(&Target::h100_class());
        let module = device.load(&image).unwrap();
        let x = device.alloc("x", 6 * size, size).unwrap();
        let out = device.alloc("out", 6 * size, size).unwrap();
        let element = |value: u8| [vec![value], vec![0; size - 1]].concat();
        device.write(x, &(0..6).flat_map(element).collect::<Vec<u8>>()).unwrap();
        let pointer = |buffer| KernelArg::Pointer { buffer, byte_offset: 0 };
        let mut numbers = vec![6_i64];
        numbers.extend([1; COPY_MAX_DIMS - 2].into_iter().chain([3, 2]));
        numbers.extend([0; COPY_MAX_DIMS - 2].into_iter().chain([1, 3]));
        let mut args = vec![pointer(x), pointer(out)];
        args.extend(numbers.iter().map(|n| KernelArg::Bytes(n.to_le_bytes().to_vec())));
        let kernel = copy_kernel(size).unwrap().to_owned();
        let launch = Launch { kernel, grid: [1; 3], block: [32, 1, 1], args, ..Launch::default() };
        device.launch(module, &launch).unwrap();
        let expected: Vec<u8> = [0, 3, 1, 4, 2, 5].into_iter().flat_map(element).collect();
        assert_eq!(device.read(out).unwrap(), expected, "{size}");
    }
}

#[test]
fn the_kernels_that_kgen_measures_with_do_what_their_names_say() {
    let mut device = EmuDevice::new(&Target::h100_class());
    let ptx = include_str!("../cuda/support.ptx");
    let module = device.load(&Image { ptx, cubin: &[] }).unwrap();
    // A block moves 4 KiB; the last one of these is only begun.
    let bytes = 2 * 4096 - 160;
    let [x, y, z] = ["x", "y", "z"].map(|name| device.alloc(name, bytes, 4).unwrap());
    let floats = |of: fn(u16) -> f32| -> Vec<u8> {
        let values = (0..u16::MAX).take(bytes / 4).map(of);
        values.flat_map(f32::to_le_bytes).collect()
    };
    device.write(x, &floats(f32::from)).unwrap();
    let pointer = |buffer| KernelArg::Pointer { buffer, byte_offset: 0 };
    let n = KernelArg::Bytes((bytes as u64 / 16).to_le_bytes().to_vec());
    let mut launch = |kernel: &str, args: Vec<KernelArg>| {
        let launch = Launch {
            kernel: kernel.to_owned(),
            grid: [2, 1, 1],
            block: [256, 1, 1],
            args,
            ..Launch::default()
        };
        device.launch(module, &launch).unwrap();
    };
    launch("kgen_empty", Vec::new());
    launch("kgen_copy", vec![pointer(x), pointer(y), n.clone()]);
    launch("kgen_triad", vec![pointer(x), pointer(y), pointer(z), n.clone()]);
    // Nothing was written into the sink: reading is all it does.
    launch("kgen_read", vec![pointer(x), KernelArg::Null, n]);
    assert_eq!(device.read(y).unwrap(), floats(f32::from));
    assert_eq!(device.read(z).unwrap(), floats(|i| 4.0 * f32::from(i)));
}
