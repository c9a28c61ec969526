//! `kgen-candle`: ops of Candle behind kgen's protocol.

mod device;
mod ops;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use candle_core::{Device, Tensor};
use kgen_adapter::{
    Call, DType, Dense, Flush, Kind, Library, Op, Place, Refusal, Samples, Storage, unsupported,
};

/// Candle on a device.
struct Candle {
    device: Device,
    #[cfg(feature = "cuda")]
    clock: Option<std::cell::RefCell<kgen_adapter::events::EventClock>>,
}

/// Returns the refusal of an error of Candle's.
fn refused(error: impl std::fmt::Display) -> Refusal {
    Refusal::of_library(Kind::Raised, error)
}

/// Returns Candle's type; it has no truth values, which are bytes there.
fn dtype(dtype: DType) -> Result<candle_core::DType, Refusal> {
    use candle_core::DType as Candles;
    Ok(match dtype {
        DType::F64 => Candles::F64,
        DType::F32 => Candles::F32,
        DType::F16 => Candles::F16,
        DType::BF16 => Candles::BF16,
        DType::I64 => Candles::I64,
        DType::I32 => Candles::I32,
        DType::U8 | DType::Bool => Candles::U8,
        other => return Err(unsupported(format!("Candle has no {other}"))),
    })
}

impl Library for Candle {
    type Tensor = Tensor;

    const NAME: &'static str = "candle";
    const VERSION: &'static str = env!("CANDLE_VERSION");

    fn open(device: kgen_adapter::Device) -> Result<Self, String> {
        device::open(device)
    }

    fn ops() -> Vec<Op<Tensor>> {
        ops::table()
    }

    fn has(&self, of: DType) -> bool {
        dtype(of).is_ok()
    }

    fn upload(&self, tensor: &kgen_adapter::Tensor, storage: Storage) -> Result<Tensor, Refusal> {
        let Dense { extents, permutation } = tensor.dense()?;
        let flat = device::flat(self, dtype(tensor.dtype)?, storage)?;
        let n = flat.elem_count() - tensor.offset;
        let dense = flat.narrow(0, tensor.offset, n).and_then(|flat| flat.reshape(extents));
        dense.and_then(|dense| dense.permute(permutation)).map_err(refused)
    }

    fn download(&self, result: &Tensor, place: &Place) -> Result<(), Refusal> {
        device::copy_out(self, &result.contiguous().map_err(refused)?, place)
    }

    fn describe(&self, result: &Tensor) -> Result<(DType, Vec<usize>), Refusal> {
        let all =
            [DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8];
        let known =
            all.into_iter().find(|&known| dtype(known).is_ok_and(|own| own == result.dtype()));
        let known =
            known.ok_or_else(|| unsupported(format!("a result of {:?}", result.dtype())))?;
        Ok((known, result.dims().to_vec()))
    }

    fn sync(&self) -> Result<(), Refusal> {
        self.device.synchronize().map_err(refused)
    }

    fn sample(
        &self,
        call: Call<'_, Tensor>,
        flush: Flush,
        n: usize,
        warm_up: usize,
    ) -> Result<Samples, Refusal> {
        device::sample(self, call, flush, n, warm_up)
    }
}

fn main() -> ExitCode {
    kgen_adapter::main::<Candle>()
}
