//! A kernel of the corpus on the emulator.

use std::time::Instant;

use emu_corpus::{Arg, Case, Kernel, Role};
use ptx_emu::{Config, Emulator, Launch, Module, Options, Report, TensorMap};

/// The result of a launch on the emulator.
#[derive(Debug)]
pub(super) struct Emulated {
    /// How it ended and what was found.
    pub(super) report: Report,
    /// Bytes of the outputs, in order, as the launch left them.
    pub(super) outputs: Vec<Vec<u8>>,
    /// Wall time of the launch alone, in seconds.
    pub(super) seconds: f64,
}

/// Runs a kernel on the inputs of a case; outputs hold NaN and count as unwritten before.
pub(super) fn emulate(
    module: &Module,
    entry: &str,
    kernel: &Kernel,
    case: &Case,
    options: &Options,
) -> Emulated {
    let mut emulator = Emulator::new(Config::default());
    let mut outputs = Vec::new();
    let args = kernel.args.iter().zip(&case.args).map(|(arg, data)| {
        let data = match data {
            Err(scalar) => return scalar.clone(),
            Ok(data) => data,
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
        match arg {
            Arg::TensorMap { shape, .. } => {
                TensorMap { address, ..shape.tensor_map(data.dtype) }.encode().to_vec()
            }
            Arg::Buffer { .. } | Arg::Scalar(_) => address.to_le_bytes().to_vec(),
        }
    });
    let launch = Launch {
        kernel: entry.to_owned(),
        grid: kernel.grid,
        block: kernel.block,
        dynamic_smem: kernel.smem,
        cluster: None,
        args: args.collect(),
    };
    let options = Options { cooperative: Some(kernel.is_cooperative()), ..options.clone() };
    let start = Instant::now();
    let report = emulator.launch(module, &launch, &options);
    let seconds = start.elapsed().as_secs_f64();
    let outputs = outputs.into_iter().map(|buffer| emulator.bytes(buffer).to_vec()).collect();
    Emulated { report, outputs, seconds }
}
