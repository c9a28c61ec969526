//! Tensor maps, encoded by the driver for one address.

use cudarc::driver::{
    DriverError,
    sys::{
        self, CUdeviceptr, CUtensorMap, CUtensorMapDataType as DataType,
        CUtensorMapFloatOOBfill as Fill, CUtensorMapInterleave, CUtensorMapL2promotion as L2,
        CUtensorMapSwizzle,
    },
};
use kgen_record::{
    Target,
    tensor_map::{
        Interleave, L2Promotion, OobFill, Swizzle, TensorMap, TensorMapMode, TensorMapType,
    },
};

use super::driver::text;
use crate::{Launch, LaunchError, limits::launch_error};

/// First driver with tensor maps.
const FIRST_VERSION: u32 = 12_000;

/// Returns the bytes of a map at an address.
pub(super) fn encode(
    map: &TensorMap,
    address: CUdeviceptr,
    launch: &Launch,
    target: &Target,
) -> Result<Vec<u8>, LaunchError> {
    let refused = |reason: String| {
        launch_error(format!("kernel `{}` cannot have a tensor map: {reason}", launch.kernel))
    };
    if let Some(version) = target.driver_version.filter(|version| *version < FIRST_VERSION) {
        let (major, minor) = (version / 1000, version % 1000 / 10);
        return Err(refused(format!("the driver runs CUDA {major}.{minor}, which has none")));
    }
    // The driver would read beyond arrays that are too short.
    map.check().map_err(|error| refused(error.to_string()))?;
    let encoded = call(map, address);
    let encoded =
        encoded.map_err(|error| refused(format!("the driver refuses it: {}", text(error))))?;
    Ok(encoded.opaque.iter().flat_map(|word| word.to_ne_bytes()).collect())
}

fn call(map: &TensorMap, address: CUdeviceptr) -> Result<CUtensorMap, DriverError> {
    // The type has the alignment that the driver asks for.
    let mut encoded = CUtensorMap { opaque: [0; 16] };
    let rank = u32::try_from(map.rank()).expect("at most five dimensions");
    let global = address as *mut std::ffi::c_void;
    let (data_type, interleave) = (data_type(map.data_type), interleave(map.interleave));
    let (swizzle, l2, fill) = (swizzle(map.swizzle), l2(map.l2), fill(map.oob));
    let (dims, strides) = (map.dims.as_ptr(), map.strides.as_ptr());
    let steps = map.element_strides.as_ptr();
    let status = match &map.mode {
        // SAFETY: the check above holds the arrays to as many numbers as the driver reads; it keeps no
        // pointer and does not read the tensor.
        TensorMapMode::Tiled { box_dims } => unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut encoded,
                data_type,
                rank,
                global,
                dims,
                strides,
                box_dims.as_ptr(),
                steps,
                interleave,
                swizzle,
                l2,
                fill,
            )
        },
        // SAFETY: as above.
        TensorMapMode::Im2col { lower, upper, channels, pixels } => unsafe {
            sys::cuTensorMapEncodeIm2col(
                &raw mut encoded,
                data_type,
                rank,
                global,
                dims,
                strides,
                lower.as_ptr(),
                upper.as_ptr(),
                *channels,
                *pixels,
                steps,
                interleave,
                swizzle,
                l2,
                fill,
            )
        },
    };
    status.result().map(|()| encoded)
}

const fn data_type(of: TensorMapType) -> DataType {
    match of {
        TensorMapType::U8 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        TensorMapType::U16 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        TensorMapType::U32 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        TensorMapType::I32 => DataType::CU_TENSOR_MAP_DATA_TYPE_INT32,
        TensorMapType::U64 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        TensorMapType::I64 => DataType::CU_TENSOR_MAP_DATA_TYPE_INT64,
        TensorMapType::F16 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        TensorMapType::F32 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        TensorMapType::F64 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        TensorMapType::Bf16 => DataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        TensorMapType::F32Ftz => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        TensorMapType::Tf32 => DataType::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        TensorMapType::Tf32Ftz => DataType::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
    }
}

const fn interleave(of: Interleave) -> CUtensorMapInterleave {
    match of {
        Interleave::None => CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
        Interleave::B16 => CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_16B,
        Interleave::B32 => CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_32B,
    }
}

const fn swizzle(of: Swizzle) -> CUtensorMapSwizzle {
    match of {
        Swizzle::None => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        Swizzle::B32 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        Swizzle::B64 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        Swizzle::B128 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
    }
}

const fn l2(of: L2Promotion) -> L2 {
    match of {
        L2Promotion::None => L2::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        L2Promotion::B64 => L2::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        L2Promotion::B128 => L2::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        L2Promotion::B256 => L2::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
    }
}

const fn fill(of: OobFill) -> Fill {
    match of {
        OobFill::Zeros => Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        OobFill::Nan => Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_emulators_order() {
        for (number, of) in TensorMapType::ALL.into_iter().enumerate() {
            assert_eq!(data_type(of) as usize, number, "{of:?}");
        }
        for (number, of) in Interleave::ALL.into_iter().enumerate() {
            assert_eq!(interleave(of) as usize, number, "{of:?}");
        }
        for (number, of) in Swizzle::ALL.into_iter().enumerate() {
            assert_eq!(swizzle(of) as usize, number, "{of:?}");
        }
        for (number, of) in L2Promotion::ALL.into_iter().enumerate() {
            assert_eq!(l2(of) as usize, number, "{of:?}");
        }
        for (number, of) in OobFill::ALL.into_iter().enumerate() {
            assert_eq!(fill(of) as usize, number, "{of:?}");
        }
    }
}
