//! Every kernel of the corpus, as compiled for each architecture, against f64.

use emu_corpus::{Arg as CorpusArg, Case, Dtype, Kernel, MapShape, Role, kernels};
use ptx_emu::{
    Config, Emulator, Interleave, L2Promotion, Launch, Limits, Module, OobFill, Options, Report,
    Swizzle, TensorMap, TensorMapMode, TensorMapType,
};

/// The map of a tensor at an address.
fn tensor_map(shape: &MapShape, dtype: Dtype, address: u64) -> TensorMap {
    let data_type = match dtype {
        Dtype::F32 => TensorMapType::F32,
        Dtype::F16 => TensorMapType::F16,
        Dtype::Bf16 => TensorMapType::Bf16,
        Dtype::I32 => TensorMapType::I32,
        Dtype::U8 | Dtype::I8 => TensorMapType::U8,
        other => panic!("no map of {other:?}"),
    };
    let rank = shape.dims.len();
    let stride = |n: usize| shape.dims[..n].iter().product::<u64>() * dtype.bytes() as u64;
    let mode = match &shape.im2col {
        None => TensorMapMode::Tiled { box_dims: shape.box_dims.clone() },
        Some(im2col) => TensorMapMode::Im2col {
            lower: im2col.lower.clone(),
            upper: im2col.upper.clone(),
            channels: im2col.channels,
            pixels: im2col.pixels,
        },
    };
    let swizzle =
        Swizzle::ALL.into_iter().find(|s| s.span().unwrap_or(0) == u64::from(shape.swizzle));
    TensorMap {
        data_type,
        address,
        dims: shape.dims.clone(),
        strides: (1..rank).map(stride).collect(),
        element_strides: vec![1; rank],
        interleave: Interleave::None,
        swizzle: swizzle.expect("there is such a swizzle"),
        l2: L2Promotion::None,
        oob: OobFill::Zeros,
        mode,
    }
}

/// Runs a kernel on a case and returns its outputs.
pub(crate) fn outputs(kernel: &Kernel, text: &str, case: &Case) -> Result<Vec<Vec<u8>>, String> {
    let module = Module::parse(text).map_err(|e| e.to_string())?;
    let (report, outputs) = launch(kernel, &module, case, Limits::default());
    report.into_result().map_err(|error| error.to_string())?;
    Ok(outputs)
}

/// Runs a kernel on a case; gives its outputs as the launch left them, too.
pub(crate) fn launch(
    kernel: &Kernel,
    module: &Module,
    case: &Case,
    limits: Limits,
) -> (Report, Vec<Vec<u8>>) {
    let mut emulator = Emulator::new(Config::default());
    let (mut args, mut outputs) = (Vec::new(), Vec::new());
    for (arg, data) in kernel.args.iter().zip(&case.args) {
        let data = match data {
            Ok(data) => data,
            Err(scalar) => {
                args.push(scalar.clone());
                continue;
            }
        };
        let buffer = emulator.alloc(data.name, data.bytes.len(), data.dtype.bytes());
        if data.role == Role::Out {
            emulator.poison(buffer, &[0xff]);
        } else {
            emulator.write(buffer, &data.bytes);
        }
        if data.role != Role::In {
            outputs.push(buffer);
        }
        let address = emulator.address(buffer);
        args.push(match arg {
            CorpusArg::TensorMap { shape, .. } => {
                let map = tensor_map(shape, data.dtype, address);
                map.check().unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
                map.encode().to_vec()
            }
            _ => address.to_le_bytes().to_vec(),
        });
    }
    let launch = Launch {
        kernel: kernel.entry.to_owned(),
        grid: kernel.grid,
        block: kernel.block,
        dynamic_smem: kernel.smem,
        cluster: None,
        args,
    };
    let cooperative = Some(kernel.is_cooperative());
    let options = Options { limits, cooperative, ..Options::default() };
    let report = emulator.launch(module, &launch, &options);
    (report, outputs.into_iter().map(|buffer| emulator.bytes(buffer).to_vec()).collect())
}

/// Runs a kernel on the case of a seed and compares it with its reference.
fn judge(kernel: &Kernel, text: &str, seed: u64) -> Result<(), String> {
    let case = kernel.case(seed);
    kernel.check(&case, &outputs(kernel, text, &case)?)
}

#[test]
fn every_kernel_agrees_with_f64() {
    let mut wrong = Vec::new();
    for kernel in kernels::all() {
        for arch in [80, 90] {
            let Some(text) = kernel.ptx(arch) else { continue };
            if let Err(why) = judge(&kernel, &text, 1) {
                wrong.push(format!("{} (sm_{arch}): {why}", kernel.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Errors that a launch of a kernel as it should be shows on the case of a seed.
fn problems(kernel: &Kernel, module: &Module, seed: u64) -> Vec<String> {
    let case = kernel.case(seed);
    let (report, outputs) = launch(kernel, module, &case, Limits::default());
    let findings = report.errors().map(ToString::to_string);
    let stopped = report.end.as_ref().err().map(ToString::to_string);
    let wrong = kernel.check(&case, &outputs).err();
    findings.chain(stopped).chain(wrong).map(|why| format!("{}: {why}", kernel.name)).collect()
}

#[test]
fn kernels_that_no_gpu_has_run_agree_with_f64_and_are_clean() {
    let all = kernels::unrecorded();
    assert!(all.len() >= 30, "{}", all.len());
    let mut wrong = Vec::new();
    for kernel in &all {
        let text = kernel.ptx(90).expect("all are for sm_90a");
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
        wrong.extend([1, 2].into_iter().flat_map(|seed| problems(kernel, &module, seed)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
