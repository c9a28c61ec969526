//! Fused multiply-adds per clock and multiprocessor, which no device attribute reports.
//!
//! Source: NVIDIA's architecture white papers and data sheets, dense, checked by
//! `2 * FMA * SMs * clock` against their TFLOPS in the tests.

use super::Pipe;

/// Returns the fused multiply-adds of one multiprocessor per clock; `None` where not known.
pub(super) fn fma_per_clock(capability: (u32, u32), pipe: Pipe) -> Option<f64> {
    // f64 is the larger of the plain pipe and the tensor cores.
    let [f64, f32, tf32, f16, f8, i8] = match capability {
        (8, 0) => [64.0, 64.0, 512.0, 1024.0, 0.0, 2048.0],
        (8, 6) => [2.0, 128.0, 256.0, 512.0, 0.0, 1024.0],
        (8, 9) => [2.0, 128.0, 256.0, 512.0, 1024.0, 1024.0],
        (9, 0) => [128.0, 128.0, 1024.0, 2048.0, 4096.0, 4096.0],
        (10, 0) => [64.0, 128.0, 2048.0, 4096.0, 8192.0, 8192.0],
        (12, 0) => [2.0, 128.0, 256.0, 512.0, 1024.0, 1024.0],
        _ => return None,
    };
    let fma = match pipe {
        Pipe::F64 => f64,
        Pipe::F32 => f32,
        Pipe::Tf32 => tf32,
        Pipe::F16 => f16,
        Pipe::F8 => f8,
        Pipe::I8 => i8,
    };
    (fma > 0.0).then_some(fma)
}

/// Returns the clock in MHz at which the data sheet rates a pipe, where it is below the highest:
/// tensor cores of Hopper at 1830 MHz give its 989 TFLOPS, 1980 MHz would give 1070.
pub(super) fn rated_mhz(capability: (u32, u32), pipe: Pipe) -> Option<f64> {
    let is_tensor = matches!(pipe, Pipe::Tf32 | Pipe::F16 | Pipe::F8 | Pipe::I8);
    (capability == (9, 0) && is_tensor).then_some(1830.0)
}

/// Returns the fastest pipe that can do the work at its precision. Products of f32 can be had from
/// tensor cores in several passes, none of which is faster than TF32.
pub(super) fn fastest_for(pipe: Pipe) -> Pipe {
    match pipe {
        Pipe::F32 => Pipe::Tf32,
        other => other,
    }
}
