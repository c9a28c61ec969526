//! NVRTC: found or provisioned, guarded, run, and its output understood.
//!
//! One compilation gives everything: PTX for the emulator, the CUBIN for the GPU, messages,
//! registers and shared memory, and the types of the kernels' parameters. Nothing here launches
//! a kernel or judges one, and nothing here reads the environment.

mod cache;
mod compiler;
mod copy;
mod cutlass;
mod guard;
mod loader;
mod locate;
mod log;
mod nvrtc;
mod prelude;
mod provision;
mod signature;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tools;
mod watch;

use std::{ffi::CStr, path::PathBuf};

pub use compiler::{CompileError, CompileJob, Compiled, Compiler};
pub use copy::{COPY_KERNELS, COPY_MAX_DIMS, copy_kernel, copy_source};
pub use cutlass::is_included as includes_cutlass;
pub use guard::{guard_ptx, guard_source};
pub use loader::load_library;
pub use locate::{LocateOptions, Toolchain, locate, locate_cublaslt, locate_cudnn};
pub use prelude::{PRELUDE, bundled_headers};
pub use provision::{Progress, ProvisionOptions, installed_cutlass, provision, provision_cutlass};
pub use tools::{Disassembler, find_tool, is_program};
pub use watch::{COMPILE_MEMORY_BYTES, MEMORY_EXIT, end_with_memory};

/// Name of the kernel file in messages and in line information; its lines are those of the kernel
/// file.
pub const PROGRAM: &str = "k.cu";
/// The same for NVRTC: in a folder that does not exist, as names of internal variables are made from the
/// whole path, and a relative one would depend on the folder that a process works in.
const PROGRAM_NAME: &CStr = c"/kgen/k.cu";
/// Folder of the program in the compiler's messages.
const PROGRAM_FOLDER: &str = "/kgen/";

/// A fault of the toolchain or the machine, never of a kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No NVRTC anywhere.
    #[error("no NVRTC found: looked at {looked}")]
    NotFound {
        /// The places, comma-separated.
        looked: String,
    },
    /// The place the user named holds no NVRTC.
    #[error("`nvrtc.path` names {}, which holds no NVRTC library", path.display())]
    NotThere {
        /// Its value.
        path: PathBuf,
    },
    /// NVRTC is newer than the driver can run.
    #[error("NVRTC {major} at {} is newer than the driver, which runs CUDA {driver}", path.display())]
    TooNew {
        /// The library.
        path: PathBuf,
        /// Its major version.
        major: u32,
        /// The driver's major version.
        driver: u32,
    },
    /// The library cannot be loaded.
    #[error("cannot load {}: {reason}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A call of NVRTC failed for a reason other than the source.
    #[error("{call} failed: {status}")]
    Nvrtc {
        /// The function.
        call: &'static str,
        status: String,
    },
    /// A name or option holds a NUL byte.
    #[error("a text for the compiler holds a NUL byte")]
    Nul,
    /// A file of the cache or the toolchain cannot be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Downloads are forbidden.
    #[error(
        "{package} is not installed and downloads are forbidden (`nvrtc.offline`, KGEN_OFFLINE)"
    )]
    Offline {
        /// NVRTC, or CUTLASS.
        package: &'static str,
    },
    /// There is no folder to install into.
    #[error(
        "{package} cannot be installed: there is no cache folder (set `nvrtc.cache_dir` or HOME)"
    )]
    NoCache {
        /// As of [`Error::Offline`].
        package: &'static str,
    },
    /// There is no Python to run pip with.
    #[error("{package} cannot be installed: python3 with pip is needed ({reason})")]
    NoPip {
        /// As of [`Error::Offline`].
        package: &'static str,
        /// The failed action.
        reason: String,
    },
    /// pip failed.
    #[error("{package} cannot be installed: pip failed: {reason}")]
    Pip {
        /// As of [`Error::Offline`].
        package: &'static str,
        /// The end of its messages.
        reason: String,
    },
    /// NVRTC cannot read the headers of CUTLASS.
    #[error(
        "NVRTC {}.{} cannot read the headers of CUTLASS {}, which are known to work with NVRTC 12.8 to 13.1",
        .nvrtc.0, .nvrtc.1, cutlass::VERSION
    )]
    CutlassVersion {
        /// Its version, major and minor.
        nvrtc: (u32, u32),
    },
    /// A kernel includes headers of CUTLASS, and the compiler was opened without them.
    #[error("the headers of CUTLASS are not installed")]
    NoCutlass,
}
