//! Every kernel of the corpus, as compiled for each architecture, against f64.

use emu_corpus::{Arg as CorpusArg, Case, Kernel, Role, kernels};
use ptx_emu::{Config, Emulator, Launch, Module, Options};

/// Runs a kernel on a case and returns its outputs.
pub(crate) fn outputs(kernel: &Kernel, text: &str, case: &Case) -> Result<Vec<Vec<u8>>, String> {
    let module = Module::parse(text).map_err(|e| e.to_string())?;
    let mut emulator = Emulator::new(Config::default());
    let (mut args, mut outputs) = (Vec::new(), Vec::new());
    for (arg, data) in kernel.args.iter().zip(&case.args) {
        let (CorpusArg::Buffer { name, .. }, Ok(data)) = (arg, data) else {
            args.push(data.clone().expect_err("a scalar is bytes"));
            continue;
        };
        let buffer = emulator.alloc(name, data.bytes.len(), data.dtype.bytes());
        if data.role == Role::Out {
            emulator.poison(buffer, &[0xff]);
        } else {
            emulator.write(buffer, &data.bytes);
        }
        if data.role != Role::In {
            outputs.push(buffer);
        }
        args.push(emulator.address(buffer).to_le_bytes().to_vec());
    }
    let launch = Launch {
        kernel: kernel.entry.to_owned(),
        grid: kernel.grid,
        block: kernel.block,
        dynamic_smem: kernel.smem,
        cluster: None,
        args,
    };
    let report = emulator.launch(&module, &launch, &Options::default());
    report.into_result().map_err(|error| error.to_string())?;
    Ok(outputs.into_iter().map(|buffer| emulator.bytes(buffer).to_vec()).collect())
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
