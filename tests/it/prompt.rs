//! The worked examples of the prompts keep the prompts' promises.

use std::collections::BTreeMap;

use kgen_compile::{CompileJob, Compiler, guard_ptx, guard_source, testing::compiler};
use kgen_device::{BufferId, Device, EmuDevice, Image, KernelArg, Launch};
use kgen_kernel::{BoundArg, KernelFile, bind, plan};
use kgen_ops::{op, suite};
use kgen_record::{
    Arg, ArgValue, BufferRef, Case, CaseClass, DType, EvalRequest, Evaluation, Gen, HostTensor,
    Implementation, InputDistribution, Step, Target, TensorArg, TensorSpec, Verdict, testing,
};

const EXAMPLE: &str = include_str!("../../prompts/examples/row.cu");

/// The examples, each with the definition of its op.
const EXAMPLES: [(&str, &str, &str); 6] = [
    (
        "damp",
        include_str!("../../prompts/examples/elementwise.toml"),
        include_str!("../../prompts/examples/elementwise.cu"),
    ),
    (
        "center",
        include_str!("../../prompts/examples/row.toml"),
        include_str!("../../prompts/examples/row.cu"),
    ),
    (
        "mm_relu",
        include_str!("../../prompts/examples/tile.toml"),
        include_str!("../../prompts/examples/tile.cu"),
    ),
    (
        "mm_relu",
        include_str!("../../prompts/examples/wgmma.toml"),
        include_str!("../../prompts/examples/wgmma.cu"),
    ),
    (
        "linear_relu",
        include_str!("../../prompts/examples/split_k.toml"),
        include_str!("../../prompts/examples/split_k.cu"),
    ),
    (
        "twice_attention",
        include_str!("../../prompts/examples/attention.toml"),
        include_str!("../../prompts/examples/attention.cu"),
    ),
];

fn case(spec: &TensorSpec) -> Case {
    let generator = Gen::Normal { mean: 0.0, std: 1.0 };
    let value = ArgValue::Tensor(TensorArg { spec: spec.clone(), generator });
    Case {
        id: "example".to_owned(),
        op: "center".to_owned(),
        count: None,
        dtype: spec.dtype,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: false,
        in_place: false,
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
    let job = CompileJob {
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
        let Step::Launch { kernel, grid, block, smem, args, attributes, .. } = step else {
            panic!("{step:?}")
        };
        let args = bind(args, &compiled.signatures[0]).unwrap();
        let args = args.into_iter().map(|arg| device_arg(arg, x, out)).collect();
        let launch = Launch {
            kernel: kernel.clone(),
            grid: *grid,
            block: *block,
            smem: *smem,
            args,
            attributes: *attributes,
        };
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
        BoundArg::TensorMap { .. } => panic!("the examples have no tensor maps"),
        BoundArg::Null => KernelArg::Null,
        BoundArg::Bytes(bytes) => KernelArg::Bytes(bytes),
    }
}

#[test]
fn the_worked_example_is_correct() {
    guard_source(EXAMPLE, false).unwrap();
    let mut compiler = compiler();
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

/// Seed of the drawn cases.
const SEED: u64 = 1;

/// Judges an example as any candidate is judged, all checks on.
fn judge(name: &str, definition: &str, kernel: &str) -> Evaluation {
    let op = op::custom(definition).unwrap();
    assert_eq!(op.name, name);
    let loaded = suite::of_op(std::sync::Arc::clone(&op), "the example").unwrap();
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    assert!(op::find(name).is_err(), "`{name}` must be no op that a model may be asked for");
    let compiler = compiler();
    let request = EvalRequest {
        definition: op.definition.clone(),
        seed: SEED,
        ..testing::request(
            &op.name,
            Implementation::kernel(kernel),
            loaded.suite.cases(name, None, SEED).unwrap(),
        )
    };
    kgen_eval::cpu_half(&request, &compiler, &Default::default(), &mut |_| {}).unwrap().evaluation
}

#[test]
fn every_worked_example_passes_the_judge() {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts/examples"));
    let files = folder.unwrap().map(|entry| entry.unwrap().path());
    let is_kernel = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "cu");
    assert_eq!(files.filter(is_kernel).count(), EXAMPLES.len());
    for (name, definition, kernel) in EXAMPLES {
        let evaluation = judge(name, definition, kernel);
        assert_eq!(evaluation.verdict, Verdict::Passed, "{name}: {evaluation:#?}");
        assert_eq!(evaluation.n_skipped(), 0, "{name}");
        assert!(20 < evaluation.n_passed(), "{name}: {} cases", evaluation.n_passed());
    }
}

#[test]
fn an_example_that_were_wrong_would_be_found() {
    for ((name, definition, kernel), (right, wrong)) in EXAMPLES.into_iter().zip([
        ("if (tail < n)", "if (tail < n - 1)"),
        ("total / static_cast<float>(cols)", "total / static_cast<float>(cols + 1)"),
        ("sum[i][j] < 0.0f ? 0.0f : sum[i][j]", "sum[i][j]"),
        ("kg::wgmma_advance(b, l * 128)", "kg::wgmma_advance(b, l * 64)"),
        ("part < parts", "part < parts - 1"),
        ("sum[i] *= rescale[i / 2 % 2]", "sum[i] *= rescale[0]"),
    ]) {
        let broken = kernel.replace(right, wrong);
        assert_ne!(broken, kernel, "{name}");
        assert_eq!(judge(name, definition, &broken).verdict, Verdict::WrongOutput, "{name}");
    }
}
