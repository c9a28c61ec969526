//! Values of a reference as bytes, and back.

use kgen_ops::op::Array;
use kgen_record::{
    HostTensor, TensorSpec,
    tensor::{decode, encode},
};

/// Returns a contiguous tensor of these values.
pub(super) fn contiguous(spec: &TensorSpec, values: &Array) -> HostTensor {
    let mut host = HostTensor::zeroed(spec.clone());
    let size = spec.dtype.size();
    for (value, bytes) in values.iter().zip(host.storage.chunks_exact_mut(size)) {
        encode(spec.dtype, *value, bytes);
    }
    host
}

/// Returns the values of a contiguous tensor.
///
/// # Panics
///
/// When the bytes are not as many as the tensor has.
pub(super) fn array(spec: &TensorSpec, bytes: &[u8]) -> Array {
    let elements = bytes.chunks_exact(spec.dtype.size());
    let values = elements.map(|bytes| decode(spec.dtype, bytes)).collect();
    let shaped = Array::from_shape_vec(spec.shape.clone(), values);
    shaped.expect("a tensor has as many elements as its shape says")
}
