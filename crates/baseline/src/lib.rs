//! Baselines: implementations that a kernel is timed against.
//!
//! The `builtin` baseline is a kernel file per op, judged like any candidate: one of its own in
//! `suites/baselines`, which may share `parts`, or an expression in a template (`elementwise`). It is decently written, not
//! the fastest kernel there is: a speedup is always shown with the name of its baseline. PyTorch's
//! implementations run in a process of their own ([`side`], [`python`]), and so do kernels in Python
//! ([`backend_bench`]) and the libraries of adapters ([`adapter`]).

pub mod adapter;
pub mod backend_bench;
pub mod python;
pub mod side;
pub mod torch_code;

mod elementwise;
mod parts;

use std::path::Path;

use include_dir::{Dir, include_dir};
use kgen_ops::op::OpDef;
use kgen_record::{Adapter, BaselineRequest, Implementation, PythonKind};

/// Name of the baseline that comes with kgen.
pub const BUILTIN: &str = "builtin";

/// Name of the baseline that is NVIDIA's library of matrix products.
pub const CUBLAS: &str = "cublas";

/// The ops that [`CUBLAS`] computes.
pub const CUBLAS_OPS: [&str; 6] = ["mm", "bmm", "addmm", "baddbmm", "linear", "mv"];

/// The embedded kernel files: `<op>.cu`, a dot in the op's name written as `__`.
static KERNELS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../suites/baselines");

/// Returns the kernel file of the `builtin` baseline for an op; `None` where there is none.
#[must_use]
pub fn builtin(op: &str) -> Option<&'static str> {
    let file = format!("{}.cu", op.replace('.', "__"));
    parts::kernel(&file).or_else(|| elementwise::kernel(op))
}

/// A baseline that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none of that name.
    #[error(
        "unknown baseline `{name}` (known: {BUILTIN}, {CUBLAS}, aten, torch_compile, torch_compile_max_autotune, \
         flag_gems, jax, cupy, onnxruntime, candle, burn, triton=DIR)"
    )]
    Unknown { name: String },
    /// Its kernels cannot be read.
    #[error(transparent)]
    Folder(#[from] backend_bench::Error),
}

/// Returns the baselines of an op: one entry per name, in that order. A baseline that has
/// nothing for the op is left out; one of PyTorch's says so when it is asked.
///
/// # Errors
///
/// Any [`Error`].
pub fn requests(names: &[String], op: &OpDef) -> Result<Vec<BaselineRequest>, Error> {
    let mut requests = Vec::new();
    for name in names {
        requests.extend(request(name, op)?);
    }
    Ok(requests)
}

/// The baseline of a name.
#[derive(Clone, Copy)]
enum Named<'a> {
    Builtin,
    Cublas,
    Library(PythonKind),
    Adapter(Adapter),
    /// Kernels in Python of a folder.
    Modules(&'a Path),
}

impl<'a> Named<'a> {
    fn parse(name: &'a str) -> Result<Self, Error> {
        if name == BUILTIN {
            return Ok(Self::Builtin);
        }
        if name == CUBLAS {
            return Ok(Self::Cublas);
        }
        if let Ok(adapter) = name.parse() {
            return Ok(Self::Adapter(adapter));
        }
        let (kind, folder) = match name.split_once('=') {
            Some((kind, folder)) => (kind, Some(Path::new(folder))),
            None => (name, None),
        };
        match (kind.parse(), folder) {
            (Ok(PythonKind::Triton), Some(folder)) => Ok(Self::Modules(folder)),
            (Ok(kind), None) if kind != PythonKind::Triton => Ok(Self::Library(kind)),
            _ => Err(Error::Unknown { name: name.to_owned() }),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Builtin => BUILTIN,
            Self::Cublas => CUBLAS,
            Self::Library(kind) => kind.name(),
            Self::Adapter(adapter) => adapter.name(),
            Self::Modules(_) => PythonKind::Triton.name(),
        }
    }
}

fn request(name: &str, op: &OpDef) -> Result<Option<BaselineRequest>, Error> {
    let named = Named::parse(name)?;
    let implementation = match named {
        Named::Builtin => {
            builtin(&op.name).map(|source| Implementation::Kernel { source: source.into() })
        }
        Named::Cublas => cublas(&op.name),
        Named::Library(kind) => Some(Implementation::python(kind)),
        Named::Adapter(library) => Some(Implementation::Adapter { library }),
        Named::Modules(folder) => {
            backend_bench::find(folder, op)?.map(|found| found.implementation)
        }
    };
    let name = named.name().to_owned();
    Ok(implementation.map(|implementation| BaselineRequest { name, implementation }))
}

/// Returns the call of cuBLASLt for an op; `None` where it computes something else.
#[must_use]
pub fn cublas(op: &str) -> Option<Implementation> {
    CUBLAS_OPS.contains(&op).then(|| Implementation::Library { name: CUBLAS.to_owned() })
}

/// Returns whether a baseline of this name runs in the Python process.
///
/// # Errors
///
/// [`Error::Unknown`].
pub fn needs_python(name: &str) -> Result<bool, Error> {
    Ok(match Named::parse(name)? {
        Named::Builtin | Named::Cublas | Named::Adapter(_) => false,
        Named::Library(_) | Named::Modules(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use kgen_kernel::KernelFile;
    use kgen_ops::op;

    #[test]
    fn baselines_come_in_the_order_asked_for_and_unknown_ones_are_named() {
        let of = |names: &[&str], op: &str| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            super::requests(&names, op::find(op).unwrap())
        };
        let requests = of(&["aten", "builtin", "triton=/no/such/folder"], "relu").unwrap();
        let names: Vec<&str> = requests.iter().map(|request| request.name.as_str()).collect();
        assert_eq!(names, ["aten", "builtin"]);
        assert!(requests[0].implementation.needs_python());
        assert!(super::needs_python("triton=x").unwrap());
        assert!(!super::needs_python("builtin").unwrap());
        let cublas = of(&["cublas", "builtin"], "mm").unwrap();
        assert_eq!(cublas[0].name, "cublas");
        assert!(cublas[0].implementation.source().is_none());
        assert_eq!(of(&["cublas"], "relu").unwrap(), []);
        for unknown in ["atem", "triton", "aten=x"] {
            let error = of(&[unknown], "relu").unwrap_err().to_string();
            assert!(error.starts_with(&format!("unknown baseline `{unknown}`")), "{error}");
            assert!(super::needs_python(unknown).is_err());
        }
    }

    #[test]
    fn every_op_has_a_builtin_kernel_and_every_file_an_op() {
        for op in op::all() {
            let kernel = super::builtin(&op.name).unwrap_or_else(|| panic!("{}: none", op.name));
            KernelFile::parse(kernel).unwrap_or_else(|error| panic!("{}: {error}", op.name));
        }
        for file in
            super::KERNELS.files().filter(|file| file.path().extension() == Some("cu".as_ref()))
        {
            let name = file.path().file_stem().unwrap().to_str().unwrap().replace("__", ".");
            assert!(op::all().iter().any(|op| op.name == name), "{name} is no op");
            assert!(super::elementwise::kernel(&name).is_none(), "{name} is in the table too");
        }
    }
}
