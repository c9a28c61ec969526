//! Every kernel of the corpus, as compiled for each architecture, against f64.

use emu_corpus::{Arg as CorpusArg, Case, Kernel, Role, kernels};
use ptx_emu::{Config, Emulator, Launch, Limits, Module, Options, Report, TensorMap};

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
                let map = TensorMap { address, ..shape.tensor_map(data.dtype) };
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

/// Errors that a launch of a kernel as it should be shows on the case of a seed.
fn problems(kernel: &Kernel, module: &Module, seed: u64) -> Vec<String> {
    let case = kernel.case(seed);
    let (report, outputs) = launch(kernel, module, &case, Limits::default());
    let findings = report.errors().map(ToString::to_string);
    let stopped = report.end.as_ref().err().map(ToString::to_string);
    let wrong = kernel.check(&case, &outputs).err();
    findings.chain(stopped).chain(wrong).collect()
}

#[test]
fn every_kernel_agrees_with_f64_and_is_clean() {
    let mut wrong = Vec::new();
    for kernel in kernels::all() {
        for arch in [80, 90] {
            let Some(text) = kernel.ptx(arch) else { continue };
            let module = Module::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
            for why in problems(&kernel, &module, 1) {
                wrong.push(format!("{} (sm_{arch}): {why}", kernel.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
