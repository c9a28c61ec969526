//! The arguments of a call, by the names of ATen's schema.

use crate::{
    message::{DType, Tensor, Value},
    refusal::{Refusal, bad, unsupported},
};

/// The place of a tensor among those that a [`crate::Function`] is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(usize);

impl Slot {
    /// Returns the tensor out of those that the function is given.
    #[must_use]
    pub fn of<T>(self, tensors: &[T]) -> &T {
        &tensors[self.0]
    }
}

/// An argument, its tensors replaced by their slots.
#[derive(Debug, Clone, PartialEq)]
enum Arg {
    Tensor(Slot),
    Tensors(Vec<Option<Slot>>),
    Plain(Value),
}

/// The arguments of a call, as a function is bound to them.
#[derive(Debug)]
pub struct Args {
    args: Vec<(String, Arg)>,
    tensors: Vec<Tensor>,
}

impl Args {
    pub(crate) fn new(given: Vec<(String, Value)>) -> Self {
        let mut tensors = Vec::new();
        let mut slot = |tensor| {
            tensors.push(tensor);
            Slot(tensors.len() - 1)
        };
        let mut args = Vec::new();
        for (name, value) in given {
            let arg = match value {
                Value::Tensor(tensor) => Arg::Tensor(slot(tensor)),
                Value::Tensors(list) => {
                    Arg::Tensors(list.into_iter().map(|tensor| tensor.map(&mut slot)).collect())
                }
                plain => Arg::Plain(plain),
            };
            args.push((name, arg));
        }
        Self { args, tensors }
    }

    pub(crate) fn into_tensors(self) -> Vec<Tensor> {
        self.tensors
    }

    pub(crate) fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Returns the element type, extents and layout of a tensor.
    #[must_use]
    pub fn spec(&self, slot: Slot) -> &Tensor {
        slot.of(&self.tensors)
    }

    fn get(&self, name: &str) -> Option<&Arg> {
        let found = self.args.iter().find(|(known, _)| known == name)?;
        Some(&found.1).filter(|arg| !matches!(arg, Arg::Plain(Value::None(()))))
    }

    /// Returns a tensor; `None` where it is left out.
    ///
    /// # Errors
    ///
    /// A bad request where it is something else.
    pub fn optional_tensor(&self, name: &str) -> Result<Option<Slot>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Arg::Tensor(slot)) => Ok(Some(*slot)),
            Some(other) => Err(wrong(name, "a tensor", other)),
        }
    }

    /// Returns a tensor.
    ///
    /// # Errors
    ///
    /// A bad request where it is missing.
    pub fn tensor(&self, name: &str) -> Result<Slot, Refusal> {
        self.optional_tensor(name)?.ok_or_else(|| missing(name))
    }

    /// Returns a tensor of f64, f32, f16 or bf16.
    ///
    /// # Errors
    ///
    /// Unsupported where it holds something else.
    pub fn float(&self, name: &str) -> Result<Slot, Refusal> {
        let slot = self.tensor(name)?;
        let dtype = self.spec(slot).dtype;
        if dtype.is_float() { Ok(slot) } else { Err(unsupported(format!("{name} of {dtype}"))) }
    }

    /// Returns the tensors of a list.
    ///
    /// # Errors
    ///
    /// A bad request where it is no list, or one has gaps.
    pub fn tensors_of(&self, name: &str) -> Result<Vec<Slot>, Refusal> {
        match self.get(name) {
            Some(Arg::Tensors(list)) => {
                list.iter().map(|slot| slot.ok_or_else(|| missing(name))).collect()
            }
            Some(other) => Err(wrong(name, "a list of tensors", other)),
            None => Err(missing(name)),
        }
    }

    /// Returns a number, integers included; `None` where it is left out.
    ///
    /// # Errors
    ///
    /// A bad request where it is something else.
    pub fn optional_number(&self, name: &str) -> Result<Option<f64>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Arg::Plain(Value::Int(value))) => Ok(Some(*value as f64)),
            Some(Arg::Plain(Value::Float(value))) => Ok(Some(value.0)),
            Some(other) => Err(wrong(name, "a number", other)),
        }
    }

    /// Returns a number, or `default` where it is left out.
    ///
    /// # Errors
    ///
    /// As [`Args::optional_number`].
    pub fn number(&self, name: &str, default: f64) -> Result<f64, Refusal> {
        Ok(self.optional_number(name)?.unwrap_or(default))
    }

    /// Returns an integer, or `default` where it is left out.
    ///
    /// # Errors
    ///
    /// A bad request where it is something else.
    pub fn int(&self, name: &str, default: i64) -> Result<i64, Refusal> {
        match self.get(name) {
            None => Ok(default),
            Some(Arg::Plain(Value::Int(value))) => Ok(*value),
            Some(other) => Err(wrong(name, "an integer", other)),
        }
    }

    /// Returns a truth value, or `default` where it is left out.
    ///
    /// # Errors
    ///
    /// A bad request where it is something else.
    pub fn bool(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.get(name) {
            None => Ok(default),
            Some(Arg::Plain(Value::Bool(value))) => Ok(*value),
            Some(other) => Err(wrong(name, "a truth value", other)),
        }
    }

    /// Returns a text, or `default` where it is left out.
    ///
    /// # Errors
    ///
    /// A bad request where it is something else.
    pub fn text<'a>(&'a self, name: &str, default: &'a str) -> Result<&'a str, Refusal> {
        match self.get(name) {
            None => Ok(default),
            Some(Arg::Plain(Value::Str(value))) => Ok(value),
            Some(other) => Err(wrong(name, "a text", other)),
        }
    }

    /// Returns a list of integers; `None` where it is left out.
    ///
    /// # Errors
    ///
    /// A bad request where it is something else.
    pub fn optional_ints(&self, name: &str) -> Result<Option<Vec<i64>>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Arg::Plain(Value::Ints(values))) => Ok(Some(values.clone())),
            Some(Arg::Plain(Value::Int(value))) => Ok(Some(vec![*value])),
            Some(other) => Err(wrong(name, "a list of integers", other)),
        }
    }

    /// Returns an element type; `None` where it is left out.
    ///
    /// # Errors
    ///
    /// A bad request where it is something else.
    pub fn dtype(&self, name: &str) -> Result<Option<DType>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Arg::Plain(Value::DType(dtype))) => Ok(Some(*dtype)),
            Some(other) => Err(wrong(name, "an element type", other)),
        }
    }

    /// Returns a dimension of a tensor counted from its first one.
    ///
    /// # Errors
    ///
    /// A bad request where the tensor has no such dimension.
    pub fn dim_of(&self, slot: Slot, dim: i64) -> Result<usize, Refusal> {
        let rank = self.spec(slot).shape.len();
        let signed = i64::try_from(rank).unwrap_or(i64::MAX);
        let dim = if dim < 0 { dim + signed } else { dim };
        usize::try_from(dim)
            .ok()
            .filter(|dim| *dim < rank)
            .ok_or_else(|| bad(format!("there is no dimension {dim} of {rank}")))
    }

    /// Returns the dimensions that a reduction runs over, in rising order: those named, or all.
    ///
    /// # Errors
    ///
    /// As [`Args::dim_of`].
    pub fn dims_of(&self, slot: Slot, name: &str) -> Result<Vec<usize>, Refusal> {
        let named = self.optional_ints(name)?.filter(|dims| !dims.is_empty());
        let Some(named) = named else { return Ok((0..self.spec(slot).shape.len()).collect()) };
        let mut dims =
            named.iter().map(|&dim| self.dim_of(slot, dim)).collect::<Result<Vec<_>, _>>()?;
        dims.sort_unstable();
        dims.dedup();
        Ok(dims)
    }

    /// Checks that `dtype` is left out or that of a tensor: then nothing is converted.
    ///
    /// # Errors
    ///
    /// Unsupported where it is another one.
    pub fn keeps_dtype(&self, slot: Slot) -> Result<(), Refusal> {
        let own = self.spec(slot).dtype;
        match self.dtype("dtype")? {
            Some(other) if other != own => {
                Err(unsupported(format!("a result of {other} out of {own}")))
            }
            _ => Ok(()),
        }
    }
}

fn missing(name: &str) -> Refusal {
    bad(format!("there is no argument `{name}`"))
}

fn wrong(name: &str, wanted: &str, given: &Arg) -> Refusal {
    bad(format!("`{name}` is to be {wanted}, not {given:?}"))
}
