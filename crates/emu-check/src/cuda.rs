//! A kernel of the corpus on a GPU.

use emu_corpus::{Arg, Case, Kernel, Role};
use kgen_device::{
    BufferId, CudaDevice, Device as _, Image, KernelArg, Launch, LaunchAttributes, LaunchError,
    ModuleId,
};

use super::source::Built;

/// Bytes of the outputs, in order.
pub(super) type GpuOutputs = Vec<Vec<u8>>;

/// Loads a kernel and runs it on the inputs of a case; `poison` fills the outputs before.
///
/// On a bare device ([`CudaDevice::set_bare`]) outputs are neither filled nor read.
pub(super) fn run_on_gpu(
    device: &mut CudaDevice,
    built: &Built,
    kernel: &Kernel,
    case: &Case,
    poison: Option<u8>,
) -> Result<GpuOutputs, LaunchError> {
    let image = Image { ptx: &built.compiled.ptx, cubin: &built.compiled.cubin };
    let module = device.load(&image)?;
    let mut buffers = Vec::new();
    let ran = run(device, module, &built.entry, kernel, case, poison, &mut buffers);
    for (buffer, _) in buffers {
        device.free(buffer);
    }
    device.unload(module);
    ran
}

fn run(
    device: &mut CudaDevice,
    module: ModuleId,
    entry: &str,
    kernel: &Kernel,
    case: &Case,
    poison: Option<u8>,
    buffers: &mut Vec<(BufferId, Role)>,
) -> Result<GpuOutputs, LaunchError> {
    let mut args = Vec::new();
    for (arg, data) in kernel.args.iter().zip(&case.args) {
        let data = match data {
            Ok(data) => data,
            Err(scalar) => {
                args.push(KernelArg::Bytes(scalar.clone()));
                continue;
            }
        };
        let buffer = device.alloc(data.name, data.bytes.len(), data.dtype.bytes())?;
        buffers.push((buffer, data.role));
        match (data.role, poison) {
            (Role::Out, None) => {}
            (Role::Out, Some(byte)) => device.fill(buffer, &[byte])?,
            (Role::In | Role::InOut, _) => device.write(buffer, &data.bytes)?,
        }
        args.push(match arg {
            Arg::TensorMap { shape, .. } => {
                let map = Box::new(shape.tensor_map(data.dtype));
                KernelArg::TensorMap { buffer, byte_offset: 0, map }
            }
            Arg::Buffer { .. } | Arg::Scalar(_) => KernelArg::Pointer { buffer, byte_offset: 0 },
        });
    }
    let launch = Launch {
        kernel: entry.to_owned(),
        grid: kernel.grid,
        block: kernel.block,
        smem: kernel.smem,
        args,
        attributes: LaunchAttributes {
            cooperative: kernel.is_cooperative(),
            ..LaunchAttributes::default()
        },
    };
    device.launch(module, &launch)?;
    device.sync()?;
    if poison.is_none() {
        return Ok(Vec::new());
    }
    for (buffer, _) in &*buffers {
        device.check_guards(*buffer)?;
    }
    let outputs = buffers.iter().filter(|(_, role)| *role != Role::In);
    outputs.map(|(buffer, _)| device.read(*buffer)).collect()
}
