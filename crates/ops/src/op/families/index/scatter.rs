//! Ops that write into a copy of a tensor, or add to it.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Param, Role,
            Shaped, broadcast, formulas::fitting, generators, integer_limit, sum_limit, unravel,
        },
        movement::{arrange::as_type, strides},
        sum::Sum,
    },
    Split, advanced, at_least_1d, check_bound, check_within, index_spec, lookup, places_spec, read,
    reduction::Reduction,
    targets,
};

/// The kinds of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scatter {
    /// Elements of a tensor; places differ.
    Src,
    /// A number.
    Value,
    /// Elements of a tensor are added.
    Add,
    /// Elements of a tensor are reduced: added, multiplied, averaged or compared.
    Reduce,
    /// Slices along a dimension are added.
    IndexAdd,
    /// Slices along a dimension; places differ.
    IndexCopy,
    /// A number in slices along a dimension.
    IndexFill,
    /// Elements of a tensor where lists of index tensors say; added with `accumulate`.
    IndexPut,
}

/// The writes of a call: row-major places in the result, and the values.
pub(super) struct Writes {
    pub places: Vec<usize>,
    pub values: Vec<f64>,
}

/// Checks the type of an index that is i64 for all devices.
fn long_index(call: &Call<'_>) -> Result<(), InferError> {
    match call.tensor("index")?.dtype {
        DType::I64 => Ok(()),
        dtype => Err(InferError::dtype("index", dtype, "i64")),
    }
}

/// Checks that `self` holds the number that it is filled with.
fn filled(call: &Call<'_>) -> Result<(), InferError> {
    let (value, dtype) = (call.scalar("value")?, call.tensor("self")?.dtype);
    let number = fitting("value", value, dtype)?;
    if dtype.is_float() && number.is_finite() && number.abs() > dtype.max_value() {
        return Err(InferError::value("value", number, format!("in the range of {dtype}")));
    }
    Ok(())
}

impl Scatter {
    /// Returns the name of the tensor that is written.
    const fn source(self) -> Option<&'static str> {
        match self {
            Self::Src | Self::Add | Self::Reduce => Some("src"),
            Self::Value | Self::IndexFill => None,
            Self::IndexAdd | Self::IndexCopy => Some("source"),
            Self::IndexPut => Some("values"),
        }
    }

    fn accumulates(self, call: &Call<'_>) -> bool {
        match self {
            Self::Src | Self::Value | Self::IndexCopy | Self::IndexFill => false,
            Self::Add | Self::IndexAdd | Self::Reduce => true,
            Self::IndexPut => call.bool("accumulate").unwrap_or(false),
        }
    }

    fn check(self, call: &Call<'_>, spec: &TensorSpec) -> Result<(), InferError> {
        if self == Self::Reduce {
            Reduction::of(call)?;
        }
        let source = self.source().map(|name| Ok::<_, InferError>((name, call.tensor(name)?)));
        let source = source.transpose()?;
        if let Some((name, source)) = source.filter(|(_, source)| source.dtype != spec.dtype) {
            return Err(InferError::dtype(name, source.dtype, spec.dtype.name()));
        }
        match (self, source) {
            (Self::IndexPut, Some((_, values))) => Self::check_put(call, values),
            (Self::IndexAdd | Self::IndexCopy, Some((name, source))) => {
                if self == Self::IndexAdd {
                    fitting("alpha", call.scalar("alpha")?, spec.dtype)?;
                } else {
                    long_index(call)?;
                }
                Self::check_slices(call, name, source)
            }
            (Self::IndexFill, _) => {
                filled(call)?;
                long_index(call)?;
                Self::slices(call).map(drop)
            }
            _ => self.check_elements(call, source),
        }
    }

    fn check_put(call: &Call<'_>, values: &TensorSpec) -> Result<(), InferError> {
        let wanted = |result: &[usize]| format!("one that broadcasts to {result:?}");
        if advanced::masked(call)? {
            let inner = &call.tensor("self")?.shape[mask(call)?.ndim()..];
            let wanted = "one element, or those behind the mask's dimensions: how many a mask \
                          selects depends on the data";
            let (lead, own) = values.shape.split_at(values.ndim().saturating_sub(inner.len()));
            let repeats = lead.len() <= 1 && lead.iter().all(|&extent| extent == 1);
            return if values.numel() == 1 || (own == inner && repeats) {
                Ok(())
            } else {
                Err(InferError::shape("values", &values.shape, wanted).lacking())
            };
        }
        let result = advanced::Advanced::of(call)?.result();
        match broadcast(&result, &values.shape) {
            Ok(shape) if shape == result => Ok(()),
            _ => Err(InferError::shape("values", &values.shape, wanted(&result))),
        }
    }

    /// Returns the shape of the slices that an index names.
    fn slices(call: &Call<'_>) -> Result<Vec<usize>, InferError> {
        let spec = call.tensor("self")?;
        let split = Split::of_call(call)?;
        let index = index_spec(call, "index")?;
        if index.ndim() > 1 {
            return Err(InferError::shape("index", &index.shape, "of one dimension"));
        }
        check_bound("index", index.numel(), split.extent)?;
        let mut shape = spec.shape.clone();
        match shape.get_mut(split.dim) {
            Some(extent) => *extent = index.numel(),
            None if index.numel() == 1 => {}
            None => return Err(InferError::shape("index", &index.shape, "[1] for a 0-dim self")),
        }
        Ok(shape)
    }

    fn check_slices(call: &Call<'_>, name: &str, source: &TensorSpec) -> Result<(), InferError> {
        let shape = Self::slices(call)?;
        if source.shape == shape {
            return Ok(());
        }
        Err(InferError::shape(name, &source.shape, format!("{shape:?}")))
    }

    fn check_elements(
        self,
        call: &Call<'_>,
        source: Option<(&str, &TensorSpec)>,
    ) -> Result<(), InferError> {
        let split = Split::of_call(call)?;
        let index = places_spec(call, "index")?;
        if index.numel() == 0 {
            return Ok(());
        }
        let extents = at_least_1d(&index.shape);
        let limit = at_least_1d(&call.tensor("self")?.shape);
        check_within("index", &extents, &limit, Some(split.dim))?;
        check_bound("index", index.numel(), split.extent)?;
        if let Some((_, source)) = source {
            check_within("index", &extents, &at_least_1d(&source.shape), None)?;
        } else {
            filled(call)?;
        }
        Ok(())
    }

    pub(super) fn writes(self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Writes, Error> {
        let spec = call.tensor("self")?;
        let own = at_least_1d(&spec.shape);
        if self == Self::IndexPut {
            return Self::puts(call, inputs);
        }
        let split = Split::of_call(call)?;
        let input = inputs.get("index")?;
        let index = read(input, "index", split.extent, self == Self::IndexFill)?;
        let source = self.source().map(|name| inputs.get(name)).transpose()?;
        let source = source.map(|source| (at_least_1d(&source.shape), source.array()));
        if matches!(self, Self::IndexAdd | Self::IndexCopy | Self::IndexFill) {
            let places = slices(&split, &index);
            let values: Vec<f64> = match source {
                None => vec![as_type(call.scalar("value")?, spec.dtype); places.len()],
                Some((_, array)) => array.iter().copied().collect(),
            };
            if self != Self::IndexAdd {
                return Ok(Writes { places, values });
            }
            let alpha = as_type(call.scalar("alpha")?, spec.dtype);
            return Ok(Writes { places, values: values.iter().map(|x| alpha * x).collect() });
        }
        let shape = at_least_1d(&input.shape);
        let values = match source {
            None => vec![as_type(call.scalar("value")?, spec.dtype); index.len()],
            Some((larger, array)) => {
                let (flat, steps) = (array.as_standard_layout(), strides(&larger));
                let flat = flat.as_slice().unwrap_or(&[]);
                let at = |number| {
                    let position = unravel(number, &shape);
                    flat[position.iter().zip(&steps).map(|(at, step)| at * step).sum::<usize>()]
                };
                (0..index.len()).map(at).collect()
            }
        };
        let places =
            if index.is_empty() { Vec::new() } else { targets(&shape, &index, &own, split.dim) };
        Ok(Writes { places, values })
    }

    fn puts(call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Writes, Error> {
        let values = inputs.get("values")?.array();
        if advanced::masked(call)? {
            let places = masked_places(call, inputs)?;
            let values = values.iter().copied().cycle().take(places.len()).collect();
            return Ok(Writes { values, places });
        }
        let selection = advanced::Advanced::of(call)?;
        let places = selection.sources(inputs)?;
        let values = values.broadcast(IxDyn(&selection.result()));
        let values = values.map_or(Vec::new(), |values| values.iter().copied().collect());
        Ok(Writes { places, values })
    }

    /// Performs the writes on values of the tensor, or on squares of spreads.
    fn carry_out(
        self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        of: impl Fn(f64) -> f64,
    ) -> Result<Array, Error> {
        let own = inputs.get("self")?.array();
        let mut values: Vec<f64> = own.iter().map(|&x| of(x)).collect();
        let writes = self.writes(call, inputs)?;
        if self == Self::Reduce {
            let integers = call.tensor("self")?.dtype.is_int();
            let reduced = Reduction::of(call)?.results(&values, &writes, of, integers);
            return Ok(
                Array::from_shape_vec(own.raw_dim(), reduced).expect("one value per element")
            );
        }
        let written = writes.places.into_iter().zip(writes.values.into_iter().map(of));
        if self.accumulates(call) {
            let mut sums: Vec<Sum> = values.iter().map(|&x| Sum::from_iter([x])).collect();
            for (place, value) in written {
                sums[place].add(value);
            }
            values = sums.into_iter().map(Sum::value).collect();
        } else {
            for (place, value) in written {
                values[place] = value;
            }
        }
        Ok(Array::from_shape_vec(own.raw_dim(), values).expect("one value per element"))
    }

    /// Returns the most additions that one element may see.
    fn collisions(self, call: &Call<'_>) -> usize {
        if self == Self::IndexPut {
            return advanced::Advanced::of(call).map_or(1, |selection| selection.n_chosen());
        }
        let Ok(index) = call.tensor("index") else { return 1 };
        match Split::of_call(call) {
            Ok(split) if matches!(self, Self::Add | Self::Reduce) => {
                at_least_1d(&index.shape).get(split.dim).copied().unwrap_or(1)
            }
            _ => index.numel(),
        }
    }
}

/// Returns the places that slices along a dimension go to.
fn slices(split: &Split, index: &[usize]) -> Vec<usize> {
    let mut places = Vec::with_capacity(split.outer * index.len() * split.inner);
    for row in 0..split.outer {
        for at in index {
            let first = (row * split.extent + at) * split.inner;
            places.extend(first..first + split.inner);
        }
    }
    places
}

/// Returns the shape of the only mask among the indices; it must be that of the first dimensions.
fn mask<'a>(call: &Call<'a>) -> Result<&'a TensorSpec, InferError> {
    let own = &call.tensor("self")?.shape;
    let indices = advanced::list(call)?;
    match indices.as_slice() {
        [(0, mask)] if mask.dtype == DType::Bool => {
            if own.starts_with(&mask.shape) && mask.ndim() > 0 {
                return Ok(mask);
            }
            let wanted = format!("that of the first dimensions of {own:?}");
            Err(InferError::shape("indices[0]", &mask.shape, wanted))
        }
        _ => {
            let wanted = "one mask alone, or integers alone";
            Err(InferError::value("indices", format!("{} tensors", indices.len()), wanted))
        }
    }
}

fn masked_places(call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<usize>, Error> {
    let mask = mask(call)?;
    let own = &call.tensor("self")?.shape;
    let inner: usize = own[mask.ndim()..].iter().product();
    let mut places = Vec::new();
    for (_, input) in inputs.list("indices") {
        for (at, _) in input.array().iter().enumerate().filter(|(_, chosen)| **chosen != 0.0) {
            places.extend(at * inner..(at + 1) * inner);
        }
    }
    Ok(places)
}

impl Engine for Scatter {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        self.check(call, spec)?;
        Ok(vec![(spec.dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![self.carry_out(call, inputs, |x| x)?])
    }

    /// `sqrt(Σ x²)` over the values of a place.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        if *self == Self::Reduce {
            return Ok(Some(vec![Reduction::of(call)?.spread(call, inputs)?]));
        }
        Ok(Some(vec![self.carry_out(call, inputs, |x| x * x)?.mapv(f64::sqrt)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        if self.accumulates(call) { self.collisions(call) + 1 } else { 1 }
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let source = self.source().and_then(|name| call.opt_tensor(name));
        if self.accumulates(call) { source.map_or(0.0, |spec| spec.numel() as f64) } else { 0.0 }
    }

    /// Overwritten elements need not be read, nor those that no index names.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let own = call.tensor("self").map_or(0, TensorSpec::numel);
        let put = *self == Self::IndexPut;
        let masked = put && advanced::masked(call).unwrap_or(false);
        let written = match (put, masked) {
            (true, true) => own,
            (true, false) => {
                advanced::Advanced::of(call).map_or(own, |of| of.result().iter().product())
            }
            (false, _) if matches!(self, Self::IndexCopy | Self::IndexFill) => {
                Self::slices(call).map_or(own, |shape| shape.iter().product())
            }
            (false, _) => call.tensor("index").map_or(own, TensorSpec::numel),
        };
        match name {
            "self" if *self == Self::Reduce && !call.bool("include_self").unwrap_or(true) => {
                Some(own.saturating_sub(written))
            }
            "self" if self.accumulates(call) => None,
            "self" => Some(own.saturating_sub(written)),
            _ if masked => (Some(name) == self.source()).then_some(0),
            _ if matches!(self, Self::IndexAdd | Self::IndexCopy) || put => None,
            _ => (Some(name) == self.source()).then_some(written),
        }
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        Split::of_call(call).map_or(1, |split| split.extent as u64)
    }

    /// Places that are written, not added to, must differ: which of two writes is the last is open.
    fn element_generator(
        &self,
        call: &Call<'_>,
        param: &Param,
        element: usize,
    ) -> Result<Gen, DistributionError> {
        if param.role != Role::Index {
            return generators::by_role(self, call, param);
        }
        let differ = !self.accumulates(call) && self.source().is_some();
        match self {
            Self::IndexPut => {
                let spec = advanced::list(call).ok();
                let spec = spec.and_then(|list| list.into_iter().find(|(dim, _)| *dim == element));
                let Some((_, spec)) = spec else { return generators::by_role(self, call, param) };
                let bound = advanced::Advanced::bound(call, element);
                if spec.dtype == DType::Bool {
                    return Ok(Gen::Mask { p: 0.5 });
                }
                if !differ {
                    return Ok(lookup::either_end(bound));
                }
                distinct(call, spec.numel(), 1, bound)
            }
            Self::IndexFill => Ok(lookup::either_end(self.index_bound(call, param))),
            Self::IndexCopy => {
                let places = call.tensor("index").map_or(0, TensorSpec::numel);
                distinct(call, places, 1, self.index_bound(call, param))
            }
            _ if differ => {
                let Ok(index) = call.tensor("index") else {
                    return generators::by_role(self, call, param);
                };
                let Ok(split) = Split::of_call(call) else {
                    return generators::by_role(self, call, param);
                };
                let own = Split::of(&at_least_1d(&index.shape), split.dim);
                distinct(call, own.extent, own.inner, split.extent as u64)
            }
            _ => generators::by_role(self, call, param),
        }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let dtype = call.case.dtype;
        let alpha = call.opt_number("alpha").ok().flatten().unwrap_or(1.0);
        if alpha.fract() != 0.0 || alpha.abs() > 8.0 {
            return Err("alpha is no small integer");
        }
        let len = self.accumulation_len(call).max(1) * 8;
        let limit = sum_limit(dtype) / if self.accumulates(call) { len } else { 1 };
        Ok((integer_limit(dtype).min(limit), row))
    }
}

/// Indices that differ along runs of a tensor.
fn distinct(
    call: &Call<'_>,
    extent: usize,
    inner: usize,
    bound: u64,
) -> Result<Gen, DistributionError> {
    if extent as u64 > bound {
        return Err(DistributionError {
            op: call.op.name.clone(),
            distribution: call.case.distribution,
            reason: "more places are written than there are, so that some are written twice",
        });
    }
    Ok(Gen::Distinct { extent: extent as u64, inner: inner as u64, bound })
}
