//! The trait that an op family implements.

use std::fmt;

use ndarray::ArrayD;

use crate::record::{DType, Gen};

use super::{Call, DistributionError, InferError, Inputs, Param, Role, generators};
use crate::reference::{Error, Part, Subproblem};

/// An f64 array, which references compute with.
pub type Array = ArrayD<f64>;

/// Element type and shape of an output.
pub type Shaped = (DType, Vec<usize>);

/// Largest magnitude and non-zero elements per row for exact sums, or why there are none.
pub type ExactLimits = Result<(usize, usize), &'static str>;

/// The elements that an output element depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locality {
    /// The elements at its place of the inputs, after broadcasting.
    Elements,
    /// Its row, which is so many of the last dimensions of the first tensor: the rows at the same
    /// place of all tensors that have the same dimensions before, and the other tensors.
    Rows(usize),
    /// Its block, which is so many elements of the first tensor in row-major order, and what
    /// [`Engine::blocks`] takes of the other tensors.
    Blocks(usize),
    /// Anything, but single elements are evaluated without the others: [`Engine::evaluate_at`],
    /// and where the op has bounds [`Engine::spread_at`], are cheap.
    Single,
    /// Anything.
    Whole,
}

/// The arguments of a product of two matrices. Leading dimensions of the left one and of the result
/// count as rows; an element of the result needs one row of the left and one column of the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrices {
    /// The left factor, `[.., k]`.
    pub left: &'static str,
    /// The right factor, `[k, n]` or `[n, k]`.
    pub right: &'static str,
    /// Whether the right factor is `[n, k]`.
    pub transposed: bool,
    /// The tensor that is added, where there is one.
    pub addend: Option<&'static str>,
}

impl Locality {
    /// Returns that of an op which mixes elements along some of a tensor's dimensions.
    #[must_use]
    pub fn along(dims: &[usize], ndim: usize) -> Self {
        let trailing = ndim - dims.len().min(ndim)..ndim;
        if trailing.clone().all(|dim| dims.contains(&dim)) {
            Self::Rows(trailing.len())
        } else {
            Self::Whole
        }
    }
}

/// Where an element of an output comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Origin {
    /// An element (row-major) of an input (its place among the tensors of the call).
    Element {
        /// The input.
        input: usize,
        /// The element.
        index: usize,
    },
    /// No input: it has this value, as padding has.
    Constant(f64),
}

/// An engine as a trait object, also in the default methods of [`Engine`].
pub trait AsEngine {
    /// Returns itself.
    fn as_engine(&self) -> &dyn Engine;
}

impl<E: Engine> AsEngine for E {
    fn as_engine(&self) -> &dyn Engine {
        self
    }
}

/// A family of formulas: everything that is known of an op beyond its schema and its text.
///
/// Shapes and types come from [`Engine::infer`], which also refuses calls that the op is not
/// defined for; the other methods are called only for calls that it took.
pub trait Engine: AsEngine + Send + Sync + fmt::Debug {
    /// Returns element type and shape of each output.
    ///
    /// # Errors
    ///
    /// [`InferError`] when the op is not defined for these arguments.
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError>;

    /// Computes every output in f64.
    ///
    /// Integers and truth values are f64 too (0 and 1); results of integer types may be outside
    /// the range of the type, they wrap when they are stored.
    ///
    /// # Errors
    ///
    /// [`Error`] where values, not shapes, are invalid: an index out of range.
    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error>;

    /// Returns whether each element is computed from those at its place, after broadcasting, whatever
    /// the call.
    fn is_elementwise(&self) -> bool {
        false
    }

    /// Returns the elements that an output element depends on: a part of a call then has a part of its results.
    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Whole
    }

    /// Returns the smaller call that computes some blocks (ascending), where the locality is
    /// [`Locality::Blocks`].
    fn blocks(&self, _call: &Call<'_>, _blocks: &[usize]) -> Option<Part> {
        None
    }

    /// Returns the arguments of a call that is a product of two matrices.
    fn matrices(&self, _call: &Call<'_>) -> Option<Matrices> {
        None
    }

    /// Returns a smaller call that has some elements (row-major indices) of the one output, where it
    /// reads less than the whole call.
    fn subproblem(&self, _call: &Call<'_>, _indices: &[usize]) -> Option<Subproblem> {
        None
    }

    /// Returns how many multiplications all elements of one row of the output have in common, where
    /// these are the cost of an element.
    fn shared_by_row(&self, _call: &Call<'_>) -> Option<usize> {
        None
    }

    /// Returns where some elements (row-major) of the first output come from; `None` where the op does
    /// more than to copy.
    ///
    /// `value`: reads an element of an input, such as an index.
    fn origins(
        &self,
        _call: &Call<'_>,
        _indices: &[usize],
        _value: &dyn Fn(usize, usize) -> f64,
    ) -> Option<Vec<Origin>> {
        None
    }

    /// Computes some elements (row-major indices) of one output without computing the others;
    /// `None` where the engine has no cheaper way than [`Engine::evaluate`].
    ///
    /// # Errors
    ///
    /// As [`Engine::evaluate`].
    fn evaluate_at(
        &self,
        _call: &Call<'_>,
        _inputs: &Inputs<'_>,
        _output: usize,
        _indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        None
    }

    /// Returns `sqrt(Σ (∂y/∂x_i x_i)²)` for each element of each output; `None` where it is to be
    /// measured by perturbing the inputs. Outputs of integer types have zeros.
    ///
    /// # Errors
    ///
    /// As [`Engine::evaluate`].
    fn spread(&self, _call: &Call<'_>, _inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(None)
    }

    /// Returns the part of [`Engine::spread`] that belongs to some elements, where that is cheaper.
    ///
    /// # Errors
    ///
    /// As [`Engine::evaluate`].
    fn spread_at(
        &self,
        _call: &Call<'_>,
        _inputs: &Inputs<'_>,
        _output: usize,
        _indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        None
    }

    /// Returns whether the formula begins with differences of inputs, so that not the inputs but these
    /// are rounded: [`Engine::spread`] then says so at every size.
    fn rounds_differences(&self) -> bool {
        false
    }

    /// Returns whether [`Engine::spread`] is taken at every size, and no run on moved inputs.
    fn spreads_at_every_size(&self) -> bool {
        self.rounds_differences()
    }

    /// Returns, per output, the scale of intermediate values where cancellation hides it from the
    /// result (|x| for gelu); `None` where the result's own scale is right.
    ///
    /// # Errors
    ///
    /// As [`Engine::evaluate`].
    fn magnitude(
        &self,
        _call: &Call<'_>,
        _inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        Ok(None)
    }

    /// Returns, per output, the scale of values inside the computation that an honest kernel rounds
    /// to the type of its inputs (attention's probabilities, before they are multiplied by the
    /// values); `None` where f32 is kept throughout.
    ///
    /// # Errors
    ///
    /// As [`Engine::evaluate`].
    fn rounded_inside(
        &self,
        _call: &Call<'_>,
        _inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        Ok(None)
    }

    /// Returns whether [`Engine::rounded_inside`] may be `Some`.
    fn rounds_inside(&self) -> bool {
        false
    }

    /// Returns the part of [`Engine::rounded_inside`] that belongs to some elements, where that is
    /// cheaper.
    ///
    /// # Errors
    ///
    /// As [`Engine::evaluate`].
    fn rounded_inside_at(
        &self,
        _call: &Call<'_>,
        _inputs: &Inputs<'_>,
        _output: usize,
        _indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        None
    }

    /// Returns whether the op sums products, which tensor cores do: their accumulators truncate, so
    /// that errors grow with the length of the sum instead of its root.
    fn sums_products(&self) -> bool {
        false
    }

    /// Returns whether the op sums products anywhere, be it in a part of it.
    fn has_products(&self) -> bool {
        self.sums_products()
    }

    /// Returns whether PyTorch computes the op by cuDNN, which takes TF32 factors by default.
    fn is_by_cudnn(&self) -> bool {
        false
    }

    /// Returns the longest chain of additions of products behind one output element; 0 where none are added.
    fn products_len(&self, call: &Call<'_>) -> usize {
        if self.sums_products() { self.accumulation_len(call).max(1) } else { 0 }
    }

    /// Returns the longest chain of additions behind one output element, at least 1.
    fn accumulation_len(&self, _call: &Call<'_>) -> usize {
        1
    }

    /// Returns the floating-point operations of the plain formula; an exponential counts as 1.
    ///
    /// `n_out`: elements of all outputs together.
    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        n_out as f64
    }

    /// Returns the elements of a tensor that every right kernel reads, whatever the values of the
    /// tensors are; `None` where that is each of them.
    ///
    /// `name`: that of the case: `tensors[1]` for the second of a list.
    fn reads(&self, _call: &Call<'_>, _name: &str) -> Option<usize> {
        None
    }

    /// Returns the floating-point operations that no algorithm gets by without, whatever the values
    /// are: at most [`Engine::flops`].
    fn least_flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        self.flops(call, n_out)
    }

    /// Returns the generator of a tensor's values in the case's distribution.
    ///
    /// # Errors
    ///
    /// [`DistributionError`] where the distribution makes no sense for the op, for example exact integers for
    /// an exponential.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        generators::by_role(self.as_engine(), call, param)
    }

    /// Returns the generator of one tensor of a list, by its place in the list; a tensor that is no
    /// list is its first element.
    ///
    /// # Errors
    ///
    /// As [`Engine::generator`].
    fn element_generator(
        &self,
        call: &Call<'_>,
        param: &Param,
        _element: usize,
    ) -> Result<Gen, DistributionError> {
        self.generator(call, param)
    }

    /// Returns the exclusive bound of an index parameter ([`Role::Index`], [`Role::ClassIndex`]).
    fn index_bound(&self, _call: &Call<'_>, _param: &Param) -> u64 {
        1
    }

    /// Returns how large data may be in the large distribution: results are representable, careless
    /// intermediates (sums in f16, exponentials without a maximum) are not.
    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }

    /// Returns the generator of a parameter in the distribution of cancelling products; `None` where the op
    /// sums no products.
    fn cancelling(&self, _call: &Call<'_>, _param: &Param) -> Option<Gen> {
        None
    }

    /// Returns the power of the inputs that results are in the distribution of subnormal values: products of
    /// two that are subnormal are 0.
    fn degree(&self) -> u32 {
        1
    }

    /// Returns mean and standard deviation of the shifted distribution.
    fn shifted(&self) -> (f64, f64) {
        (100.0, 1.0)
    }

    /// Returns the value of the constant distribution.
    fn constant(&self) -> f64 {
        0.7
    }

    /// Returns how integers are to be chosen so that every order of summation is exact in f32:
    /// largest magnitude, and non-zero elements per row (of `row` elements) of this parameter;
    /// the reason where results are irrational anyway.
    ///
    /// # Errors
    ///
    /// Why exact integers make no sense.
    fn exact(&self, _call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let _ = row;
        Err("its results are irrational")
    }

    /// Rewrites choices that the op leaves open in computed outputs (which of several equal maxima an
    /// index names) to the choice of [`Engine::evaluate`], so that outputs can be compared.
    ///
    /// `got`: the computed outputs; `expected`: the reference's. Elements that are wrong stay.
    fn canonicalise(
        &self,
        _call: &Call<'_>,
        _inputs: &Inputs<'_>,
        _got: &mut [Array],
        _expected: &[Array],
    ) {
    }

    /// Returns whether PyTorch's CUDA kernels take NaN of either sign alike.
    fn ignores_sign_of_nan(&self) -> bool {
        true
    }

    /// Returns whether [`Engine::canonicalise`] does anything.
    fn leaves_choices(&self) -> bool {
        false
    }
}
