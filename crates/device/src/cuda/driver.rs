//! The driver's answers as results: faults of a kernel, and failures of the machine.

use cudarc::driver::{
    DriverError, result,
    sys::{self, CUresult},
};
use kgen_record::{Fault, Finding, Verdict};

use crate::{Error, LaunchError};

/// Returns whether the driver's library is there; without it cudarc's first call would panic.
pub(super) fn is_present() -> bool {
    // SAFETY: only asks the dynamic linker for the driver's library.
    unsafe { sys::is_culib_present() }
}

/// Starts the driver; free when it is started already.
///
/// # Errors
///
/// [`Error::NoDriver`] without its library, [`Error::NoGpu`] without a usable GPU.
pub(super) fn init() -> Result<(), Error> {
    if !is_present() {
        return Err(Error::NoDriver);
    }
    result::init().map_err(|error| match error.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => Error::NoGpu,
        _ => machine("start the CUDA driver", error),
    })
}

/// Returns the driver's CUDA version, for example 13000.
pub(super) fn version() -> Result<u32, Error> {
    let mut version = 0;
    // SAFETY: the pointer is valid for writes.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    status.result().map_err(|error| machine("read the driver's version", error))?;
    Ok(version.unsigned_abs())
}

/// Describes an error that no kernel can cause.
pub(super) fn machine(action: &'static str, error: DriverError) -> Error {
    Error::Driver { action, reason: text(error) }
}

/// Returns the driver's name and text of an error.
pub(super) fn text(error: DriverError) -> String {
    let name = error.error_name().map(|name| name.to_string_lossy().into_owned());
    let words = error.error_string().map(|words| words.to_string_lossy().into_owned());
    match (words, name) {
        (Ok(words), Ok(name)) => format!("{words} ({name})"),
        (Ok(one), Err(_)) | (Err(_), Ok(one)) => one,
        (Err(_), Err(_)) => format!("CUDA error {}", error.0 as u32),
    }
}

/// Turns an error of a call after a launch into an error of the launched kernels.
///
/// `kernels`: the kernels launched since the last success, oldest first.
pub(super) fn launch_error(
    action: &'static str,
    error: DriverError,
    kernels: &[String],
) -> LaunchError {
    let (kind, verdict) = match error.0 {
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => ("illegal_address", Verdict::Fault),
        CUresult::CUDA_ERROR_MISALIGNED_ADDRESS => ("misaligned_address", Verdict::Fault),
        CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE => ("invalid_address_space", Verdict::Fault),
        CUresult::CUDA_ERROR_INVALID_PC => ("invalid_program_counter", Verdict::Fault),
        CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION => ("illegal_instruction", Verdict::Fault),
        CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR => ("stack_overflow", Verdict::Fault),
        CUresult::CUDA_ERROR_ASSERT => ("assertion", Verdict::Fault),
        CUresult::CUDA_ERROR_LAUNCH_FAILED => ("launch_failed", Verdict::Fault),
        CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => ("timeout", Verdict::TimedOut),
        _ => return LaunchError::Machine(machine(action, error)),
    };
    let names = kernels.join("`, `");
    let reason = text(error);
    let message = if kernels.len() == 1 {
        format!("the GPU stopped kernel `{names}`: {reason}")
    } else {
        format!("the GPU stopped one of the kernels `{names}`: {reason}")
    };
    let fault = Fault {
        kind: kind.to_owned(),
        kernel: kernels.last().cloned().unwrap_or_default(),
        line: None,
        instruction: None,
        block: None,
        thread: None,
        buffer: None,
        element: None,
        buffer_elements: None,
        n_threads: 0,
        elements: None,
        other: None,
        message: message.clone(),
    };
    let hint = "the emulator names the thread, the line and the buffer: run it with `--device emu`";
    let finding = Finding { message, span: None, hint: Some(hint.to_owned()), fault: Some(fault) };
    // All of these errors stick to the context: every later call fails with them.
    LaunchError::Kernel { verdict, finding: Box::new(finding), device_lost: true }
}
