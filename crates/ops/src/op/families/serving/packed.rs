//! Products with weights of 4 bits, eight in an i32.

use ndarray::{Array2, Ix2};

use crate::{
    record::{DType, Gen},
    reference::Error,
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
    },
    array, flat, float, of_shape, of_type,
};

/// Numbers in an i32.
const EACH: usize = 8;

/// Place in an i32 of the numbers of eight neighbouring columns, as AWQ packs them.
const ORDER: [u32; EACH] = [0, 4, 1, 5, 2, 6, 3, 7];

/// A layout of packed weights, and whether they are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packed {
    /// AWQ's weights.
    AwqWeights,
    /// A matrix times AWQ's weights.
    Awq,
    /// A matrix times GPTQ's weights.
    Gptq,
}

/// The extents of a call.
struct Extents {
    k: usize,
    n: usize,
    groups: usize,
}

impl Packed {
    /// Returns the names of the factor, the weights, the scales and the zeros.
    const fn names(self) -> [&'static str; 4] {
        match self {
            Self::AwqWeights | Self::Awq => ["input", "qweight", "scales", "qzeros"],
            Self::Gptq => ["a", "b_q_weight", "b_gptq_scales", "b_gptq_qzeros"],
        }
    }

    fn extents(self, call: &Call<'_>) -> Result<Extents, InferError> {
        let [_, weights, scales, _] = self.names();
        let shape = &call.tensor(weights)?.shape;
        let &[rows, columns] = shape.as_slice() else {
            return Err(InferError::shape(weights, shape, "of two dimensions"));
        };
        let (k, n) =
            if self == Self::Gptq { (EACH * rows, columns) } else { (rows, EACH * columns) };
        let shape = &call.tensor(scales)?.shape;
        let groups = shape.first().copied().unwrap_or(0);
        let fit = self == Self::Gptq || (groups > 0 && k % groups == 0);
        if shape.len() != 2 || shape[1] != n || n % EACH != 0 || !fit {
            let wanted = format!("[groups, {n}], the groups dividing {k} rows");
            return Err(InferError::shape(scales, shape, wanted));
        }
        Ok(Extents { k, n, groups })
    }

    /// Returns the weights in f64, `[k, n]`.
    #[expect(clippy::cast_possible_truncation, reason = "i32 was read, and groups are small")]
    #[expect(clippy::cast_sign_loss, reason = "bits are looked at, and signs before")]
    fn weights(self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Array2<f64>, Error> {
        let Extents { k, n, groups } = self.extents(call)?;
        let [_, weights, scales, zeros] = self.names();
        let words = |name: &str| -> Result<Vec<u32>, Error> {
            Ok(flat(inputs.get(name)?).into_iter().map(|word| word as i64 as u32).collect())
        };
        let (words, zeros, scales) = (words(weights)?, words(zeros)?, flat(inputs.get(scales)?));
        let nibble = |word: u32, place: u32| f64::from(word >> (4 * place) & 15);
        let mut of_row = Vec::with_capacity(k);
        match inputs.opt("b_g_idx").map(flat) {
            None => of_row.extend((0..k).map(|row| row / (k / groups))),
            Some(indices) => {
                for (at, index) in indices.into_iter().enumerate() {
                    if index < 0.0 || index >= groups as f64 {
                        let (name, index) = ("b_g_idx".to_owned(), index as i64);
                        return Err(Error::Index { name, at, index, bound: groups });
                    }
                    of_row.push(index as usize);
                }
            }
        }
        Ok(Array2::from_shape_fn((k, n), |(row, column)| {
            let group = of_row[row];
            let zero = zeros[group * (n / EACH) + column / EACH];
            let plain = (column % EACH) as u32;
            let number = if self == Self::Gptq {
                let word = words[row / EACH * n + column];
                nibble(word, (row % EACH) as u32) - (nibble(zero, plain) + 1.0)
            } else {
                let place = ORDER[column % EACH];
                nibble(words[row * (n / EACH) + column / EACH], place) - nibble(zero, place)
            };
            number * scales[group * n + column]
        }))
    }

    /// Returns the product of mapped factors.
    fn product(
        self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        map: fn(f64) -> f64,
    ) -> Result<Array, Error> {
        let weights = self.weights(call, inputs)?.mapv(map);
        if self == Self::AwqWeights {
            return Ok(weights.into_dyn());
        }
        let left = inputs.get(self.names()[0])?.array().mapv(map);
        let left = left.into_dimensionality::<Ix2>().expect("it has two dimensions");
        let shape = [left.nrows(), weights.ncols()];
        Ok(array(&shape, left.dot(&weights).iter().copied().collect()))
    }
}

impl Engine for Packed {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let [left, weights, scales, zeros] = self.names();
        let dtype = float(call, scales)?;
        of_type(call, weights, DType::I32)?;
        of_type(call, zeros, DType::I32)?;
        let Extents { k, n, groups } = self.extents(call)?;
        of_shape(call, zeros, &[groups, n / EACH])?;
        if *self == Self::AwqWeights {
            return Ok(vec![(dtype, vec![k, n])]);
        }
        if *self == Self::Gptq {
            of_type(call, "b_g_idx", DType::I32)?;
            of_shape(call, "b_g_idx", &[k])?;
        }
        of_type(call, left, dtype)?;
        let shape = &call.tensor(left)?.shape;
        match shape.as_slice() {
            &[m, depth] if depth == k => Ok(vec![(dtype, vec![m, n])]),
            _ => Err(InferError::shape(left, shape, format!("[m, {k}]"))),
        }
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![self.product(call, inputs, |x| x)?])
    }

    /// `sqrt(2 Σ (a w)²)`: the factor and the scale of each product are off.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let squares = self.product(call, inputs, |x| x * x)?;
        Ok(Some(vec![squares.mapv(|square| (2.0 * square).sqrt())]))
    }

    fn rounds_inside(&self) -> bool {
        true
    }

    /// Kernels round the weights to the type of the factor before they multiply.
    fn rounded_inside(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        if *self == Self::AwqWeights {
            return Ok(None);
        }
        Ok(Some(vec![self.product(call, inputs, |x| x * x)?.mapv(f64::sqrt)]))
    }

    fn sums_products(&self) -> bool {
        *self != Self::AwqWeights
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let multiplies = *self != Self::AwqWeights;
        self.extents(call).map_or(1, |extents| if multiplies { extents.k.max(1) } else { 1 })
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        2.0 * n_out as f64 * self.accumulation_len(call) as f64
    }

    fn large(&self, _dtype: DType) -> f64 {
        100.0
    }

    /// All bits of packed numbers are drawn.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let [_, weights, scales, zeros] = self.names();
        if param.name == weights || param.name == zeros {
            return Ok(Gen::Int { low: i64::from(i32::MIN), high: i64::from(i32::MAX) });
        }
        if param.name == "b_g_idx" {
            let groups = self.extents(call).map_or(1, |extents| extents.groups.max(1));
            return Ok(Gen::Index { bound: groups as u64 });
        }
        if param.name == scales && *self != Self::AwqWeights {
            return Ok(Gen::Uniform { low: 0.01, high: 0.1 });
        }
        generators::by_role(self, call, param)
    }
}
