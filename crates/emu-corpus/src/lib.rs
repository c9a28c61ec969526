//! Kernels that prove the emulator: CUDA sources with a launch, inputs by seed and an f64 reference.
//!
//! Three programs run the same entries: the emulator's tests (from PTX), kgen's comparison of
//! emulator and GPU (from source), and the mutation harness.

#![warn(missing_docs)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "test data is cut to its type on purpose"
)]

use std::fs;

mod agree;
mod data;
mod difference;
pub mod golden;
pub mod kernels;
mod map;
mod mutant;

pub use agree::{Difference, difference};
pub use data::{Case, Data, Dtype, Fill, Role};
pub use map::{Im2col, MapShape};
pub use mutant::{Class, Mutant, mutants};

/// An argument of a kernel, in the order of its signature.
#[derive(Debug, Clone)]
pub enum Arg {
    /// A buffer.
    Buffer {
        /// Name in the signature.
        name: &'static str,
        /// Element type.
        dtype: Dtype,
        /// Elements.
        len: usize,
        /// Its contents before the launch; ignored for [`Role::Out`].
        fill: Fill,
        /// Read, written or both.
        role: Role,
    },
    /// A value, as little-endian bytes.
    Scalar(Vec<u8>),
    /// A buffer that the kernel reaches through a tensor map.
    TensorMap {
        /// The [`Arg::Buffer`].
        buffer: Box<Self>,
        /// The tensor in it.
        shape: MapShape,
    },
}

/// How closely the emulator must agree with a GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Agreement {
    /// Every output bit: PTX defines the result.
    Exact,
    /// Within this error, relative above 1: `.approx` functions, tensor sums, float atomics, or
    /// products and sums that the GPU's assembler may contract.
    Within(f64),
}

/// A kernel with everything needed to run and judge it.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Unique name.
    pub name: &'static str,
    /// Stem of the source's file in `kernels/`; several kernels may share one.
    pub file: &'static str,
    /// CUDA source.
    pub source: &'static str,
    /// Name of the `extern "C"` kernel.
    pub entry: &'static str,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub smem: u32,
    /// Arguments in order.
    pub args: Vec<Arg>,
    /// Least compute capability times ten: 80, or 90 for clusters.
    pub arch: u32,
    /// Largest error of an output against `want`, relative above 1. Integers are compared exactly.
    pub tolerance: f64,
    /// Emulator against GPU.
    pub agreement: Agreement,
    /// The outputs ([`Role::Out`] and [`Role::InOut`], in order) in f64.
    pub want: fn(&Case) -> Vec<Vec<f64>>,
}

impl Kernel {
    /// Whether all blocks must run at once: a barrier of the whole grid needs a cooperative launch.
    #[must_use]
    pub fn is_cooperative(&self) -> bool {
        self.source.contains("this_grid()")
    }

    /// The PTX of its file for `sm_<arch>`: that for `sm_90` with another target, unless `arch` has
    /// PTX of its own. `None` if the kernel needs a later architecture.
    ///
    /// # Panics
    /// If the file cannot be read.
    #[must_use]
    pub fn ptx(&self, arch: u32) -> Option<String> {
        if arch < self.arch {
            return None;
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx");
        let read = |path: String| fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"));
        let own = read(format!("{folder}/sm_{arch}/{}.ptx", self.file));
        let text = own.or_else(|_| read(format!("{folder}/{}.ptx", self.file)));
        let text = text.unwrap_or_else(|error| panic!("{error}"));
        Some(text.replacen(".target sm_90\n", &format!(".target sm_{arch}\n"), 1))
    }

    /// The arguments' data for a seed.
    #[must_use]
    pub fn case(&self, seed: u64) -> Case {
        Case::new(self, seed)
    }

    /// Compares the outputs' bytes, in order, with the reference.
    ///
    /// # Errors
    /// The first element that is off, in words.
    pub fn check(&self, case: &Case, outputs: &[Vec<u8>]) -> Result<(), String> {
        let want = (self.want)(case);
        let dtypes = case.outputs().map(|d| (d.name, d.dtype)).collect::<Vec<_>>();
        if want.len() != outputs.len() || dtypes.len() != outputs.len() {
            return Err(format!("{} outputs, {} wanted", outputs.len(), want.len()));
        }
        for (((name, dtype), got), want) in dtypes.into_iter().zip(outputs).zip(&want) {
            let got = dtype.decode(got);
            if got.len() != want.len() {
                return Err(format!("`{name}` has {} elements, {} wanted", got.len(), want.len()));
            }
            let tolerance = if dtype.is_float() { self.tolerance } else { 0.0 };
            for (i, (g, w)) in got.iter().zip(want).enumerate() {
                if !close(*g, *w, tolerance) {
                    return Err(format!("`{name}`[{i}] is {g}, not {w}"));
                }
            }
        }
        Ok(())
    }
}

/// Whether `got` is `want` within `tolerance`, relative above 1. NaN is NaN.
#[must_use]
#[expect(clippy::float_cmp, reason = "infinities are equal, and their difference is NaN")]
pub fn close(got: f64, want: f64, tolerance: f64) -> bool {
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    got == want || (got - want).abs() <= tolerance * want.abs().max(1.0)
}

/// A read-only buffer.
#[must_use]
pub fn input(name: &'static str, dtype: Dtype, len: usize, fill: Fill) -> Arg {
    Arg::Buffer { name, dtype, len, fill, role: Role::In }
}

/// A buffer the kernel fills whole; uninitialised before.
#[must_use]
pub fn output(name: &'static str, dtype: Dtype, len: usize) -> Arg {
    Arg::Buffer { name, dtype, len, fill: Fill::Zeros, role: Role::Out }
}

/// A buffer the kernel reads and writes.
#[must_use]
pub fn inout(name: &'static str, dtype: Dtype, len: usize, fill: Fill) -> Arg {
    Arg::Buffer { name, dtype, len, fill, role: Role::InOut }
}

/// A 32-bit integer argument.
#[must_use]
pub fn int(value: i32) -> Arg {
    Arg::Scalar(value.to_le_bytes().to_vec())
}

/// A 64-bit integer argument.
#[must_use]
pub fn long(value: i64) -> Arg {
    Arg::Scalar(value.to_le_bytes().to_vec())
}

/// An f32 argument.
#[must_use]
pub fn float(value: f32) -> Arg {
    Arg::Scalar(value.to_le_bytes().to_vec())
}
