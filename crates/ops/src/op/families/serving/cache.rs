//! Keys and values of tokens written into the blocks of a cache.

use crate::{
    record::{DType, Gen, TensorSpec},
    reference::Error,
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
    },
    super::llm::one_float_type,
    array, flat, of_shape, of_type,
};

/// A cache with the keys and values of further tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReshapeAndCache {
    /// Whether both caches are `[blocks, block, heads, d]`; else keys are `[blocks, heads, d / x, block,
    /// x]` and values `[blocks, heads, d, block]`.
    pub flash: bool,
}

/// The extents of a cache.
struct Extents {
    blocks: usize,
    size: usize,
    heads: usize,
    d: usize,
    /// Neighbours of a key that lie together.
    x: usize,
}

impl Extents {
    fn of(call: &Call<'_>, flash: bool) -> Result<Self, InferError> {
        let shape = &call.tensor("key_cache")?.shape;
        match *shape.as_slice() {
            [blocks, size, heads, d] if flash => Ok(Self { blocks, size, heads, d, x: d.max(1) }),
            [blocks, heads, parts, size, x] if !flash => {
                Ok(Self { blocks, size, heads, d: parts * x, x: x.max(1) })
            }
            _ if flash => Err(InferError::shape("key_cache", shape, "[blocks, block, heads, d]")),
            _ => Err(InferError::shape("key_cache", shape, "[blocks, heads, d / x, block, x]")),
        }
    }

    /// Returns where an element of a slot lies in the cache of the keys and in that of the values.
    fn places(&self, flash: bool, slot: usize, head: usize, at: usize) -> [usize; 2] {
        let (block, place) = (slot / self.size, slot % self.size);
        if flash {
            return [((block * self.size + place) * self.heads + head) * self.d + at; 2];
        }
        let head = block * self.heads + head;
        let key = (head * (self.d / self.x) + at / self.x) * self.size + place;
        [key * self.x + at % self.x, (head * self.d + at) * self.size + place]
    }
}

impl Engine for ReshapeAndCache {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["key", "value", "key_cache", "value_cache"])?;
        let cache = Extents::of(call, self.flash)?;
        let key = &call.tensor("key")?.shape;
        let values = if self.flash {
            vec![cache.blocks, cache.size, cache.heads, cache.d]
        } else {
            vec![cache.blocks, cache.heads, cache.d, cache.size]
        };
        of_shape(call, "value_cache", &values)?;
        let &[tokens, heads, d] = key.as_slice() else {
            return Err(InferError::shape("key", key, "[tokens, heads, d]"));
        };
        if (heads, d) != (cache.heads, cache.d) {
            let wanted = format!("[tokens, {}, {}]", cache.heads, cache.d);
            return Err(InferError::shape("key", key, wanted));
        }
        of_shape(call, "value", key)?;
        of_type(call, "slot_mapping", DType::I64)?;
        let slots = &call.tensor("slot_mapping")?.shape;
        if slots.len() != 1 || slots[0] > tokens {
            let wanted = format!("of at most {tokens} elements");
            return Err(InferError::shape("slot_mapping", slots, wanted));
        }
        let of = |name: &str| Ok::<Shaped, InferError>((dtype, call.tensor(name)?.shape.clone()));
        Ok(vec![of("key_cache")?, of("value_cache")?])
    }

    #[expect(clippy::cast_possible_truncation, reason = "slots are small")]
    #[expect(clippy::cast_sign_loss, reason = "the sign is looked at before")]
    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let cache = Extents::of(call, self.flash)?;
        let (key, value) = (flat(inputs.get("key")?), flat(inputs.get("value")?));
        let (keys, values) = (inputs.get("key_cache")?, inputs.get("value_cache")?);
        let mut out = [flat(keys), flat(values)];
        let bound = cache.blocks * cache.size;
        for (token, slot) in flat(inputs.get("slot_mapping")?).into_iter().enumerate() {
            if slot < 0.0 {
                continue;
            }
            let slot = slot as usize;
            if slot >= bound {
                let (name, index) = ("slot_mapping".to_owned(), slot as i64);
                return Err(Error::Index { name, at: token, index, bound });
            }
            for head in 0..cache.heads {
                for at in 0..cache.d {
                    let from = (token * cache.heads + head) * cache.d + at;
                    let to = cache.places(self.flash, slot, head, at);
                    (out[0][to[0]], out[1][to[1]]) = (key[from], value[from]);
                }
            }
        }
        let [new_keys, new_values] = out;
        Ok(vec![array(&keys.shape, new_keys), array(&values.shape, new_values)])
    }

    /// A token replaces what the caches hold, unless its slot leaves it out.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let elements = |name: &str| call.opt_tensor(name).map_or(0, TensorSpec::numel);
        match name {
            "key_cache" | "value_cache" => Some(elements(name).saturating_sub(elements("key"))),
            "key" | "value" => Some(0),
            _ => None,
        }
    }

    /// Slots differ, and some tokens are left out.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name != "slot_mapping" {
            return generators::by_role(self, call, param);
        }
        let bound = Extents::of(call, self.flash).map_or(1, |cache| cache.blocks * cache.size);
        let extent = call.tensor("slot_mapping").map_or(1, |spec| spec.numel());
        if extent > bound {
            return Err(DistributionError {
                op: call.op.name.clone(),
                distribution: call.case.distribution,
                reason: "there are more tokens than slots",
            });
        }
        Ok(Gen::DistinctOr { extent: extent as u64, bound: bound as u64, other: -1 })
    }
}
