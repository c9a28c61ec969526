//! The values of a call's tensors as references read them.

use std::{borrow::Cow, sync::OnceLock};

use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder as _};
use rayon::prelude::*;

use crate::record::{Case, DType, HostTensor, tensor::decode};

use super::{Array, InferError};

/// Elements from which on decoding is shared by all cores.
const PARALLEL_FROM: usize = 1 << 16;

/// The tensors of a call by name.
#[derive(Debug)]
pub struct Inputs<'a> {
    tensors: Vec<(Cow<'a, str>, Input<'a>)>,
}

/// One tensor: its elements in f64, decoded when they are first asked for.
#[derive(Debug)]
pub struct Input<'a> {
    /// Element type; a perturbed or computed tensor keeps the type that it stands for.
    pub dtype: DType,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    host: Option<&'a HostTensor>,
    array: OnceLock<Array>,
}

impl<'a> Input<'a> {
    /// Reads a tensor of the host.
    #[must_use]
    pub fn host(host: &'a HostTensor) -> Self {
        Self {
            dtype: host.spec.dtype,
            shape: host.spec.shape.clone(),
            host: Some(host),
            array: OnceLock::new(),
        }
    }

    /// Takes computed values.
    #[must_use]
    pub fn computed(dtype: DType, array: Array) -> Self {
        Self { dtype, shape: array.shape().to_vec(), host: None, array: array.into() }
    }

    /// Returns the elements.
    #[must_use]
    pub fn view(&self) -> ArrayViewD<'_, f64> {
        self.array().view()
    }

    /// Returns the elements, in row-major order.
    #[must_use]
    pub fn array(&self) -> &Array {
        self.array.get_or_init(|| match self.host {
            Some(host) => decoded(host),
            None => ArrayD::zeros(IxDyn(&self.shape)),
        })
    }

    /// Returns one element without decoding the others.
    ///
    /// # Panics
    ///
    /// When the position is not within the shape.
    #[must_use]
    pub fn at(&self, position: &[usize]) -> f64 {
        if let Some(array) = self.array.get() {
            return array[IxDyn(position)];
        }
        match self.host {
            Some(host) => {
                let strided = position.iter().zip(&host.spec.stride);
                host.get(host.spec.offset + strided.map(|(at, stride)| at * stride).sum::<usize>())
            }
            None => self.array()[IxDyn(position)],
        }
    }

    /// Returns the elements along one dimension, at `position` in the others, without decoding the
    /// rest of the tensor.
    ///
    /// # Panics
    ///
    /// When there is no such dimension or the position is not within the shape.
    #[must_use]
    pub fn line(&self, position: &[usize], dim: usize) -> Vec<f64> {
        let mut position = position.to_vec();
        position[dim] = 0;
        let extent = self.shape[dim];
        match (self.array.get(), self.host) {
            (None, Some(host)) if extent > 0 => {
                let spec = &host.spec;
                let strided = position.iter().zip(&spec.stride);
                let first = spec.offset + strided.map(|(at, stride)| at * stride).sum::<usize>();
                (0..extent).map(|at| host.get(first + at * spec.stride[dim])).collect()
            }
            _ => {
                let along = (0..extent).map(|at| {
                    position[dim] = at;
                    self.at(&position)
                });
                along.collect()
            }
        }
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }
}

fn decoded(host: &HostTensor) -> Array {
    let spec = &host.spec;
    let values = if spec.is_contiguous() { dense(host) } else { host.to_f64() };
    ArrayD::from_shape_vec(IxDyn(&spec.shape).into_shape_with_order(), values)
        .expect("a tensor has as many elements as its shape says")
}

fn dense(host: &HostTensor) -> Vec<f64> {
    let (dtype, size) = (host.spec.dtype, host.spec.dtype.size());
    let bytes = &host.storage[host.spec.offset * size..][..host.spec.numel() * size];
    // A worker that waited for others here would take up another job meanwhile, and that job may wait
    // for these very elements.
    if host.spec.numel() < PARALLEL_FROM || rayon::current_thread_index().is_some() {
        return bytes.chunks_exact(size).map(|bytes| decode(dtype, bytes)).collect();
    }
    bytes.par_chunks_exact(size).map(|bytes| decode(dtype, bytes)).collect()
}

impl<'a> Inputs<'a> {
    /// Reads the tensors of a case, which are given in the order of [`Case::tensors`].
    #[must_use]
    pub fn read(case: &'a Case, hosts: &'a [HostTensor]) -> Self {
        let named = case.tensors().zip(hosts);
        Self { tensors: named.map(|((name, _), host)| (name, Input::host(host))).collect() }
    }

    /// Takes computed tensors with their names.
    #[must_use]
    pub fn computed(tensors: Vec<(String, Input<'a>)>) -> Self {
        let owned = tensors.into_iter().map(|(name, input)| (Cow::Owned(name), input));
        Self { tensors: owned.collect() }
    }

    /// Returns a tensor that the call has.
    ///
    /// # Errors
    ///
    /// [`InferError::NoSuchArg`] when it was left out.
    pub fn get(&self, name: &str) -> Result<&Input<'a>, InferError> {
        self.opt(name).ok_or_else(|| InferError::NoSuchArg {
            op: "the call".to_owned(),
            name: name.to_owned(),
        })
    }

    /// Returns a tensor; `None` when it was left out.
    #[must_use]
    pub fn opt(&self, name: &str) -> Option<&Input<'a>> {
        let found = self.tensors.iter().find(|(of, _)| of == name);
        found.map(|(_, input)| input)
    }

    /// Returns the tensors of a list, each with its index in the list.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<(usize, &Input<'a>)> {
        let index =
            |of: &str| of.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
        let tensors = self.tensors.iter();
        tensors.filter_map(|(of, input)| Some((index(of)?, input))).collect()
    }

    /// Returns all tensors with their names, in the order of the call.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Input<'a>)> {
        self.tensors.iter().map(|(name, input)| (name.as_ref(), input))
    }

    /// Returns the first tensor.
    ///
    /// # Errors
    ///
    /// [`InferError::NoSuchArg`] when there is none.
    pub fn first(&self) -> Result<&Input<'a>, InferError> {
        self.tensors.first().map(|(_, input)| input).ok_or_else(|| InferError::NoSuchArg {
            op: "the call".to_owned(),
            name: "self".to_owned(),
        })
    }

    /// Returns the tensors with their elements replaced by a function's results; called
    /// with the position of the tensor and its elements.
    #[must_use]
    pub fn map(&self, change: impl Fn(usize, &Input<'_>) -> Array) -> Inputs<'static> {
        let changed = self.tensors.iter().enumerate().map(|(index, (name, input))| {
            let array = change(index, input);
            (Cow::Owned(name.to_string()), Input::computed(input.dtype, array))
        });
        Inputs { tensors: changed.collect() }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use super::*;
    use crate::record::TensorSpec;

    #[test]
    fn workers_may_ask_for_elements_that_nobody_has_decoded_yet() {
        let (sender, done) = mpsc::channel();
        thread::spawn(move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
            let host = HostTensor::zeroed(TensorSpec::contiguous(DType::F32, &[8 * PARALLEL_FROM]));
            for _ in 0..1000 {
                let input = Input::host(&host);
                // Few jobs leave workers free to help with decoding, and a job behind each to take up.
                pool.install(|| {
                    rayon::scope(|scope| {
                        for _ in 0..3 {
                            scope.spawn(|inner| {
                                inner.spawn(|_| drop(input.view()));
                                drop(input.view());
                            });
                        }
                    });
                });
            }
            sender.send(()).unwrap();
        });
        // It takes seconds, and on a busy machine many of them; a worker that waits for itself never ends.
        done.recv_timeout(Duration::from_secs(180)).expect("no worker waits for itself");
    }
}
