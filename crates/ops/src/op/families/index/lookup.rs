//! Ops that read: every output element is an element of the input.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen},
    reference::Error,
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Locality, Origin,
        Param, Role, Shaped, integer_limit, unravel,
    },
    Split, advanced, at_least_1d, check_bound, check_within, index_spec, places_spec, read,
    targets,
};

/// How indices choose elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Rows of a table.
    Embedding,
    /// Places along a dimension.
    IndexSelect,
    /// One place along a dimension per output element.
    Gather,
    /// Places in the flat tensor, which may count from the back.
    Take,
    /// Lists of index tensors.
    Index,
}

impl Lookup {
    /// Returns the name of the tensor that is read.
    const fn table(self) -> &'static str {
        if matches!(self, Self::Embedding) { "weight" } else { "self" }
    }

    fn shape(self, call: &Call<'_>) -> Result<Vec<usize>, InferError> {
        let table = &call.tensor(self.table())?.shape;
        match self {
            Self::Embedding => {
                let &[rows, width] = table.as_slice() else {
                    return Err(InferError::shape("weight", table, "[rows, width]"));
                };
                let index = index_spec(call, "indices")?;
                check_bound("indices", index.numel(), rows)?;
                Ok([index.shape.as_slice(), &[width]].concat())
            }
            Self::IndexSelect => {
                let split = Split::of_call(call)?;
                let index = index_spec(call, "index")?;
                if index.ndim() > 1 {
                    return Err(InferError::shape("index", &index.shape, "of one dimension"));
                }
                check_bound("index", index.numel(), split.extent)?;
                if table.is_empty() && index.numel() != 1 {
                    return Err(InferError::shape("index", &index.shape, "[1] for a 0-dim self"));
                }
                let mut shape = table.clone();
                if let Some(extent) = shape.get_mut(split.dim) {
                    *extent = index.numel();
                }
                Ok(shape)
            }
            Self::Gather => {
                let split = Split::of_call(call)?;
                let index = places_spec(call, "index")?;
                if index.numel() > 0 {
                    let (extents, limit) = (at_least_1d(&index.shape), at_least_1d(table));
                    check_within("index", &extents, &limit, Some(split.dim))?;
                    check_bound("index", index.numel(), split.extent)?;
                }
                Ok(index.shape.clone())
            }
            Self::Take => {
                let index = places_spec(call, "index")?;
                if index.dtype != DType::I64 {
                    return Err(InferError::dtype("index", index.dtype, "i64"));
                }
                check_bound("index", index.numel(), call.tensor("self")?.numel())?;
                Ok(index.shape.clone())
            }
            Self::Index => Ok(advanced::Advanced::of(call)?.result()),
        }
    }

    /// Returns the element of the table that an output element is read from; `at`: reads an index.
    fn origin(
        self,
        call: &Call<'_>,
        index: usize,
        at: &dyn Fn(usize) -> Option<usize>,
    ) -> Option<usize> {
        match self {
            Self::Embedding => {
                let width = *call.tensor("weight").ok()?.shape.last()?;
                Some(at(index / width)? * width + index % width)
            }
            Self::IndexSelect => {
                let Split { extent, inner, .. } = Split::of_call(call).ok()?;
                let n = call.tensor("index").ok()?.numel();
                let (row, column) = (index / inner, index % inner);
                Some((row / n * extent + at(row % n)?) * inner + column)
            }
            Self::Gather => {
                let split = Split::of_call(call).ok()?;
                let shape = at_least_1d(&call.tensor("index").ok()?.shape);
                let mut place = unravel(index, &shape);
                *place.get_mut(split.dim)? = at(index)?;
                let larger = at_least_1d(&call.tensor("self").ok()?.shape);
                Some(place.iter().zip(&larger).fold(0, |flat, (at, extent)| flat * extent + at))
            }
            Self::Take | Self::Index => None,
        }
    }

    /// Returns, for each output element, the row-major index that it is read from.
    fn sources(self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<usize>, Error> {
        match self {
            Self::Embedding => {
                let &[rows, width] = inputs.get("weight")?.shape.as_slice() else {
                    return Ok(Vec::new());
                };
                let index = read(inputs.get("indices")?, "indices", rows, false)?;
                Ok(index
                    .iter()
                    .flat_map(|row| (0..width).map(move |at| row * width + at))
                    .collect())
            }
            Self::IndexSelect => {
                let Split { outer, extent, inner, .. } = Split::of_call(call)?;
                let index = read(inputs.get("index")?, "index", extent, false)?;
                let mut sources = Vec::with_capacity(outer * index.len() * inner);
                for row in 0..outer {
                    for at in &index {
                        let first = (row * extent + at) * inner;
                        sources.extend(first..first + inner);
                    }
                }
                Ok(sources)
            }
            Self::Gather => {
                let split = Split::of_call(call)?;
                let input = inputs.get("index")?;
                let index = read(input, "index", split.extent, false)?;
                let larger = at_least_1d(&inputs.get("self")?.shape);
                Ok(targets(&at_least_1d(&input.shape), &index, &larger, split.dim))
            }
            Self::Take => {
                let numel = inputs.get("self")?.numel();
                read(inputs.get("index")?, "index", numel, true)
            }
            Self::Index => advanced::Advanced::of(call)?.sources(inputs),
        }
    }
}

impl Engine for Lookup {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        Ok(vec![(call.tensor(self.table())?.dtype, self.shape(call)?)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let table = inputs.get(self.table())?.array().as_standard_layout();
        let flat = table.as_slice().unwrap_or(&[]);
        let values = self.sources(call, inputs)?.into_iter().map(|at| flat[at]).collect();
        let shape = self.shape(call)?;
        Ok(vec![Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element")])
    }

    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let read = self.evaluate(call, inputs)?;
        Ok(Some(read.into_iter().map(|values| values.mapv(f64::abs)).collect()))
    }

    /// The table and the indices are the first and the second tensor of each of these.
    fn origins(
        &self,
        call: &Call<'_>,
        indices: &[usize],
        value: &dyn Fn(usize, usize) -> f64,
    ) -> Option<Vec<Origin>> {
        let at = |index: usize| whole(value(1, index));
        let origin = |&index: &usize| {
            Some(Origin::Element { input: 0, index: self.origin(call, index, &at)? })
        };
        indices.iter().map(origin).collect()
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        if matches!(self, Self::Index | Self::Take) { Locality::Whole } else { Locality::Single }
    }

    fn flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// All indices may be equal, so that the table counts for nothing.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name == self.table()).then_some(0)
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        match self {
            Self::Embedding => {
                let rows = call.tensor("weight").ok().and_then(|spec| spec.shape.first().copied());
                rows.unwrap_or(1) as u64
            }
            _ => Split::of_call(call).map_or(1, |split| split.extent as u64),
        }
    }

    fn element_generator(
        &self,
        call: &Call<'_>,
        param: &Param,
        element: usize,
    ) -> Result<Gen, DistributionError> {
        if *self == Self::Take && param.role == Role::Index {
            return Ok(either_end(call.tensor("self").map_or(1, |spec| spec.numel() as u64)));
        }
        if *self == Self::Index && param.role == Role::Index {
            return Ok(either_end(advanced::Advanced::bound(call, element)));
        }
        self.generator(call, param)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e4 } else { 1e30 }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((integer_limit(call.case.dtype), row))
    }
}

/// Returns a value as an index; `None` where it is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(value: f64) -> Option<usize> {
    (value >= 0.0 && value.fract() == 0.0).then_some(value as usize)
}

/// Indices that count from the front or from the back.
pub(super) fn either_end(bound: u64) -> Gen {
    let bound = i64::try_from(bound.max(1)).unwrap_or(i64::MAX);
    Gen::Int { low: -bound, high: bound - 1 }
}

/// Rows of zeros with a 1 where an index says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneHot;

impl OneHot {
    fn classes(call: &Call<'_>) -> Result<usize, InferError> {
        let classes = call.int("num_classes")?;
        let wanted = "at least 1 (-1 leaves the shape to the data and is not supported)";
        usize::try_from(classes)
            .ok()
            .filter(|&classes| classes > 0)
            .ok_or_else(|| InferError::value("num_classes", classes, wanted))
    }
}

impl Engine for OneHot {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        if spec.dtype != DType::I64 {
            return Err(InferError::dtype("self", spec.dtype, "i64"));
        }
        let shape = [spec.shape.as_slice(), &[Self::classes(call)?]].concat();
        Ok(vec![(DType::I64, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (input, classes) = (inputs.get("self")?, Self::classes(call)?);
        let index = read(input, "self", classes, false)?;
        let mut values = vec![0.0; index.len() * classes];
        for (row, class) in index.into_iter().enumerate() {
            values[row * classes + class] = 1.0;
        }
        let shape = [input.shape.as_slice(), &[classes]].concat();
        Ok(vec![Array::from_shape_vec(IxDyn(&shape), values).expect("one row per index")])
    }

    fn flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    fn generator(&self, call: &Call<'_>, _param: &Param) -> Result<Gen, DistributionError> {
        Ok(Gen::Index { bound: Self::classes(call).map_or(1, |classes| classes as u64) })
    }
}
