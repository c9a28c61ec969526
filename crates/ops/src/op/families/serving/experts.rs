//! Mixtures of experts: the sum of their results, and tokens sorted by expert into blocks.

use crate::{
    parallel,
    record::{DType, Gen},
    reference::Error,
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Locality, Param, Shaped,
    },
    super::{llm::one_float_type, sum::sum},
    array, flat, positive,
};

/// Sum over the second of three dimensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MoeSum;

impl MoeSum {
    fn map(inputs: &Inputs<'_>, term: fn(f64) -> f64) -> Result<Array, Error> {
        let input = inputs.get("input")?;
        let (experts, width) = (input.shape[1], input.shape[2]);
        let mut out = vec![0.0; input.shape[0] * width];
        if experts > 0 && width > 0 {
            let x = flat(input);
            parallel::fill_rows(&mut out, width, &|token, out| {
                let x = &x[token * experts * width..][..experts * width];
                for (at, out) in out.iter_mut().enumerate() {
                    *out = sum((0..experts).map(|expert| term(x[expert * width + at])));
                }
            });
        }
        Ok(array(&[input.shape[0], width], out))
    }
}

impl Engine for MoeSum {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["input"])?;
        let shape = &call.tensor("input")?.shape;
        let &[tokens, _, width] = shape.as_slice() else {
            return Err(InferError::shape("input", shape, "[tokens, k, n]"));
        };
        Ok(vec![(dtype, vec![tokens, width])])
    }

    fn evaluate(&self, _call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![Self::map(inputs, |x| x)?])
    }

    fn spread(&self, _call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(vec![Self::map(inputs, |x| x * x)?.mapv(f64::sqrt)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor("input").map_or(1, |spec| spec.shape[1])
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Rows(2)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }
}

/// Places of tokens sorted by expert, each expert's padded to whole blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AlignBlockSize;

/// The arguments.
struct Align {
    experts: usize,
    block: usize,
}

impl Align {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        Ok(Self { experts: positive(call, "num_experts")?, block: positive(call, "block_size")? })
    }

    /// Returns the most places that padding can lead to.
    fn length(&self, tokens: usize) -> usize {
        let padded = tokens + self.experts * (self.block - 1);
        // Then not every expert has a token.
        if tokens < self.experts { padded.min(tokens * self.block) } else { padded }
    }

    /// Returns the places of each expert's tokens.
    #[expect(clippy::cast_possible_truncation, reason = "experts are small")]
    #[expect(clippy::cast_sign_loss, reason = "the sign is looked at before")]
    fn tokens(&self, inputs: &Inputs<'_>) -> Result<Vec<Vec<usize>>, Error> {
        let mut of = vec![Vec::new(); self.experts];
        for (at, expert) in flat(inputs.get("topk_ids")?).into_iter().enumerate() {
            if expert < 0.0 || expert >= self.experts as f64 {
                let (name, index) = ("topk_ids".to_owned(), expert as i64);
                return Err(Error::Index { name, at, index, bound: self.experts });
            }
            of[expert as usize].push(at);
        }
        Ok(of)
    }
}

impl Engine for AlignBlockSize {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("topk_ids")?;
        if !matches!(spec.dtype, DType::I32 | DType::I64) {
            return Err(InferError::dtype("topk_ids", spec.dtype, "i32 or i64"));
        }
        let align = Align::of(call)?;
        let length = align.length(spec.numel());
        let blocks = length.div_ceil(align.block);
        Ok([length, blocks, 1].map(|extent| (DType::I32, vec![extent])).to_vec())
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (align, count) = (Align::of(call)?, inputs.get("topk_ids")?.numel());
        let (mut order, mut blocks) = (Vec::new(), Vec::new());
        for (expert, tokens) in align.tokens(inputs)?.into_iter().enumerate() {
            let own = tokens.len().div_ceil(align.block);
            let until = order.len() + own * align.block;
            order.extend(tokens.into_iter().map(|at| at as f64));
            order.resize(until, count as f64);
            blocks.resize(blocks.len() + own, expert as f64);
        }
        let (used, length) = (order.len() as f64, align.length(count));
        order.resize(length, count as f64);
        blocks.resize(length.div_ceil(align.block), -1.0);
        Ok(vec![array(&[length], order), array(&[blocks.len()], blocks), array(&[1], vec![used])])
    }

    fn generator(&self, call: &Call<'_>, _param: &Param) -> Result<Gen, DistributionError> {
        Ok(Gen::Index { bound: Align::of(call).map_or(1, |align| align.experts as u64) })
    }

    /// The tokens of an expert may have any order.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let ([order, ..], [wanted, ..], Ok(align)) = (got, expected, Align::of(call)) else {
            return;
        };
        let (Some(order), Some(wanted)) = (order.as_slice_mut(), wanted.as_slice()) else { return };
        let Ok(tokens) = align.tokens(inputs) else { return };
        let mut at = 0;
        for own in tokens {
            let mut sorted = order[at..at + own.len()].to_vec();
            sorted.sort_by(f64::total_cmp);
            if sorted == wanted[at..at + own.len()] {
                order[at..at + own.len()].copy_from_slice(&sorted);
            }
            at += own.len().div_ceil(align.block) * align.block;
        }
    }

    fn leaves_choices(&self) -> bool {
        true
    }
}
