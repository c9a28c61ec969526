//! `kgen-burn`: ops of Burn behind kgen's protocol.

mod ops;
mod value;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use burn::tensor::{TensorData, backend::Backend as _};
use kgen_adapter::{
    Call, DType, Dense, Flush, Kind, Library, Op, Place, Refusal, Samples, Storage, host_samples,
};

use value::{B, Device, Tensor, Value, burns, known};

/// Burn on a device.
struct Burn {
    device: Device,
}

/// Returns the refusal of an error of Burn's.
fn refused(error: impl std::fmt::Display) -> Refusal {
    Refusal::of_library(Kind::Raised, error)
}

impl Library for Burn {
    type Tensor = Value;

    const NAME: &'static str = "burn";
    const VERSION: &'static str = env!("BURN_VERSION");

    fn open(device: kgen_adapter::Device) -> Result<Self, String> {
        match device {
            #[cfg(not(feature = "cuda"))]
            kgen_adapter::Device::Cpu => Ok(Self { device: Device::default() }),
            #[cfg(feature = "cuda")]
            kgen_adapter::Device::Cuda(index) => Ok(Self { device: Device::new(index) }),
            #[cfg(feature = "cuda")]
            kgen_adapter::Device::Cpu => {
                Err("built with `--features cuda`, for GPUs alone".to_owned())
            }
            #[cfg(not(feature = "cuda"))]
            kgen_adapter::Device::Cuda(_) => Err("built without `--features cuda`".to_owned()),
        }
    }

    fn ops() -> Vec<Op<Value>> {
        ops::table()
    }

    fn has(&self, dtype: DType) -> bool {
        burns(dtype).is_ok_and(|dtype| B::supports_dtype(&self.device, dtype))
    }

    fn upload(&self, tensor: &kgen_adapter::Tensor, storage: Storage) -> Result<Value, Refusal> {
        let Dense { extents, permutation } = tensor.dense()?;
        let mut bytes = storage.into_host()?;
        bytes.drain(..tensor.offset * tensor.dtype.bytes());
        let data = TensorData::from_bytes_vec(bytes, extents, burns(tensor.dtype)?);
        Value::new(data, tensor, &permutation, &self.device)
    }

    fn download(&self, result: &Value, place: &Place) -> Result<(), Refusal> {
        place.write(result.data().as_bytes())
    }

    fn describe(&self, result: &Value) -> Result<(DType, Vec<usize>), Refusal> {
        Ok((known(result.dtype())?, result.shape().to_vec()))
    }

    fn submit(&self, results: Vec<Value>) -> Result<(), Refusal> {
        // A result that is dropped before it is computed is never written, and only a wait has all of it computed.
        self.sync()?;
        drop(results);
        Ok(())
    }

    fn sync(&self) -> Result<(), Refusal> {
        B::sync(&self.device).map_err(|error| refused(format!("{error:?}")))
    }

    /// Burn shows nobody its stream, and collects work until it is waited for: times are the host's.
    fn sample(
        &self,
        call: Call<'_, Value>,
        flush: Flush,
        n: usize,
        warm_up: usize,
    ) -> Result<Samples, Refusal> {
        let on_gpu = cfg!(feature = "cuda");
        let source = match flush {
            Flush::Read { bytes } if on_gpu => Some(Tensor::<1>::zeros([bytes / 4], &self.device)),
            _ => None,
        };
        let empty_cache = || {
            let kept = match (flush, &source) {
                (Flush::Memset { bytes }, _) if on_gpu => {
                    Tensor::<1>::zeros([bytes / 4], &self.device)
                }
                (_, Some(source)) => source.clone().sum(),
                _ => return Ok(()),
            };
            self.sync()?;
            drop(kept);
            Ok(())
        };
        host_samples(call, empty_cache, || self.sync(), n, warm_up)
    }
}

fn main() -> ExitCode {
    kgen_adapter::main::<Burn>()
}
