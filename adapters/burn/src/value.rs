//! Tensors of any rank: Burn has the rank in the type.

use burn::tensor::{BasicOps, DType as Burns, Float, Int, TensorData, backend::BackendTypes};
use kgen_adapter::{DType, Refusal, unsupported};

use crate::refused;

/// The backend.
#[cfg(feature = "cuda")]
pub(crate) type B = burn::backend::Cuda;
#[cfg(not(feature = "cuda"))]
pub(crate) type B = burn::backend::Flex;

pub(crate) type Device = <B as BackendTypes>::Device;
pub(crate) type Tensor<const D: usize, K = Float> = burn::tensor::Tensor<B, D, K>;

/// A tensor of one of the ranks that the table is made for.
#[derive(Debug, Clone)]
pub(crate) enum Ranked<K: BasicOps<B>> {
    R1(Tensor<1, K>),
    R2(Tensor<2, K>),
    R3(Tensor<3, K>),
    R4(Tensor<4, K>),
}

/// Evaluates an expression over a tensor of a rank, whose value is a tensor of that rank.
macro_rules! each_rank {
    ($ranked:expr, $x:ident => $body:expr) => {
        match $ranked {
            $crate::value::Ranked::R1($x) => $crate::value::Ranked::R1($body),
            $crate::value::Ranked::R2($x) => $crate::value::Ranked::R2($body),
            $crate::value::Ranked::R3($x) => $crate::value::Ranked::R3($body),
            $crate::value::Ranked::R4($x) => $crate::value::Ranked::R4($body),
        }
    };
}
pub(crate) use each_rank;

/// Evaluates an expression over a tensor of any rank, whose value has the same type for all.
macro_rules! any_rank {
    ($ranked:expr, $x:ident => $body:expr) => {
        match $ranked {
            $crate::value::Ranked::R1($x) => $body,
            $crate::value::Ranked::R2($x) => $body,
            $crate::value::Ranked::R3($x) => $body,
            $crate::value::Ranked::R4($x) => $body,
        }
    };
}
pub(crate) use any_rank;

#[derive(Debug, Clone)]
enum Data {
    Float(Ranked<Float>),
    Int(Ranked<Int>),
}

/// A tensor with the shape that it has in ATen: Burn keeps dimensions that are reduced, and has no scalars.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    data: Data,
    shape: Vec<usize>,
}

/// Returns Burn's type.
pub(crate) fn burns(dtype: DType) -> Result<Burns, Refusal> {
    Ok(match dtype {
        DType::F64 => Burns::F64,
        DType::F32 => Burns::F32,
        DType::F16 => Burns::F16,
        DType::BF16 => Burns::BF16,
        DType::I64 => Burns::I64,
        DType::I32 => Burns::I32,
        other => return Err(unsupported(format!("the table of Burn has no {other}"))),
    })
}

/// Returns the protocol's type.
pub(crate) fn known(dtype: Burns) -> Result<DType, Refusal> {
    let all = [DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32];
    let found = all.into_iter().find(|&known| burns(known).is_ok_and(|own| own == dtype));
    found.ok_or_else(|| unsupported(format!("a result of {dtype:?}")))
}

/// Returns the one element of a scalar.
fn flattened(data: TensorData) -> TensorData {
    TensorData::from_bytes(data.bytes, [1], data.dtype)
}

impl Value {
    /// Puts elements on a device. They lie as `data` has them; dimension `i` of the tensor is `permutation[i]` there.
    pub(crate) fn new(
        data: TensorData,
        tensor: &kgen_adapter::Tensor,
        permutation: &[usize],
        device: &Device,
    ) -> Result<Self, Refusal> {
        let dtype = burns(tensor.dtype)?;
        macro_rules! of_rank {
            ($rank:ident, $n:literal, $kind:ty) => {{
                let dense = Tensor::<$n, $kind>::from_data(data, (device, dtype));
                let permutation: [usize; $n] =
                    permutation.try_into().map_err(|_| refused("a rank"))?;
                let ordered = permutation.windows(2).all(|pair| pair[0] < pair[1]);
                Ranked::$rank(if ordered { dense } else { dense.permute(permutation) })
            }};
        }
        macro_rules! of_kind {
            ($kind:ty) => {
                match tensor.shape.len() {
                    0 => {
                        Ranked::R1(Tensor::<1, $kind>::from_data(flattened(data), (device, dtype)))
                    }
                    1 => of_rank!(R1, 1, $kind),
                    2 => of_rank!(R2, 2, $kind),
                    3 => of_rank!(R3, 3, $kind),
                    4 => of_rank!(R4, 4, $kind),
                    n => {
                        return Err(unsupported(format!(
                            "the table of Burn has no tensors of {n} dimensions"
                        )))
                    }
                }
            };
        }
        let data = if tensor.dtype.is_float() {
            Data::Float(of_kind!(Float))
        } else {
            Data::Int(of_kind!(Int))
        };
        Ok(Self { data, shape: tensor.shape.clone() })
    }

    /// Returns a result of floating-point numbers with its shape in ATen.
    pub(crate) fn of_float(ranked: Ranked<Float>, shape: Vec<usize>) -> Self {
        Self { data: Data::Float(ranked), shape }
    }

    /// Returns a result of integers with its shape in ATen.
    pub(crate) fn of_int(ranked: Ranked<Int>, shape: Vec<usize>) -> Self {
        Self { data: Data::Int(ranked), shape }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn dtype(&self) -> Burns {
        match &self.data {
            Data::Float(ranked) => any_rank!(ranked, x => x.dtype()),
            Data::Int(ranked) => any_rank!(ranked, x => x.dtype()),
        }
    }

    /// Returns the elements in row-major order.
    pub(crate) fn data(&self) -> TensorData {
        match &self.data {
            Data::Float(ranked) => any_rank!(ranked, x => x.to_data()),
            Data::Int(ranked) => any_rank!(ranked, x => x.to_data()),
        }
    }

    /// Returns a tensor of floating-point numbers; what is handed over shares the elements.
    pub(crate) fn float(&self) -> Result<Ranked<Float>, Refusal> {
        match &self.data {
            Data::Float(ranked) => Ok(ranked.clone()),
            Data::Int(_) => Err(unsupported("integers")),
        }
    }

    /// Returns a tensor of integers; what is handed over shares the elements.
    pub(crate) fn int(&self) -> Result<Ranked<Int>, Refusal> {
        match &self.data {
            Data::Int(ranked) => Ok(ranked.clone()),
            Data::Float(_) => Err(unsupported("floating-point numbers in place of integers")),
        }
    }
}

/// Returns the tensor of a rank; `None` where it has another one.
macro_rules! of_rank {
    ($name:ident, $rank:ident, $n:literal) => {
        impl<K: BasicOps<B>> Ranked<K> {
            pub(crate) fn $name(self) -> Result<Tensor<$n, K>, Refusal> {
                match self {
                    Self::$rank(x) => Ok(x),
                    _ => Err(unsupported(concat!(
                        "another number of dimensions than ",
                        stringify!($n)
                    ))),
                }
            }
        }
    };
}
of_rank!(r1, R1, 1);
of_rank!(r2, R2, 2);
of_rank!(r4, R4, 4);
