//! A launch made ready: the function, its arguments in memory, and the limits it must keep.

use std::{
    collections::HashMap,
    ffi::{CString, c_void},
};

use cudarc::driver::{
    DriverError, result,
    sys::{self, CUfunction, CUfunction_attribute, CUmodule, CUresult, CUstream},
};
use kgen_record::{LaunchAttributes, Target};

use super::{
    attributes,
    driver::{machine, text},
};
use crate::{
    Launch, LaunchError,
    limits::{check_limits, launch_error},
};

/// Shared memory, static and dynamic, that needs no opting in, in bytes.
const SMEM_DEFAULT: u32 = 48 << 10;

/// Lines of memory behind every argument. The driver reads as many bytes as the compiled kernel
/// asks for; a parameter that is wider than its argument must not make it read beyond.
const MIN_LINES: usize = 4;

/// Memory of an argument, aligned as a tensor map must be.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A loaded module and its functions as far as they were asked for.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) raw: CUmodule,
    functions: HashMap<String, Function>,
}

/// A function and the dynamic shared memory it may have.
#[derive(Debug, Clone, Copy)]
struct Function {
    raw: CUfunction,
    smem_max: u32,
}

impl Module {
    /// Loads a CUBIN.
    pub(super) fn new(cubin: &[u8]) -> Result<Self, DriverError> {
        // The driver reads the image's length from its ELF header; one that is cut off must not
        // make it read beyond.
        let mut image = cubin.to_vec();
        image.resize(cubin.len().max(64) + 64, 0);
        // SAFETY: the image is an ELF file made by NVRTC, and outlives the call.
        let raw = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        Ok(Self { raw, functions: HashMap::new() })
    }

    /// Returns a function with at least `smem` bytes of dynamic shared memory allowed.
    fn function(&mut self, name: &str, smem: u32) -> Result<CUfunction, LaunchError> {
        if let Some(known) = self.functions.get(name).filter(|known| known.smem_max >= smem) {
            return Ok(known.raw);
        }
        let no_such =
            || launch_error(format!("there is no kernel `{name}` in the compiled module"));
        let c_name = CString::new(name).map_err(|_| no_such())?;
        // SAFETY: the module is loaded.
        let raw = unsafe { result::module::get_function(self.raw, c_name) };
        let raw = raw.map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => no_such(),
            _ => LaunchError::Machine(machine("find a kernel", error)),
        })?;
        let which = CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a loaded module.
        let own = unsafe { result::function::get_function_attribute(raw, which) };
        let own = own.map_err(|error| LaunchError::Machine(machine("ask a kernel", error)))?;
        let mut smem_max = SMEM_DEFAULT.saturating_sub(u32::try_from(own).unwrap_or(0));
        if smem > smem_max {
            let asked = i32::try_from(smem).unwrap_or(i32::MAX);
            let which = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function belongs to a loaded module.
            let set = unsafe { result::function::set_function_attribute(raw, which, asked) };
            set.map_err(|error| {
                let reason = text(error);
                launch_error(format!(
                    "kernel `{name}` cannot have {smem} bytes of dynamic shared memory: {reason}"
                ))
            })?;
            smem_max = smem;
        }
        self.functions.insert(name.to_owned(), Function { raw, smem_max });
        Ok(raw)
    }
}

/// A launch whose arguments are resolved to addresses.
pub(super) struct Ready {
    function: CUfunction,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    smem: u32,
    args: Vec<Vec<Line>>,
    attributes: LaunchAttributes,
}

impl Ready {
    /// Makes a launch ready.
    ///
    /// `args`: the bytes of every argument.
    pub(super) fn new(
        module: &mut Module,
        launch: &Launch,
        args: &[Vec<u8>],
        target: &Target,
    ) -> Result<Self, LaunchError> {
        check_limits(launch, target)?;
        let function = module.function(&launch.kernel, launch.smem)?;
        check_parameters(function, launch, args, target)?;
        attributes::check(function, launch, target)?;
        Ok(Self {
            function,
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            smem: launch.smem,
            args: args.iter().map(|bytes| lines(bytes)).collect(),
            attributes: launch.attributes,
        })
    }

    pub(super) fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Enqueues the launch.
    pub(super) fn enqueue(&mut self, stream: CUstream) -> Result<(), DriverError> {
        let mut pointers: Vec<*mut c_void> =
            self.args.iter_mut().map(|lines| lines.as_mut_ptr().cast()).collect();
        // Graphs are recorded from the stream, so that a replay has the same attributes.
        let mut list = attributes::list(self.attributes);
        if !list.is_empty() {
            let config =
                attributes::config(self.grid, self.block, self.smem, stream, list.as_mut_slice());
            let none = std::ptr::null_mut();
            // SAFETY: as below; the configuration and its attributes outlive the call.
            let status = unsafe {
                sys::cuLaunchKernelEx(&raw const config, self.function, pointers.as_mut_ptr(), none)
            };
            return status.result();
        }
        let dims = |[x, y, z]: [u32; 3]| (x, y, z);
        // SAFETY: the function belongs to a loaded module; there is an argument for every
        // parameter, each in memory of at least its size, which the driver copies before it
        // returns. The kernel may misuse its pointers, so it runs in a worker.
        unsafe {
            result::launch_kernel(
                self.function,
                dims(self.grid),
                dims(self.block),
                self.smem,
                stream,
                &mut pointers,
            )
        }
    }

    /// Turns an error of [`Self::enqueue`] into an error of the launch; `None` when it concerns an
    /// earlier one.
    pub(super) fn refused(&self, error: DriverError) -> Option<LaunchError> {
        let refusals = [
            CUresult::CUDA_ERROR_INVALID_VALUE,
            CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE,
            CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            CUresult::CUDA_ERROR_NOT_SUPPORTED,
        ];
        let Self { kernel, grid, block, smem, attributes, .. } = self;
        let clusters = match attributes.cluster {
            Some(cluster) => format!(", clusters of {cluster:?}"),
            None => String::new(),
        };
        refusals.contains(&error.0).then(|| {
            let n_regs = attribute(self.function, CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS);
            let static_smem =
                attribute(self.function, CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
            launch_error(format!(
                "kernel `{kernel}` cannot be launched with grid {grid:?}, block {block:?}{clusters} \
                 and {smem} bytes of dynamic shared memory: {} (it uses {n_regs} registers per thread \
                 and {static_smem} bytes of static shared memory)",
                text(error)
            ))
        })
    }
}

/// Reads an attribute of a function, 0 where the driver does not say.
fn attribute(function: CUfunction, which: CUfunction_attribute) -> i32 {
    // SAFETY: the function belongs to a loaded module.
    unsafe { result::function::get_function_attribute(function, which) }.unwrap_or(0)
}

fn lines(bytes: &[u8]) -> Vec<Line> {
    let mut lines = vec![Line::default(); bytes.len().div_ceil(64).max(MIN_LINES)];
    let words = lines.iter_mut().flat_map(|line| &mut line.0);
    for (word, chunk) in words.zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(whole);
    }
    lines
}

/// Compares the arguments with the compiled parameters, where the driver can list them (CUDA 12.4).
fn check_parameters(
    function: CUfunction,
    launch: &Launch,
    args: &[Vec<u8>],
    target: &Target,
) -> Result<(), LaunchError> {
    if target.driver_version.is_none_or(|version| version < 12_040) {
        return Ok(());
    }
    let size_of = |index: usize| {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function belongs to a loaded module; both pointers are valid for writes.
        let status =
            unsafe { sys::cuFuncGetParamInfo(function, index, &raw mut offset, &raw mut size) };
        status.result().ok().map(|()| size)
    };
    let fits = args.iter().enumerate().all(|(index, bytes)| size_of(index) == Some(bytes.len()));
    if fits && size_of(args.len()).is_none() {
        return Ok(());
    }
    let sizes: Vec<usize> = (0..64).map_while(size_of).collect();
    let given: Vec<usize> = args.iter().map(Vec::len).collect();
    Err(launch_error(format!(
        "kernel `{}` has parameters of {sizes:?} bytes and was given {given:?}",
        launch.kernel
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_room_behind_them_and_are_aligned() {
        let number = lines(&[1, 0, 0, 0, 2]);
        assert_eq!((number[0].0[0], number.len()), (0x02_0000_0001, MIN_LINES));
        let map = lines(&[7; 128]);
        assert_eq!((map[1].0[7], map[2].0[0], map.len()), (0x0707_0707_0707_0707, 0, MIN_LINES));
        assert_eq!(map.as_ptr() as usize % 64, 0);
    }
}
