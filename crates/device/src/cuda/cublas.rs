//! Matrix products by cuBLASLt, which is loaded when the first one is asked for.
//!
//! The library thinks in columns: a row-major matrix is its transpose there. So it is asked for
//! `out^T = right^T @ left^T`, in which every row-major operand is a plain one.

use std::{ffi::c_void, path::PathBuf, ptr};

use cudarc::{
    cublaslt::{
        result::{self as lt, CublasError},
        sys::{
            self, cublasComputeType_t as Compute, cublasLtEpilogue_t as Epilogue,
            cublasLtMatmulDescAttributes_t as Desc, cublasLtMatmulPreferenceAttributes_t as Pref,
            cublasLtMatrixLayoutAttribute_t as Layout, cudaDataType_t as DataType,
        },
    },
    driver::{
        result as driver,
        sys::{CUdeviceptr, CUstream},
    },
};
use kgen_compile::locate_cublaslt;
use kgen_record::{DType, Gemm, Matrix};

use super::library::{Library, address, options, unsupported};
use crate::{LaunchError, limits::launch_error};

/// Bytes that algorithms may use beside the matrices; the amount that PyTorch gives them on a
/// Hopper GPU.
const WORKSPACE: usize = 32 << 20;

/// Sums of a product may be split, but not rounded to a 16-bit type in between:
/// `CUBLASLT_REDUCTION_SCHEME_INPLACE` and `_COMPUTE_TYPE`.
const REDUCTIONS: u32 = 1 | 2;

/// cuBLASLt, loaded and with its workspace.
#[derive(Debug)]
pub(super) struct Cublas {
    handle: sys::cublasLtHandle_t,
    workspace: CUdeviceptr,
}

impl Cublas {
    /// Loads the library and allocates its workspace.
    pub(super) fn open(driver_version: Option<u32>) -> Result<Self, LaunchError> {
        LIBRARY.load(locate_cublaslt(&options(driver_version)).as_deref(), is_present)?;
        let handle = lt::create_handle().map_err(|error| refused("be opened", error))?;
        // SAFETY: freed in `close`.
        let workspace = unsafe { driver::malloc_sync(WORKSPACE) };
        let workspace = workspace
            .map_err(|_| launch_error("no memory for the workspace of cuBLASLt".into()))?;
        Ok(Self { handle, workspace })
    }

    /// Frees everything; the context is current.
    pub(super) fn close(self) {
        // SAFETY: both are alive and not used after this. A failure leaks them, no more.
        unsafe {
            _ = driver::free_sync(self.workspace);
            _ = lt::destroy_handle(self.handle);
        }
    }

    /// Chooses an algorithm: the first that the library's heuristic names.
    pub(super) fn ready(&self, call: &Gemm<CUdeviceptr>) -> Result<ReadyGemm, LaunchError> {
        let types = types(call);
        let result = type_of(call.out_dtype);
        let addend = call.addend.unwrap_or(call.out);
        let mut ready = ReadyGemm {
            handle: self.handle,
            workspace: self.workspace,
            desc: Operation::new(types.1, types.2)?,
            layouts: [
                LayoutOf::new(types.0, call.right, [call.k, call.n], call.batch)?,
                LayoutOf::new(types.0, call.left, [call.m, call.k], call.batch)?,
                LayoutOf::new(result, addend, [call.m, call.n], call.batch)?,
                LayoutOf::new(result, call.out, [call.m, call.n], call.batch)?,
            ],
            addresses: [call.right, call.left, addend, call.out].map(|matrix| address(matrix.at)),
            factors: Factors::new(types.2, call.alpha, call.beta),
            algorithm: None,
        };
        ready.desc.set(Desc::CUBLASLT_MATMUL_DESC_TRANSA, &transposed(call.right))?;
        ready.desc.set(Desc::CUBLASLT_MATMUL_DESC_TRANSB, &transposed(call.left))?;
        if let Some(bias) = call.bias {
            let epilogue = Epilogue::CUBLASLT_EPILOGUE_BIAS;
            ready.desc.set(Desc::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue)?;
            ready.desc.set(Desc::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address(bias))?;
        }
        ready.choose()?;
        Ok(ready)
    }
}

/// Says where cuBLASLt is: its path, or `None` where only the system's loader knows, which has loaded
/// it then.
///
/// # Errors
///
/// In one line how to get it, where there is none.
pub fn find_cublaslt(driver_version: Option<u32>) -> Result<Option<PathBuf>, String> {
    LIBRARY.find(locate_cublaslt(&options(driver_version)), is_present)
}

const LIBRARY: Library = Library {
    name: "cuBLASLt",
    file: "libcublasLt.so",
    missing: "cuBLASLt was not found: it comes with PyTorch for CUDA, with the package \
              nvidia-cublas and with the CUDA toolkit (CUDA_HOME)",
};

fn is_present() -> bool {
    // SAFETY: asking loads the library, which runs its initialisers.
    unsafe { sys::is_culib_present() }
}

fn refused(what: &str, error: CublasError) -> LaunchError {
    LIBRARY.refused(what, error)
}

/// Returns the operation on an operand that is seen as its transpose: none if it is row-major.
///
/// `CUBLAS_OP_N` and `CUBLAS_OP_T` of `cublasOperation_t`, which is declared beside cuBLAS.
const fn transposed(matrix: Matrix<CUdeviceptr>) -> u32 {
    if matrix.row_major { 0 } else { 1 }
}

/// Returns the types of the factors' matrices, of the computation, and of the two factors.
const fn types(call: &Gemm<CUdeviceptr>) -> (DataType, Compute, DataType) {
    let f32_compute = if call.tf32 && matches!(call.dtype, DType::F32) {
        Compute::CUBLAS_COMPUTE_32F_FAST_TF32
    } else {
        Compute::CUBLAS_COMPUTE_32F
    };
    match type_of(call.dtype) {
        DataType::CUDA_R_64F => {
            (DataType::CUDA_R_64F, Compute::CUBLAS_COMPUTE_64F, DataType::CUDA_R_64F)
        }
        factors => (factors, f32_compute, DataType::CUDA_R_32F),
    }
}

const fn type_of(dtype: DType) -> DataType {
    match dtype {
        DType::F64 => DataType::CUDA_R_64F,
        DType::F16 => DataType::CUDA_R_16F,
        DType::BF16 => DataType::CUDA_R_16BF,
        _ => DataType::CUDA_R_32F,
    }
}

/// Alpha and beta in the type that the computation takes them in.
enum Factors {
    F32([f32; 2]),
    F64([f64; 2]),
}

impl Factors {
    #[expect(clippy::cast_possible_truncation, reason = "the computation takes them as f32")]
    const fn new(scale: DataType, alpha: f64, beta: f64) -> Self {
        match scale {
            DataType::CUDA_R_64F => Self::F64([alpha, beta]),
            _ => Self::F32([alpha as f32, beta as f32]),
        }
    }

    fn pointers(&self) -> [*const c_void; 2] {
        match self {
            Self::F32(values) => [(&raw const values[0]).cast(), (&raw const values[1]).cast()],
            Self::F64(values) => [(&raw const values[0]).cast(), (&raw const values[1]).cast()],
        }
    }
}

/// A product with its algorithm.
pub(super) struct ReadyGemm {
    handle: sys::cublasLtHandle_t,
    workspace: CUdeviceptr,
    desc: Operation,
    /// Of the library's first and second factor, addend and result.
    layouts: [LayoutOf; 4],
    addresses: [CUdeviceptr; 4],
    factors: Factors,
    algorithm: Option<sys::cublasLtMatmulAlgo_t>,
}

impl ReadyGemm {
    fn choose(&mut self) -> Result<(), LaunchError> {
        let preference = Preference::new()?;
        preference.set(Pref::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &(WORKSPACE as u64))?;
        preference.set(Pref::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &REDUCTIONS)?;
        let alignments = [
            Pref::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
            Pref::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            Pref::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            Pref::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        ];
        for (attribute, address) in alignments.into_iter().zip(self.addresses) {
            preference.set(attribute, &(1_u32 << address.trailing_zeros().min(8)))?;
        }
        let [a, b, c, d] = &self.layouts;
        // SAFETY: all descriptors are alive.
        let found = unsafe {
            lt::get_matmul_algo_heuristic(
                self.handle,
                self.desc.0,
                a.0,
                b.0,
                c.0,
                d.0,
                preference.0,
            )
        };
        let found = found.map_err(|error| refused("compute this product", error))?;
        self.algorithm = Some(found.algo);
        Ok(())
    }

    /// Enqueues the product.
    pub(super) fn enqueue(&self, stream: CUstream) -> Result<(), LaunchError> {
        let [a, b, c, d] = self.addresses;
        let [la, lb, lc, ld] = &self.layouts;
        let [alpha, beta] = self.factors.pointers();
        let algorithm = self.algorithm.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: descriptors, handle and workspace are alive, the addresses are of buffers that
        // hold matrices of these layouts; the factors are read before the call returns.
        let status = unsafe {
            lt::matmul(
                self.handle,
                self.desc.0,
                alpha,
                beta,
                a as *const c_void,
                la.0,
                b as *const c_void,
                lb.0,
                c as *const c_void,
                lc.0,
                d as *mut c_void,
                ld.0,
                algorithm,
                self.workspace as *mut c_void,
                WORKSPACE,
                stream.cast(),
            )
        };
        status.map_err(|error| refused("launch this product", error))
    }
}

/// Describes the operation; destroyed when dropped.
struct Operation(sys::cublasLtMatmulDesc_t);

impl Operation {
    fn new(compute: Compute, scale: DataType) -> Result<Self, LaunchError> {
        let made = lt::create_matmul_desc(compute, scale);
        made.map(Self).map_err(|error| refused("describe a product", error))
    }

    fn set<T>(&self, attribute: Desc, value: &T) -> Result<(), LaunchError> {
        // SAFETY: the descriptor is alive; the value is copied before the call returns.
        let set = unsafe {
            lt::set_matmul_desc_attribute(
                self.0,
                attribute,
                ptr::from_ref(value).cast(),
                size_of::<T>(),
            )
        };
        set.map_err(|error| refused("describe a product", error))
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: alive, and not used after this. A failure leaks it, no more.
        _ = unsafe { lt::destroy_matmul_desc(self.0) };
    }
}

/// Describes a matrix; destroyed when dropped.
struct LayoutOf(sys::cublasLtMatrixLayout_t);

impl LayoutOf {
    fn new(
        dtype: DataType,
        matrix: Matrix<CUdeviceptr>,
        [rows, columns]: [usize; 2],
        batch: usize,
    ) -> Result<Self, LaunchError> {
        // In the library's eyes the neighbours are the rows.
        let (rows, columns) = if matrix.row_major { (columns, rows) } else { (rows, columns) };
        let too_large = |_| unsupported("the matrix is too large for cuBLASLt");
        let ld = i64::try_from(matrix.ld).map_err(too_large)?;
        let stride = i64::try_from(matrix.batch_stride).map_err(too_large)?;
        let count = i32::try_from(batch).map_err(too_large)?;
        let made = lt::create_matrix_layout(dtype, rows as u64, columns as u64, ld);
        let layout = Self(made.map_err(|error| refused("describe a matrix", error))?);
        layout.set(Layout::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count)?;
        layout.set(Layout::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride)?;
        Ok(layout)
    }

    fn set<T>(&self, attribute: Layout, value: &T) -> Result<(), LaunchError> {
        // SAFETY: the layout is alive; the value is copied before the call returns.
        let set = unsafe {
            lt::set_matrix_layout_attribute(
                self.0,
                attribute,
                ptr::from_ref(value).cast(),
                size_of::<T>(),
            )
        };
        set.map_err(|error| refused("describe a matrix", error))
    }
}

impl Drop for LayoutOf {
    fn drop(&mut self) {
        // SAFETY: alive, and not used after this. A failure leaks it, no more.
        _ = unsafe { lt::destroy_matrix_layout(self.0) };
    }
}

/// Options of the heuristic; destroyed when dropped.
struct Preference(sys::cublasLtMatmulPreference_t);

impl Preference {
    fn new() -> Result<Self, LaunchError> {
        let made = lt::create_matmul_pref();
        made.map(Self).map_err(|error| refused("be asked for an algorithm", error))
    }

    fn set<T>(&self, attribute: Pref, value: &T) -> Result<(), LaunchError> {
        // SAFETY: the preference is alive; the value is copied before the call returns.
        let set = unsafe {
            lt::set_matmul_pref_attribute(
                self.0,
                attribute,
                ptr::from_ref(value).cast(),
                size_of::<T>(),
            )
        };
        set.map_err(|error| refused("be asked for an algorithm", error))
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: alive, and not used after this. A failure leaks it, no more.
        _ = unsafe { lt::destroy_matmul_pref(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use kgen_record::Verdict;

    use super::*;

    fn refusal(loaded: Result<(), LaunchError>) -> String {
        match loaded.unwrap_err() {
            LaunchError::Kernel { verdict: Verdict::Unsupported, finding, device_lost: false } => {
                finding.message
            }
            stop => panic!("{stop:?}"),
        }
    }

    #[test]
    fn a_library_that_is_missing_is_unsupported_and_says_how_to_get_it() {
        let line = refusal(LIBRARY.load(None, || false));
        assert!(line.starts_with("cuBLASLt was not found: ") && line.contains("nvidia-cublas"));
        assert_eq!(LIBRARY.find(None, || false), Err(line));
        assert!(LIBRARY.load(None, || true).is_ok());
        assert_eq!(LIBRARY.find(None, || true), Ok(None));
    }

    #[test]
    fn a_file_that_is_no_library_is_unsupported_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libcublasLt.so.13");
        std::fs::write(&path, "no library").unwrap();
        let line = refusal(LIBRARY.load(Some(&path), || true));
        assert!(line.contains("libcublasLt.so.13") && !line.contains('\n'), "{line}");
        // Its place is found without loading it.
        assert_eq!(LIBRARY.find(Some(path.clone()), || false), Ok(Some(path)));
    }
}
