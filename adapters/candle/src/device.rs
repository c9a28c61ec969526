//! Candle's devices: how tensors get in and out, and how calls are timed.

use candle_core::{DType, Device, Tensor};
use kgen_adapter::{Call, Flush, Place, Refusal, Samples, Storage, host_samples};

use crate::{Candle, refused};

pub(crate) fn open(device: kgen_adapter::Device) -> Result<Candle, String> {
    match device {
        kgen_adapter::Device::Cpu => Ok(Candle {
            device: Device::Cpu,
            #[cfg(feature = "cuda")]
            clock: None,
        }),
        #[cfg(feature = "cuda")]
        kgen_adapter::Device::Cuda(index) => gpu::open(index),
        #[cfg(not(feature = "cuda"))]
        kgen_adapter::Device::Cuda(_) => Err("built without `--features cuda`".to_owned()),
    }
}

/// Returns a storage as a tensor of one dimension.
pub(crate) fn flat(candle: &Candle, dtype: DType, storage: Storage) -> Result<Tensor, Refusal> {
    match storage {
        Storage::Host(bytes) => {
            let n = bytes.len() / dtype.size_in_bytes();
            Tensor::from_raw_buffer(&bytes, dtype, &[n], &candle.device).map_err(refused)
        }
        #[cfg(feature = "cuda")]
        Storage::Gpu { address, bytes } => gpu::flat(candle, dtype, address, bytes),
    }
}

/// Copies a contiguous tensor to a place.
pub(crate) fn copy_out(candle: &Candle, result: &Tensor, place: &Place) -> Result<(), Refusal> {
    #[cfg(feature = "cuda")]
    if let Place::Gpu { mapping, byte_offset } = place {
        return gpu::copy_out(candle, result, mapping.address() + byte_offset);
    }
    #[cfg(not(feature = "cuda"))]
    let _ = candle;
    place.write(&bytes_of(result)?)
}

/// Returns the elements in row-major order, little-endian.
fn bytes_of(tensor: &Tensor) -> Result<Vec<u8>, Refusal> {
    let host =
        tensor.to_device(&Device::Cpu).and_then(|host| host.flatten_all()).map_err(refused)?;
    macro_rules! bytes {
        ($($dtype:ident $element:ty,)*) => {
            match host.dtype() {
                $(DType::$dtype => {
                    let values = host.to_vec1::<$element>().map_err(refused)?;
                    values.iter().flat_map(|value| value.to_le_bytes()).collect()
                })*
                other => return Err(refused(format!("a result of {other:?}"))),
            }
        };
    }
    Ok(bytes! { F64 f64, F32 f32, F16 half::f16, BF16 half::bf16, I64 i64, I32 i32, U8 u8, })
}

pub(crate) fn sample(
    candle: &Candle,
    call: Call<'_, Tensor>,
    flush: Flush,
    n: usize,
    warm_up: usize,
) -> Result<Samples, Refusal> {
    #[cfg(feature = "cuda")]
    if let Some(clock) = &candle.clock {
        return clock.borrow_mut().samples(call, flush, &mut gpu::reader(candle), n, warm_up);
    }
    // There is no cache of a GPU to empty.
    let (_, _) = (candle, flush);
    host_samples(call, || Ok(()), || Ok(()), n, warm_up)
}

#[cfg(feature = "cuda")]
mod gpu {
    use std::cell::RefCell;

    use candle_core::{CudaStorage, DType, Device, Storage, Tensor, cuda_backend::CudaDType};
    use cudarc::driver::{DevicePtr as _, result};
    use kgen_adapter::{Refusal, cuda::failed, events::EventClock};

    use crate::{Candle, refused};

    pub(super) fn open(index: usize) -> Result<Candle, String> {
        let device = Device::new_cuda(index).map_err(|error| error.to_string())?;
        let stream = device.as_cuda_device().map_err(|error| error.to_string())?.cuda_stream();
        Ok(Candle { device, clock: Some(RefCell::new(EventClock::new(stream))) })
    }

    /// Returns a copy of memory of kgen's.
    pub(super) fn flat(
        candle: &Candle,
        dtype: DType,
        address: u64,
        bytes: usize,
    ) -> Result<Tensor, Refusal> {
        let tensor =
            Tensor::zeros(bytes / dtype.size_in_bytes(), dtype, &candle.device).map_err(refused)?;
        copy(candle, &tensor, |own, stream| {
            // SAFETY: both places hold that many bytes, and the tensor is nobody else's yet.
            unsafe { result::memcpy_dtod_async(own, address, bytes, stream) }
        })?;
        Ok(tensor)
    }

    /// Copies a contiguous tensor into memory of kgen's.
    pub(super) fn copy_out(candle: &Candle, tensor: &Tensor, address: u64) -> Result<(), Refusal> {
        let bytes = tensor.elem_count() * tensor.dtype().size_in_bytes();
        copy(candle, tensor, |own, stream| {
            // SAFETY: the place was checked to hold that many bytes.
            unsafe { result::memcpy_dtod_async(address, own, bytes, stream) }
        })
    }

    /// Enqueues a copy, given the address of a tensor's first element and Candle's stream.
    fn copy(
        candle: &Candle,
        tensor: &Tensor,
        enqueue: impl FnOnce(
            u64,
            cudarc::driver::sys::CUstream,
        ) -> Result<(), cudarc::driver::DriverError>,
    ) -> Result<(), Refusal> {
        let stream = candle.device.as_cuda_device().map_err(refused)?.cuda_stream();
        let (storage, layout) = tensor.storage_and_layout();
        let Storage::Cuda(storage) = &*storage else {
            return Err(refused("a tensor that is not on the GPU"));
        };
        let skipped = layout.start_offset() * tensor.dtype().size_in_bytes();
        let address = address(storage, tensor.dtype(), &stream)? + skipped as u64;
        enqueue(address, stream.cu_stream()).map_err(failed)
    }

    fn address(
        storage: &CudaStorage,
        dtype: DType,
        stream: &std::sync::Arc<cudarc::driver::CudaStream>,
    ) -> Result<u64, Refusal> {
        fn of<T: CudaDType>(
            storage: &CudaStorage,
            stream: &std::sync::Arc<cudarc::driver::CudaStream>,
        ) -> Result<u64, Refusal> {
            let slice = storage.as_cuda_slice::<T>().map_err(refused)?;
            // All work is on one stream, so that nothing has to wait for the copy.
            Ok(slice.device_ptr(stream).0)
        }
        match dtype {
            DType::F64 => of::<f64>(storage, stream),
            DType::F32 => of::<f32>(storage, stream),
            DType::F16 => of::<half::f16>(storage, stream),
            DType::BF16 => of::<half::bf16>(storage, stream),
            DType::I64 => of::<i64>(storage, stream),
            DType::I32 => of::<i32>(storage, stream),
            DType::U8 => of::<u8>(storage, stream),
            other => Err(refused(format!("a tensor of {other:?}"))),
        }
    }

    /// Returns what reads so many bytes of the device: by a sum.
    pub(super) fn reader(candle: &Candle) -> impl FnMut(usize) -> Result<(), Refusal> {
        let device = candle.device.clone();
        let mut buffer: Option<Tensor> = None;
        move |bytes| {
            if buffer.is_none() {
                buffer = Some(Tensor::zeros(bytes / 4, DType::F32, &device).map_err(refused)?);
            }
            buffer.iter().try_for_each(|buffer| buffer.sum_all().map(drop).map_err(refused))
        }
    }
}
