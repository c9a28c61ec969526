//! The compiler of the unit tests: found, or provisioned into kgen's cache.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::OnceLock;

use kgen_record::DType;
use kgen_settings::{NvrtcSettings, env};

use super::{
    CompileJob, Compiled, Compiler, LocateOptions, ProvisionOptions, Toolchain, locate, provision,
};

/// Returns the toolchain, the same for all tests of the process.
pub fn toolchain() -> &'static Toolchain {
    static TOOLCHAIN: OnceLock<Toolchain> = OnceLock::new();
    TOOLCHAIN.get_or_init(|| {
        let path = env::KGEN_NVRTC.path();
        let settings = NvrtcSettings { path, offline: false, cache_dir: None };
        match locate(&LocateOptions::new(&settings, None)) {
            Ok(found) if found.complete => found,
            Ok(_) | Err(_) => {
                provision(&ProvisionOptions::new(&settings, None), &mut |_| {}).unwrap()
            }
        }
    })
}

/// Returns a compiler with kgen's own cache: most sources are the same in every run of the tests.
pub fn compiler() -> Compiler {
    Compiler::open(toolchain(), env::cache_home().map(|cache| cache.join("compiled"))).unwrap()
}

/// Returns a compiler without a cache.
pub fn uncached_compiler() -> Compiler {
    Compiler::open(toolchain(), None).unwrap()
}

/// Compiles a source whose tensors are all of one type, or takes the result from the cache.
pub fn compile(source: &str, kernels: &[&str], dtype: DType) -> Compiled {
    compile_with(&compiler(), source, kernels, dtype)
}

/// Compiles a source whose tensors are all of one type.
pub fn compile_with(compiler: &Compiler, source: &str, kernels: &[&str], dtype: DType) -> Compiled {
    let types = [("T_self".to_owned(), dtype), ("T_out".to_owned(), dtype)];
    let kernels: Vec<String> = kernels.iter().map(|name| (*name).to_owned()).collect();
    let job = CompileJob { source, defines: &[], types: &types, kernels: &kernels, arch: "sm_90a" };
    compiler.compile(&job).unwrap()
}
