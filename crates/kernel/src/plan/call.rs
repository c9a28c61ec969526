//! Calls of the plan language's builtins.

use kgen_record::ParamAxis;

use super::{
    Problem,
    ast::{CallArg, Expr},
    buffer::pointer,
    builtin::Builtin,
    eval::{Evaluator, PlanEvalError},
    math::{absolute, has, length, multiple, power, product, range, to_float, to_int},
    value::Value,
};

/// Most launches: a network takes one or more per layer, and per time step if it is recurrent.
pub(super) const MAX_LAUNCHES: usize = 4096;
/// Most fills, and most scratch buffers.
pub(super) const MAX_BUFFERS: usize = 256;
/// Most values of one `param`.
const MAX_VALUES: usize = 16;

/// An evaluated argument with its expression.
pub(super) type Given<'e> = (Value, &'e Expr);

/// The arguments of a call in the order of the builtin's parameters.
pub(super) struct Args<'e> {
    /// The builtin's name.
    pub(super) name: &'static str,
    params: &'static [&'static str],
    pub(super) call: &'e Expr,
    slots: Vec<Option<Given<'e>>>,
}

impl<'e> Args<'e> {
    /// Returns an argument that the signature requires.
    pub(super) fn get(&self, slot: usize) -> &Given<'e> {
        self.slots[slot].as_ref().expect("required arguments were checked")
    }

    /// Returns the name of a parameter.
    pub(super) fn param(&self, slot: usize) -> &'static str {
        self.params[slot]
    }

    pub(super) fn optional(&self, slot: usize) -> Option<&Given<'e>> {
        self.slots.get(slot).and_then(Option::as_ref)
    }

    pub(super) fn int(&self, slot: usize) -> Result<i64, Problem> {
        as_int(self.get(slot))
    }

    pub(super) fn text(&self, slot: usize, what: &str) -> Result<&str, Problem> {
        match self.get(slot) {
            (Value::Str(text), _) => Ok(text),
            (other, expr) => {
                Err(Problem::new(expr.start, format!("{what} is a string, found {}", other.kind())))
            }
        }
    }

    pub(super) fn flag(&self, slot: usize) -> Result<bool, Problem> {
        match self.optional(slot) {
            None => Ok(false),
            Some((Value::Bool(value), _)) => Ok(*value),
            Some((other, expr)) => Err(Problem::new(
                expr.start,
                format!("`{}` is True or False, found {}", self.params[slot], other.kind()),
            )),
        }
    }
}

/// Reads an integer.
pub(super) fn as_int((value, expr): &Given<'_>) -> Result<i64, Problem> {
    value.as_int().ok_or_else(|| {
        Problem::new(expr.start, format!("expected an integer, found {}", value.kind()))
    })
}

/// Reads an integer that must be at least `min`.
pub(super) fn at_least(given: &Given<'_>, min: i64) -> Result<i64, Problem> {
    let value = as_int(given)?;
    if value < min {
        return Err(Problem::new(given.1.start, format!("expected at least {min}, found {value}")));
    }
    Ok(value)
}

impl Evaluator<'_> {
    /// Evaluates a call; `target` is the name its result is assigned to.
    pub(super) fn call(
        &mut self,
        builtin: Builtin,
        args: &[CallArg],
        call: &Expr,
        target: Option<String>,
    ) -> Result<Value, PlanEvalError> {
        if matches!(builtin, Builtin::Min | Builtin::Max) {
            return self.extreme(builtin, args, call);
        }
        let args = self.arguments(builtin, args, call)?;
        Ok(match builtin {
            Builtin::Cdiv | Builtin::AlignUp => multiple(builtin, &args)?,
            Builtin::Abs => absolute(args.get(0))?,
            Builtin::NextPow2 | Builtin::Ilog2 | Builtin::IsPow2 => power(builtin, args.get(0))?,
            Builtin::Len => length(args.get(0))?,
            Builtin::Prod => product(&args)?,
            Builtin::Range => range(&args)?,
            Builtin::Has => has(args.get(0)),
            Builtin::Require => return self.require(&args),
            Builtin::Param => self.param(&args)?,
            Builtin::Define => self.define(&args)?,
            Builtin::Scratch => self.new_scratch(&args, target)?,
            Builtin::Fill => self.fill(&args)?,
            Builtin::Launch => self.launch(&args)?,
            Builtin::TensorMap => self.tensor_map(&args)?,
            Builtin::Ptr => pointer(&args)?,
            Builtin::Contiguous => self.contiguous(&args, target)?,
            Builtin::Expand => self.expand(&args, target)?,
            Builtin::F32 => to_float(args.get(0))?,
            Builtin::I32 => to_int(args.get(0))?,
            Builtin::Matmul => self.matmul(&args)?,
            Builtin::Convolution => self.convolution(&args)?,
            Builtin::Min | Builtin::Max => unreachable!("handled above"),
        })
    }

    /// Evaluates the arguments and sorts them into the builtin's parameters.
    fn arguments<'e>(
        &mut self,
        builtin: Builtin,
        args: &'e [CallArg],
        call: &'e Expr,
    ) -> Result<Args<'e>, PlanEvalError> {
        let spec = builtin.spec();
        let usage = || format!("usage: `{}`", spec.usage);
        let mut slots: Vec<Option<Given<'e>>> = vec![None; spec.params.len()];
        for (position, arg) in args.iter().enumerate() {
            let slot = match &arg.name {
                None if position >= spec.positional => {
                    let message =
                        format!("`{}` takes {} positional arguments", spec.name, spec.positional);
                    return Err(Problem::new(arg.value.start, message).hint(usage()).into());
                }
                None => position,
                Some(name) => {
                    spec.params.iter().position(|param| param == name).ok_or_else(|| {
                        let message = format!("`{}` has no argument `{name}`", spec.name);
                        let near = kgen_ops::nearest(name, spec.params.iter().copied());
                        Problem::new(arg.value.start, message).hint_or(near, &usage())
                    })?
                }
            };
            if slots[slot].is_some() {
                let message = format!("`{}` is given twice", spec.params[slot]);
                return Err(Problem::new(arg.value.start, message).into());
            }
            slots[slot] = Some((self.expr(&arg.value)?, &arg.value));
        }
        if let Some(missing) = slots[..spec.required].iter().position(Option::is_none) {
            let message = format!("`{}` misses `{}`", spec.name, spec.params[missing]);
            return Err(Problem::new(call.start, message).hint(usage()).into());
        }
        Ok(Args { name: spec.name, params: spec.params, call, slots })
    }

    fn extreme(
        &mut self,
        builtin: Builtin,
        args: &[CallArg],
        call: &Expr,
    ) -> Result<Value, PlanEvalError> {
        let name = builtin.spec().name;
        if let Some(named) = args.iter().find(|arg| arg.name.is_some()) {
            let message = format!("`{name}` has no named arguments");
            return Err(Problem::new(named.value.start, message).into());
        }
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.expr(&arg.value)?);
        }
        if let [Value::Tuple(items)] = values.as_slice() {
            values = items.to_vec();
        }
        let mut best: Option<Value> = None;
        for value in values {
            let Some(number) = value.as_float() else {
                let message = format!("`{name}` compares numbers, found {}", value.kind());
                return Err(Problem::new(call.start, message).into());
            };
            let wins = best.as_ref().is_none_or(|best| match (value.as_int(), best.as_int()) {
                (Some(a), Some(b)) if builtin == Builtin::Min => a < b,
                (Some(a), Some(b)) => a > b,
                _ if builtin == Builtin::Min => best.as_float().is_some_and(|b| number < b),
                _ => best.as_float().is_some_and(|b| number > b),
            });
            if wins {
                best = Some(value);
            }
        }
        best.ok_or_else(|| Problem::new(call.start, format!("`{name}` of nothing")).into())
    }

    fn require(&self, args: &Args<'_>) -> Result<Value, PlanEvalError> {
        let (condition, expr) = args.get(0);
        let holds = match condition {
            Value::Bool(value) => *value,
            other => {
                let message = format!("`require` needs a condition, found {}", other.kind());
                return Err(Problem::new(expr.start, message).into());
            }
        };
        let message = match args.optional(1) {
            None => None,
            Some(_) => Some(args.text(1, "the message")?),
        };
        if holds {
            return Ok(Value::None);
        }
        let condition = message.map_or_else(|| self.source(expr), str::to_owned);
        Err(PlanEvalError::Declined { offset: args.call.start, condition })
    }

    fn param(&mut self, args: &Args<'_>) -> Result<Value, Problem> {
        let name = self.macro_name(args)?;
        let (list, expr) = args.get(1);
        let values: Option<Vec<i64>> = match list {
            Value::Tuple(items) => items.iter().map(Value::as_int).collect(),
            _ => None,
        };
        let values = values.filter(|values| (1..=MAX_VALUES).contains(&values.len()));
        let Some(values) = values else {
            let message = format!("`param` needs a list of 1 to {MAX_VALUES} integers");
            return Err(Problem::new(expr.start, message).hint("`param(\"BLOCK\", [128, 256])`"));
        };
        if (1..values.len()).any(|index| values[..index].contains(&values[index])) {
            return Err(Problem::new(expr.start, format!("`{name}` has a value twice")));
        }
        let chosen = self.chosen.get(&name).copied().unwrap_or(values[0]);
        if !values.contains(&chosen) {
            let message = format!("{chosen} is no value of `{name}` here");
            return Err(Problem::new(expr.start, message));
        }
        match self.plan.params.iter().find(|axis| axis.name == name) {
            Some(axis) if axis.values == values => return Ok(Value::Int(axis.chosen)),
            Some(_) => {
                let message = format!("`{name}` is a `param` already, with other values");
                return Err(Problem::new(args.call.start, message));
            }
            None => {}
        }
        self.add_define(&name, chosen.to_string(), args.call.start)?;
        self.plan.params.push(ParamAxis { name, values, chosen });
        Ok(Value::Int(chosen))
    }

    fn define(&mut self, args: &Args<'_>) -> Result<Value, Problem> {
        let name = self.macro_name(args)?;
        let (value, expr) = args.get(1);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_:<>,* ".contains(c);
        let text = match value {
            Value::Bool(value) => i64::from(*value).to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) if value.is_finite() => format!("{value:?}"),
            Value::Str(text) if !text.is_empty() && text.chars().all(plain) => text.to_string(),
            Value::DType(dtype) => dtype.cuda_type().to_owned(),
            Value::Str(_) | Value::Float(_) => {
                let message = "a macro's value is a number or the name of a type";
                return Err(Problem::new(expr.start, message));
            }
            other => {
                let message = format!("{} cannot be a macro", other.kind());
                return Err(Problem::new(expr.start, message).hint("numbers and type names can"));
            }
        };
        self.add_define(&name, text, args.call.start)?;
        Ok(value.clone())
    }

    /// Reads the macro name of `param` and `define`.
    fn macro_name(&self, args: &Args<'_>) -> Result<String, Problem> {
        let name = args.text(0, "the macro's name")?;
        let offset = args.get(0).1.start;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty()
            || !name.chars().all(word)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(Problem::new(offset, format!("`{name}` cannot be a macro")));
        }
        let taken =
            name.strip_prefix("T_").is_some_and(|tensor| self.env.names.contains_key(tensor));
        if taken || name.starts_with("__") || name.starts_with("KGEN_") {
            return Err(Problem::new(offset, format!("the macro `{name}` is kgen's own"))
                .hint("choose another name"));
        }
        Ok(name.to_owned())
    }

    fn add_define(&mut self, name: &str, value: String, offset: usize) -> Result<(), Problem> {
        match self.plan.defines.iter().find(|(other, _)| other == name) {
            Some((_, other)) if *other == value => {}
            Some((_, other)) => {
                let message = format!("the macro `{name}` is {other} already, now {value}");
                return Err(Problem::new(offset, message)
                    .hint("all launches of a case are compiled together: one value per macro"));
            }
            None => self.plan.defines.push((name.to_owned(), value)),
        }
        Ok(())
    }
}
