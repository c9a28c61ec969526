//! Convolutions by cuDNN, which is loaded when the first one is asked for.

use std::{
    ffi::{c_int, c_void},
    path::PathBuf,
    ptr,
};

use cudarc::{
    cudnn::{
        result::{self as dnn, CudnnError},
        sys::{
            self, cudnnConvolutionFwdAlgo_t as Algorithm, cudnnConvolutionMode_t as Mode,
            cudnnDataType_t as DataType, cudnnMathType_t as Math, cudnnStatus_t as Status,
            cudnnTensorFormat_t as Format,
        },
    },
    driver::{
        result as driver,
        sys::{CUdeviceptr, CUstream},
    },
};
use kgen_compile::{load_library, locate_cublaslt, locate_cudnn};
use kgen_record::{Convolution, DType};

use super::library::{Library, address, options, unsupported};
use crate::LaunchError;

/// Algorithms that the heuristic is asked for: all there are.
const MAX_ALGORITHMS: usize = Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_COUNT as usize;

/// Bytes at most that an algorithm may use beside the tensors.
const MAX_WORKSPACE: usize = 4 << 30;

/// cuDNN, loaded and with its workspaces.
#[derive(Debug)]
pub(super) struct Cudnn {
    handle: sys::cudnnHandle_t,
    /// Workspaces with their bytes, each larger than those before it. A step that was made ready keeps
    /// its own, and all run in one stream, so that none is freed before the end.
    workspaces: Vec<(CUdeviceptr, usize)>,
}

impl Cudnn {
    /// Loads the library for a stream; the context is current.
    pub(super) fn open(driver_version: Option<u32>, stream: CUstream) -> Result<Self, LaunchError> {
        let options = options(driver_version);
        if let Some(cublaslt) = locate_cublaslt(&options) {
            // cuDNN asks for it by a bare name, and does without for most algorithms.
            drop(load_library(&cublaslt, "libcublasLt.so"));
        }
        LIBRARY.load(locate_cudnn(&options).as_deref(), is_present)?;
        let handle = dnn::create_handle().map_err(|error| refused("be opened", error))?;
        let library = Self { handle, workspaces: Vec::new() };
        // SAFETY: handle and stream are alive and of one context.
        let set = unsafe { dnn::set_stream(handle, stream.cast()) };
        set.map_err(|error| refused("use this stream", error))?;
        Ok(library)
    }

    /// Frees everything; the context is current.
    pub(super) fn close(self) {
        // SAFETY: all are alive and not used after this. A failure leaks them, no more.
        unsafe {
            for (workspace, _) in self.workspaces {
                _ = driver::free_sync(workspace);
            }
            _ = dnn::destroy_handle(self.handle);
        }
    }

    /// Chooses an algorithm: the first that the library's heuristic names, that may be taken, and that
    /// there is memory for.
    pub(super) fn ready(
        &mut self,
        call: &Convolution<CUdeviceptr>,
    ) -> Result<ReadyConvolution, LaunchError> {
        let dtype = type_of(call.dtype);
        let mut ready = ReadyConvolution {
            handle: self.handle,
            input: Tensor::new(dtype, &call.input_shape)?,
            weight: Filter::new(dtype, &call.weight_shape)?,
            out: Tensor::new(dtype, &call.out_shape)?,
            operation: Operation::new(call)?,
            addresses: [call.input, call.weight, call.out].map(address),
            is_f64: call.dtype == DType::F64,
            algorithm: Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
            workspace: (0, 0),
        };
        for algorithm in ready.algorithms()? {
            if !(call.tf32 || sums_products(algorithm)) {
                continue;
            }
            let Some(bytes) = ready.workspace_of(algorithm) else { continue };
            if let Some(workspace) = self.workspace(bytes) {
                ready.algorithm = algorithm;
                ready.workspace = workspace;
                return Ok(ready);
            }
        }
        Err(unsupported("cuDNN has no algorithm for this convolution"))
    }

    /// Returns memory of so many bytes, or more; `None` where there is not so much.
    fn workspace(&mut self, bytes: usize) -> Option<(CUdeviceptr, usize)> {
        if bytes == 0 {
            return Some((0, 0));
        }
        if let Some(largest) = self.workspaces.last().filter(|(_, known)| bytes <= *known) {
            return Some(*largest);
        }
        let bytes = bytes.checked_next_power_of_two().filter(|bytes| *bytes <= MAX_WORKSPACE)?;
        // SAFETY: freed in `close`.
        let workspace = unsafe { driver::malloc_sync(bytes) }.ok()?;
        self.workspaces.push((workspace, bytes));
        Some((workspace, bytes))
    }
}

/// Returns whether an algorithm adds up products of the elements as they are: transforms (FFT, Winograd)
/// are less exact than f32 arithmetic in any order.
const fn sums_products(algorithm: Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM
            | Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM
            | Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_GEMM
            | Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_DIRECT
    )
}

/// Says where cuDNN is, as [`find_cublaslt`](super::find_cublaslt) does.
///
/// # Errors
///
/// In one line how to get it, where there is none.
pub fn find_cudnn(driver_version: Option<u32>) -> Result<Option<PathBuf>, String> {
    LIBRARY.find(locate_cudnn(&options(driver_version)), is_present)
}

const LIBRARY: Library = Library {
    name: "cuDNN",
    file: "libcudnn.so",
    missing: "cuDNN 9 was not found: it comes with PyTorch for CUDA and with the package \
              nvidia-cudnn-cu13 or nvidia-cudnn-cu12",
};

fn is_present() -> bool {
    // SAFETY: asking loads the library, which runs its initialisers.
    unsafe { sys::is_culib_present() }
}

fn refused(what: &str, error: CudnnError) -> LaunchError {
    LIBRARY.refused(what, error)
}

const fn type_of(dtype: DType) -> DataType {
    match dtype {
        DType::F64 => DataType::CUDNN_DATA_DOUBLE,
        DType::F16 => DataType::CUDNN_DATA_HALF,
        DType::BF16 => DataType::CUDNN_DATA_BFLOAT16,
        _ => DataType::CUDNN_DATA_FLOAT,
    }
}

/// Returns numbers as the library takes them; what stands before the last `spatial` ones stays, and one
/// spatial dimension becomes two, the first with the value `one`.
fn numbers(values: &[usize], spatial: usize, one: c_int) -> Result<Vec<c_int>, LaunchError> {
    let too_large = |_| unsupported("the convolution is too large for cuDNN");
    let numbers = values.iter().map(|&value| c_int::try_from(value)).collect::<Result<Vec<_>, _>>();
    let mut numbers = numbers.map_err(too_large)?;
    if spatial == 1 {
        numbers.insert(numbers.len() - 1, one);
    }
    Ok(numbers)
}

fn extents(shape: &[usize]) -> Result<Vec<c_int>, LaunchError> {
    numbers(shape, shape.len() - 2, 1)
}

fn count(values: &[c_int]) -> c_int {
    c_int::try_from(values.len()).expect("tensors have few dimensions")
}

/// A convolution with its algorithm.
pub(super) struct ReadyConvolution {
    handle: sys::cudnnHandle_t,
    input: Tensor,
    weight: Filter,
    out: Tensor,
    operation: Operation,
    addresses: [CUdeviceptr; 3],
    is_f64: bool,
    algorithm: Algorithm,
    workspace: (CUdeviceptr, usize),
}

impl ReadyConvolution {
    /// Returns the algorithms that the heuristic names, the fastest first.
    fn algorithms(&self) -> Result<Vec<Algorithm>, LaunchError> {
        let blank = sys::cudnnConvolutionFwdAlgoPerf_t {
            algo: Algorithm::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
            status: Status::CUDNN_STATUS_NOT_SUPPORTED,
            time: 0.0,
            memory: 0,
            determinism: sys::cudnnDeterminism_t::CUDNN_NON_DETERMINISTIC,
            mathType: Math::CUDNN_DEFAULT_MATH,
            reserved: [0; 3],
        };
        let (mut found, mut n_found) = ([blank; MAX_ALGORITHMS], 0);
        let n_asked = c_int::try_from(found.len()).expect("there are eight");
        // SAFETY: all descriptors are alive, and `found` has room for as many as are asked for.
        let asked = unsafe {
            dnn::get_convolution_forward_algorithm(
                self.handle,
                self.input.0,
                self.weight.0,
                self.operation.0,
                self.out.0,
                n_asked,
                &raw mut n_found,
                found.as_mut_ptr(),
            )
        };
        asked.map_err(|error| refused("compute this convolution", error))?;
        let n_found = usize::try_from(n_found).unwrap_or(0);
        let found = found.iter().take(n_found).filter(|f| f.status == Status::CUDNN_STATUS_SUCCESS);
        Ok(found.map(|found| found.algo).collect())
    }

    /// Returns the bytes that an algorithm needs besides; `None` where it does not take the call.
    fn workspace_of(&self, algorithm: Algorithm) -> Option<usize> {
        // SAFETY: all descriptors are alive.
        let bytes = unsafe {
            dnn::get_convolution_forward_workspace_size(
                self.handle,
                self.input.0,
                self.weight.0,
                self.operation.0,
                self.out.0,
                algorithm,
            )
        };
        bytes.ok()
    }

    /// Enqueues the convolution in the library's stream.
    pub(super) fn enqueue(&self) -> Result<(), LaunchError> {
        let [input, weight, out] = self.addresses;
        let (wide, narrow) = ([1.0_f64, 0.0], [1.0_f32, 0.0]);
        let factors: [*const c_void; 2] = if self.is_f64 {
            [ptr::from_ref(&wide[0]).cast(), ptr::from_ref(&wide[1]).cast()]
        } else {
            [ptr::from_ref(&narrow[0]).cast(), ptr::from_ref(&narrow[1]).cast()]
        };
        // SAFETY: descriptors, handle and workspace are alive, the addresses are of buffers that hold
        // tensors of these layouts; the factors are read before the call returns.
        let status = unsafe {
            dnn::convolution_forward(
                self.handle,
                factors[0],
                self.input.0,
                input as *const c_void,
                self.weight.0,
                weight as *const c_void,
                self.operation.0,
                self.algorithm,
                self.workspace.0 as *mut c_void,
                self.workspace.1,
                factors[1],
                self.out.0,
                out as *mut c_void,
            )
        };
        status.map_err(|error| refused("launch this convolution", error))
    }
}

/// Describes a tensor; destroyed when dropped.
struct Tensor(sys::cudnnTensorDescriptor_t);

impl Tensor {
    fn new(dtype: DataType, shape: &[usize]) -> Result<Self, LaunchError> {
        let dims = extents(shape)?;
        let mut strides = vec![1; dims.len()];
        for dim in (1..dims.len()).rev() {
            strides[dim - 1] = strides[dim] * dims[dim].max(1);
        }
        let made = dnn::create_tensor_descriptor();
        let tensor = Self(made.map_err(|error| refused("describe a tensor", error))?);
        // SAFETY: the descriptor is alive; both lists have as many numbers as dimensions.
        let set = unsafe {
            dnn::set_tensornd_descriptor(
                tensor.0,
                dtype,
                count(&dims),
                dims.as_ptr(),
                strides.as_ptr(),
            )
        };
        set.map_err(|error| refused("describe a tensor", error))?;
        Ok(tensor)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: alive, and not used after this. A failure leaks it, no more.
        _ = unsafe { dnn::destroy_tensor_descriptor(self.0) };
    }
}

/// Describes a weight; destroyed when dropped.
struct Filter(sys::cudnnFilterDescriptor_t);

impl Filter {
    fn new(dtype: DataType, shape: &[usize]) -> Result<Self, LaunchError> {
        let dims = extents(shape)?;
        let made = dnn::create_filter_descriptor();
        let filter = Self(made.map_err(|error| refused("describe a weight", error))?);
        let format = Format::CUDNN_TENSOR_NCHW;
        // SAFETY: the descriptor is alive; the list has as many numbers as dimensions.
        let set = unsafe {
            dnn::set_filternd_descriptor(filter.0, dtype, format, count(&dims), dims.as_ptr())
        };
        set.map_err(|error| refused("describe a weight", error))?;
        Ok(filter)
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // SAFETY: alive, and not used after this. A failure leaks it, no more.
        _ = unsafe { dnn::destroy_filter_descriptor(self.0) };
    }
}

/// Describes the operation; destroyed when dropped.
struct Operation(sys::cudnnConvolutionDescriptor_t);

impl Operation {
    fn new(call: &Convolution<CUdeviceptr>) -> Result<Self, LaunchError> {
        let spatial = call.stride.len();
        let padding = numbers(&call.padding, spatial, 0)?;
        let stride = numbers(&call.stride, spatial, 1)?;
        let dilation = numbers(&call.dilation, spatial, 1)?;
        let groups = numbers(&[call.groups], 0, 1)?[0];
        let sums = match call.dtype {
            DType::F64 => DataType::CUDNN_DATA_DOUBLE,
            _ => DataType::CUDNN_DATA_FLOAT,
        };
        let math = match call.dtype {
            DType::F32 if !call.tf32 => Math::CUDNN_FMA_MATH,
            DType::F16 | DType::BF16 => Math::CUDNN_TENSOR_OP_MATH,
            _ => Math::CUDNN_DEFAULT_MATH,
        };
        let describe = |error| refused("describe a convolution", error);
        let operation = Self(dnn::create_convolution_descriptor().map_err(describe)?);
        // SAFETY: the descriptor is alive; the lists have as many numbers as spatial dimensions.
        unsafe {
            dnn::set_convolutionnd_descriptor(
                operation.0,
                count(&padding),
                padding.as_ptr(),
                stride.as_ptr(),
                dilation.as_ptr(),
                Mode::CUDNN_CROSS_CORRELATION,
                sums,
            )
        }
        .map_err(describe)?;
        // SAFETY: the descriptor is alive.
        unsafe { dnn::set_convolution_group_count(operation.0, groups) }.map_err(describe)?;
        // SAFETY: as above.
        unsafe { dnn::set_convolution_math_type(operation.0, math) }.map_err(describe)?;
        Ok(operation)
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: alive, and not used after this. A failure leaks it, no more.
        _ = unsafe { dnn::destroy_convolution_descriptor(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use kgen_record::Verdict;

    use super::*;

    #[test]
    fn a_library_that_is_missing_is_unsupported_and_says_how_to_get_it() {
        let missing = LIBRARY.load(None, || false).unwrap_err();
        let LaunchError::Kernel { verdict, finding, .. } = missing else { panic!("{missing:?}") };
        assert_eq!(verdict, Verdict::Unsupported);
        assert!(finding.message.contains("nvidia-cudnn") && !finding.message.contains('\n'));
        assert!(LIBRARY.load(None, || true).is_ok());
    }

    #[test]
    fn one_spatial_dimension_becomes_two() {
        assert_eq!(extents(&[2, 3, 7]).unwrap(), [2, 3, 1, 7]);
        assert_eq!(extents(&[2, 3, 5, 7]).unwrap(), [2, 3, 5, 7]);
        assert_eq!(numbers(&[4], 1, 0).unwrap(), [0, 4]);
        assert_eq!(numbers(&[4, 1], 2, 0).unwrap(), [4, 1]);
        assert!(extents(&[1 << 40, 1, 1]).is_err());
    }
}
