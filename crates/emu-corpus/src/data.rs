//! Inputs by seed, and bytes to numbers and back.

use half::{bf16, f16};

use crate::{Arg, Kernel};

/// Element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Dtype {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    I32,
    U32,
    I16,
    U16,
    I8,
    U8,
}

/// Use of a buffer by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Read.
    In,
    /// Written whole, uninitialised before.
    Out,
    /// Read and written.
    InOut,
}

/// Contents of a buffer before the launch.
#[derive(Debug, Clone, PartialEq)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// Uniform in `[lo, hi)`; whole numbers for integer types.
    Uniform(f64, f64),
    /// 0, 1, 2, ...
    Ramp,
    /// 0 to n - 1 in random order.
    Permutation,
    /// These values, repeated.
    Values(&'static [f64]),
}

impl Dtype {
    /// Bytes of an element.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::I8 | Self::U8 => 1,
        }
    }

    /// Whether it is a float.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::Bf16)
    }

    /// The values as bytes, rounded to the type.
    #[must_use]
    pub fn encode(self, values: &[f64]) -> Vec<u8> {
        let one = |v: f64| -> Vec<u8> {
            match self {
                Self::F64 => v.to_le_bytes().to_vec(),
                Self::F32 => (v as f32).to_le_bytes().to_vec(),
                Self::F16 => f16::from_f64(v).to_le_bytes().to_vec(),
                Self::Bf16 => bf16::from_f64(v).to_le_bytes().to_vec(),
                Self::I64 => (v as i64).to_le_bytes().to_vec(),
                Self::I32 => (v as i32).to_le_bytes().to_vec(),
                Self::U32 => (v as u32).to_le_bytes().to_vec(),
                Self::I16 => (v as i16).to_le_bytes().to_vec(),
                Self::U16 => (v as u16).to_le_bytes().to_vec(),
                Self::I8 => (v as i8).to_le_bytes().to_vec(),
                Self::U8 => vec![v as u8],
            }
        };
        values.iter().flat_map(|v| one(*v)).collect()
    }

    /// The bytes as values.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        /// The bytes in chunks of the type.
        macro_rules! each {
            ($ty:ty, $n:literal, $f:expr) => {
                bytes.as_chunks::<$n>().0.iter().map(|b| $f(<$ty>::from_le_bytes(*b))).collect()
            };
        }
        match self {
            Self::F64 => each!(f64, 8, |v| v),
            Self::F32 => each!(f32, 4, f64::from),
            Self::F16 => each!(f16, 2, |v: f16| v.to_f64()),
            Self::Bf16 => each!(bf16, 2, |v: bf16| v.to_f64()),
            Self::I64 => each!(i64, 8, |v: i64| v as f64),
            Self::I32 => each!(i32, 4, f64::from),
            Self::U32 => each!(u32, 4, f64::from),
            Self::I16 => each!(i16, 2, f64::from),
            Self::U16 => each!(u16, 2, f64::from),
            Self::I8 => each!(i8, 1, f64::from),
            Self::U8 => bytes.iter().map(|b| f64::from(*b)).collect(),
        }
    }
}

/// A buffer's data.
#[derive(Debug, Clone)]
pub struct Data {
    /// Name in the signature.
    pub name: &'static str,
    /// Element type.
    pub dtype: Dtype,
    /// Read, written or both.
    pub role: Role,
    /// Contents before the launch; for [`Role::Out`] only the length counts.
    pub bytes: Vec<u8>,
}

/// The arguments of a kernel for one seed.
#[derive(Debug, Clone)]
pub struct Case {
    /// One per argument: a buffer's data, or a scalar's bytes.
    pub args: Vec<Result<Data, Vec<u8>>>,
}

impl Case {
    pub(crate) fn new(kernel: &Kernel, seed: u64) -> Self {
        let args = kernel.args.iter().enumerate().map(|(n, arg)| data(arg, n, seed));
        Self { args: args.collect() }
    }

    /// The buffers that are compared, in order.
    pub fn outputs(&self) -> impl Iterator<Item = &Data> {
        self.args.iter().filter_map(|a| a.as_ref().ok()).filter(|d| d.role != Role::In)
    }

    /// Values of the buffer `name` before the launch, as the kernel sees them.
    ///
    /// # Panics
    /// If there is no such buffer.
    #[must_use]
    pub fn values(&self, name: &str) -> Vec<f64> {
        let data = self.args.iter().filter_map(|a| a.as_ref().ok()).find(|d| d.name == name);
        let data = data.unwrap_or_else(|| panic!("there is no buffer `{name}`"));
        data.dtype.decode(&data.bytes)
    }

    /// [`Self::values`] as indices.
    ///
    /// # Panics
    /// If there is no such buffer.
    #[must_use]
    pub fn indices(&self, name: &str) -> Vec<usize> {
        self.values(name).into_iter().map(|v| v as usize).collect()
    }
}

/// The data of argument `n`, or a scalar's bytes.
fn data(arg: &Arg, n: usize, seed: u64) -> Result<Data, Vec<u8>> {
    match arg {
        Arg::Scalar(bytes) => Err(bytes.clone()),
        Arg::TensorMap { buffer, .. } => data(buffer, n, seed),
        Arg::Buffer { name, dtype, len, fill, role } => {
            let values = fill.values(*len, *dtype, seed ^ ((n as u64 + 1) << 32));
            Ok(Data { name, dtype: *dtype, role: *role, bytes: dtype.encode(&values) })
        }
    }
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Fill {
    fn values(&self, n: usize, dtype: Dtype, seed: u64) -> Vec<f64> {
        let mut random = Random(seed);
        match self {
            Self::Zeros => vec![0.0; n],
            Self::Uniform(lo, hi) => (0..n)
                .map(|_| {
                    let v = lo + (hi - lo) * random.unit();
                    if dtype.is_float() { v } else { v.floor() }
                })
                .collect(),
            Self::Ramp => (0..n).map(|i| i as f64).collect(),
            Self::Permutation => {
                let mut list: Vec<f64> = (0..n).map(|i| i as f64).collect();
                for i in (1..n).rev() {
                    list.swap(i, (random.next() % (i as u64 + 1)) as usize);
                }
                list
            }
            Self::Values(values) => values.iter().copied().cycle().take(n).collect(),
        }
    }
}
