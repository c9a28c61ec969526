//! The interface between a library and the protocol.

use crate::{
    args::Args,
    message::{DType, Device, Flush, Tensor},
    place::{Place, Storage},
    refusal::Refusal,
    time::Clock,
};

/// A call without its tensors, which it is given in the order of their slots.
pub type Function<T> = Box<dyn Fn(&[T]) -> Result<Vec<T>, Refusal> + Send + Sync>;

/// A bound call, which returns its results.
pub type Call<'a, T> = &'a mut (dyn FnMut() -> Result<Vec<T>, Refusal> + Send);

/// Binds a function to its arguments; looks at nothing but them, so that all of this is done before a call.
pub type Bind<T> = fn(&Args) -> Result<Function<T>, Refusal>;

/// A row of a library's table: an overload of ATen, and the library's function for it.
pub type Op<T> = (&'static str, Bind<T>);

/// Times of calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// In microseconds.
    pub us: Vec<f64>,
    pub clock: Clock,
}

/// A library on a device.
pub trait Library: Sized {
    /// A tensor on the device.
    type Tensor: Send + Sync;

    /// Its name in kgen.
    const NAME: &'static str;
    const VERSION: &'static str;

    /// Opens the device.
    ///
    /// # Errors
    ///
    /// In one line why it cannot be used.
    fn open(device: Device) -> Result<Self, String>;

    /// Returns the ops.
    fn ops() -> Vec<Op<Self::Tensor>>;

    /// Returns whether tensors of a type can be there.
    fn has(&self, dtype: DType) -> bool;

    /// Makes a tensor of a copy of its storage.
    ///
    /// # Errors
    ///
    /// Where the library has no such layout, or no memory.
    fn upload(&self, tensor: &Tensor, storage: Storage) -> Result<Self::Tensor, Refusal>;

    /// Copies the elements of a result to the begin of a place, in row-major order.
    ///
    /// # Errors
    ///
    /// Where the copy fails.
    fn download(&self, result: &Self::Tensor, place: &Place) -> Result<(), Refusal>;

    /// Returns element type and extents of a result.
    ///
    /// # Errors
    ///
    /// Where the protocol has no such type.
    fn describe(&self, result: &Self::Tensor) -> Result<(DType, Vec<usize>), Refusal>;

    /// Hands what a call has asked for over to the device, and lets go of its results. A library that collects work
    /// could find out that nobody wants them.
    ///
    /// # Errors
    ///
    /// Where the work cannot be handed over.
    fn submit(&self, results: Vec<Self::Tensor>) -> Result<(), Refusal> {
        drop(results);
        Ok(())
    }

    /// Waits until the device is idle.
    ///
    /// # Errors
    ///
    /// Where work has failed.
    fn sync(&self) -> Result<(), Refusal>;

    /// Times a call `n` times, each behind a flush, after `warm_up` calls that are not timed.
    ///
    /// # Errors
    ///
    /// Those of the call, and where the flush cannot be had.
    fn sample(
        &self,
        call: Call<'_, Self::Tensor>,
        flush: Flush,
        n: usize,
        warm_up: usize,
    ) -> Result<Samples, Refusal>;
}
