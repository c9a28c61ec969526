//! The worked example of the prompts keeps what the prompts promise.

use std::collections::BTreeMap;

use kgen::{
    compile::{Compiler, Job, guard_ptx, guard_source},
    device::{BufferId, Device, EmuDevice, Image, KernelArg, Launch},
    kernel::{BoundArg, KernelFile, bind, plan},
    record::{
        Arg, ArgValue, BufferRef, Case, CaseClass, DType, Family, Gen, HostTensor, Step, Target,
        TensorArg, TensorSpec,
    },
};

use super::nvrtc::compiler;

const EXAMPLE: &str = include_str!("../../prompts/examples/row.cu");

fn case(spec: &TensorSpec) -> Case {
    let generator = Gen::Normal { mean: 0.0, std: 1.0 };
    let value = ArgValue::Tensor(TensorArg { spec: spec.clone(), generator });
    Case {
        id: "example".to_owned(),
        op: "center".to_owned(),
        dtype: spec.dtype,
        class: CaseClass::Edge,
        family: Family::Normal,
        names_ignored: false,
        args: vec![Arg { name: "self".to_owned(), value }],
    }
}

/// Returns the elements less the mean of their row.
fn expected(input: &HostTensor) -> Vec<f64> {
    let values = input.to_f64();
    let cols = input.spec.shape.last().copied().unwrap_or(1).max(1);
    let centered = values.chunks(cols).flat_map(|row| {
        let n = u32::try_from(row.len()).unwrap();
        let mean = row.iter().sum::<f64>() / f64::from(n);
        row.iter().map(move |value| value - mean).collect::<Vec<_>>()
    });
    centered.collect()
}

/// Runs the example on the emulator, which faults on whatever a sanitizer minds.
fn run(compiler: &mut Compiler, dtype: DType, shape: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let spec = TensorSpec::contiguous(dtype, shape);
    let mut input = HostTensor::zeroed(spec.clone());
    for index in 0..spec.numel() {
        let value = f64::from(u32::try_from(index * 37 % 64).unwrap()) / 8.0;
        input.set(index, value);
    }
    let target = Target::h100_class();
    let file = KernelFile::parse(EXAMPLE).unwrap();
    let env = plan::Env::new(&case(&spec), std::slice::from_ref(&spec), &target);
    let plan = plan::resolve(&file, &env, &BTreeMap::new()).unwrap();
    let types = [("T_self".to_owned(), dtype), ("T_out".to_owned(), dtype)];
    let kernels = ["center".to_owned()];
    let job = Job {
        source: file.text(),
        defines: &plan.defines,
        types: &types,
        kernels: &kernels,
        arch: &target.arch,
    };
    let compiled = compiler.compile(&job).unwrap();
    guard_ptx(&compiled).unwrap();
    let mut device = EmuDevice::new(&target);
    let module = device.load(&Image { ptx: &compiled.ptx, cubin: &compiled.cubin }).unwrap();
    let buffer = |device: &mut EmuDevice, label: &str| {
        device.alloc(label, spec.storage_bytes(), dtype.size()).unwrap()
    };
    let (x, out) = (buffer(&mut device, "self"), buffer(&mut device, "out"));
    device.write(x, &input.storage).unwrap();
    device.fill(out, &[0xff]).unwrap();
    for step in &plan.steps {
        let Step::Launch { kernel, grid, block, smem, args, .. } = step else { panic!("{step:?}") };
        let args = bind(args, &compiled.signatures[0]).unwrap();
        let args = args.into_iter().map(|arg| device_arg(arg, x, out)).collect();
        let launch =
            Launch { kernel: kernel.clone(), grid: *grid, block: *block, smem: *smem, args };
        device.launch(module, &launch).unwrap();
    }
    let unwritten = device.unwritten(out).unwrap();
    assert!(!unwritten.contains(&true), "{dtype} {shape:?}: elements were not written");
    let got = HostTensor { spec, storage: device.read(out).unwrap() };
    (got.to_f64(), expected(&input))
}

fn device_arg(arg: BoundArg, x: BufferId, out: BufferId) -> KernelArg {
    match arg {
        BoundArg::Pointer { buffer, byte_offset } => {
            let buffer = if matches!(buffer, BufferRef::Output(_)) { out } else { x };
            KernelArg::Pointer { buffer, byte_offset }
        }
        BoundArg::Null => KernelArg::Null,
        BoundArg::Bytes(bytes) => KernelArg::Bytes(bytes),
    }
}

#[test]
fn the_worked_example_is_correct() {
    guard_source(EXAMPLE).unwrap();
    let mut compiler = compiler(None);
    for dtype in [DType::F32, DType::BF16] {
        let tolerance = if dtype == DType::F32 { 1e-6 } else { 0.02 };
        for shape in [&[][..], &[5, 127], &[3, 2, 64], &[2, 3000]] {
            let (got, expected) = run(&mut compiler, dtype, shape);
            assert_eq!(got.len(), expected.len(), "{dtype} {shape:?}");
            for (index, (got, expected)) in got.iter().zip(&expected).enumerate() {
                let error = (got - expected).abs();
                assert!(error <= tolerance, "{dtype} {shape:?} [{index}]: {got} {expected}");
            }
        }
    }
}
