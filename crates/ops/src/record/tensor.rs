//! Tensors on the host: a strided view of a storage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DType;

/// Shape, strides and element type of a tensor; strides and offset count elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TensorSpec {
    /// Element type.
    pub dtype: DType,
    /// Extent of each dimension; empty for a 0-dim tensor.
    pub shape: Vec<usize>,
    /// Distance between neighbours along each dimension, in elements; 0 for an expanded one.
    pub stride: Vec<usize>,
    /// Index of the first element in the storage.
    #[serde(default)]
    pub offset: usize,
}

impl TensorSpec {
    /// Returns a row-major contiguous tensor.
    #[must_use]
    pub fn contiguous(dtype: DType, shape: &[usize]) -> Self {
        let mut stride = vec![1; shape.len()];
        for dim in (1..shape.len()).rev() {
            stride[dim - 1] = stride[dim] * shape[dim].max(1);
        }
        Self { dtype, shape: shape.to_vec(), stride, offset: 0 }
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements; 1 for a 0-dim tensor.
    #[must_use]
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns whether the elements lie in row-major order without gaps (the offset does not count).
    ///
    /// As in `PyTorch`, dimensions of extent 1 and tensors without elements do not matter.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        if self.numel() == 0 {
            return true;
        }
        let mut expected = 1;
        for (&extent, &stride) in self.shape.iter().zip(&self.stride).rev() {
            if extent != 1 && stride != expected {
                return false;
            }
            expected *= extent;
        }
        true
    }

    /// Returns whether the elements lie without gaps and overlaps in some order of the dimensions,
    /// such as those of a transposed matrix (the offset does not count).
    #[must_use]
    pub fn is_dense(&self) -> bool {
        let dims = self.shape.iter().zip(&self.stride);
        let mut dims: Vec<_> = dims.filter(|(extent, _)| **extent != 1).collect();
        dims.sort_unstable_by_key(|&(_, stride)| stride);
        let fits = |expected: usize, (&extent, &stride): (&usize, &usize)| {
            (stride == expected).then_some(expected * extent)
        };
        self.numel() == 0 || dims.into_iter().try_fold(1, fits).is_some()
    }

    /// Returns the storage index of an element.
    ///
    /// `element`: its row-major index in the shape.
    #[must_use]
    pub fn storage_index(&self, mut element: usize) -> usize {
        let mut index = self.offset;
        for (&extent, &stride) in self.shape.iter().zip(&self.stride).rev() {
            index += element % extent * stride;
            element /= extent;
        }
        index
    }

    /// Returns the number of elements that the storage must hold, offset included.
    #[must_use]
    pub fn storage_len(&self) -> usize {
        if self.numel() == 0 {
            return self.offset;
        }
        let last: usize =
            self.shape.iter().zip(&self.stride).map(|(extent, stride)| (extent - 1) * stride).sum();
        self.offset + last + 1
    }

    /// Returns the size of the storage, in bytes.
    #[must_use]
    pub fn storage_bytes(&self) -> usize {
        self.storage_len() * self.dtype.size()
    }

    /// Returns the storage index of every element, in row-major order of the shape.
    #[must_use]
    pub fn storage_indices(&self) -> Vec<usize> {
        let numel = self.numel();
        let mut indices = Vec::with_capacity(numel);
        let mut position = vec![0; self.ndim()];
        let mut index = self.offset;
        for _ in 0..numel {
            indices.push(index);
            for dim in (0..self.ndim()).rev() {
                position[dim] += 1;
                index += self.stride[dim];
                if position[dim] < self.shape[dim] {
                    break;
                }
                index -= self.stride[dim] * self.shape[dim];
                position[dim] = 0;
            }
        }
        indices
    }
}

/// A tensor's storage on the host, gaps of the strides included, little-endian.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTensor {
    /// The view.
    pub spec: TensorSpec,
    /// The storage: `spec.storage_bytes()` bytes.
    pub storage: Vec<u8>,
}

impl HostTensor {
    /// Returns a tensor whose storage is all zero bytes.
    #[must_use]
    pub fn zeroed(spec: TensorSpec) -> Self {
        let storage = vec![0; spec.storage_bytes()];
        Self { spec, storage }
    }

    /// Returns the element at a storage index as f64; i64 beyond 2^53 rounds.
    #[must_use]
    pub fn get(&self, storage_index: usize) -> f64 {
        let size = self.spec.dtype.size();
        decode(self.spec.dtype, &self.storage[storage_index * size..][..size])
    }

    /// Stores a value at a storage index, rounded to the element type (to nearest even).
    pub fn set(&mut self, storage_index: usize, value: f64) {
        let size = self.spec.dtype.size();
        encode(self.spec.dtype, value, &mut self.storage[storage_index * size..][..size]);
    }

    /// Stores an integer at a storage index, cut to the low bits of the element type.
    pub fn set_integer(&mut self, storage_index: usize, value: i64) {
        let size = self.spec.dtype.size();
        let bytes = &mut self.storage[storage_index * size..][..size];
        bytes.copy_from_slice(&value.to_le_bytes()[..size]);
    }

    /// Returns all elements of a tensor of integers or truth values, in row-major order of the
    /// shape.
    #[must_use]
    pub fn to_i64(&self) -> Vec<i64> {
        let (dtype, size) = (self.spec.dtype, self.spec.dtype.size());
        let at = |index: usize| decode_integer(dtype, &self.storage[index * size..][..size]);
        self.spec.storage_indices().into_iter().map(at).collect()
    }

    /// Returns all elements as f64, in row-major order of the shape.
    #[must_use]
    pub fn to_f64(&self) -> Vec<f64> {
        self.spec.storage_indices().into_iter().map(|index| self.get(index)).collect()
    }
}

/// Reads one element as f64; an i64 beyond 2^53 rounds.
///
/// # Panics
///
/// When `bytes` is not exactly one element long.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "kgen's integers are below 2^53")]
pub fn decode(dtype: DType, bytes: &[u8]) -> f64 {
    const LEN: &str = "the slice holds exactly one element";
    match dtype {
        DType::F64 => f64::from_le_bytes(bytes.try_into().expect(LEN)),
        DType::F32 => f32::from_le_bytes(bytes.try_into().expect(LEN)).into(),
        DType::F16 => half::f16::from_le_bytes(bytes.try_into().expect(LEN)).to_f64(),
        DType::BF16 => half::bf16::from_le_bytes(bytes.try_into().expect(LEN)).to_f64(),
        DType::F8E4M3 => float8::F8E4M3::from_bits(bytes[0]).to_f64(),
        DType::F8E5M2 => float8::F8E5M2::from_bits(bytes[0]).to_f64(),
        DType::I64 => i64::from_le_bytes(bytes.try_into().expect(LEN)) as f64,
        DType::I32 => i32::from_le_bytes(bytes.try_into().expect(LEN)).into(),
        DType::I16 => i16::from_le_bytes(bytes.try_into().expect(LEN)).into(),
        DType::I8 => i8::from_le_bytes([bytes[0]]).into(),
        DType::U8 | DType::Bool => bytes[0].into(),
    }
}

/// Reads one element of an integer type or a truth value.
///
/// # Panics
///
/// When `bytes` is longer than 8.
#[must_use]
pub fn decode_integer(dtype: DType, bytes: &[u8]) -> i64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    wrapped(dtype, i64::from_le_bytes(whole))
}

/// Returns an integer as an integer type holds it: by its low bits; bool holds whether it is not 0.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "wrapping is the purpose")]
#[expect(clippy::cast_sign_loss, reason = "wrapping is the purpose")]
pub fn wrapped(dtype: DType, value: i64) -> i64 {
    match dtype {
        DType::I32 => (value as i32).into(),
        DType::I16 => (value as i16).into(),
        DType::I8 => (value as i8).into(),
        DType::U8 => (value as u8).into(),
        DType::Bool => i64::from(value != 0),
        _ => value,
    }
}

/// Writes one element, rounded to nearest even; integers are cut to their low bits, as arithmetic
/// in their type does.
///
/// # Panics
///
/// When `bytes` is not exactly one element long.
#[expect(clippy::cast_possible_truncation, reason = "rounding and wrapping are the purpose")]
pub fn encode(dtype: DType, value: f64, bytes: &mut [u8]) {
    match dtype {
        DType::F64 => bytes.copy_from_slice(&value.to_le_bytes()),
        DType::F32 => bytes.copy_from_slice(&(value as f32).to_le_bytes()),
        DType::F16 => {
            bytes.copy_from_slice(&half::f16::from_f64(on_grid(dtype, value)).to_le_bytes());
        }
        DType::BF16 => {
            bytes.copy_from_slice(&half::bf16::from_f64(on_grid(dtype, value)).to_le_bytes());
        }
        DType::F8E4M3 | DType::F8E5M2 => bytes[0] = fp8_bits(dtype, value),
        DType::I64 => bytes.copy_from_slice(&(value as i128 as i64).to_le_bytes()),
        DType::I32 => bytes.copy_from_slice(&(value as i128 as i32).to_le_bytes()),
        DType::I16 => bytes.copy_from_slice(&(value as i128 as i16).to_le_bytes()),
        DType::I8 => bytes.copy_from_slice(&(value as i128 as i8).to_le_bytes()),
        DType::U8 => bytes[0] = (value as i128).rem_euclid(256) as u8,
        DType::Bool => bytes[0] = u8::from(value != 0.0),
    }
}

/// Returns the nearest multiple of the type's spacing at this magnitude, the even
/// one of two that are equally near; the range of the type does not matter.
///
/// Conversions from f64 of the crates look at its upper half only, or go by way of f32: a value just
/// beside the middle of two numbers would round to the wrong one.
fn on_grid(dtype: DType, value: f64) -> f64 {
    let Some((digits, min_exponent)) = dtype.format() else { return value };
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    // A normal number: as `powi` has it, in less time.
    let power = exponent.max(min_exponent) - digits;
    let step = f64::from_bits(u64::from((power + 1023).unsigned_abs()) << 52);
    (value / step).round_ties_even() * step
}

/// A magnitude beyond the largest finite one becomes NaN in e4m3, infinite in e5m2.
fn fp8_bits(dtype: DType, value: f64) -> u8 {
    let grid = on_grid(dtype, value);
    let too_large = grid.abs() > dtype.max_value();
    match dtype {
        DType::F8E4M3 if too_large => float8::F8E4M3::from_f64(f64::NAN).to_bits(),
        DType::F8E4M3 => float8::F8E4M3::from_f64(grid).to_bits(),
        // The crate's conversion saturates; these are the bits of the infinities.
        _ if too_large && grid < 0.0 => 0xfc,
        _ if too_large => 0x7c,
        _ => float8::F8E5M2::from_f64(grid).to_bits(),
    }
}

/// Returns `value` as `dtype` represents it.
#[must_use]
pub fn round_to(dtype: DType, value: f64) -> f64 {
    let mut bytes = [0; 8];
    encode(dtype, value, &mut bytes[..dtype.size()]);
    decode(dtype, &bytes[..dtype.size()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_view_walks_its_storage_in_row_major_order_of_the_shape() {
        let spec =
            TensorSpec { dtype: DType::F32, shape: vec![2, 3], stride: vec![1, 2], offset: 1 };
        assert_eq!(spec.storage_indices(), [1, 3, 5, 2, 4, 6]);
        assert_eq!((0..6).map(|at| spec.storage_index(at)).collect::<Vec<_>>(), [1, 3, 5, 2, 4, 6]);
        assert_eq!(spec.storage_len(), 7);
        assert!(!spec.is_contiguous());
        assert!(spec.is_dense());
        assert!(!TensorSpec { stride: vec![1, 3], ..spec.clone() }.is_dense());
        assert!(!TensorSpec { stride: vec![0, 1], ..spec }.is_dense());
    }

    #[test]
    fn extents_of_one_and_zero_do_not_break_contiguity() {
        let one =
            TensorSpec { dtype: DType::F32, shape: vec![4, 1], stride: vec![1, 9], offset: 0 };
        assert!(one.is_contiguous());
        let none =
            TensorSpec { dtype: DType::F32, shape: vec![0, 4], stride: vec![7, 1], offset: 0 };
        assert!(none.is_contiguous());
        assert_eq!((none.numel(), none.storage_len()), (0, 0));
    }

    #[test]
    fn halves_round_to_the_nearer_of_two_numbers() {
        let tie = 1.0 + 2f64.powi(-8);
        let above = tie + 2f64.powi(-23);
        let table = [
            (DType::BF16, tie, 1.0),
            (DType::BF16, above, 1.0 + 2f64.powi(-7)),
            (DType::BF16, tie + 2f64.powi(-50), 1.0 + 2f64.powi(-7)),
            (DType::F16, 1.0 + 2f64.powi(-11) + 2f64.powi(-40), 1.0 + 2f64.powi(-10)),
            (DType::F16, 65519.0, 65504.0),
            (DType::F16, 2f64.powi(-25), 0.0),
            (DType::F16, 2f64.powi(-25) * 1.001, 2f64.powi(-24)),
        ];
        for (dtype, value, rounded) in table {
            assert!((round_to(dtype, value) - rounded).abs() < f64::MIN_POSITIVE, "{value}");
        }
        assert!(round_to(DType::F16, -65520.0).is_infinite());
        assert!(round_to(DType::BF16, f64::MAX).is_infinite());
    }

    #[test]
    fn fp8_overflows_to_what_its_format_has() {
        for value in [f64::INFINITY, -1e9, 61440.0] {
            let rounded = round_to(DType::F8E5M2, value);
            assert!(rounded.is_infinite() && rounded.signum() == value.signum(), "{value}");
            assert!(round_to(DType::F8E4M3, value).is_nan(), "{value}");
        }
        let table = [(DType::F8E5M2, 61439.0, 57344.0), (DType::F8E4M3, 464.0, 448.0)];
        for (dtype, value, rounded) in table {
            assert!((round_to(dtype, value) - rounded).abs() < f64::EPSILON, "{value}");
        }
        assert!(round_to(DType::F8E5M2, f64::NAN).is_nan());
    }

    #[test]
    fn every_dtype_reads_back_what_was_written() {
        for dtype in DType::ALL {
            let mut bytes = vec![0; dtype.size()];
            encode(dtype, 1.0, &mut bytes);
            assert!((decode(dtype, &bytes) - 1.0).abs() < f64::EPSILON, "{dtype}");
        }
    }
}
