//! Attention over a paged cache, and the union of two attentions.

use crate::{
    parallel,
    record::{DType, Gen, InputDistribution, List},
    reference::Error,
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
    },
    super::{llm::one_float_type, softmax::probabilities, sum::sum},
    array, flat, of_shape, of_type,
};

/// One query per sequence over the tokens of its blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PagedAttention;

/// The extents of a call.
struct Extents {
    seqs: usize,
    heads: usize,
    d: usize,
    blocks: usize,
    kv_heads: usize,
    size: usize,
    x: usize,
    table: usize,
    longest: usize,
}

impl Extents {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        let shape = |name: &str| Ok::<_, InferError>(call.tensor(name)?.shape.as_slice());
        let (query, keys, table) = (shape("query")?, shape("key_cache")?, shape("block_tables")?);
        let &[seqs, heads, d] = query else {
            return Err(InferError::shape("query", query, "[sequences, heads, d]"));
        };
        let &[blocks, kv_heads, parts, size, x] = keys else {
            return Err(InferError::shape("key_cache", keys, "[blocks, heads, d / x, block, x]"));
        };
        let int = |name: &str| usize::try_from(call.int(name)?).map_err(|_| negative(call, name));
        if parts * x != d
            || kv_heads == 0
            || heads % kv_heads != 0
            || kv_heads != int("num_kv_heads")?
        {
            let wanted = format!("[blocks, heads that divide {heads}, {d} / x, block, x]");
            return Err(InferError::shape("key_cache", keys, wanted));
        }
        if size != int("block_size")? {
            return Err(InferError::value("block_size", int("block_size")?, size.to_string()));
        }
        let &[rows, width] = table else {
            return Err(InferError::shape("block_tables", table, "[sequences, blocks]"));
        };
        let longest = int("max_seq_len")?;
        if rows != seqs || longest > width * size {
            let wanted = format!("[{seqs}, n] with n * {size} at least {longest}");
            return Err(InferError::shape("block_tables", table, wanted));
        }
        let x = x.max(1);
        Ok(Self { seqs, heads, d, blocks, kv_heads, size, x, table: width, longest })
    }
}

fn negative(call: &Call<'_>, name: &str) -> InferError {
    InferError::value(name, call.int(name).unwrap_or(0), "no negative number")
}

/// Returns a tensor of integers, each of 0..bound where it is used.
#[expect(clippy::cast_possible_truncation, reason = "i32 was read")]
fn integers(inputs: &Inputs<'_>, name: &str) -> Result<Vec<i64>, Error> {
    Ok(flat(inputs.get(name)?).into_iter().map(|value| value as i64).collect())
}

fn within(name: &str, at: usize, index: i64, bound: usize) -> Result<usize, Error> {
    let found = usize::try_from(index).ok().filter(|&value| value < bound);
    found.ok_or_else(|| Error::Index { name: name.to_owned(), at, index, bound })
}

impl PagedAttention {
    /// Computes each element from the probabilities of its sequence and head, and the values there.
    fn map(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        element: fn(&mut dyn Iterator<Item = (f64, f64)>) -> f64,
    ) -> Result<Array, Error> {
        let extents = Extents::of(call)?;
        let &Extents { seqs, heads, d, blocks, kv_heads, size, x, table, longest } = &extents;
        let flat = |name: &str| inputs.get(name).map(flat);
        let (query, keys, values) = (flat("query")?, flat("key_cache")?, flat("value_cache")?);
        let tables = integers(inputs, "block_tables")?;
        let slopes = inputs.opt("alibi_slopes").map(super::flat);
        let scale = call.number("scale")?;
        let mut tokens: Vec<Vec<(usize, usize)>> = Vec::with_capacity(seqs);
        for (seq, length) in integers(inputs, "seq_lens")?.into_iter().enumerate() {
            let length = within("seq_lens", seq, length, longest + 1)?;
            let place = |token: usize| {
                let at = seq * table + token / size;
                Ok((within("block_tables", at, tables[at], blocks)?, token % size))
            };
            tokens.push((0..length).map(place).collect::<Result<_, Error>>()?);
        }
        let row = |row: usize| {
            let (seq, head) = (row / heads, row % heads);
            let kv = head / (heads / kv_heads);
            let query = &query[row * d..][..d];
            let count = tokens[seq].len() as f64;
            let score = |(token, &(block, place)): (usize, &(usize, usize))| {
                let head_at = block * kv_heads + kv;
                let key =
                    |at: usize| keys[((head_at * (d / x) + at / x) * size + place) * x + at % x];
                let bias = slopes
                    .as_ref()
                    .map_or(0.0, |slopes| slopes[head] * (token as f64 + 1.0 - count));
                scale * sum(query.iter().enumerate().map(|(at, q)| q * key(at))) + bias
            };
            let scores: Vec<f64> = tokens[seq].iter().enumerate().map(score).collect();
            let odds = if scores.is_empty() { Vec::new() } else { probabilities(&scores) };
            let value = |at: usize| {
                let mut pairs = odds.iter().zip(&tokens[seq]).map(|(&p, &(block, place))| {
                    (p, values[((block * kv_heads + kv) * d + at) * size + place])
                });
                element(&mut pairs)
            };
            (0..d).map(value).collect::<Vec<f64>>()
        };
        Ok(array(&[seqs, heads, d], parallel::flat_map(seqs * heads, &row)))
    }
}

impl Engine for PagedAttention {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["query", "key_cache", "value_cache"])?;
        let extents = Extents::of(call)?;
        let values = [extents.blocks, extents.kv_heads, extents.d, extents.size];
        of_shape(call, "value_cache", &values)?;
        of_type(call, "block_tables", DType::I32)?;
        of_type(call, "seq_lens", DType::I32)?;
        of_shape(call, "seq_lens", &[extents.seqs])?;
        if call.opt_tensor("alibi_slopes").is_some() {
            of_type(call, "alibi_slopes", DType::F32)?;
            of_shape(call, "alibi_slopes", &[extents.heads])?;
        }
        Ok(vec![(dtype, vec![extents.seqs, extents.heads, extents.d])])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![Self::map(call, inputs, |pairs| sum(pairs.map(|(p, v)| p * v)))?])
    }

    fn rounds_inside(&self) -> bool {
        true
    }

    /// Kernels round probabilities to the type of the values before they multiply.
    fn rounded_inside(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        let scale =
            Self::map(call, inputs, |pairs| sum(pairs.map(|(p, v)| (p * v).powi(2))).sqrt())?;
        Ok(Some(vec![scale]))
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        Extents::of(call).map_or(1, |extents| extents.longest.max(extents.d).max(1))
    }

    /// Sequences may have no tokens.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name != "seq_lens").then_some(0)
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        4.0 * n_out as f64 * Extents::of(call).map_or(0.0, |extents| extents.longest as f64)
    }

    fn large(&self, _dtype: DType) -> f64 {
        30.0
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let Ok(extents) = Extents::of(call) else {
            return generators::by_role(self, call, param);
        };
        let longest = i64::try_from(extents.longest).unwrap_or(0);
        Ok(match param.name.as_str() {
            "block_tables" => Gen::Index { bound: extents.blocks.max(1) as u64 },
            // No tokens, or all.
            "seq_lens" if call.case.distribution == InputDistribution::Edges => {
                Gen::IndexOr { bound: 1, other: longest }
            }
            "seq_lens" => Gen::Int { low: 0, high: longest },
            "alibi_slopes" => Gen::Uniform { low: 0.0, high: 0.5 },
            _ => return generators::by_role(self, call, param),
        })
    }
}

/// Attention over two parts of the keys as one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeStates;

impl Engine for MergeStates {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["prefix_output", "suffix_output"])?;
        let shape = &call.tensor("prefix_output")?.shape;
        let &[tokens, heads, _] = shape.as_slice() else {
            return Err(InferError::shape("prefix_output", shape, "[tokens, heads, d]"));
        };
        of_shape(call, "suffix_output", shape)?;
        for name in ["prefix_lse", "suffix_lse"] {
            of_type(call, name, DType::F32)?;
            of_shape(call, name, &[heads, tokens])?;
        }
        Ok(vec![(dtype, shape.clone()), (DType::F32, vec![heads, tokens])])
    }

    fn evaluate(&self, _call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (prefix, suffix) = (inputs.get("prefix_output")?, inputs.get("suffix_output")?);
        let (tokens, heads, d) = (prefix.shape[0], prefix.shape[1], prefix.shape[2]);
        let finite = |x: f64| if x.is_infinite() { f64::NEG_INFINITY } else { x };
        let lse = |name: &str| -> Result<Vec<f64>, Error> {
            Ok(flat(inputs.get(name)?).into_iter().map(finite).collect())
        };
        let (first, second) = (lse("prefix_lse")?, lse("suffix_lse")?);
        let (mut total, mut shares) = (Vec::new(), Vec::new());
        for (&a, &b) in first.iter().zip(&second) {
            let most = if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
            if most == f64::NEG_INFINITY {
                total.push(most);
                shares.push(None);
                continue;
            }
            let parts = [(a - most).exp(), (b - most).exp()];
            let sum = parts[0] + parts[1];
            total.push(sum.ln() + most);
            shares.push(Some([parts[0] / sum, parts[1] / sum]));
        }
        let pairs = flat(prefix).into_iter().zip(flat(suffix)).enumerate();
        let element = |(at, (a, b)): (usize, (f64, f64))| {
            let (token, head) = (at / d / heads, at / d % heads);
            let share: Option<[f64; 2]> = shares[head * tokens + token];
            share.map_or(a, |share| a * share[0] + b * share[1])
        };
        let out = pairs.map(element).collect();
        Ok(vec![array(&prefix.shape, out), array(&[heads, tokens], total)])
    }

    /// The logarithm of the sum and the larger lse may cancel, and the sum, which is at least 1, is rounded.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let mut scales = self.evaluate(call, inputs)?;
        scales[0].fill(0.0);
        let both = [flat(inputs.get("prefix_lse")?), flat(inputs.get("suffix_lse")?)];
        for ((scale, a), b) in scales[1].iter_mut().zip(&both[0]).zip(&both[1]) {
            *scale = a.max(*b).abs().max(1.0);
        }
        Ok(Some(scales))
    }

    fn accumulation_len(&self, _call: &Call<'_>) -> usize {
        2
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        4.0 * n_out as f64
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let edges = call.case.distribution == InputDistribution::Edges;
        Ok(match param.name.as_str() {
            "prefix_lse" if edges => Gen::Listed { list: List::Infinities },
            "prefix_lse" | "suffix_lse" => Gen::Normal { mean: 0.0, std: 3.0 },
            _ => return generators::by_role(self, call, param),
        })
    }
}
