//! Gradients of negative log-likelihoods: one element of each row.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen},
    reference::Error,
};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
        },
        index::{check_bound, read},
        loss::{
            Reduction,
            classes::{Layout, check_classes},
        },
    },
    check,
};

/// Largest weight of all rows that is drawn: f16 holds it.
const LARGEST_TOTAL: f64 = 1000.0;

/// Minus the row's gradient and the weight of its class at the class, 0 elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NllBackward {
    /// Whether each place of an image has a class.
    pub(crate) images: bool,
}

impl NllBackward {
    fn layout(self, call: &Call<'_>) -> Result<Layout, InferError> {
        Layout::of_likelihood(call.tensor("self")?, self.images)
    }

    fn is_kept(call: &Call<'_>) -> Result<bool, InferError> {
        Ok(Reduction::of(call)? == Reduction::Keep && call.tensor("self")?.ndim() > 1)
    }
}

impl Engine for NllBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = super::super::reduce::floating(call, "self")?;
        let layout = self.layout(call)?;
        let (rows, classes) = (layout.n_rows(), layout.classes);
        let target = call.tensor("target")?;
        check_classes(target, self.images)?;
        if target.shape != layout.rows && (self.images || target.shape != [rows]) {
            let wanted = if self.images { layout.rows } else { vec![rows] };
            return Err(InferError::shape("target", &target.shape, format!("{wanted:?}")));
        }
        check_bound("target", rows, classes)?;
        let grad = call.tensor("grad_output")?;
        let (shape, wanted) = match Self::is_kept(call)? {
            true => (layout.rows.clone(), format!("{:?}", layout.rows)),
            false => {
                (if grad.shape == [1] { vec![1] } else { Vec::new() }, "of one element".to_owned())
            }
        };
        check("grad_output", grad, spec.dtype, &grad.shape)?;
        if grad.shape != shape {
            return Err(InferError::shape("grad_output", &grad.shape, wanted));
        }
        if let Some(weight) = call.opt_tensor("weight") {
            check("weight", weight, spec.dtype, &[classes])?;
        }
        let total = call.tensor("total_weight")?;
        check("total_weight", total, spec.dtype, &total.shape)?;
        if total.numel() != 1 {
            return Err(InferError::shape("total_weight", &total.shape, "of one element"));
        }
        Ok(vec![(spec.dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let layout = self.layout(call)?;
        let classes = layout.classes;
        let ignored = call.int("ignore_index")?;
        let target = inputs.get("target")?.array();
        let flat = |name: &str| -> Option<Vec<f64>> {
            inputs.opt(name).map(|input| input.array().iter().copied().collect())
        };
        let (grad, total) =
            (flat("grad_output").unwrap_or_default(), flat("total_weight").unwrap_or_default());
        let weight = flat("weight");
        let kept = Self::is_kept(call)?;
        let mean = Reduction::of(call)? == Reduction::Mean;
        let mut out = vec![0.0; layout.n_rows() * classes];
        // An index that is ignored may be out of range.
        let is_ignored = |class: f64| class.total_cmp(&(ignored as f64)).is_eq();
        let masked = target.mapv(|class| if is_ignored(class) { 0.0 } else { class });
        let masked = super::super::super::Input::computed(DType::I64, masked);
        let places =
            if classes == 0 { Vec::new() } else { read(&masked, "target", classes, false)? };
        for (row, (&class, place)) in target.iter().zip(places).enumerate() {
            if is_ignored(class) {
                continue;
            }
            let weight = weight.as_ref().map_or(1.0, |weight| weight[place]);
            let grad = if mean { grad[0] / total[0] } else { grad[if kept { row } else { 0 }] };
            out[layout.place(row, place)] = -weight * grad;
        }
        let shape = &call.tensor("self")?.shape;
        Ok(vec![Array::from_shape_vec(IxDyn(shape), out).expect("one value per element")])
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        2.0 * self.layout(call).map_or(0.0, |layout| layout.n_rows() as f64)
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// The shape of self counts, not its elements; every row may be ignored.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name != "target").then_some(0)
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        self.layout(call).map_or(1, |layout| layout.classes as u64)
    }

    fn degree(&self) -> u32 {
        2
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e4 } else { 1e15 }
    }

    /// The sum of the weights of some rows.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name == "total_weight" {
            let rows = self.layout(call).map_or(1.0, |layout| layout.n_rows() as f64);
            return Ok(Gen::Uniform { low: 0.5, high: 1.0 + rows.min(LARGEST_TOTAL) });
        }
        generators::by_role(self, call, param)
    }
}
